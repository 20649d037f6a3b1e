//! What is told of a run that ended. Never decides it: `retry` does.

use std::time::Duration;

use crate::model::{BindingName, Failure, HookName, JobId, QueueName, Trigger};

use super::DeadLetter;

/// What a run's outcome came to.
#[derive(Debug, Clone, PartialEq)]
pub enum Verdict {
    /// It succeeded.
    Done,
    /// It failed, which `allowFailure` counts as done.
    AllowedFailure(Failure),
    /// It failed and is tried again.
    Retry {
        /// How long from now.
        after: Duration,
        /// Why.
        failure: Failure,
        /// Triggers of the job that had had all their attempts, and won't run again. The others
        /// joined it later.
        given_up: Vec<Trigger>,
    },
    /// It failed for good.
    GivenUp {
        /// Why.
        failure: Failure,
        /// What will not run again.
        triggers: Vec<Trigger>,
    },
    /// It was interrupted; its triggers wait as before, and the attempt does not count.
    Interrupted,
    /// Its hook was removed while it ran; its triggers are gone.
    Removed,
}

/// One run that ended.
#[derive(Debug, Clone, PartialEq)]
pub struct Finished {
    /// Its job.
    pub job: JobId,
    /// Its hook.
    pub hook: HookName,
    /// Its queue.
    pub queue: QueueName,
    /// The binding of its oldest trigger.
    pub binding: BindingName,
    /// The number of this attempt.
    pub attempt: u32,
    /// How many triggers it had.
    pub triggers: usize,
    /// How long the oldest trigger that was new in this attempt had waited.
    pub waited: Duration,
    /// From being taken to the outcome.
    pub took: Duration,
    /// What the outcome came to.
    pub verdict: Verdict,
    /// Where the triggers are that were given up.
    pub dead_letter: Option<u64>,
    /// Dead letters that made room for it. They are gone.
    pub lost: Vec<DeadLetter>,
}
