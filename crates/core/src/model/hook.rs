//! What a hook is: its bindings, permissions and limits, after the configuration document has
//! been read and checked. Defaults are resolved here.

use std::{num::NonZeroU32, sync::Arc, time::Duration};

use serde::{Deserialize, Serialize};

use super::{AdmissionBinding, BindingName, ConversionBinding, HookName, Identity, ObjectRef, Permission, QueueName};

/// A hook's checked configuration.
#[derive(Debug, Clone, PartialEq)]
pub struct HookSpec {
    /// The hook.
    pub name: HookName,
    /// `onStartup`, when it has one.
    pub on_startup: Option<StartupBinding>,
    /// `schedule[]`, in the document's order.
    pub schedules: Vec<ScheduleBinding>,
    /// `kubernetes[]`, in the document's order.
    pub kubernetes: Vec<KubernetesBinding>,
    /// `kubernetesValidating[]` and then `kubernetesMutating[]`, each in the document's order.
    pub admission: Vec<AdmissionBinding>,
    /// `kubernetesCustomResourceConversion[]`, in the document's order.
    pub conversions: Vec<ConversionBinding>,
    /// `permissions.kubernetes[]`.
    pub permissions: Arc<[Permission]>,
    /// `limits`.
    pub limits: Limits,
    /// `concurrency`: runs at the same time on different objects. Answers are bounded by the webhook server alone.
    pub concurrency: usize,
    /// `settings`: how often the hook may run. Absent: as often as there is work.
    pub rate: Option<RateLimit>,
    /// Whether one run may take several triggers; not in documents without `configVersion`.
    pub combine: bool,
    /// `failureEvents.regarding`: what Kubernetes Events about failed runs are attached to. Absent:
    /// the operator's own Namespace.
    pub failure_events: Option<ObjectRef>,
    /// What was accepted and should be changed, in words for the author.
    pub warnings: Vec<String>,
}

impl HookSpec {
    /// Nothing ever runs it.
    pub fn is_idle(&self) -> bool {
        let triggers = self.on_startup.is_none() && self.schedules.is_empty() && self.kubernetes.is_empty();
        triggers && !self.answers()
    }

    /// The API server asks it something.
    pub fn answers(&self) -> bool {
        !self.admission.is_empty() || !self.conversions.is_empty()
    }
}

/// `settings`: a token bucket. A run takes a token, before its triggers are put together. Answers to the API server
/// take none: nobody can wait for them, and one that is refused fails somebody's request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RateLimit {
    /// `executionMinInterval`: a token comes back after this time. Zero: no limit.
    pub min_interval: Duration,
    /// `executionBurst`: tokens at most.
    pub burst: NonZeroU32,
}

/// `onStartup`.
#[derive(Debug, Clone, PartialEq)]
pub struct StartupBinding {
    /// Lower numbers first.
    pub order: i64,
    /// Where it waits, with those that it is ordered among.
    pub queue: QueueName,
    /// What happens after a failed run.
    pub retry: RetryPolicy,
}

/// What becomes of ticks that could not run in time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum MissedRuns {
    /// They are forgotten.
    #[default]
    Skip,
    /// One run makes up for all of them.
    Once,
}

/// One entry of `schedule[]`.
#[derive(Debug, Clone, PartialEq)]
pub struct ScheduleBinding {
    /// `name`, default `schedule`.
    pub name: BindingName,
    /// `crontab`, with a `TZ=` prefix taken off. Known to parse.
    pub crontab: Arc<str>,
    /// IANA name out of `timeZone` or the `TZ=` prefix. Absent: the process's zone.
    pub time_zone: Option<Arc<str>>,
    /// `missedRuns`, default `skip`.
    pub missed_runs: MissedRuns,
    /// `jitter`: each tick comes later by a random time up to this. Default none.
    pub jitter: Duration,
    /// `group`: triggers of one group that run together are told as one.
    pub group: Option<Arc<str>>,
    /// Where its triggers wait.
    pub queue: QueueName,
    /// A failed run counts as done.
    pub allow_failure: bool,
    /// Names of `kubernetes` bindings; those of its group are among them.
    pub include_snapshots_from: Arc<[BindingName]>,
    /// What happens after a failed run.
    pub retry: RetryPolicy,
}

