//! What each hook still waits for, according to its bindings and the queues.

use std::{
    collections::{BTreeMap, HashMap},
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError},
    time::Instant,
};

use boathook_core::{
    causes::Causes,
    filter::BindingStatus,
    model::{BindingName, HookName, HookSpec, QueueName},
    queue::{self, HookStats},
    tasks::Tasks,
};
use boathook_kube::{
    election::Leadership,
    watch::{StreamStats, Streams},
};
use tokio::sync::watch;

use super::{
    Services,
    api_server_health::Contact,
    binding_states::{BindingState, BindingStates},
    loops,
    sources::{Awaited, Sources},
};
use crate::{
    registration::Wanted,
    telemetry::{Converge, HookReadiness, Metrics, Readiness, Role},
};

/// The state of all hooks.
pub struct Health {
    metrics: Arc<Metrics>,
    hooks: Mutex<BTreeMap<HookName, HookHealth>>,
    /// Set when every hook was either loaded or refused.
    queue: OnceLock<queue::Handle>,
    /// Notified when a binding was listed, or hooks or sources changed.
    changes: watch::Sender<()>,
    /// What is served and registered for the hooks at the API server. Unset if webhooks are not served at all.
    registered: OnceLock<watch::Receiver<Wanted>>,
    leadership: Leadership,
    sources: Sources,
    tasks: Tasks,
    contact: Contact,
    /// The API server's address, and the watches there.
    server: OnceLock<(String, Streams)>,
    causes: OnceLock<Arc<Causes>>,
    /// How far modules are. `None`: the operator runs none.
    modules: Mutex<Option<Converge>>,
}

struct HookHealth {
    /// Whether it belongs to a HookBundle or a module: readiness waits for it only while the operator starts.
    tenants: bool,
    bindings: Arc<BindingStates>,
    /// The document, if the hook answers the API server.
    answers: Option<HookSpec>,
}

impl Health {
    pub fn new(
        metrics: Arc<Metrics>,
        leadership: Leadership,
        awaited: &Awaited,
        tasks: Tasks,
        contact: Contact,
    ) -> Self {
        let changes = watch::Sender::default();
        Self {
            metrics,
            hooks: Mutex::default(),
            queue: OnceLock::new(),
            sources: Sources::new(awaited, changes.clone()),
            changes,
            registered: OnceLock::new(),
            leadership,
            tasks,
            contact,
            server: OnceLock::new(),
            causes: OnceLock::new(),
            modules: Mutex::default(),
        }
    }

    /// Takes a note of how far modules are. An operator that runs modules does so before it starts.
    pub fn note_converge(&self, converge: Converge) {
        *self.modules() = Some(converge);
    }

    fn modules(&self) -> MutexGuard<'_, Option<Converge>> {
        self.modules.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The sources of hooks.
    pub fn sources(&self) -> &Sources {
        &self.sources
    }

    pub fn tasks(&self) -> &Tasks {
        &self.tasks
    }

    pub fn leadership(&self) -> &Leadership {
        &self.leadership
    }

    fn hooks(&self) -> MutexGuard<'_, BTreeMap<HookName, HookHealth>> {
        self.hooks.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A hook was loaded or has a new document. In a new document, the `kept` bindings continue as they are, and the
    /// others have to be synchronized.
    pub fn replace(&self, spec: &HookSpec, tenants: bool, kept: impl Fn(&BindingName) -> bool) -> Arc<BindingStates> {
        let mut hooks = self.hooks();
        let bindings = hooks.remove(&spec.name).map(|known| known.bindings).unwrap_or_else(|| {
            Arc::new(BindingStates::new(spec.name.clone(), self.changes.clone(), self.metrics.clone()))
        });
        bindings.replace(spec, kept);
        let answers = spec.answers().then(|| spec.clone());
        hooks.insert(spec.name.clone(), HookHealth { tenants, bindings: bindings.clone(), answers });
        drop(hooks);
        self.changes.send_replace(());
        bindings
    }

    /// A hook was taken out.
    pub fn forget(&self, hook: &HookName) {
        self.hooks().remove(hook);
        self.changes.send_replace(());
    }

