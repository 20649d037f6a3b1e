//! HTTP requests of a guest, passed to [`Host`] as a whole, and their responses, passed to the guest as a whole: those of
//! `wasi:http` here, and those of interpreters in `imports/http.rs`.
//!
//! Nothing is sent here, and no permission is known. A response is complete before the guest sees its status, so a
//! record has all of it, and whatever cuts it off is an error of the request.

use std::{
    convert::Infallible,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use boathook_core::model::{
    Allowance, Caller, HttpBody, HttpBounds, HttpError, HttpHeader, HttpReason, HttpRequest, HttpResponse,
};
use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Request, Response};
use http_body_util::{BodyExt as _, Full};
use tokio::sync::Semaphore;
use tracing::Level;
use wasmtime_wasi_http::{Error, RequestOptions, WasiBody, WasiHttpHooks};

use crate::{
    budget::Budget,
    error::Reached,
    host::Host,
    limits::{self, Bounds},
    output::RunLog,
    room::{Kept, Room},
};

/// How a failure names the call that a run waited for.
const NAME: &str = "wasi:http";

const NOT_SENT: &str = "was not sent";

/// What requests need of their run.
pub(super) struct Calls {
    pub(super) host: Arc<dyn Host>,
    pub(super) caller: Caller,
    pub(super) bounds: Bounds,
    pub(super) room: Room,
    pub(super) budget: Budget,
    pub(super) log: Arc<RunLog>,
}

/// The requests of one run. Clones share their bounds.
#[derive(Clone)]
pub(super) struct Http(Arc<Requests>);

struct Requests {
    run: Calls,
    free: Semaphore,
    under_way: AtomicUsize,
}

type Processed = Box<dyn Future<Output = Result<(), Error>> + Send>;
type Sent = Box<dyn Future<Output = Result<(Response<WasiBody>, Processed), Error>> + Send>;

impl Http {
    pub(super) fn new(run: Calls) -> Self {
        let (free, under_way) = (Semaphore::new(limits::REQUESTS), AtomicUsize::new(0));
        Self(Arc::new(Requests { run, free, under_way }))
    }

    /// Sends a request that the budget has covered. Its time includes what it waits for others.
    pub(super) async fn send(&self, request: HttpRequest, time: Option<Duration>) -> Result<HttpResponse, HttpError> {
        let requests = &self.0;
        let began = Instant::now();
        let (_turn, waited) = match requests.free.try_acquire() {
            Ok(turn) => (Ok(turn), Duration::ZERO),
            // The semaphore is never closed.
            Err(_) => (requests.free.acquire().await, began.elapsed()),
        };
        let time = time.map(|time| time.saturating_sub(waited));
        requests.sent(&requests.run.caller, request, time).await
    }

    /// The error of a request that the budget does not cover.
    pub(super) fn not_sent(&self, reached: Reached) -> HttpError {
        self.0.over(reached, NOT_SENT)
    }

    /// The name of this interface, if a request of `wasi:http` has no response yet.
    pub(super) fn waits_in(&self) -> Option<&'static str> {
        (self.0.under_way.load(Ordering::Relaxed) > 0).then_some(NAME)
    }
}

impl WasiHttpHooks for Http {
    fn send_request(&mut self, request: Request<WasiBody>, options: Option<RequestOptions>, _: Processed) -> Sent {
        let requests = self.0.clone();
        // In the order in which the guest makes its calls.
        let admitted = requests.admit(&request);
        Box::new(async move {
            let under_way = UnderWay::new(&requests);
            let response = match admitted {
                Ok(()) => requests.exchange(request, options.unwrap_or_default()).await,
                Err(error) => Err(error),
            };
            drop(under_way);
            let response = response.map_err(|error| requests.failed(error))?;
            Ok((response, Box::new(std::future::ready(Ok(()))) as Processed))
        })
    }

    fn p2_outgoing_body_chunk_size(&mut self) -> usize {
        limits::BODY_CHUNK
    }
}

/// Counts a request until it has a response.
struct UnderWay<'a>(&'a Requests);

impl<'a> UnderWay<'a> {
    fn new(requests: &'a Requests) -> Self {
        requests.under_way.fetch_add(1, Ordering::Relaxed);
        Self(requests)
    }
}

