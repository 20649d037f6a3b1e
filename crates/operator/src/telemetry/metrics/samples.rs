//! The values to record, and the words that become labels.

use std::time::Duration;

use boathook_core::model::{BindingName, CallReason, FailureKind, HookName, QueueName};

/// The labels of a run's series.
#[derive(Debug, Clone, Copy)]
pub struct RunLabels<'a> {
    pub hook: &'a HookName,
    /// The binding of the run's oldest trigger.
    pub binding: &'a BindingName,
    /// The queue that the run's triggers came from.
    pub queue: &'a QueueName,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunResult {
    Success,
    Error(FailureKind),
    /// The run failed, and `allowFailure` counts that as done.
    AllowedError(FailureKind),
}

/// What a run used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RunUsage {
    /// From start to end.
    pub took: Duration,
    /// The CPU time.
    pub cpu: Duration,
    /// The maximum of memory in bytes.
    pub memory_peak: u64,
    /// The number of calls of imported functions.
    pub host_calls: u64,
}

/// Where a component's code came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CompileSource {
    Compiled,
    Cached,
}

impl CompileSource {
    pub(super) fn label(self) -> &'static str {
        match self {
            Self::Compiled => "compiled",
            Self::Cached => "cached",
        }
    }
}

/// The number of hooks in each state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct HookCounts {
    /// Hooks that are being compiled or configured.
    pub loading: usize,
    /// Hooks that wait for a kind or a synchronization.
    pub pending: usize,
    /// Hooks that run.
    pub ready: usize,
    /// Hooks that were refused, with a reason in the log.
    pub quarantined: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WatchError {
    /// The history was lost (410).
    Expired,
    /// The server closed the stream.
    Eof,
    /// The stream broke off.
    UnexpectedEof,
    /// Any other reason.
    Fail,
}

impl WatchError {
    pub(super) fn label(self) -> &'static str {
        match self {
            Self::Expired => "expired",
            Self::Eof => "eof",
            Self::UnexpectedEof => "unexpected-eof",
            Self::Fail => "fail",
        }
    }
}

/// One queue at one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueueSample {
    pub queue: QueueName,
    /// The number of triggers that wait.
    pub length: usize,
    /// The bytes of these triggers.
    pub bytes: usize,
    /// The age of the oldest trigger that is not done.
    pub oldest: Option<Duration>,
    /// The number of runs in progress.
    pub running: usize,
    /// The number of failed runs that wait for their retry.
    pub retrying: usize,
}

impl QueueSample {
    /// Adds both samples, as if they were one queue.
    pub(super) fn add(&mut self, other: &Self) {
        self.length += other.length;
        self.bytes += other.bytes;
        self.oldest = self.oldest.max(other.oldest);
        self.running += other.running;
        self.retrying += other.retrying;
    }
}

/// The outcome of a host call as a label.
pub fn outcome_label(outcome: Result<(), CallReason>) -> &'static str {
    outcome.map_or_else(CallReason::label, |()| "ok")
}
