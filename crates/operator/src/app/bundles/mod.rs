//! Bundles in the operator. Each is a set of hooks that is installed, changed and removed as a unit.
//!
//! An installation replaces each hook, starts it, keeps it, holds it or removes it. A new version is installed as a
//! whole, or the previous one is restored. `settings` checks the bundle's settings in a separate process, and `definitions`
//! applies its CustomResourceDefinitions. `shadow` runs a version beside the installed one, to compare them.
//!
//! This module knows neither registries nor HookBundles, and it starts only hooks that were checked.

mod definitions;
mod settings;
mod shadow;

use std::{
    collections::{BTreeMap, BTreeSet},
    future::pending,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use boathook_core::model::{
    BundleId, BundleNews, Comparison, CredentialProblem, HookBundlesNews, HookName, HookPhase, HookSource, HookSpec,
    HookState, InstallError, Installation, Installed, Installer, RequestedPermissions, error_chain,
};
use futures::{FutureExt as _, future::BoxFuture};
use jiff::Timestamp;
use tokio::sync::watch;
use tracing::{debug, info, warn};

use super::{
    claims::Taken,
    credentials,
    hold_reason::{self, Held, Origin},
    hook_manager::{HookManager, ReleaseError},
    hooks::{self, Hook},
    scope::{self, Terms},
    service_account::{BadAccount, NotWatched},
};
use crate::{
    admin::views::{LastRun, RunResult},
    telemetry::Readiness,
};

pub use self::settings::{SettingsConfig, serve as serve_settings};

/// All bundles of an operator. Cheap to clone.
#[derive(Clone)]
pub(super) struct Bundles(Arc<Inner>);

struct Inner {
    hook_manager: Arc<HookManager>,
    settings: settings::Checker,
    slots: Mutex<BTreeMap<BundleId, Arc<Slot>>>,
    readiness: Mutex<Recent>,
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
    /// The version whose CustomResourceDefinitions were applied.
    defined: Option<String>,
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
        let settings = settings::Checker::new(settings, hook_manager.services.sandbox.clone());
        let readiness = Mutex::new(Recent::new(hook_manager.services.health.changes()));
        Self(Arc::new(Inner { hook_manager, settings, slots: Mutex::default(), readiness }))
    }

    async fn remove_now(&self, id: &BundleId) -> bool {
        let Some(slot) = self.0.slot(id) else { return false };
        let _turn = slot.changing.lock().await;
        self.end_shadow_now(id);
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

    fn shadow(&self, installation: Installation) -> BoxFuture<'_, Result<(), InstallError>> {
        let (bundles, id) = (self.clone(), installation.id.clone());
        let work = async move { bundles.shadow_now(installation).await };
        async move { tokio::spawn(work).await.unwrap_or(Err(InstallError::Defect(id))) }.boxed()
    }

    fn end_shadow(&self, id: &BundleId) {
        self.end_shadow_now(id);
    }

    fn comparison(&self, id: &BundleId) -> Option<Comparison> {
        self.comparison_now(id)
    }

    fn states(&self, id: &BundleId) -> Vec<HookState> {
        let Some(slot) = self.0.slot(id) else { return Vec::new() };
        let known = slot.known();
        let suspended = known.installation.as_ref().is_some_and(|installation| installation.suspended);
        let members: Vec<_> = known.members.iter().map(|(name, member)| (name.clone(), member.clone())).collect();
        drop(known);
        let (hook_manager, health) = (&self.0.hook_manager, &self.0.hook_manager.services.health);
        let mut recent = self.0.readiness.lock().unwrap_or_else(PoisonError::into_inner);
        let readiness = recent.get(Instant::now(), || health.readiness());
        drop(recent);
        let state = |(name, member)| state(hook_manager, &readiness, name, &member, suspended);
        members.into_iter().map(state).collect()
    }

    fn check_credentials<'a>(&'a self, id: &'a BundleId) -> BoxFuture<'a, Vec<CredentialProblem>> {
        async move {
            let installation = self.0.slot(id).and_then(|slot| slot.known().installation.clone());
            let Some(installation) = installation else { return Vec::new() };
            credentials::check(&self.0.hook_manager.services, &installation).await
        }
        .boxed()
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
        let bytes = hold_reason::read(&hook.name, hook, &self.0.hook_manager.services.sandbox).await?;
        let hook = hooks::load(&hook.name, &bytes, &self.0.hook_manager.services.sandbox).await?;
        Ok(hook.spec.asks())
    }
}

