//! HTTP requests of scripts: what is the same in all languages, and `fetch`.
//!
//! What the operator allows, and what reaches a server, is in `pipeline/http.rs`.

use std::{fs, sync::Arc, time::Duration};

use boathook_core::model::{
    FailureKind, HttpBody, HttpError, HttpHeader, HttpReason, HttpRequest, HttpResponse, Limit, Limits,
};
use boathook_egress::Client;
use boathook_sandbox::RunReport;
use serde_json::{Value, json};

use super::{interpreters, loaded, packed, refused, running, sandbox};
use crate::{
    pipeline::{
        fixture::Pipeline,
        http::{Server, audited, said},
    },
    sandbox::{
        http::Net,
        support::{plenty, request},
    },
    support::{cluster::TestCluster, guests::cache_dir, process},
};

/// A script that sends the requests that ConfigMaps describe, like the guest `fetch`. It has permissions for this host.
pub type Fetching = fn(host: &str) -> Vec<u8>;

/// In JavaScript.
pub fn javascript(host: &str) -> Vec<u8> {
    packed(&[("hook.js", &FETCHING.replace("HOST", host))])
}

const FETCHING: &str = r#"
const configmaps = {
  name: "configmaps", apiVersion: "v1", kind: "ConfigMap", labelSelector: { matchLabels: { fetch: "true" } },
  executeHookOnSynchronization: false,
};
const http = [{ hosts: ["HOST"], methods: ["GET", "POST"], paths: ["/v1/*"] }];

async function exchanged({ url, method, body, authorization, timeout, redirect }) {
  const headers = authorization ? { authorization } : {};
  const signal = timeout && AbortSignal.timeout(Number(timeout));
  try {
    const response = await fetch(url, { method, body, headers, redirect, signal });
    return { status: response.status, headers: Object.fromEntries(response.headers), body: await response.text() };
  } catch (error) {
    return { name: error.name, reason: error.cause?.reason, error: error.cause?.message ?? error.message };
  }
}

export default {
  config: { configVersion: "v1", kubernetes: [configmaps], permissions: { http }, retry: { attempts: 1 } },
  async run(info, contexts) {
    for (const { trigger } of contexts) {
      const line = await exchanged(JSON.parse(trigger.object).data);
      console.log(JSON.stringify({ fetch: trigger.target.name, ...line }));
    }
  },
};
"#;

async fn started(script: Vec<u8>, http: Client, plan: bool) -> Pipeline {
    let pipeline = Pipeline::on(TestCluster::start().await, &[("fetch", script)], |options| {
        options.http = http;
        options.plan = plan;
        options.sandbox.interpreters = vec![interpreters()];
    })
    .await;
    pipeline.operator.ready().await;
    pipeline
}

pub(super) async fn a_request_and_its_response_pass_whole(script: Fetching) {
    let server = Server::start().await;
    let pipeline = started(script(&server.host()), server.client(), false).await;
    let (url, body) = (server.url("/v1/echo?secret=yes"), "ä".repeat(3000));
    let data = json!({"url": url, "method": "POST", "body": body, "authorization": "Bearer t"});
    let line = said(&pipeline, "echo", data).await;
    assert_eq!((&line["status"], &line["headers"]["x-server"]), (&json!(200), &json!("test")), "{line}");
    assert_eq!(line["body"], body);
    let seen = server.seen().pop().unwrap();
    assert_eq!((seen.line.as_str(), seen.host, seen.body), ("POST /v1/echo?secret=yes", server.host(), body));
    assert_eq!(seen.authorization.as_deref(), Some("Bearer t"));
    let audit = audited(&pipeline, &server.url("/v1/echo"));
    assert_eq!(
        (&audit["method"], &audit["outcome"], &audit["sent_bytes"]),
        (&json!("POST"), &json!("ok"), &json!(6000))
    );
    let line = said(&pipeline, "none", json!({"url": server.url("/v1/other")})).await;
    assert_eq!((&line["status"], &line["body"]), (&json!(404), &json!("no such place")));
}

