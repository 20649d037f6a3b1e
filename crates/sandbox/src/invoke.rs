//! One invocation of a guest, from a fresh store to its report.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use boathook_core::model::{
    Caller, Failure, FailureKind, HookName, Limit, Reconciled, Reviewed, RunId, ScriptFunction, ScriptUses,
};
use wasmtime::{Engine, Store};

use super::{
    ConversionRequest, ReconcileRequest, ReviewRequest, RunReport, RunRequest,
    component::{Interpreter, LoadedHook},
    context,
    host::{Host, NoGrants},
    limits::Bounds,
    output::{Labels, RunLog, one_line},
    room::Room,
    script::{self, Source, function},
    snapshots::Readable,
    store::{self, State},
    trap::{self, NotStarted},
    turns::Turn,
    wit::{HookPre, boathook::hook::types, interpreter::exports::boathook::interpreter::script::Description},
};

/// The longest text of a guest's own failure that is kept.
const MAX_MESSAGE: usize = 8 * 1024;

/// The longest configuration document.
const MAX_DOCUMENT: usize = 1024 * 1024;

/// What a call of a guest needs.
pub(super) struct Given {
    pub(super) bounds: Bounds,
    pub(super) room: Room,
    pub(super) turn: Turn,
}

pub(super) async fn run(
    engine: &Engine,
    hook: &LoadedHook,
    request: RunRequest,
    given: Given,
    host: Arc<dyn Host>,
) -> RunReport {
    let started = Instant::now();
    let RunRequest { caller, attempt, triggers, .. } = request;
    let labels = Labels::of_run(caller.hook.clone(), caller.run.clone(), attempt, &triggers);
    let parts = context::parts(&triggers);
    let contexts = context::contexts(&parts);
    let begun = Begun { started, given, caller: &caller, labels, readable: Readable::by(&triggers), hook };
    let info = info(&caller, attempt);
    let call = async |store: &mut Store<State>| {
        let hook = hook.pre().instantiate_async(&mut *store).await.map_err(|error| error.context(NotStarted))?;
        Ok(hook.call_run(store, info, &contexts).await?.map_err(own_failure))
    };
    begun.ended(engine, host, call).await
}

/// Requests a hook's decision about a request to the API server.
pub(super) async fn review(
    engine: &Engine,
    hook: &LoadedHook,
    request: ReviewRequest,
    given: Given,
    host: Arc<dyn Host>,
) -> RunReport<Reviewed> {
    let started = Instant::now();
    let ReviewRequest { caller, review, snapshots, .. } = request;
    let labels = Labels::of_answer(caller.hook.clone(), caller.run.clone(), review.binding.clone());
    let begun = Begun { started, given, caller: &caller, labels, readable: Readable::of(snapshots), hook };
    let info = info(&caller, 1);
    let call = async |store: &mut Store<State>| {
        Ok(hook.optional().review(hook.pre(), store, info, &review).await?.map_err(own_failure))
    };
    begun.ended(engine, host, call).await
}

/// Requests objects in another version from a hook.
pub(super) async fn convert(
    engine: &Engine,
    hook: &LoadedHook,
    request: ConversionRequest,
    given: Given,
    host: Arc<dyn Host>,
) -> RunReport<Vec<String>> {
    let started = Instant::now();
    let ConversionRequest { caller, conversion, snapshots, .. } = request;
    let labels = Labels::of_answer(caller.hook.clone(), caller.run.clone(), conversion.binding.clone());
    let begun = Begun { started, given, caller: &caller, labels, readable: Readable::of(snapshots), hook };
    let refused = |message| own_failure(types::Failure::Permanent(message));
    let call = async |store: &mut Store<State>| {
        let answer = hook.optional().convert(hook.pre(), store, &conversion).await?.map_err(refused);
        let bytes = answer.as_ref().map_or(0, |objects| objects.iter().map(String::len).sum());
        store.data().room.keep(bytes).map_err(|refused| refused.error(Limit::HostBytes))?;
        Ok(answer)
    };
    begun.ended(engine, host, call).await
}

