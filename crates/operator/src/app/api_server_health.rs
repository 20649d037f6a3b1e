//! Whether the API server answers, as health reports it. Nothing else depends on it: hooks continue with what is known,
//! and a Pod that is ended for it would lose that.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use boathook_core::model::error_chain;
use http::Request;
use kube::client::Body;
use tower::service_fn;

use crate::telemetry::Metrics;

/// How long requests may fail before it is reported. A connection that broke is opened again at once.
const FAILING: Duration = Duration::from_secs(5);
/// A quiet watch of a healthy server receives a bookmark about once a minute.
const QUIET: Duration = Duration::from_secs(75);

/// The results of one client's requests. Cheap to clone.
#[derive(Debug, Clone)]
pub(super) struct Contact(Arc<Mutex<State>>);

#[derive(Debug)]
struct State {
    heard: Instant,
    /// When the first request since then failed, and why the last one did.
    failing: Option<(Instant, String)>,
}

/// A request under way. If it is dropped without an answer, its caller gave up.
pub(super) struct Asked {
    contact: Contact,
    at: Instant,
    answered: bool,
}

impl Contact {
    pub fn new() -> Self {
        Self(Arc::new(Mutex::new(State { heard: now(), failing: None })))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn asks(&self) -> Asked {
        Asked { contact: self.clone(), at: now(), answered: false }
    }

    fn failed(&self, at: Instant, why: impl FnOnce() -> String) {
        let mut state = self.state();
        if at < state.heard {
            return;
        }
        let since = state.failing.take().map_or(at, |(since, _)| since);
        state.failing = Some((since, why()));
    }

    /// Describes what is wrong. `watches` is when a watch last received something, if there are any watches.
    pub fn trouble(&self, watches: Option<Instant>) -> Option<String> {
        self.trouble_at(now(), watches)
    }

    fn trouble_at(&self, now: Instant, watches: Option<Instant>) -> Option<String> {
        let state = self.state();
        let heard = watches.map_or(state.heard, |watches| watches.max(state.heard));
        let silent = now.saturating_duration_since(heard);
        match &state.failing {
            Some((since, why)) if *since >= heard && now.saturating_duration_since(*since) >= FAILING => {
                Some(format!("does not answer, for {} s now: {why}", silent.as_secs()))
            }
            // Without watches, silence is normal.
            _ if watches.is_some() && silent >= QUIET => {
                Some(format!("is silent: nothing has come from it for {} s", silent.as_secs()))
            }
            _ => None,
        }
    }
}

impl Asked {
    /// An answer arrived, whatever it says.
    pub fn answered(mut self) {
        self.answered = true;
        let mut state = self.contact.state();
        state.heard = now();
        state.failing = None;
    }

    /// No answer can arrive.
    pub fn failed(mut self, why: impl FnOnce() -> String) {
        self.answered = true;
        self.contact.failed(self.at, why);
    }
}

impl Drop for Asked {
    fn drop(&mut self) {
        // The caller gave up. If it did so within a moment, it had reasons of its own.
        if !self.answered && now().saturating_duration_since(self.at) >= FAILING / 5 {
            self.contact.failed(self.at, || "no answer in time".to_owned());
        }
    }
}

/// The clock that deadlines use.
fn now() -> Instant {
    tokio::time::Instant::now().into_std()
}

/// Returns a client that counts the requests that go through it.
pub(super) fn counted(client: kube::Client, metrics: Arc<Metrics>, contact: Contact) -> kube::Client {
    let namespace = client.default_namespace().to_owned();
    let send = move |request: Request<Body>| {
        let (client, metrics, begun) = (client.clone(), metrics.clone(), Instant::now());
        let asked = contact.asks();
        let (method, path) = (request.method().clone(), request.uri().path().to_owned());
        async move {
            let answer = client.send(request).await;
            match &answer {
                Ok(_) => asked.answered(),
                Err(error) => asked.failed(|| error_chain(error)),
            }
            let code = answer.as_ref().ok().map(|answer| answer.status().as_u16());
            metrics.api_request(method.as_str(), &path, code, begun.elapsed());
            answer
        }
    };
    kube::Client::new(service_fn(send), namespace)
}

#[cfg(test)]
mod tests {
    use tokio::time::advance;

    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[tokio::test(start_paused = true)]
    async fn failures_are_reported_when_they_last_and_an_answer_ends_them() {
        let contact = Contact::new();
        contact.asks().failed(|| "connection refused".to_owned());
        advance(4 * SECOND).await;
        contact.asks().failed(|| "connection reset".to_owned());
        assert_eq!(contact.trouble(None), None);
        advance(SECOND).await;
        assert_eq!(contact.trouble(None).unwrap(), "does not answer, for 5 s now: connection reset");
        // A watch that receives something counts as an answer, too.
        assert_eq!(contact.trouble(Some(now())), None);
        let late = contact.asks();
        contact.asks().answered();
        assert_eq!(contact.trouble(None), None);
        advance(SECOND).await;
        late.failed(|| "too late".to_owned());
        advance(9 * SECOND).await;
        assert_eq!(contact.trouble(None).unwrap_or_default(), "does not answer, for 10 s now: too late");
    }

    #[tokio::test(start_paused = true)]
    async fn who_waits_in_vain_is_a_failure_and_who_changes_his_mind_is_none() {
        let contact = Contact::new();
        drop(contact.asks());
        advance(10 * SECOND).await;
        assert_eq!(contact.trouble(None), None);
        let vain = contact.asks();
        advance(6 * SECOND).await;
        drop(vain);
        assert_eq!(contact.trouble(None).unwrap(), "does not answer, for 16 s now: no answer in time");
    }

    #[tokio::test(start_paused = true)]
    async fn silence_counts_where_something_is_watched() {
        let (contact, began) = (Contact::new(), now());
        advance(74 * SECOND).await;
        assert_eq!(contact.trouble(Some(began)), None);
        advance(SECOND).await;
        assert_eq!(contact.trouble(Some(began)).unwrap(), "is silent: nothing has come from it for 75 s");
        assert_eq!(contact.trouble(None), None);
        assert_eq!(contact.trouble(Some(now())), None);
    }
}
