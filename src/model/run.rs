//! One run of a hook: what the queue hands to the sandbox, and what comes back.

use std::sync::Arc;

use super::{Failure, HookName, Identity, Permission, QueueName, RunId, Trigger};

/// Identifies a job in its queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct JobId(pub u64);

/// Triggers of one hook that one run takes together.
#[derive(Debug, Clone, PartialEq)]
pub struct Job {
    /// Its id, for giving the outcome back.
    pub id: JobId,
    /// The hook to run.
    pub hook: HookName,
    /// The queue it came from.
    pub queue: QueueName,
    /// 1 for the first try.
    pub attempt: u32,
    /// Oldest first; at least one.
    pub triggers: Vec<Trigger>,
}

/// How a run ended.
pub type Outcome = Result<(), Failure>;

/// Who makes a host call.
#[derive(Debug, Clone)]
pub struct Caller {
    /// The hook.
    pub hook: HookName,
    /// The run.
    pub run: RunId,
    /// What the hook may do.
    pub permissions: Arc<[Permission]>,
    /// Writes are sent with server-side dry-run.
    pub dry_run: bool,
    /// Whom its requests are made as. Absent: the operator itself.
    pub identity: Option<Arc<Identity>>,
    /// What `settings.get` answers, a JSON object.
    pub settings: Arc<str>,
}

impl Caller {
    /// A hook that acts as the operator itself, and has no settings.
    pub fn new(hook: HookName, run: RunId, permissions: Arc<[Permission]>, dry_run: bool) -> Self {
        Self { hook, run, permissions, dry_run, identity: None, settings: "{}".into() }
    }
}
