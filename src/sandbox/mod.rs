//! Stage 4: one run of a hook, in an instance of its own that is gone afterwards.
//!
//! ```text
//!  bytes ─▶ shape ─▶ cache / compile ─▶ component (checked, linked) ─▶ invoke ─▶ RunReport
//!                                                                        │
//!                                       store: limiter, deadline, caps ◀─┴─▶ host/*: imported functions
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
mod convert;
mod cpu;
mod engine;
mod error;
mod host;
mod invoke;
mod limits;
mod line;
mod output;
mod script;
mod shape;
mod store;
mod trap;

use std::{path::PathBuf, sync::Arc, time::Duration};

use tokio::sync::Semaphore;
use wasmtime::{
    Engine,
    component::{HasSelf, Linker},
};

pub use ambient::Ambient;
pub use compiler::CompilerConfig;
pub use component::LoadedHook;
pub use error::{LoadError, SandboxError};
pub use host::{Host, Written};
pub use script::{Compiled, InterpreterError, compile_interpreter, interpreter_files, interpreters_in};

use cache::Cache;
use component::{Candidate, Loader, World};
use engine::TickingEngine;
use limits::Bounds;
use script::Interpreters;
use store::State;

use crate::model::{
    BindingName, Caller, Conversion, Failure, FailureKind, HookName, Limits, MetricOp, Review, Reviewed, Script,
    Trigger,
};

/// What runs components, for those who keep records.
pub const ENGINE: &str = "wasmtime 48";

const MIB: u64 = 1024 * 1024;

/// How a sandbox is set up.
#[derive(Debug, Clone)]
pub struct SandboxConfig {
    /// Where compiled components are kept; made when it is not there. Without one, every start
    /// compiles every hook. Default none.
    pub cache_dir: Option<PathBuf>,
    /// Compiled components that are kept. Default 256.
    pub cache_files: usize,
    /// Bytes of compiled components that are kept. Default 1 GiB.
    pub cache_bytes: u64,
    /// No run gets more, whatever its hook asks for. Default 512 MiB, 10 min, 1 000 000 calls,
    /// 1 GiB, 64 MiB.
    pub maxima: Limits,
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
}

