//! `boathook.http`: what is sent, what a script receives, and what a request that fails raises.

use boathook_core::model::{FailureKind, HttpBody, HttpError, HttpHeader, HttpReason, HttpResponse, Limit, Limits};

use super::{loaded, packed, running, sandbox};
use crate::{
    sandbox::{
        http::Net,
        support::{plenty, request},
    },
    script::http::{
        a_request_and_its_response_pass_whole, a_scenario_answers_its_requests,
        what_is_not_allowed_is_an_error_with_its_reason,
    },
};

/// A script like that in JavaScript.
pub fn python_script(host: &str) -> Vec<u8> {
    packed(&[("hook.py", &FETCHING.replace("HOST", host))])
}

const FETCHING: &str = r#"
import json
import boathook
from boathook import Event, HttpError, http, log

boathook.configure({
    "kubernetes": [{
        "name": "configmaps", "apiVersion": "v1", "kind": "ConfigMap", "labelSelector": {"matchLabels": {"fetch": "true"}},
        "executeHookOnSynchronization": False,
    }],
    "permissions": {"http": [{"hosts": ["HOST"], "methods": ["GET", "POST"], "paths": ["/v1/*"]}]},
    "retry": {"attempts": 1},
})


def exchanged(url, method="GET", body=None, authorization=None, timeout=None):
    headers = {"authorization": authorization} if authorization else {}
    seconds = int(timeout) / 1000 if timeout else None
    try:
        response = http.request(method, url, headers=headers, data=body, timeout=seconds)
    except HttpError as error:
        return {"reason": error.reason, "error": str(error)}
    return {"status": response.status, "headers": dict(response.headers), "body": response.text}


@boathook.on_event("configmaps")
def event(event: Event) -> None:
    line = {"fetch": event.target.name, **exchanged(**event.object["data"])}
    log.info(json.dumps(line, ensure_ascii=False))
"#;

#[tokio::test]
async fn a_request_passes_whole() {
    sandbox().await;
    a_request_and_its_response_pass_whole(python_script).await;
}

#[tokio::test]
async fn what_is_not_allowed_is_raised() {
    sandbox().await;
    what_is_not_allowed_is_an_error_with_its_reason(python_script).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_scenario_answers() {
    sandbox().await;
    a_scenario_answers_its_requests(python_script).await;
}

#[tokio::test]
async fn requests_and_responses_are_as_the_sdk_says() {
    let net = Net::by(|_| {
        let headers = [("x-a", "b"), ("x-a", "\u{e4}")];
        let header = |(name, value): (&str, &str)| HttpHeader(name.into(), HttpBody(value.as_bytes().to_vec()));
        let body = HttpBody(b"{\"a\": \"\xc3\xa4\"}\xff".to_vec());
        Some(Ok(HttpResponse { status: 418, headers: headers.map(header).to_vec(), body }))
    });
    let sandbox = sandbox().await;
    let body = "from boathook import http
r = http.post('HTTPS://A.io?q=ä b#part', json={'a': 'ä'}, headers={'X-B': 'c\\xe4'}, timeout=1.5)
assert (r.status, r.ok, r.url) == (418, False, 'https://a.io/?q=%C3%A4%20b'), r
assert r.headers['X-A'] == 'b, \\xc3\\xa4' and 'x-b' not in r.headers, r.headers
assert r.text == '{\"a\": \"ä\"}\\ufffd' and r.content.endswith(b'\\xff'), r
try:
    r.raise_for_status()
except http.HttpError as e:
    assert (e.reason, e.status) == ('status', 418) and 'the server answered with the status 418: {' in str(e), e
else:
    raise AssertionError(r)
http.put('https://a.io/x', data=b'\\xff')";
    let hook = loaded(&sandbox, &running(body)).await;
    assert_eq!(sandbox.run(&hook, request(&hook, plenty()), net.clone()).await.outcome, Ok(()));
    let seen = net.seen.lock().unwrap().clone();
    let (sent, bounds) = &seen[0];
    assert_eq!((sent.method.as_str(), sent.url.as_str()), ("POST", "https://a.io/?q=%C3%A4%20b"));
    assert_eq!((sent.body.0.as_slice(), bounds.time.unwrap().as_millis()), (&br#"{"a": "\u00e4"}"#[..], 1500));
    let header = |name: &str, value: &[u8]| HttpHeader(name.into(), HttpBody(value.to_vec()));
    assert_eq!(sent.headers, [header("x-b", b"c\xe4"), header("content-type", b"application/json")]);
    assert_eq!((seen[1].0.body.0.as_slice(), seen[1].0.headers.len()), (&[0xff][..], 0));
}

#[tokio::test]
async fn a_request_that_fails_says_why_and_the_run_is_retried() {
    let sandbox = sandbox().await;
    for reason in [
        HttpReason::Denied,
        HttpReason::Address,
        HttpReason::NotSent,
        HttpReason::Limit,
        HttpReason::Name,
        HttpReason::Connection,
        HttpReason::Tls,
        HttpReason::Timeout,
        HttpReason::Invalid,
        HttpReason::Credential,
    ] {
        let net = Net::with(Some(Err(HttpError { reason, message: format!("why: {}", reason.label()) })));
        let body = format!(
            "from boathook import http\ntry: http.get('https://a.io')\nexcept http.HttpError as e:\n    \
             assert e.reason == '{}', e.reason\n    raise",
            reason.label()
        );
        let hook = loaded(&sandbox, &running(&body)).await;
        let failure = sandbox.run(&hook, request(&hook, plenty()), net.clone()).await.outcome.unwrap_err();
        let told = format!("HttpError: why: {} (run hook.py:10)", reason.label());
        assert_eq!((failure.kind, failure.message), (FailureKind::Retry, told));
        assert_eq!(net.seen.lock().unwrap().len(), 1);
    }
    let net = Net::answering(1);
    for (call, told) in [
        ("http.get('a.io')", "HttpError: 'a.io' is not a URL of https or http"),
        ("http.get('ftp://me:secret@a.io/x?key=secret')", "HttpError: 'ftp://a.io/x' is not a URL of https or http"),
        ("http.get('me:secret@a.io/x@y')", "HttpError: 'a.io/x@y' is not a URL of https or http"),
        ("http.get('https://a.io', headers={'a': '€'})", "HttpError: the value of the header a has characters"),
        ("http.get('https://a.io', headers={'a': 1})", "TypeError: header a is a text, and no int"),
        ("http.post('https://a.io', data=1)", "TypeError: data is a text, bytes or a mapping, not int"),
    ] {
        let hook = loaded(&sandbox, &running(&format!("from boathook import http\n{call}"))).await;
        let failure = sandbox.run(&hook, request(&hook, plenty()), net.clone()).await.outcome.unwrap_err();
        assert!(failure.message.starts_with(told), "{call}: {failure}");
    }
    assert_eq!(net.seen.lock().unwrap().len(), 0);
    let few = Limits { host_calls: 2, ..plenty() };
    let body =
        "from boathook import http\nwhile True:\n    try: http.get('https://a.io')\n    except http.HttpError: pass";
    let hook = loaded(&sandbox, &running(body)).await;
    let failure = sandbox.run(&hook, request(&hook, few), net.clone()).await.outcome.unwrap_err();
    assert_eq!((failure.kind, net.seen.lock().unwrap().len()), (FailureKind::Limit(Limit::HostCalls), 2));
}
