//! Traces of runs, of their host calls and of filters, sent to an OpenTelemetry collector. They are off by default.
//! When they are on, a span costs only its creation, and a collector that does not answer costs one log line.
//!
//! The operator never waits for the collector, except at its end, and then only for a short time.

mod send;
#[cfg(test)]
mod tests;

use std::time::Duration;

use opentelemetry::trace::TracerProvider as _;
use opentelemetry_otlp::{Protocol, SpanExporter, WithExportConfig as _, WithHttpConfig as _};
use opentelemetry_sdk::{
    Resource,
    trace::{BatchConfigBuilder, BatchSpanProcessor, SdkTracerProvider},
};
use tokio::runtime::Handle;
use tracing::{Subscriber, warn};
use tracing_subscriber::{Layer, filter::filter_fn, registry::LookupSpan};

use send::Sender;

/// The target of spans that become traces. No log line has it.
pub const TRACE_TARGET: &str = "boathook::trace";

/// The maximum number of spans that wait to be sent. Further ones are dropped.
const QUEUE: usize = 4_096;

/// How long the last spans may take on shutdown.
const LAST_SPANS: Duration = Duration::from_secs(3);

/// Why traces cannot be sent.
#[derive(Debug, thiserror::Error)]
pub enum TraceError {
    /// The address is invalid.
    #[error("traces can't be sent to {0:?}: give a URL like http://collector:4318")]
    Endpoint(String),
    /// There are no certificate authorities.
    #[error("traces can't be sent over TLS: the system's certificate authorities can't be read")]
    Authorities(#[source] std::io::Error),
    /// The library refuses a setting, possibly from the environment.
    #[error("traces can't be sent: check the variables OTEL_EXPORTER_OTLP_*")]
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
