//! The host of a run: calls go to the access stage, and snapshots come from the filter stage.

use std::sync::Arc;

use boathook_core::{
    filter::Snapshots,
    model::{
        CallError, CallReason, Caller, EmitEvent, HookName, ListQuery, MetricSample, Moment, ObjectRef, Operation, Page,
    },
};
use boathook_kube::access::Access;
use boathook_sandbox::{Host, Written};
use futures::{FutureExt as _, future::BoxFuture};

use super::spans::{Listed, Target, traced, traced_batch};
use crate::telemetry::{HookMetrics, Metrics};

/// The operator, as a run sees it.
#[derive(Clone)]
pub struct Operator {
    /// Executes calls.
    pub access: Access,
    /// What bindings match.
    pub snapshots: Arc<Snapshots>,
    /// Counts calls.
    pub metrics: Arc<Metrics>,
    /// What hooks report.
    pub hook_metrics: Arc<HookMetrics>,
}

impl Operator {
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

fn verb(operation: &Operation) -> &'static str {
    match operation {
        Operation::Create(_) => "create",
        Operation::Update(_) => "update",
        Operation::Patch(_) => "patch",
        Operation::Delete(_) => "delete",
    }
}

impl Host for Operator {
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
            let verb = verb(&operation);
            let call = self.access.write(caller, &operation);
            self.counted(caller, verb, traced(verb, Target(&operation), call).await)
        }
        .boxed()
    }

    fn batch<'a>(&'a self, caller: &'a Caller, operations: Vec<Operation>) -> BoxFuture<'a, Vec<Written>> {
        async move {
            let written = traced_batch(operations.len(), self.access.batch(caller, &operations)).await;
            let each = operations.iter().zip(written);
            each.map(|(operation, result)| self.counted(caller, verb(operation), result)).collect()
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

    fn moment(&self, hook: &HookName) -> Moment {
        self.snapshots.moment(hook)
    }

    fn check_metric(&self, caller: &Caller, sample: &MetricSample, in_run: usize) -> Result<(), String> {
        self.hook_metrics.check(&caller.hook, sample, in_run).map_err(|error| error.to_string())
    }
}