pub(super) async fn what_is_not_allowed_is_an_error_with_its_reason(script: Fetching) {
    let server = Server::start().await;
    let refused = async |pipeline: &Pipeline, name: &str, data: Value, reason: &str, part: &str| {
        let line = said(pipeline, name, data).await;
        assert_eq!(line["reason"], reason, "{name}: {line}");
        assert!(line["error"].as_str().unwrap().contains(part), "{name}: {line}");
    };
    let echo = server.url("/v1/echo");
    {
        let pipeline = started(script(&server.host()), server.client(), false).await;
        let away = json!({"url": "https://169.254.169.254/latest/"});
        refused(&pipeline, "host", away, "denied", r#"add {hosts: ["169.254.169.254"]"#).await;
        let method = json!({"url": echo, "method": "DELETE"});
        refused(&pipeline, "method", method, "denied", "methods: [DELETE]").await;
        refused(&pipeline, "dots", json!({"url": server.url("/v1/../v2")}), "denied", "a part . or ..").await;
        refused(&pipeline, "login", json!({"url": "https://u:p@localhost/v1/x"}), "invalid", "its URL has a login")
            .await;
    }
    {
        let closed = started(script(&server.host()), Client::default(), false).await;
        refused(&closed, "closed", json!({"url": echo}), "address", "--http-private-host localhost:").await;
    }
    {
        let stranger = Server::start().await.allowed([server.host()]);
        let pipeline = started(script(&server.host()), stranger, false).await;
        refused(&pipeline, "tls", json!({"url": echo}), "tls", "certificate").await;
    }
    {
        let plan = started(script(&server.host()), server.client(), true).await;
        refused(&plan, "plan", json!({"url": echo, "method": "POST", "body": "x"}), "not-sent", "only plans").await;
        assert_eq!(said(&plan, "get", json!({"url": echo})).await["status"], 200);
    }
    assert_eq!(server.seen().iter().map(|seen| seen.line.as_str()).collect::<Vec<_>>(), ["GET /v1/echo"]);
}

const ANSWERED: &str = "name: requests of a script are answered, and judged
http:
  - {url: 'https://localhost:54321/v1/x?y=z', headers: {x-a: b}, json: {name: one}}
  - {method: POST, url: 'https://localhost:54321/v1/x', fails: timeout}
steps:
  - create: {apiVersion: v1, kind: ConfigMap, metadata: {namespace: default, name: get, labels: {fetch: 'true'}}, data: {url: 'https://localhost:54321/v1/x?y=z'}}
  - expect:
      logged: ['one', 'x-a']
      http: [{url: 'https://localhost:54321/v1/x?y=z', times: 1}]
      onlyWrites: []
  - create: {apiVersion: v1, kind: ConfigMap, metadata: {namespace: default, name: post, labels: {fetch: 'true'}}, data: {method: POST, url: 'https://localhost:54321/v1/x', body: '{\"a\": 1, \"b\": 2}'}}
  - expect:
      logged: ['as the scenario requests']
      http: [{method: POST, url: 'https://localhost:54321/v1/x', json: {a: 1}}]
  - create: {apiVersion: v1, kind: ConfigMap, metadata: {namespace: default, name: other, labels: {fetch: 'true'}}, data: {url: 'https://localhost:54321/v1/other'}}
  - expect: {logged: ['the scenario has no answer']}
";

pub(super) async fn a_scenario_answers_its_requests(script: Fetching) {
    let folder = tempfile::tempdir().unwrap();
    let scenarios = folder.path().join("fetch/scenarios");
    fs::create_dir_all(&scenarios).unwrap();
    fs::write(scenarios.join("answered.yaml"), ANSWERED).unwrap();
    fs::write(folder.path().join("fetch.wasm"), script("localhost:54321")).unwrap();
    let mut command = process::boathook(["test", "--cache-dir"]);
    command.arg(cache_dir()).arg(folder.path());
    let ended = process::run(command).await;
    assert_eq!(ended.code, Some(0), "{}\n{}", ended.stdout, ended.stderr);
    assert!(ended.stdout.contains("1 passed, 0 failed"), "{}", ended.stdout);
}

#[tokio::test]
async fn fetch_passes_whole() {
    a_request_and_its_response_pass_whole(javascript).await;
}

#[tokio::test]
async fn fetch_says_what_is_not_allowed() {
    what_is_not_allowed_is_an_error_with_its_reason(javascript).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn fetch_is_answered_by_a_scenario() {
    a_scenario_answers_its_requests(javascript).await;
}

/// Its permissions allow both hosts, and `fetch` follows by itself. The admin has opened only the first one.
// mutant: crates/egress/src/reach.rs: `Reach::Public(allowed) if !allowed.is_private(url) => allowed,` => `Reach::Public(allowed) if false => allowed,`
#[tokio::test]
async fn cve_2026_4789_a_redirect_that_is_followed_leads_to_nothing_inside() {
    let server = Server::start().await;
    let hosts = format!("{}\", \"127.0.0.1:{}", server.host(), server.address.port());
    let pipeline = started(javascript(&hosts), server.client(), false).await;
    let line = said(&pipeline, "inside", json!({"url": server.url("/v1/inside")})).await;
    assert_eq!(line["reason"], "address", "{line}");
    let lines: Vec<_> = server.seen().into_iter().map(|seen| seen.line).collect();
    assert_eq!(lines, ["GET /v1/inside"]);
    // The answer itself reaches a hook that asks for it.
    let data = json!({"url": server.url("/v1/inside"), "redirect": "manual"});
    assert_eq!(said(&pipeline, "manual", data).await["status"], 302);
}

#[tokio::test]
async fn a_signal_ends_a_request_in_time() {
    let server = Server::start().await;
    let pipeline = started(javascript(&server.host()), server.client(), false).await;
    let line = said(&pipeline, "never", json!({"url": server.url("/v1/never"), "timeout": "50"})).await;
    assert_eq!((&line["name"], &line["reason"]), (&json!("TimeoutError"), &json!("timeout")), "{line}");
}

/// Runs the statements in an `async run`; the first line is line 4.
async fn ran(body: &str, limits: Limits, net: &Arc<Net>) -> RunReport {
    let sandbox = sandbox();
    let hook = loaded(&sandbox, &running(&format!("async run() {{\n{body}\n}}"))).await;
    sandbox.run(&hook, request(&hook, limits), net.clone()).await
}

/// The same, and nothing goes wrong. `is` fails unless both are the same as JSON.
async fn fine(body: &str, net: &Arc<Net>) {
    let is = "const is = (a, b) => { a = JSON.stringify(a); b = JSON.stringify(b); if (a !== b) throw new Error(`${a} is not ${b}`) };";
    let outcome = ran(&format!("{is}\n{body}"), plenty(), net).await.outcome;
    assert_eq!(outcome, Ok(()), "{body}");
}

fn response(status: u16, headers: &[(&str, &str)], body: &[u8]) -> HttpResponse {
    let header = |(name, value): &(&str, &str)| HttpHeader((*name).into(), HttpBody(value.as_bytes().to_vec()));
    HttpResponse { status, headers: headers.iter().map(header).collect(), body: HttpBody(body.to_vec()) }
}

fn sent(net: &Net) -> Vec<HttpRequest> {
    net.seen.lock().unwrap().iter().map(|(request, _)| request.clone()).collect()
}

fn header<'r>(request: &'r HttpRequest, name: &str) -> Option<&'r [u8]> {
    request.headers.iter().find(|HttpHeader(known, _)| known == name).map(|HttpHeader(_, value)| value.0.as_slice())
}

