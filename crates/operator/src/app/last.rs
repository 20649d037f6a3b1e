//! The triggers of each hook's last run, for authors who want to run them again with other code. It keeps one run of
//! each hook, and only if the operator is configured to do so.

use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use boathook_core::model::{Cause, HookName, HookSpec, Trigger};

type Kept = HashMap<HookName, Vec<Trigger>>;

/// The last runs, if they are kept.
#[derive(Default)]
pub(super) struct LastRuns(Option<Mutex<Kept>>);

impl LastRuns {
    pub fn new(keep: bool) -> Self {
        Self(keep.then(Mutex::default))
    }

    fn kept(&self) -> Option<MutexGuard<'_, Kept>> {
        self.0.as_ref().map(|kept| kept.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Keeps the triggers of a run that begins.
    pub fn ran(&self, hook: &HookName, triggers: &[Trigger]) {
        if let Some(mut kept) = self.kept() {
            kept.insert(hook.clone(), triggers.to_vec());
        }
    }

    /// Returns the last run's triggers whose bindings the hook has, as if they occurred now.
    pub fn of(&self, spec: &HookSpec) -> Vec<Trigger> {
        let last = self.kept().and_then(|kept| kept.get(&spec.name).cloned()).unwrap_or_default();
        let bound = |trigger: &Trigger| match &trigger.cause {
            Cause::Startup => spec.on_startup.is_some(),
            Cause::Schedule(_) => spec.schedules.iter().any(|binding| binding.name == trigger.binding),
            Cause::Synchronization | Cause::Event(_) => {
                spec.kubernetes.iter().any(|binding| binding.name == trigger.binding)
            }
        };
        let fresh = |trigger| Trigger { created: Instant::now(), debounce: Duration::ZERO, ..trigger };
        last.into_iter().filter(bound).map(fresh).collect()
    }
}
