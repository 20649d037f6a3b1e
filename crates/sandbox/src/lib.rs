//! Stage 4: one run of a hook, in an instance that exists only for this run.
//!
//! ```text
//!  bytes ─▶ component_type ─▶ cache / compile ─▶ component (checked, linked) ─▶ invoke ─▶ RunReport
//!                                                                                 │
//!                                                store: limiter, deadline, caps ◀─┴─▶ imports/*: imported functions
//! ```
//!
//! | modules | content |
//! | --- | --- |
//! | `load`, `component_type`, `component`, `script` | what a file's bytes are, and whether they are a hook |
//! | `compiler`, `cache`, `resident` | machine code: compiled in a child process, kept between starts, in memory only while it is needed |
//! | `interpreters` | the interpreters that script hooks share |
//! | `engine`, `turns`, `room`, `budget`, `limits` | bounds: CPU time in turns, memory in shares, calls, bytes |
//! | `invoke`, `store`, `context`, `output`, `trap`, `error` | one run: its instance, what goes in and comes out, why it ended |
//! | `wit` | the WIT worlds as Rust types |
//! | `exports` | the exports that answer webhooks |
//! | `host`, `imports`, `http`, `directories`, `files`, `snapshots`, `ambient` | the functions that a guest imports |
//! | `filters` | jq programs, in instances of their own module |
//! | `charts` | charts, rendered by Helm's library in instances of its component |
//! | `code` | machine code of that module and that component |
//!
//! Only this crate knows wasmtime. A guest can waste nothing but its own budget. The crate never sees a Kubernetes
//! client: calls go to an implementation of [`Host`].

mod ambient;
mod budget;
mod cache;
mod charts;
mod code;
pub mod compiler;
mod component;
mod component_type;
mod context;
mod directories;
mod engine;
mod error;
mod exports;
mod files;
mod filters;
mod host;
mod http;
mod imports;
mod interpreters;
mod invoke;
mod limits;
mod load;
mod output;
mod resident;
mod room;
mod script;
mod snapshots;
mod store;
mod trap;
mod turns;
mod wit;

use std::{path::PathBuf, sync::Arc, time::Duration};

use boathook_core::{
    fair::{Pool, Share, Tenant},
    model::{
        BindingName, Caller, Conversion, Failure, FailureKind, Limits, MetricOp, Reconcile, Reconciled, Review,
        Reviewed, Trigger, ValuesPatch,
    },
    tasks::Tasks,
};
use cache::Cache;
use component::Loader;
use engine::TickingEngine;
use files::View;
use futures::future::{BoxFuture, FutureExt as _};
use interpreters::Interpreters;
use invoke::Given;
use limits::Bounds;
use resident::Resident;
use room::{Room, Rooms};
use store::State;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use turns::Turns;
use wasmtime::{
    Engine,
    component::{HasSelf, Linker},
};
use wasmtime_wasi::p2::bindings::filesystem;

pub use ambient::Ambient;
pub use charts::{
    Capabilities, Chart, ChartConfig, ChartEngine, ChartFile, ChartHook, KubeVersion, Lookup, LookupQuery, Manifest,
    NoCluster, Operation, Release, RenderError, RenderRequest, Rendered, Secret,
};
pub use compiler::{CompilerConfig, Engines};
pub use component::LoadedHook;
pub use directories::{Directories, Offer, OfferError};
pub use error::{LoadError, SandboxError};
pub use filters::{FilterConfig, Filters, Program, compile_filters};
pub use host::{Host, Written};
pub use interpreters::{Compiled, InterpreterError, compile_interpreter, interpreter_files, interpreters_in};

/// The name and version of the engine, for records of runs.
pub const ENGINE: &str = "wasmtime 48";

const MIB: u64 = 1024 * 1024;

/// How many hooks may report their configuration at the same time, in addition to the runs.
const ASKED_AT_ONCE: usize = 4;

/// The most memory of a run, if the admin does not set it.
pub const MAX_MEMORY_MIB: u32 = 256;

