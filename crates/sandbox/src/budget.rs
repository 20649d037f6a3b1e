//! The calls, and the bytes in both directions, that a run has left.
//!
//! The rule for every function of ours that a hook imports: a call costs one call (a `batch` costs one for each
//! operation) and the bytes of its arguments and of its answer. If the budget does not cover that, a function whose
//! type has an error returns it, so that the hook can end in good order. A function without an error ends the run. A
//! hook that continues after [`PATIENCE`] refusals is also ended. WASI calls are not counted, because they cost no more
//! than the guest's own time. Only HTTP requests are, with the bytes of the request and of its response, and calls on files,
//! with what is read and written.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use boathook_core::model::{Limit, Limits};

use super::error::Reached;

/// The refusals that a run gets before it is ended.
pub(super) const PATIENCE: u32 = 1000;

/// The budget of one run. Clones share it, because HTTP requests end while the guest does something else.
#[derive(Debug, Clone)]
pub(super) struct Budget(Arc<Mutex<Spent>>);

#[derive(Debug)]
struct Spent {
    max_calls: u64,
    max_bytes: u64,
    calls: u64,
    bytes: u64,
    refusals: u32,
}

impl Budget {
    pub(super) fn new(limits: &Limits) -> Self {
        let (max_calls, max_bytes) = (limits.host_calls, limits.host_bytes);
        Self(Arc::new(Mutex::new(Spent { max_calls, max_bytes, calls: 0, bytes: 0, refusals: 0 })))
    }

    fn spent(&self) -> MutexGuard<'_, Spent> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The calls that were carried out.
    pub(super) fn calls(&self) -> u64 {
        self.spent().calls
    }

    /// The bytes that were passed.
    pub(super) fn bytes(&self) -> u64 {
        self.spent().bytes
    }

    /// The bytes that may still be passed.
    pub(super) fn bytes_left(&self) -> u64 {
        let spent = self.spent();
        spent.max_bytes.saturating_sub(spent.bytes)
    }

    /// Takes `calls` calls with `bytes` of arguments. If the budget does not cover them, takes nothing and returns the
    /// limit that was reached.
    pub(super) fn take(&self, calls: u64, bytes: usize) -> Result<(), Reached> {
        let mut spent = self.spent();
        let total = spent.calls.saturating_add(calls);
        if total > spent.max_calls {
            return Err(Reached(Limit::HostCalls));
        }
        spent.take_bytes(bytes)?;
        spent.calls = total;
        Ok(())
    }

    /// Takes the bytes of an answer.
    pub(super) fn take_bytes(&self, bytes: usize) -> Result<(), Reached> {
        self.spent().take_bytes(bytes)
    }

    /// Counts a refusal that the guest receives. The last one ends the run.
    pub(super) fn refuse(&self, reached: Reached) -> Result<Limit, Reached> {
        let mut spent = self.spent();
        spent.refusals += 1;
        if spent.refusals > PATIENCE { Err(reached) } else { Ok(reached.0) }
    }
}

impl Spent {
    fn take_bytes(&mut self, bytes: usize) -> Result<(), Reached> {
        let total = self.bytes.saturating_add(bytes as u64);
        if total > self.max_bytes {
            return Err(Reached(Limit::HostBytes));
        }
        self.bytes = total;
        Ok(())
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
        let budget = budget(3, 100);
        assert_eq!(budget.take(2, 60), Ok(()));
        assert_eq!(budget.take(2, 0), Err(Reached(Limit::HostCalls)));
        assert_eq!(budget.take(1, 41), Err(Reached(Limit::HostBytes)));
        assert_eq!(budget.take(1, 30), Ok(()));
        assert_eq!(budget.take_bytes(11), Err(Reached(Limit::HostBytes)));
        assert_eq!(budget.take_bytes(10), Ok(()));
        assert_eq!((budget.calls(), budget.bytes(), budget.clone().bytes_left()), (3, 100, 0));
    }

    #[test]
    fn huge_numbers_do_not_wrap() {
        let budget = budget(u64::MAX, u64::MAX);
        assert_eq!(budget.take(u64::MAX, usize::MAX), Ok(()));
        assert_eq!(budget.take(u64::MAX, usize::MAX), Ok(()));
    }

    #[test]
    fn patience_ends() {
        let budget = budget(0, 0);
        for _ in 0..PATIENCE {
            assert_eq!(budget.refuse(Reached(Limit::HostCalls)), Ok(Limit::HostCalls));
        }
        assert_eq!(budget.refuse(Reached(Limit::HostCalls)), Err(Reached(Limit::HostCalls)));
    }
}
