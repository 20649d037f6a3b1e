//! Sends one request, and repeats it if that is safe, within limits of time and size.
//!
//! This does not check grants. The callers have done so.

use std::{error::Error as StdError, sync::Arc, time::Duration};

use boathook_core::model::{Allowance, CallError, CallReason, Caller, HookName, Identity};
use bytes::Bytes;
use http::{HeaderMap, Method, Request, header, request};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use kube::client::Body;
use tokio::time::Instant;

use super::{
    AccessConfig,
    errors::{self, Status},
    retry::{self, Next, Policy, Symptom},
};
use crate::election::{Leadership, NotLeading};

/// The most bytes of an error's body. A longer body is not read.
const MAX_ERROR_BYTES: usize = 256 * 1024;

/// A response is in memory as it arrived, in a buffer that grew, and as what is made of it.
const COPIES: usize = 3;

/// What went to the API server and back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exchanged {
    Sent(u64),
    Received(u64),
}

/// Receives what is sent and received for a hook.
pub(super) type OnExchange = Arc<dyn Fn(&HookName, Exchanged) + Send + Sync>;

/// One request.
#[derive(Debug, Clone)]
pub(super) struct ApiRequest {
    pub method: Method,
    /// The path and the query, percent-encoded.
    pub uri: String,
    pub content_type: &'static str,
    pub body: Bytes,
    /// Doing it twice is as good as once.
    pub repeatable: bool,
    /// A list has another size limit.
    pub list: bool,
    /// The request changes nothing, whatever its method.
    pub asks: bool,
}

impl ApiRequest {
    /// A request without a body.
    pub fn get(uri: String) -> Self {
        let body = Bytes::new();
        Self { method: Method::GET, uri, content_type: JSON, body, repeatable: true, list: false, asks: true }
    }
}

/// The only place that sets this header. What a hook passes becomes part of a path or a body. The API server adds a
/// ServiceAccount's groups itself. Naming them here would need the right to impersonate groups, and with it groups of
/// any name.
fn impersonating(request: request::Builder, identity: Option<&Identity>) -> request::Builder {
    match identity {
        Some(identity) => request.header("Impersonate-User", identity.user()),
        None => request,
    }
}

pub(super) const JSON: &str = "application/json";

/// The totals of the requests of one call.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct RequestStats {
    /// The number of requests sent.
    pub tries: u32,
    /// The last HTTP status.
    pub code: Option<u16>,
    /// A try failed that may have taken effect.
    pub uncertain: bool,
    /// A write was sent, and there is no response that says what became of it.
    pub unknown: bool,
    /// The server's time when it sent the last response, and how long the request took.
    pub answered: Option<(jiff::Timestamp, Duration)>,
    /// The bytes of responses' bodies.
    pub received: u64,
}

#[derive(Clone)]
pub(super) struct Sender {
    client: kube::Client,
    on_exchange: OnExchange,
    leadership: Leadership,
    timeout: Duration,
    policy: Policy,
    max_object_bytes: usize,
    max_list_bytes: usize,
}

enum Fault {
    Answered {
        code: u16,
        retry_after: Option<Duration>,
        body: Bytes,
    },
    NotConnected(String),
    Lost(String),
    TimedOut,
    TooLarge,
    /// There is not enough memory left for the caller.
    Crowded,
    Unsendable(http::Error),
    /// Another operator may lead.
    Fenced(NotLeading),
}

impl Sender {
    pub fn new(client: kube::Client, config: &AccessConfig, on_exchange: OnExchange) -> Self {
        Self {
            client,
            on_exchange,
            leadership: Leadership::alone(),
            timeout: config.request_timeout,
            policy: Policy { retries: config.retries, max_retry_after: config.max_retry_after },
            max_object_bytes: config.max_object_bytes,
            max_list_bytes: config.max_list_bytes,
        }
    }

    pub fn fenced(&self, leadership: Leadership) -> Self {
        Self { leadership, ..self.clone() }
    }

