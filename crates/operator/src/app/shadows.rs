//! Versions of bundles that run in the shadow of the installed ones: which hooks have one, which of their runs are done
//! again, and how they compare. What is done with the result is not decided here.
//!
//! A run is noted in memory while it runs, and done again after it has ended. Shadow runs take one slot of all together, so
//! they hardly hold up others. A run for which there is no room is left out and counted.

use std::{
    collections::{BTreeMap, HashSet},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use boathook_core::model::{
    BindingName, BindingRef, BundleId, Caller, Comparison, HookComparison, HookName, HookSpec, missing,
};
use boathook_sandbox::{Host, RunReport, Sandbox};
use tokio::sync::Semaphore;
use tokio_util::sync::{CancellationToken, DropGuard};
use tracing::info;

use super::{Services, hooks::Hook, host::HostCalls};
use crate::{
    record::{
        Asked, Given,
        replay::{Compared, Noted},
        secrets::bindings_of_secrets,
    },
    telemetry::Metrics,
};

/// How many runs wait to be compared.
const WAITING: usize = 16;
/// The most bytes that are noted of one run.
const NOTED: usize = 2 * 1024 * 1024;
/// How many reasons not to compare something are kept.
const REASONS: usize = 16;

/// A version in the shadow of the installed one.
pub(super) struct Version {
    digest: String,
    hooks: Vec<Arc<Shadow>>,
    not_compared: Vec<String>,
    /// Ends what is compared.
    _ends: DropGuard,
}

impl Version {
    /// What its hooks compare ends with it. They have clones of `over`.
    pub fn new(
        digest: String,
        hooks: Vec<Arc<Shadow>>,
        mut not_compared: Vec<String>,
        over: CancellationToken,
    ) -> Self {
        not_compared.truncate(REASONS);
        Self { digest, hooks, not_compared, _ends: over.drop_guard() }
    }
}

/// A hook in the shadow of the one that runs.
pub(super) struct Shadow {
    /// Its name in the bundle.
    name: HookName,
    hook: Hook,
    /// The bindings that are the same in both versions.
    bindings: HashSet<BindingName>,
    hides: bool,
    tally: Mutex<Tally>,
    over: CancellationToken,
}

#[derive(Default)]
struct Tally {
    equal: u64,
    different: u64,
    skipped: u64,
    example: Option<String>,
}

impl Shadow {
    /// `name` is the hook's name in the bundle. What is compared ends with `over`.
    pub fn new(name: HookName, old: &HookSpec, hook: Hook, over: CancellationToken) -> Self {
        Self {
            name,
            bindings: shared(old, &hook.spec),
            hides: !bindings_of_secrets(&hook.spec).is_empty() || !bindings_of_secrets(old).is_empty(),
            hook,
            tally: Mutex::default(),
            over,
        }
    }

    pub fn name(&self) -> &HookName {
        &self.name
    }

    fn tally(&self) -> MutexGuard<'_, Tally> {
        self.tally.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn comparison(&self) -> HookComparison {
        let Tally { equal, different, skipped, example } = &*self.tally();
        let (equal, different, skipped, example) = (*equal, *different, *skipped, example.clone());
        HookComparison { name: self.name.clone(), equal, different, skipped, example }
    }

    fn compares(&self, asked: &Asked) -> bool {
        match asked {
            Asked::Run(request) => request.triggers.iter().all(|trigger| self.bindings.contains(&trigger.binding)),
            other => other.binding().is_some_and(|binding| self.bindings.contains(binding)),
        }
    }

    fn note(&self, compared: &Compared) -> &'static str {
        let mut tally = self.tally();
        match compared {
            Compared::Equal => tally.equal += 1,
            Compared::Unknown => tally.skipped += 1,
            Compared::Different(example) => {
                tally.different += 1;
                tally.example.get_or_insert_with(|| example.clone());
            }
        }
        match compared {
            Compared::Equal => "equal",
            Compared::Different(_) => "different",
            Compared::Unknown => "skipped",
        }
    }
}

/// The bindings that are the same in both documents.
fn shared(old: &HookSpec, new: &HookSpec) -> HashSet<BindingName> {
    let same = new.bindings().filter(|binding| old.bindings().any(|other| same(other, *binding)));
    same.map(name).collect()
}