#[tokio::test]
async fn requests_and_responses_are_those_of_the_standard() {
    let net = Net::by(|_| {
        let headers = [("set-cookie", "a=1"), ("set-cookie", "b=2"), ("x-a", "\u{e4}")];
        Some(Ok(response(201, &headers, b"\xef\xbb\xbf{\"a\": \"\xc3\xa4\"}")))
    });
    fine(
        "const response = await fetch(new Request('HTTPS://A.io?q=ä b#part', { method: 'post', body: 'ä', headers: { 'X-B': 1 } }));
        is([response.status, response.ok, response.statusText, response.redirected], [201, true, '', false]);
        is(response.url, 'https://a.io/?q=%C3%A4%20b');
        is([response.headers.get('Set-Cookie'), response.headers.getSetCookie()], ['a=1, b=2', ['a=1', 'b=2']]);
        is(await response.clone().json(), { a: 'ä' });
        is([response.bodyUsed, (await response.clone().bytes()).length, (await response.arrayBuffer()).byteLength], [false, 14, 14]);
        is(await response.text().catch((error) => `${error}`), 'TypeError: the body was already read');
        const headers = new Headers([['b', '2'], ['A', '1']]);
        headers.append('b', ' 3 ');
        is([...headers], [['a', '1'], ['b', '2, 3']]);
        await fetch('https://a.io/bytes', { method: 'PUT', body: new Uint8Array([1, 2, 255]).subarray(1), headers: { latin: '\\xe4' } });",
        &net,
    )
    .await;
    let sent = sent(&net);
    assert_eq!((sent[0].method.as_str(), sent[0].url.as_str()), ("POST", "https://a.io/?q=%C3%A4%20b"));
    assert_eq!(sent[0].body.0, "ä".as_bytes());
    assert_eq!(header(&sent[0], "content-type"), Some(&b"text/plain;charset=UTF-8"[..]));
    assert_eq!(header(&sent[0], "x-b"), Some(&b"1"[..]));
    assert_eq!((sent[1].body.0.as_slice(), header(&sent[1], "content-type")), (&[2, 255][..], None));
    assert_eq!(header(&sent[1], "latin"), Some(&b"\xe4"[..]));
}

