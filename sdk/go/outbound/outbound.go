// Package outbound sends HTTP requests to hosts outside the cluster, by package net/http.
//
//	var client = &http.Client{Transport: outbound.Transport{}, Timeout: 5 * time.Second}
//
//	func run(*boathook.Context) error {
//		response, err := client.Get("https://api.example.com/v1/items/1")
//		if err != nil {
//			return err
//		}
//		defer response.Body.Close()
//		…
//	}
//
// The permissions of the hook name the hosts:
//
//	boathook.Permissions{}.WithHTTP(boathook.HTTPPermission{Hosts: []string{"api.example.com"}})
//
// The host sends each request after it has checked the permissions and the address, and adds credentials that the
// operator's admin has bound. A client follows redirects by requests of its own, which are checked like the first one.
// Where a library takes no client, set http.DefaultTransport in a function init.
//
// In `go test` there is no host. Give the functions that send requests the client, and a test gives them one for a server of
// net/http/httptest, or with a Transport of its own.
package outbound

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Transport is an http.RoundTripper. The response is complete when RoundTrip returns it. Goroutines that send requests at
// the same time share the time that they wait; the host sends at most four requests of a run at a time.
//
// The headers Host, Connection and Content-Length are the host's own. Requests have no trailers, and nothing is decompressed.
type Transport struct{}

// request is what is handed to the host.
type request struct {
	method, scheme, authority, path string
	headers                         []header
	body                            []byte
	// 0 is none.
	timeout time.Duration
}

type header struct{ name, value string }

// response is what the host hands over.
type response struct {
	status  int
	headers []header
	body    []byte
}

// RoundTrip sends one request. A context's deadline and the Timeout of a client are the host's to keep; a context that is
// cancelled before ends the request only when the host has answered.
func (Transport) RoundTrip(of *http.Request) (*http.Response, error) { return roundTrip(of, send) }

// roundTrip sends by a function that a test replaces.
func roundTrip(of *http.Request, send func(*request) (*response, *Error)) (*http.Response, error) {
	wanted, err := read(of)
	if err != nil {
		return nil, err
	}
	answered, failure := send(wanted)
	// The deadline was the host's, too.
	if err := of.Context().Err(); err != nil {
		return nil, err
	}
	if failure != nil {
		failure.Host = of.URL.Host
		return nil, failure.explained(of)
	}
	return answered.of(of), nil
}

// read closes the body, as a RoundTripper must.
func read(of *http.Request) (*request, error) {
	body, err := readBody(of)
	if err != nil {
		return nil, err
	}
	ctx := of.Context()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	invalid := func(format string, of ...any) error {
		return &Error{Reason: Invalid, Message: fmt.Sprintf(format, of...)}
	}
	if of.URL == nil || of.URL.Host == "" || (of.URL.Scheme != "https" && of.URL.Scheme != "http") {
		return nil, invalid("the URL is not one of https or http with a host")
	}
	if of.Host != "" && of.Host != of.URL.Host {
		return nil, invalid("the request names the host %q for the URL's %q: the header Host is always the URL's", of.Host, of.URL.Host)
	}
	if len(of.Trailer) > 0 {
		return nil, invalid("the request to %s has trailers, which are not sent", of.URL.Host)
	}
	wanted := &request{
		method: of.Method, scheme: of.URL.Scheme, authority: of.URL.Host, path: of.URL.RequestURI(), body: body,
	}
	if wanted.method == "" {
		wanted.method = http.MethodGet
	}
	for name, values := range of.Header {
		for _, value := range values {
			wanted.headers = append(wanted.headers, header{strings.ToLower(name), value})
		}
	}
	if deadline, ok := ctx.Deadline(); ok {
		if wanted.timeout = time.Until(deadline); wanted.timeout <= 0 {
			return nil, context.DeadlineExceeded
		}
	}
	return wanted, nil
}

func readBody(of *http.Request) ([]byte, error) {
	if of.Body == nil || of.Body == http.NoBody {
		return nil, nil
	}
	body, err := io.ReadAll(of.Body)
	if err = errors.Join(err, of.Body.Close()); err != nil {
		return nil, fmt.Errorf("the body of the request cannot be read: %w", err)
	}
	return body, nil
}

func (r *response) of(request *http.Request) *http.Response {
	headers := make(http.Header, len(r.headers))
	for _, header := range r.headers {
		headers.Add(header.name, header.value)
	}
	length := int64(len(r.body))
	if told, err := strconv.ParseInt(headers.Get("Content-Length"), 10, 64); err == nil && request.Method == http.MethodHead {
		length = told
	}
	return &http.Response{
		Status:        strings.TrimSpace(fmt.Sprintf("%d %s", r.status, http.StatusText(r.status))),
		StatusCode:    r.status,
		Proto:         "HTTP/1.1",
		ProtoMajor:    1,
		ProtoMinor:    1,
		Header:        headers,
		Body:          io.NopCloser(bytes.NewReader(r.body)),
		ContentLength: length,
		Request:       request,
	}
}