fn same(one: BindingRef<'_>, other: BindingRef<'_>) -> bool {
    match (one, other) {
        (BindingRef::Startup(one), BindingRef::Startup(other)) => one == other,
        (BindingRef::Stage(one), BindingRef::Stage(other)) => one == other,
        (BindingRef::Schedule(one), BindingRef::Schedule(other)) => one == other,
        (BindingRef::Kubernetes(one), BindingRef::Kubernetes(other)) => one == other,
        (BindingRef::Reconcile(one), BindingRef::Reconcile(other)) => one == other,
        (BindingRef::Admission(one), BindingRef::Admission(other)) => one == other,
        (BindingRef::Conversion(one), BindingRef::Conversion(other)) => one == other,
        (
            BindingRef::Startup(_)
            | BindingRef::Stage(_)
            | BindingRef::Schedule(_)
            | BindingRef::Kubernetes(_)
            | BindingRef::Reconcile(_)
            | BindingRef::Admission(_)
            | BindingRef::Conversion(_),
            _,
        ) => false,
    }
}

fn name(binding: BindingRef<'_>) -> BindingName {
    match binding {
        BindingRef::Startup(_) => BindingName::new("onStartup"),
        BindingRef::Stage(binding) => BindingName::new(binding.stage.key()),
        BindingRef::Schedule(binding) => binding.name.clone(),
        BindingRef::Kubernetes(binding) => binding.name.clone(),
        BindingRef::Reconcile(binding) => binding.name.clone(),
        BindingRef::Admission(binding) => binding.name.clone(),
        BindingRef::Conversion(binding) => binding.name.clone(),
    }
}

/// What a comparison of the runs does not show: bindings that differ, and permissions that the new version does not request
/// any more. A start-up happens only when the operator starts, so it differs if there is none in the old version.
pub(super) fn not_compared(name: &HookName, old: &HookSpec, new: &HookSpec) -> Vec<String> {
    let shared = shared(old, new);
    let mut named: Vec<String> = Vec::new();
    for binding in new.bindings().chain(old.bindings()).map(self::name) {
        let text = format!("hook {name}: binding {binding} differs");
        if !shared.contains(&binding) && !named.contains(&text) {
            named.push(text);
        }
    }
    if !missing(&old.permissions, &new.permissions).is_empty() {
        named.push(format!("hook {name}: it no longer requests all permissions of the running version"));
    }
    named
}

/// All versions that run in the shadow of others.
pub(super) struct Shadows {
    versions: Mutex<BTreeMap<BundleId, Version>>,
    waiting: Arc<Semaphore>,
    slot: Arc<Semaphore>,
}

impl Default for Shadows {
    fn default() -> Self {
        let (waiting, slot) = (Arc::new(Semaphore::new(WAITING)), Arc::new(Semaphore::new(1)));
        Self { versions: Mutex::default(), waiting, slot }
    }
}

impl Shadows {
    fn versions(&self) -> MutexGuard<'_, BTreeMap<BundleId, Version>> {
        self.versions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The version runs in the shadow from now on, in place of another one.
    pub fn begin(&self, id: &BundleId, version: Version) {
        info!(bundle = %id, digest = version.digest, hooks = version.hooks.len(), "a version runs in the shadow of the installed one");
        self.versions().insert(id.clone(), version);
    }

    /// Ends what runs in the shadow of this bundle.
    pub fn end(&self, id: &BundleId) {
        if let Some(version) = self.versions().remove(id) {
            info!(bundle = %id, digest = version.digest, "the version in the shadow ended");
        }
    }

    pub fn comparison(&self, id: &BundleId) -> Option<Comparison> {
        let versions = self.versions();
        let Version { digest, hooks, not_compared, .. } = versions.get(id)?;
        let hooks = hooks.iter().map(|shadow| shadow.comparison()).collect();
        Some(Comparison { digest: digest.clone(), hooks, not_compared: not_compared.clone() })
    }

    fn of(&self, hook: &Hook) -> Option<Arc<Shadow>> {
        let bundle = &hook.bundled.as_ref()?.bundle;
        let versions = self.versions();
        let of = |shadow: &&Arc<Shadow>| shadow.hook.spec.name == hook.spec.name;
        versions.get(bundle)?.hooks.iter().find(of).cloned()
    }
}