/// What to do with a hook.
enum Next {
    /// It is already as it should be.
    Keep,
    /// It replaces the hook that runs, or starts.
    Take(Box<Hook>),
    Hold(Held),
}

impl Next {
    fn taken(&self) -> Option<&Hook> {
        match self {
            Self::Take(hook) => Some(hook),
            Self::Keep | Self::Hold(_) => None,
        }
    }
}

/// What to do with one hook of the bundle.
struct Step {
    name: HookName,
    origin: Arc<Origin>,
    next: Next,
}

impl Bundles {
    async fn install_now(&self, wanted: Installation) -> Result<Installed, InstallError> {
        let (id, digest) = (wanted.id.clone(), wanted.digest.clone());
        let outcome = self.settle(wanted).await;
        match &outcome {
            Ok(installed) => {
                let Installed { started, swapped, kept, removed, held } = installed;
                let (started, swapped, kept) = (started.len(), swapped.len(), kept.len());
                let (removed, held) = (removed.len(), held.len());
                if started + swapped + removed + held == 0 {
                    debug!(bundle = %id, digest, kept, "bundle checked again: it stays as it is");
                } else {
                    info!(bundle = %id, digest, started, swapped, kept, removed, held, "bundle installed");
                }
            }
            Err(error) => warn!(bundle = %id, digest, error = error_chain(error), "bundle not installed"),
        }
        outcome
    }

    /// Checks the names and the settings.
    async fn terms(&self, wanted: &Installation) -> Result<Arc<Terms>, InstallError> {
        let id = &wanted.id;
        let names: Vec<HookName> = wanted.hooks.iter().map(|hook| hook.name.clone()).collect();
        scope::check_names(id, wanted.identity.as_ref(), &names).map_err(|_| InstallError::Name(id.clone()))?;
        let settings = self.0.settings.check(id, wanted.settings.as_deref(), wanted.settings_schema.as_deref()).await;
        let settings = settings.map_err(|problem| InstallError::Settings { id: id.clone(), problem })?;
        Ok(Arc::new(Terms {
            bundle: id.clone(),
            identity: wanted.identity.clone().map(Arc::new),
            grants: wanted.grants.clone(),
            credentials: wanted.credentials.clone().into(),
            settings: settings.into(),
            limits: wanted.limits,
            confined_to: wanted.confined_to.as_deref().map(Arc::from),
            module: None,
        }))
    }

    async fn settle(&self, wanted: Installation) -> Result<Installed, InstallError> {
        let terms = self.terms(&wanted).await?;
        let slot = self.0.slots().entry(wanted.id.clone()).or_default().clone();
        let _turn = slot.changing.lock().await;
        let installed = self.change(&slot, &wanted, &terms).await?;
        slot.known().installation = Some(wanted);
        Ok(installed)
    }

    async fn change(
        &self,
        slot: &Arc<Slot>,
        wanted: &Installation,
        terms: &Arc<Terms>,
    ) -> Result<Installed, InstallError> {
        let (members, before, defined) = {
            let known = slot.known();
            let before = known.installation.as_ref().map(|installation| installation.digest.clone());
            (known.members.clone(), before, known.defined.as_ref() == Some(&wanted.digest))
        };
        let works = |member: &Member| self.0.hook_manager.services.hook_registry.hook(&member.origin.name).is_some();
        let whole = before.as_ref().is_some_and(|before| *before != wanted.digest) && members.values().any(works);
        let mut steps = Vec::new();
        for source in &wanted.hooks {
            let name = source.name.clone();
            let origin = Origin {
                name: name.in_bundle(&wanted.id),
                source: source.clone(),
                terms: terms.clone(),
                changing: slot.changing.clone(),
            };
            self.check_free(&name, &origin, members.get(&name))?;
            let next = match wanted.suspended {
                true => Next::Hold(Held::Suspended),
                false => self.next(&origin, members.get(&name)).await,
            };
            steps.push(Step { name, origin: Arc::new(origin), next });
        }
        if whole && !wanted.suspended {
            refuse_held(&steps)?;
        }
        if !wanted.suspended && !defined && definitions::apply(&self.0.hook_manager.services, wanted, terms).await? {
            slot.known().defined = Some(wanted.digest.clone());
        }
        // After that, because a change that is refused must displace nobody.
        let left = self.claim(&mut steps, &members, whole).await;
        if whole && !wanted.suspended {
            refuse_held(&steps)?;
        }
        self.act(slot, members, steps, left).await
    }

