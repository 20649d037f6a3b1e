//! Faults of a scenario: what the operator's client receives instead of the API server's responses and watch events, and
//! crashes of the operator. They do not affect the scenario's admin.

mod events;

use std::{
    collections::HashSet,
    io,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use bytes::Bytes;
use http::{Method, Request, Response};
use http_body_util::{BodyExt as _, combinators::UnsyncBoxBody};
use kube::client::Body;
use serde_json::{Value, json};
use tokio::sync::Notify;
use tower::service_fn;

/// The verbs of calls, as in the log of writes.
pub(super) const VERBS: [&str; 5] = ["get", "create", "update", "patch", "delete"];
/// Possible status codes, with the API server's reasons.
pub(super) const ANSWERS: [(u16, &str); 9] = [
    (400, "BadRequest"),
    (403, "Forbidden"),
    (404, "NotFound"),
    (409, "Conflict"),
    (413, "RequestEntityTooLarge"),
    (422, "Invalid"),
    (429, "TooManyRequests"),
    (500, "InternalError"),
    (503, "ServiceUnavailable"),
];
/// What happens to a call without a status code of the API server.
pub(super) const FATES: [(&str, Answer); 3] =
    [("refused", Answer::Refused), ("lost", Answer::Lost), ("crash", Answer::Crash)];
/// The events of a watch.
pub(super) const EVENTS: [&str; 3] = ["added", "modified", "deleted"];
/// How an event is delivered.
pub(super) const DELIVERIES: [(&str, Delivery); 2] = [("late", Delivery::Late), ("missed", Delivery::Missed)];

/// The body of a response that may have been changed.
type Disturbed = UnsyncBoxBody<Bytes, kube::Error>;

fn disturbed(body: impl http_body::Body<Data = Bytes, Error = kube::Error> + Send + 'static) -> Disturbed {
    body.boxed_unsync()
}

/// The pause that a refusal requests, in seconds. No caller waits that long, so the refusal reaches the hook.
const LONG: &str = "3600";
/// Maximum number of calls and events that are noted.
const MAX_NOTED: usize = 10_000;
/// Collections whose objects only report what the operator does.
const REPORTS: [&str; 3] = ["events", "leases", "selfsubjectaccessreviews"];

/// What a call receives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Answer {
    /// This status. The API server does not receive the call.
    Status(u16),
    /// A refusal that the operator does not wait out. The API server does not receive the call.
    Refused,
    /// Nothing: the API server does it, and the connection ends before its answer.
    Lost,
    /// Nothing: the API server does it, and the operator crashes before its answer.
    Crash,
}

/// How an event reaches the operator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Delivery {
    /// With all later events of its watch, only when the scenario releases them.
    Late,
    /// Never. Events of other objects arrive. The watch breaks when the object changes again, or when the scenario releases
    /// it. The operator then lists the objects as they are.
    Missed,
}

/// A fault that is to come.
#[derive(Debug)]
pub(super) enum Armed {
    Call(ArmedCall),
    Event(ArmedEvent),
}

/// After `skip` calls of one kind, the next `left` calls receive this response.
#[derive(Debug)]
pub(super) struct ArmedCall {
    pub verb: &'static str,
    /// Path of the object, or of its subresource.
    pub path: String,
    pub answer: Answer,
    pub skip: usize,
    pub left: usize,
}

/// After `skip` events of one type, the next one is delivered in this way.
#[derive(Debug)]
pub(super) struct ArmedEvent {
    pub event: &'static str,
    /// Path of the object.
    pub path: String,
    pub delivery: Delivery,
    pub skip: usize,
    /// The versions of the events that were skipped. Several watches may deliver the same event.
    seen: HashSet<String>,
    /// The version of the event that the fault is about, once it has come.
    version: Option<String>,
    /// The event may arrive now.
    over: bool,
}

impl ArmedEvent {
    pub fn new(event: &'static str, path: String, delivery: Delivery, skip: usize) -> Self {
        Self { event, path, delivery, skip, seen: HashSet::new(), version: None, over: false }
    }

    /// Whether the fault applies to this event.
    fn strikes(&mut self, event: &str, path: &str, version: &str) -> bool {
        if self.over || self.event != event || self.path != path {
            return false;
        }
        if self.version.is_none() && self.seen.insert(version.to_owned()) {
            match self.skip.checked_sub(1) {
                Some(rest) => self.skip = rest,
                None => self.version = Some(version.to_owned()),
            }
        }
        self.version.as_deref() == Some(version)
    }
}

