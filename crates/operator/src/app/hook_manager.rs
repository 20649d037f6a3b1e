//! Starts and stops hooks, one by one: loads them, quarantines and releases them, and replaces one version with
//! another. It does not know what their tasks do.
//!
//! When a version replaces another, bindings that did not change continue: no event is lost, and none is delivered
//! twice. Everything that can fail comes first, while the old version runs.

use std::{
    collections::BTreeMap,
    path::PathBuf,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use boathook_core::{
    fair::Tenant,
    hooks::{DirectoryError, HookFile, find_hook, read_directory, with_hooks_below},
    memory::{SERIES, UNIT},
    model::{BundleId, HookName, HookSpec, InvalidName, error_chain},
};
use boathook_kube::discovery::DiscoveryError;
use jiff::Timestamp;
use tokio::time::{Instant, timeout};
use tracing::{error, info, warn};

use super::{
    Services,
    claims::{Claim, Displaced, Taken},
    hold_reason::{self, Held, Origin},
    hook_tasks::{self, HookTasks},
    hooks::{self, Bundled, Hook, HookLoadError, Registrations, load_file},
    ms, reconcile, schedules,
    scope::{Terms, granted, narrow, scope},
    service_account,
    upgrade_plan::Plan,
};

/// Why a hook cannot be released from its quarantine.
#[derive(Debug, thiserror::Error)]
pub enum ReleaseError {
    /// The hook runs, or does not exist.
    #[error("hook {0} is not quarantined")]
    NotQuarantined(String),
    #[error("hook {name} stays quarantined")]
    Still {
        name: String,
        #[source]
        reason: Held,
    },
}

/// All hooks: those of a directory, and those of bundles.
pub struct HookManager {
    pub(super) directory: Option<PathBuf>,
    pub(super) services: Arc<Services>,
    running: Mutex<BTreeMap<HookName, HookTasks>>,
    /// How many reasons there are not to start runs of a hook.
    holds: Mutex<BTreeMap<HookName, usize>>,
    /// The origins of bundles' hooks, by their names in the operator.
    origins: Mutex<BTreeMap<String, Arc<Origin>>>,
    /// Allows one takeover or release of a directory's hook at a time.
    pub(super) swapping: tokio::sync::Mutex<()>,
    /// How long a run may take to end when its hook is replaced.
    pub(super) grace_period: Duration,
}

/// Why a new version did not replace the old one.
#[derive(Debug, thiserror::Error)]
pub enum SwapError {
    #[error("the file name is not a valid hook name")]
    Name(#[source] InvalidName),
    /// The new version cannot be used. The old version continues, if there is one.
    #[error("the new version of hook {name} cannot be used")]
    Refused {
        name: HookName,
        #[source]
        reason: HookLoadError,
    },
    #[error("hook {0} was quarantined while it was replaced")]
    Gone(HookName),
    /// The task of the swap ended by a defect of the operator.
    #[error("cannot replace the hook, because of a defect of the operator: see its log")]
    Defect(#[source] tokio::task::JoinError),
}

/// Why a hook's file was not read again, or had no effect.
#[derive(Debug, thiserror::Error)]
pub enum ReloadError {
    #[error("hook {0} belongs to a bundle: to change the hook, install another version of the bundle")]
    Bundled(String),
    /// The operator has no directory of hooks, or there is no such file in it.
    #[error("there is no file {file} for hook {name}: put its component there")]
    NoFile {
        name: String,
        /// The path of the missing file.
        file: String,
    },
    /// The content of the file does not replace what runs.
    #[error(transparent)]
    Swap(#[from] SwapError),
}

/// The result of a swap.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Swapped {
    pub hook: HookName,
    /// The digest of the previous version, `sha256:…`. Absent if none was running.
    pub from: Option<String>,
    /// The digest of the version that runs now.
    pub to: String,
    /// The number of `kubernetes` bindings that kept their watch.
    pub kept: usize,
    /// The number of `kubernetes` bindings that were started or restarted.
    pub begun: usize,
    /// The number of triggers that were dropped, because their bindings were removed or restarted.
    pub dropped: usize,
    /// Whether runs had to be interrupted. Their triggers run again.
    pub interrupted: bool,
    /// The duration of the call, including the wait for runs.
    pub took: Duration,
}

/// While this exists, no run of the hook starts.
pub(super) struct QueueHold<'a> {
    hook_manager: &'a HookManager,
    hook: &'a HookName,
}

impl<'a> QueueHold<'a> {
    fn new(hook_manager: &'a HookManager, hook: &'a HookName) -> Self {
        *hook_manager.holds().entry(hook.clone()).or_default() += 1;
        hook_manager.services.queue.hold(hook);
        Self { hook_manager, hook }
    }
}

impl Drop for QueueHold<'_> {
    fn drop(&mut self) {
        let mut holds = self.hook_manager.holds();
        let left = holds.get(self.hook).map_or(0, |holds| holds.saturating_sub(1));
        if left > 0 {
            holds.insert(self.hook.clone(), left);
            return;
        }
        holds.remove(self.hook);
        self.hook_manager.services.queue.release(self.hook);
    }
}

impl HookManager {
    pub(super) fn new(directory: Option<PathBuf>, services: Arc<Services>, grace_period: Duration) -> Self {
        let (running, holds, origins) = (Mutex::default(), Mutex::default(), Mutex::default());
        Self { directory, services, running, holds, origins, swapping: tokio::sync::Mutex::default(), grace_period }
    }

    /// Loads all hooks of the directory, one after the other, because compiling one already takes all cores and much
    /// memory. A bad hook is quarantined, and the others continue.
    pub async fn load(&self) -> Result<(), DirectoryError> {
        let files = self.directory.as_deref().map(read_directory).transpose()?.unwrap_or_default();
        if let Some(directory) = self.directory.as_deref().filter(|_| files.is_empty()) {
            let below = with_hooks_below(directory);
            warn!(
                directory = %directory.display(),
                below = (!below.is_empty()).then(|| debug(below)),
                "the hooks directory has no hook: put NAME.wasm files or executable NAME.sh files into it, or name another directory with --hooks"
            );
        }
        for file in files {
            let (name, path) = (file.stem(), file.path.clone());
            match self.load_file(file).await {
                Ok(hook) => self.loaded(hook),
                Err(error) => {
                    let file = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
                    let reason = error_chain(&error);
                    error!(file, reason, "hook quarantined: it does not run, others do");
                    self.services.hook_registry.quarantine(&name, reason, Registrations::Keep);
                    self.waits(&name, Some(&error));
                }
            }
        }
        Ok(())
    }

    fn loaded(&self, hook: Hook) {
        self.report_loaded(&hook);
        self.services.hook_registry.admit(Arc::new(hook));
    }

    pub(super) fn report_loaded(&self, hook: &Hook) {
        let component = &hook.component;
        self.services.metrics.hook_compiled(component.from_cache(), component.compile_time());
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

    /// Starts all hooks that were loaded: first the start-up runs in their order, then bindings and schedules in
    /// parallel.
    pub fn start(&self) {
        let hooks = self.services.hook_registry.live();
        self.start_these(&hooks);
        info!(hooks = hooks.len(), quarantined = self.services.hook_registry.quarantined().len(), "hooks started");
    }

    /// Starts a hook that does not run, as at the operator's start.
    pub(super) fn begin(&self, hook: Hook) {
        self.begin_all(vec![hook]);
    }

    /// Starts hooks that do not run, as at the operator's start, with the start-up runs in their order.
    pub(super) fn begin_all(&self, hooks: Vec<Hook>) {
        let names: Vec<_> = hooks.iter().map(|hook| hook.spec.name.clone()).collect();
        hooks.into_iter().for_each(|hook| self.loaded(hook));
        let hooks: Vec<_> = names.iter().filter_map(|name| self.services.hook_registry.hook(name)).collect();
        self.start_these(&hooks);
    }

    /// Stops a hook of a bundle that may not run for now.
    pub(super) async fn hold(&self, name: &HookName, held: &Held) {
        let (reason, registrations) = (error_chain(held), held.registrations());
        let out = || match held {
            Held::Suspended => self.services.hook_registry.remove(name.as_str()),
            _ => self.services.hook_registry.quarantine(name.as_str(), reason.clone(), registrations),
        };
        self.stop(name, out).await;
        self.waits(name.as_str(), held.load_error());
        if !matches!(held, Held::Suspended) {
            warn!(hook = %name, reason, "hook held: it does not run, others do");
        }
    }

    /// A hook does not run for this reason. If that is because another one reconciles its objects, it is tried again when
    /// that is over.
    fn waits(&self, name: &str, reason: Option<&HookLoadError>) {
        match reason {
            Some(HookLoadError::Claimed(refused)) => self.services.claims.wait(refused),
            _ => self.services.claims.stop_waiting(name),
        }
    }

    /// Stops hooks that lost their claims when they had just been loaded.
    pub(super) async fn give_way(&self, hooks: impl IntoIterator<Item = (HookName, Option<Claim>)>) {
        for (name, claim) in hooks {
            if let Some(reason) = claim.and_then(|claim| claim.lost()) {
                self.hold(&name, &Held::HookLoadError(reason.into())).await;
            }
        }
    }

    /// Stops a hook of a bundle that was removed.
    pub(super) async fn forget(&self, name: &HookName) {
        self.stop(name, || self.services.hook_registry.remove(name.as_str())).await;
        self.services.claims.stop_waiting(name.as_str());
        self.origins().remove(name.as_str());
        self.services.history.forget(name);
        info!(hook = %name, "hook removed");
    }

    /// Remembers the origin of a bundle's hook.
    pub(super) fn remember(&self, origin: Arc<Origin>) {
        self.origins().insert(origin.name.to_string(), origin);
    }

    /// Whether a hook of this name belongs to a bundle.
    pub(super) fn is_bundled(&self, name: &str) -> bool {
        self.origins().contains_key(name)
    }

    /// The bundle that a hook belongs to.
    pub(super) fn bundle_of(&self, name: &str) -> Option<BundleId> {
        self.origins().get(name).map(|origin| origin.terms.bundle.clone())
    }

    fn holds(&self) -> MutexGuard<'_, BTreeMap<HookName, usize>> {
        self.holds.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn origins(&self) -> MutexGuard<'_, BTreeMap<String, Arc<Origin>>> {
        self.origins.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for the hook's runs to end, and takes it out of the registry with `out`. `out` must do this in one step,
    /// because a hook that is in neither list for a moment would lose its registrations. The hook's triggers are
    /// dropped.
    async fn stop(&self, name: &HookName, out: impl Fn()) {
        let Some(hook) = self.services.hook_registry.hook(name) else {
            out();
            return self.services.health.forget(name);
        };
        let (_held, _) = self.quieted(&hook).await;
        drop(self.running().remove(name));
        out();
        self.drop_traces(name);
    }

    /// Forgets a hook that does not run. Returns the number of its triggers.
    pub(super) fn drop_traces(&self, name: &HookName) -> usize {
        let triggers = self.services.queue.remove_hook(name);
        self.services.loops.changed(name);
        self.services.reconcilers.forget(name);
        self.services.health.forget(name);
        self.services.operator.hook_metrics.forget(name);
        self.services.metrics.forget_hook(name);
        triggers
    }

    /// Describes a hook's bindings and its tenant to the metrics.
    pub(super) fn describe(&self, hook: &Hook) {
        let room = || self.services.kept.nothing(&hook.tenant());
        self.services.metrics.hook_described(&hook.spec, room(), SERIES / UNIT);
        self.services.operator.hook_metrics.settle(&hook.spec.name, room());
    }

    fn start_these(&self, hooks: &[Arc<Hook>]) {
        for hook in hooks {
            self.describe(hook);
            self.services.queue.add_hook(hook.spec.name.clone(), hook.queue_config());
            if self.services.hold {
                self.services.queue.pause(&hook.spec.name);
            }
        }
        // Start-up runs are pushed first, because synchronizations take their places after all of them.
        schedules::push_startups(hooks, &self.services.queue);
        let states: Vec<_> = hooks.iter().map(|hook| hook_tasks::expect(&self.services, hook, |_| true)).collect();
        for (hook, states) in hooks.iter().zip(states) {
            let hook_tasks = HookTasks::start(self.services.clone(), hook.clone(), states);
            self.running().insert(hook.spec.name.clone(), hook_tasks);
        }
    }

    pub(super) fn running(&self) -> MutexGuard<'_, BTreeMap<HookName, HookTasks>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a hook out until it is released or the operator restarts. Its triggers are dropped, and a run under way
    /// may end. Returns false if no such hook runs.
    pub fn quarantine(&self, name: &HookName, reason: &str) -> bool {
        if self.services.hook_registry.hook(name).is_none() {
            return false;
        }
        // Ends the tasks first, so that they start nothing more.
        drop(self.running().remove(name));
        self.services.hook_registry.quarantine(name.as_str(), reason.to_owned(), Registrations::Remove);
        let triggers = self.drop_traces(name);
        warn!(hook = %name, reason, triggers, "hook quarantined: it does not run, others do");
        true
    }

    /// Removes what a hook that cannot be loaded has registered. Returns false if nothing of it is registered.
    pub fn withdraw(&self, name: &str) -> bool {
        let withdrawn = self.services.hook_registry.withdraw(name);
        if withdrawn {
            info!(hook = name, "an admin withdrew what the quarantined hook has registered");
            HookName::new(name).iter().for_each(|name| self.services.health.forget(name));
        }
        withdrawn
    }

    /// Loads a quarantined hook from its file again, and starts it as at the operator's start.
    pub async fn release(&self, name: &str) -> Result<(), ReleaseError> {
        let origin = self.origins().get(name).cloned();
        let _one_at_a_time = match &origin {
            Some(origin) => origin.changing.lock().await,
            None => self.swapping.lock().await,
        };
        if !self.services.hook_registry.is_quarantined(name) {
            return Err(ReleaseError::NotQuarantined(name.to_owned()));
        }
        match self.load_again(name).await {
            Ok(hook) => {
                let (hook_name, claim) = (hook.spec.name.clone(), hook.claim.clone());
                self.begin(hook);
                info!(hook = %hook_name, "hook released");
                self.give_way([(hook_name, claim)]).await;
                Ok(())
            }
            Err(reason) => {
                self.services.hook_registry.quarantine(name, error_chain(&reason), reason.registrations());
                self.waits(name, reason.load_error());
                Err(ReleaseError::Still { name: name.to_owned(), reason })
            }
        }
    }

    /// Loads a bundle's hook, and decides whether it may start. It has no claim yet.
    pub(super) async fn judge(&self, origin: &Origin) -> Result<Hook, Held> {
        let Origin { name, source, terms, .. } = origin;
        let bytes = hold_reason::read(name, source, &self.services.sandbox).await?;
        let namespace = terms.bundle.namespace.as_deref();
        let tenant = namespace.map_or_else(|| Tenant::hook(name.as_str()), Tenant::namespace);
        let hook = hooks::load_for(&tenant, name, &bytes, &self.services.sandbox).await?;
        let requested = hook.spec.asks();
        // For a tenant, report "not granted" rather than "directory not offered": it is more helpful.
        if source.declared.as_ref().is_some_and(|declared| *declared != requested) {
            return Err(Held::Understated);
        }
        let hook = Hook { module: terms.module.clone(), ..hook };
        let hook = if namespace.is_none() { self.fitted(hook)? } else { self.with_variables(hook)? };
        let spec = scope(hook.spec, terms)?;
        granted(&narrow(requested, terms), terms).map_err(Held::Ungranted)?;
        let permissions = narrow(spec.permissions.iter().cloned(), terms);
        let spec = HookSpec { permissions: permissions.into(), ..spec };
        self.check_rights(&spec, terms).await?;
        let Terms { bundle, identity, credentials, settings, .. } = &**terms;
        let (credentials, settings) = (credentials.clone(), settings.clone());
        let bundled = Bundled { bundle: bundle.clone(), identity: identity.clone(), credentials, settings };
        let module = terms.module.clone();
        Ok(Hook { bundled: Some(bundled), module, ..Hook::new(spec, hook.component) })
    }

    /// Checks that the hook's ServiceAccount exists and has the rights that its bindings need. A kind that is not
    /// served yet is checked when it is served.
    pub(super) async fn check_rights(&self, spec: &HookSpec, terms: &Terms) -> Result<(), Held> {
        if let Some(identity) = &terms.identity {
            service_account::check(&self.services, identity, &narrow(spec.asks_to_answer(), terms)).await?;
        }
        for binding in &spec.kubernetes {
            if binding.may_watch == Default::default() {
                continue;
            }
            let found = self.services.discovery.find(binding.api_version.as_deref(), &binding.kind).await;
            let resource = match found {
                Ok(resource) => resource,
                Err(DiscoveryError::Unknown { .. }) => continue,
                Err(error) => return Err(Held::Discovery(error)),
            };
            let held = |reason| Held::NotWatched { binding: binding.name.to_string(), reason };
            service_account::check_watch(&self.services, binding, &resource).await.map_err(held)?;
        }
        Ok(())
    }

    async fn load_again(&self, name: &str) -> Result<Hook, Held> {
        let origin = self.origins().get(name).cloned();
        if let Some(origin) = origin {
            let hook = self.judge(&origin).await?;
            return Ok(Hook { claim: Some(self.claim(&hook.spec).await?), ..hook });
        }
        let file = find_hook(&self.directory.clone().unwrap_or_default(), name);
        Ok(self.load_file(file).await?)
    }

    /// Loads one of the directory's hooks, unless another hook reconciles its objects.
    async fn load_file(&self, file: HookFile) -> Result<Hook, HookLoadError> {
        let hook = load_file(file, &self.services.sandbox).await?;
        let hook = self.fitted(hook)?;
        let claim = self.claim(&hook.spec).await?;
        Ok(Hook { claim: Some(claim), ..hook })
    }

    /// A hook of the admin's as it runs in this operator, if it can.
    pub(super) fn fitted(&self, hook: Hook) -> Result<Hook, HookLoadError> {
        hooks::check_directories(&hook, &self.services.operator.directories)?;
        self.with_variables(hook)
    }

    fn with_variables(&self, hook: Hook) -> Result<Hook, HookLoadError> {
        hooks::check_stages(&hook.spec, hook.module.as_ref())?;
        if self.services.node_agent {
            hooks::check_for_every_node(&hook.spec)?;
        }
        Ok(Hook { spec: hook.spec.with_variables(&self.services.variables)?, ..hook })
    }

    /// Claims what the hook reconciles, and stops the confined hooks that give way to it. They are tried again when it is
    /// gone.
    pub(super) async fn claim(&self, spec: &HookSpec) -> Result<Claim, HookLoadError> {
        let (claim, displaced) = self.services.claims.take(spec)?;
        self.displace(displaced).await;
        Ok(claim)
    }

    /// Does the same for hooks of a bundle that start together.
    pub(super) async fn claim_together(
        &self,
        specs: &[&HookSpec],
        leaves: impl Fn(&HookName) -> bool,
        whole: bool,
    ) -> Taken {
        let mut taken = self.services.claims.take_together(specs, leaves, whole);
        self.displace(std::mem::take(&mut taken.displaced)).await;
        taken
    }

    async fn displace(&self, displaced: Vec<Displaced>) {
        for Displaced { hook, reason } in displaced {
            self.hold(&hook, &Held::HookLoadError(reason.into())).await;
        }
    }

    /// The hooks that do not run, with the reasons.
    pub fn quarantined(&self) -> Vec<(String, String)> {
        self.services.hook_registry.quarantined()
    }

    /// Fires the schedules of this name. Returns how many there are.
    pub fn tick(&self, hook: &HookName, schedule: &str) -> usize {
        let Some(hook) = self.services.hook_registry.hook(hook) else { return 0 };
        let named = hook.spec.schedules.iter().filter(|binding| binding.name.as_str() == schedule);
        named.inspect(|binding| schedules::fire(&self.services.queue, hook.spec.name.clone(), binding)).count()
    }

    /// Fires the hook's schedules now, in order, once for each of their times after `after` and up to `until`. Fires at
    /// most `most` times. Returns false if there were more.
    pub fn tick_within(&self, hook: &HookName, after: Timestamp, until: Timestamp, most: usize) -> bool {
        let Some(hook) = self.services.hook_registry.hook(hook) else { return true };
        let mut strikes: Vec<_> = (hook.spec.schedules.iter())
            .flat_map(|binding| schedules::times(binding, after, until).take(most + 1).map(move |at| (at, binding)))
            .collect();
        strikes.sort_by_key(|(at, _)| *at);
        for (at, binding) in strikes.iter().take(most) {
            schedules::strike_at(&self.services.queue, hook.spec.name.clone(), binding, *at);
        }
        strikes.len() <= most
    }

    /// Runs the triggers of the hook's last run again. First it passes their number to `tell`.
    pub fn run_again(&self, name: &HookName, tell: impl FnOnce(usize)) {
        let triggers =
            self.services.hook_registry.hook(name).map(|hook| self.services.last.of(&hook.spec)).unwrap_or_default();
        tell(triggers.len());
        for trigger in triggers {
            self.services.queue.push(trigger);
        }
    }

    /// Ends the tasks of all hooks.
    pub async fn shutdown(&self) {
        let running = std::mem::take(&mut *self.running());
        running.values().for_each(HookTasks::abort);
        for hook_tasks in running.into_values() {
            hook_tasks.end().await;
        }
    }

    /// Replaces the version of the hook that runs with the one in this file. A hook that is in quarantine or unknown
    /// starts. The swap continues to its end even if the caller stops waiting.
    pub async fn swap(self: &Arc<Self>, file: HookFile) -> Result<Swapped, SwapError> {
        let hook_manager = self.clone();
        tokio::spawn(async move { hook_manager.swap_now(file).await }).await.map_err(SwapError::Defect)?
    }

    /// Reads the hook's file in the directory again, and replaces the version that runs. The hook's queues and its dead
    /// letters stay. A new file becomes a new hook.
    pub(super) async fn reload(self: &Arc<Self>, name: &str) -> Result<Swapped, ReloadError> {
        if self.is_bundled(name) {
            return Err(ReloadError::Bundled(name.to_owned()));
        }
        let file = self.directory.as_ref().map(|directory| find_hook(directory, name));
        let Some(file) = file.filter(|file| HookName::new(name).is_ok() && file.path.is_file()) else {
            let directory = self.directory.as_ref().map_or("--hooks".into(), |directory| directory.to_string_lossy());
            return Err(ReloadError::NoFile { name: name.to_owned(), file: format!("{directory}/{name}.wasm") });
        };
        Ok(self.swap(file).await?)
    }

    async fn swap_now(&self, file: HookFile) -> Result<Swapped, SwapError> {
        let _one_at_a_time = self.swapping.lock().await;
        let began = Instant::now();
        let name = file.name.clone().map_err(SwapError::Name)?;
        let loaded = match self.load_file(file).await {
            Ok(hook) => Ok(self.replace(hook).await?),
            Err(reason) => Err(SwapError::Refused { name: name.clone(), reason }),
        };
        self.services.metrics.hook_swapped(loaded.is_ok());
        match loaded {
            Ok(swapped) => {
                let swapped = Swapped { took: began.elapsed(), ..swapped };
                describe(&swapped);
                Ok(swapped)
            }
            Err(error) => {
                let reason = error_chain(&error);
                warn!(hook = %name, reason, "hook not swapped");
                if self.services.hook_registry.is_quarantined(name.as_str()) {
                    self.services.hook_registry.quarantine(name.as_str(), reason, Registrations::Keep);
                    if let SwapError::Refused { reason, .. } = &error {
                        self.waits(name.as_str(), Some(reason));
                    }
                }
                Err(error)
            }
        }
    }

    /// Like [`HookManager::swap`], with a hook that is already loaded. Call it only once at a time for each hook.
    pub(super) async fn take_over(&self, hook: Hook) -> Result<Swapped, SwapError> {
        let began = Instant::now();
        let replaced = self.replace(hook).await;
        self.services.metrics.hook_swapped(replaced.is_ok());
        let swapped = Swapped { took: began.elapsed(), ..replaced? };
        describe(&swapped);
        Ok(swapped)
    }

    async fn replace(&self, hook: Hook) -> Result<Swapped, SwapError> {
        let (name, to) = (hook.spec.name.clone(), hook.component.digest().to_owned());
        let begun = hook.spec.kubernetes.len();
        let nothing = Swapped {
            hook: name.clone(),
            from: None,
            to,
            kept: 0,
            begun,
            dropped: 0,
            interrupted: false,
            took: Duration::ZERO,
        };
        match self.services.hook_registry.hook(&name) {
            Some(old) => self.replace_live(old, hook, nothing).await,
            None => {
                self.begin(hook);
                Ok(nothing)
            }
        }
    }

    /// Lets the hook's runs end, or interrupts them after the grace period. No new run starts in the meantime, or while
    /// the result exists.
    pub(super) async fn quieted<'a>(&'a self, hook: &'a Hook) -> (QueueHold<'a>, bool) {
        let (queue, name) = (&self.services.queue, &hook.spec.name);
        let held = QueueHold::new(self, name);
        let interrupted = timeout(self.grace_period, queue.quiet(name)).await.is_err();
        if interrupted {
            hook.interrupt.cancel();
            queue.quiet(name).await;
        }
        (held, interrupted)
    }

    async fn replace_live(&self, old: Arc<Hook>, new: Hook, swapped: Swapped) -> Result<Swapped, SwapError> {
        let (name, plan) = (&old.spec.name, Arc::new(Plan::new(&old.spec, &new.spec)));
        let gone = || SwapError::Gone(name.clone());
        let queue = &self.services.queue;
        let (_held, interrupted) = self.quieted(&old).await;
        let stopping = self.running().get(name).map(|hook_tasks| hook_tasks.stop(plan.clone())).ok_or_else(gone)?;
        let Some(stopped) = stopping.await else {
            return self.replace_dead(&old, new, Swapped { interrupted, ..swapped });
        };
        // From here to the end nothing can take the hook out, and nothing waits.
        let running = self.running();
        if !running.contains_key(name) || !self.services.hook_registry.is_live(&old) {
            return Err(gone());
        }
        self.report_loaded(&new);
        let new = Arc::new(new);
        let keep = &mut |trigger: &mut _| plan.keeps(&old.spec, &new.spec, trigger);
        let dropped = queue.update_hook(name, new.queue_config(), keep);
        for binding in &plan.stopped {
            queue.listed(name, binding);
            queue.complete(name, binding);
        }
        self.describe(&new);
        self.services.hook_registry.admit(new.clone());
        if plan.starts {
            schedules::push_startups(std::slice::from_ref(&new), queue);
        }
        hook_tasks::expect(&self.services, &new, |binding| !plan.watching.contains(binding));
        reconcile::renew(&self.services, &new.spec, |binding| plan.watching.contains(binding));
        stopped.go_on(new.clone());
        drop(running);
        self.services.loops.changed(name);
        let (kept, begun) = (plan.watching.len(), plan.begun.len());
        let from = Some(old.component.digest().to_owned());
        Ok(Swapped { from, kept, begun, dropped, interrupted, ..swapped })
    }

    /// The tasks of the old version ended by a defect of the operator. The old version cannot continue, because it
    /// watches nothing any more and its runs are interrupted. The new version starts as at the operator's start.
    fn replace_dead(&self, old: &Arc<Hook>, new: Hook, swapped: Swapped) -> Result<Swapped, SwapError> {
        let name = &old.spec.name;
        let mut running = self.running();
        if !running.contains_key(name) || !self.services.hook_registry.is_live(old) {
            return Err(SwapError::Gone(name.clone()));
        }
        error!(hook = %name, "the hook's tasks ended: its new version starts with a synchronization");
        running.remove(name);
        drop(running);
        let dropped = self.drop_traces(name);
        self.begin(new);
        Ok(Swapped { from: Some(old.component.digest().to_owned()), dropped, ..swapped })
    }
}

fn describe(swapped: &Swapped) {
    let Swapped { hook, from, to, kept, begun, dropped, interrupted, took } = swapped;
    let (from, ms) = (from.as_deref().unwrap_or("none"), ms(*took));
    info!(%hook, from, to, kept, begun, dropped, interrupted, ms, "hook swapped");
}
