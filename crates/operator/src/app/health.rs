//! What each hook still waits for, according to its bindings and the queues.

use std::{
    collections::{BTreeMap, HashMap},
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError},
    time::Instant,
};

use boathook_core::{
    filter::BindingStatus,
    model::{BindingName, HookName, HookSpec, KubernetesBinding, QueueName},
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
    contact::Contact,
    sources::{Awaited, Sources},
};
use crate::{
    registration::Wanted,
    telemetry::{HookReadiness, Metrics, Readiness, Role},
};

struct BindingHealth {
    name: BindingName,
    queue: QueueName,
    status: Arc<BindingStatus>,
    /// Why its kind cannot be watched yet.
    pending: Option<String>,
    /// Whether all its objects were listed once.
    listed: bool,
    /// Whether its snapshot contains all objects. It has no meaning before they were listed.
    complete: bool,
    /// Whether there are no objects because the kind is not served.
    unserved: bool,
}

impl BindingHealth {
    fn new(spec: &KubernetesBinding) -> Self {
        let (name, queue) = (spec.name.clone(), spec.queue.clone());
        Self { name, queue, status: Arc::default(), pending: None, listed: false, complete: true, unserved: false }
    }
}

impl BindingHealth {
    fn is_listed(&self) -> bool {
        self.listed || self.unserved
    }

    fn is_complete(&self) -> bool {
        self.is_listed() && self.complete
    }

    /// Why its snapshot does not contain all objects, if it does not.
    fn incomplete(&self) -> Option<String> {
        let error = || self.status.last_error().unwrap_or_default();
        match (&self.pending, self.status.late()) {
            _ if self.is_complete() => None,
            (Some(reason), _) => Some(reason.clone()),
            (None, 0) if !self.is_listed() => Some("it has not listed its objects".to_owned()),
            (None, 0) => Some(format!("objects are missing or old: {}", error())),
            (None, late) => Some(format!("{late} objects are missing or old: {}", error())),
        }
    }
}

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
}

struct HookHealth {
    /// Whether it belongs to a HookBundle.
    tenants: bool,
    since: Instant,
    bindings: Vec<BindingHealth>,
    /// The document, if the hook answers the API server.
    answers: Option<HookSpec>,
}