    /// Claims what the hooks that are to run reconcile. Those that are refused are to be held. Returns the hooks of this
    /// bundle that lose their objects to another hook of the same bundle.
    async fn claim(&self, steps: &mut [Step], members: &BTreeMap<HookName, Member>, whole: bool) -> BTreeSet<HookName> {
        let stays =
            |name: &HookName| steps.iter().any(|step| step.origin.name == *name && matches!(step.next, Next::Keep));
        let names = members.values().map(|member| &member.origin.name);
        let leaving: BTreeSet<HookName> = names.filter(|name| !stays(name)).cloned().collect();
        let taking = steps.iter().filter_map(|step| step.next.taken());
        let specs: Vec<&HookSpec> = taking.map(|hook| &hook.spec).collect();
        let taken = self.0.hook_manager.claim_together(&specs, |name| leaving.contains(name), whole).await;
        let Taken { claims, left, .. } = taken;
        let taking = steps.iter_mut().filter(|step| step.next.taken().is_some());
        for (step, claim) in taking.zip(claims) {
            match (claim, &mut step.next) {
                (Ok(claim), Next::Take(hook)) => hook.claim = Some(claim),
                (Ok(_), _) => {}
                (Err(refused), next) => *next = Next::Hold(Held::HookLoadError(refused.into())),
            }
        }
        left
    }

    /// A hook of the directory may have the same name.
    fn check_free(&self, name: &HookName, origin: &Origin, member: Option<&Member>) -> Result<(), InstallError> {
        let hook_registry = &self.0.hook_manager.services.hook_registry;
        let taken = hook_registry.hook(&origin.name).is_some() || hook_registry.is_quarantined(origin.name.as_str());
        if member.is_some() || !taken {
            return Ok(());
        }
        let by = "the hooks directory".to_owned();
        Err(InstallError::Taken { hook: name.clone(), name: origin.name.clone(), by })
    }

    async fn next(&self, origin: &Origin, member: Option<&Member>) -> Next {
        let services = &self.0.hook_manager.services;
        if let Some(member) = member.filter(|member| same(&member.origin, origin)) {
            match services.hook_registry.hook(&member.origin.name) {
                Some(hook) => {
                    // The hook may have lost rights since it started. If the API server does not answer, it loses none.
                    return match self.0.hook_manager.check_rights(&hook.spec, &origin.terms).await {
                        Err(held) if held.phase() != HookPhase::Pending => Next::Hold(held),
                        _ => Next::Keep,
                    };
                }
                // An admin took the hook out, and only an admin releases it.
                None if member.held.is_none() && !services.claims.is_waiting(&origin.name) => return Next::Keep,
                None => {}
            }
        }
        match self.0.hook_manager.judge(origin).await {
            Ok(hook) => Next::Take(Box::new(hook)),
            Err(held) => Next::Hold(held),
        }
    }

    async fn act(
        &self,
        slot: &Slot,
        mut members: BTreeMap<HookName, Member>,
        steps: Vec<Step>,
        left: BTreeSet<HookName>,
    ) -> Result<Installed, InstallError> {
        let hook_manager = &self.0.hook_manager;
        let (mut installed, mut now) = (Installed::default(), BTreeMap::new());
        let (mut begins, mut holds, mut before) = (Vec::new(), Vec::new(), Vec::new());
        // Two hooks must not reconcile an object at the same time. Hooks that give up objects run nothing
        // from here on.
        let leaving: Vec<_> = left.iter().filter_map(|name| hook_manager.services.hook_registry.hook(name)).collect();
        let mut fences = Vec::new();
        for old in &leaving {
            let (fence, interrupted) = hook_manager.quieted(old).await;
            fences.push(fence);
            // A version that was interrupted runs nothing more.
            before.extend(interrupted.then(|| old.clone()));
        }
        let mut claims = Vec::new();
        for Step { name, origin, next } in steps {
            let member = |held| Member { origin: origin.clone(), held };
            match next {
                Next::Keep => {
                    installed.kept.push(name.clone());
                    now.insert(name, member(None));
                }
                Next::Hold(held) => {
                    installed.held.push(name.clone());
                    let held = Arc::new(held);
                    holds.push((origin.clone(), held.clone()));
                    now.insert(name, member(Some(held)));
                }
                Next::Take(hook) => {
                    claims.push((origin.name.clone(), hook.claim.clone()));
                    now.insert(name.clone(), member(None));
                    let Some(old) = hook_manager.services.hook_registry.hook(&origin.name) else {
                        installed.started.push(name);
                        begins.push(*hook);
                        continue;
                    };
                    if let Err(error) = hook_manager.take_over(*hook).await {
                        self.put_back(before).await;
                        return Err(InstallError::RolledBack { hook: name, reason: Arc::new(error) });
                    }
                    before.push(old);
                    installed.swapped.push(name);
                }
            }
        }
        // Before hooks are held, because those that wait for a claim may be tried again at once.
        now.values().for_each(|member| hook_manager.remember(member.origin.clone()));
        hook_manager.begin_all(begins);
        for (origin, held) in holds {
            hook_manager.hold(&origin.name, &held).await;
        }
        hook_manager.give_way(claims).await;
        members.retain(|name, _| !now.contains_key(name));
        for (name, member) in members {
            hook_manager.forget(&member.origin.name).await;
            installed.removed.push(name);
        }
        let mut known = slot.known();
        known.members = now;
        Ok(installed)
    }

