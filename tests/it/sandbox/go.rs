//! A guest in Go, ordinary and hostile: `hooks-wasm/go/test/hostile` does what the hook's name says.
//!
//! Left out where there is no Go.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::{sync::Arc, time::Duration};

use boathook_core::model::{
    CallError, CallReason, Caller, EmitEvent, Failure, FailureKind, HookName, Limit, Limits, ListQuery, ObjectRef,
    Operation, Page, SnapshotSet,
};
use boathook_sandbox::{Host, Sandbox, Written};
use futures::future::{self, BoxFuture, FutureExt};

use super::support::{Lines, load, plenty, request, run, sandbox};
use crate::support::guests::go_guest;

/// One way to misbehave, and the next run after it.
async fn failure(sandbox: &Sandbox, component: &[u8], way: &str, limits: Limits) -> Failure {
    let bad = load(sandbox, way, component).await;
    let good = load(sandbox, "good", component).await;
    let report = run(sandbox, &bad, limits).await;
    assert_eq!(run(sandbox, &good, plenty()).await.outcome, Ok(()), "after {way}");
    report.outcome.expect_err(way)
}

#[tokio::test]
async fn each_way_to_misbehave_ends_in_its_own_error() {
    let Some(component) = go_guest("hostile") else { return };
    let sandbox = sandbox();
    let spin = Limits { time: Duration::from_millis(300), ..Limits::default() };
    let table = [
        ("spin", spin, FailureKind::Limit(Limit::Time), "limits.time of 300ms"),
        ("memory-bomb", plenty(), FailureKind::Limit(Limit::Memory), "limits.memory of 64Mi"),
        ("huge-text", plenty(), FailureKind::Limit(Limit::Memory), "limits.memory of 64Mi"),
        ("deep-recursion", plenty(), FailureKind::Limit(Limit::Stack), "calls itself too deeply"),
        ("many-calls", plenty(), FailureKind::Limit(Limit::HostCalls), "limits.hostCalls of 10000 calls"),
        ("many-lines", plenty(), FailureKind::Limit(Limit::HostCalls), "limits.hostCalls of 10000 calls"),
        ("panic", plenty(), FailureKind::Retry, "the hook panicked: on purpose"),
        ("permanent", plenty(), FailureKind::Permanent, "never again"),
        ("later", plenty(), FailureKind::RetryAfter(Duration::from_millis(1500)), "not yet"),
        ("unknown", plenty(), FailureKind::Permanent, "there is no way"),
    ];
    for (way, limits, kind, text) in table {
        let failure = failure(&sandbox, &component, way, limits).await;
        assert_eq!(failure.kind, kind, "{way}: {failure}");
        assert!(failure.message.contains(text), "{way}: {failure}");
    }
}

/// What Go's runtime cannot bear ends the run, and the log says why.
#[tokio::test]
async fn what_ends_gos_runtime_is_in_the_log() {
    let Some(component) = go_guest("hostile") else { return };
    let sandbox = sandbox();
    for (way, said) in [("deadlock", "deadlock"), ("small-stack", "stack overflow")] {
        let (lines, _guard) = Lines::collect();
        let failure = failure(&sandbox, &component, way, plenty()).await;
        assert_eq!(failure.kind, FailureKind::Trap, "{way}: {failure}");
        let lines = lines.of_hooks();
        let told = |line: &serde_json::Value| line["message"].as_str().is_some_and(|text| text.contains(said));
        assert!(lines.iter().any(told), "{way}: {lines:?}");
    }
}

/// Collections of garbage while the host hands over answers; many more runs of it: `GO_STRESS_RUNS=300`.
#[tokio::test]
async fn answers_arrive_whole_while_garbage_is_collected() {
    let Some(component) = go_guest("hostile") else { return };
    let runs = std::env::var("GO_STRESS_RUNS").map_or(3, |runs| runs.parse().unwrap());
    let sandbox = sandbox();
    let limits = Limits { time: Duration::from_secs(600), ..Limits::default() };
    for way in ["stress-10", "stress-100", "stress-off"] {
        let hook = load(&sandbox, way, &component).await;
        for _ in 0..runs {
            let report = sandbox.run(&hook, request(&hook, limits), Arc::new(Big)).await;
            assert_eq!(report.outcome, Ok(()), "{way}");
            assert!(report.memory_peak < 48 << 20, "{way}: {} bytes", report.memory_peak);
        }
    }
}

/// Answers every `get` with the same 50 kB.
struct Big;

fn no() -> CallError {
    CallError { reason: CallReason::NotFound, message: "not here".into(), code: Some(404), status: None }
}

impl Host for Big {
    fn get<'a>(&'a self, _: &'a Caller, _: ObjectRef, _: Option<String>) -> BoxFuture<'a, Result<String, CallError>> {
        let data: serde_json::Map<_, _> =
            (0..500).map(|n| (format!("key-{n}"), "0123456789".repeat(9).into())).collect();
        let object = serde_json::json!({"apiVersion": "v1", "kind": "ConfigMap", "data": data});
        future::ready(Ok(object.to_string())).boxed()
    }

    fn list<'a>(&'a self, _: &'a Caller, _: ListQuery) -> BoxFuture<'a, Result<Page, CallError>> {
        future::ready(Err(no())).boxed()
    }

    fn write<'a>(&'a self, _: &'a Caller, _: Operation) -> BoxFuture<'a, Written> {
        future::ready(Err(no())).boxed()
    }

    fn batch<'a>(&'a self, _: &'a Caller, operations: Vec<Operation>) -> BoxFuture<'a, Vec<Written>> {
        future::ready(operations.iter().map(|_| Err(no())).collect()).boxed()
    }

    fn emit_event<'a>(&'a self, _: &'a Caller, _: EmitEvent) -> BoxFuture<'a, Result<(), CallError>> {
        future::ready(Err(no())).boxed()
    }

    fn snapshot_set(&self, _: &HookName) -> SnapshotSet {
        SnapshotSet::default()
    }
}
