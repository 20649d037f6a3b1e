//! What the API server says about tokens: whose they are (TokenReview), and whether that user may see the console
//! (SubjectAccessReview). Answers count for a short time. Any client can send tokens, so there are few questions at a time,
//! and what is remembered is bounded.

use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use boathook_core::model::error_chain;
use kube::Client;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use tokio::{
    sync::Semaphore,
    time::{Instant, timeout},
};
use tracing::{info, warn};

use super::denied::{Denied, PATH};

const TOKENS: &str = "/apis/authentication.k8s.io/v1/tokenreviews";
const ACCESS: &str = "/apis/authorization.k8s.io/v1/subjectaccessreviews";

/// How many tokens are asked about at the same time.
const AT_A_TIME: usize = 2;
/// How long a request waits for its turn and for the answers.
const PATIENCE: Duration = Duration::from_secs(10);
/// How long an answer counts. A right that is taken away, or a token that ends, is noticed after this.
const ALLOWED: Duration = Duration::from_secs(30);
const REFUSED: Duration = Duration::from_secs(5);
/// How long the operator does not say again that the API server does not answer.
const SILENCE: Duration = Duration::from_secs(60);
/// How many answers of each kind are remembered. Those who send wrong tokens make no right one be forgotten.
const MOST: usize = 256;

pub(super) struct Reviews {
    client: Client,
    known: Mutex<Known>,
    turns: Semaphore,
    /// Until when the log has nothing about questions that failed.
    silent: Mutex<Option<Instant>>,
}

/// What is known, by the digests of tokens: the tokens themselves are not kept.
#[derive(Default)]
struct Known {
    allowed: HashMap<[u8; 32], Instant>,
    refused: HashMap<[u8; 32], (Instant, Denied)>,
}

impl Reviews {
    pub fn new(client: Client) -> Self {
        Self { client, known: Mutex::default(), turns: Semaphore::new(AT_A_TIME), silent: Mutex::default() }
    }

    /// Lets a token pass, or says why not.
    pub async fn admit(&self, token: &str) -> Result<(), Denied> {
        let digest = digest(token);
        if let Some(known) = self.known().find(&digest, Instant::now()) {
            return known;
        }
        let asked = async {
            let _turn = self.turns.acquire().await.map_err(|_| Denied::Busy)?;
            // A page sends several requests at once, and the first of them has asked.
            if let Some(known) = self.known().find(&digest, Instant::now()) {
                return known;
            }
            let answer = self.ask(token).await;
            self.known().keep(digest, &answer, Instant::now());
            answer
        };
        timeout(PATIENCE, asked).await.unwrap_or(Err(Denied::Busy))
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn ask(&self, token: &str) -> Result<(), Denied> {
        let review = json!({
            "apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "spec": {"token": token},
        });
        let answer = self.post(TOKENS, &review).await?;
        let user = answer.pointer("/status/user").filter(|_| is(&answer, "/status/authenticated"));
        let Some(user) = user.filter(|user| user.get("username").is_some_and(Value::is_string)) else {
            return Err(Denied::BadToken);
        };
        let answer = self.post(ACCESS, &access(user)).await?;
        if is(&answer, "/status/allowed") && !is(&answer, "/status/denied") {
            return Ok(());
        }
        let user = user.get("username").and_then(Value::as_str).unwrap_or_default().to_owned();
        info!(user, "refused to show the console: the user may not get the non-resource URL {PATH}");
        Err(Denied::Forbidden { user })
    }

    async fn post(&self, path: &str, review: &Value) -> Result<Value, Denied> {
        let failed = |error: &dyn std::error::Error| {
            let mut silent = self.silent.lock().unwrap_or_else(PoisonError::into_inner);
            if tells(&mut silent, Instant::now()) {
                warn!(
                    error = error_chain(error),
                    path,
                    "cannot ask the API server who may see the console: allow the operator to create TokenReviews and \
                     SubjectAccessReviews; `boathook rbac --console` prints the role"
                );
            }
            Denied::NoAnswer
        };
        let request = http::Request::post(path).header(http::header::CONTENT_TYPE, "application/json");
        let request = request.body(review.to_string().into_bytes()).map_err(|error| failed(&error))?;
        self.client.request(request).await.map_err(|error| failed(&error))
    }
}

/// Whether the log has a failure now. A page that stays open asks every few seconds.
fn tells(silent: &mut Option<Instant>, now: Instant) -> bool {
    if silent.is_some_and(|until| until > now) {
        return false;
    }
    *silent = Some(now + SILENCE);
    true
}

fn is(answer: &Value, pointer: &str) -> bool {
    answer.pointer(pointer).and_then(Value::as_bool) == Some(true)
}

/// Stands for a token that is not kept.
pub(super) fn digest(token: &str) -> [u8; 32] {
    Sha256::digest(token.as_bytes()).into()
}

/// Whether the user of a TokenReview may see the console.
fn access(user: &Value) -> Value {
    let mut spec = json!({"nonResourceAttributes": {"path": PATH, "verb": "get"}});
    let fields = [("user", "username"), ("uid", "uid"), ("groups", "groups"), ("extra", "extra")];
    if let Some(spec) = spec.as_object_mut() {
        let given = fields.iter().filter_map(|(to, from)| Some(((*to).to_owned(), user.get(*from)?.clone())));
        spec.extend(given);
    }
    json!({"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview", "spec": spec})
}

impl Known {
    fn find(&self, digest: &[u8; 32], now: Instant) -> Option<Result<(), Denied>> {
        if self.allowed.get(digest).is_some_and(|until| *until > now) {
            return Some(Ok(()));
        }
        let (_, denied) = self.refused.get(digest).filter(|(until, _)| *until > now)?;
        Some(Err(denied.clone()))
    }

