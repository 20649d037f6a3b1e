//! How a call of a guest went.

use std::time::Duration;

use boathook_core::model::{Failure, FailureKind, MetricOp};

/// How a run went, and what it gave.
#[derive(Debug, Clone, PartialEq)]
pub struct RunReport<T = ()> {
    /// Success, or why not.
    pub outcome: Result<T, Failure>,
    /// From the fresh store to the end, without the wait for a free slot.
    pub duration: Duration,
    /// CPU time of the guest and of what the host did for it in the same thread.
    pub cpu: Duration,
    /// The most bytes of memories and tables at a time.
    pub memory_peak: u64,
    /// Calls of our imported functions that were carried out.
    pub host_calls: u64,
    /// Bytes that these passed, in both directions.
    pub host_bytes: u64,
    /// Bytes of log lines that were written.
    pub log_bytes: u64,
    /// What the run reported, in order: to be applied only if it succeeded, so that a retry does not
    /// count twice.
    pub metrics: Vec<MetricOp>,
}

impl<T> RunReport<T> {
    /// Another view of what it gave.
    pub fn map<U>(self, view: impl FnOnce(T) -> U) -> RunReport<U> {
        let Self { outcome, duration, cpu, memory_peak, host_calls, host_bytes, log_bytes, metrics } = self;
        let outcome = outcome.map(view);
        RunReport { outcome, duration, cpu, memory_peak, host_calls, host_bytes, log_bytes, metrics }
    }

    /// Of a call that was ended from outside. What it did until then is not known any more.
    pub fn interrupted(message: String, duration: Duration) -> Self {
        let failure = Failure { kind: FailureKind::Interrupted, message, backtrace: None };
        Self { duration, ..Self::not_started(failure) }
    }

    pub(super) fn not_started(failure: Failure) -> Self {
        Self {
            outcome: Err(failure),
            duration: Duration::ZERO,
            cpu: Duration::ZERO,
            memory_peak: 0,
            host_calls: 0,
            host_bytes: 0,
            log_bytes: 0,
            metrics: Vec::new(),
        }
    }
}
