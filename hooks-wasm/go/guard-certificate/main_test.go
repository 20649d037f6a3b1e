//go:build !wasip1

package main

import (
	"crypto/x509"
	"strings"
	"testing"
	"time"

	"github.com/boathook/boathook/sdk/go/boathooktest"
)

var (
	begin = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	hosts = []string{"guard.default.svc", "guard"}
)

// kept runs the hook on values that have this certificate, and gives the one that they have then.
func kept(t *testing.T, had certificate, hosts []string, now time.Time) certificate {
	t.Helper()
	var has certificate
	t.Run("run", func(t *testing.T) {
		guard := map[string]any{"hosts": hosts, "certificate": had}
		host := boathooktest.New(t).WithValues(map[string]any{"guard": guard}, "{}")
		if err := run(now); err != nil {
			t.Fatal(err)
		}
		has = had
		for _, change := range host.Changes() {
			if err := change.Value.Into(&has); err != nil || change.Path != "/guard/certificate" || change.Config {
				t.Fatalf("%+v: %v", change, err)
			}
		}
	})
	return has
}

func TestTheCertificateIsForTheServerAndOfTheCA(t *testing.T) {
	made := kept(t, certificate{}, hosts, begin)
	leaf, err := parsed(made.Crt)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM([]byte(made.CA)) {
		t.Fatal("the CA is not one")
	}
	for _, host := range hosts {
		if _, err := leaf.Verify(x509.VerifyOptions{DNSName: host, Roots: roots, CurrentTime: begin}); err != nil {
			t.Errorf("%s: %v", host, err)
		}
	}
	if leaf.VerifyHostname("other") == nil || leaf.IsCA || leaf.NotAfter.Sub(begin) != life {
		t.Errorf("%+v", leaf)
	}
	if again := kept(t, made, hosts, begin.Add(day)); again != made {
		t.Error("a certificate that is good was replaced")
	}
}

func TestItIsRenewedBeforeItEndsAndTheCAStays(t *testing.T) {
	first := kept(t, certificate{}, hosts, begin)
	if same := kept(t, first, hosts, begin.Add(life-margin)); same != first {
		t.Error("it was renewed too early")
	}
	second := kept(t, first, hosts, begin.Add(life-margin+time.Second))
	if second.Crt == first.Crt || second.Key == first.Key || second.CA != first.CA || second.CAKey != first.CAKey {
		t.Errorf("%+v", second)
	}
	// The operator did not run for a long time.
	if late := kept(t, first, hosts, begin.Add(2*life)); late.Crt == first.Crt || late.CA != first.CA {
		t.Errorf("%+v", late)
	}
	if last := kept(t, first, hosts, begin.Add(caLife-life+time.Second)); last.CA == first.CA || last.CAKey == first.CAKey {
		t.Error("a certificate would outlive its CA")
	}
}

func TestWhatCannotBeUsedIsReplaced(t *testing.T) {
	made, other := kept(t, certificate{}, hosts, begin), kept(t, certificate{}, hosts, begin)
	for what, had := range map[string]certificate{
		"not PEM":              {CA: made.CA, CAKey: made.CAKey, Crt: "x", Key: made.Key},
		"another CA":           {CA: other.CA, CAKey: other.CAKey, Crt: made.Crt, Key: made.Key},
		"another key":          {CA: made.CA, CAKey: made.CAKey, Crt: made.Crt, Key: other.Key},
		"another key of a CA":  {CA: made.CA, CAKey: other.CAKey, Crt: made.Crt, Key: made.Key},
		"no key":               {CA: made.CA, CAKey: made.CAKey, Crt: made.Crt},
		"without its CA's key": {CA: made.CA, Crt: made.Crt, Key: made.Key},
	} {
		if has := kept(t, had, hosts, begin); has == had || has.wrong(hosts, begin) != nil {
			t.Errorf("%s: %v", what, has.wrong(hosts, begin))
		}
	}
	more := append([]string{"guard.other.svc"}, hosts...)
	if has := kept(t, made, more, begin); has.Crt == made.Crt || has.CA != made.CA || has.wrong(more, begin) != nil {
		t.Errorf("%+v", has)
	}
}

func TestAServerWithoutANameIsAnError(t *testing.T) {
	host := boathooktest.New(t).WithValues(`{"guard": {}}`, "{}")
	if err := run(begin); err == nil || !strings.Contains(err.Error(), "guard.hosts is empty") || len(host.Changes()) > 0 {
		t.Errorf("%v", err)
	}
}
