//! One invocation, from a fresh store to its report.
//!
//! Never retries and never queues.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use tokio::time::timeout_at;
use wasmtime::{Engine, Store};

use super::{
    RunReport, RunRequest,
    bindings::{HookPre, boathook::hook::types},
    context,
    host::{Host, NoGrants, snapshots::Readable},
    limits::Bounds,
    output::{Labels, RunLog, one_line},
    store::{self, State},
    trap::{self, NotStarted},
};
use crate::model::{Caller, Failure, FailureKind, HookName, RunId};

/// The longest text of a guest's own failure that is kept.
const MAX_MESSAGE: usize = 8 * 1024;

/// The longest configuration document.
const MAX_DOCUMENT: usize = 1024 * 1024;

/// Runs a hook for its triggers.
pub(super) async fn run(
    engine: &Engine,
    pre: &HookPre<State>,
    request: RunRequest,
    bounds: Bounds,
    host: Arc<dyn Host>,
) -> RunReport {
    let started = Instant::now();
    let deadline = bounds.deadline(started);
    let RunRequest { caller, attempt, triggers, .. } = request;
    let labels = Labels::of_run(caller.hook.clone(), caller.run.clone(), attempt, &triggers);
    let log = Arc::new(RunLog::new(labels, bounds.limits().log_bytes).heard_by(host.clone()));
    let state = State::new(host, caller.clone(), bounds, log.clone(), Readable::by(&triggers));
    let mut store = store::new(engine, state, deadline);

    let parts = context::parts(&triggers);
    let contexts = context::contexts(&parts);
    let info =
        types::RunInfo { run_id: caller.run.as_str(), hook: caller.hook.as_str(), attempt, dry_run: caller.dry_run };
    let call = async |store: &mut Store<State>| {
        let hook = pre.instantiate_async(&mut *store).await.map_err(|error| error.context(NotStarted))?;
        hook.call_run(store, info, &contexts).await
    };
    let outcome = match within(&mut store, deadline, call).await {
        Ok(Ok(())) => Ok(()),
        Ok(Err(failure)) => Err(own_failure(failure)),
        Err(failure) => Err(failure),
    };
    report(outcome, started.elapsed(), store)
}

/// Asks a hook for its configuration document.
pub(super) async fn config(
    engine: &Engine,
    pre: &HookPre<State>,
    name: &HookName,
    bounds: Bounds,
) -> Result<String, Failure> {
    let started = Instant::now();
    let deadline = bounds.deadline(started);
    let caller = Caller { hook: name.clone(), run: RunId::new("config", 0), permissions: Arc::new([]), dry_run: true };
    let labels = Labels::of_call(name.clone(), caller.run.clone(), "config");
    let log = Arc::new(RunLog::new(labels, bounds.limits().log_bytes));
    let state = State::new(Arc::new(NoGrants), caller, bounds, log, Readable::default());
    let mut store = store::new(engine, state, deadline);
    let call = async |store: &mut Store<State>| {
        let hook = pre.instantiate_async(&mut *store).await.map_err(|error| error.context(NotStarted))?;
        hook.call_config(store).await
    };
    let document = within(&mut store, deadline, call).await?;
    if document.len() > MAX_DOCUMENT {
        let message =
            format!("the configuration document has {} bytes; at most {MAX_DOCUMENT} are read", document.len());
        return Err(Failure { kind: FailureKind::Permanent, message, backtrace: None });
    }
    Ok(document)
}

/// Calls the guest, and puts every way in which that can end without an answer into words.
///
/// A guest that computes past the deadline is stopped by the epoch, with a back-trace; this
/// deadline is for one that waits.
async fn within<T>(
    store: &mut Store<State>,
    deadline: Instant,
    call: impl AsyncFnOnce(&mut Store<State>) -> wasmtime::Result<T>,
) -> Result<T, Failure> {
    let ended = timeout_at(deadline.into(), call(store)).await;
    let state = store.data();
    state.log.finish();
    match ended {
        Ok(Ok(answer)) => Ok(answer),
        Ok(Err(error)) => Err(trap::classify(&error, &state.bounds, state.log.panic().as_deref())),
        Err(_) => Err(trap::timed_out(&state.bounds, state.waiting_in)),
    }
}

/// What the hook itself said.
fn own_failure(failure: types::Failure) -> Failure {
    let (kind, mut message) = match failure {
        types::Failure::Retry(message) => (FailureKind::Retry, message),
        types::Failure::RetryAfter((millis, message)) => {
            (FailureKind::RetryAfter(Duration::from_millis(millis)), message)
        }
        types::Failure::Permanent(message) => (FailureKind::Permanent, message),
    };
    message.truncate(message.floor_char_boundary(MAX_MESSAGE));
    Failure { kind, message: one_line(&message).into_owned(), backtrace: None }
}

fn report(outcome: Result<(), Failure>, duration: Duration, store: Store<State>) -> RunReport {
    let state = store.into_data();
    RunReport {
        outcome,
        duration,
        cpu: Duration::ZERO,
        memory_peak: state.memory.peak(),
        host_calls: state.budget.calls(),
        host_bytes: state.budget.bytes(),
        log_bytes: state.log.bytes(),
        metrics: state.metrics.into_ops(),
    }
}
