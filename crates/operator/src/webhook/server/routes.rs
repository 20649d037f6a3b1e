//! Maps requests to questions, and answers to HTTP. It never makes a denial: every failure is an HTTP error, and the
//! `failurePolicy` decides.

use std::{future::Future, panic::AssertUnwindSafe, sync::Arc, time::Duration};

use axum::{
    Extension, Router,
    body::Body,
    extract::{Path, RawQuery, Request, State},
    http::{HeaderMap, HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
    routing::{MethodRouter, get, post},
};
use boathook_core::model::{AdmissionKind, Mutation, Reviewed, format_duration, parse_duration};
use futures::FutureExt as _;
use tokio::{
    sync::{Semaphore, watch},
    time::{Instant, timeout_at},
};

use super::{
    Settings,
    body::{self, Bodies, BodyError},
    shares::{Shares, Turn},
};
use crate::{
    connections,
    webhook::{
        AdmissionReview, Answerer, ConversionReview, Converted, PathKeys, ReviewError, Unanswered, conversion,
        review::{self, PatchError},
    },
};

/// The client of a request.
#[derive(Debug, Clone)]
pub(super) struct Asker {
    /// Whether the client showed a certificate. If so, rustls has checked it.
    pub certificate: bool,
    pub request: Arc<connections::Request>,
}

#[derive(Clone)]
struct Site {
    answerer: Arc<dyn Answerer>,
    bodies: Bodies,
    shares: Arc<Shares>,
    /// The turns to make changes of large objects.
    patches: Arc<Semaphore>,
    patience: Duration,
    certificates_needed: bool,
    paths: watch::Receiver<PathKeys>,
}

pub(super) fn router(
    settings: &Settings,
    certificates_needed: bool,
    paths: watch::Receiver<PathKeys>,
    answerer: Arc<dyn Answerer>,
) -> Router {
    let site = Site {
        answerer,
        bodies: Bodies::new(settings.body, settings.bodies, settings.slow),
        shares: Shares::new(settings.questions, settings.questions_of_one),
        patches: Arc::new(Semaphore::new(settings.large_patches.max(1))),
        patience: settings.patience,
        certificates_needed,
        paths,
    };
    Router::new()
        .route("/healthz", get(|| async { "ok\n" }))
        .route("/validate/{hook}/{binding}/{secret}", reviews(AdmissionKind::Validating))
        .route("/mutate/{hook}/{binding}/{secret}", reviews(AdmissionKind::Mutating))
        .route("/convert/{crd}/{secret}", post(convert))
        .fallback(|| async { refused(StatusCode::NOT_FOUND, NO_PATH) })
        .with_state(site)
}

/// Also the answer for a path with a wrong secret part, so that a stranger learns nothing about the existing hooks.
const NO_PATH: &str = "there is no such path";

/// The hook, the binding, and the secret part.
type Names = Path<(String, String, String)>;

fn reviews(kind: AdmissionKind) -> MethodRouter<Site> {
    let answered = move |State(site): State<Site>,
                         Path(names): Names,
                         Extension(asker): Extension<Asker>,
                         RawQuery(query): RawQuery,
                         request: Request| async move {
        let call = Call::new(&site, query.as_deref());
        or_refused(admission(&site, kind, names, call, asker, request).await)
    };
    post(answered)
}

async fn convert(
    State(site): State<Site>,
    Path((crd, secret)): Path<(String, String)>,
    Extension(asker): Extension<Asker>,
    RawQuery(query): RawQuery,
    request: Request,
) -> Response {
    let call = Call::new(&site, query.as_deref());
    let asked = async {
        site.check(&format!("/convert/{crd}"), &secret)?;
        conversion(&site, crd, call, asker, request).await
    };
    or_refused(asked.await)
}

impl Site {
    /// Checks the path before anything of the request is read.
    fn check(&self, path: &str, secret: &str) -> Result<(), Refusal> {
        if self.paths.borrow().accepts(path, secret) {
            return Ok(());
        }
        Err(Refusal::Other(StatusCode::NOT_FOUND, NO_PATH.to_owned()))
    }
}

/// The time limits of one request.
#[derive(Clone, Copy)]
struct Call {
    patience: Duration,
    /// The limit for the hook.
    answer: Instant,
    /// The limit for everything.
    end: Instant,
}

impl Call {
    fn new(site: &Site, query: Option<&str>) -> Self {
        let (now, patience) = (Instant::now(), patience(query, site.patience));
        let answer = less_margin(patience);
        Self { patience, answer: now + answer, end: now + answer + (patience - answer) / 2 }
    }

    fn left(&self) -> Duration {
        self.answer.saturating_duration_since(Instant::now())
    }

    /// Waits for an answer within the time limit. A panic in the answerer harms only this request.
    async fn answered<T>(
        &self,
        whose: &str,
        work: impl Future<Output = Result<T, Unanswered>>,
    ) -> Result<T, Unanswered> {
        let took = || Unanswered::Deadline(format!("{whose}: no answer within {}", format_duration(self.patience)));
        let answered = timeout_at(self.end, AssertUnwindSafe(work).catch_unwind()).await.map_err(|_| took())?;
        answered.unwrap_or_else(|_| Err(Unanswered::Failed(format!("{whose}: an error of Boathook itself"))))
    }
}

/// A request that gets no answer.
enum Refusal {
    Unanswered(Unanswered),
    Other(StatusCode, String),
}

impl From<Unanswered> for Refusal {
    fn from(unanswered: Unanswered) -> Self {
        Self::Unanswered(unanswered)
    }
}

impl From<ReviewError> for Refusal {
    fn from(error: ReviewError) -> Self {
        Self::Other(StatusCode::BAD_REQUEST, error.to_string())
    }
}

async fn admission(
    site: &Site,
    kind: AdmissionKind,
    (hook, binding, secret): (String, String, String),
    call: Call,
    asker: Asker,
    request: Request,
) -> Result<Response, Refusal> {
    let verb = match kind {
        AdmissionKind::Validating => "validate",
        AdmissionKind::Mutating => "mutate",
    };
    site.check(&format!("/{verb}/{hook}/{binding}"), &secret)?;
    let body::Body { bytes, reserved: _reserved } = read(site, call, asker, request).await?;
    let review = AdmissionReview::parse(&bytes)?;
    drop(bytes);
    let _turn = turn(site, call, &hook).await?;
    let whose = format!("hook {hook}, binding {binding}");
    let question = async { site.answerer.review(kind, &hook, &binding, review.request.clone(), call.left()).await };
    let reviewed = call.answered(&whose, question).await?;
    let answer = review_answer(site, call, review, kind, reviewed).await?.map_err(|error| {
        let why = review::unusable(&hook, &binding, &error);
        site.answerer.unusable(kind, &hook, &binding, &why);
        Unanswered::Failed(why)
    })?;
    Ok(json(answer))
}

/// Makes the answer's body. A patch of a large object takes time, and many times the object's memory. It is therefore
/// made on a blocking thread, and only a few are made at a time.
async fn review_answer(
    site: &Site,
    call: Call,
    review: AdmissionReview,
    kind: AdmissionKind,
    reviewed: Reviewed,
) -> Result<Result<Vec<u8>, PatchError>, Unanswered> {
    const LARGE: usize = 64 << 10;
    let changes = match &reviewed.mutation {
        Mutation::Unchanged => None,
        Mutation::JsonPatch(text) | Mutation::Object(text) => Some(text.len()),
    };
    let large = changes.is_some_and(|length| length + review.request.json.len() >= LARGE);
    let work = move || review::answer(&review, kind, &reviewed);
    if !large {
        return Ok(work());
    }
    let late = || Unanswered::Deadline("others' changes of large objects took all the time".to_owned());
    let permit = timeout_at(call.end, site.patches.clone().acquire_owned()).await.map_err(|_| late())?;
    // The permit moves into the work, because nothing can interrupt that.
    let made = tokio::task::spawn_blocking(move || (work(), permit).0).await;
    made.map_err(|error| Unanswered::Failed(format!("the answer was not made: {error}")))
}

async fn conversion(site: &Site, crd: String, call: Call, asker: Asker, request: Request) -> Result<Response, Refusal> {
    let body::Body { bytes, reserved: _reserved } = read(site, call, asker, request).await?;
    let review = ConversionReview::parse(&bytes, &crd)?;
    drop(bytes);
    // No hook's name contains a slash.
    let _turn = turn(site, call, &format!("/{crd}")).await?;
    let whose = format!("conversion of {crd}");
    let question = async { site.answerer.convert(review.request.clone(), call.left()).await };
    let converted = checked(&review, call.answered(&whose, question).await?);
    let answer = conversion::answer(&review, converted);
    Ok(json(answer.map_err(|error| Unanswered::Failed(format!("{whose}: {error}")))?))
}

/// Objects that break the rules of Kubernetes fail the conversion, with a text that names them.
fn checked(review: &ConversionReview, converted: Converted) -> Converted {
    /// The maximum number of problems in the text.
    const NAMED: usize = 10;
    let Converted::Objects(objects) = &converted else { return converted };
    let sources: Vec<_> = review.request.objects.iter().map(|object| object.json.as_str()).collect();
    let problems = conversion::problems(&review.request.desired, &sources, objects);
    if problems.is_empty() {
        return converted;
    }
    let mut text: Vec<_> = problems.iter().take(NAMED).map(ToString::to_string).collect();
    if problems.len() > NAMED {
        text.push(format!("and {} more", problems.len() - NAMED));
    }
    Converted::Failed(format!("conversion of {}: {}", review.request.crd, text.join("; ")))
}

async fn read(site: &Site, call: Call, asker: Asker, request: Request) -> Result<body::Body, Refusal> {
    if site.certificates_needed && !asker.certificate {
        return Err(Refusal::Other(StatusCode::UNAUTHORIZED, "a client certificate is needed".to_owned()));
    }
    let (parts, incoming): (_, Body) = request.into_parts();
    if !is_json(&parts.headers) {
        return Err(Refusal::Other(StatusCode::UNSUPPORTED_MEDIA_TYPE, "the body must be application/json".to_owned()));
    }
    let late = || Refusal::Other(StatusCode::REQUEST_TIMEOUT, "the body did not come in time".to_owned());
    let read = timeout_at(call.answer, site.bodies.read(&parts.headers, incoming)).await.map_err(|_| late())?;
    let body = read.map_err(|error| match &error {
        BodyError::TooLarge(_) => Refusal::Other(StatusCode::PAYLOAD_TOO_LARGE, error.to_string()),
        BodyError::Overloaded | BodyError::Slow => Unanswered::Overloaded(error.to_string()).into(),
        BodyError::Broken(_) => Refusal::Other(StatusCode::BAD_REQUEST, error.to_string()),
    })?;
    asker.request.has_come();
    Ok(body)
}

fn is_json(headers: &HeaderMap) -> bool {
    let given = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let essence = given.split(';').next().unwrap_or_default().trim();
    essence.eq_ignore_ascii_case("application/json")
}

async fn turn(site: &Site, call: Call, of: &str) -> Result<Turn, Unanswered> {
    let turn = timeout_at(call.answer, site.shares.turn(of)).await.ok().flatten();
    let whose = of.strip_prefix('/').map_or_else(|| format!("hook {of}"), |crd| format!("conversion of {crd}"));
    turn.ok_or_else(|| Unanswered::Overloaded(format!("{whose}: too many questions are waiting")))
}

fn or_refused(answer: Result<Response, Refusal>) -> Response {
    match answer {
        Ok(response) => response,
        Err(Refusal::Other(status, text)) => refused(status, &text),
        Err(Refusal::Unanswered(unanswered)) => {
            let text = unanswered.to_string();
            match unanswered {
                Unanswered::Unknown(_) => refused(StatusCode::NOT_FOUND, &text),
                Unanswered::OutOfScope(_) => refused(StatusCode::FORBIDDEN, &text),
                Unanswered::Failed(_) | Unanswered::Deadline(_) => refused(StatusCode::INTERNAL_SERVER_ERROR, &text),
                Unanswered::NotReady(_) | Unanswered::Overloaded(_) => {
                    let mut response = refused(StatusCode::SERVICE_UNAVAILABLE, &text);
                    // The API server retries within its timeout.
                    response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
                    response
                }
            }
        }
    }
}

fn refused(status: StatusCode, text: &str) -> Response {
    tracing::debug!(status = status.as_u16(), error = text, "a webhook's question was not answered");
    (status, format!("{text}\n")).into_response()
}

fn json(body: Vec<u8>) -> Response {
    ([(header::CONTENT_TYPE, HeaderValue::from_static("application/json"))], body).into_response()
}

/// The maximum `timeoutSeconds` in Kubernetes.
const LONGEST: Duration = Duration::from_secs(30);
/// The minimum time for a hook. With less, the time would be over before anything ran.
const SHORTEST: Duration = Duration::from_millis(100);
/// The maximum time that is reserved for the answer's way back.
const MARGIN: Duration = Duration::from_millis(500);

/// How long an answer may take: no longer than an API server can ask for. The API server's timeout from `?timeout=10s`, or `default`.
pub(super) fn patience(query: Option<&str>, default: Duration) -> Duration {
    let given = query.and_then(|query| query.split('&').find_map(|pair| pair.strip_prefix("timeout=")));
    given.and_then(parse_duration).unwrap_or(default).clamp(SHORTEST, LONGEST)
}

/// The time for the answer. A tenth of the timeout, but at most half a second, is for its way back.
fn less_margin(patience: Duration) -> Duration {
    patience.saturating_sub((patience / 10).min(MARGIN))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn is_what_the_request_says_within_reason() {
        let table = [
            (None, 10_000),
            (Some(""), 10_000),
            (Some("timeout=3s"), 3_000),
            (Some("a=b&timeout=1m"), 30_000),
            (Some("timeout=1500ms&a"), 1_500),
            (Some("timeout=0s"), 100),
            (Some("timeout=soon"), 10_000),
            (Some("timeout=-3s"), 10_000),
            (Some("mytimeout=3s"), 10_000),
        ];
        for (query, expected) in table {
            let found = patience(query, Duration::from_secs(10));
            assert_eq!(found, Duration::from_millis(expected), "{query:?}");
        }
    }

    #[test]
    fn leaves_time_for_the_way_back() {
        assert_eq!(less_margin(Duration::from_secs(30)), Duration::from_millis(29_500));
        assert_eq!(less_margin(Duration::from_secs(1)), Duration::from_millis(900));
    }
}
