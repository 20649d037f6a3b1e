//! The list of hooks: those that run, and those that do not, with the reason.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard},
};

use boathook_core::model::HookName;

use super::hooks::Hook;

/// All hooks of the operator. Each name is in one of the two maps.
#[derive(Default)]
pub struct HookRegistry(RwLock<Lists>);

#[derive(Default)]
struct Lists {
    live: BTreeMap<HookName, Arc<Hook>>,
    /// By the file's name without `.wasm`, which may be an invalid hook name.
    quarantined: BTreeMap<String, Out>,
    /// Increases with each change.
    generation: u64,
}

/// Why a hook does not run.
#[derive(Debug, Clone)]
struct Out {
    reason: String,
    /// Whether its registrations at the API server stay.
    registered: bool,
}

/// What happens to the registrations of a hook that does not run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Registrations {
    /// The hook cannot be loaded. What it forbids stays forbidden.
    Stay,
    /// The hook must not answer any more.
    Go,
}

impl HookRegistry {
    fn read(&self) -> RwLockReadGuard<'_, Lists> {
        self.0.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, Lists> {
        self.0.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether exactly this version of a hook may run.
    pub fn is_live(&self, hook: &Arc<Hook>) -> bool {
        self.read().live.get(&hook.spec.name).is_some_and(|live| Arc::ptr_eq(live, hook))
    }

    /// Finds a hook that may run.
    pub fn hook(&self, name: &HookName) -> Option<Arc<Hook>> {
        self.read().live.get(name).cloned()
    }

    /// Finds a hook that may run, by its name or by the form of the name in webhooks' paths.
    pub fn hook_at(&self, name: &str) -> Option<Arc<Hook>> {
        let plain = HookName::new(name).ok().and_then(|name| self.hook(&name));
        plain.or_else(|| self.read().live.values().find(|hook| hook.spec.name.subdomain() == name).cloned())
    }

    /// Increases when hooks are added, removed or replaced.
    pub fn generation(&self) -> u64 {
        self.read().generation
    }

    /// All hooks that may run, sorted by name.
    pub fn live(&self) -> Vec<Arc<Hook>> {
        self.read().live.values().cloned().collect()
    }

    /// All other hooks, sorted by name, with the reason.
    pub fn quarantined(&self) -> Vec<(String, String)> {
        self.read().quarantined.iter().map(|(name, out)| (name.clone(), out.reason.clone())).collect()
    }

    /// Returns all hooks that may run, and the names of the others whose registrations stay, at one moment.
    pub fn registered(&self) -> (Vec<Arc<Hook>>, BTreeSet<String>) {
        let lists = self.read();
        let broken = lists.quarantined.iter().filter(|(_, out)| out.registered);
        (lists.live.values().cloned().collect(), broken.map(|(name, _)| name.clone()).collect())
    }

    pub fn is_quarantined(&self, name: &str) -> bool {
        self.read().quarantined.contains_key(name)
    }

    /// Like [`HookRegistry::is_quarantined`], by the hook's name or by the form of the name in webhooks' paths.
    pub fn is_quarantined_at(&self, name: &str) -> bool {
        let by_path = |known: &String| HookName::new(known).is_ok_and(|known| known.subdomain() == name);
        self.is_quarantined(name) || self.read().quarantined.keys().any(by_path)
    }

    /// The hook may run from now on.
    pub fn admit(&self, hook: Arc<Hook>) {
        let mut lists = self.write();
        lists.generation += 1;
        lists.quarantined.remove(hook.spec.name.as_str());
        lists.live.insert(hook.spec.name.clone(), hook);
    }

    /// Removes the registrations of a hook that cannot be loaded. Returns false if there are none.
    pub fn withdraw(&self, name: &str) -> bool {
        let mut lists = self.write();
        let Some(out) = lists.quarantined.get_mut(name).filter(|out| out.registered) else { return false };
        out.registered = false;
        lists.generation += 1;
        true
    }

    pub fn remove(&self, name: &str) {
        let mut lists = self.write();
        lists.generation += 1;
        lists.live.retain(|live, _| live.as_str() != name);
        lists.quarantined.remove(name);
    }

    /// The hook may not run from now on.
    pub fn quarantine(&self, name: &str, reason: String, registrations: Registrations) {
        let mut lists = self.write();
        lists.generation += 1;
        lists.live.retain(|live, _| live.as_str() != name);
        let registered = registrations == Registrations::Stay;
        lists.quarantined.insert(name.to_owned(), Out { reason, registered });
    }
}
