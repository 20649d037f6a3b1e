//! The calls, and the bytes in both directions, that a run has left.
//!
//! The rule for every function of ours that a hook imports: a call costs one call (a `batch` costs one for each
//! operation) and the bytes of its arguments and of its answer. If the budget does not cover that, a function whose
//! type has an error returns it, so that the hook can end in good order. A function without an error ends the run. A
//! hook that continues after [`PATIENCE`] refusals is also ended. WASI calls are not counted, because they cost no more
//! than the guest's own time.

use boathook_core::model::{Limit, Limits};

use super::error::Reached;

/// The refusals that a run gets before it is ended.
pub(super) const PATIENCE: u32 = 1000;

#[derive(Debug)]
pub(super) struct Budget {
    max_calls: u64,
    max_bytes: u64,
    calls: u64,
    bytes: u64,
    refusals: u32,
}

impl Budget {
    pub(super) fn new(limits: &Limits) -> Self {
        Self { max_calls: limits.host_calls, max_bytes: limits.host_bytes, calls: 0, bytes: 0, refusals: 0 }
    }

    /// The calls that were carried out.
    pub(super) fn calls(&self) -> u64 {
        self.calls
    }

    /// The bytes that were passed.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Takes `calls` calls with `bytes` of arguments. If the budget does not cover them, takes nothing and returns the
    /// limit that was reached.
    pub(super) fn take(&mut self, calls: u64, bytes: usize) -> Result<(), Reached> {
        let total = self.calls.saturating_add(calls);
        if total > self.max_calls {
            return Err(Reached(Limit::HostCalls));
        }
        self.take_bytes(bytes)?;
        self.calls = total;
        Ok(())
    }

    /// Takes the bytes of an answer.
    pub(super) fn take_bytes(&mut self, bytes: usize) -> Result<(), Reached> {
        let total = self.bytes.saturating_add(bytes as u64);
        if total > self.max_bytes {
            return Err(Reached(Limit::HostBytes));
        }
        self.bytes = total;
        Ok(())
    }

    /// Counts a refusal that the guest receives. The last one ends the run.
    pub(super) fn refuse(&mut self, reached: Reached) -> Result<Limit, Reached> {
        self.refusals += 1;
        if self.refusals > PATIENCE { Err(reached) } else { Ok(reached.0) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn budget(host_calls: u64, host_bytes: u64) -> Budget {
        Budget::new(&Limits { host_calls, host_bytes, ..Limits::default() })
    }

    #[test]
    fn calls_and_bytes_run_out() {
        let mut budget = budget(3, 100);
        assert_eq!(budget.take(2, 60), Ok(()));
        assert_eq!(budget.take(2, 0), Err(Reached(Limit::HostCalls)));
        assert_eq!(budget.take(1, 41), Err(Reached(Limit::HostBytes)));
        assert_eq!(budget.take(1, 30), Ok(()));
        assert_eq!(budget.take_bytes(11), Err(Reached(Limit::HostBytes)));
        assert_eq!(budget.take_bytes(10), Ok(()));
        assert_eq!((budget.calls(), budget.bytes()), (3, 100));
    }

    #[test]
    fn huge_numbers_do_not_wrap() {
        let mut budget = budget(u64::MAX, u64::MAX);
        assert_eq!(budget.take(u64::MAX, usize::MAX), Ok(()));
        assert_eq!(budget.take(u64::MAX, usize::MAX), Ok(()));
    }

    #[test]
    fn patience_ends() {
        let mut budget = budget(0, 0);
        for _ in 0..PATIENCE {
            assert_eq!(budget.refuse(Reached(Limit::HostCalls)), Ok(Limit::HostCalls));
        }
        assert_eq!(budget.refuse(Reached(Limit::HostCalls)), Err(Reached(Limit::HostCalls)));
    }
}
