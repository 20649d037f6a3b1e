//! Sends spans to the collector: one request at a time, on the operator's runtime. Spans that cannot be sent are
//! dropped, which is logged once.

use std::{
    fmt, io,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use bytes::Bytes;
use futures::{FutureExt as _, TryFutureExt as _, future::BoxFuture};
use http::{Request, Response};
use http_body_util::{BodyExt as _, Full, Limited};
use hyper_rustls::HttpsConnectorBuilder;
use hyper_util::{client::legacy::Client, rt::TokioExecutor};
use opentelemetry_http::{HttpClient, HttpError};
use tokio::{runtime::Handle, time::timeout};
use tracing::{info, warn};

/// How long a request may take.
const TIMEOUT: Duration = Duration::from_secs(5);

/// The maximum size of an answer. Only its status counts.
const MAX_ANSWER: usize = 64 * 1024;

type Exchange = dyn Fn(Request<Full<Bytes>>) -> BoxFuture<'static, Result<Response<Bytes>, HttpError>> + Send + Sync;

/// An HTTP client for the exporter, whose thread has no runtime.
pub(super) struct Sender {
    send: Arc<Exchange>,
    runtime: Handle,
    endpoint: String,
    failing: Arc<AtomicBool>,
}

impl Sender {
    pub fn new(endpoint: &str, runtime: Handle) -> io::Result<Self> {
        let builder = Client::builder(TokioExecutor::new());
        let send: Arc<Exchange> = if endpoint.starts_with("https:") {
            let connector = HttpsConnectorBuilder::new().with_native_roots()?.https_only().enable_http1().build();
            let client = builder.build(connector);
            Arc::new(move |request| client.request(request).err_into().and_then(read).boxed())
        } else {
            let client = builder.build_http();
            Arc::new(move |request| client.request(request).err_into().and_then(read).boxed())
        };
        Ok(Self { send, runtime, endpoint: endpoint.to_owned(), failing: Arc::default() })
    }
}

async fn read(response: Response<hyper::body::Incoming>) -> Result<Response<Bytes>, HttpError> {
    let (head, body) = response.into_parts();
    Ok(Response::from_parts(head, Limited::new(body, MAX_ANSWER).collect().await?.to_bytes()))
}

impl fmt::Debug for Sender {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sender").field("endpoint", &self.endpoint).finish_non_exhaustive()
    }
}

impl HttpClient for Sender {
    // In the form that `async_trait` generates.
    fn send_bytes<'life0, 'async_trait>(
        &'life0 self,
        request: Request<Bytes>,
    ) -> Pin<Box<dyn Future<Output = Result<Response<Bytes>, HttpError>> + Send + 'async_trait>>
    where
        'life0: 'async_trait,
        Self: 'async_trait,
    {
        let sent = (self.send)(request.map(Full::new));
        let (failing, endpoint) = (self.failing.clone(), self.endpoint.clone());
        let task = self.runtime.spawn(async move {
            let late = |_| Err("the collector does not answer".into());
            let answer = timeout(TIMEOUT, sent).await.unwrap_or_else(late);
            note(&failing, &endpoint, &answer);
            answer
        });
        async move { task.await.unwrap_or_else(|error| Err(error.into())) }.boxed()
    }
}

/// Logs when the collector stops accepting spans, and when it accepts them again.
fn note(failing: &AtomicBool, endpoint: &str, answer: &Result<Response<Bytes>, HttpError>) {
    let error = match answer {
        Ok(response) if response.status().is_success() => None,
        Ok(response) => Some(format!("it answers {}", response.status())),
        Err(error) => Some(boathook_core::model::error_chain(error.as_ref())),
    };
    let before = failing.swap(error.is_some(), Ordering::Relaxed);
    match error {
        Some(error) if !before => {
            warn!(endpoint, error, "traces can't be sent: they are dropped until the collector takes them");
        }
        None if before => info!(endpoint, "traces are sent again"),
        _ => {}
    }
}