#[tokio::test]
async fn what_is_no_request_is_an_error_and_is_not_sent() {
    let net = Net::answering(1);
    for (arguments, told) in [
        ("'a.io'", "TypeError: \"a.io\" is not a URL of https or http"),
        ("'ftp://me:secret@a.io/x?key=secret'", "TypeError: \"ftp://a.io/x\" is not a URL of https or http"),
        ("'https://a.io', { body: 'x' }", "a request with the method GET has no body"),
        ("'https://a.io', { method: 'POST', body: {} }", "write an object with JSON.stringify"),
        ("'https://a.io', { method: 'a b' }", "\"a b\" is not a method"),
        ("'https://a.io', { headers: { 'a b': '1' } }", "\"a b\" is not the name of a header"),
        ("'https://a.io', { headers: { a: '1\\n2' } }", "the value of the header a is not valid"),
        ("'https://a.io', { headers: { a: '€' } }", "the value of the header a is not valid"),
        ("'https://a.io', { redirect: 'no' }", "write follow, error or manual"),
        ("'https://a.io', { signal: {} }", "signal is not an AbortSignal"),
        ("'https://a.io', { signal: AbortSignal.timeout(0) }", "TimeoutError: the time of the signal is over"),
    ] {
        let failure = ran(&format!("await fetch({arguments})"), plenty(), &net).await.outcome.unwrap_err();
        assert_eq!(failure.kind, FailureKind::Retry, "{arguments}: {failure}");
        assert!(failure.message.contains(told), "{arguments}: {failure}");
    }
    assert_eq!(sent(&net), []);
    let text = "const page = await fetch('https://a.io');\nexport default { config: {}, run() {} }";
    let error = refused(&[("hook.js", text)]).await;
    assert!(error.contains("HTTP requests are not allowed in config"), "{error}");
}