/// The settings of a sandbox.
#[derive(Debug, Clone)]
pub struct SandboxConfig {
    /// The directory of compiled components. It is created if it does not exist. Without it, every start compiles every
    /// hook. Default: none.
    pub cache_dir: Option<PathBuf>,
    /// How many bytes of compiled components are kept. The entries of loaded components are not evicted for others.
    /// Default 1 GiB.
    pub cache_bytes: u64,
    /// The most that any run gets, whatever its hook requests. Default [`MAX_MEMORY_MIB`], 10 min, 1 000 000 calls, 1
    /// GiB, 64 MiB.
    pub maxima: Limits,
    /// The bytes of memory of all runs and answers together, shared by the tenants. A call for which there is none
    /// waits. Default 64 GiB.
    pub memory: u64,
    /// The most runs at the same time, over all hooks. Further runs wait. Default 64.
    pub max_concurrent_runs: usize,
    /// The most answers to the API server at the same time, over all hooks, in addition to the runs. Further answers
    /// wait. Default 64.
    pub max_concurrent_answers: usize,
    /// The limits of a `config` call. Default 64 MiB, 5 s, 1 000 calls, 1 MiB, 64 KiB.
    pub config_limits: Limits,
    /// The largest component in bytes. Default 64 MiB.
    pub max_component_bytes: u64,
    /// Keep instances in a pool if the address space allows it. Default true.
    pub pooling: bool,
    /// The directories with the interpreters of scripts, as files `NAME-VERSION.wasm`. Default: none.
    pub interpreters: Vec<PathBuf>,
    /// What filters may use.
    pub filters: FilterConfig,
    /// What the rendering of a chart may use.
    pub charts: ChartConfig,
    /// The program that compiles components. Default: none, so this process compiles them.
    pub compiler: Option<CompilerConfig>,
    /// Called before an interpreter is compiled, which may take a minute. Default: none.
    pub compiles_interpreter: Option<fn()>,
    /// Starts the thread that interrupts runs, and reports it if it dies. By default, nothing receives that report.
    pub tasks: Tasks,
}

impl Default for SandboxConfig {
    fn default() -> Self {
        Self {
            cache_dir: None,
            cache_bytes: 1024 * MIB,
            maxima: Limits {
                memory: MAX_MEMORY_MIB as u64 * MIB,
                time: Duration::from_secs(600),
                host_calls: 1_000_000,
                host_bytes: 1024 * MIB,
                log_bytes: 64 * MIB,
            },
            memory: 64 * 1024 * MIB,
            max_concurrent_runs: 64,
            max_concurrent_answers: 64,
            config_limits: Limits {
                memory: 64 * MIB,
                time: Duration::from_secs(5),
                host_calls: 1_000,
                host_bytes: MIB,
                log_bytes: 64 * 1024,
            },
            max_component_bytes: 64 * MIB,
            pooling: true,
            interpreters: Vec::new(),
            filters: FilterConfig::default(),
            charts: ChartConfig::default(),
            compiler: None,
            compiles_interpreter: None,
            tasks: Tasks::default(),
        }
    }
}

#[derive(Debug, Clone)]
pub struct RunRequest {
    /// The hook, the run and the permissions.
    pub caller: Caller,
    /// 1 for the first try.
    pub attempt: u32,
    /// The triggers, oldest first, at least one.
    pub triggers: Vec<Trigger>,
    /// The limits that the hook's document requests. They are bounded by the host's maxima.
    pub limits: Limits,
}

/// A request to the API server about which a hook decides.
#[derive(Debug, Clone)]
pub struct ReviewRequest {
    /// The hook, the run and the permissions. If the request is a dry run, so is this.
    pub caller: Caller,
    pub review: Review,
    /// The snapshots that the hook may open.
    pub snapshots: Arc<[BindingName]>,
    /// The limits that the hook's document requests. They are bounded by the host's maxima.
    pub limits: Limits,
    /// How long the API server waits for the answer.
    pub patience: Duration,
}

/// Objects that a hook converts.
#[derive(Debug, Clone)]
pub struct ConversionRequest {
    /// The hook and the run. There are no permissions, because a conversion is pure.
    pub caller: Caller,
    pub conversion: Conversion,
    /// The snapshots that the hook may open.
    pub snapshots: Arc<[BindingName]>,
    /// As in [`ReviewRequest`].
    pub limits: Limits,
    /// As in [`ReviewRequest`].
    pub patience: Duration,
}

/// A parent that a hook reconciles.
#[derive(Debug, Clone)]
pub struct ReconcileRequest {
    /// The hook, the run and the permissions.
    pub caller: Caller,
    /// 1 for the first try.
    pub attempt: u32,
    /// Why the run happens, for its log.
    pub trigger: Trigger,
    pub reconcile: Reconcile,
    /// As in [`RunRequest`].
    pub limits: Limits,
}

/// Loads and runs hooks. It holds everything that runs share. Nothing is global.
pub struct Sandbox {
    engine: TickingEngine,
    loader: Arc<Loader>,
    /// One turn, because compiling takes more memory than running.
    compiling: Pool,
    asking: Pool,
    rooms: Rooms,
    turns: Turns,
    slots: Arc<Semaphore>,
    answering: Arc<Semaphore>,
    maxima: Limits,
    config_limits: Limits,
    compiler: Option<CompilerConfig>,
    interpreters: Interpreters,
    filters: Filters,
    charts: ChartEngine,
}

