//! Runs jq programs, which hooks supply, in instances of a module of ours ([`interpreters/jq`]) that contains jaq.
//!
//! ```text
//!  Program ─▶ memory (tenant's share) ─▶ instance (kept, or new) ─▶ one call, in its tenant's turns ─▶ Outputs
//! ```
//!
//! A call begins in the caller's thread, where most end within microseconds, and moves to a thread of its own if it
//! computes for long: filters and runs take the same [turns](super::turns). Its CPU time, its memory and its stack are
//! bounded. An instance that a call has left as it was is kept for the next call, of any tenant: it has compiled the
//! program by then. jaq has no unsafe code, and a program can name nothing in an instance but its own input.
//!
//! [`interpreters/jq`]: https://github.com/boathook/boathook/tree/main/interpreters/jq

mod backoff;
mod instance;
mod jq;

use std::{
    fmt,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use boathook_core::{
    fair::{Pool, Tenant, threads},
    filter::{CompileError, Filter, FilterError, Outputs},
    memory::{FILTER, FILTER_BASE},
    model::error_chain,
};
use futures::future::{BoxFuture, FutureExt as _};
use tokio::time::{sleep, timeout_at};

use self::{
    backoff::Backoff,
    instance::{Answer, Instance, Terms},
    jq::Jq,
};
use crate::{code::Code, component::Loader, engine::TickingEngine, error::SandboxError, turns::Turns};

pub use jq::compile_filters;

/// How long a program that got no memory or no turn waits before it is compiled.
const AGAIN: Duration = Duration::from_millis(100);

/// What filters may use.
#[derive(Debug, Clone)]
pub struct FilterConfig {
    /// The bytes of memory of all filters that run, shared by the tenants. A filter for which there is none waits.
    /// Default 4 GiB.
    pub memory: Pool,
    /// The memory of one evaluation for values, in bytes. Default [`FILTER`].
    pub values: u64,
    /// The CPU time of one evaluation. Default 1 s.
    pub cpu_time: Duration,
    /// How long one evaluation may take by the clock. This is much longer than `cpu_time`, because a filter that waits
    /// for its turn is not at fault. Default 30 s.
    pub patience: Duration,
}

impl Default for FilterConfig {
    fn default() -> Self {
        Self {
            memory: Pool::new(4 << 30),
            values: FILTER,
            cpu_time: Duration::from_secs(1),
            patience: Duration::from_secs(30),
        }
    }
}

/// Compiles and runs filters. Cheap to clone.
#[derive(Clone)]
pub struct Filters(Arc<Inner>);

struct Inner {
    engine: TickingEngine,
    code: Code<Jq>,
    config: FilterConfig,
    turns: Turns,
    /// The instance that was used last is the last.
    idle: Mutex<Vec<Instance>>,
    /// How many instances were made, for tests.
    made: AtomicUsize,
}

impl Filters {
    pub(super) fn new(config: &super::SandboxConfig, loader: Arc<Loader>, turns: Turns) -> Result<Self, SandboxError> {
        let engine = TickingEngine::for_filters(&config.tasks)?;
        let code = Code::new(Jq, engine.engine().clone(), loader, config.compiler.clone(), &config.interpreters);
        let (config, idle) = (config.filters.clone(), Mutex::default());
        Ok(Self(Arc::new(Inner { engine, code, config, turns, idle, made: AtomicUsize::new(0) })))
    }

    /// Compiles a tenant's program. The error says where the program is wrong.
    pub async fn compile(&self, tenant: &Tenant, program: &str) -> Result<Program, CompileError> {
        let text: Arc<str> = program.into();
        let fields = loop {
            match self.call(tenant, text.clone(), None).await {
                Ok(Answer::Compiled(fields)) => break fields,
                Ok(Answer::Refused(why)) => return Err(CompileError(why)),
                Ok(Answer::Outputs(_)) => break None,
                // Nothing is known of the program yet, and a hook with a program that is refused does not run.
                Err(FilterError::Late(_) | FilterError::Crowded(_)) => sleep(AGAIN).await,
                Err(error) => return Err(CompileError(format!("it was not compiled: {}", error_chain(&error)))),
            }
        };
        let (filters, tenant) = (self.clone(), tenant.clone());
        Ok(Program(Arc::new(Compiled { filters, text, fields, tenant, backoff: Mutex::default() })))
    }

    /// Like [`Self::compile`], for threads that may wait.
    pub fn compile_blocking(&self, tenant: &Tenant, program: &str) -> Result<Program, CompileError> {
        tokio::runtime::Handle::current().block_on(self.compile(tenant, program))
    }

    /// The memory that all filters share.
    pub fn memory(&self) -> &Pool {
        &self.0.config.memory
    }

    /// How many instances were made since the start. Cheap filters share a few.
    pub fn instances(&self) -> usize {
        self.0.made.load(Ordering::Relaxed)
    }

    /// Compiles the program, where that is still to do, and runs it on the object, if one is given.
    async fn call(&self, tenant: &Tenant, text: Arc<str>, object: Option<Arc<str>>) -> Result<Answer, FilterError> {
        let config = &self.0.config;
        let late = || FilterError::Late(config.patience);
        let until = Instant::now() + config.patience;
        let share = match config.memory.try_take(tenant, FILTER_BASE) {
            Some(share) => share,
            None => {
                let taken = timeout_at(until.into(), config.memory.take(tenant, FILTER_BASE)).await;
                taken.map_err(|_| late())?.map_err(|error| FilterError::Engine(error.into()))?
            }
        };
        let code = self.0.code.get().await.map_err(|error| FilterError::Engine(error.into()))?;
        let turn = self.0.turns.of(tenant);
        let terms = Terms { turn: turn.clone(), share, until, values: config.values, cpu_time: config.cpu_time };
        let (filters, running) = (self.clone(), self.0.engine.running());
        let call = async move {
            let kept = filters.idle().pop();
            let mut instance = match kept {
                Some(instance) => instance,
                None => {
                    filters.0.made.fetch_add(1, Ordering::Relaxed);
                    Instance::new(&code).await?
                }
            };
            let answer = instance.call(terms, &text, object.as_deref()).await;
            // A call that was ended leaves an instance in any state.
            let sound = answer.as_ref().err().is_none_or(|error| !error.is_stopped() && !error.is_transient());
            if sound && instance.is_small() {
                filters.keep(instance);
            }
            answer
        };
        match turn.run_isolated(running, call.boxed()).await.0 {
            Err(FilterError::Late(_)) => Err(late()),
            answer => answer,
        }
    }

    fn idle(&self) -> std::sync::MutexGuard<'_, Vec<Instance>> {
        self.0.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// More instances than threads are of use only while long filters run.
    fn keep(&self, instance: Instance) {
        let mut idle = self.idle();
        if (idle.len() as u64) < threads() {
            idle.push(instance);
        }
    }
}

impl fmt::Debug for Filters {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Filters").field("config", &self.0.config).finish_non_exhaustive()
    }
}

