//! The wasmtime engine, and the clock that lets it interrupt guests. Neither works without the other, so they are
//! created and dropped together.

use std::{
    num::NonZeroUsize,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    thread::{self, Thread},
    time::Duration,
};

use boathook_core::{
    memory::{self, WARM},
    tasks::Tasks,
};
use wasmtime::{
    Config, Enabled, Engine, EngineWeak, InstanceAllocationStrategy, PoolingAllocationConfig, WasmBacktraceDetails,
};

use super::{SandboxConfig, SandboxError, limits};

/// How often a running guest is interrupted, so that it gives way to other tasks and a deadline is noticed.
const TICK: Duration = Duration::from_millis(5);

/// After this many ticks without a run, the ticker goes to sleep, so that an idle operator uses no CPU.
const LINGER: u32 = 200;

/// The most bytes of a freed slot that are reset in place instead of being given back to the system. This is the whole
/// memory of an ordinary Rust guest.
const KEEP_RESIDENT: u64 = 2 * 1024 * 1024;
/// The same for a table.
const KEEP_OF_TABLE: u64 = 64 * 1024;
/// The stack of a filter. The longest chain of operators that a program may have needs about a half of it.
const FILTER_STACK: usize = 4 * 1024 * 1024;
/// The stack of a chart. Helm lets a template include itself a thousand times.
const CHART_STACK: usize = 16 * 1024 * 1024;
/// What the host needs of the same stack.
const HOST_STACK: usize = 512 * 1024;
/// The pages of a stack that stay with its slot.
const KEEP_OF_STACK: u64 = 64 * 1024;

/// An engine whose epoch advances while a [`Running`] is alive.
pub(super) struct TickingEngine {
    engine: Engine,
    ticker: Arc<Ticker>,
    thread: Thread,
    pooled: bool,
}

impl TickingEngine {
    pub(super) fn new(config: &SandboxConfig) -> Result<Self, SandboxError> {
        let (engine, pooled) = make(config)?;
        Self::with("clock of runs", engine, pooled, &config.tasks)
    }

    /// The engine of filters, which has no pool.
    pub(super) fn for_filters(tasks: &Tasks) -> Result<Self, SandboxError> {
        let engine = for_filters().map_err(|error| SandboxError::Engine(error.into()))?;
        Self::with("clock of filters", engine, false, tasks)
    }

    /// The engine of charts, which has no pool either.
    pub(super) fn for_charts(tasks: &Tasks) -> Result<Self, SandboxError> {
        let engine = for_charts().map_err(|error| SandboxError::Engine(error.into()))?;
        Self::with("clock of charts", engine, false, tasks)
    }

    fn with(name: &'static str, engine: Engine, pooled: bool, tasks: &Tasks) -> Result<Self, SandboxError> {
        let ticker = Arc::new(Ticker::default());
        let work = {
            let (ticker, engine) = (ticker.clone(), engine.weak());
            move || ticker.tick(&engine)
        };
        let thread = tasks.thread(name, work).map_err(SandboxError::Ticker)?.thread().clone();
        Ok(Self { engine, ticker, thread, pooled })
    }

    pub(super) fn engine(&self) -> &Engine {
        &self.engine
    }

    /// Whether instances come from a pool.
    pub(super) fn pooled(&self) -> bool {
        self.pooled
    }

    /// Keeps the ticker awake. Take it before the store is created.
    pub(super) fn running(&self) -> Running {
        self.ticker.running.fetch_add(1, Ordering::SeqCst);
        if self.ticker.asleep.load(Ordering::SeqCst) {
            self.thread.unpark();
        }
        Running(self.ticker.clone())
    }
}

impl Drop for TickingEngine {
    fn drop(&mut self) {
        self.ticker.stopped.store(true, Ordering::SeqCst);
        self.thread.unpark();
    }
}

pub(super) struct Running(Arc<Ticker>);

impl Drop for Running {
    fn drop(&mut self) {
        self.0.running.fetch_sub(1, Ordering::SeqCst);
    }
}

