//! The host of a run: calls go to the access stage, and snapshots come from the filter stage.

use std::{fmt, sync::Arc};

use boathook_core::{
    filter::Snapshots,
    model::{
        AccessQuestion, CallError, CallReason, Caller, EmitEvent, HookName, HttpBounds, HttpError, HttpReason,
        HttpRequest, HttpResponse, KindListing, ListQuery, MetricSample, ObjectRef, Operation, Page, READING, Resource,
        SnapshotSet,
    },
};
use boathook_egress::{Client, shown};
use boathook_kube::{access::Access, election::Leadership};
use boathook_sandbox::{Directories, Host, Written};
use futures::{FutureExt as _, future::BoxFuture};
use serde_json::Value;
use tokio::time::Instant;
use tracing::{Instrument as _, field::Empty, info_span};

use crate::telemetry::{HookMetrics, Metrics, TRACE_TARGET, metrics::outcome_label};

/// The operator, as a run sees it.
#[derive(Clone)]
pub struct HostCalls {
    /// Executes calls.
    pub access: Access,
    /// Sends HTTP requests.
    pub http: Client,
    /// What is not only read is sent over HTTP while this process leads.
    pub leadership: Leadership,
    /// What the admin offers of this machine.
    pub directories: Directories,
    /// What bindings match.
    pub snapshots: Arc<Snapshots>,
    /// Counts calls.
    pub metrics: Arc<Metrics>,
    /// What hooks report.
    pub hook_metrics: Arc<HookMetrics>,
}

impl HostCalls {
    /// Counts a call by its result.
    fn counted<T>(&self, caller: &Caller, verb: &'static str, result: Result<T, CallError>) -> Result<T, CallError> {
        let outcome = result.as_ref().map(drop).map_err(|error| error.reason);
        self.metrics.host_call(verb, outcome);
        if outcome == Err(CallReason::ForbiddenByGrant) {
            self.metrics.grant_refused(&caller.hook, verb);
        }
        result
    }
}