impl HookHealth {
    fn binding(&mut self, name: &BindingName) -> Option<&mut BindingHealth> {
        self.bindings.iter_mut().find(|binding| binding.name == *name)
    }
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
        }
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
    pub fn replace(&self, spec: &HookSpec, tenants: bool, kept: impl Fn(&BindingName) -> bool) {
        let mut hooks = self.hooks();
        let before = hooks.remove(&spec.name).map(|known| known.bindings).unwrap_or_default();
        let (mut before, _): (Vec<_>, Vec<_>) = before.into_iter().partition(|binding| kept(&binding.name));
        let bindings = spec.kubernetes.iter().map(|binding| {
            let same = before.iter().position(|known| known.name == binding.name);
            same.map_or_else(|| BindingHealth::new(binding), |place| before.swap_remove(place))
        });
        let bindings: Vec<_> = bindings.collect();
        if bindings.iter().any(|binding| !binding.listed) {
            self.metrics.set_enabled(&spec.name, None);
        }
        let answers = spec.answers().then(|| spec.clone());
        hooks.insert(spec.name.clone(), HookHealth { tenants, since: Instant::now(), bindings, answers });
        drop(hooks);
        self.changes.send_replace(());
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

    /// A binding's objects cannot be watched yet, and there may be some.
    pub fn pending(&self, hook: &HookName, binding: &BindingName, reason: &str) {
        self.not_watched(hook, binding, reason, false);
    }

    /// A binding's kind is not served yet.
    pub fn unserved(&self, hook: &HookName, binding: &BindingName, reason: &str) {
        self.not_watched(hook, binding, reason, true);
    }

    fn not_watched(&self, hook: &HookName, binding: &BindingName, reason: &str, unserved: bool) {
        if let Some(binding) = self.hooks().get_mut(hook).and_then(|known| known.binding(binding)) {
            binding.pending = Some(reason.to_owned());
            // The flag stays until the kind is found, even if the API server cannot be reached in the meantime.
            binding.unserved |= unserved;
            self.metrics.enable_failed(hook);
            self.changes.send_replace(());
        }
    }

    /// A listed binding's snapshot is incomplete, or is complete again.
    pub fn complete(&self, hook: &HookName, binding: &BindingName, complete: bool) {
        if let Some(binding) = self.hooks().get_mut(hook).and_then(|known| known.binding(binding)) {
            binding.complete = complete;
            self.changes.send_replace(());
        }
    }

    /// A binding's objects were listed.
    pub fn listed(&self, hook: &HookName, binding: &BindingName) {
        let mut hooks = self.hooks();
        let Some(known) = hooks.get_mut(hook) else { return };
        if let Some(binding) = known.binding(binding) {
            binding.listed = true;
            binding.pending = None;
        }
        if known.bindings.iter().all(|binding| binding.listed) {
            self.metrics.set_enabled(hook, Some(known.since.elapsed()));
        }
        self.changes.send_replace(());
    }

    /// Notifies when hooks and sources are added or removed, and when bindings know their objects.
    pub fn changes(&self) -> watch::Receiver<()> {
        self.changes.subscribe()
    }

    /// Returns those of these bindings that do not know their objects yet. A kind that is not served has no objects.
    pub fn unlisted(&self, hook: &HookName, bindings: &[BindingName]) -> Vec<BindingName> {
        self.except(hook, bindings, BindingHealth::is_listed)
    }

    /// Returns those of these bindings that do not know all of their objects now.
    pub fn incomplete(&self, hook: &HookName, bindings: &[BindingName]) -> Vec<BindingName> {
        self.except(hook, bindings, BindingHealth::is_complete)
    }

    fn except(
        &self,
        hook: &HookName,
        bindings: &[BindingName],
        so: impl Fn(&BindingHealth) -> bool,
    ) -> Vec<BindingName> {
        let hooks = self.hooks();
        let known = hooks.get(hook).map(|known| known.bindings.as_slice()).unwrap_or_default();
        let is_so = |name: &BindingName| known.iter().any(|binding| binding.name == *name && so(binding));
        bindings.iter().filter(|name| !is_so(name)).cloned().collect()
    }

    /// A binding's kind was found. From now on its status describes it.
    pub fn enabled(&self, hook: &HookName, binding: &BindingName) -> Arc<BindingStatus> {
        let mut hooks = self.hooks();
        let Some(binding) = hooks.get_mut(hook).and_then(|known| known.binding(binding)) else {
            return Arc::default();
        };
        (binding.pending, binding.unserved) = (None, false);
        binding.status.clone()
    }

    /// Each binding's status, for metrics.
    pub fn statuses(&self) -> Vec<(HookName, BindingName, QueueName, Arc<BindingStatus>)> {
        let of_hook = |(hook, known): (&HookName, &HookHealth)| {
            let each = |binding: &BindingHealth| {
                (hook.clone(), binding.name.clone(), binding.queue.clone(), binding.status.clone())
            };
            known.bindings.iter().map(each).collect::<Vec<_>>()
        };
        self.hooks().iter().flat_map(of_hook).collect()
    }

    /// The status of a hook's bindings in the document's order, and for those that cannot be watched, why they are
    /// pending.
    pub fn bindings(&self, hook: &HookName) -> Vec<(Arc<BindingStatus>, Option<String>)> {
        let hooks = self.hooks();
        let bindings = hooks.get(hook).into_iter().flat_map(|known| &known.bindings);
        bindings.map(|binding| (binding.status.clone(), binding.pending.clone())).collect()
    }

    /// Why the snapshots of a hook's bindings do not contain all objects, in the document's order. `None` for a complete
    /// snapshot.
    pub fn why_incomplete(&self, hook: &HookName) -> Vec<Option<String>> {
        let hooks = self.hooks();
        hooks.get(hook).into_iter().flat_map(|known| &known.bindings).map(BindingHealth::incomplete).collect()
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
        let Some(queue) = self.queue.get() else {
            return Readiness { role, ended, api_server, ..Readiness::default() };
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
        let hooks = listed.into_iter().map(|(hook, tenants, mut missing)| {
            if let Some(stats) = stats.get(&hook).filter(|_| !standby) {
                missing.extend(unfinished(stats));
            }
            (tenants, HookReadiness { hook: hook.to_string(), missing, counts: true })
        });
        let mut hooks: Vec<_> = hooks.collect();
        let waiting = hooks.iter().any(|(tenants, hook)| *tenants && !hook.missing.is_empty());
        let count = self.sources.count_tenants(Instant::now(), waiting);
        hooks.iter_mut().for_each(|(tenants, hook)| hook.counts = count || !*tenants);
        let hooks = hooks.into_iter().map(|(_, hook)| hook).collect();
        let sources = self.sources.readiness(count);
        Readiness { started: true, role, ended, api_server, hooks, sources, quarantined: Vec::new() }
    }
}

/// `registered` contains the documents that are served and registered, if webhooks are served at all.
fn missing(hook: &HookHealth, standby: bool, registered: Option<&HashMap<&HookName, &HookSpec>>) -> Vec<String> {
    let mut missing = unlisted(&hook.bindings, standby);
    // Only the leader registers webhooks.
    if let (false, Some(spec), Some(registered)) = (standby, &hook.answers, registered)
        && registered.get(&spec.name) != Some(&spec)
    {
        missing.push("its webhooks are not served and registered at the API server".to_owned());
    }
    missing
}

fn unlisted(bindings: &[BindingHealth], standby: bool) -> Vec<String> {
    let missing = |binding: &BindingHealth| match &binding.pending {
        Some(reason) => Some(format!("binding {} is pending: {reason}", binding.name)),
        None if binding.status.is_synchronised() => None,
        None if binding.status.is_listed() && standby => None,
        None if binding.status.is_listed() => {
            Some(format!("binding {} waits for other bindings of its hook", binding.name))
        }
        None if binding.status.late() > 0 => {
            let (late, error) = (binding.status.late(), binding.status.last_error().unwrap_or_default());
            Some(format!("binding {}: its filter could not run on {late} objects yet: {error}", binding.name))
        }
        None => Some(format!("binding {} has not listed its objects", binding.name)),
    };
    bindings.iter().filter_map(missing).collect()
}

fn unfinished(stats: &HookStats) -> Vec<String> {
    let startup = stats.starting.then(|| "onStartup has not succeeded".to_owned());
    let synchronizations =
        stats.unsynchronised.iter().map(|binding| format!("synchronization of binding {binding} has not succeeded"));
    startup.into_iter().chain(synchronizations).collect()
}