impl Sandbox {
    /// Starts the engine and opens the compile cache.
    pub fn new(mut config: SandboxConfig) -> Result<Self, SandboxError> {
        config.max_concurrent_runs = config.max_concurrent_runs.clamp(1, 1 << 20);
        config.max_concurrent_answers = config.max_concurrent_answers.clamp(1, 1 << 20);
        let rooms = Rooms::new(config.memory);
        config.maxima.memory = config.maxima.memory.min(rooms.most_memory());
        let engine = TickingEngine::new(&config)?;
        let cache = config.cache_dir.as_deref().map(|path| Cache::open(path, config.cache_bytes)).transpose()?;
        let loader = Loader {
            linker: linker(engine.engine()).map_err(|error| SandboxError::Engine(error.into()))?,
            engine: engine.engine().clone(),
            cache,
            resident: Resident::default(),
            maxima: config.maxima,
            max_bytes: config.max_component_bytes,
        };
        let (loader, turns) = (Arc::new(loader), Turns::new());
        let filters = Filters::new(&config, loader.clone(), turns.clone())?;
        let charts = ChartEngine::new(&config, loader.clone(), rooms.clone(), turns.clone());
        Ok(Self {
            engine,
            loader,
            compiling: Pool::new(1),
            asking: Pool::new(ASKED_AT_ONCE as u64),
            rooms,
            turns,
            slots: Arc::new(Semaphore::new(config.max_concurrent_runs)),
            answering: Arc::new(Semaphore::new(config.max_concurrent_answers)),
            maxima: config.maxima,
            config_limits: config.config_limits,
            compiler: config.compiler,
            interpreters: Interpreters::new(config.interpreters, config.compiles_interpreter),
            filters,
            charts,
        })
    }

    /// Compiles and runs filters. They share the turns at the CPU with runs.
    pub fn filters(&self) -> &Filters {
        &self.filters
    }

    /// Renders charts. They share the memory and the turns at the CPU with runs.
    pub fn charts(&self) -> &ChartEngine {
        &self.charts
    }

    /// A tenant's turn at the one child process that may use much memory: the compiler's, or one that takes its place.
    pub async fn child(&self, tenant: &Tenant) -> Option<Share> {
        // One unit is never more than a tenant's share.
        self.compiling.take(tenant, 1).await.ok()
    }

    /// Gives back the memory of code that no run has used since the sweep before the last one. Call it at intervals.
    pub fn give_back_idle_code(&self) {
        self.loader.resident.sweep();
    }

    /// The most memory of a run.
    pub fn max_memory(&self) -> u64 {
        self.maxima.memory
    }

    /// Refuses a component of this many bytes if it is too large to load, so that the caller need not read it.
    pub fn check_size(&self, hook: &boathook_core::model::HookName, size: u64) -> Result<(), LoadError> {
        component_type::check_size(hook, size, self.loader.max_bytes)
    }

    /// Whether instances come from a pool. Without a pool, runs start slower.
    pub fn pooled(&self) -> bool {
        self.engine.pooled()
    }

    /// Requests a hook's configuration document, without grants and with small limits.
    pub async fn config(&self, hook: &LoadedHook) -> Result<String, Failure> {
        self.check_origin(hook)?;
        if let Some(document) = hook.document() {
            return Ok(document.to_owned());
        }
        let called = hook.clone();
        let call = |engine: Engine, given| {
            async move { invoke::config(&engine, called.pre(), called.name(), given).await }.boxed()
        };
        self.asked(hook, call).await
    }

    /// Requests the CustomResourceDefinitions that a hook makes of its types, as JSON. Like [`Sandbox::config`].
    pub async fn definitions(&self, hook: &LoadedHook) -> Result<Vec<String>, Failure> {
        self.check_origin(hook)?;
        if let Some(definitions) = hook.definitions() {
            return Ok(definitions.to_vec());
        }
        let called = hook.clone();
        let call = |engine: Engine, given| async move { invoke::definitions(&engine, &called, given).await }.boxed();
        self.asked(hook, call).await
    }

    /// Runs a hook. Dropping the future interrupts the run and drops its instance.
    pub async fn run(&self, hook: &LoadedHook, request: RunRequest, host: Arc<dyn Host>) -> RunReport {
        let bounds = Bounds::of_run(request.limits, &self.maxima);
        let called = hook.clone();
        let call =
            |engine: Engine, given| async move { invoke::run(&engine, &called, request, given, host).await }.boxed();
        self.called(hook, bounds, &self.slots, call).await
    }

