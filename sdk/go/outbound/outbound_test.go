package outbound

import (
	"context"
	"errors"
	"io"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"time"
)

// answering is a client of a host that answers with the same, and notes the last request.
func answering(answer *response, failure *Error) (*http.Client, **request) {
	var last *request
	send := func(of *request) (*response, *Error) {
		last = of
		return answer, failure
	}
	return &http.Client{Transport: tripper(func(of *http.Request) (*http.Response, error) { return roundTrip(of, send) })}, &last
}

type tripper func(*http.Request) (*http.Response, error)

func (t tripper) RoundTrip(of *http.Request) (*http.Response, error) { return t(of) }

func TestARequestAndItsResponsePassWhole(t *testing.T) {
	client, last := answering(&response{201, []header{{"x-a", "b"}, {"x-a", "c"}}, []byte("made")}, nil)
	client.Timeout = time.Minute
	of, err := http.NewRequest("POST", "https://a.io:8443/v1/x?y=z#part", strings.NewReader("body"))
	if err != nil {
		t.Fatal(err)
	}
	of.Header.Set("Authorization", "Bearer t")
	response, err := client.Do(of)
	if err != nil {
		t.Fatal(err)
	}
	sent := **last
	if sent.timeout <= 0 || sent.timeout > time.Minute {
		t.Errorf("%v", sent.timeout)
	}
	sent.timeout = 0
	expected := request{"POST", "https", "a.io:8443", "/v1/x?y=z", []header{{"authorization", "Bearer t"}}, []byte("body"), 0}
	if !reflect.DeepEqual(sent, expected) {
		t.Errorf("%+v", sent)
	}
	body, err := io.ReadAll(response.Body)
	if err != nil || string(body) != "made" || response.Status != "201 Created" || response.ContentLength != 4 {
		t.Errorf("%+v %q %v", response, body, err)
	}
	if !reflect.DeepEqual(response.Header.Values("X-A"), []string{"b", "c"}) {
		t.Errorf("%v", response.Header)
	}
}

func TestAClientFollowsRedirectsByRequestsOfItsOwn(t *testing.T) {
	var paths []string
	send := func(of *request) (*response, *Error) {
		paths = append(paths, of.method+" "+of.authority+of.path)
		if of.path == "/old" {
			return &response{303, []header{{"location", "https://b.io/new"}}, nil}, nil
		}
		return &response{200, nil, nil}, nil
	}
	client := &http.Client{Transport: tripper(func(of *http.Request) (*http.Response, error) { return roundTrip(of, send) })}
	response, err := client.Post("https://a.io/old", "text/plain", strings.NewReader("x"))
	if err != nil || response.StatusCode != 200 {
		t.Fatal(response, err)
	}
	if !reflect.DeepEqual(paths, []string{"POST a.io/old", "GET b.io/new"}) {
		t.Error(paths)
	}
}

func TestTheLengthOfAResponseToHeadIsThatOfTheBody(t *testing.T) {
	client, _ := answering(&response{200, []header{{"content-length", "7000"}}, nil}, nil)
	response, err := client.Head("https://a.io/")
	if err != nil || response.ContentLength != 7000 {
		t.Error(response, err)
	}
}

func TestAnErrorNamesTheHostAndWhatAllowsTheRequest(t *testing.T) {
	for reason, told := range map[Reason]string{
		Denied:     `a.io is not allowed: permissions.http must have {hosts: ["a.io"], methods: [DELETE], paths: ["/v1/x"]}`,
		Address:    "a.io is not at a public address, and the operator's admin did not open it with --http-private-host a.io:443",
		Name:       "the name of a.io has no address",
		Connection: "the connection to a.io failed; the operator's log has the reason",
		TLS:        "TLS with a.io failed",
		Timeout:    "a.io did not respond in time",
		Invalid:    "the request to a.io cannot be sent",
		Credential: "the operator's credential for a.io cannot be used",
		Other:      "the request to a.io failed",
	} {
		client, _ := answering(nil, &Error{Reason: reason})
		of, err := http.NewRequest("DELETE", "https://a.io/v1/x?key=secret", nil)
		if err != nil {
			t.Fatal(err)
		}
		_, err = client.Do(of)
		var found *Error
		if !Is(err, reason) || !errors.As(err, &found) || found.Host != "a.io" || !strings.Contains(found.Message, told) {
			t.Errorf("%s: %v", told, err)
		}
		if strings.Contains(found.Message, "secret") || found.Timeout() != (reason == Timeout) {
			t.Errorf("%v", found)
		}
	}
	client, _ := answering(nil, &Error{Message: "limits.hostCalls of 2 calls"})
	_, err := client.Get("http://a.io/")
	if !Is(err, Other) || !strings.Contains(err.Error(), "limits.hostCalls of 2 calls") {
		t.Error(err)
	}
	client, _ = answering(nil, &Error{Reason: Denied})
	_, err = client.Get("http://a.io:8080")
	if err == nil || !strings.Contains(err.Error(), `{hosts: ["http://a.io:8080"], methods: [GET], paths: ["/"]}`) {
		t.Error(err)
	}
}

func TestWhatIsNoRequestIsNotSent(t *testing.T) {
	client, last := answering(&response{status: 200}, nil)
	given := func(change func(*http.Request)) *http.Request {
		of, err := http.NewRequest("POST", "https://a.io/x", strings.NewReader("x"))
		if err != nil {
			t.Fatal(err)
		}
		change(of)
		return of
	}
	for told, of := range map[string]*http.Request{
		"not one of https or http":            given(func(of *http.Request) { of.URL.Scheme = "ftp" }),
		"the header Host is always the URL's": given(func(of *http.Request) { of.Host = "b.io" }),
		"has trailers":                        given(func(of *http.Request) { of.Trailer = http.Header{"X": {"y"}} }),
	} {
		_, err := client.Do(of)
		if !Is(err, Invalid) || !strings.Contains(err.Error(), told) {
			t.Errorf("%s: %v", told, err)
		}
	}
	broken := given(func(of *http.Request) { of.Body = io.NopCloser(io.MultiReader(strings.NewReader("x"), failing{})) })
	if _, err := client.Do(broken); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Error(err)
	}
	over, cancel := context.WithDeadline(context.Background(), time.Unix(0, 0))
	defer cancel()
	if _, err := client.Do(given(func(*http.Request) {}).WithContext(over)); !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
	if *last != nil {
		t.Errorf("%+v", **last)
	}
}

type failing struct{}

func (failing) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

func TestThereIsNoHostOutsideAComponent(t *testing.T) {
	client := &http.Client{Transport: Transport{}}
	if _, err := client.Get("https://a.io/"); err == nil || !strings.Contains(err.Error(), "`boathook test`") {
		t.Error(err)
	}
}
