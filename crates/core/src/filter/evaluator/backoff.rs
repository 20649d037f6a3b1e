//! How long a filter that keeps reaching its limits has to wait. Pure.

use std::time::{Duration, Instant};

/// The filter has to wait from this many failures in a row on. Fewer may be bad luck.
const PATIENCE: u32 = 3;
/// The first wait, doubled with each further failure.
const FIRST: Duration = Duration::from_secs(1);
const LONGEST: Duration = Duration::from_secs(60);

/// The back-off of one filter.
#[derive(Debug, Default)]
pub struct Backoff {
    failures: u32,
    until: Option<Instant>,
    last: String,
}

/// The filter may not run yet.
#[derive(Debug, PartialEq, Eq)]
pub struct Wait {
    /// The time until the next try.
    pub wait: Duration,
    /// Failures in a row.
    pub failures: u32,
    pub last: String,
}

impl Backoff {
    /// Whether the filter may run now.
    pub fn check(&self, now: Instant) -> Result<(), Wait> {
        match self.until.map(|until| until.saturating_duration_since(now)) {
            None | Some(Duration::ZERO) => Ok(()),
            Some(wait) => Err(Wait { wait, failures: self.failures, last: self.last.clone() }),
        }
    }

    /// The filter ended by itself.
    pub fn succeeded(&mut self) {
        *self = Self::default();
    }

    /// The filter had to be stopped.
    pub fn failed(&mut self, now: Instant, why: String) {
        self.failures = self.failures.saturating_add(1);
        self.last = why;
        if let Some(beyond) = self.failures.checked_sub(PATIENCE) {
            let wait = FIRST.saturating_mul(2_u32.saturating_pow(beyond)).min(LONGEST);
            self.until = Some(now + wait);
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn grows_and_is_forgotten() {
        let now = Instant::now();
        let mut backoff = Backoff::default();
        let waits: Vec<_> = (0..12)
            .map(|n| {
                backoff.failed(now, format!("e{n}"));
                backoff.check(now).err().map_or(0, |wait| wait.wait.as_secs())
            })
            .collect();
        assert_eq!(waits, [0, 0, 1, 2, 4, 8, 16, 32, 60, 60, 60, 60]);
        assert_eq!(backoff.check(now).unwrap_err().last, "e11");
        assert!(backoff.check(now + LONGEST).is_ok());
        backoff.succeeded();
        assert!(backoff.check(now).is_ok());
    }
}