#[tokio::test]
async fn a_failure_names_its_reason_and_the_place_of_the_call() {
    for reason in [HttpReason::Denied, HttpReason::NotSent, HttpReason::Credential, HttpReason::Limit] {
        let net = Net::with(Some(Err(HttpError { reason, message: format!("why: {}", reason.label()) })));
        let failure = ran("await fetch('https://a.io')", plenty(), &net).await.outcome.unwrap_err();
        let told = format!("TypeError: fetch failed: why: {} (run hook.js:4:", reason.label());
        assert!(failure.message.starts_with(&told), "{failure}");
        let caught = format!(
            "try {{ await fetch('https://a.io') }} catch (error) {{
                if (!(error instanceof TypeError) || error.cause.reason !== '{}') throw error }}",
            reason.label()
        );
        fine(&caught, &net).await;
    }
}

/// Each of them is a request that the host judges.
#[tokio::test]
async fn redirects_are_followed_by_requests_of_their_own() {
    let net = Net::by(|request| {
        let to = |status, location: &str| Some(Ok(response(status, &[("location", location)], b"")));
        match request.url.as_str() {
            "https://a.io/one/x" => to(302, "../two?q#part"),
            "https://a.io/two?q" => to(307, "//b.io/three"),
            "https://b.io/three" => Some(Ok(response(200, &[], request.method.as_bytes()))),
            "https://a.io/same" => to(308, "https://b.io/three"),
            "https://a.io/away" => to(301, "http://169.254.169.254/"),
            "https://a.io/wrong?key=secret" => to(302, "ftp://me:secret@b.io/x?key=secret"),
            "https://a.io/loop" => to(303, "/loop"),
            "https://a.io/bare" => Some(Ok(response(304, &[], b""))),
            other => Some(Err(HttpError { reason: HttpReason::Denied, message: format!("not to {other}") })),
        }
    });
    fine(
        "const init = { method: 'POST', body: 'x', headers: { Authorization: 't', Accept: 'y' } };
        let response = await fetch('https://a.io/one/x', init);
        is([response.url, response.redirected, await response.text()], ['https://b.io/three', true, 'GET']);
        is(await (await fetch('https://a.io/same', init)).text(), 'POST');
        response = await fetch('https://a.io/away', { redirect: 'manual' });
        is([response.status, response.headers.get('location')], [301, 'http://169.254.169.254/']);
        is((await fetch('https://a.io/bare')).status, 304);
        for (const [path, init, told] of [
            ['loop', {}, 'GET https://a.io/loop: there were more than 20 redirects'],
            ['loop', { redirect: 'error' }, 'GET https://a.io/loop: the server redirects the request, and redirect is \"error\"'],
            ['away', {}, 'not to http://169.254.169.254/'],
        ]) is(await fetch(`https://a.io/${path}`, init).catch((error) => error.cause.message), told);
        const { message, cause } = await fetch('https://a.io/wrong?key=secret').catch((error) => error);
        const told = 'GET https://a.io/wrong: the server redirects the request: \"ftp://b.io/x\" is not a URL of https or http';
        is([message, cause.reason, cause.message], ['fetch failed', 'invalid', told]);",
        &net,
    )
    .await;
    let sent = sent(&net);
    let lines: Vec<_> = sent[..5].iter().map(|request| format!("{} {}", request.method, request.url)).collect();
    let first = ["POST https://a.io/one/x", "GET https://a.io/two?q", "GET https://b.io/three"];
    assert_eq!(lines, [&first[..], &["POST https://a.io/same", "POST https://b.io/three"]].concat());
    assert_eq!((header(&sent[1], "authorization"), header(&sent[1], "content-type")), (Some(&b"t"[..]), None));
    assert_eq!((header(&sent[2], "authorization"), header(&sent[2], "accept")), (None, Some(&b"y"[..])));
    assert_eq!((sent[4].body.0.as_slice(), header(&sent[4], "authorization")), (&b"x"[..], None));
}

