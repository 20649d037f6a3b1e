//! What each hook's last run was told, for authors who want to see it again with other code. Keeps one run of each
//! hook, and nothing unless asked to.

use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use boathook_core::model::{Cause, HookName, HookSpec, Trigger};

type Kept = HashMap<HookName, Vec<Trigger>>;

/// The last runs, if somebody wants them.
#[derive(Default)]
pub(super) struct LastRuns(Option<Mutex<Kept>>);

impl LastRuns {
    pub fn new(keep: bool) -> Self {
        Self(keep.then(Mutex::default))
    }

    fn kept(&self) -> Option<MutexGuard<'_, Kept>> {
        self.0.as_ref().map(|kept| kept.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// A run begins.
    pub fn ran(&self, hook: &HookName, triggers: &[Trigger]) {
        if let Some(mut kept) = self.kept() {
            kept.insert(hook.clone(), triggers.to_vec());
        }
    }

    /// The triggers of the last run whose bindings the hook has, as if they came now.
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
