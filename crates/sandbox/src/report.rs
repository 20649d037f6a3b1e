//! The report of a guest's call.

use std::time::Duration;

use boathook_core::model::{Failure, FailureKind, MetricOp};

/// How a run went, and what it returned.
#[derive(Debug, Clone, PartialEq)]
pub struct RunReport<T = ()> {
    pub outcome: Result<T, Failure>,
    /// From the fresh store to the end, without the wait for a free slot.
    pub duration: Duration,
    /// The CPU time of the guest, and of what the host did for it in the same thread.
    pub cpu: Duration,
    /// The most bytes of memories and tables at a time.
    pub memory_peak: u64,
    /// How many calls of our imported functions were carried out.
    pub host_calls: u64,
    /// The bytes that these calls passed, in both directions.
    pub host_bytes: u64,
    /// The bytes of log lines that were written.
    pub log_bytes: u64,
    /// The metrics that the run reported, in order. They are applied only if the run succeeded, so that a retry does
    /// not count twice.
    pub metrics: Vec<MetricOp>,
}

impl<T> RunReport<T> {
    /// Converts the result of a successful run.
    pub fn map<U>(self, view: impl FnOnce(T) -> U) -> RunReport<U> {
        let Self { outcome, duration, cpu, memory_peak, host_calls, host_bytes, log_bytes, metrics } = self;
        let outcome = outcome.map(view);
        RunReport { outcome, duration, cpu, memory_peak, host_calls, host_bytes, log_bytes, metrics }
    }

    /// The report of a call that was ended from outside. What it did until then is no longer known.
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
