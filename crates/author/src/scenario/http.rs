//! HTTP in scenarios: the servers that a scenario describes answer the hook's requests. Nothing is sent anywhere.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use boathook_core::model::{HttpBody, HttpError, HttpHeader, HttpReason, HttpRequest, HttpResponse};
use boathook_egress::Answers;

/// What a request receives instead of a response, with the reason that the operator has for it.
pub(super) const FAILS: [(&str, HttpReason); 5] = [
    ("connection", HttpReason::Connection),
    ("credential", HttpReason::Credential),
    ("name", HttpReason::Name),
    ("timeout", HttpReason::Timeout),
    ("tls", HttpReason::Tls),
];

/// The response to one method at one URL.
#[derive(Debug, Clone)]
pub(super) struct Answer {
    pub method: String,
    pub url: String,
    pub response: Result<HttpResponse, HttpReason>,
}

/// The servers of a scenario.
#[derive(Clone, Default)]
pub(super) struct Servers(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    answers: Vec<Answer>,
    sent: Vec<HttpRequest>,
}

/// Maximum number of requests that are kept for expectations.
const MAX_SENT: usize = 10_000;

impl Servers {
    pub fn new(answers: &[Answer]) -> Self {
        Self(Arc::new(Mutex::new(State { answers: answers.to_vec(), sent: Vec::new() })))
    }

    /// From now on, requests receive this answer.
    pub fn give(&self, answer: Answer) {
        let mut state = self.state();
        state.answers.retain(|known| (&known.method, &known.url) != (&answer.method, &answer.url));
        state.answers.push(answer);
    }

    /// The requests that arrived, in order.
    pub fn sent(&self) -> Vec<HttpRequest> {
        self.state().sent.clone()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Answers for Servers {
    fn answer(&self, request: &HttpRequest) -> Result<HttpResponse, HttpError> {
        let mut state = self.state();
        if state.sent.len() < MAX_SENT {
            state.sent.push(request.clone());
        }
        let HttpRequest { method, url, .. } = request;
        let failed = |reason, why: &str| HttpError { reason, message: format!("{method} {url}: {why}") };
        match state.answers.iter().find(|answer| (&answer.method, &answer.url) == (method, url)) {
            Some(answer) => {
                answer.response.clone().map_err(|reason| failed(reason, "it fails, as the scenario requests"))
            }
            None => Err(failed(HttpReason::Connection, "the scenario has no answer: add one to `http`")),
        }
    }
}

/// A response as a scenario writes it.
pub(super) fn response(status: u16, headers: Vec<(String, String)>, body: String) -> HttpResponse {
    let header = |(name, value): (String, String)| HttpHeader(name.to_lowercase(), HttpBody(value.into_bytes()));
    HttpResponse { status, headers: headers.into_iter().map(header).collect(), body: HttpBody(body.into_bytes()) }
}
