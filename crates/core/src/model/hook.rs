//! What a hook is: its bindings, permissions and limits, after the configuration document was read and checked.
//! Defaults are resolved here.

use std::{num::NonZeroU32, sync::Arc, time::Duration};

use serde::{Deserialize, Serialize};

use super::{
    AdmissionBinding, BindingName, ConversionBinding, DirectoryRule, HookName, Identity, ObjectRef, Permission,
    QueueName, ReconcileBinding, Role,
};

/// A hook's checked configuration.
#[derive(Debug, Clone, PartialEq)]
pub struct HookSpec {
    pub name: HookName,
    /// `onStartup`, if the hook has one.
    pub on_startup: Option<StartupBinding>,
    /// `beforeHelm` and the others, in the order of [`Stage`].
    pub stages: Vec<StageBinding>,
    /// `schedule[]`, in the document's order.
    pub schedules: Vec<ScheduleBinding>,
    /// `kubernetes[]`, in the document's order, and then the informers of `reconcile[]`.
    pub kubernetes: Vec<KubernetesBinding>,
    /// `reconcile[]`, in the document's order. Their informers are among `kubernetes`.
    pub reconcilers: Vec<ReconcileBinding>,
    /// `kubernetesValidating[]` and then `kubernetesMutating[]`, each in the document's order.
    pub admission: Vec<AdmissionBinding>,
    /// `kubernetesCustomResourceConversion[]`, in the document's order.
    pub conversions: Vec<ConversionBinding>,
    /// `permissions.kubernetes[]`, then `permissions.http[]` and `permissions.directories[]`, each in the document's order.
    pub permissions: Arc<[Permission]>,
    pub limits: Limits,
    /// `concurrency`: runs at the same time on different objects. Does not apply to webhook answers; the webhook server
    /// limits those.
    pub concurrency: usize,
    /// `settings`: how often the hook may run. `None`: as often as there is work.
    pub rate: Option<RateLimit>,
    /// Whether one run may take several triggers. False for documents without `configVersion`.
    pub combine: bool,
    /// `failureEvents.regarding`: the object that Kubernetes Events about failed runs are attached to. `None`: the
    /// hook's HookBundle, or else the operator's Namespace.
    pub failure_events: Option<ObjectRef>,
    /// What was accepted but should be changed, for the author.
    pub warnings: Vec<String>,
}

