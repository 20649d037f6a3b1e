//! What is reported about pushes and runs, for logs, metrics and dead letters. `retry` decides what an outcome leads to.

use std::time::Duration;

use crate::model::{BindingName, Failure, HookName, Job, JobId, QueueName, Trigger};

use super::{DeadLetter, Emptied};

/// What a run's outcome leads to.
#[derive(Debug, Clone, PartialEq)]
pub enum Verdict {
    /// It succeeded.
    Done,
    /// It failed, but `allowFailure` counts this as done.
    AllowedFailure(Failure),
    /// It failed and is retried.
    Retry {
        /// The time until the retry.
        after: Duration,
        failure: Failure,
        /// Triggers of the job that have had all their attempts and will not run again. The others joined the job
        /// later.
        given_up: Vec<Trigger>,
    },
    /// It failed for good.
    GivenUp {
        failure: Failure,
        /// The triggers that will not run again.
        triggers: Vec<Trigger>,
    },
    /// It was interrupted. Its triggers wait as before, and the attempt does not count.
    Interrupted,
    /// Its hook was removed while it ran. Its triggers are gone.
    Removed,
}

/// One run that ended.
#[derive(Debug, Clone, PartialEq)]
pub struct Finished {
    pub job: JobId,
    pub hook: HookName,
    pub queue: QueueName,
    /// The binding of its oldest trigger.
    pub binding: BindingName,
    /// The number of this attempt.
    pub attempt: u32,
    /// The number of its triggers.
    pub triggers: usize,
    /// How long the oldest trigger that was new in this attempt had waited.
    pub waited: Duration,
    /// The time from when the job was taken to its outcome.
    pub took: Duration,
    pub verdict: Verdict,
    /// The dead letter that has the triggers that were given up.
    pub dead_letter: Option<u64>,
    /// Dead letters that made room for it. They are gone.
    pub lost: Vec<DeadLetter>,
}

/// What happened to a pushed trigger.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pushed {
    /// It waits.
    Queued,
    /// It waits beyond the queue's bound, or without its texts because its tenant has no room for them. It folds with
    /// nothing.
    Beyond,
    /// A waiting trigger about the same thing took over its news: the queue is over its bound, the tenant has no room,
    /// or the event is debounced.
    Folded,
    /// Its hook is not known (any more), its queue is another hook's own, or the queues are closed. Or its tenant has
    /// no room for it, which [`Observer::emptied`] reports.
    Refused,
}

/// A trigger that was pushed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Enqueued {
    pub hook: HookName,
    pub binding: BindingName,
    pub queue: QueueName,
    pub pushed: Pushed,
}

/// Receives what happens. The calls come from the pushing thread and from the driver's task, and must not block.
pub trait Observer: Send + Sync {
    /// A trigger was pushed, or refused.
    fn enqueued(&self, _enqueued: &Enqueued) {}
    /// Events of a binding were dropped, because their tenant has no room for them.
    fn emptied(&self, _emptied: &Emptied) {}
    /// A job is passed to the action.
    fn started(&self, _job: &Job) {}
    /// A run ended.
    fn finished(&self, _finished: &Finished) {}
    /// A dead letter made room for others, and is gone.
    fn dead_letter_lost(&self, _letter: &DeadLetter) {}
}

/// An observer that ignores everything.
impl Observer for () {}
