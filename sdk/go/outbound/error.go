package outbound

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
)

// Reason is a kind of failure. Treat the set as open: what fits nowhere is Other.
type Reason uint8

// The kinds of failure.
const (
	// Other is a limit of the run, or anything else.
	Other Reason = iota
	// Denied: no permission of the hook allows the request, the operator's admin does not allow it, or the run only plans.
	Denied
	// Address: the host is not at a public address, and the operator's admin did not open it.
	Address
	// Name: the host's name has no address.
	Name
	// Connection: there is no connection, or it ended early.
	Connection
	// TLS failed: in most cases, the certificate is not one that is trusted.
	TLS
	// Timeout: there was no response in time.
	Timeout
	// Invalid: it is not a request that can be sent.
	Invalid
	// Credential: the operator's credential for the host cannot be used, for example because the Secret does not exist.
	Credential
)

// String is the reason's name in the documentation: `denied`, `tls`.
func (r Reason) String() string {
	names := []string{"other", "denied", "address", "name", "connection", "tls", "timeout", "invalid", "credential"}
	if int(r) >= len(names) {
		return names[Other]
	}
	return names[r]
}

// Error is why a request has no response. An http.Client wraps it in a url.Error; errors.As finds it.
type Error struct {
	// Reason is for deciding.
	Reason Reason
	// Message is for reading: it names the host, and what allows the request where a rule is missing.
	Message string
	// Host is the URL's, with its port.
	Host string
}

func (e *Error) Error() string { return e.Message }

// Timeout tells whether there was no response in time, as of a net.Error.
func (e *Error) Timeout() bool { return e.Reason == Timeout }

// Is tells whether a request failed for this reason.
func Is(err error, reason Reason) bool {
	var failure *Error
	return errors.As(err, &failure) && failure.Reason == reason
}

// explained adds what only the request says. The host's own texts are about limits, and whole.
func (e *Error) explained(of *http.Request) *Error {
	if e.Message != "" {
		return e
	}
	const log = "the operator's log has the reason"
	at := e.Host
	switch e.Reason {
	case Denied:
		e.Message = fmt.Sprintf("%s is not allowed: permissions.http must have %s, and the operator must allow it; %s", at, permission(of), log)
	case Address:
		e.Message = fmt.Sprintf("%s is not at a public address, and the operator's admin did not open it with --http-private-host %s", at, port(of.URL))
	case Name:
		e.Message = fmt.Sprintf("the name of %s has no address", at)
	case Connection:
		e.Message = fmt.Sprintf("the connection to %s failed; %s", at, log)
	case TLS:
		e.Message = fmt.Sprintf("TLS with %s failed; %s", at, log)
	case Timeout:
		e.Message = fmt.Sprintf("%s did not respond in time", at)
	case Invalid:
		e.Message = fmt.Sprintf("the request to %s cannot be sent; %s", at, log)
	case Credential:
		e.Message = fmt.Sprintf("the operator's credential for %s cannot be used; %s", at, log)
	default:
		e.Message = fmt.Sprintf("the request to %s failed; %s", at, log)
	}
	return e
}

// permission is what allows the request, as a document writes it.
func permission(of *http.Request) string {
	host, method := of.URL.Host, of.Method
	if method == "" {
		method = http.MethodGet
	}
	if of.URL.Scheme == "http" {
		host = "http://" + host
	}
	path, _, _ := strings.Cut(of.URL.RequestURI(), "?")
	return fmt.Sprintf("{hosts: [%q], methods: [%s], paths: [%q]}", host, method, path)
}

// port has the one that the scheme stands for.
func port(of *url.URL) string {
	if of.Port() != "" {
		return of.Host
	}
	if of.Scheme == "http" {
		return of.Host + ":80"
	}
	return of.Host + ":443"
}