    /// All hooks were started.
    pub fn started(&self, queue: queue::Handle, services: &Services) {
        // There is no second start. If there were, the first handle would stay.
        let _ = self.server.set((services.server.clone(), services.streams.clone()));
        let _ = self.causes.set(services.causes.clone());
        let _ = self.queue.set(queue);
    }

    /// What is wrong with the API server, if anything. It makes no hook unready, because hooks keep what they know, and
    /// another Pod would have the same API server.
    pub fn api_server(&self) -> Option<String> {
        let (server, watches) = match self.server.get() {
            Some((server, streams)) => {
                let heard = |stats: StreamStats| stats.last_activity.unwrap_or(stats.began);
                (server.as_str(), streams.stats().into_iter().map(heard).max())
            }
            None => ("", None),
        };
        self.contact.trouble(watches).map(|trouble| format!("the API server {server} {trouble}").replace("  ", " "))
    }

    /// Webhooks will be served, so hooks that answer wait until they are registered.
    pub fn registered(&self, registered: watch::Receiver<Wanted>) {
        // There is only one receiver, as with the queue.
        let _ = self.registered.set(registered);
    }

    /// Notifies when hooks and sources are added or removed, and when bindings know their objects.
    pub fn changes(&self) -> watch::Receiver<()> {
        self.changes.subscribe()
    }

    /// Returns those of these bindings that do not know their objects yet. A kind that is not served has no objects.
    pub fn unlisted(&self, hook: &HookName, bindings: &[BindingName]) -> Vec<BindingName> {
        self.except(hook, bindings, BindingState::is_listed)
    }

    /// Returns those of these bindings that do not know all of their objects now.
    pub fn incomplete(&self, hook: &HookName, bindings: &[BindingName]) -> Vec<BindingName> {
        self.except(hook, bindings, BindingState::is_complete)
    }

    fn except(
        &self,
        hook: &HookName,
        bindings: &[BindingName],
        so: impl Fn(&BindingState) -> bool,
    ) -> Vec<BindingName> {
        self.each(hook, |known| {
            let is_so = |name: &BindingName| known.iter().any(|binding| binding.name == *name && so(binding));
            bindings.iter().filter(|name| !is_so(name)).cloned().collect()
        })
    }

    /// Reads a hook's bindings in the document's order. A hook that is not known has none.
    fn each<T>(&self, hook: &HookName, read: impl FnOnce(&[BindingState]) -> T) -> T {
        let known = self.hooks().get(hook).map(|known| known.bindings.clone());
        match known {
            Some(bindings) => bindings.read(read),
            None => read(&[]),
        }
    }

    /// Each binding's status, for metrics.
    pub fn statuses(&self) -> Vec<(HookName, BindingName, QueueName, Arc<BindingStatus>)> {
        let of_hook = |(hook, known): (&HookName, &HookHealth)| {
            let each = |binding: &BindingState| {
                (hook.clone(), binding.name.clone(), binding.queue.clone(), binding.status.clone())
            };
            known.bindings.read(|bindings| bindings.iter().map(each).collect::<Vec<_>>())
        };
        self.hooks().iter().flat_map(of_hook).collect()
    }

    /// The life of a hook's bindings, if the hook has started.
    pub fn states(&self, hook: &HookName) -> Option<Arc<BindingStates>> {
        self.hooks().get(hook).map(|known| known.bindings.clone())
    }

    /// The status of a hook's bindings in the document's order, and for those that cannot be watched, why they are
    /// pending.
    pub fn bindings(&self, hook: &HookName) -> Vec<(Arc<BindingStatus>, Option<String>)> {
        let each = |binding: &BindingState| (binding.status.clone(), binding.pending.clone());
        self.each(hook, |bindings| bindings.iter().map(each).collect())
    }

    /// Why the snapshots of a hook's bindings do not contain all objects, in the document's order. `None` for a complete
    /// snapshot.
    pub fn why_incomplete(&self, hook: &HookName) -> Vec<Option<String>> {
        self.each(hook, |bindings| bindings.iter().map(BindingState::incomplete).collect())
    }

