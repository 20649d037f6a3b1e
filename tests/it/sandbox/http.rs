//! HTTP requests of guests: what reaches the host, what the guest receives, and what they cost.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use boathook_core::model::{
    CallError, Caller, Cause, EmitEvent, FailureKind, HookName, HttpBody, HttpBounds, HttpError, HttpHeader,
    HttpReason, HttpRequest, HttpResponse, Item, Limit, Limits, ListQuery, ObjectEvent, ObjectKey, ObjectRef,
    Operation, Page, Resource, SnapshotSet, WatchEventKind,
};
use boathook_sandbox::{Host, RunReport, RunRequest, Written};
use futures::future::{BoxFuture, FutureExt, pending};
use serde_json::{Value, json};
use tokio::sync::{Barrier, watch};

use super::support::{Lines, caller, guest, load, plenty, sandbox, trigger};

/// The answer to a request; without one, it waits.
type Answer = dyn Fn(&HttpRequest) -> Option<Result<HttpResponse, HttpError>> + Send + Sync;

/// Answers requests, and notes them.
pub struct Net {
    answer: Box<Answer>,
    pub seen: Mutex<Vec<(HttpRequest, HttpBounds)>>,
    /// Closed when a request without an answer is dropped.
    pub under_way: watch::Sender<()>,
    /// How many requests it answers at the same time.
    together: Barrier,
}

impl Net {
    fn new(
        answer: impl Fn(&HttpRequest) -> Option<Result<HttpResponse, HttpError>> + Send + Sync + 'static,
        together: usize,
    ) -> Self {
        let (answer, under_way) = (Box::new(answer), watch::Sender::default());
        Self { answer, seen: Mutex::default(), under_way, together: Barrier::new(together) }
    }

    pub fn by(
        answer: impl Fn(&HttpRequest) -> Option<Result<HttpResponse, HttpError>> + Send + Sync + 'static,
    ) -> Arc<Self> {
        Arc::new(Self::new(answer, 1))
    }

    /// Answers each request with the same, or never.
    pub fn with(answer: Option<Result<HttpResponse, HttpError>>) -> Arc<Self> {
        Self::by(move |_| answer.clone())
    }

    pub fn answering(bytes: usize) -> Arc<Self> {
        let headers = vec![HttpHeader("x-a".into(), HttpBody(b"b".to_vec()))];
        Self::with(Some(Ok(HttpResponse { status: 201, headers, body: HttpBody(vec![b'y'; bytes]) })))
    }
}

impl Net {
    /// Answers when so many requests are there.
    pub fn answering_together(requests: usize) -> Arc<Self> {
        let response = HttpResponse { status: 201, headers: Vec::new(), body: HttpBody::default() };
        Arc::new(Self::new(move |_| Some(Ok(response.clone())), requests))
    }
}

impl Host for Net {
    fn get<'a>(&'a self, _: &'a Caller, _: ObjectRef, _: Option<String>) -> BoxFuture<'a, Result<String, CallError>> {
        unreachable!()
    }
    fn list<'a>(&'a self, _: &'a Caller, _: ListQuery) -> BoxFuture<'a, Result<Page, CallError>> {
        unreachable!()
    }
    fn write<'a>(&'a self, _: &'a Caller, _: Operation) -> BoxFuture<'a, Written> {
        unreachable!()
    }
    fn batch<'a>(&'a self, _: &'a Caller, _: Vec<Operation>) -> BoxFuture<'a, Vec<Written>> {
        unreachable!()
    }
    fn emit_event<'a>(&'a self, _: &'a Caller, _: EmitEvent) -> BoxFuture<'a, Result<(), CallError>> {
        unreachable!()
    }
    fn http<'a>(
        &'a self,
        _: &'a Caller,
        request: HttpRequest,
        bounds: HttpBounds,
    ) -> BoxFuture<'a, Result<HttpResponse, HttpError>> {
        let answer = (self.answer)(&request);
        self.seen.lock().unwrap().push((request, bounds));
        match answer {
            Some(answer) => async {
                self.together.wait().await;
                answer
            }
            .boxed(),
            None => {
                let held = self.under_way.subscribe();
                async move {
                    let _until_dropped = held;
                    pending().await
                }
                .boxed()
            }
        }
    }
    fn snapshot_set(&self, _: &HookName) -> SnapshotSet {
        SnapshotSet::default()
    }
}

/// Runs the guest `fetch`, which sends what the object says.
async fn fetch(data: Value, limits: Limits, net: &Arc<Net>) -> RunReport {
    let sandbox = sandbox();
    let hook = load(&sandbox, "fetch", &guest("fetch")).await;
    let object = json!({"metadata": {"name": "m"}, "data": data}).to_string();
    let item = Item {
        key: ObjectKey { namespace: Some("default".into()), name: "m".into() },
        uid: "u".into(),
        resource_version: "1".into(),
        object: Some(object.as_str().into()),
        filter_result: None,
    };
    let event = ObjectEvent {
        kind: WatchEventKind::Added,
        resource: Arc::new(Resource::of("v1", "ConfigMap", "configmaps", true)),
        item: Arc::new(item),
        previous_filter_result: None,
        previous_object: None,
        managers: None,
    };
    let triggers = vec![trigger("fetch", "configmaps", Cause::Event(event))];
    let request = RunRequest { caller: caller("fetch"), attempt: 1, triggers, limits };
    sandbox.run(&hook, request, net.clone()).await
}

