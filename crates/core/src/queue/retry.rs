//! What a failure means for the triggers of a run, and how long they wait.

use std::time::Duration;

use crate::model::{FailureKind, RetryPolicy};

/// No failed run is retried sooner, so that a hook that requests no delay cannot spin its queue.
pub const SHORTEST_DELAY: Duration = Duration::from_millis(10);

/// No failed run waits longer.
pub const LONGEST_DELAY: Duration = Duration::from_secs(24 * 60 * 60);

/// What happens to the triggers of a failed run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Decision {
    /// They count as done.
    Allow,
    /// They run again after this time.
    Retry(Duration),
    /// They do not run again.
    GiveUp,
    /// They stay as they were.
    Keep,
}

/// Whether a failure of this kind is one of the attempts that `retry.attempts` counts. Only the hook's own failures
/// are.
pub(super) fn counts(kind: FailureKind) -> bool {
    !matches!(kind, FailureKind::Host | FailureKind::Interrupted)
}

/// Decides about the `n`th failure in a row, counted from 1. `jitter` is a random share, from 0 to 1.
///
/// `allow_failure` is about the hook. A run that the host could not make is retried despite it.
pub(super) fn decide(kind: FailureKind, allow_failure: bool, policy: &RetryPolicy, n: u32, jitter: f64) -> Decision {
    match kind {
        FailureKind::Interrupted => Decision::Keep,
        FailureKind::Host => Decision::Retry(delay(policy, n, jitter)),
        _ if allow_failure => Decision::Allow,
        FailureKind::Permanent => Decision::GiveUp,
        FailureKind::RetryAfter(after) => Decision::Retry(after.clamp(SHORTEST_DELAY, LONGEST_DELAY)),
        FailureKind::Retry | FailureKind::Trap | FailureKind::Limit(_) => Decision::Retry(delay(policy, n, jitter)),
    }
}

/// `min(max, initial × multiplier^(n-1))`, plus up to the policy's jitter.
pub(super) fn delay(policy: &RetryPolicy, n: u32, jitter: f64) -> Duration {
    let exponent = i32::try_from(n.saturating_sub(1)).unwrap_or(i32::MAX);
    let max = policy.max.as_secs_f64();
    let curve = policy.initial.as_secs_f64() * policy.multiplier.powi(exponent);
    // 0 × ∞ is not a number. The longest delay is then the safe choice.
    let base = if curve.is_nan() { max } else { curve.min(max) };
    let share = (policy.jitter * jitter.clamp(0.0, 1.0)).max(0.0);
    Duration::try_from_secs_f64(base * (1.0 + share)).unwrap_or(LONGEST_DELAY).clamp(SHORTEST_DELAY, LONGEST_DELAY)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
    use super::*;
    use crate::model::Limit;

    const fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    #[test]
    fn the_default_curve() {
        let policy = RetryPolicy::default();
        let table =
            [(1, 5_000), (2, 10_000), (3, 20_000), (4, 32_000), (5, 32_000), (1_000, 32_000), (u32::MAX, 32_000)];
        for (n, expected) in table {
            assert_eq!(delay(&policy, n, 0.0), ms(expected), "failure {n}");
        }
        assert_eq!(delay(&policy, 1, 1.0), ms(5_500));
        assert_eq!(delay(&policy, 9, 0.5), ms(33_600));
    }

    #[test]
    fn curves_out_of_the_ordinary_stay_in_bounds() {
        let policy =
            |initial, max, multiplier, jitter| RetryPolicy { initial, max, multiplier, jitter, attempts: None };
        let table = [
            (policy(ms(0), ms(0), 2.0, 0.0), 1, SHORTEST_DELAY),
            (policy(ms(0), ms(500), f64::INFINITY, 0.0), 3, ms(500)),
            (policy(ms(100), ms(1_000), 1.0, 0.0), 77, ms(100)),
            (policy(ms(800), ms(1_000), 0.5, 0.0), 2, ms(400)),
            (policy(ms(100), ms(1_000), f64::NAN, 0.0), 2, ms(1_000)),
            (policy(ms(100), ms(1_000), 2.0, f64::NAN), 1, ms(100)),
            (policy(ms(100), ms(1_000), 2.0, -4.0), 1, ms(100)),
            (policy(Duration::MAX, Duration::MAX, 9.0, 1.0), 40, LONGEST_DELAY),
        ];
        for (policy, n, expected) in table {
            assert_eq!(delay(&policy, n, 1.0), expected, "{policy:?}, failure {n}");
        }
    }

    #[test]
    fn what_each_failure_means() {
        use FailureKind as K;
        let policy = RetryPolicy { jitter: 0.0, ..RetryPolicy::default() };
        let first = Decision::Retry(ms(5_000));
        let table = [
            (K::Retry, first, Decision::Allow),
            (K::Trap, first, Decision::Allow),
            (K::Limit(Limit::Memory), first, Decision::Allow),
            (K::RetryAfter(ms(700)), Decision::Retry(ms(700)), Decision::Allow),
            (K::RetryAfter(ms(0)), Decision::Retry(SHORTEST_DELAY), Decision::Allow),
            (K::RetryAfter(Duration::MAX), Decision::Retry(LONGEST_DELAY), Decision::Allow),
            (K::Permanent, Decision::GiveUp, Decision::Allow),
            (K::Host, first, first),
            (K::Interrupted, Decision::Keep, Decision::Keep),
        ];
        for (kind, strict, allowed) in table {
            assert_eq!(decide(kind, false, &policy, 1, 0.3), strict, "{kind:?}");
            assert_eq!(decide(kind, true, &policy, 1, 0.3), allowed, "{kind:?} with allowFailure");
        }
    }
}