    /// Requests what a parent should become. Like [`Sandbox::run`].
    pub async fn reconcile(
        &self,
        hook: &LoadedHook,
        request: ReconcileRequest,
        host: Arc<dyn Host>,
    ) -> RunReport<Reconciled> {
        let bounds = Bounds::of_run(request.limits, &self.maxima);
        let called = hook.clone();
        let call = |engine: Engine, given| {
            async move { invoke::reconcile(&engine, &called, request, given, host).await }.boxed()
        };
        self.called(hook, bounds, &self.slots, call).await
    }

    /// Requests a hook's decision about a request to the API server. Like [`Sandbox::run`], but it never waits for a
    /// run.
    pub async fn review(&self, hook: &LoadedHook, request: ReviewRequest, host: Arc<dyn Host>) -> RunReport<Reviewed> {
        let bounds = Bounds::of_answer(request.limits, &self.maxima, request.patience);
        let called = hook.clone();
        let call =
            |engine: Engine, given| async move { invoke::review(&engine, &called, request, given, host).await }.boxed();
        self.called(hook, bounds, &self.answering, call).await
    }

    /// Requests objects in another version from a hook. Like [`Sandbox::review`].
    pub async fn convert(
        &self,
        hook: &LoadedHook,
        request: ConversionRequest,
        host: Arc<dyn Host>,
    ) -> RunReport<Vec<String>> {
        let bounds = Bounds::of_answer(request.limits, &self.maxima, request.patience);
        let called = hook.clone();
        let call = |engine: Engine, given| {
            async move { invoke::convert(&engine, &called, request, given, host).await }.boxed()
        };
        self.called(hook, bounds, &self.answering, call).await
    }

    /// Calls a hook before anything is granted.
    async fn asked<T: Send + 'static>(
        &self,
        hook: &LoadedHook,
        call: impl FnOnce(Engine, Given) -> BoxFuture<'static, Result<T, Failure>>,
    ) -> Result<T, Failure> {
        let _turn = self.asking.take(hook.tenant(), 1).await;
        let room = self.rooms.whole(hook.tenant(), self.config_limits.memory).await;
        let room = room.map_err(|error| Failure::of_host(error.to_string()))?;
        let given = self.given(hook.tenant(), Bounds::of_config(self.config_limits), room);
        self.call(given, None, call).await.0
    }

    fn given(&self, tenant: &Tenant, bounds: Bounds, room: Room) -> Given {
        Given { bounds, room, turn: self.turns.of(tenant) }
    }

    async fn called<T: Send + 'static>(
        &self,
        hook: &LoadedHook,
        bounds: Bounds,
        slots: &Arc<Semaphore>,
        call: impl FnOnce(Engine, Given) -> BoxFuture<'static, RunReport<T>>,
    ) -> RunReport<T> {
        if let Err(failure) = self.check_origin(hook) {
            return RunReport::not_started(failure);
        }
        let room = match self.rooms.begin(hook.tenant(), hook.usual()).await {
            Ok(room) => room,
            Err(error) => return RunReport::not_started(Failure::of_host(error.to_string())),
        };
        let slot = slots.clone().acquire_owned().await.ok();
        let given = self.given(hook.tenant(), bounds, room.clone());
        hook.is_used();
        let (report, cpu) = self.call(given, slot, call).await;
        hook.is_used();
        hook.usual().ended(&room);
        RunReport { cpu, ..report }
    }

    /// Calls a guest, in any thread, and returns how much CPU time the call took. What the call holds is given back
    /// where it ends. The call is boxed from the start, because it has nine kilobytes, and every future that contained
    /// it would be moved with it.
    async fn call<T: Send + 'static>(
        &self,
        given: Given,
        slot: Option<OwnedSemaphorePermit>,
        call: impl FnOnce(Engine, Given) -> BoxFuture<'static, T>,
    ) -> (T, Duration) {
        let (turn, running) = (given.turn.clone(), self.engine.running());
        turn.run_isolated((slot, running), call(self.engine.engine().clone(), given)).await
    }

    /// wasmtime panics if a component belongs to another engine.
    fn check_origin(&self, hook: &LoadedHook) -> Result<(), Failure> {
        if Engine::same(hook.pre().engine(), self.engine.engine()) {
            return Ok(());
        }
        let message = format!("hook {} was loaded by another sandbox", hook.name());
        Err(Failure { kind: FailureKind::Host, message, backtrace: None })
    }
}

