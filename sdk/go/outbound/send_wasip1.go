package outbound

import (
	goruntime "runtime"
	"strings"

	"github.com/boathook/boathook/sdk/go/internal/wit/runtime"
	wit "github.com/boathook/boathook/sdk/go/internal/wit/types"
	handler "github.com/boathook/boathook/sdk/go/internal/wit/wasi_http_outgoing_handler"
	wasi "github.com/boathook/boathook/sdk/go/internal/wit/wasi_http_types"
	poll "github.com/boathook/boathook/sdk/go/internal/wit/wasi_io_poll"
	streams "github.com/boathook/boathook/sdk/go/internal/wit/wasi_io_streams"
)

const (
	// By the definition of a stream, one write passes no more.
	mostWritten = 4096
	mostRead    = 64 << 10
)

// impossible is what no host does.
func impossible() *Error { return &Error{Message: "the host does not keep to wasi:http"} }

func send(of *request) (*response, *Error) {
	outgoing, failure := outgoing(of)
	if failure != nil {
		return nil, failure
	}
	options := wit.None[*wasi.RequestOptions]()
	if of.timeout > 0 {
		with := wasi.MakeRequestOptions()
		with.SetFirstByteTimeout(wit.Some(uint64(of.timeout.Nanoseconds())))
		options = wit.Some(with)
	}
	var body *wasi.OutgoingBody
	if len(of.body) > 0 {
		has := outgoing.Body()
		if has.IsErr() {
			return nil, impossible()
		}
		body = has.Ok()
	}
	future, failure := handled(outgoing, options)
	if failure != nil {
		if body != nil {
			body.Drop()
		}
		return nil, failure
	}
	defer future.Drop()
	var unwritten *Error
	if body != nil {
		unwritten = write(body, of.body)
	}
	wait(future)
	incoming, failure := received(future)
	if failure != nil {
		// It says why a write failed.
		return nil, failure
	}
	defer incoming.Drop()
	if unwritten != nil {
		return nil, unwritten
	}
	return whole(incoming)
}

func outgoing(of *request) (*wasi.OutgoingRequest, *Error) {
	headers := make([]wit.Tuple2[string, []uint8], len(of.headers))
	for i, header := range of.headers {
		headers[i] = wit.Tuple2[string, []uint8]{F0: header.name, F1: []uint8(header.value)}
	}
	fields := wasi.FieldsFromList(headers)
	if fields.IsErr() {
		if fields.Err().Tag() == wasi.HeaderErrorForbidden {
			return nil, &Error{Reason: Invalid, Message: "the request to " + of.authority + " has a header that is not the hook's to set"}
		}
		return nil, &Error{Reason: Invalid, Message: "the request to " + of.authority + " has a header that is not valid"}
	}
	outgoing := wasi.MakeOutgoingRequest(fields.Ok())
	scheme := wasi.MakeSchemeHttps()
	if of.scheme == "http" {
		scheme = wasi.MakeSchemeHttp()
	}
	for _, part := range []struct {
		name string
		set  wit.Result[wit.Unit, wit.Unit]
	}{
		{"method", outgoing.SetMethod(method(of.method))},
		{"scheme", outgoing.SetScheme(wit.Some(scheme))},
		{"host", outgoing.SetAuthority(wit.Some(of.authority))},
		{"path", outgoing.SetPathWithQuery(wit.Some(of.path))},
	} {
		if part.set.IsErr() {
			outgoing.Drop()
			return nil, &Error{Reason: Invalid, Message: "the request to " + of.authority + " has a " + part.name + " that is not one"}
		}
	}
	return outgoing, nil
}

func method(name string) wasi.Method {
	switch name {
	case "GET":
		return wasi.MakeMethodGet()
	case "HEAD":
		return wasi.MakeMethodHead()
	case "POST":
		return wasi.MakeMethodPost()
	case "PUT":
		return wasi.MakeMethodPut()
	case "DELETE":
		return wasi.MakeMethodDelete()
	case "CONNECT":
		return wasi.MakeMethodConnect()
	case "OPTIONS":
		return wasi.MakeMethodOptions()
	case "TRACE":
		return wasi.MakeMethodTrace()
	case "PATCH":
		return wasi.MakeMethodPatch()
	}
	return wasi.MakeMethodOther(name)
}

func handled(outgoing *wasi.OutgoingRequest, options wit.Option[*wasi.RequestOptions]) (*wasi.FutureIncomingResponse, *Error) {
	runtime.Enter()
	defer runtime.Leave()
	result := handler.Handle(outgoing, options)
	if result.IsErr() {
		return nil, failed(result.Err())
	}
	return result.Ok(), nil
}

