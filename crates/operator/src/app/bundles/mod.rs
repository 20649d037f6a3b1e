//! Bundles in the operator. Each is a set of hooks that is installed, changed and removed as a unit.
//!
//! | file | content |
//! | --- | --- |
//! | `settings` | whether settings are an object and fit the bundle's schema, checked in a separate process |
//! | `install` | what an installation does to each hook, and the rollback |
//! | `states` | the state of each hook |
//!
//! This module knows neither registries nor HookBundles, and it starts only hooks that were checked.

mod install;
mod settings;
mod states;

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use futures::{FutureExt as _, future::BoxFuture};

pub use self::settings::{SettingsConfig, serve as serve_settings};
use boathook_core::model::{
    BundleId, BundleNews, HookBundlesNews, HookName, HookSource, HookState, InstallError, Installation, Installed,
    Installer, RequestedPermissions, error_chain,
};

use super::{
    hook_manager::HookManager,
    hooks,
    judge::{self, Held, Origin},
};

/// All bundles of an operator. Cheap to clone.
#[derive(Clone)]
pub(super) struct Bundles(Arc<Inner>);

struct Inner {
    hook_manager: Arc<HookManager>,
    settings: settings::Checker,
    slots: Mutex<BTreeMap<BundleId, Arc<Slot>>>,
}

/// The slot of one bundle.
#[derive(Default)]
struct Slot {
    /// Allows one change of the bundle at a time.
    changing: Arc<tokio::sync::Mutex<()>>,
    known: Mutex<Known>,
}

/// What runs of a bundle. `installation` is `None` if nothing does yet.
#[derive(Default)]
struct Known {
    installation: Option<Installation>,
    /// The bundle's hooks by their names in the bundle.
    members: BTreeMap<HookName, Member>,
}

#[derive(Clone)]
struct Member {
    origin: Arc<Origin>,
    /// Why the hook may not run.
    held: Option<Arc<Held>>,
}

impl Slot {
    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inner {
    fn slots(&self) -> MutexGuard<'_, BTreeMap<BundleId, Arc<Slot>>> {
        self.slots.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn slot(&self, id: &BundleId) -> Option<Arc<Slot>> {
        self.slots().get(id).cloned()
    }
}

impl Bundles {
    pub fn new(hook_manager: Arc<HookManager>, settings: SettingsConfig) -> Self {
        let settings = settings::Checker::new(settings, hook_manager.services.evaluator.clone());
        Self(Arc::new(Inner { hook_manager, settings, slots: Mutex::default() }))
    }

    async fn remove_now(&self, id: &BundleId) -> bool {
        let Some(slot) = self.0.slot(id) else { return false };
        let _turn = slot.changing.lock().await;
        let members = std::mem::take(&mut slot.known().members);
        for member in members.values() {
            self.0.hook_manager.forget(&member.origin.name).await;
        }
        let mut slots = self.0.slots();
        // A caller that waits for its turn installs into this slot. The slot then stays.
        if slots.get(id).is_some_and(|known| Arc::ptr_eq(known, &slot)) && Arc::strong_count(&slot) <= 2 {
            slots.remove(id);
        }
        drop(slots);
        let there = slot.known().installation.take().is_some();
        if there {
            tracing::info!(bundle = %id, hooks = members.len(), "bundle removed");
        }
        there
    }

    async fn suspend_now(&self, id: &BundleId, suspended: bool) -> bool {
        let installation = self.0.slot(id).and_then(|slot| slot.known().installation.clone());
        let Some(installation) = installation else { return false };
        let id = id.clone();
        if let Err(error) = self.install_now(Installation { suspended, ..installation }).await {
            // The states of the hooks show the error, too.
            tracing::warn!(bundle = %id, error = error_chain(&error), "bundle not resumed");
        }
        true
    }
}

impl Installer for Bundles {
    fn install(&self, installation: Installation) -> BoxFuture<'_, Result<Installed, InstallError>> {
        let (bundles, id) = (self.clone(), installation.id.clone());
        async move {
            let work = tokio::spawn(async move { bundles.install_now(installation).await });
            work.await.unwrap_or(Err(InstallError::Defect(id)))
        }
        .boxed()
    }

    fn suspend<'a>(&'a self, id: &'a BundleId, suspended: bool) -> BoxFuture<'a, bool> {
        let (bundles, id) = (self.clone(), id.clone());
        let work = async move { bundles.suspend_now(&id, suspended).await };
        async move { tokio::spawn(work).await.unwrap_or_default() }.boxed()
    }

    fn remove<'a>(&'a self, id: &'a BundleId) -> BoxFuture<'a, bool> {
        let (bundles, id) = (self.clone(), id.clone());
        let work = async move {
            let there = bundles.remove_now(&id).await;
            bundles.0.hook_manager.services.health.sources().forget(&id);
            there
        };
        async move { tokio::spawn(work).await.unwrap_or_default() }.boxed()
    }

    fn note(&self, id: &BundleId, news: BundleNews) {
        self.0.hook_manager.services.health.sources().note(id, news);
    }

    fn note_hook_bundles(&self, news: HookBundlesNews) {
        self.0.hook_manager.services.health.sources().note_hook_bundles(news);
    }

    fn states(&self, id: &BundleId) -> Vec<HookState> {
        let Some(slot) = self.0.slot(id) else { return Vec::new() };
        let known = slot.known();
        let suspended = known.installation.as_ref().is_some_and(|installation| installation.suspended);
        let members: Vec<_> = known.members.iter().map(|(name, member)| (name.clone(), member.clone())).collect();
        drop(known);
        let (hook_manager, readiness) = (&self.0.hook_manager, self.0.hook_manager.services.health.readiness());
        let state = |(name, member)| states::state(hook_manager, &readiness, name, &member, suspended);
        members.into_iter().map(state).collect()
    }

    fn requested<'a>(&'a self, hooks: &'a [HookSource]) -> BoxFuture<'a, Vec<RequestedPermissions>> {
        async move {
            let mut all = Vec::with_capacity(hooks.len());
            for hook in hooks {
                let requested = self.ask(hook).await;
                all.push(RequestedPermissions {
                    hook: hook.name.clone(),
                    permissions: requested.map_err(|error| error_chain(&error)),
                });
            }
            all
        }
        .boxed()
    }
}

impl Bundles {
    async fn ask(&self, hook: &HookSource) -> Result<Vec<boathook_core::model::Permission>, Held> {
        let bytes = judge::read(&hook.name, hook, &self.0.hook_manager.sandbox).await?;
        let hook = hooks::load(&hook.name, &bytes, &self.0.hook_manager.sandbox).await?;
        Ok(hook.spec.asks())
    }
}