    /// The same for one binding.
    pub fn why_binding_incomplete(&self, hook: &HookName, binding: &BindingName) -> Option<String> {
        self.each(hook, |known| known.iter().find(|one| one.name == *binding).and_then(BindingState::incomplete))
    }

    fn role(&self) -> Role {
        match &self.leadership {
            leadership if leadership.is_alone() => Role::Alone,
            leadership if leadership.leads() => Role::Leader,
            _ => Role::Standby,
        }
    }

    /// What is still waited for. A standby is ready to take over when it knows all objects.
    pub fn readiness(&self) -> Readiness {
        let role = self.role();
        let ended = self.tasks.first_ended().map(|ended| ended.to_string());
        let api_server = self.api_server();
        let modules = *self.modules();
        let Some(queue) = self.queue.get() else {
            return Readiness { role, ended, api_server, modules, ..Readiness::default() };
        };
        let standby = role == Role::Standby;
        let registered = self.registered.get().map(|registered| registered.borrow().hooks.clone());
        let registered: Option<HashMap<_, _>> = registered.as_ref().map(|hooks| {
            hooks.iter().filter(|known| known.ready).map(|known| (&known.spec.name, &*known.spec)).collect()
        });
        // Bindings are read before the queues, because a binding's synchronization is pushed before the binding counts
        // as synchronized.
        let listed: Vec<_> = (self.hooks().iter())
            .map(|(hook, known)| (hook.clone(), known.tenants, missing(known, standby, registered.as_ref())))
            .collect();
        let stats = queue.stats();
        let stats: HashMap<_, _> = stats.hooks.iter().map(|stats| (&stats.hook, stats)).collect();
        // Another replica answers reviews until this one has everything. A single one has nobody to wait for, and one
        // tenant's bundle must not make it longer that others' hooks are not reached. Runs do not matter: their own
        // writes may be reviewed here.
        let replicas = role != Role::Alone;
        let waits = listed.iter().any(|(_, tenants, missing)| (replicas || !*tenants) && !missing.is_empty())
            || self.sources.readiness(replicas).iter().any(|source| source.counts && !source.missing.is_empty());
        let hooks = listed.into_iter().map(|(hook, tenants, mut missing)| {
            if let Some(stats) = stats.get(&hook).filter(|_| !standby) {
                missing.extend(unfinished(stats));
            }
            (tenants, HookReadiness { hook: hook.to_string(), missing, counts: true })
        });
        let mut hooks: Vec<_> = hooks.collect();
        let waiting = hooks.iter().any(|(_, hook)| !hook.missing.is_empty());
        let starting = self.sources.is_starting(Instant::now(), waiting);
        let serves = ended.is_none() && !(starting && waits);
        hooks.iter_mut().for_each(|(tenants, hook)| hook.counts = starting || !*tenants);
        let hooks = hooks.into_iter().map(|(_, hook)| hook).collect();
        let sources = self.sources.readiness(starting);
        let loops = self.causes.get().map(|causes| loops::all(causes)).unwrap_or_default();
        let quarantined = Vec::new();
        Readiness { started: true, role, ended, api_server, serves, modules, hooks, sources, loops, quarantined }
    }
}

/// `registered` contains the documents that are served and registered, if webhooks are served at all.
fn missing(hook: &HookHealth, standby: bool, registered: Option<&HashMap<&HookName, &HookSpec>>) -> Vec<String> {
    let mut missing: Vec<_> =
        hook.bindings.read(|bindings| bindings.iter().filter_map(|binding| binding.missing(standby)).collect());
    // Only the leader registers webhooks.
    if let (false, Some(spec), Some(registered)) = (standby, &hook.answers, registered)
        && registered.get(&spec.name) != Some(&spec)
    {
        missing.push("its webhooks are not served and registered at the API server".to_owned());
    }
    missing
}

fn unfinished(stats: &HookStats) -> Vec<String> {
    let startup = stats.starting.then(|| "onStartup has not succeeded".to_owned());
    let synchronizations =
        stats.unsynchronised.iter().map(|binding| format!("synchronization of binding {binding} has not succeeded"));
    startup.into_iter().chain(synchronizations).collect()
}
