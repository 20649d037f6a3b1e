//! How much the queues hold and run at once.

/// Bounds of all queues. A bound of 0 counts as 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QueueConfig {
    /// Runs at the same time, all hooks together. One tenant gets at most three quarters of them. Default: 64.
    pub max_parallel_runs: usize,
    /// Runs of one hook at the same time, whatever its `concurrency` says. Default: 1 000.
    pub max_concurrency: usize,
    /// Triggers that one run takes. Default: 1 000.
    pub batch_triggers: usize,
    /// Bytes of objects and filter results that one run takes. A single trigger may be larger. Default: 8 MiB.
    pub batch_bytes: usize,
    /// Triggers that wait in one queue before it folds those of the same object. Default: 10 000.
    pub max_pending: usize,
    /// Bytes of objects and filter results that wait in one queue before it folds those of the same object. Default: 64
    /// MiB.
    pub max_pending_bytes: usize,
    /// Bytes of objects and filter results that all queues hold together: those of triggers that wait or that a job
    /// has, and those of dead letters. Tenants have fair shares of them. Default: no bound.
    pub max_held_bytes: u64,
    /// Dead letters that are kept. Default: 1 000.
    pub max_dead_letters: usize,
    /// Bytes of dead letters that are kept. A single letter may be larger. Default: 64 MiB.
    pub max_dead_letter_bytes: usize,
}

impl QueueConfig {
    /// Bytes of objects and filter results that one run receives in addition to those that the queues hold. A single
    /// trigger may be larger. All runs together receive as much as the queues hold.
    pub(super) fn loose_bytes(&self) -> usize {
        let each = self.max_held_bytes / self.max_parallel_runs.max(1) as u64;
        usize::try_from(each).unwrap_or(usize::MAX).min(self.batch_bytes)
    }
}

impl Default for QueueConfig {
    fn default() -> Self {
        const MIB: usize = 1024 * 1024;
        Self {
            max_parallel_runs: 64,
            max_concurrency: 1_000,
            batch_triggers: 1_000,
            batch_bytes: 8 * MIB,
            max_pending: 10_000,
            max_pending_bytes: 64 * MIB,
            max_held_bytes: u64::MAX,
            max_dead_letters: 1_000,
            max_dead_letter_bytes: 64 * MIB,
        }
    }
}