impl Default for SandboxConfig {
    fn default() -> Self {
        Self {
            cache_dir: None,
            cache_files: 256,
            cache_bytes: 1024 * MIB,
            maxima: Limits {
                memory: 512 * MIB,
                time: Duration::from_secs(600),
                host_calls: 1_000_000,
                host_bytes: 1024 * MIB,
                log_bytes: 64 * MIB,
            },
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
    /// What the hook's document asks for; held to the host's maxima. `time` also to what is left of the
    /// API server's patience.
    pub limits: Limits,
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
}

/// How a run went, and what it gave.
#[derive(Debug, Clone, PartialEq)]
pub struct RunReport<T = ()> {
    /// Success, or why not.
    pub outcome: Result<T, Failure>,
    /// From the fresh store to the end, without the wait for a free slot.
    pub duration: Duration,
    /// CPU time of the guest and of what the host did for it in the same thread.
    pub cpu: Duration,
    /// The most bytes of memories and tables at a time.
    pub memory_peak: u64,
    /// Calls of our imported functions that were carried out.
    pub host_calls: u64,
    /// Bytes that these passed, in both directions.
    pub host_bytes: u64,
    /// Bytes of log lines that were written.
    pub log_bytes: u64,
    /// What the run reported, in order: to be applied only if it succeeded, so that a retry does not
    /// count twice.
    pub metrics: Vec<MetricOp>,
}

/// Loads and runs hooks. Everything that runs share is in here; nothing is global.
pub struct Sandbox {
    engine: TickingEngine,
    loader: Arc<Loader>,
    compiling: Arc<Semaphore>,
    slots: Semaphore,
    answering: Semaphore,
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
        let engine = TickingEngine::new(&config)?;
        let bounds = cache::Bounds { files: config.cache_files, bytes: config.cache_bytes };
        let cache = config.cache_dir.as_deref().map(|path| Cache::open(path, bounds)).transpose()?;
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
            compiling: Arc::new(Semaphore::new(1)),
            slots: Semaphore::new(config.max_concurrent_runs),
            answering: Semaphore::new(config.max_concurrent_answers),
            maxima: config.maxima,
            config_limits: config.config_limits,
            compiler: config.compiler,
            interpreters: Interpreters::new(config.interpreters),
        })
    }

    /// Whether instances come from a pool; without one, runs start slower.
    pub fn pooled(&self) -> bool {
        self.engine.pooled()
    }

    /// Recognises, compiles (or takes from the cache) and checks a component. One is compiled at a
    /// time: compiling takes more memory than running. A script is joined with its interpreter instead, and
    /// asked what it is.
    pub async fn load(&self, name: &HookName, bytes: &[u8]) -> Result<LoadedHook, LoadError> {
        self.loader.check(name, bytes)?;
        match Script::read(bytes).map_err(|source| LoadError::BadScript { hook: name.clone(), source })? {
            Some(script) => self.load_script(name, bytes, script).await,
            None => self.load_component(name, bytes, World::Hook).await,
        }
    }

    async fn load_component(&self, name: &HookName, bytes: &[u8], world: World) -> Result<LoadedHook, LoadError> {
        let (own_name, bytes) = (name.clone(), bytes.to_vec());
        let cached = move |loader: &Loader| loader.load_cached(Candidate::new(own_name, bytes, world));
        let candidate = match self.blocking(name, cached).await?? {
            Ok(loaded) => return Ok(loaded),
            Err(candidate) => candidate,
        };
        // The permit goes with the work, which goes on when the caller does not wait for it.
        let permit = self.compiling.clone().acquire_owned().await;
        // Somebody may have compiled it in the meantime.
        let candidate = match self.blocking(name, |loader| loader.load_cached(candidate)).await?? {
            Ok(loaded) => return Ok(loaded),
            Err(candidate) => candidate,
        };
        let compiled = self.compiled(&candidate).await?;
        self.blocking(name, move |loader| {
            let _permit = permit;
            let artifact = match compiled {
                Some(artifact) => artifact,
                None => loader.compile_here(&candidate)?,
            };
            loader.load_compiled(candidate, &artifact)
        })
        .await?
    }

    /// What the compiler's process made of it; `None` without one.
    async fn compiled(&self, candidate: &Candidate) -> Result<Option<Vec<u8>>, LoadError> {
        let Some(config) = &self.compiler else { return Ok(None) };
        match compiler::compile(config, self.pooled(), candidate.bytes()).await {
            Ok(artifact) => Ok(Some(artifact)),
            Err(compiler::Failed::Component(reason)) => {
                Err(LoadError::Invalid { hook: candidate.name().clone(), source: reason.into() })
            }
            Err(compiler::Failed::Compiler(error)) => {
                tracing::warn!(hook = %candidate.name(), %error, "the compiler's process can't be used: compiling in this one");
                Ok(None)
            }
        }
    }

    async fn blocking<T: Send + 'static>(
        &self,
        name: &HookName,
        work: impl FnOnce(&Loader) -> T + Send + 'static,
    ) -> Result<T, LoadError> {
        let loader = self.loader.clone();
        tokio::task::spawn_blocking(move || work(&loader))
            .await
            .map_err(|error| LoadError::Compiler { hook: name.clone(), source: error.into() })
    }

    /// Asks a hook for its configuration document: no grants, small limits.
    pub async fn config(&self, hook: &LoadedHook) -> Result<String, Failure> {
        self.check_origin(hook)?;
        if let Some(document) = hook.document() {
            return Ok(document.to_owned());
        }
        let _slot = self.slots.acquire().await;
        let _running = self.engine.running();
        invoke::config(self.engine.engine(), hook.pre(), hook.name(), Bounds::of_config(self.config_limits)).await
    }

    /// Runs a hook. Dropping the future interrupts the run; its instance is gone then too.
    pub async fn run(&self, hook: &LoadedHook, request: RunRequest, host: Arc<dyn Host>) -> RunReport {
        if let Err(failure) = self.check_origin(hook) {
            return RunReport::not_started(failure);
        }
        let _slot = self.slots.acquire().await;
        let _running = self.engine.running();
        let bounds = Bounds::of_run(request.limits, &self.maxima);
        let (report, cpu) = cpu::timed(invoke::run(self.engine.engine(), hook, request, bounds, host)).await;
        RunReport { cpu, ..report }
    }

    /// Asks a hook about a request to the API server. As [`Sandbox::run`], but never behind a run.
    pub async fn review(&self, hook: &LoadedHook, request: ReviewRequest, host: Arc<dyn Host>) -> RunReport<Reviewed> {
        let bounds = Bounds::of_run(request.limits, &self.maxima);
        self.answered(hook, invoke::review(self.engine.engine(), hook, request, bounds, host)).await
    }

    /// Asks a hook for objects in another version. As [`Sandbox::review`].
    pub async fn convert(
        &self,
        hook: &LoadedHook,
        request: ConversionRequest,
        host: Arc<dyn Host>,
    ) -> RunReport<Vec<String>> {
        let bounds = Bounds::of_run(request.limits, &self.maxima);
        self.answered(hook, invoke::convert(self.engine.engine(), hook, request, bounds, host)).await
    }

    async fn answered<T>(&self, hook: &LoadedHook, call: impl Future<Output = RunReport<T>>) -> RunReport<T> {
        if let Err(failure) = self.check_origin(hook) {
            return RunReport::not_started(failure);
        }
        let _slot = self.answering.acquire().await;
        let _running = self.engine.running();
        let (report, cpu) = cpu::timed(call).await;
        RunReport { cpu, ..report }
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

impl<T> RunReport<T> {
    /// Another view of what it gave.
    pub fn map<U>(self, view: impl FnOnce(T) -> U) -> RunReport<U> {
        let Self { outcome, duration, cpu, memory_peak, host_calls, host_bytes, log_bytes, metrics } = self;
        let outcome = outcome.map(view);
        RunReport { outcome, duration, cpu, memory_peak, host_calls, host_bytes, log_bytes, metrics }
    }

    /// Of a call that was ended from outside. What it did until then is not known any more.
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
        }
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
