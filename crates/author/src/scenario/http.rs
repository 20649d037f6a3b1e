//! HTTP in scenarios: the servers that a scenario describes answer the hook's requests. Nothing is sent anywhere.

use std::{
    collections::HashSet,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

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
    /// So many requests receive another answer before.
    pub skip: usize,
    /// So many requests receive it. None: all of them.
    pub times: Option<usize>,
    /// Requests receive it only after a request with this method and URL has succeeded.
    pub after: Option<(String, String)>,
}

/// The servers of a scenario.
#[derive(Clone, Default)]
pub(super) struct Servers(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    answers: Vec<Answer>,
    sent: Vec<HttpRequest>,
    /// The methods and URLs of requests that succeeded.
    succeeded: HashSet<(String, String)>,
}

/// Maximum number of requests that are kept for expectations.
const MAX_SENT: usize = 10_000;

impl Servers {
    pub fn new(answers: &[Answer]) -> Self {
        Self(Arc::new(Mutex::new(State { answers: answers.to_vec(), ..State::default() })))
    }

    /// From now on, requests receive this answer. One that depends on another request replaces none.
    pub fn give(&self, answer: Answer) {
        let mut state = self.state();
        let same = |known: &Answer| (&known.method, &known.url) == (&answer.method, &answer.url);
        if answer.times.is_none() && answer.after.is_none() {
            state.answers.retain(|known| known.times.is_some() || !same(known));
        }
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

impl State {
    /// The response to the next request. One for some requests comes before one for all, and one that depends on another
    /// request before one that does not.
    fn next(&mut self, method: &str, url: &str) -> Option<Result<HttpResponse, HttpReason>> {
        let (mut some, mut then, mut all) = (None, None, None);
        let succeeded = &self.succeeded;
        for answer in self.answers.iter_mut().filter(|answer| (&*answer.method, &*answer.url) == (method, url)) {
            match (answer.skip.checked_sub(1), &mut answer.times) {
                (_, None) => match &answer.after {
                    None => all = all.or(Some(&answer.response)),
                    // The last one that holds: a server goes from state to state.
                    Some(after) if succeeded.contains(after) => then = Some(&answer.response),
                    Some(_) => {}
                },
                (Some(rest), _) => answer.skip = rest,
                (None, Some(left)) if some.is_none() && *left > 0 => {
                    *left -= 1;
                    some = Some(&answer.response);
                }
                (None, Some(_)) => {}
            }
        }
        let response = some.or(then).or(all).cloned();
        if response.as_ref().is_some_and(|response| response.as_ref().is_ok_and(|it| it.status < 300)) {
            self.succeeded.insert((method.to_owned(), url.to_owned()));
        }
        response
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
        match state.next(method, url) {
            Some(response) => response.map_err(|reason| failed(reason, "it fails, as the scenario requests")),
            None => Err(failed(HttpReason::Connection, "the scenario has no answer: add one to `http`")),
        }
    }
}

/// A response as a scenario writes it.
pub(super) fn response(status: u16, headers: Vec<(String, String)>, body: String) -> HttpResponse {
    let header = |(name, value): (String, String)| HttpHeader(name.to_lowercase(), HttpBody(value.into_bytes()));
    HttpResponse { status, headers: headers.into_iter().map(header).collect(), body: HttpBody(body.into_bytes()) }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn answer(method: &str, body: Result<&str, HttpReason>, after: Option<&str>) -> Answer {
        Answer {
            method: method.to_owned(),
            url: "u".to_owned(),
            response: body.map(|body| response(200, Vec::new(), body.to_owned())),
            skip: 0,
            times: None,
            after: after.map(|method| (method.to_owned(), "u".to_owned())),
        }
    }

    fn body(servers: &Servers, method: &str) -> String {
        let response = servers.state().next(method, "u").unwrap();
        response.map_or_else(|_| "it fails".to_owned(), |response| String::from_utf8(response.body.0).unwrap())
    }

    #[test]
    fn a_server_changes_when_a_request_has_succeeded() {
        let servers = Servers::new(&[
            answer("GET", Ok("created"), Some("POST")),
            answer("GET", Ok("none"), None),
            answer("GET", Ok("changed"), Some("PUT")),
            answer("PUT", Ok(""), None),
        ]);
        servers.give(answer("POST", Ok(""), None));
        servers.give(Answer { times: Some(1), ..answer("POST", Err(HttpReason::Timeout), None) });
        assert_eq!(body(&servers, "POST"), "it fails");
        assert_eq!(body(&servers, "GET"), "none");
        body(&servers, "POST");
        assert_eq!(body(&servers, "GET"), "created");
        body(&servers, "PUT");
        assert_eq!(body(&servers, "GET"), "changed");
        servers.give(answer("GET", Ok("by hand"), None));
        assert_eq!(body(&servers, "GET"), "by hand");
    }
}