    /// Tries hooks again that wait for others to release their objects, whenever they may have done so. Runs until it is
    /// dropped.
    pub async fn try_waiting(self) {
        let claims = &self.0.hook_manager.services.claims;
        let mut news = claims.news();
        loop {
            // What changes from here on counts for the next time.
            news.mark_unchanged();
            for hook in claims.free() {
                self.try_again(&hook).await;
            }
            if news.changed().await.is_err() {
                return pending().await;
            }
        }
    }

    async fn try_again(&self, hook: &HookName) {
        let hook_manager = &self.0.hook_manager;
        match hook_manager.release(hook.as_str()).await {
            Ok(()) => {}
            Err(ReleaseError::NotQuarantined(_)) => hook_manager.services.claims.stop_waiting(hook.as_str()),
            Err(ReleaseError::Still { reason, .. }) => {
                let slot = hook_manager.bundle_of(hook.as_str()).and_then(|bundle| self.0.slot(&bundle));
                let Some(slot) = slot else { return };
                // The next check of the bundle tries it again, as after an installation with this result.
                let mut known = slot.known();
                let member = known.members.values_mut().find(|member| member.origin.name == *hook);
                if let Some(member) = member {
                    member.held = Some(Arc::new(reason));
                }
            }
        }
    }

    /// Restores the previous versions, the last one first.
    async fn put_back(&self, before: Vec<Arc<Hook>>) {
        for old in before.into_iter().rev() {
            if let Err(error) = self.0.hook_manager.take_over(old.again()).await {
                warn!(hook = %old.spec.name, error = error_chain(&error), "the version before cannot be put back");
            }
        }
    }
}

/// Whether the same file runs on the same terms. A file whose digest is not known may have changed.
fn same(known: &Origin, wanted: &Origin) -> bool {
    known.source.digest.is_some() && known.source.digest == wanted.source.digest && known.terms == wanted.terms
}

/// Refuses a new version if any of its hooks is held, because a new version is installed as a whole.
fn refuse_held(steps: &[Step]) -> Result<(), InstallError> {
    let held: Vec<(&HookName, &Held)> = steps
        .iter()
        .filter_map(|step| match &step.next {
            Next::Hold(held) => Some((&step.name, held)),
            _ => None,
        })
        .collect();
    let ungranted: Vec<_> = held
        .iter()
        .filter_map(|(name, held)| match held {
            Held::Ungranted(missing) => Some(((*name).clone(), missing.clone())),
            _ => None,
        })
        .collect();
    let other = held.iter().find(|(_, held)| !matches!(held, Held::Ungranted(_)));
    match other {
        Some((
            name,
            Held::NotWatched { reason: NotWatched::Forbidden { identity, missing }, .. }
            | Held::BadAccount(BadAccount::Forbidden { identity, missing }),
        )) => {
            Err(InstallError::Forbidden { hook: (*name).clone(), identity: identity.clone(), missing: missing.clone() })
        }
        Some((name, held)) => {
            Err(InstallError::Refused { hook: (*name).clone(), reason: Arc::new(Told(error_chain(*held))) })
        }
        None if ungranted.is_empty() => Ok(()),
        None => Err(InstallError::Ungranted(ungranted)),
    }
}

/// A reason whose text includes its causes.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct Told(String);

/// How long a readiness counts. The queues do not notify of the runs that it waits for.
const RECENT: Duration = Duration::from_millis(250);