func write(body *wasi.OutgoingBody, bytes []byte) *Error {
	has := body.Write()
	if has.IsErr() {
		return impossible()
	}
	if !written(has.Ok(), bytes) {
		// The host does not wait for the rest then.
		body.Drop()
		return &Error{Reason: Connection, Message: "the body of the request was not sent"}
	}
	runtime.Enter()
	defer runtime.Leave()
	if finished := wasi.OutgoingBodyFinish(body, wit.None[*wasi.Fields]()); finished.IsErr() {
		return failed(finished.Err())
	}
	return nil
}

func written(stream *streams.OutputStream, bytes []byte) bool {
	defer stream.Drop()
	for len(bytes) > 0 {
		chunk := bytes[:min(len(bytes), mostWritten)]
		if result := stream.BlockingWriteAndFlush(chunk); result.IsErr() {
			dropped(result.Err())
			return false
		}
		bytes = bytes[len(chunk):]
	}
	return true
}

// awaited are the responses that goroutines wait for. There is one thread, and each of its waits is for all of them, so
// that a goroutine does not hold up those whose response is there.
var awaited []*poll.Pollable

func wait(future *wasi.FutureIncomingResponse) {
	own := future.Subscribe()
	defer own.Drop()
	awaited = append(awaited, own)
	// The others send their requests first.
	goruntime.Gosched()
	for !own.Ready() {
		wake()
		goruntime.Gosched()
	}
	for i, other := range awaited {
		if other == own {
			awaited = append(awaited[:i], awaited[i+1:]...)
			break
		}
	}
}

func wake() {
	runtime.Enter()
	defer runtime.Leave()
	poll.Poll(awaited)
}

func received(future *wasi.FutureIncomingResponse) (*wasi.IncomingResponse, *Error) {
	runtime.Enter()
	defer runtime.Leave()
	got := future.Get()
	if got.Tag() == wit.OptionNone || got.Some().IsErr() {
		return nil, impossible()
	}
	result := got.Some().Ok()
	if result.IsErr() {
		return nil, failed(result.Err())
	}
	return result.Ok(), nil
}

// whole copies what is the host's to take back.
func whole(incoming *wasi.IncomingResponse) (*response, *Error) {
	of := &response{status: int(incoming.Status()), headers: headers(incoming)}
	has := incoming.Consume()
	if has.IsErr() {
		return nil, impossible()
	}
	body := has.Ok()
	defer body.Drop()
	reads := body.Stream()
	if reads.IsErr() {
		return nil, impossible()
	}
	stream := reads.Ok()
	defer stream.Drop()
	for {
		more, ended := readSome(stream, &of.body)
		if ended != nil {
			return nil, ended
		}
		if !more {
			return of, nil
		}
	}
}

func headers(incoming *wasi.IncomingResponse) (all []header) {
	fields := incoming.Headers()
	defer fields.Drop()
	runtime.Enter()
	defer runtime.Leave()
	for _, entry := range fields.Entries() {
		all = append(all, header{strings.Clone(entry.F0), string(entry.F1)})
	}
	return all
}

func readSome(stream *streams.InputStream, into *[]byte) (more bool, failure *Error) {
	runtime.Enter()
	defer runtime.Leave()
	result := stream.BlockingRead(mostRead)
	if !result.IsErr() {
		*into = append(*into, result.Ok()...)
		return true, nil
	}
	if result.Err().Tag() == streams.StreamErrorClosed {
		return false, nil
	}
	dropped(result.Err())
	return false, &Error{Reason: Connection, Message: "the response ended early"}
}

func dropped(err streams.StreamError) {
	if err.Tag() == streams.StreamErrorLastOperationFailed {
		err.LastOperationFailed().Drop()
	}
}

// failed has a text of its own where the host gave one.
func failed(code wasi.ErrorCode) *Error {
	switch code.Tag() {
	case wasi.ErrorCodeHttpRequestDenied:
		return &Error{Reason: Denied}
	case wasi.ErrorCodeDestinationIpProhibited:
		return &Error{Reason: Address}
	case wasi.ErrorCodeDnsError, wasi.ErrorCodeDnsTimeout:
		return &Error{Reason: Name}
	case wasi.ErrorCodeTlsCertificateError, wasi.ErrorCodeTlsProtocolError:
		return &Error{Reason: TLS}
	case wasi.ErrorCodeConnectionReadTimeout, wasi.ErrorCodeConnectionTimeout, wasi.ErrorCodeHttpResponseTimeout:
		return &Error{Reason: Timeout}
	case wasi.ErrorCodeConnectionTerminated, wasi.ErrorCodeConnectionRefused:
		return &Error{Reason: Connection}
	case wasi.ErrorCodeConfigurationError:
		return &Error{Reason: Credential}
	case wasi.ErrorCodeHttpProtocolError:
		return &Error{Reason: Invalid}
	case wasi.ErrorCodeInternalError:
		return &Error{Message: strings.Clone(code.InternalError().SomeOr(""))}
	}
	return &Error{}
}
