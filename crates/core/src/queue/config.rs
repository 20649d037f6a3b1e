//! How much the queues hold and run at once, and what a hook's document says about its runs, as far as the queues need
//! it. The document's reader has checked it.

use crate::{
    fair::Tenant,
    model::{BindingName, HookSpec, RateLimit},
};

/// Bounds of all queues. A bound of 0 counts as 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QueueConfig {
    /// Runs at the same time, all hooks together. One tenant gets at most three quarters of them. Default: 64.
    pub max_parallel_runs: usize,
    /// Runs of one hook at the same time, whatever its `concurrency` says. Default: 1 000.
    pub max_concurrency: usize,
    /// Triggers that one run takes. Default: 1 000.
    pub batch_triggers: usize,
    /// Bytes of objects and filter results that one run takes. A single trigger may be larger. Default: 8 MiB.
    pub batch_bytes: usize,
    /// Triggers that wait in one queue before it folds those of the same object. Default: 10 000.
    pub max_pending: usize,
    /// Bytes of objects and filter results that wait in one queue before it folds those of the same object. Default: 64
    /// MiB.
    pub max_pending_bytes: usize,
    /// Bytes that all queues hold together: triggers that wait or that a job has, and dead letters, with their objects
    /// and filter results. Tenants have fair shares of them. Default: no bound.
    pub max_held_bytes: u64,
    /// Dead letters that are kept. Default: 1 000.
    pub max_dead_letters: usize,
    /// Bytes of dead letters that are kept. A single letter may be larger. Default: 64 MiB.
    pub max_dead_letter_bytes: usize,
}

impl QueueConfig {
    /// Bytes of objects and filter results that one run receives in addition to those that the queues hold. A single
    /// trigger may be larger. All runs together receive as much as the queues hold.
    pub(super) fn loose_bytes(&self) -> usize {
        let each = self.max_held_bytes / self.max_parallel_runs.max(1) as u64;
        usize::try_from(each).unwrap_or(usize::MAX).min(self.batch_bytes)
    }
}

impl Default for QueueConfig {
    fn default() -> Self {
        const MIB: usize = 1024 * 1024;
        Self {
            max_parallel_runs: 64,
            max_concurrency: 1_000,
            batch_triggers: 1_000,
            batch_bytes: 8 * MIB,
            max_pending: 10_000,
            max_pending_bytes: 64 * MIB,
            max_held_bytes: u64::MAX,
            max_dead_letters: 1_000,
            max_dead_letter_bytes: 64 * MIB,
        }
    }
}

/// How the triggers of one hook are run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HookQueueConfig {
    /// Jobs at once in the hook's own queue. 0 counts as 1. Default: 1.
    pub concurrency: usize,
    /// How often a job may begin, in all queues together. Default: as often as there is work.
    pub rate: Option<RateLimit>,
    /// Whether one run may take several triggers. Default: true.
    pub combine: bool,
    /// Bindings whose synchronization only their own events wait for (`waitForSynchronization: false`). Default: none.
    pub in_background: Vec<BindingName>,
    /// Bindings without a synchronization (`executeHookOnSynchronization: false`). Default: none.
    pub silent: Vec<BindingName>,
    /// The tenant whose run slots it shares. `None`: the hook is a tenant itself.
    pub tenant: Option<Tenant>,
}

impl Default for HookQueueConfig {
    fn default() -> Self {
        Self { concurrency: 1, rate: None, combine: true, in_background: Vec::new(), silent: Vec::new(), tenant: None }
    }
}

impl From<&HookSpec> for HookQueueConfig {
    fn from(spec: &HookSpec) -> Self {
        let background = spec.kubernetes.iter().filter(|binding| !binding.wait_for_synchronization);
        let silent = spec.kubernetes.iter().filter(|binding| !binding.on_synchronization);
        Self {
            concurrency: spec.concurrency,
            rate: spec.rate,
            combine: spec.combine,
            in_background: background.map(|binding| binding.name.clone()).collect(),
            silent: silent.map(|binding| binding.name.clone()).collect(),
            tenant: None,
        }
    }
}