/// A call of a hook that another version is compared with.
pub(super) struct Shadowed {
    shadow: Arc<Shadow>,
    noted: Noted,
    caller: Caller,
    sandbox: Arc<Sandbox>,
    /// It is fenced, so nothing is sent after this process has led.
    operator: Arc<HostCalls>,
    metrics: Arc<Metrics>,
    waiting: Arc<Semaphore>,
    slot: Arc<Semaphore>,
}

impl Shadowed {
    /// Begins to note a call, if the hook has a shadow that can be compared. `host` answers the call.
    pub fn begin(services: &Services, hook: &Hook, host: Arc<dyn Host>, asked: impl FnOnce() -> Asked) -> Option<Self> {
        let shadow = services.shadows.of(hook)?;
        let asked = asked();
        if !shadow.compares(&asked) {
            return None;
        }
        let of = asked.caller();
        let caller = shadow.hook.caller(of.run.clone(), of.dry_run);
        // A conversion has no permissions.
        let caller = match &asked {
            Asked::Conversion(_) => Caller { permissions: Arc::new([]), ..caller },
            Asked::Run(_) | Asked::Review(_) | Asked::Reconcile(_) => caller,
        };
        Some(Self {
            noted: Noted::begin(host, NOTED, asked),
            caller,
            shadow,
            sandbox: services.sandbox.clone(),
            operator: services.operator.clone(),
            metrics: services.metrics.clone(),
            waiting: services.shadows.waiting.clone(),
            slot: services.shadows.slot.clone(),
        })
    }

    /// The host to give to the call.
    pub fn host(&self) -> Arc<dyn Host> {
        self.noted.host()
    }

    /// The call has ended. It is done again when there is a slot.
    pub fn end<T: Clone + Into<Given>>(self, report: &RunReport<T>) {
        let Self { shadow, noted, caller, sandbox, operator, metrics, waiting, slot } = self;
        let limits = shadow.hook.spec.limits;
        let (Some(original), Ok(place)) = (noted.end(report), waiting.try_acquire_owned()) else {
            shadow.note(&Compared::Unknown);
            metrics.shadow_run(&caller.hook, "skipped");
            return;
        };
        tokio::spawn(async move {
            let _place = place;
            let hook = caller.hook.clone();
            let again = async {
                let _slot = slot.acquire().await;
                let component = &shadow.hook.component;
                original.compare(&sandbox, component, (caller, limits), operator, shadow.hides).await
            };
            let compared = tokio::select! {
                () = shadow.over.cancelled() => return,
                compared = again => compared,
            };
            if let Compared::Different(example) = &compared {
                info!(%hook, example, "a run of the version in the shadow differs");
            }
            metrics.shadow_run(&hook, shadow.note(&compared));
        });
    }
}

#[cfg(test)]
mod tests {
    use boathook_core::hooks::parse;

    use super::*;

    fn spec(document: &str) -> HookSpec {
        parse(&HookName::new("h").unwrap(), &format!("configVersion: v1\n{document}"), &|_| Ok(())).unwrap()
    }

    #[test]
    fn what_differs_in_the_documents_is_not_compared() {
        let of = |old: &str, new: &str| not_compared(&HookName::new("h").unwrap(), &spec(old), &spec(new));
        let pods = "kubernetes: [{name: a, kind: Pod}]";
        assert_eq!(of(pods, pods), [""; 0]);
        assert_eq!(of(pods, "kubernetes: [{name: a, kind: Node}]"), ["hook h: binding a differs"]);
        let both = "kubernetes: [{name: a, kind: Pod}, {name: b, kind: Pod}]";
        assert_eq!(of(pods, both), ["hook h: binding b differs"]);
        assert_eq!(of(both, pods), ["hook h: binding b differs"]);
        assert_eq!(shared(&spec(pods), &spec(both)), HashSet::from([BindingName::new("a")]));
        assert_eq!(of(pods, &format!("onStartup: 1\n{pods}")), ["hook h: binding onStartup differs"]);
        let reads = |verbs: &str| {
            format!("{pods}\npermissions: {{kubernetes: [{{apiGroups: [''], resources: [pods], verbs: [{verbs}]}}]}}")
        };
        assert_eq!(of(&reads("get"), &reads("get, list")), [""; 0]);
        assert_eq!(of(&reads("get, list"), &reads("get")).len(), 1);
    }
}