    fn keep(&mut self, digest: [u8; 32], answer: &Result<(), Denied>, now: Instant) {
        match answer {
            Ok(()) => {
                make_room(&mut self.allowed, |until| *until);
                self.refused.remove(&digest);
                self.allowed.insert(digest, now + ALLOWED);
            }
            // The last one says nothing about the token, but each further question would wait for as long.
            Err(denied @ (Denied::BadToken | Denied::Forbidden { .. } | Denied::NoAnswer)) => {
                make_room(&mut self.refused, |(until, _)| *until);
                self.allowed.remove(&digest);
                self.refused.insert(digest, (now + REFUSED, denied.clone()));
            }
            Err(_) => {}
        }
    }
}

fn make_room<T>(answers: &mut HashMap<[u8; 32], T>, until: impl Fn(&T) -> Instant) {
    if answers.len() >= MOST {
        let first = answers.iter().min_by_key(|(_, answer)| until(answer)).map(|(digest, _)| *digest);
        first.and_then(|digest| answers.remove(&digest));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_count_for_a_short_time() {
        let (mut known, now) = (Known::default(), Instant::now());
        known.keep([1; 32], &Ok(()), now);
        known.keep([2; 32], &Err(Denied::BadToken), now);
        known.keep([3; 32], &Err(Denied::NoAnswer), now);
        assert_eq!(known.find(&[1; 32], now), Some(Ok(())));
        assert_eq!(known.find(&[2; 32], now), Some(Err(Denied::BadToken)));
        assert_eq!(known.find(&[3; 32], now), Some(Err(Denied::NoAnswer)));
        assert_eq!(known.find(&[3; 32], now + REFUSED), None);
        known.keep([4; 32], &Err(Denied::Busy), now);
        assert_eq!(known.find(&[4; 32], now), None);
        assert_eq!(known.find(&[2; 32], now + REFUSED), None);
        assert_eq!(known.find(&[1; 32], now + ALLOWED), None);
        // A token can lose its rights, and get them back.
        known.keep([1; 32], &Err(Denied::Forbidden { user: "u".to_owned() }), now + ALLOWED);
        assert!(known.find(&[1; 32], now + ALLOWED).is_some_and(|known| known.is_err()));
        known.keep([1; 32], &Ok(()), now + ALLOWED);
        assert_eq!(known.find(&[1; 32], now + ALLOWED), Some(Ok(())));
    }

    // mutant: crates/operator/src/console/reviews.rs: `if silent.is_some_and(|until| until > now) {` => `if false {`
    #[test]
    fn an_api_server_that_does_not_answer_is_told_once_a_minute() {
        let (mut silent, now) = (None, Instant::now());
        let told = (0..180).filter(|second| tells(&mut silent, now + Duration::from_secs(*second))).count();
        assert_eq!(told, 3);
    }

    // mutant: crates/operator/src/console/reviews.rs: `if answers.len() >= MOST {` => `if false {`
    #[test]
    fn wrong_tokens_are_remembered_within_a_bound_and_make_no_right_one_be_forgotten() {
        let (mut known, now) = (Known::default(), Instant::now());
        known.keep([255; 32], &Ok(()), now);
        for n in 0..2 * MOST {
            let mut digest = [0; 32];
            digest[..8].copy_from_slice(&n.to_le_bytes());
            known.keep(digest, &Err(Denied::BadToken), now + Duration::from_millis(n as u64));
        }
        assert_eq!((known.allowed.len(), known.refused.len()), (1, MOST));
        assert_eq!(known.find(&[255; 32], now), Some(Ok(())));
    }
}
