package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"os"
	"time"
)

const readyInterval = 50 * time.Millisecond

// waitReady returns when /readyz answers 200 to the administrator, as a user's client would ask:
// over TLS, with the certificate and the token that the kubeconfig will hold.
func waitReady(ctx context.Context, server *part, d *dataDir, address string) error {
	last := errors.New("not asked yet")
	for {
		if err := askReady(ctx, d, address); err == nil {
			return nil
		} else if ctx.Err() == nil {
			last = err
		}
		select {
		case err := <-server.done:
			return fmt.Errorf("kube-apiserver ended before it was ready: %w", err)
		case <-ctx.Done():
			return fmt.Errorf("kube-apiserver is not ready: %w", last)
		case <-time.After(readyInterval):
		}
	}
}

func askReady(ctx context.Context, d *dataDir, address string) error {
	ca, err := os.ReadFile(d.caFile())
	if err != nil {
		return err
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(ca) {
		return fmt.Errorf("%s holds no certificate", d.caFile())
	}
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}}
	defer transport.CloseIdleConnections()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+address+"/readyz", nil)
	if err != nil {
		return err
	}
	request.Header.Set("Authorization", "Bearer "+d.token)
	answer, err := (&http.Client{Transport: transport, Timeout: 5 * time.Second}).Do(request)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("/readyz answers %s", answer.Status)
	}
	return nil
}