    /// Sends a request until there is a final response. Without a caller, it is a request of the operator itself.
    /// `what` names the verb and the object in errors.
    pub async fn send(
        &self,
        caller: Option<&Caller>,
        what: &str,
        wire: &ApiRequest,
        meter: &mut RequestStats,
    ) -> Result<Bytes, CallError> {
        if wire.body.len() > self.max_object_bytes {
            return Err(errors::refused(
                CallReason::TooLarge,
                format!(
                    "{what}: the body has {} bytes, more than the {} allowed",
                    wire.body.len(),
                    self.max_object_bytes
                ),
            ));
        }
        let mut tried = 0;
        loop {
            tried += 1;
            // Until there is a response. The run may end before that.
            meter.unknown |= !wire.asks;
            let result = self.once(caller, wire, meter).await;
            let fault = match result {
                Ok(body) => {
                    meter.unknown &= wire.asks;
                    return Ok(body);
                }
                Err(fault) => fault,
            };
            if !wire.asks {
                meter.unknown = meter.uncertain || retry::may_have_happened(fault.symptom()) || fault.is_unread();
            }
            match retry::decide(fault.symptom(), wire.repeatable, tried, self.policy, rand::random()) {
                Next::GiveUp => return Err(self.explain(what, wire, fault)),
                Next::Repeat { after, uncertain } => {
                    tracing::debug!(call = what, tried, ?after, uncertain, "repeating a request to the API server");
                    meter.uncertain |= uncertain;
                    tokio::time::sleep(after).await;
                }
            }
        }
    }

    async fn once(&self, caller: Option<&Caller>, wire: &ApiRequest, meter: &mut RequestStats) -> Result<Bytes, Fault> {
        meter.code = None;
        let end = match wire.asks {
            true => None,
            false => self.leadership.check().map_err(Fault::Fenced)?,
        };
        meter.tries += 1;
        let request = impersonating(Request::builder(), caller.and_then(|caller| caller.identity.as_deref()))
            .method(&wire.method)
            .uri(&wire.uri)
            .header(header::ACCEPT, JSON)
            .header(header::CONTENT_TYPE, wire.content_type)
            .body(Body::from(wire.body.clone()))
            .map_err(Fault::Unsendable)?;
        let usual = Instant::now() + self.timeout;
        let (until, before) = (end.map_or(usual, |end| end.min(usual)), meter.received);
        self.exchanged(caller, Exchanged::Sent(wire.body.len() as u64));
        let exchange = self.exchange(request, self.bound(wire), caller, meter);
        let result = tokio::time::timeout_at(until, exchange).await.unwrap_or(Err(Fault::TimedOut));
        self.exchanged(caller, Exchanged::Received(meter.received - before));
        result
    }

    fn exchanged(&self, caller: Option<&Caller>, exchanged: Exchanged) {
        if let Some(caller) = caller {
            (self.on_exchange)(&caller.hook, exchanged);
        }
    }

    async fn exchange(
        &self,
        request: Request<Body>,
        bound: usize,
        caller: Option<&Caller>,
        meter: &mut RequestStats,
    ) -> Result<Bytes, Fault> {
        let memory = caller.map(|caller| caller.memory.clone()).unwrap_or_default();
        let began = Instant::now();
        let (head, body) = self.client.send(request).await.map_err(|error| Fault::from_client(&error))?.into_parts();
        let code = head.status.as_u16();
        meter.answered = date(&head.headers).map(|date| (date, began.elapsed()));
        meter.code = Some(code);
        if head.status.is_success() {
            return read(body, bound, &memory, &mut meter.received).await;
        }
        // If the body cannot be read, the status alone says enough.
        let body = read(body, MAX_ERROR_BYTES, &memory, &mut meter.received).await.unwrap_or_default();
        let retry_after = retry_after(&head.headers, &body);
        Err(Fault::Answered { code, retry_after, body })
    }

    fn bound(&self, wire: &ApiRequest) -> usize {
        if wire.list { self.max_list_bytes } else { self.max_object_bytes }
    }

    fn explain(&self, what: &str, wire: &ApiRequest, fault: Fault) -> CallError {
        let maybe = !wire.repeatable && retry::may_have_happened(fault.symptom());
        let maybe = if maybe { "; it may have happened" } else { "" };
        let (reason, text) = match fault {
            Fault::Answered { code, body, .. } => {
                let error = errors::answered(what, code, &body);
                return CallError { message: format!("{}{maybe}", error.message), ..error };
            }
            Fault::NotConnected(error) => {
                (CallReason::Unavailable, format!("the API server cannot be reached: {error}"))
            }
            Fault::Lost(error) => (CallReason::Unavailable, format!("the connection was lost: {error}")),
            Fault::TimedOut => (CallReason::Timeout, format!("no answer within {:?}", self.timeout)),
            Fault::TooLarge => {
                let hint = if wire.list { "; ask for fewer with `limit`" } else { "" };
                (CallReason::TooLarge, format!("the answer has more than the {} bytes allowed{hint}", self.bound(wire)))
            }
            Fault::Crowded => (
                CallReason::Unavailable,
                "the answer was not read: the memory that all runs share is used up at the moment; try again later, or \
                 ask for less at a time"
                    .to_owned(),
            ),
            Fault::Fenced(error) => (CallReason::Unavailable, format!("not sent: {error}")),
            Fault::Unsendable(error) => (CallReason::Invalid, format!("it makes no HTTP request: {error}")),
        };
        errors::refused(reason, format!("{what}: {text}{maybe}"))
    }
}