/// A compiled jq program. It is cheap to clone. Clones share one back-off, so compile it once for each binding.
#[derive(Clone)]
pub struct Program(Arc<Compiled>);

struct Compiled {
    filters: Filters,
    text: Arc<str>,
    /// The top-level fields that it sees. `None`: all of them.
    fields: Option<Arc<[String]>>,
    tenant: Tenant,
    backoff: Mutex<Backoff>,
}

impl Program {
    /// The program as it was written.
    pub fn text(&self) -> &str {
        &self.0.text
    }

    /// Runs the program on an object's JSON.
    pub async fn run(&self, json: &Arc<str>) -> Result<Outputs, FilterError> {
        let Compiled { filters, text, tenant, .. } = &*self.0;
        self.backoff().check(Instant::now())?;
        let answer = filters.call(tenant, text.clone(), Some(json.clone())).await;
        match &answer {
            Err(error) if error.is_stopped() => self.backoff().failed(Instant::now(), error.to_string()),
            // The machine's failures say nothing about the filter.
            Err(error) if error.is_transient() => {}
            _ => self.backoff().succeeded(),
        }
        match answer? {
            Answer::Outputs(outputs) => Ok(outputs),
            // It compiled before, so this does not occur.
            Answer::Refused(why) => Err(FilterError::Program(why)),
            Answer::Compiled(_) => Ok(Outputs::default()),
        }
    }

    fn backoff(&self) -> std::sync::MutexGuard<'_, Backoff> {
        self.0.backoff.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Filter for Program {
    fn evaluate<'a>(&'a self, json: &'a Arc<str>) -> BoxFuture<'a, Result<Outputs, FilterError>> {
        self.run(json).boxed()
    }

    fn reads_only(&self, fields: &[&str]) -> bool {
        self.0.fields.as_ref().is_some_and(|all| all.iter().all(|field| fields.contains(&field.as_str())))
    }
}

impl fmt::Debug for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Program").field("text", &self.text()).finish_non_exhaustive()
    }
}
