//! Starts and stops hooks, one by one: loads them, quarantines and releases, has one version take the place
//! of another. Knows nothing of what their tasks do.

use std::{
    collections::BTreeMap,
    path::PathBuf,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use jiff::Timestamp;
use tracing::{error, info, warn};

use super::{
    Stages,
    crew::{self, Crew},
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
    pub(super) sandbox: Arc<Sandbox>,
    pub(super) metrics: Arc<Metrics>,
    pub(super) roster: Arc<Roster>,
    pub(super) stages: Arc<Stages>,
    running: Mutex<BTreeMap<HookName, Crew>>,
    /// One version at a time takes the place of another.
    pub(super) swapping: tokio::sync::Mutex<()>,
    /// How long a run may take to end when its hook is replaced.
    pub(super) grace_period: Duration,
}

impl Fleet {
    pub(super) fn new(
        directory: PathBuf,
        sandbox: Arc<Sandbox>,
        metrics: Arc<Metrics>,
        roster: Arc<Roster>,
        stages: Arc<Stages>,
        grace_period: Duration,
    ) -> Self {
        let (running, swapping) = (Mutex::default(), tokio::sync::Mutex::default());
        Self { directory, sandbox, metrics, roster, stages, running, swapping, grace_period }
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
        self.report_loaded(&hook);
        self.roster.admit(Arc::new(hook));
    }

    pub(super) fn report_loaded(&self, hook: &Hook) {
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
    }

    /// Starts all hooks that were loaded: start-up runs in their order, then bindings and schedules,
    /// in parallel.
    pub fn start(&self) {
        let hooks = self.roster.live();
        self.start_these(&hooks);
        info!(hooks = hooks.len(), quarantined = self.roster.quarantined().len(), "hooks started");
    }

    /// Starts a hook that is not at work, as at the operator's start.
    pub(super) fn begin(&self, hook: Hook) {
        let name = hook.spec.name.clone();
        self.loaded(hook);
        self.start_these(self.roster.hook(&name).as_slice());
    }

    fn start_these(&self, hooks: &[Arc<Hook>]) {
        for hook in hooks {
            self.stages.queue.add_hook(hook.spec.name.clone(), (&hook.spec).into());
            if self.stages.hold {
                self.stages.queue.pause(&hook.spec.name);
            }
        }
        // First: the places of synchronizations come after all of them.
        schedules::push_startups(hooks, &self.stages.queue);
        hooks.iter().for_each(|hook| crew::expect(&self.stages, hook, |_| true));
        for hook in hooks {
            let crew = Crew::start(self.stages.clone(), hook.clone());
            self.running().insert(hook.spec.name.clone(), crew);
        }
    }

    pub(super) fn running(&self) -> MutexGuard<'_, BTreeMap<HookName, Crew>> {
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
        let _one_at_a_time = self.swapping.lock().await;
        if !self.roster.is_quarantined(name) {
            return Err(ReleaseError::NotQuarantined(name.to_owned()));
        }
        let path = self.directory.join(format!("{name}.wasm"));
        match load_file(HookFile::of(path), &self.sandbox).await {
            Ok(hook) => {
                let hook_name = hook.spec.name.clone();
                self.begin(hook);
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

    /// Runs the triggers of the hook's last run again; tells before how many there are.
    pub fn run_again(&self, name: &HookName, tell: impl FnOnce(usize)) {
        let triggers = self.roster.hook(name).map(|hook| self.stages.last.of(&hook.spec)).unwrap_or_default();
        tell(triggers.len());
        for trigger in triggers {
            self.stages.queue.push(trigger);
        }
    }

    /// Ends the tasks of all hooks.
    pub async fn shutdown(&self) {
        let running = std::mem::take(&mut *self.running());
        running.values().for_each(Crew::abort);
        for crew in running.into_values() {
            crew.end().await;
        }
    }
}