#[derive(Default)]
struct Ticker {
    running: AtomicUsize,
    asleep: AtomicBool,
    stopped: AtomicBool,
}

impl Ticker {
    /// This is a separate thread and not a task, because guests must be interrupted even if all workers are busy with
    /// guests.
    fn tick(&self, engine: &EngineWeak) {
        let mut idle = 0;
        while !self.stopped.load(Ordering::SeqCst) {
            let Some(engine) = engine.upgrade() else { return };
            engine.increment_epoch();
            drop(engine);
            idle = if self.running.load(Ordering::SeqCst) > 0 { 0 } else { idle + 1 };
            if idle < LINGER {
                thread::sleep(TICK);
            } else {
                self.sleep();
                idle = 0;
            }
        }
    }

    fn sleep(&self) {
        self.asleep.store(true, Ordering::SeqCst);
        // A run that began before it could see the flag is noticed here. A later run unparks the thread.
        while self.running.load(Ordering::SeqCst) == 0 && !self.stopped.load(Ordering::SeqCst) {
            thread::park();
        }
        self.asleep.store(false, Ordering::SeqCst);
    }
}

/// Creates an engine, with a pool if the address space allows it. Creating the pool is the test, because it reserves
/// all its addresses at once.
fn make(config: &SandboxConfig) -> Result<(Engine, bool), SandboxError> {
    let refusal = match pool(config) {
        None => "switched off".to_owned(),
        Some(pool) => match Engine::new(base().allocation_strategy(InstanceAllocationStrategy::Pooling(pool))) {
            Ok(engine) => return Ok((engine, true)),
            Err(error) => format!("{error:#}"),
        },
    };
    tracing::info!(reason = refusal, "instances are not pooled: runs start slower");
    let engine = Engine::new(&on_demand()).map_err(|error| SandboxError::Engine(error.into()))?;
    Ok((engine, false))
}

/// An engine that compiles code for the engines of [`make`], and reserves nothing.
pub(super) fn for_compiling(pooled: bool) -> wasmtime::Result<Engine> {
    Engine::new(&if pooled { base() } else { on_demand() })
}

/// Like [`for_compiling`], but for every machine of this architecture: without the features of newer processors only.
pub(super) fn for_any_machine(pooled: bool) -> wasmtime::Result<Engine> {
    let mut config = if pooled { base() } else { on_demand() };
    config.target(&any_machine())?;
    Engine::new(&config)
}

/// An engine for the module of filters. It compiles the module, too.
pub(super) fn for_filters() -> wasmtime::Result<Engine> {
    Engine::new(&filters())
}

/// Like [`for_any_machine`].
pub(super) fn filters_for_any_machine() -> wasmtime::Result<Engine> {
    let mut config = filters();
    config.target(&any_machine())?;
    Engine::new(&config)
}

/// An engine for the component that renders charts. It compiles the component, too.
pub(super) fn for_charts() -> wasmtime::Result<Engine> {
    Engine::new(&with_stack(CHART_STACK))
}

/// Like [`for_any_machine`].
pub(super) fn charts_for_any_machine() -> wasmtime::Result<Engine> {
    let mut config = with_stack(CHART_STACK);
    config.target(&any_machine())?;
    Engine::new(&config)
}

/// jaq recurses as deeply as programs and objects are nested. Instances are few and stay, so that a pool would not help.
fn filters() -> Config {
    with_stack(FILTER_STACK)
}

/// Instances that are not pooled, so that they can have a large stack and large tables of functions.
fn with_stack(bytes: usize) -> Config {
    let mut config = Config::new();
    config
        .epoch_interruption(true)
        .max_wasm_stack(bytes)
        .async_stack_size(bytes + HOST_STACK)
        .concurrency_support(false)
        .wasm_memory64(false)
        .wasm_backtrace_max_frames(None);
    config
}

fn any_machine() -> String {
    let system = if cfg!(target_os = "macos") { "apple-darwin" } else { "unknown-linux-gnu" };
    format!("{}-{system}", std::env::consts::ARCH)
}

