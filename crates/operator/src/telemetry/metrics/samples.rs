//! What is handed in for recording, and the words that become labels. Never records.

use std::time::Duration;

use boathook_core::model::{BindingName, CallReason, FailureKind, HookName, QueueName};

/// What a run's series are labelled with.
#[derive(Debug, Clone, Copy)]
pub struct RunLabels<'a> {
    /// The hook.
    pub hook: &'a HookName,
    /// The binding of its oldest trigger.
    pub binding: &'a BindingName,
    /// The queue it came from.
    pub queue: &'a QueueName,
}

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunResult {
    /// It succeeded.
    Success,
    /// It failed.
    Error(FailureKind),
    /// It failed, which `allowFailure` counts as done.
    AllowedError(FailureKind),
}

/// What a run used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RunUsage {
    /// From start to end.
    pub took: Duration,
    /// CPU time of it.
    pub cpu: Duration,
    /// Most memory it had, in bytes.
    pub memory_peak: u64,
    /// Calls of imported functions.
    pub host_calls: u64,
}

/// Where a component's code came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CompileSource {
    /// It was compiled.
    Compiled,
    /// The cache had it.
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

/// The states of hooks, for counting them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct HookCounts {
    /// Being compiled or configured.
    pub loading: usize,
    /// Waiting for a kind or a synchronization.
    pub pending: usize,
    /// At work.
    pub ready: usize,
    /// Refused, with a reason in the log.
    pub quarantined: usize,
}

/// Why a watch stream ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WatchError {
    /// The history was lost (410).
    Expired,
    /// The server closed the stream.
    Eof,
    /// The stream broke off.
    UnexpectedEof,
    /// Anything else.
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
    /// Its name.
    pub queue: QueueName,
    /// Triggers that wait.
    pub length: usize,
    /// Bytes of those.
    pub bytes: usize,
    /// Age of the oldest trigger that is not done.
    pub oldest: Option<Duration>,
    /// Runs in progress.
    pub running: usize,
    /// Failed runs that wait for the next try.
    pub retrying: usize,
}

impl QueueSample {
    /// Both as one queue.
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