/// The last readiness of the operator. It covers all hooks, so computing it for each bundle would take too long with
/// many bundles.
struct Recent {
    changes: watch::Receiver<()>,
    last: Option<(Instant, Arc<Readiness>)>,
}

impl Recent {
    fn new(changes: watch::Receiver<()>) -> Self {
        Self { changes, last: None }
    }

    /// Returns the readiness of a moment ago, unless hooks or bindings have changed since.
    fn get(&mut self, now: Instant, compute: impl FnOnce() -> Readiness) -> Arc<Readiness> {
        let same = !self.changes.has_changed().unwrap_or(true);
        if let Some((_, last)) = self.last.as_ref().filter(|(at, _)| same && now.duration_since(*at) < RECENT) {
            return last.clone();
        }
        // A change that comes while the readiness is computed counts for the next call.
        self.changes.mark_unchanged();
        let readiness = Arc::new(compute());
        self.last = Some((now, readiness.clone()));
        readiness
    }
}

/// `readiness` is that of the operator, taken once for all of a bundle's hooks.
fn state(
    hook_manager: &HookManager,
    readiness: &Readiness,
    name: HookName,
    member: &Member,
    suspended: bool,
) -> HookState {
    let hook = member.origin.name.clone();
    let counts = hook_manager.services.history.counts(hook.as_str());
    let failed = counts.last.as_ref().is_some_and(|last| last.result != RunResult::Succeeded);
    let last_error = failed.then(|| {
        let runs = hook_manager.services.history.runs(Some(hook.as_str()), true, usize::MAX);
        runs.into_iter().find_map(|run| run.outcome.message)
    });
    let live = hook_manager.services.hook_registry.hook(&hook);
    let (phase, reason) = match &live {
        Some(_) => running(readiness, &hook),
        None => out(hook_manager, member, suspended),
    };
    HookState {
        name,
        phase,
        reason,
        missing: match (&live, member.held.as_deref()) {
            (None, Some(held)) => held.missing().to_vec(),
            _ => Vec::new(),
        },
        digest: live.as_ref().map(|hook| hook.component.digest().to_owned()),
        interpreter: live.as_ref().and_then(|hook| Some(hook.component.script()?.interpreter.clone())),
        last_run: counts.last.as_ref().and_then(ended),
        last_error: last_error.flatten(),
        runs: counts.total,
        failures: counts.failed,
        hook,
    }
}

fn running(readiness: &Readiness, hook: &HookName) -> (HookPhase, String) {
    match readiness.hooks.iter().find(|known| known.hook == hook.as_str()) {
        Some(known) if !known.missing.is_empty() => (HookPhase::Pending, known.missing.join("; ")),
        _ => (HookPhase::Ready, String::new()),
    }
}

fn out(hook_manager: &HookManager, member: &Member, suspended: bool) -> (HookPhase, String) {
    match member.held.as_deref() {
        Some(held) => (held.phase(), error_chain(held)),
        None if suspended => (HookPhase::Suspended, error_chain(&Held::Suspended)),
        None => {
            let quarantined = hook_manager.services.hook_registry.quarantined();
            let reason = quarantined.into_iter().find(|(name, _)| name == member.origin.name.as_str());
            (HookPhase::Quarantined, reason.map(|(_, reason)| reason).unwrap_or_default())
        }
    }
}

/// Milliseconds since the Unix epoch.
fn ended(last: &LastRun) -> Option<u64> {
    let started: Timestamp = last.started.parse().ok()?;
    let took = Duration::try_from_secs_f64(last.duration_ms / 1e3).ok()?;
    u64::try_from(started.checked_add(took).ok()?.as_millisecond()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_readiness_is_computed_once_for_many_bundles_and_again_after_a_change() {
        let changes = watch::Sender::default();
        let (mut recent, start, mut computed) = (Recent::new(changes.subscribe()), Instant::now(), 0);
        let mut get = |after: Duration| {
            let readiness = recent.get(start + after, || {
                computed += 1;
                Readiness { api_server: Some(computed.to_string()), ..Readiness::default() }
            });
            readiness.api_server.clone()
        };
        let ms = Duration::from_millis;
        for bundle in 0..100 {
            assert_eq!(get(ms(bundle)).as_deref(), Some("1"));
        }
        changes.send_replace(());
        assert_eq!((get(ms(101)).as_deref(), get(ms(102)).as_deref()), (Some("2"), Some("2")));
        assert_eq!(get(ms(101) + RECENT).as_deref(), Some("3"));
    }
}
