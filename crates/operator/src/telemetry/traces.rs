//! Traces of runs, of their host calls and of filters, sent to an OpenTelemetry collector. They are off by default.
//! When they are on, a span costs only its creation, and a collector that does not answer costs one log line.
//!
//! The operator never waits for the collector, except at its end, and then only for a short time.

use std::{
    fmt, io,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use boathook_core::causes::SpanRef;
use bytes::Bytes;
use futures::{FutureExt as _, TryFutureExt as _, future::BoxFuture};
use http::{Request, Response};
use http_body_util::{BodyExt as _, Full, Limited};
use hyper_rustls::HttpsConnectorBuilder;
use hyper_util::{client::legacy::Client, rt::TokioExecutor};
use opentelemetry::trace::{
    SpanContext, SpanId, TraceContextExt as _, TraceFlags, TraceId, TraceState, TracerProvider as _,
};
use opentelemetry_http::{HttpClient, HttpError};
use opentelemetry_otlp::{Protocol, SpanExporter, WithExportConfig as _, WithHttpConfig as _};
use opentelemetry_sdk::{
    Resource,
    trace::{BatchConfigBuilder, BatchSpanProcessor, SdkTracerProvider},
};
use tokio::{runtime::Handle, time::timeout};
use tracing::{Span, Subscriber, info, warn};
use tracing_opentelemetry::OpenTelemetrySpanExt as _;
use tracing_subscriber::{Layer, filter::filter_fn, registry::LookupSpan};

/// The target of spans that become traces. No log line has it.
pub const TRACE_TARGET: &str = "boathook::trace";

/// The maximum number of spans that wait to be sent. Further ones are dropped.
const QUEUE: usize = 4_096;

/// How long the last spans may take on shutdown.
const LAST_SPANS: Duration = Duration::from_secs(3);

/// Why traces cannot be sent.
#[derive(Debug, thiserror::Error)]
pub enum TraceError {
    #[error("traces cannot be sent to {0:?}: give a URL like http://collector:4318")]
    Endpoint(String),
    #[error("traces cannot be sent over TLS: the system's certificate authorities cannot be read")]
    Authorities(#[source] std::io::Error),
    /// The library refuses a setting, possibly from the environment.
    #[error("traces cannot be sent: check the variables OTEL_EXPORTER_OTLP_*")]
    Exporter(#[source] opentelemetry_otlp::ExporterBuildError),
}

/// Sends traces until it is shut down.
#[derive(Debug)]
pub struct Traces(SdkTracerProvider);

impl Traces {
    /// Sends to the collector at `endpoint` (OTLP over HTTP; `/v1/traces` is added if it is missing) from the current
    /// tokio runtime. Returns the layer that takes the spans. Headers, sampling and resource attributes are those of
    /// OpenTelemetry's environment variables.
    pub fn start<S>(endpoint: &str) -> Result<(Self, impl Layer<S> + Send + Sync + use<S>), TraceError>
    where
        S: Subscriber + for<'a> LookupSpan<'a> + Send + Sync,
    {
        let endpoint = traces_url(endpoint).ok_or_else(|| TraceError::Endpoint(endpoint.to_owned()))?;
        let sender = Sender::new(&endpoint, Handle::current()).map_err(TraceError::Authorities)?;
        let exporter = SpanExporter::builder()
            .with_http()
            .with_http_client(sender)
            .with_protocol(Protocol::HttpBinary)
            .with_endpoint(endpoint)
            .build()
            .map_err(TraceError::Exporter)?;
        let bounds = BatchConfigBuilder::default().with_max_queue_size(QUEUE).build();
        let processor = BatchSpanProcessor::builder(exporter).with_batch_config(bounds).build();
        let provider = SdkTracerProvider::builder().with_span_processor(processor).with_resource(resource()).build();
        let layer = tracing_opentelemetry::layer()
            .with_tracer(provider.tracer("boathook"))
            .with_location(false)
            .with_threads(false)
            .with_target(false)
            .with_tracked_inactivity(false)
            .with_filter(filter_fn(|meta| meta.target() == TRACE_TARGET));
        Ok((Self(provider), layer))
    }

    /// Sends what is left, for at most three seconds, and ends.
    pub async fn shutdown(self) {
        // This blocks its thread.
        let ended = tokio::task::spawn_blocking(move || self.0.shutdown_with_timeout(LAST_SPANS)).await;
        if !matches!(ended, Ok(Ok(()))) {
            warn!("the last traces could not be sent");
        }
    }
}

/// Where a span is, if traces are sent.
pub(crate) fn place(span: &Span) -> Option<SpanRef> {
    if span.is_disabled() {
        return None;
    }
    let context = span.context();
    let found = context.span().span_context().clone();
    let is_sent = found.is_valid() && found.is_sampled();
    is_sent.then(|| SpanRef { trace: found.trace_id().to_bytes(), span: found.span_id().to_bytes() })
}

/// Links a span to another one, which need not be in the same trace.
pub(crate) fn link(span: &Span, to: SpanRef) {
    let (trace, id) = (TraceId::from_bytes(to.trace), SpanId::from_bytes(to.span));
    span.add_link(SpanContext::new(trace, id, TraceFlags::SAMPLED, false, TraceState::NONE));
}

fn resource() -> Resource {
    let version = opentelemetry::KeyValue::new("service.version", env!("CARGO_PKG_VERSION"));
    let resource = Resource::builder().with_attribute(version);
    if std::env::var_os("OTEL_SERVICE_NAME").is_some() {
        resource.build()
    } else {
        resource.with_service_name("boathook").build()
    }
}

/// The URL for traces, from the collector's address.
fn traces_url(endpoint: &str) -> Option<String> {
    const PATH: &str = "/v1/traces";
    let url: http::Uri = endpoint.parse().ok()?;
    let known = matches!(url.scheme_str(), Some("http" | "https")) && url.host().is_some() && url.query().is_none();
    let endpoint = endpoint.trim_end_matches('/');
    known.then(|| if endpoint.ends_with(PATH) { endpoint.to_owned() } else { format!("{endpoint}{PATH}") })
}

/// How long a request may take.
const TIMEOUT: Duration = Duration::from_secs(5);

/// The maximum size of an answer. Only its status counts.
const MAX_ANSWER: usize = 64 * 1024;

type Exchange = dyn Fn(Request<Full<Bytes>>) -> BoxFuture<'static, Result<Response<Bytes>, HttpError>> + Send + Sync;

/// An HTTP client for the exporter, whose thread has no runtime.
struct Sender {
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
            warn!(endpoint, error, "traces cannot be sent: they are dropped until the collector takes them");
        }
        None if before => info!(endpoint, "traces are sent again"),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_collectors() {
        for (given, url) in [
            ("http://collector:4318", "http://collector:4318/v1/traces"),
            ("http://collector:4318/", "http://collector:4318/v1/traces"),
            ("https://host/otlp/v1/traces", "https://host/otlp/v1/traces"),
            ("https://host/otlp", "https://host/otlp/v1/traces"),
        ] {
            assert_eq!(traces_url(given).as_deref(), Some(url));
        }
        for bad in ["", "collector:4318", "grpc://host", "http://", "http://host?x=1", "not a url"] {
            assert_eq!(traces_url(bad), None, "{bad}");
        }
    }
}