fn linker(engine: &Engine) -> wasmtime::Result<Linker<State>> {
    let mut linker = Linker::new(engine);
    wasmtime_wasi::p2::add_to_linker_async(&mut linker)?;
    // wasmtime-wasi has linked its own files.
    linker.allow_shadowing(true);
    filesystem::preopens::add_to_linker::<_, View<'static>>(&mut linker, State::files)?;
    filesystem::types::add_to_linker::<_, View<'static>>(&mut linker, State::files)?;
    linker.allow_shadowing(false);
    wasmtime_wasi_http::p2::add_only_http_to_linker_async(&mut linker)?;
    wit::Hook::add_to_linker::<_, HasSelf<State>>(&mut linker, |state| state)?;
    wit::values::boathook::hook::values::add_to_linker::<_, HasSelf<State>>(&mut linker, |state| state)?;
    // No hook imports these interfaces. Only interpreters may.
    wit::interpreter::boathook::interpreter::source::add_to_linker::<_, HasSelf<State>>(&mut linker, |state| state)?;
    wit::interpreter::boathook::interpreter::http::add_to_linker::<_, HasSelf<State>>(&mut linker, |state| state)?;
    wit::interpreter::boathook::interpreter::kinds::add_to_linker::<_, HasSelf<State>>(&mut linker, |state| state)?;
    wit::interpreter::boathook::interpreter::writes::add_to_linker::<_, HasSelf<State>>(&mut linker, |state| state)?;
    wit::interpreter::boathook::interpreter::rights::add_to_linker::<_, HasSelf<State>>(&mut linker, |state| state)?;
    wit::interpreter::boathook::interpreter::values::add_to_linker::<_, HasSelf<State>>(&mut linker, |state| state)?;
    Ok(linker)
}

/// How a run went, and what it returned.
#[derive(Debug, Clone, PartialEq)]
pub struct RunReport<T = ()> {
    pub outcome: Result<T, Failure>,
    /// From the fresh store to the end, without the wait for a free slot.
    pub duration: Duration,
    /// The CPU time of the guest, and of what the host did for it in the same thread.
    pub cpu: Duration,
    /// The most bytes of memories and tables at a time.
    pub memory_peak: u64,
    /// How many calls of our imported functions were carried out.
    pub host_calls: u64,
    /// The bytes that these calls passed, in both directions.
    pub host_bytes: u64,
    /// The bytes of log lines that were written.
    pub log_bytes: u64,
    /// The metrics that the run reported, in order. They are applied only if the run succeeded, so that a retry does
    /// not count twice.
    pub metrics: Vec<MetricOp>,
    /// What the run changes in the values of its module, if it succeeded.
    pub patch: ValuesPatch,
}

impl<T> RunReport<T> {
    /// Converts the result of a successful run.
    pub fn map<U>(self, view: impl FnOnce(T) -> U) -> RunReport<U> {
        let Self { outcome, duration, cpu, memory_peak, host_calls, host_bytes, log_bytes, metrics, patch } = self;
        let outcome = outcome.map(view);
        RunReport { outcome, duration, cpu, memory_peak, host_calls, host_bytes, log_bytes, metrics, patch }
    }

    /// Separates the result from the figures.
    pub fn split(self) -> (RunReport, Result<T, Failure>) {
        let Self { outcome, duration, cpu, memory_peak, host_calls, host_bytes, log_bytes, metrics, patch } = self;
        let figures = RunReport {
            outcome: Ok(()),
            duration,
            cpu,
            memory_peak,
            host_calls,
            host_bytes,
            log_bytes,
            metrics,
            patch,
        };
        (figures, outcome)
    }

    /// The report of a run in which no guest was called.
    pub fn without_guest(outcome: Result<T, Failure>) -> Self {
        Self { outcome, ..Self::not_started(Failure::of_host(String::new())) }
    }

    /// The report of a call that was ended from outside. What it did until then is no longer known.
    pub fn interrupted(message: String, duration: Duration) -> Self {
        let failure = Failure { kind: FailureKind::Interrupted, message, backtrace: None };
        Self { duration, ..Self::not_started(failure) }
    }

    fn not_started(failure: Failure) -> Self {
        Self {
            outcome: Err(failure),
            duration: Duration::ZERO,
            cpu: Duration::ZERO,
            memory_peak: 0,
            host_calls: 0,
            host_bytes: 0,
            log_bytes: 0,
            metrics: Vec::new(),
            patch: ValuesPatch::default(),
        }
    }
}