/// Requests what a parent should become.
pub(super) async fn reconcile(
    engine: &Engine,
    hook: &LoadedHook,
    request: ReconcileRequest,
    given: Given,
    host: Arc<dyn Host>,
) -> RunReport<Reconciled> {
    let started = Instant::now();
    let ReconcileRequest { caller, attempt, trigger, reconcile, .. } = request;
    let labels = Labels::of_run(caller.hook.clone(), caller.run.clone(), attempt, std::slice::from_ref(&trigger));
    let readable = Readable::of(reconcile.snapshots.clone());
    let begun = Begun { started, given, caller: &caller, labels, readable, hook };
    let info = info(&caller, attempt);
    let call = async |store: &mut Store<State>| {
        let answer = hook.optional().reconcile(hook.pre(), store, info, &reconcile).await?.map_err(own_failure);
        let bytes = answer.as_ref().map_or(0, Reconciled::bytes);
        store.data().room.keep(bytes).map_err(|refused| refused.error(Limit::HostBytes))?;
        Ok(answer)
    };
    begun.ended(engine, host, call).await
}

fn info(caller: &Caller, attempt: u32) -> types::RunInfo<'_> {
    types::RunInfo { run_id: caller.run.as_str(), hook: caller.hook.as_str(), attempt, dry_run: caller.dry_run }
}

/// What is known of a call before it has a store.
struct Begun<'a> {
    started: Instant,
    given: Given,
    caller: &'a Caller,
    labels: Labels,
    readable: Readable,
    hook: &'a LoadedHook,
}

impl Begun<'_> {
    /// Creates the store, calls the guest, and reports.
    async fn ended<T>(
        self,
        engine: &Engine,
        host: Arc<dyn Host>,
        call: impl AsyncFnOnce(&mut Store<State>) -> wasmtime::Result<Result<T, Failure>>,
    ) -> RunReport<T> {
        let Self { started, given: Given { bounds, room, turn }, caller, labels, readable, hook } = self;
        let deadline = bounds.deadline(started);
        let log = Arc::new(RunLog::new(labels, bounds.limits().log_bytes).heard_by(host.clone()));
        let readable = readable.if_opened(hook.opens_snapshots());
        let state = State::new(host, caller.clone(), bounds, room, log, readable).reading(hook.source());
        let mut store = store::new(engine, state, deadline, turn.clone());
        let outcome = within(&mut store, deadline, &turn, call).await.flatten();
        report(outcome, started.elapsed(), store)
    }
}

/// Requests a hook's configuration document.
pub(super) async fn config(
    engine: &Engine,
    pre: &HookPre<State>,
    name: &HookName,
    given: Given,
) -> Result<String, Failure> {
    let (mut store, deadline, turn) = at_load(engine, name, given, None, Arc::new(NoGrants));
    let call = async |store: &mut Store<State>| {
        let hook = pre.instantiate_async(&mut *store).await.map_err(|error| error.context(NotStarted))?;
        hook.call_config(store).await
    };
    let document = within(&mut store, deadline, &turn, call).await?;
    check_document(&document)?;
    Ok(document)
}

/// Requests the custom resources that a hook defines by its types.
pub(super) async fn definitions(engine: &Engine, hook: &LoadedHook, given: Given) -> Result<Vec<String>, Failure> {
    let (mut store, deadline, turn) = at_load(engine, hook.name(), given, None, Arc::new(NoGrants));
    let call = async |store: &mut Store<State>| {
        let answer = hook.optional().definitions(hook.pre(), store).await?;
        let bytes = answer.as_ref().map_or(0, |all| all.iter().map(String::len).sum());
        store.data().room.keep(bytes).map_err(|refused| refused.error(Limit::HostBytes))?;
        Ok(answer)
    };
    let wrong = |message| own_failure(types::Failure::Permanent(message));
    within(&mut store, deadline, &turn, call).await?.map_err(wrong)
}

/// What an interpreter says about a script.
pub(super) struct Described {
    pub(super) description: Description,
    /// Absent if the interpreter does not report them.
    pub(super) functions: Option<Vec<ScriptFunction>>,
    /// CustomResourceDefinitions, as JSON.
    pub(super) definitions: Vec<String>,
}

