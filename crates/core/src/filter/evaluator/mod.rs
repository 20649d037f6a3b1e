//! Compiles programs outside of the runtime's threads, and evaluates them: in this process if they provably end soon,
//! otherwise in a worker process of the program's own.
//!
//! No evaluation runs beyond its limits, and there are never more workers than allowed.

mod backoff;
mod program;
mod slot;

use std::{
    sync::{
        Arc, Mutex, PoisonError, Weak,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use tokio::{task::spawn_blocking, time::timeout};

pub use self::program::{Program, compile, compile_for};
use self::{
    backoff::Wait,
    slot::{Running, Slot},
};
use super::{
    jq::{CompileError, FilterError, Outputs},
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
        let work = move || (program::compile_for(&tenant, &program), turn).0;
        let stopped = |error| Err(CompileError::whole(format!("it was not compiled to the end: {error}")));
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