impl Drop for UnderWay<'_> {
    fn drop(&mut self) {
        self.0.under_way.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Requests {
    fn admit(&self, request: &Request<WasiBody>) -> Result<(), HttpError> {
        let headers = request.headers().iter().map(|(name, value)| name.as_str().len() + value.len());
        let url = request.uri().to_string().len();
        let bytes = request.method().as_str().len() + url + headers.sum::<usize>();
        self.run.budget.take(1, bytes).map_err(|reached| self.over(reached, NOT_SENT))
    }

    async fn exchange(
        &self,
        request: Request<WasiBody>,
        options: RequestOptions,
    ) -> Result<Response<WasiBody>, HttpError> {
        let run = &self.run;
        // The semaphore is never closed.
        let _turn = self.free.acquire().await;
        let kept = Kept::nothing(run.room.clone());
        let (head, body) = request.into_parts();
        let body = self.collect(body, &kept).await?;
        let headers = head.headers.iter().map(|(name, value)| header(name, value)).collect();
        let request = HttpRequest { method: head.method.to_string(), url: head.uri.to_string(), headers, body };
        let time = match (options.connect_timeout, options.first_byte_timeout) {
            (connect, Some(first)) => Some(connect.unwrap_or_default().saturating_add(first)),
            _ => None,
        };
        let answered = Kept::nothing(run.room.clone());
        let caller = Caller { memory: Allowance::of(answered.clone()), ..run.caller.clone() };
        let response = self.sent(&caller, request, time).await?;
        drop(kept);
        passed(response, answered)
    }

    async fn sent(
        &self,
        caller: &Caller,
        request: HttpRequest,
        time: Option<Duration>,
    ) -> Result<HttpResponse, HttpError> {
        let run = &self.run;
        let most = run.budget.bytes_left().min(run.bounds.call_bytes() as u64);
        let bounds = HttpBounds { response: usize::try_from(most).unwrap_or(usize::MAX), time };
        let response = run.host.http(caller, request, bounds).await?;
        let fits = run.budget.take_bytes(response.bytes());
        fits.map_err(|reached| self.over(reached, "was sent, but its response does not fit"))?;
        Ok(response)
    }

    /// Reads the body that the guest writes, to its end.
    async fn collect(&self, mut body: WasiBody, kept: &Kept) -> Result<HttpBody, HttpError> {
        let mut all = Vec::new();
        while let Some(frame) = body.frame().await {
            let not_ended = |_| invalid("the hook did not finish the body of its HTTP request");
            let Ok(data) = frame.map_err(not_ended)?.into_data() else { continue };
            self.run.budget.take_bytes(data.len()).map_err(|reached| self.over(reached, NOT_SENT))?;
            kept.grow(data.len()).map_err(|_| {
                let message = "an HTTP request was not sent: there is no memory for its body at the moment".to_owned();
                HttpError { reason: HttpReason::Limit, message }
            })?;
            all.extend_from_slice(&data);
        }
        Ok(HttpBody(all))
    }

    fn over(&self, Reached(limit): Reached, what: &str) -> HttpError {
        let message = format!("an HTTP request {what}: {}", self.run.bounds.explain(limit));
        HttpError { reason: HttpReason::Limit, message }
    }

    /// Logs why there is no response, because most of the guest's own errors have no text.
    fn failed(&self, error: HttpError) -> Error {
        self.run.log.line(Level::WARN, &error.message, "");
        match error.reason {
            HttpReason::Denied | HttpReason::NotSent => Error::HttpRequestDenied,
            HttpReason::Address => Error::DestinationIpProhibited,
            HttpReason::Name => Error::DnsError { rcode: None, info_code: None },
            HttpReason::Connection => Error::ConnectionTerminated,
            HttpReason::Tls => Error::TlsCertificateError,
            HttpReason::Timeout => Error::ConnectionReadTimeout,
            HttpReason::Invalid => Error::HttpProtocolError,
            HttpReason::Credential => Error::ConfigurationError,
            HttpReason::Limit => Error::InternalError(Some(error.message)),
        }
    }
}

fn header(name: &HeaderName, value: &HeaderValue) -> HttpHeader {
    HttpHeader(name.as_str().to_owned(), HttpBody(value.as_bytes().to_vec()))
}

fn invalid(message: &str) -> HttpError {
    HttpError { reason: HttpReason::Invalid, message: message.to_owned() }
}

/// The response as the guest reads it. Its memory goes back when the guest drops it.
fn passed(response: HttpResponse, kept: Kept) -> Result<Response<WasiBody>, HttpError> {
    let HttpResponse { status, headers, body } = response;
    let mut all = HeaderMap::new();
    for HttpHeader(name, value) in headers {
        let header = name.parse::<HeaderName>().ok().zip(HeaderValue::from_bytes(&value.0).ok());
        let (name, value) = header.ok_or_else(|| invalid("a header of an HTTP response is not valid"))?;
        all.append(name, value);
    }
    let body = Full::new(Bytes::from(body.0)).map_err(move |never: Infallible| {
        let _until_dropped = &kept;
        match never {}
    });
    let mut passed = Response::new(body.boxed_unsync());
    *passed.status_mut() =
        status.try_into().map_err(|_| invalid("the status of an HTTP response is not a number from 100 to 999"))?;
    *passed.headers_mut() = all;
    Ok(passed)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::{pin::Pin, sync::Mutex};

    use boathook_core::model::{
        CallError, EmitEvent, HookName, Limits, ListQuery, ObjectRef, Operation, Page, RunId, SnapshotSet,
    };
    use futures::future::{BoxFuture, FutureExt as _};
    use tokio::sync::oneshot;

    use super::*;
    use crate::{host::NoGrants, host::Written, output::Labels};

    /// Keeps each request until it is released.
    #[derive(Default)]
    struct Slow(Mutex<Vec<oneshot::Sender<()>>>);

    impl Host for Slow {
        fn get<'a>(
            &'a self,
            _: &'a Caller,
            _: ObjectRef,
            _: Option<String>,
        ) -> BoxFuture<'a, Result<String, CallError>> {
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
            _: HttpRequest,
            _: HttpBounds,
        ) -> BoxFuture<'a, Result<HttpResponse, HttpError>> {
            let (release, released) = oneshot::channel();
            self.0.lock().unwrap().push(release);
            async move {
                released.await.unwrap();
                Ok(HttpResponse { status: 200, headers: Vec::new(), body: HttpBody::default() })
            }
            .boxed()
        }
        fn snapshot_set(&self, _: &HookName) -> SnapshotSet {
            unreachable!()
        }
    }

    fn http(host: Arc<dyn Host>) -> Http {
        let hook = HookName::new("h").unwrap();
        let caller = Caller::new(hook.clone(), RunId::new("t", 1), Arc::new([]), false);
        let log = Arc::new(RunLog::new(Labels::of_call(hook, caller.run.clone(), "b"), 0));
        let limits = Limits::default();
        let (bounds, budget, room) = (Bounds::of_config(limits), Budget::new(&limits), Room::unbounded());
        Http::new(Calls { host, caller, bounds, room, budget, log })
    }

    fn request() -> Request<WasiBody> {
        let body = Full::new(Bytes::new()).map_err(|never: Infallible| match never {}).boxed_unsync();
        Request::get("https://a.io/").body(body).unwrap()
    }

    // mutant: crates/sandbox/src/limits.rs: `pub(super) const REQUESTS: usize = 4;` => `pub(super) const REQUESTS: usize = 400;`
    #[tokio::test]
    async fn a_run_has_few_requests_at_a_time() {
        let host = Arc::new(Slow::default());
        let mut http = http(host.clone());
        let processed = || Box::new(std::future::ready(Ok(()))) as Processed;
        let mut sent: Vec<_> = (0..6).map(|_| Pin::from(http.send_request(request(), None, processed()))).collect();
        for one in &mut sent {
            assert!(one.as_mut().now_or_never().is_none());
        }
        assert_eq!((host.0.lock().unwrap().len(), http.waits_in()), (limits::REQUESTS, Some(NAME)));
        host.0.lock().unwrap().remove(0).send(()).unwrap();
        assert_eq!(sent.remove(0).await.unwrap().0.status(), 200);
        for one in &mut sent {
            assert!(one.as_mut().now_or_never().is_none());
        }
        assert_eq!(host.0.lock().unwrap().len(), limits::REQUESTS);
        drop(sent);
        assert_eq!(http.waits_in(), None);
    }

    #[tokio::test]
    async fn config_sends_nothing() {
        let processed = Box::new(std::future::ready(Ok(()))) as Processed;
        let sent = Pin::from(http(Arc::new(NoGrants)).send_request(request(), None, processed)).await;
        assert!(matches!(sent.map(|_| ()), Err(Error::HttpRequestDenied)));
    }

    #[test]
    fn memory_of_a_response_goes_back_when_the_guest_drops_it() {
        let room = Room::unbounded();
        let kept = Kept::nothing(room.clone());
        kept.grow(1000).unwrap();
        let response = HttpResponse { status: 200, headers: Vec::new(), body: HttpBody(vec![0; 1000]) };
        let response = passed(response, kept).unwrap();
        assert_eq!(room.kept(), 1000);
        drop(response);
        assert_eq!(room.kept(), 0);
    }
}
