//! What a hook's document says about its runs, as far as the queues need it. The document's reader has checked it.

use crate::{
    fair::Tenant,
    model::{BindingName, HookSpec, RateLimit},
};

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
    /// The tenant whose run slots it shares. `None`: the hook is a tenant itself.
    pub tenant: Option<Tenant>,
}

impl Default for HookQueueConfig {
    fn default() -> Self {
        Self { concurrency: 1, rate: None, combine: true, in_background: Vec::new(), tenant: None }
    }
}

impl From<&HookSpec> for HookQueueConfig {
    fn from(spec: &HookSpec) -> Self {
        let background = spec.kubernetes.iter().filter(|binding| !binding.wait_for_synchronization);
        Self {
            concurrency: spec.concurrency,
            rate: spec.rate,
            combine: spec.combine,
            in_background: background.map(|binding| binding.name.clone()).collect(),
            tenant: None,
        }
    }
}
