//! A hook's token bucket: how often its jobs may begin. It does not wait, it says when the next token comes.

use std::time::{Duration, Instant};

use crate::model::RateLimit;

/// Longer intervals count as this one.
const LONGEST_INTERVAL: Duration = Duration::from_secs(365 * 24 * 60 * 60);

/// A bucket starts full. It is stored as the time at which it would be full again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Bucket {
    /// A token comes back after this time.
    interval: Duration,
    /// How long an empty bucket takes to have all tokens but one.
    slack: Duration,
    full_at: Option<Instant>,
}

impl Bucket {
    /// `None` if there is no limit.
    pub(super) fn new(rate: RateLimit) -> Option<Self> {
        let interval = rate.min_interval.min(LONGEST_INTERVAL);
        let slack = interval.saturating_mul(rate.burst.get() - 1);
        (!interval.is_zero()).then_some(Self { interval, slack, full_at: None })
    }

    /// Whether the limit is the same, whatever is in the buckets.
    pub(super) fn same_limit(&self, other: &Self) -> bool {
        (self.interval, self.slack) == (other.interval, other.slack)
    }

    /// When the next token comes. `None` if there is one now.
    pub(super) fn next(&self, now: Instant) -> Option<Instant> {
        let until_full = self.full_at?.saturating_duration_since(now);
        let wait = until_full.checked_sub(self.slack).filter(|wait| !wait.is_zero())?;
        now.checked_add(wait)
    }

    /// Takes a token. There must be one.
    pub(super) fn take(&mut self, now: Instant) {
        let base = self.full_at.map_or(now, |full_at| full_at.max(now));
        self.full_at = Some(base.checked_add(self.interval).unwrap_or(base));
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::num::NonZeroU32;

    use super::*;

    fn bucket(secs: u64, burst: u32) -> Option<Bucket> {
        Bucket::new(RateLimit { min_interval: Duration::from_secs(secs), burst: NonZeroU32::new(burst).unwrap() })
    }

    #[test]
    fn starts_full_and_fills_one_by_one() {
        let start = Instant::now();
        let at = |secs| start + Duration::from_secs(secs);
        let mut bucket = bucket(10, 3).unwrap();
        for _ in 0..3 {
            assert_eq!(bucket.next(start), None);
            bucket.take(start);
        }
        assert_eq!(bucket.next(start), Some(at(10)));
        assert_eq!(bucket.next(at(9)), Some(at(10)));
        assert_eq!(bucket.next(at(10)), None);
        bucket.take(at(14));
        assert_eq!(bucket.next(at(14)), Some(at(20)), "the time since the last token counts");
        for _ in 0..3 {
            assert_eq!(bucket.next(at(100)), None);
            bucket.take(at(100));
        }
        assert_eq!(bucket.next(at(100)), Some(at(110)), "never more than the burst");
    }

    #[test]
    fn odd_limits() {
        assert_eq!(bucket(0, 5), None);
        let now = Instant::now();
        let mut huge = bucket(u64::MAX, u32::MAX).unwrap();
        for _ in 0..100 {
            huge.take(now);
        }
        assert_eq!(huge.next(now), None, "the burst is not used up");
        let mut rare = bucket(u64::MAX, 1).unwrap();
        rare.take(now);
        assert_eq!(rare.next(now), Some(now + LONGEST_INTERVAL));
    }
}
