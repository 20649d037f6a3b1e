//! A hook's calls as spans of its run's trace. It costs nothing while no traces are sent.

use std::fmt;

use boathook_core::model::{CallError, ListQuery, ObjectRef, Operation};
use serde::Deserialize;
use tracing::{Instrument as _, field::Empty, info_span};

use crate::telemetry::{TRACE_TARGET, metrics::outcome_label};

pub(super) async fn traced<T>(
    verb: &'static str,
    object: impl fmt::Display,
    call: impl Future<Output = Result<T, CallError>>,
) -> Result<T, CallError> {
    let span = info_span!(
        target: TRACE_TARGET, "host call", verb, %object,
        outcome = Empty, otel.status_code = Empty, otel.status_description = Empty
    );
    let result = call.instrument(span.clone()).await;
    if !span.is_disabled() {
        span.record("outcome", outcome_label(result.as_ref().map(drop).map_err(|error| error.reason)));
        if let Err(error) = &result {
            span.record("otel.status_code", "ERROR");
            span.record("otel.status_description", error.message.as_str());
        }
    }
    result
}

pub(super) async fn traced_batch<T>(
    count: usize,
    call: impl Future<Output = Vec<Result<T, CallError>>>,
) -> Vec<Result<T, CallError>> {
    let span = info_span!(target: TRACE_TARGET, "host call", verb = "batch", operations = count, failed = Empty);
    let results = call.instrument(span.clone()).await;
    if !span.is_disabled() {
        span.record("failed", results.iter().filter(|result| result.is_err()).count());
    }
    results
}

/// The object of an operation, as text. It is formatted only if somebody reads it.
pub(super) struct Target<'a>(pub &'a Operation);

impl fmt::Display for Target<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Operation::Create(create) => match &create.subresource {
                Some((_, target)) => write!(f, "{target}"),
                None => of_object(&create.object, f),
            },
            Operation::Update(update) => of_object(&update.object, f),
            Operation::Patch(patch) => write!(f, "{}", patch.target),
            Operation::Delete(delete) => write!(f, "{}", delete.target),
        }
    }
}

/// The kind that a list is for, as text.
pub(super) struct Listed<'a>(pub &'a ListQuery);

impl fmt::Display for Listed<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.0.api_version, self.0.kind)
    }
}

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
struct Object {
    api_version: String,
    kind: String,
    metadata: Metadata,
}

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
struct Metadata {
    namespace: Option<String>,
    name: String,
    generate_name: String,
}

fn of_object(json: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    // The access stage rejects what is not an object.
    let Object { api_version, kind, metadata } = serde_json::from_str(json).unwrap_or_default();
    let Metadata { namespace, name, generate_name } = metadata;
    let name = if name.is_empty() { generate_name } else { name };
    write!(f, "{}", ObjectRef { api_version, kind, namespace, name })
}
