//! One run of a hook: what the queue passes to the sandbox, and what comes back.

use std::{fmt, sync::Arc};

use super::{
    Failure, HookName, HookValues, HttpCredential, Identity, Permission, QueueName, RunId, Trigger, WriteOptions,
};

/// Identifies a job in its queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct JobId(pub u64);

/// Triggers of one hook that one run takes together.
#[derive(Debug, Clone, PartialEq)]
pub struct Job {
    /// The job's id, which its outcome needs.
    pub id: JobId,
    pub hook: HookName,
    pub queue: QueueName,
    /// 1 for the first try.
    pub attempt: u32,
    /// Oldest first. There is at least one.
    pub triggers: Vec<Trigger>,
}

/// How a run ended.
pub type Outcome = Result<(), Failure>;

/// Counts what is copied for a run.
pub trait Charge: Send + Sync {
    /// Takes this many bytes more. False if there are not enough.
    fn charge(&self, bytes: usize) -> bool;
}

/// What a run's host calls may use of the process's memory. By default, there is no bound.
#[derive(Clone, Default)]
pub struct Allowance(Option<Arc<dyn Charge>>);

impl Allowance {
    /// An allowance with this bound.
    pub fn of(charge: impl Charge + 'static) -> Self {
        Self(Some(Arc::new(charge)))
    }

    /// Takes this many bytes more. They go back with the run's next host call.
    #[must_use]
    pub fn charge(&self, bytes: usize) -> bool {
        self.0.as_ref().is_none_or(|bound| bound.charge(bytes))
    }
}

impl fmt::Debug for Allowance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() { "Allowance" } else { "no bound" })
    }
}

/// Who makes a host call.
#[derive(Debug, Clone)]
pub struct Caller {
    pub hook: HookName,
    pub run: RunId,
    pub permissions: Arc<[Permission]>,
    /// Writes are sent as server-side dry runs.
    pub dry_run: bool,
    /// The identity of its requests. `None`: the operator itself.
    pub identity: Option<Arc<Identity>>,
    /// What the host adds to its HTTP requests. The hook's own code does not see it.
    pub credentials: Arc<[HttpCredential]>,
    /// What `settings.get` returns, a JSON object.
    pub settings: Arc<str>,
    /// The values of the hook's module, if it belongs to one.
    pub values: Option<Arc<HookValues>>,
    /// The memory that answers may take.
    pub memory: Allowance,
    /// How the API server treats the writes of this call. `dry_run` above is set if one of both says so.
    pub writes: WriteOptions,
}

impl Caller {
    /// A hook that acts as the operator itself and has no settings.
    pub fn new(hook: HookName, run: RunId, permissions: Arc<[Permission]>, dry_run: bool) -> Self {
        Self {
            hook,
            run,
            permissions,
            dry_run,
            identity: None,
            credentials: Arc::new([]),
            settings: "{}".into(),
            values: None,
            memory: Allowance::default(),
            writes: WriteOptions::default(),
        }
    }
}