/// None of these responses comes before all of the requests were sent.
#[tokio::test]
async fn requests_that_are_not_waited_for_one_by_one_are_sent_together() {
    let net = Net::by(|request| (!request.url.ends_with("never")).then(|| Ok(response(200, &[], b"x"))));
    fine(
        "const responses = await Promise.all(['a', 'b', 'c'].map((path) => fetch(`https://a.io/${path}`)));
        is(responses.map((response) => response.url.slice(-1)), ['a', 'b', 'c']);",
        &net,
    )
    .await;
    let limits = Limits { time: Duration::from_secs(2), ..Limits::default() };
    let body = "await Promise.all(['never', 'd', 'e'].map((path) => fetch(`https://a.io/${path}`)))";
    let failure = ran(body, limits, &net).await.outcome.unwrap_err();
    assert_eq!(failure.kind, FailureKind::Limit(Limit::Time));
    assert!(failure.message.ends_with("(the run was waiting for http.send)"), "{failure}");
    assert_eq!(sent(&net).len(), 6);
    // The run takes its requests with it.
    net.under_way.closed().await;
}

// mutant: crates/sandbox/src/imports/http.rs: `self.budget.take(1, request.bytes())` => `self.budget.take(0, request.bytes())`
// mutant: crates/sandbox/src/imports/http.rs: `self.budget.take(1, request.bytes())` => `self.budget.take(1, 0)`
// mutant: crates/sandbox/src/imports/http.rs: `self.budget.refuse(reached)?;` => ``
#[tokio::test]
async fn requests_cost_calls_and_bytes() {
    let net = Net::answering(1000);
    let one = ran("await fetch('https://a.io')", plenty(), &net).await;
    let five = ran("for (let i = 0; i < 5; i++) await fetch('https://a.io')", plenty(), &net).await;
    assert_eq!((one.host_calls, five.host_calls), (1, 5));
    assert!(five.host_bytes - one.host_bytes > 4 * 1000, "{} {}", five.host_bytes, one.host_bytes);

    let few = Limits { host_calls: 3, ..plenty() };
    let net = Net::answering(10);
    let failure = ran("for (;;) await fetch('https://a.io')", few, &net).await.outcome.unwrap_err();
    assert!(failure.message.contains("was not sent: limits.hostCalls of 3 calls reached"), "{failure}");
    assert_eq!((failure.kind, sent(&net).len()), (FailureKind::Retry, 3));
    let heedless = "for (;;) await fetch('https://a.io').catch(() => {})";
    let failure = ran(heedless, few, &net).await.outcome.unwrap_err();
    assert_eq!(failure.kind, FailureKind::Limit(Limit::HostCalls), "{failure}");

    let few = Limits { host_bytes: 60_000, ..plenty() };
    let large = "await fetch('https://a.io', { method: 'POST', body: 'x'.repeat(61_000) })";
    for (body, bytes, sent_of_it, told) in
        [("await fetch('https://a.io')", 100_000, 1, "its response does not fit"), (large, 1, 0, "")]
    {
        let net = Net::answering(bytes);
        let failure = ran(body, few, &net).await.outcome.unwrap_err();
        assert!(failure.message.contains(told) && failure.message.contains("limits.hostBytes of"), "{failure}");
        assert_eq!(sent(&net).len(), sent_of_it);
    }
    // More than one call passes is passed in several.
    let net = Net::answering(1);
    let large = "const body = new ArrayBuffer(3 << 20);
        await Promise.all([1, 2, 3, 4].map(() => fetch('https://a.io', { method: 'POST', body })))";
    assert_eq!(ran(large, plenty(), &net).await.outcome, Ok(()));
    assert_eq!(sent(&net).len(), 4);
}