/// A binding of any type. Code whose result depends on the type matches on it, so that the compiler lists the places
/// that a new type of binding concerns.
#[derive(Debug, Clone, Copy)]
pub enum BindingRef<'s> {
    Startup(&'s StartupBinding),
    Stage(&'s StageBinding),
    Schedule(&'s ScheduleBinding),
    Kubernetes(&'s KubernetesBinding),
    Reconcile(&'s ReconcileBinding),
    Admission(&'s AdmissionBinding),
    Conversion(&'s ConversionBinding),
}

impl HookSpec {
    /// All bindings: by type, and within a type in the document's order.
    pub fn bindings(&self) -> impl Iterator<Item = BindingRef<'_>> {
        // Every field is named here, so that a new type of binding cannot be forgotten.
        let Self {
            on_startup,
            stages,
            schedules,
            kubernetes,
            reconcilers,
            admission,
            conversions,
            name: _,
            permissions: _,
            limits: _,
            concurrency: _,
            rate: _,
            combine: _,
            failure_events: _,
            warnings: _,
        } = self;
        on_startup
            .iter()
            .map(BindingRef::Startup)
            .chain(stages.iter().map(BindingRef::Stage))
            .chain(schedules.iter().map(BindingRef::Schedule))
            .chain(kubernetes.iter().map(BindingRef::Kubernetes))
            .chain(reconcilers.iter().map(BindingRef::Reconcile))
            .chain(admission.iter().map(BindingRef::Admission))
            .chain(conversions.iter().map(BindingRef::Conversion))
    }

    /// The directories that the hook requests.
    pub fn directories(&self) -> impl Iterator<Item = &DirectoryRule> {
        self.permissions.iter().filter_map(|permission| permission.directory.as_ref())
    }

    pub fn has_directories(&self) -> bool {
        self.directories().next().is_some()
    }

    /// Whether nothing ever runs the hook.
    pub fn is_idle(&self) -> bool {
        self.bindings().next().is_none()
    }

    /// Whether the API server asks the hook anything.
    pub fn answers(&self) -> bool {
        self.bindings().any(|binding| match binding {
            BindingRef::Admission(_) | BindingRef::Conversion(_) => true,
            BindingRef::Startup(_)
            | BindingRef::Stage(_)
            | BindingRef::Schedule(_)
            | BindingRef::Kubernetes(_)
            | BindingRef::Reconcile(_) => false,
        })
    }
}

/// `settings`: a token bucket. A run takes a token before its triggers are combined. Answers to the API server take
/// none, because nobody can wait for them, and a refused answer fails somebody's request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RateLimit {
    /// `executionMinInterval`: a token comes back after this time. Zero: no limit.
    pub min_interval: Duration,
    /// `executionBurst`: the most tokens.
    pub burst: NonZeroU32,
}

/// `onStartup`.
#[derive(Debug, Clone, PartialEq)]
pub struct StartupBinding {
    /// Lower numbers first.
    pub order: i64,
    /// The queue that it shares with the hooks that it is ordered among.
    pub queue: QueueName,
    pub retry: RetryPolicy,
}

/// A stage in the life of modules, at which their hooks run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Stage {
    BeforeAll,
    AfterAll,
    BeforeHelm,
    AfterHelm,
    BeforeDeleteHelm,
    AfterDeleteHelm,
}

impl Stage {
    /// All stages, in the order of documents.
    pub const ALL: [Self; 6] = [
        Self::BeforeAll,
        Self::AfterAll,
        Self::BeforeHelm,
        Self::AfterHelm,
        Self::BeforeDeleteHelm,
        Self::AfterDeleteHelm,
    ];

    /// The key of documents, which is also the name of the binding.
    pub fn key(self) -> &'static str {
        match self {
            Self::BeforeAll => "beforeAll",
            Self::AfterAll => "afterAll",
            Self::BeforeHelm => "beforeHelm",
            Self::AfterHelm => "afterHelm",
            Self::BeforeDeleteHelm => "beforeDeleteHelm",
            Self::AfterDeleteHelm => "afterDeleteHelm",
        }
    }

    /// Whether it is a stage of global hooks. The others are of one module.
    pub fn is_global(self) -> bool {
        matches!(self, Self::BeforeAll | Self::AfterAll)
    }
}

/// `beforeHelm: 10` and the like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StageBinding {
    pub stage: Stage,
    /// Lower numbers first.
    pub order: i64,
}

/// What happens to ticks that could not run in time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum MissedRuns {
    /// They are forgotten.
    #[default]
    Skip,
    /// One run replaces all of them.
    Once,
}

/// One entry of `schedule[]`.
#[derive(Debug, Clone, PartialEq)]
pub struct ScheduleBinding {
    /// `name`, default `schedule`.
    pub name: BindingName,
    /// `crontab` without a `TZ=` prefix. It is known to parse.
    pub crontab: Arc<str>,
    /// The IANA name from `timeZone` or the `TZ=` prefix. `None`: the process's zone.
    pub time_zone: Option<Arc<str>>,
    /// `missedRuns`, default `skip`.
    pub missed_runs: MissedRuns,
    /// `jitter`: each tick is later by a random time up to this. Default: none.
    pub jitter: Duration,
    /// `group`: triggers of one group that run together are delivered as one.
    pub group: Option<Arc<str>>,
    pub queue: QueueName,
    /// A failed run counts as done.
    pub allow_failure: bool,
    /// Names of `kubernetes` bindings, including those of its group.
    pub include_snapshots_from: Arc<[BindingName]>,
    pub retry: RetryPolicy,
}

/// A kind of change that can run a hook.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum WatchEventKind {
    Added,
    Modified,
    Deleted,
}

impl WatchEventKind {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Added => "Added",
            Self::Modified => "Modified",
            Self::Deleted => "Deleted",
        }
    }
}

/// What is kept and delivered of each object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Content {
    /// The whole object, without managed fields.
    #[default]
    Full,
    /// `apiVersion`, `kind` and `metadata`.
    Metadata,
    /// Only the `filterResult`, or nothing.
    None,
}

