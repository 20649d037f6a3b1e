//! Compiles programs outside of the runtime's threads, and evaluates them: in this process if they provably end soon,
//! otherwise in a worker process of the program's own.
//!
//! No evaluation runs beyond its limits, and there are never more workers than allowed.

use std::{
    fmt,
    sync::{
        Arc, Mutex, PoisonError, Weak,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use tokio::{
    task::spawn_blocking,
    time::{Instant as Time, timeout},
};

use super::{
    jq::{self, CompileError, Compiled, Cost, FilterError, Outputs},
    project,
    worker::{Worker, WorkerConfig},
};
use crate::fair::{Pool, Share, Tenant};

/// How often an evaluation that waits for a place checks for idle workers.
const LOOK_AGAIN: Duration = Duration::from_millis(50);

/// Runs filters. Each operator has one.
#[derive(Debug)]
pub struct Evaluator {
    config: WorkerConfig,
    places: Pool,
    /// Limits how many programs are compiled at the same time.
    compiles: Pool,
    /// The number of evaluations that wait for a place.
    waiting: AtomicUsize,
    /// Slots that have, or had, a worker.
    slots: Mutex<Vec<Weak<Slot>>>,
}

impl Evaluator {
    /// Starts no process. The first program that needs one does.
    pub fn new(config: WorkerConfig) -> Self {
        let places = Pool::new(config.max_workers as u64);
        Self { config, places, compiles: Pool::of_threads(), waiting: AtomicUsize::new(0), slots: Mutex::default() }
    }

    /// Compiles a tenant's program outside of the runtime's threads, because a large program takes a while. Tenants
    /// take turns.
    pub async fn compile(&self, tenant: &Tenant, program: &str) -> Result<Program, CompileError> {
        let turn = self.compiles.take(tenant, 1).await;
        let (tenant, program) = (tenant.clone(), program.to_owned());
        // The work keeps the turn, because nobody can end the work.
        let work = move || (compile_for(&tenant, &program), turn).0;
        let stopped = |error| Err(CompileError::whole(format!("it was not compiled completely: {error}")));
        spawn_blocking(work).await.unwrap_or_else(stopped)
    }

    /// The number of places in use: worker processes, and processes of other kinds that took a [place](Self::place).
    pub fn workers(&self) -> usize {
        usize::try_from(self.places.capacity() - self.places.free()).unwrap_or(usize::MAX)
    }

    /// A worker's place, also for a process of another kind. Tenants take turns. If there is no place, an idle worker
    /// is stopped.
    pub async fn place(&self, tenant: &Tenant) -> Share {
        if let Some(place) = self.places.try_take(tenant, 1) {
            return place;
        }
        let _waiting = Waiting::new(&self.waiting);
        let mut place = std::pin::pin!(self.places.take(tenant, 1));
        loop {
            // A worker that is busy now may be idle the next time.
            self.stop_an_idle_worker();
            match timeout(LOOK_AGAIN, &mut place).await {
                Ok(Ok(taken)) => return taken,
                Ok(Err(_)) => place.set(self.places.take(tenant, 1)),
                Err(_) => {}
            }
        }
    }

    /// Runs a program on an object's JSON.
    pub async fn evaluate(&self, program: &Program, json: &str) -> Result<Outputs, FilterError> {
        if let Some(result) = program.run_here(json) {
            return result;
        }
        let mut state = program.slot().state.lock().await;
        state.backoff.check(Instant::now()).map_err(|Wait { wait, failures, last }| FilterError::BackingOff {
            wait,
            failures,
            last,
        })?;
        // Taken out during the evaluation, so that the worker ends if the evaluation is given up.
        let running = state.idle.take();
        let (result, running) = self.in_worker(program, json, running).await;
        match (&result, running) {
            (Err(error), _) if error.ends_worker() => state.backoff.failed(Instant::now(), error.to_string()),
            (_, running) => {
                state.backoff.succeeded();
                if let Some(running) = running.filter(|_| self.waiting.load(Ordering::SeqCst) == 0) {
                    state.keep(program.slot(), running, self.config.idle);
                }
            }
        }
        result
    }

    async fn in_worker(
        &self,
        program: &Program,
        json: &str,
        running: Option<Running>,
    ) -> (Result<Outputs, FilterError>, Option<Running>) {
        let started = match running {
            Some(running) => Ok(running),
            None => self.start(program).await,
        };
        match started {
            Ok(mut running) => (running.worker.evaluate(json).await, Some(running)),
            Err(error) => (Err(error), None),
        }
    }

    async fn start(&self, program: &Program) -> Result<Running, FilterError> {
        self.remember(program.slot());
        let _place = self.place(program.tenant()).await;
        let worker = Worker::start(&self.config, program.text()).await?;
        Ok(Running { worker, _place })
    }

    fn remember(&self, slot: &Arc<Slot>) {
        let mut slots = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
        slots.retain(|known| known.strong_count() > 0 && !std::ptr::eq(known.as_ptr(), Arc::as_ptr(slot)));
        slots.push(Arc::downgrade(slot));
    }

    fn stop_an_idle_worker(&self) {
        let slots = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
        for slot in slots.iter().filter_map(Weak::upgrade) {
            if let Ok(mut state) = slot.state.try_lock()
                && state.idle.take().is_some()
            {
                return;
            }
        }
    }
}

/// Counts one waiting evaluation until it is dropped, also when the evaluation is given up.
struct Waiting<'a>(&'a AtomicUsize);

impl<'a> Waiting<'a> {
    fn new(count: &'a AtomicUsize) -> Self {
        count.fetch_add(1, Ordering::SeqCst);
        Self(count)
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

/// A compiled jq program. It is cheap to clone. Clones share one worker and one back-off, so compile it once for each
/// binding.
#[derive(Clone)]
pub struct Program(Arc<Inner>);

struct Inner {
    text: Box<str>,
    /// Kept only for linear programs.
    linear: Option<(Compiled, Cost)>,
    reads_only_metadata: bool,
    tenant: Tenant,
    slot: Arc<Slot>,
}

/// Compiles a program of no tenant. The error says where the program is wrong. A large program takes a while, so a task
/// of the runtime uses [`Evaluator::compile`].
pub fn compile(program: &str) -> Result<Program, CompileError> {
    compile_for(&Tenant::hook(""), program)
}

/// Compiles a tenant's program. Its worker counts as the tenant's.
pub fn compile_for(tenant: &Tenant, program: &str) -> Result<Program, CompileError> {
    let (compiled, cost) = jq::compile(program)?;
    let reads_only_metadata = compiled.reads_only(&project::METADATA);
    let linear = cost.map(|cost| (compiled, cost));
    Ok(Program(Arc::new(Inner {
        text: program.into(),
        linear,
        reads_only_metadata,
        tenant: tenant.clone(),
        slot: Arc::default(),
    })))
}

impl Program {
    /// The program as it was written.
    pub fn text(&self) -> &str {
        &self.0.text
    }

    /// Whether the program provably ends soon, so that it runs in this process on all but very large objects.
    pub fn is_native(&self) -> bool {
        self.0.linear.is_some()
    }

    /// Whether the program provably gives the same result for an object that has only `apiVersion`, `kind` and
    /// `metadata`.
    pub fn reads_only_metadata(&self) -> bool {
        self.0.reads_only_metadata
    }

    /// Runs the program in this process, if it provably ends soon on an object of this size.
    fn run_here(&self, json: &str) -> Option<Result<Outputs, FilterError>> {
        let (compiled, cost) = self.0.linear.as_ref()?;
        cost.fits(json.len()).then(|| jq::run(compiled, json))
    }

    fn tenant(&self) -> &Tenant {
        &self.0.tenant
    }

    fn slot(&self) -> &Arc<Slot> {
        &self.0.slot
    }
}

impl fmt::Debug for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Program").field("text", &self.text()).field("native", &self.is_native()).finish()
    }
}

/// A running worker and its place among all workers.
#[derive(Debug)]
struct Running {
    /// Dropped first, so that the place is free only when the process is killed.
    worker: Worker,
    _place: Share,
}

/// Keeps one program's worker between evaluations. Programs never share a worker, so a filter that hangs delays only its
/// own binding.
#[derive(Debug, Default)]
struct Slot {
    /// Locked during an evaluation.
    state: tokio::sync::Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// The worker, between evaluations.
    idle: Option<Running>,
    backoff: Backoff,
    used: Option<Time>,
    watched: bool,
}

impl State {
    /// Keeps a worker for the next evaluation, until it has been idle for `limit`.
    fn keep(&mut self, slot: &Arc<Slot>, running: Running, limit: Duration) {
        self.idle = Some(running);
        self.used = Some(Time::now());
        if !self.watched {
            self.watched = true;
            tokio::spawn(stop_when_idle(Arc::downgrade(slot), limit));
        }
    }
}

async fn stop_when_idle(slot: Weak<Slot>, limit: Duration) {
    let mut wait = limit;
    loop {
        tokio::time::sleep(wait).await;
        let Some(slot) = slot.upgrade() else { return };
        let mut state = slot.state.lock().await;
        let left = state.used.map_or(Duration::ZERO, |used| limit.saturating_sub(used.elapsed()));
        if state.idle.is_none() || left.is_zero() {
            state.idle = None;
            state.watched = false;
            return;
        }
        wait = left;
    }
}

/// The filter has to wait from this many failures in a row on. Fewer may be bad luck.
const PATIENCE: u32 = 3;
/// The first wait, doubled with each further failure.
const FIRST: Duration = Duration::from_secs(1);
const LONGEST: Duration = Duration::from_secs(60);

/// How long a filter that keeps reaching its limits has to wait.
#[derive(Debug, Default)]
struct Backoff {
    failures: u32,
    until: Option<Instant>,
    last: String,
}

/// The filter may not run yet.
#[derive(Debug, PartialEq, Eq)]
struct Wait {
    /// The time until the next try.
    wait: Duration,
    /// Failures in a row.
    failures: u32,
    last: String,
}

impl Backoff {
    /// Whether the filter may run now.
    fn check(&self, now: Instant) -> Result<(), Wait> {
        match self.until.map(|until| until.saturating_duration_since(now)) {
            None | Some(Duration::ZERO) => Ok(()),
            Some(wait) => Err(Wait { wait, failures: self.failures, last: self.last.clone() }),
        }
    }

    /// The filter ended by itself.
    fn succeeded(&mut self) {
        *self = Self::default();
    }

    /// The filter had to be stopped.
    fn failed(&mut self, now: Instant, why: String) {
        self.failures = self.failures.saturating_add(1);
        self.last = why;
        if let Some(beyond) = self.failures.checked_sub(PATIENCE) {
            let wait = FIRST.saturating_mul(2_u32.saturating_pow(beyond)).min(LONGEST);
            self.until = Some(now + wait);
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn grows_and_is_forgotten() {
        let now = Instant::now();
        let mut backoff = Backoff::default();
        let waits: Vec<_> = (0..12)
            .map(|n| {
                backoff.failed(now, format!("e{n}"));
                backoff.check(now).err().map_or(0, |wait| wait.wait.as_secs())
            })
            .collect();
        assert_eq!(waits, [0, 0, 1, 2, 4, 8, 16, 32, 60, 60, 60, 60]);
        assert_eq!(backoff.check(now).unwrap_err().last, "e11");
        assert!(backoff.check(now + LONGEST).is_ok());
        backoff.succeeded();
        assert!(backoff.check(now).is_ok());
    }
}
