// Keeps a certificate for the server of its module, and the CA that signed it, in the values of the module. The chart of
// the module makes a Secret of the certificate and gives the CA to clients: see examples/modules/010-guard.
//
// It never writes to the cluster.
package main

import (
	"errors"
	"log/slog"
	"time"

	boathook "github.com/boathook/boathook/sdk/go"
	"github.com/boathook/boathook/sdk/go/values"
)

func init() {
	boathook.Configure(boathook.Config{
		BeforeHelm: boathook.Order(10),
		Schedule:   []boathook.Schedule{{Name: "renew", Crontab: "0 3 * * *", Jitter: boathook.Duration(time.Hour)}},
	})
	boathook.Run(func(*boathook.Context) error { return run(time.Now()) })
}

func main() {}

func run(now time.Time) error {
	var seen struct {
		Guard struct {
			Hosts       []string    `json:"hosts"`
			Certificate certificate `json:"certificate"`
		} `json:"guard"`
	}
	if err := values.Get(&seen); err != nil {
		return err
	}
	hosts, kept := seen.Guard.Hosts, seen.Guard.Certificate
	if len(hosts) == 0 {
		return boathook.Permanent(errors.New("guard.hosts is empty: name the DNS names of the server in the settings of the module"))
	}
	why := kept.wrong(hosts, now)
	if why == nil {
		return nil
	}
	fresh, err := kept.renewed(hosts, now)
	if err != nil {
		return err
	}
	slog.Info("a new certificate", "because", why.Error(), "until", now.Add(life).UTC().Format(time.DateOnly))
	return values.Set("/guard/certificate", fresh)
}