/// A call or an event that passed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Noted {
    /// The step during which it passed. None before the first step.
    pub step: Option<usize>,
    pub what: Passed,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Passed {
    /// A call for one object.
    Call {
        verb: &'static str,
        path: String,
        /// A fault answered it.
        struck: bool,
    },
    /// An event of an object.
    Event { event: &'static str, path: String },
}

#[derive(Default)]
struct State {
    calls: Vec<ArmedCall>,
    events: Vec<ArmedEvent>,
    /// The number of crashes. A client of an operator that has crashed gets no answer.
    crashes: usize,
    /// The operator has crashed, and was not started again.
    crashed: bool,
    /// Requests without an answer. Watches are not counted.
    open: usize,
    /// The number of everything that has passed.
    passed: usize,
    step: Option<usize>,
    noted: Vec<Noted>,
    /// The events that were noted, with their versions.
    known: HashSet<(&'static str, String, String)>,
}

/// The faults of a scenario, and what passes between the operator and the API server.
#[derive(Clone, Default)]
pub(super) struct Faults {
    state: Arc<Mutex<State>>,
    /// Events may arrive now.
    released: Arc<Notify>,
}

/// Whether calls are in progress, and how much has happened. If both stay the same, nothing happens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Traffic {
    pub open: usize,
    passed: usize,
}

impl Faults {
    pub fn arm(&self, fault: Armed) {
        match fault {
            Armed::Call(call) => self.state().calls.push(call),
            Armed::Event(event) => self.state().events.push(event),
        }
    }

    /// From now on, everything is noted as a part of this step.
    pub fn begin(&self, step: usize) {
        self.state().step = Some(step);
    }

    pub fn noted(&self) -> Vec<Noted> {
        self.state().noted.clone()
    }

    pub fn traffic(&self) -> Traffic {
        let state = self.state();
        Traffic { open: state.open, passed: state.passed }
    }

    /// Lets the events arrive that are held back.
    pub fn release(&self) {
        self.state().events.iter_mut().filter(|event| event.version.is_some()).for_each(|event| event.over = true);
        self.released.notify_waiters();
    }

    /// Whether the operator has crashed. It does not matter how often.
    pub fn has_crashed(&self) -> bool {
        self.state().crashed
    }

    /// A client with faults, which otherwise works like `client`. It ends the crash.
    pub fn client(&self, client: kube::Client) -> kube::Client {
        let mine = {
            let mut state = self.state();
            state.crashed = false;
            state.crashes
        };
        let (faults, namespace) = (self.clone(), client.default_namespace().to_owned());
        let send = move |request: Request<Body>| {
            let (client, faults) = (client.clone(), faults.clone());
            async move {
                faults.lives(mine).await;
                let answer = faults.send(&client, request).await;
                faults.lives(mine).await;
                answer
            }
        };
        kube::Client::new(service_fn(send), namespace)
    }

    /// Never returns to an operator that has crashed.
    async fn lives(&self, operator: usize) {
        if self.state().crashes != operator {
            std::future::pending().await
        }
    }

    async fn send(&self, client: &kube::Client, request: Request<Body>) -> Result<Response<Disturbed>, kube::Error> {
        if let Some(watch) = events::Watch::of(request.uri()) {
            let answer = client.send(request).await?;
            let watches = answer.status().is_success();
            return Ok(if watches { watch.through(self.clone(), answer) } else { answer.map(disturbed) });
        }
        self.call(client, request).await.map(|answer| answer.map(disturbed))
    }

    async fn call(&self, client: &kube::Client, request: Request<Body>) -> Result<Response<Body>, kube::Error> {
        let _open = Open::new(self);
        let (request, path) = addressed(request).await?;
        let method = request.method().clone();
        match self.strike(&method, &path) {
            Some(Answer::Status(code)) => Ok(answer(code, &method, &path)),
            Some(Answer::Refused) => {
                let mut refusal = answer(503, &method, &path);
                refusal.headers_mut().insert(http::header::RETRY_AFTER, http::HeaderValue::from_static(LONG));
                Ok(refusal)
            }
            Some(Answer::Lost) => {
                client.send(request).await?;
                let why = io::Error::new(io::ErrorKind::ConnectionReset, "the scenario ends the connection");
                Err(kube::Error::Service(Box::new(why)))
            }
            Some(Answer::Crash) => {
                client.send(request).await?;
                self.crash();
                std::future::pending().await
            }
            None => client.send(request).await,
        }
    }

    fn crash(&self) {
        let mut state = self.state();
        state.crashes += 1;
        state.crashed = true;
        state.open = 0;
    }

    fn strike(&self, method: &Method, path: &str) -> Option<Answer> {
        let verb = verb(method)?;
        let mut state = self.state();
        let mut due = None;
        // Each fault counts the calls for itself, so that one does not change what another is about.
        for fault in state.calls.iter_mut().filter(|fault| fault.verb == verb && fault.path == path) {
            match fault.skip.checked_sub(1) {
                Some(rest) => fault.skip = rest,
                None if due.is_none() && fault.left > 0 => {
                    fault.left -= 1;
                    due = Some(fault.answer);
                }
                None => {}
            }
        }
        if !reports(path) {
            state.note(Passed::Call { verb, path: path.to_owned(), struck: due.is_some() });
        }
        due
    }

    /// How an event of a watch is delivered, with the number of the fault. `None`: at once.
    fn delivery(&self, event: &'static str, path: &str, version: &str) -> Option<(usize, Delivery)> {
        let mut state = self.state();
        state.passed += 1;
        if !reports(path) && state.known.insert((event, path.to_owned(), version.to_owned())) {
            state.note(Passed::Event { event, path: path.to_owned() });
        }
        let mut faults = state.events.iter_mut().enumerate();
        faults.find_map(|(number, fault)| fault.strikes(event, path, version).then_some((number, fault.delivery)))
    }

    fn is_over(&self, fault: usize) -> bool {
        self.state().events.get(fault).is_none_or(|event| event.over)
    }

    fn end(&self, fault: usize) {
        if let Some(event) = self.state().events.get_mut(fault) {
            event.over = true;
        }
    }

    /// Something has happened that is neither a call nor an event.
    fn touch(&self) {
        self.state().passed += 1;
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn note(&mut self, what: Passed) {
        if self.noted.len() < MAX_NOTED {
            self.noted.push(Noted { step: self.step, what });
        }
    }
}

/// A request without an answer, of an operator that lives.
struct Open {
    faults: Faults,
    operator: usize,
}

impl Open {
    fn new(faults: &Faults) -> Self {
        let mut state = faults.state();
        state.open += 1;
        state.passed += 1;
        Self { faults: faults.clone(), operator: state.crashes }
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        let mut state = self.faults.state();
        if state.crashes == self.operator {
            state.open -= 1;
        }
        state.passed += 1;
    }
}

fn reports(path: &str) -> bool {
    path.split('/').any(|part| REPORTS.contains(&part))
}

fn verb(method: &Method) -> Option<&'static str> {
    let methods = [Method::GET, Method::POST, Method::PUT, Method::PATCH, Method::DELETE];
    methods.iter().zip(VERBS).find(|(known, _)| *known == method).map(|(_, verb)| verb)
}

/// A request, and the path of its object. For a request that creates, the name is in the body.
async fn addressed(request: Request<Body>) -> Result<(Request<Body>, String), kube::Error> {
    let path = request.uri().path().to_owned();
    if request.method() != Method::POST {
        return Ok((request, path));
    }
    let (parts, body) = request.into_parts();
    let body = body.collect_bytes().await?;
    let object: Value = serde_json::from_slice(&body).unwrap_or_default();
    let name = object.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default();
    Ok((Request::from_parts(parts, Body::from(body)), format!("{path}/{name}")))
}

fn answer(code: u16, method: &Method, path: &str) -> Response<Body> {
    let known = ANSWERS.iter().find(|(known, _)| *known == code).map_or("", |(_, reason)| reason);
    let reason = if code == 409 && method == Method::POST { "AlreadyExists" } else { known };
    let message = format!("{code} for {path}, as the scenario requests");
    let status = json!({
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
        "reason": reason, "message": message, "code": code,
    });
    let mut response = Response::new(Body::from(status.to_string().into_bytes()));
    *response.status_mut() = http::StatusCode::from_u16(code).unwrap_or(http::StatusCode::INTERNAL_SERVER_ERROR);
    response.headers_mut().insert(http::header::CONTENT_TYPE, http::HeaderValue::from_static("application/json"));
    response
}