impl Fault {
    fn from_client(error: &kube::Error) -> Self {
        let text = innermost(error);
        if never_connected(error) { Self::NotConnected(text) } else { Self::Lost(text) }
    }

    /// The server did what was asked, and its response was not read.
    fn is_unread(&self) -> bool {
        matches!(self, Self::TooLarge | Self::Crowded)
    }

    fn symptom(&self) -> Symptom {
        match self {
            Self::Answered { code, retry_after, .. } => Symptom::Answered { code: *code, retry_after: *retry_after },
            Self::NotConnected(_) => Symptom::NotConnected,
            Self::Lost(_) => Symptom::Lost,
            Self::TimedOut => Symptom::TimedOut,
            Self::TooLarge | Self::Crowded | Self::Unsendable(_) | Self::Fenced(_) => Symptom::Hopeless,
        }
    }
}

/// Reads a response piece by piece, within the caller's memory.
async fn read(body: Body, bound: usize, memory: &Allowance, received: &mut u64) -> Result<Bytes, Fault> {
    let mut body = Limited::new(body, bound);
    let mut whole = Vec::new();
    while let Some(frame) = body.frame().await {
        let frame = match frame {
            Ok(frame) => frame,
            Err(error) if error.is::<LengthLimitError>() => return Err(Fault::TooLarge),
            Err(error) => return Err(Fault::Lost(innermost(error.as_ref()))),
        };
        if let Some(piece) = frame.data_ref() {
            *received += piece.len() as u64;
            if !memory.charge(COPIES * piece.len()) {
                return Err(Fault::Crowded);
            }
            whole.extend_from_slice(piece);
        }
    }
    Ok(whole.into())
}

fn date(headers: &HeaderMap) -> Option<jiff::Timestamp> {
    let date = headers.get(header::DATE)?.to_str().ok()?;
    jiff::fmt::rfc2822::DateTimeParser::new().parse_timestamp(date).ok()
}

fn retry_after(headers: &HeaderMap, body: &[u8]) -> Option<Duration> {
    let header = headers.get(header::RETRY_AFTER).and_then(|value| value.to_str().ok()?.trim().parse().ok());
    header.or_else(|| Status::read(body)?.retry_after()).map(Duration::from_secs)
}

fn never_connected(error: &kube::Error) -> bool {
    // Without credentials, nothing was sent either.
    matches!(error, kube::Error::Auth(_))
        || sources(error).any(|source| {
            source.downcast_ref::<hyper_util::client::legacy::Error>().is_some_and(|error| error.is_connect())
        })
}

fn innermost(error: &(dyn StdError + 'static)) -> String {
    sources(error).last().unwrap_or(error).to_string()
}

fn sources<'a>(error: &'a (dyn StdError + 'static)) -> impl Iterator<Item = &'a (dyn StdError + 'static)> {
    std::iter::successors(Some(error), |error: &&'a (dyn StdError + 'static)| (*error).source())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn headers(identity: Option<&Identity>) -> Vec<String> {
        let request = impersonating(Request::builder(), identity).body(()).unwrap();
        request.headers().iter().map(|(name, value)| format!("{name}: {}", value.to_str().unwrap())).collect()
    }

    // mutant: crates/kube/src/access/send.rs: `request.header("Impersonate-User", identity.user())` => `request.header("Impersonate-User", identity.user()).header("Impersonate-Group", "system:masters")`
    #[test]
    fn a_service_account_is_sent_by_name_alone() {
        let identity = Identity { namespace: "prod".to_owned(), service_account: "hook".to_owned() };
        assert_eq!(headers(Some(&identity)), ["impersonate-user: system:serviceaccount:prod:hook"]);
        assert_eq!(headers(None), Vec::<String>::new());
    }
}