fn base() -> Config {
    let mut config = Config::new();
    config
        .epoch_interruption(true)
        .max_wasm_stack(memory::STACK)
        // A stack that a guest used up to its end would keep those pages for ever, and each slot has one.
        .async_stack_zeroing(true)
        .concurrency_support(false)
        .wasm_memory64(false)
        // Every component contains the names of its functions. Line numbers would need DWARF to be parsed in a worker
        // thread, and the hook's author writes the DWARF.
        .wasm_backtrace_details(WasmBacktraceDetails::Disable)
        .wasm_backtrace_max_frames(NonZeroUsize::new(limits::FRAMES));
    config
}

/// Reserves only what guests use, for machines with little address space.
fn on_demand() -> Config {
    let mut config = base();
    config.memory_reservation(0).memory_reservation_for_growth(1024 * 1024).memory_guard_size(64 * 1024);
    config
}

/// How many bytes each of `slots` slots keeps, in whole pages, so that all together keep no more than `bytes`.
fn kept_of_each(bytes: u64, slots: u32) -> u64 {
    const PAGE: u64 = 4096;
    bytes / u64::from(slots.max(1)) / PAGE * PAGE
}

fn pool(config: &SandboxConfig) -> Option<PoolingAllocationConfig> {
    let instances = config.max_concurrent_runs + config.max_concurrent_answers + super::ASKED_AT_ONCE;
    let runs = u32::try_from(instances).ok().filter(|_| config.pooling)?;
    let of_each = |count: usize| u32::try_from(count).ok().and_then(|count| runs.checked_mul(count));
    // All slots may have been in use at some time, and the pool then keeps memory of all of them.
    let warm = config.memory / WARM;
    let memories = kept_of_each(warm / 2, of_each(limits::MEMORIES)?).min(KEEP_RESIDENT);
    let tables = kept_of_each(warm / 4, of_each(limits::TABLES)?).min(KEEP_OF_TABLE);
    let stacks = kept_of_each(warm / 4, runs).min(KEEP_OF_STACK);
    let bytes = |kept: u64| usize::try_from(kept).unwrap_or_default();
    let mut pool = PoolingAllocationConfig::new();
    pool.total_component_instances(runs)
        .total_stacks(runs)
        .total_core_instances(of_each(limits::INSTANCES)?)
        .total_memories(of_each(limits::MEMORIES)?)
        .total_tables(of_each(limits::TABLES)?)
        .max_core_instances_per_component(u32::try_from(limits::INSTANCES).ok()?)
        .max_memories_per_component(u32::try_from(limits::MEMORIES).ok()?)
        .max_tables_per_component(u32::try_from(limits::TABLES).ok()?)
        .max_memories_per_module(u32::try_from(limits::MEMORIES).ok()?)
        .max_component_instance_size(memory::INSTANCE_BYTES)
        .max_tables_per_module(u32::try_from(limits::TABLES).ok()?)
        .table_elements(limits::TABLE_ELEMENTS)
        .linear_memory_keep_resident(bytes(memories))
        // Linux 6.7 reports which pages were written, and only those are reset. That halves the time of a small run.
        .pagemap_scan(Enabled::Auto)
        .table_keep_resident(bytes(tables))
        .async_stack_keep_resident(bytes(stacks));
    Some(pool)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    // mutant: crates/sandbox/src/engine.rs: `let warm = config.memory / WARM;` => `let warm = config.memory;`
    #[test]
    fn what_all_slots_keep_has_room_in_its_part() {
        for mebibytes in [16, 256, 1024, 8192, 64 * 1024] {
            let config = SandboxConfig { memory: mebibytes * 1024 * 1024, ..SandboxConfig::default() };
            let pool = pool(&config).unwrap();
            let memories = pool.get_total_memories() as usize * pool.get_memory_keep_resident();
            let tables = pool.get_total_tables() as usize * pool.get_table_keep_resident();
            let stacks = pool.get_total_stacks() as usize * pool.get_async_stack_keep_resident();
            let kept = memories + tables + stacks;
            assert!(kept as u64 <= config.memory / WARM, "{mebibytes}: {memories} {tables} {stacks}");
        }
    }
}
