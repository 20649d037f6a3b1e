//! What is reported about a run that ended. `retry` makes the decision.

use std::time::Duration;

use crate::model::{BindingName, Failure, HookName, JobId, QueueName, Trigger};

use super::DeadLetter;

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
