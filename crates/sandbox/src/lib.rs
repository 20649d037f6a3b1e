//! Stage 4: one run of a hook, in an instance of its own that is gone afterwards.
//!
//! ```text
//!  bytes ─▶ shape ─▶ cache / compile ─▶ component (checked, linked) ─▶ invoke ─▶ RunReport
//!                                                                        │
//!                                       store: limiter, deadline, caps ◀─┴─▶ imports/*: imported functions
//! ```
//!
//! The only module that knows wasmtime. A guest can waste nothing but its own budget. Never sees a
//! Kubernetes client: calls go to whoever implements [`Host`].

mod ambient;
mod answers;
mod bindings;
mod budget;
mod cache;
pub mod compiler;
mod component;
mod context;
mod engine;
mod error;
mod host;
mod imports;
mod interpreters;
mod invoke;
mod limits;
mod line;
mod load;
mod output;
mod report;
mod reported;
mod room;
mod script;
mod shape;
mod snapshots;
mod store;
mod trap;
mod turns;

use std::{path::PathBuf, sync::Arc, time::Duration};

use futures::future::{BoxFuture, FutureExt as _};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use wasmtime::{
    Engine,
    component::{HasSelf, Linker},
};

pub use ambient::Ambient;
pub use compiler::CompilerConfig;
pub use component::LoadedHook;
pub use error::{LoadError, SandboxError};
pub use host::{Host, Written};
pub use interpreters::{Compiled, InterpreterError, compile_interpreter, interpreter_files, interpreters_in};
pub use report::RunReport;

use boathook_core::{
    fair::{Pool, Tenant},
    model::{BindingName, Caller, Conversion, Failure, FailureKind, Limits, Review, Reviewed, Trigger},
    tasks::Tasks,
};

use cache::Cache;
use component::Loader;
use engine::TickingEngine;
use interpreters::Interpreters;
use invoke::Given;
use limits::Bounds;
use room::{Room, Rooms};
use store::State;
use turns::Turns;

/// What runs components, for those who keep records.
pub const ENGINE: &str = "wasmtime 48";

const MIB: u64 = 1024 * 1024;

/// Hooks that say at the same time what they are, beside the runs.
const ASKED_AT_ONCE: usize = 4;

/// The most memory of a run, unless the admin says otherwise.
pub const MAX_MEMORY_MIB: u32 = 256;

/// How a sandbox is set up.
#[derive(Debug, Clone)]
pub struct SandboxConfig {
    /// Where compiled components are kept; made when it is not there. Without one, every start
    /// compiles every hook. Default none.
    pub cache_dir: Option<PathBuf>,
    /// Bytes of compiled components that are kept; those of loaded components make no room for others. Default 1 GiB.
    pub cache_bytes: u64,
    /// No run gets more, whatever its hook asks for. Default [`MAX_MEMORY_MIB`], 10 min, 1 000 000 calls,
    /// 1 GiB, 64 MiB.
    pub maxima: Limits,
    /// Bytes of memory of all runs and answers together, which tenants share; whoever gets none waits. Default 64 GiB.
    pub memory: u64,
    /// Runs at the same time, over all hooks; further ones wait. Default 64.
    pub max_concurrent_runs: usize,
    /// Answers to the API server at the same time, over all hooks, beside the runs; further ones wait.
    /// Default 64.
    pub max_concurrent_answers: usize,
    /// Bounds of a `config` call. Default 64 MiB, 5 s, 1 000 calls, 1 MiB, 64 KiB.
    pub config_limits: Limits,
    /// The largest component in bytes. Default 64 MiB.
    pub max_component_bytes: u64,
    /// Keep instances in a pool where the address space allows it. Default true.
    pub pooling: bool,
    /// Where the interpreters of scripts are, as files `NAME-VERSION.wasm`. Default nowhere.
    pub interpreters: Vec<PathBuf>,
    /// The program that compiles components. Default none: they are compiled in this process.
    pub compiler: Option<CompilerConfig>,
    /// Called before an interpreter is compiled, which may take a minute. Default nothing.
    pub compiles_interpreter: Option<fn()>,
    /// Is told when the thread that interrupts runs breaks off. Default nobody.
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
            compiler: None,
            compiles_interpreter: None,
            tasks: Tasks::default(),
        }
    }
}

/// One run to do.
#[derive(Debug, Clone)]
pub struct RunRequest {
    /// Hook, run and permissions.
    pub caller: Caller,
    /// 1 for the first try.
    pub attempt: u32,
    /// Oldest first; at least one.
    pub triggers: Vec<Trigger>,
    /// What the hook's document asks for; held to the host's maxima.
    pub limits: Limits,
}

/// A request to the API server that a hook is to decide on.
#[derive(Debug, Clone)]
pub struct ReviewRequest {
    /// Hook, run and permissions; a dry run for a request that is one.
    pub caller: Caller,
    /// The question.
    pub review: Review,
    /// Snapshots that it may open.
    pub snapshots: Arc<[BindingName]>,
    /// What the hook's document asks for; held to the host's maxima.
    pub limits: Limits,
    /// How long somebody waits for the answer.
    pub patience: Duration,
}

/// Objects that a hook is to convert.
#[derive(Debug, Clone)]
pub struct ConversionRequest {
    /// Hook and run; no permissions, since a conversion is pure.
    pub caller: Caller,
    /// The question.
    pub conversion: Conversion,
    /// Snapshots that it may open.
    pub snapshots: Arc<[BindingName]>,
    /// As those of a review.
    pub limits: Limits,
    /// As that of a review.
    pub patience: Duration,
}

