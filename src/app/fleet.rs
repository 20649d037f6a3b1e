//! Starts and stops hooks, one by one: loads them, keeps the tasks of their bindings and schedules,
//! quarantines and releases. Knows nothing of what the tasks do.

use std::{
    collections::BTreeMap,
    path::PathBuf,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use jiff::Timestamp;
use tokio::task::JoinSet;
use tokio_util::task::AbortOnDropHandle;
use tracing::{error, info, warn};

use super::{
    Stages,
    barrier::Barrier,
    bindings,
    hooks::{Hook, Quarantine, load_file},
    ms,
    roster::Roster,
    schedules,
};
use crate::{
    hooks::{DirectoryError, HookFile, read_directory},
    model::{HookName, error_chain},
    sandbox::Sandbox,
    telemetry::{Metrics, metrics::CompileSource},
};

/// Between a panic in a hook's task and the new start of its bindings.
const AFTER_PANIC: Duration = Duration::from_secs(5);

/// A hook that can't be released from its quarantine.
#[derive(Debug, thiserror::Error)]
pub enum ReleaseError {
    /// It runs, or was never there.
    #[error("hook {0} is not quarantined")]
    NotQuarantined(String),
    /// It is as bad as before.
    #[error("hook {name} stays quarantined")]
    Still {
        /// Its name.
        name: String,
        /// Why.
        #[source]
        reason: Quarantine,
    },
}

/// All hooks of one directory.
pub struct Fleet {
    directory: PathBuf,
    sandbox: Arc<Sandbox>,
    metrics: Arc<Metrics>,
    roster: Arc<Roster>,
    stages: Arc<Stages>,
    running: Mutex<BTreeMap<HookName, AbortOnDropHandle<()>>>,
}

impl Fleet {
    pub(super) fn new(
        directory: PathBuf,
        sandbox: Arc<Sandbox>,
        metrics: Arc<Metrics>,
        roster: Arc<Roster>,
        stages: Arc<Stages>,
    ) -> Self {
        Self { directory, sandbox, metrics, roster, stages, running: Mutex::default() }
    }

    /// Loads all hooks of the directory, one after the other; compiling takes all cores and much
    /// memory as it is. A bad hook is quarantined, and the others go on.
    pub async fn load(&self) -> Result<(), DirectoryError> {
        for file in read_directory(&self.directory)? {
            let (name, path) = (file.stem(), file.path.clone());
            match load_file(file, &self.sandbox).await {
                Ok(hook) => self.loaded(hook),
                Err(reason) => {
                    let file = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
                    let reason = error_chain(&reason);
                    error!(file, reason, "hook quarantined: it does not run, others do");
                    self.roster.quarantine(&name, reason);
                }
            }
        }
        Ok(())
    }

    fn loaded(&self, hook: Hook) {
        let component = &hook.component;
        let source = if component.from_cache() { CompileSource::Cached } else { CompileSource::Compiled };
        self.metrics.hook_compiled(source, component.compile_time());
        let name = &hook.spec.name;
        info!(
            hook = %name,
            digest = %component.digest(),
            bytes = component.size(),
            compile_ms = ms(component.compile_time()),
            from_cache = component.from_cache(),
            "hook loaded"
        );
        for warning in &hook.spec.warnings {
            warn!(hook = %name, warning, "the hook's document should be changed");
        }
        self.roster.admit(Arc::new(hook));
    }

    /// Starts all hooks that were loaded: start-up runs in their order, then bindings and schedules,
    /// in parallel.
    pub fn start(&self) {
        let hooks = self.roster.live();
        self.start_these(&hooks);
        info!(hooks = hooks.len(), quarantined = self.roster.quarantined().len(), "hooks started");
    }

    fn start_these(&self, hooks: &[Arc<Hook>]) {
        for hook in hooks {
            self.stages.queue.add_hook(hook.spec.name.clone(), (&hook.spec).into());
        }
        // First: the places of synchronizations come after all of them.
        schedules::push_startups(hooks, &self.stages.queue);
        hooks.iter().for_each(|hook| expect(&self.stages, hook));
        for hook in hooks {
            let task = AbortOnDropHandle::new(tokio::spawn(keep(self.stages.clone(), hook.clone())));
            self.running().insert(hook.spec.name.clone(), task);
        }
    }

    fn running(&self) -> MutexGuard<'_, BTreeMap<HookName, AbortOnDropHandle<()>>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a hook out until it is released or the operator starts anew: its triggers are dropped, and
    /// a run that is under way may end. False if there is no such hook at work.
    pub fn quarantine(&self, name: &HookName, reason: &str) -> bool {
        if self.roster.hook(name).is_none() {
            return false;
        }
        // First, so that no task of it starts anything more.
        drop(self.running().remove(name));
        self.roster.quarantine(name.as_str(), reason.to_owned());
        let triggers = self.stages.queue.remove_hook(name);
        self.stages.health.forget(name);
        self.stages.operator.hook_metrics.forget(name);
        self.metrics.forget_hook(name);
        warn!(hook = %name, reason, triggers, "hook quarantined: it does not run, others do");
        true
    }

    /// Loads a quarantined hook again from its file, and starts it as at the operator's start.
    pub async fn release(&self, name: &str) -> Result<(), ReleaseError> {
        if !self.roster.is_quarantined(name) {
            return Err(ReleaseError::NotQuarantined(name.to_owned()));
        }
        let path = self.directory.join(format!("{name}.wasm"));
        match load_file(HookFile { name: HookName::new(name), path }, &self.sandbox).await {
            Ok(hook) => {
                let hook_name = hook.spec.name.clone();
                self.loaded(hook);
                self.start_these(self.roster.hook(&hook_name).as_slice());
                info!(hook = %hook_name, "hook released");
                Ok(())
            }
            Err(reason) => {
                self.roster.quarantine(name, error_chain(&reason));
                Err(ReleaseError::Still { name: name.to_owned(), reason })
            }
        }
    }

    /// Hooks that do not run, with the reason.
    pub fn quarantined(&self) -> Vec<(String, String)> {
        self.roster.quarantined()
    }

    /// Has the schedules of this name strike; how many there are.
    pub fn tick(&self, hook: &HookName, schedule: &str) -> usize {
        let Some(hook) = self.roster.hook(hook) else { return 0 };
        let named = hook.spec.schedules.iter().filter(|binding| binding.name.as_str() == schedule);
        named.inspect(|binding| schedules::strike(&self.stages.queue, hook.spec.name.clone(), binding)).count()
    }

    /// Has the hook's schedules strike at each of their times after one and up to another, in order, now.
    /// At most `most` times; false if there were more.
    pub fn tick_within(&self, hook: &HookName, after: Timestamp, until: Timestamp, most: usize) -> bool {
        let Some(hook) = self.roster.hook(hook) else { return true };
        let mut strikes: Vec<_> = (hook.spec.schedules.iter())
            .flat_map(|binding| schedules::times(binding, after, until).take(most + 1).map(move |at| (at, binding)))
            .collect();
        strikes.sort_by_key(|(at, _)| *at);
        for (at, binding) in strikes.iter().take(most) {
            schedules::strike_at(&self.stages.queue, hook.spec.name.clone(), binding, *at);
        }
        strikes.len() <= most
    }

    /// Ends the tasks of all hooks.
    pub async fn shutdown(&self) {
        let running = std::mem::take(&mut *self.running());
        for task in running.values() {
            task.abort();
        }
        for task in running.into_values() {
            // Aborted, as it should be.
            let _ = task.await;
        }
    }
}

/// The hook's bindings are about to list their objects.
fn expect(stages: &Stages, hook: &Hook) {
    stages.health.expect(&hook.spec);
    for binding in &hook.spec.kubernetes {
        stages.queue.expect_list(&hook.spec.name, binding.name.clone());
    }
}

async fn keep(stages: Arc<Stages>, hook: Arc<Hook>) {
    supervise(&hook.spec.name, || spawn(&stages, &hook), || expect(&stages, &hook)).await;
}

/// Keeps a hook's tasks until it is dropped. After a panic in one, all start anew: a synchronization
/// brings the hook up to date.
async fn supervise(hook: &HookName, start: impl Fn() -> JoinSet<()>, before_restart: impl Fn()) {
    loop {
        let mut tasks = start();
        let panicked = loop {
            match tasks.join_next().await {
                Some(Err(error)) if error.is_panic() => break error,
                Some(_) => {}
                None => return,
            }
        };
        error!(%hook, error = %panicked, "a task of the hook panicked: its bindings start anew");
        tasks.shutdown().await;
        tokio::time::sleep(AFTER_PANIC).await;
        before_restart();
    }
}

fn spawn(stages: &Arc<Stages>, hook: &Hook) -> JoinSet<()> {
    let (name, mut tasks) = (&hook.spec.name, JoinSet::new());
    let barrier = Arc::new(Barrier::new(&hook.spec));
    for (index, binding) in hook.spec.kubernetes.iter().enumerate() {
        tasks.spawn(bindings::keep(stages.clone(), name.clone(), index, binding.clone(), barrier.clone()));
    }
    for binding in hook.spec.schedules.iter().filter(|_| stages.schedules_tick) {
        let (barrier, ticks) = (barrier.clone(), schedules::keep(stages.queue.clone(), name.clone(), binding.clone()));
        tasks.spawn(async move {
            barrier.passed().await;
            ticks.await;
        });
    }
    tasks
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic)]
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn after_a_panic_all_tasks_start_anew() {
        let (starts, neighbours, restarts) = (AtomicUsize::new(0), Arc::new(()), AtomicUsize::new(0));
        let start = || {
            let (round, neighbour) = (starts.fetch_add(1, Ordering::Relaxed), neighbours.clone());
            let mut tasks = JoinSet::new();
            tasks.spawn(async move {
                assert!(round >= 2, "as the test wants it");
            });
            if round < 2 {
                tasks.spawn(async move {
                    let _held = neighbour;
                    std::future::pending().await
                });
            }
            tasks
        };
        supervise(&HookName::new("h").unwrap(), start, || {
            assert_eq!(Arc::strong_count(&neighbours), 1, "the neighbours ended before");
            restarts.fetch_add(1, Ordering::Relaxed);
        })
        .await;
        assert_eq!((starts.into_inner(), restarts.into_inner()), (3, 2));
    }
}