/// Lets an interpreter describe a script.
pub(super) async fn describe(
    engine: &Engine,
    interpreter: &Interpreter,
    name: &HookName,
    source: Source,
    given: Given,
) -> Result<Described, Failure> {
    let (mut store, deadline, turn) = at_load(engine, name, given, Some(Arc::new(source)), Arc::new(NoGrants));
    let call = async |store: &mut Store<State>| {
        let pre = interpreter.component.pre().instance_pre();
        let instance = pre.instantiate_async(&mut *store).await.map_err(|error| error.context(NotStarted))?;
        let described = interpreter.script.load(&mut *store, &instance)?.call_describe(&mut *store).await?;
        let functions = match (&described, &interpreter.functions) {
            (Ok(_), Some(functions)) => Some(functions.load(&mut *store, &instance)?.call_all(&mut *store).await?),
            _ => None,
        };
        let definitions = match (&described, &interpreter.definitions) {
            (Ok(_), Some(definitions)) => definitions.load(&mut *store, &instance)?.call_all(store).await?,
            _ => Vec::new(),
        };
        let functions = functions.map(|all| all.into_iter().map(function).collect());
        Ok(described.map(|description| Described { description, functions, definitions }))
    };
    let wrong = |message| own_failure(types::Failure::Permanent(message));
    let described = within(&mut store, deadline, &turn, call).await?.map_err(wrong)?;
    check_document(&described.description.document)?;
    Ok(described)
}

/// Lets an interpreter list what a script uses.
pub(super) async fn uses(
    engine: &Engine,
    interpreter: &Interpreter,
    name: &HookName,
    source: Source,
    given: Given,
    host: Arc<dyn Host>,
) -> Result<ScriptUses, Failure> {
    let (mut store, deadline, turn) = at_load(engine, name, given, Some(Arc::new(source)), host);
    let call = async |store: &mut Store<State>| {
        let pre = interpreter.component.pre().instance_pre();
        let instance = pre.instantiate_async(&mut *store).await.map_err(|error| error.context(NotStarted))?;
        match &interpreter.uses {
            Some(uses) => uses.load(&mut *store, &instance)?.call_all(store).await,
            None => Ok(Err("the interpreter does not list what scripts use".to_owned())),
        }
    };
    let wrong = |message| own_failure(types::Failure::Permanent(message));
    Ok(script::uses(within(&mut store, deadline, &turn, call).await?.map_err(wrong)?))
}

/// A store for a call before anything is granted.
fn at_load(
    engine: &Engine,
    name: &HookName,
    given: Given,
    source: Option<Arc<Source>>,
    host: Arc<dyn Host>,
) -> (Store<State>, Instant, Turn) {
    let Given { bounds, room, turn } = given;
    let deadline = bounds.deadline(Instant::now());
    let caller = Caller::new(name.clone(), RunId::new("config", 0), Arc::new([]), true);
    let labels = Labels::of_call(name.clone(), caller.run.clone(), "config");
    let log = Arc::new(RunLog::new(labels, bounds.limits().log_bytes));
    let state = State::new(host, caller, bounds, room, log, Readable::default()).reading(source);
    (store::new(engine, state, deadline, turn.clone()), deadline, turn)
}

fn check_document(document: &str) -> Result<(), Failure> {
    if document.len() <= MAX_DOCUMENT {
        return Ok(());
    }
    let message = format!("the configuration document has {} bytes; at most {MAX_DOCUMENT} are read", document.len());
    Err(Failure { kind: FailureKind::Permanent, message, backtrace: None })
}

/// Calls the guest, and returns a failure if it ends without an answer.
///
/// A guest that computes past the deadline is stopped by the epoch, with a back-trace. The deadline here is for a guest
/// that waits for its host.
async fn within<T>(
    store: &mut Store<State>,
    deadline: Instant,
    turn: &Turn,
    call: impl AsyncFnOnce(&mut Store<State>) -> wasmtime::Result<T>,
) -> Result<T, Failure> {
    let ended = turn.around(deadline, call(store)).await;
    let state = store.data();
    state.log.finish();
    match ended {
        Ok(Ok(answer)) => Ok(answer),
        Ok(Err(error)) => {
            let failure = trap::classify(&error, &state.bounds, state.log.panic().as_deref());
            Err(if state.source.is_some() { trap::in_a_script(failure) } else { failure })
        }
        Err(_) => Err(trap::timed_out(&state.bounds, state.waits_in())),
    }
}

/// The failure that the hook itself returned.
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

fn report<T>(outcome: Result<T, Failure>, duration: Duration, store: Store<State>) -> RunReport<T> {
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
        patch: state.patch,
    }
}