/// The guest's own lines as JSON, and the others as texts.
fn said(lines: &Lines) -> (Vec<Value>, Vec<String>) {
    let all: Vec<_> = lines.of_hooks().iter().map(|line| line["message"].as_str().unwrap().to_owned()).collect();
    let (own, others): (Vec<_>, Vec<_>) = all.into_iter().partition(|line| line.starts_with('{'));
    (own.iter().map(|line| serde_json::from_str(line).unwrap()).collect(), others)
}

const URL: &str = "https://localhost:8443/v1/x?y=z";

#[tokio::test]
async fn a_request_reaches_the_host_whole_and_the_guest_receives_the_response() {
    let (lines, _collecting) = Lines::collect();
    let (net, body) = (Net::answering(5000), "x".repeat(50_000));
    let data = json!({"url": URL, "method": "POST", "body": body, "authorization": "Bearer t", "timeout": "5000"});
    let report = fetch(data, plenty(), &net).await;
    assert_eq!(report.outcome, Ok(()));
    let (request, bounds) = net.seen.lock().unwrap()[0].clone();
    assert_eq!((request.method.as_str(), request.url.as_str()), ("POST", URL));
    assert_eq!((request.body.0.len(), bounds.time), (body.len(), Some(Duration::from_secs(5))));
    assert!(request.headers.contains(&HttpHeader("authorization".into(), HttpBody(b"Bearer t".to_vec()))));
    let own = &said(&lines).0[0];
    assert_eq!((&own["status"], &own["headers"]), (&json!(201), &json!({"x-a": "b"})));
    assert_eq!(own["body"].as_str().unwrap().len(), 5000);
}

// mutant: crates/sandbox/src/http.rs: `self.run.budget.take(1, bytes)` => `self.run.budget.take(0, bytes)`
// mutant: crates/sandbox/src/http.rs: `.take_bytes(response.bytes())` => `.take_bytes(0)`
// mutant: crates/sandbox/src/http.rs: `self.run.budget.take_bytes(data.len())` => `self.run.budget.take_bytes(0)`
#[tokio::test]
async fn requests_cost_calls_and_bytes() {
    let data = json!({"url": URL, "times": "5"});
    let free = fetch(data.clone(), plenty(), &Net::answering(1000)).await;
    let one = fetch(json!({"url": URL}), plenty(), &Net::answering(1000)).await;
    assert_eq!(free.host_calls - one.host_calls, 2 * 4);
    assert!(free.host_bytes - one.host_bytes > 4 * 1000, "{} {}", free.host_bytes, one.host_bytes);

    // Each time, the guest logs a line, which is a call too.
    let (lines, _collecting) = Lines::collect();
    let net = Net::answering(1000);
    let report = fetch(data, Limits { host_calls: 5, ..plenty() }, &net).await;
    assert_eq!((net.seen.lock().unwrap().len(), report.host_calls), (3, 5));
    let told = "an HTTP request was not sent: limits.hostCalls of 5 calls reached";
    assert!(said(&lines).1.is_empty(), "the fourth line is over the limit, and ends the run");
    assert_eq!(report.outcome.unwrap_err().kind, FailureKind::Limit(Limit::HostCalls));
    let (lines, _collecting) = Lines::collect();
    fetch(json!({"url": URL, "times": "2"}), Limits { host_calls: 2, ..plenty() }, &net).await;
    let heard = said(&lines).1;
    assert!(heard.iter().any(|line| line.starts_with(&told.replace('5', "2"))), "{heard:?}");

    let few = Limits { host_bytes: 60_000, ..plenty() };
    let (small, large) = (json!({"url": URL}), json!({"url": URL, "method": "POST", "body": "x".repeat(100_000)}));
    for (data, bytes, sent, what) in [(small, 100_000, 1, "its response does not fit"), (large, 1, 0, "was not sent")] {
        let (lines, _collecting) = Lines::collect();
        let net = Net::answering(bytes);
        fetch(data, few, &net).await;
        assert_eq!(net.seen.lock().unwrap().len(), sent);
        let heard = said(&lines).1;
        assert!(heard.iter().any(|line| line.contains(what) && line.contains("limits.hostBytes of")), "{heard:?}");
    }
}

#[tokio::test]
async fn what_the_host_refuses_is_in_the_log() {
    for (reason, kind) in [
        (HttpReason::Denied, "Denied"),
        (HttpReason::Address, "Address"),
        (HttpReason::NotSent, "Denied"),
        (HttpReason::Name, "Name"),
        (HttpReason::Connection, "Connection"),
        (HttpReason::Tls, "Tls"),
        (HttpReason::Timeout, "Timeout"),
        (HttpReason::Invalid, "Invalid"),
        (HttpReason::Credential, "Credential"),
        (HttpReason::Limit, "Other"),
    ] {
        let (lines, _collecting) = Lines::collect();
        let message = format!("why not: {}", reason.label());
        let net = Net::with(Some(Err(HttpError { reason, message: message.clone() })));
        assert_eq!(fetch(json!({"url": URL}), plenty(), &net).await.outcome, Ok(()));
        let (own, others) = said(&lines);
        assert_eq!((own[0]["kind"].as_str(), others), (Some(kind), vec![message]));
    }
}

#[tokio::test]
async fn a_run_that_waits_for_a_response_ends_in_time_and_says_so() {
    let net = Net::with(None);
    let limits = Limits { time: Duration::from_millis(100), ..Limits::default() };
    let failure = fetch(json!({"url": URL}), limits, &net).await.outcome.unwrap_err();
    assert_eq!(failure.kind, FailureKind::Limit(Limit::Time));
    assert!(failure.message.ends_with("(the run was waiting for wasi:http)"), "{}", failure.message);
    assert_eq!(net.seen.lock().unwrap().len(), 1);
    // The run takes its request with it. Otherwise this would wait forever.
    net.under_way.closed().await;
}
