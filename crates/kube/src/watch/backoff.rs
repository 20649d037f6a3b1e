//! How long to wait after an error. Pure: the random number is an argument.

use std::time::Duration;

/// Delays that double from `initial` to `max`.
#[derive(Debug, Clone)]
pub(super) struct Backoff {
    initial: Duration,
    max: Duration,
    errors: u32,
}

impl Backoff {
    pub fn new(initial: Duration, max: Duration) -> Self {
        Self { initial, max, errors: 0 }
    }

    /// Returns the next delay. `chance`, from 0 to 1, spreads it over its upper half, so that streams that failed
    /// together do not come back together.
    pub fn next(&mut self, chance: f64) -> Duration {
        let doubled = self.initial.saturating_mul(2_u32.saturating_pow(self.errors)).min(self.max);
        self.errors = self.errors.saturating_add(1);
        doubled.mul_f64(0.5 + chance.clamp(0.0, 1.0) / 2.0)
    }

    pub fn reset(&mut self) {
        self.errors = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn doubles_up_to_the_maximum_and_starts_again() {
        let mut backoff = Backoff::new(Duration::from_millis(200), Duration::from_secs(30));
        let delays: Vec<_> = (0..10).map(|_| backoff.next(1.0).as_millis()).collect();
        assert_eq!(delays, [200, 400, 800, 1600, 3200, 6400, 12_800, 25_600, 30_000, 30_000]);
        backoff.reset();
        assert_eq!(backoff.next(0.0), Duration::from_millis(100));
    }
}