impl Host for HostCalls {
    fn get<'a>(
        &'a self,
        caller: &'a Caller,
        target: ObjectRef,
        subresource: Option<String>,
    ) -> BoxFuture<'a, Result<String, CallError>> {
        async move {
            let call = self.access.get(caller, &target, subresource.as_deref());
            self.counted(caller, "get", traced("get", &target, call).await)
        }
        .boxed()
    }

    fn list<'a>(&'a self, caller: &'a Caller, query: ListQuery) -> BoxFuture<'a, Result<Page, CallError>> {
        async move {
            let call = self.access.list(caller, &query);
            self.counted(caller, "list", traced("list", Listed(&query), call).await)
        }
        .boxed()
    }

    fn write<'a>(&'a self, caller: &'a Caller, operation: Operation) -> BoxFuture<'a, Written> {
        async move {
            let verb = operation.verb();
            let call = self.access.write(caller, &operation);
            self.counted(caller, verb, traced(verb, Target(&operation), call).await)
        }
        .boxed()
    }

    fn batch<'a>(&'a self, caller: &'a Caller, operations: Vec<Operation>) -> BoxFuture<'a, Vec<Written>> {
        async move {
            let written = traced_batch(operations.len(), self.access.batch(caller, &operations)).await;
            let each = operations.iter().zip(written);
            each.map(|(operation, result)| self.counted(caller, operation.verb(), result)).collect()
        }
        .boxed()
    }

    fn emit_event<'a>(&'a self, caller: &'a Caller, event: EmitEvent) -> BoxFuture<'a, Result<(), CallError>> {
        async move {
            let call = self.access.emit_event(caller, &event);
            self.counted(caller, "emit-event", traced("emit-event", &event.regarding, call).await)
        }
        .boxed()
    }

    fn resolve<'a>(
        &'a self,
        caller: &'a Caller,
        name: String,
        api_version: Option<String>,
    ) -> BoxFuture<'a, Result<Resource, CallError>> {
        async move {
            let call = self.access.resolve(&name, api_version.as_deref());
            self.counted(caller, "resolve", traced("resolve", &name, call).await)
        }
        .boxed()
    }

    fn http<'a>(
        &'a self,
        caller: &'a Caller,
        request: HttpRequest,
        bounds: HttpBounds,
    ) -> BoxFuture<'a, Result<HttpResponse, HttpError>> {
        async move {
            let name = shown(&request);
            let mut failed = None;
            let call = async {
                let sent = match self.fenced(&request, bounds) {
                    Ok(bounds) => self.http.send(caller, request, bounds).await,
                    Err(error) => Err(error),
                };
                sent.map_err(|error| {
                    let (reason, message) = (reason(error.reason), error.message.clone());
                    failed = Some(error);
                    CallError { reason, message, code: None, status: None }
                })
            };
            let result = self.counted(caller, "http", traced("http", name, call).await);
            result.map_err(|CallError { message, .. }| {
                failed.unwrap_or(HttpError { reason: HttpReason::Connection, message })
            })
        }
        .boxed()
    }

    fn kinds<'a>(&'a self, caller: &'a Caller) -> BoxFuture<'a, Result<KindListing, CallError>> {
        async move {
            let call = self.access.kinds();
            self.counted(caller, "kinds", traced("kinds", "all", call).await)
        }
        .boxed()
    }

    fn allowed<'a>(&'a self, caller: &'a Caller, question: AccessQuestion) -> BoxFuture<'a, Result<bool, CallError>> {
        async move {
            let call = self.access.allowed(caller, &question);
            self.counted(caller, "allowed", traced("allowed", &question.resource, call).await)
        }
        .boxed()
    }

    fn snapshot_set(&self, hook: &HookName) -> SnapshotSet {
        self.snapshots.snapshot_set(hook)
    }

    fn directories(&self) -> Directories {
        self.directories.clone()
    }

    fn check_metric(&self, caller: &Caller, sample: &MetricSample, in_run: usize) -> Result<(), String> {
        self.hook_metrics.check(&caller.hook, sample, in_run).map_err(|error| error.to_string())
    }
}

impl HostCalls {
    /// As for writes: nothing is sent after this process has led, and no response is waited for.
    fn fenced(&self, request: &HttpRequest, bounds: HttpBounds) -> Result<HttpBounds, HttpError> {
        if READING.contains(&request.method.as_str()) {
            return Ok(bounds);
        }
        let until = self.leadership.check().map_err(|error| HttpError {
            reason: HttpReason::Connection,
            message: format!("{}: not sent: {error}", shown(request)),
        })?;
        let left = until.map(|until| until.saturating_duration_since(Instant::now()));
        let time = match (bounds.time, left) {
            (Some(time), Some(left)) => Some(time.min(left)),
            (time, left) => time.or(left),
        };
        Ok(HttpBounds { time, ..bounds })
    }
}

fn reason(reason: HttpReason) -> CallReason {
    match reason {
        HttpReason::Denied | HttpReason::Address => CallReason::ForbiddenByGrant,
        HttpReason::Limit => CallReason::TooLarge,
        HttpReason::Timeout => CallReason::Timeout,
        HttpReason::Invalid => CallReason::Invalid,
        HttpReason::Name | HttpReason::Connection | HttpReason::Tls => CallReason::Unavailable,
        HttpReason::NotSent | HttpReason::Credential => CallReason::Other,
    }
}

/// A hook's call as a span of its run's trace. It costs nothing while no traces are sent.
async fn traced<T>(
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

async fn traced_batch<T>(
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

fn of_object(json: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    // The access stage rejects what is not an object.
    let object: Value = serde_json::from_str(json).unwrap_or_default();
    let mut reference = ObjectRef::of(&object);
    if let (true, Some(prefix)) = (reference.name.is_empty(), object.pointer("/metadata/generateName")) {
        reference.name = prefix.as_str().unwrap_or_default().to_owned();
    }
    write!(f, "{reference}")
}