/// One entry of `kubernetes[]`.
#[derive(Debug, Clone, PartialEq)]
pub struct KubernetesBinding {
    /// `name`, default `kubernetes`.
    pub name: BindingName,
    /// `None` for a binding of the document.
    pub role: Option<Role>,
    /// `None`: the API server's preferred version of the kind.
    pub api_version: Option<String>,
    /// Kind, plural or short name, as the author wrote it.
    pub kind: String,
    /// `nameSelector.matchNames`. Empty: all.
    pub names: Vec<String>,
    /// `namespace.nameSelector.matchNames`. Empty: all.
    pub namespaces: Vec<String>,
    /// `namespace.labelSelector`, as the API takes it. With `namespaces`, a namespace must be among the names *and*
    /// match the labels.
    pub namespace_labels: Option<String>,
    /// As the API takes it: `app=web,tier in (a,b)`.
    pub label_selector: Option<String>,
    /// As the API takes it: `spec.nodeName=n1`.
    pub field_selector: Option<String>,
    /// The changes that run the hook. Empty for a binding that only provides its snapshot.
    pub events: Vec<WatchEventKind>,
    /// Whether the hook runs once with the objects that exist.
    pub on_synchronization: bool,
    /// `waitForSynchronization`, default true: no event and no tick of the hook runs before this binding's
    /// synchronization has succeeded, and until then the hook is not ready. If false, only the binding's own events
    /// wait for it.
    pub wait_for_synchronization: bool,
    /// `resynchronizationPeriod`: the objects are listed again after this time, and differences are delivered as
    /// events. Default: never.
    pub resynchronization_period: Option<Duration>,
    /// `ignoreOwnWrites`: a change that the hook made itself does not run it. Default: false.
    pub ignore_own_writes: bool,
    /// `debounce`: an event waits until its object has not changed for this time, at most ten times as long. Changes
    /// that arrive in that window are folded into one. Default: none.
    pub debounce: Duration,
    /// `previousObject`: a `Modified` event contains the object as it was before. Default: false.
    pub previous_object: bool,
    pub content: Content,
    /// A jq program that is known to compile.
    pub jq_filter: Option<Arc<str>>,
    /// `group`: triggers of one group that run together are delivered as one.
    pub group: Option<Arc<str>>,
    /// Names of `kubernetes` bindings, including those of its group.
    pub include_snapshots_from: Arc<[BindingName]>,
    pub queue: QueueName,
    /// A failed run counts as done.
    pub allow_failure: bool,
    pub retry: RetryPolicy,
    pub may_watch: MayWatch,
}

/// What a binding may watch of what its document requests. Default: all. A hook's bundle may set bounds.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct MayWatch {
    /// Nothing outside of this namespace.
    pub only_in: Option<Arc<str>>,
    /// Only what this ServiceAccount may list and watch.
    pub as_identity: Option<Arc<Identity>>,
    /// Only the resource that the document itself names, because rights were decided on that name, without a cluster.
    pub as_named: bool,
}

impl KubernetesBinding {
    /// The snapshots that its runs may open: its own and those that it includes, without duplicates.
    pub fn snapshots(&self) -> Arc<[BindingName]> {
        let mut names = vec![self.name.clone()];
        for name in self.include_snapshots_from.iter() {
            if !names.contains(name) {
                names.push(name.clone());
            }
        }
        names.into()
    }
}

/// Bounds of one run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Limits {
    /// Linear memories and tables together, in bytes. Default: 64 MiB.
    pub memory: u64,
    /// From start to end, including host calls. Default: 10 s.
    pub time: Duration,
    /// Calls of imported functions. Default: 10 000.
    pub host_calls: u64,
    /// Bytes that host calls pass in either direction. Default: 64 MiB.
    pub host_bytes: u64,
    /// Bytes of log lines. Default: 1 MiB.
    pub log_bytes: u64,
}

impl Default for Limits {
    fn default() -> Self {
        const MIB: u64 = 1024 * 1024;
        Self {
            memory: 64 * MIB,
            time: Duration::from_secs(10),
            host_calls: 10_000,
            host_bytes: 64 * MIB,
            log_bytes: MIB,
        }
    }
}

/// When a failed run is retried.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RetryPolicy {
    /// The delay before the second try. Default: 5 s.
    pub initial: Duration,
    /// The longest delay, without jitter. Default: 32 s.
    pub max: Duration,
    /// Each delay is this many times the previous one. Default: 2.
    pub multiplier: f64,
    /// Up to this share of the delay is added at random. Default: 0.1.
    pub jitter: f64,
    /// The most runs, including the first one. After that, the triggers become a dead letter. Default: unlimited.
    pub attempts: Option<NonZeroU32>,
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self {
            initial: Duration::from_secs(5),
            max: Duration::from_secs(32),
            multiplier: 2.0,
            jitter: 0.1,
            attempts: None,
        }
    }
}