/// Loads and runs hooks. Everything that runs share is in here; nothing is global.
pub struct Sandbox {
    engine: TickingEngine,
    loader: Arc<Loader>,
    /// One turn: compiling takes more memory than running.
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
}

impl Sandbox {
    /// Starts the engine, and opens the compile cache.
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
            maxima: config.maxima,
            max_bytes: config.max_component_bytes,
        };
        Ok(Self {
            engine,
            loader: Arc::new(loader),
            compiling: Pool::new(1),
            asking: Pool::new(ASKED_AT_ONCE as u64),
            rooms,
            turns: Turns::new(),
            slots: Arc::new(Semaphore::new(config.max_concurrent_runs)),
            answering: Arc::new(Semaphore::new(config.max_concurrent_answers)),
            maxima: config.maxima,
            config_limits: config.config_limits,
            compiler: config.compiler,
            interpreters: Interpreters::new(config.interpreters, config.compiles_interpreter),
        })
    }

    /// The most memory of a run.
    pub fn max_memory(&self) -> u64 {
        self.maxima.memory
    }

    /// Whether instances come from a pool; without one, runs start slower.
    pub fn pooled(&self) -> bool {
        self.engine.pooled()
    }

    /// Asks a hook for its configuration document: no grants, small limits.
    pub async fn config(&self, hook: &LoadedHook) -> Result<String, Failure> {
        self.check_origin(hook)?;
        if let Some(document) = hook.document() {
            return Ok(document.to_owned());
        }
        let _turn = self.asking.take(hook.tenant(), 1).await;
        let room = self.rooms.whole(hook.tenant(), self.config_limits.memory).await;
        let room = room.map_err(|error| Failure::of_host(error.to_string()))?;
        let given = self.given(hook.tenant(), Bounds::of_config(self.config_limits), room);
        let hook = hook.clone();
        let call = |engine: Engine, given| {
            async move { invoke::config(&engine, hook.pre(), hook.name(), given).await }.boxed()
        };
        self.call(given, None, call).await.0
    }

    /// Runs a hook. Dropping the future interrupts the run; its instance is gone then too.
    pub async fn run(&self, hook: &LoadedHook, request: RunRequest, host: Arc<dyn Host>) -> RunReport {
        if let Err(failure) = self.check_origin(hook) {
            return RunReport::not_started(failure);
        }
        let room = match self.rooms.begin(hook.tenant(), hook.usual()).await {
            Ok(room) => room,
            Err(error) => return RunReport::not_started(Failure::of_host(error.to_string())),
        };
        let slot = self.slots.clone().acquire_owned().await.ok();
        let given = self.given(hook.tenant(), Bounds::of_run(request.limits, &self.maxima), room.clone());
        let called = hook.clone();
        let call =
            |engine: Engine, given| async move { invoke::run(&engine, &called, request, given, host).await }.boxed();
        let (report, cpu) = self.call(given, slot, call).await;
        hook.usual().ended(&room);
        RunReport { cpu, ..report }
    }

    /// Asks a hook about a request to the API server. As [`Sandbox::run`], but never behind a run.
    pub async fn review(&self, hook: &LoadedHook, request: ReviewRequest, host: Arc<dyn Host>) -> RunReport<Reviewed> {
        let bounds = Bounds::of_answer(request.limits, &self.maxima, request.patience);
        let called = hook.clone();
        let call =
            |engine: Engine, given| async move { invoke::review(&engine, &called, request, given, host).await }.boxed();
        self.answered(hook, bounds, call).await
    }

    /// Asks a hook for objects in another version. As [`Sandbox::review`].
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
        self.answered(hook, bounds, call).await
    }

    fn given(&self, tenant: &Tenant, bounds: Bounds, room: Room) -> Given {
        Given { bounds, room, turn: self.turns.of(tenant) }
    }

    async fn answered<T: Send + 'static>(
        &self,
        hook: &LoadedHook,
        bounds: Bounds,
        call: impl FnOnce(Engine, Given) -> BoxFuture<'static, RunReport<T>>,
    ) -> RunReport<T> {
        if let Err(failure) = self.check_origin(hook) {
            return RunReport::not_started(failure);
        }
        let room = match self.rooms.begin(hook.tenant(), hook.usual()).await {
            Ok(room) => room,
            Err(error) => return RunReport::not_started(Failure::of_host(error.to_string())),
        };
        let slot = self.answering.clone().acquire_owned().await.ok();
        let given = self.given(hook.tenant(), bounds, room.clone());
        let (report, cpu) = self.call(given, slot, call).await;
        hook.usual().ended(&room);
        RunReport { cpu, ..report }
    }

    /// Calls a guest, in whatever thread, and says how much CPU time it took. What the call holds is given back where it
    /// ends. The call is in a box from the beginning: it has nine kilobytes, and each future that had it in itself would be
    /// moved with it.
    async fn call<T: Send + 'static>(
        &self,
        given: Given,
        slot: Option<OwnedSemaphorePermit>,
        call: impl FnOnce(Engine, Given) -> BoxFuture<'static, T>,
    ) -> (T, Duration) {
        let (turn, running) = (given.turn.clone(), self.engine.running());
        turn.apart((slot, running), call(self.engine.engine().clone(), given)).await
    }

    /// wasmtime panics over a component of another engine.
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
    bindings::Hook::add_to_linker::<_, HasSelf<State>>(&mut linker, |state| state)?;
    // No hook imports it: only interpreters may.
    bindings::interpreter::boathook::interpreter::source::add_to_linker::<_, HasSelf<State>>(&mut linker, |state| {
        state
    })?;
    Ok(linker)
}