/// A kind of change that can wake a hook.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum WatchEventKind {
    /// `Added`
    Added,
    /// `Modified`
    Modified,
    /// `Deleted`
    Deleted,
}

impl WatchEventKind {
    /// `Added`, `Modified`, `Deleted`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Added => "Added",
            Self::Modified => "Modified",
            Self::Deleted => "Deleted",
        }
    }
}

/// What of each object is kept and delivered.
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
    /// Absent: the API server's preferred version of the kind.
    pub api_version: Option<String>,
    /// Kind, plural or short name, as the author wrote it.
    pub kind: String,
    /// `nameSelector.matchNames`; empty: all.
    pub names: Vec<String>,
    /// `namespace.nameSelector.matchNames`; empty: all.
    pub namespaces: Vec<String>,
    /// `namespace.labelSelector`, as the API takes it. With `namespaces`, a namespace must be
    /// among the names *and* match the labels.
    pub namespace_labels: Option<String>,
    /// As the API takes it: `app=web,tier in (a,b)`.
    pub label_selector: Option<String>,
    /// As the API takes it: `spec.nodeName=n1`.
    pub field_selector: Option<String>,
    /// Which changes wake the hook; may be empty (a binding for its snapshot).
    pub events: Vec<WatchEventKind>,
    /// Whether the hook runs once with the objects that exist.
    pub on_synchronization: bool,
    /// `waitForSynchronization`, default true: no event and no tick of the hook runs before this
    /// binding's synchronization has succeeded, and the hook is not ready. When false, only the
    /// binding's own events wait for it.
    pub wait_for_synchronization: bool,
    /// `resynchronizationPeriod`: the objects are listed anew after this time, and differences
    /// delivered as events. Default never.
    pub resynchronization_period: Option<Duration>,
    /// `ignoreOwnWrites`: a change that the hook made itself does not wake it. Default false.
    pub ignore_own_writes: bool,
    /// `debounce`: an event waits until its object did not change for this time, at most ten times as
    /// long; changes that come meanwhile are folded into one. Default none.
    pub debounce: Duration,
    /// `previousObject`: a `Modified` event brings the object as it was before. Default false.
    pub previous_object: bool,
    /// What is kept and delivered.
    pub content: Content,
    /// A jq program, known to compile.
    pub jq_filter: Option<Arc<str>>,
    /// `group`: triggers of one group that run together are told as one.
    pub group: Option<Arc<str>>,
    /// Names of `kubernetes` bindings; those of its group are among them.
    pub include_snapshots_from: Arc<[BindingName]>,
    /// Where its triggers wait.
    pub queue: QueueName,
    /// A failed run counts as done.
    pub allow_failure: bool,
    /// What happens after a failed run.
    pub retry: RetryPolicy,
    /// What it may watch.
    pub may_watch: MayWatch,
}

/// What a binding may watch of what its document says. Default all; a hook's bundle may have bounds.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct MayWatch {
    /// Nothing outside of this namespace.
    pub only_in: Option<Arc<str>>,
    /// What this ServiceAccount may list and watch.
    pub as_identity: Option<Arc<Identity>>,
    /// Only the resource that the document itself names: rights were decided on that, without a cluster.
    pub as_named: bool,
}

impl KubernetesBinding {
    /// Snapshots that its runs may open: its own, and those it includes; none twice.
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
    /// Linear memories and tables together, in bytes. Default 64 MiB.
    pub memory: u64,
    /// From start to end, host calls included. Default 10 s.
    pub time: Duration,
    /// Calls of imported functions. Default 10 000.
    pub host_calls: u64,
    /// Bytes that host calls pass in either direction. Default 64 MiB.
    pub host_bytes: u64,
    /// Bytes of log lines. Default 1 MiB.
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

/// When a failed run is tried again.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RetryPolicy {
    /// Delay before the second try. Default 5 s.
    pub initial: Duration,
    /// No delay is longer, jitter aside. Default 32 s.
    pub max: Duration,
    /// Each delay is this many times the one before. Default 2.
    pub multiplier: f64,
    /// Up to this share of the delay is added at random. Default 0.1.
    pub jitter: f64,
    /// Runs at most, the first one included; then the triggers become a dead letter. Default
    /// unlimited.
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
