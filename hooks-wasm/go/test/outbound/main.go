// Sends the HTTP requests that a ConfigMap describes, and logs the responses: as hooks-wasm/test/fetch in Rust.
//
// A ConfigMap with the label `fetch=true` has `url`, and perhaps `method`, `body`, `authorization`, `timeout` as
// time.ParseDuration reads it, `redirect` (`manual`), and `times`: as many goroutines send the request at the same time. A line
// is an object: `fetch` (the ConfigMap's name), and `status`, `headers` and `body`, or `reason`, `host` and `error`.
//
// The port in its permissions is for the test to fill in.
package main

import (
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	boathook "github.com/boathook/boathook/sdk/go"
	"github.com/boathook/boathook/sdk/go/outbound"
)

func init() {
	boathook.Configure(boathook.Config{
		Kubernetes: []boathook.Kubernetes{{
			Name: "configmaps", APIVersion: "v1", Kind: "ConfigMap",
			Labels:   &boathook.Selector{MatchLabels: map[string]string{"fetch": "true"}},
			OnEvents: []boathook.Change{boathook.Added, boathook.Modified},
		}},
		Permissions: boathook.Permissions{}.WithHTTP(boathook.HTTPPermission{
			Hosts: []string{"localhost:54321", "http://127.0.0.1:54321"}, Methods: []string{"GET", "POST"}, Paths: []string{"/v1/*"},
		}),
		Retry: &boathook.Backoff{Attempts: 1},
	})
	boathook.Run(run)
}

func main() {}

func run(ctx *boathook.Context) error {
	for event := range ctx.Events("configmaps") {
		var object struct{ Data map[string]string }
		if err := event.Object.Into(&object); err != nil {
			return err
		}
		times, err := strconv.Atoi(cmp.Or(object.Data["times"], "1"))
		if err != nil {
			return err
		}
		lines := make([]map[string]any, times)
		var all sync.WaitGroup
		for i := range lines {
			all.Add(1)
			go func() {
				defer all.Done()
				lines[i] = line(object.Data)
			}()
		}
		all.Wait()
		for _, line := range lines {
			line["fetch"] = event.Target.Name
			text, err := json.Marshal(line)
			if err != nil {
				return err
			}
			slog.Info(string(text))
		}
	}
	return nil
}

func line(data map[string]string) map[string]any {
	received, err := exchanged(data)
	if err == nil {
		return received
	}
	line := map[string]any{"error": err.Error()}
	var failure *outbound.Error
	if errors.As(err, &failure) {
		line["reason"], line["host"], line["timeout"] = failure.Reason.String(), failure.Host, failure.Timeout()
	}
	return line
}

func exchanged(data map[string]string) (map[string]any, error) {
	client := &http.Client{Transport: outbound.Transport{}}
	if data["redirect"] == "manual" {
		client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	}
	if data["timeout"] != "" {
		timeout, err := time.ParseDuration(data["timeout"])
		if err != nil {
			return nil, err
		}
		client.Timeout = timeout
	}
	request, err := http.NewRequest(cmp.Or(data["method"], http.MethodGet), data["url"], strings.NewReader(data["body"]))
	if err != nil {
		return nil, err
	}
	if data["authorization"] != "" {
		request.Header.Set("Authorization", data["authorization"])
	}
	response, err := client.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return nil, err
	}
	received := map[string]any{"status": response.StatusCode, "headers": response.Header, "bytes": len(body)}
	// A long message is cut in the log.
	if len(body) > 1000 {
		received["sha256"] = fmt.Sprintf("%x", sha256.Sum256(body))
	} else {
		received["body"] = string(body)
	}
	return received, nil
}
