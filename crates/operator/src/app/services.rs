//! What the operator's parts work with.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use boathook_core::{
    causes::Causes,
    effect::Sink,
    fair::Pool,
    filter::Snapshots,
    model::{BindingName, Caller, Failure, HookName, MetricOp, RunId, Variables},
    queue,
    tasks::Tasks,
};
use boathook_kube::{discovery::Discovery, election::Leadership, watch::Streams};
use boathook_sandbox::{Filters, Sandbox};
use tokio::sync::watch;
use tracing::warn;

use super::{
    claims::Claims,
    events,
    health::Health,
    history::{History, LastRuns},
    hooks::{Hook, HookRegistry},
    host::HostCalls,
    loops::LoopWatch,
    module_values::ModuleValues,
    reconcile::Reconcilers,
    shadows::Shadows,
};
use crate::{record::Recorder, telemetry::Metrics};

pub(super) struct Services {
    /// The API server's address, for messages.
    pub server: String,
    pub hook_registry: Arc<HookRegistry>,
    pub sandbox: Arc<Sandbox>,
    pub discovery: Arc<Discovery>,
    pub streams: Streams,
    /// What all bindings together may keep, in units of [`UNIT`](boathook_core::memory::UNIT).
    pub kept: Pool,
    pub filters: Filters,
    pub snapshots: Arc<Snapshots>,
    pub queue: queue::Handle,
    /// For runs. It is fenced, so its writes end with the leadership.
    pub operator: Arc<HostCalls>,
    /// For answers to the API server, which every replica gives.
    pub answering: Arc<HostCalls>,
    pub leadership: Leadership,
    pub health: Arc<Health>,
    pub metrics: Arc<Metrics>,
    pub history: Arc<History>,
    /// What caused what.
    pub causes: Arc<Causes>,
    /// What happens to hooks that are in a loop.
    pub loops: Arc<LoopWatch>,
    pub recorder: Option<Arc<Recorder>>,
    pub run_ids: RunIds,
    pub last: LastRuns,
    pub reconcilers: Arc<Reconcilers>,
    pub claims: Claims,
    /// Versions of bundles that run in the shadow of the installed ones.
    pub shadows: Shadows,
    /// The values of modules. `None` if the operator runs no modules.
    pub module_values: Option<Arc<ModuleValues>>,
    /// Receives the Events that answers contain.
    pub events: events::Outlet,
    /// Receives what answers do to objects.
    pub effects: Option<Arc<dyn Sink>>,
    pub schedules_tick: bool,
    /// Whether writes are dry runs.
    pub plan: bool,
    /// Whether hooks are started but not run.
    pub hold: bool,
    /// Whether other replicas run the same hooks at the same time.
    pub node_agent: bool,
    /// The values of variables in selectors.
    pub variables: Variables,
    pub tasks: Tasks,
    /// Notifies that the wall clock was set.
    pub jumps: watch::Sender<()>,
}

impl Services {
    /// Applies the metrics of a run that succeeded. A hook that was removed in the meantime reports nothing more.
    pub fn apply_metrics(&self, hook: &HookName, run: &RunId, binding: &BindingName, ops: &[MetricOp]) {
        if ops.is_empty() || self.hook_registry.hook(hook).is_none() {
            return;
        }
        let applied = self.operator.hook_metrics.apply(hook, ops);
        if let Some(error) = applied.first {
            let refused = applied.refused;
            self.metrics.hook_metrics_refused(hook, refused);
            warn!(%hook, %run, %binding, refused, %error, "metrics of the run left out");
        }
    }

    /// The caller of a review, a conversion or a question about a parent: it reads the values of the hook's module.
    pub async fn reading_values(&self, hook: &Hook, caller: Caller) -> Result<Caller, Failure> {
        let (Some(of), Some(values)) = (&hook.module, &self.module_values) else { return Ok(caller) };
        if !hook.reads_values() {
            return Ok(caller);
        }
        let seen = if hook.stands_in { values.read_of_leader(of).await? } else { values.read(of)? };
        Ok(Caller { values: Some(Arc::new(seen)), ..caller })
    }
}

/// The IDs of this process's runs.
pub(super) struct RunIds {
    /// Distinguishes them from those of other processes.
    process: String,
    number: AtomicU64,
}

impl RunIds {
    pub fn new() -> Self {
        Self { process: format!("{:08x}", rand::random::<u32>()), number: AtomicU64::new(1) }
    }

    pub fn next(&self) -> RunId {
        RunId::new(&self.process, self.number.fetch_add(1, Ordering::Relaxed))
    }
}
