//! How long a filter that keeps reaching its bounds has to wait.

use std::time::{Duration, Instant};

use boathook_core::filter::FilterError;

/// The filter has to wait from this many failures in a row on. Fewer may be bad luck.
const PATIENCE: u32 = 3;
/// The first wait, doubled with each further failure.
const FIRST: Duration = Duration::from_secs(1);
const LONGEST: Duration = Duration::from_secs(60);

/// How long a filter that keeps reaching its limits has to wait.
#[derive(Debug, Default)]
pub(super) struct Backoff {
    failures: u32,
    until: Option<Instant>,
    last: String,
}

impl Backoff {
    /// Whether the filter may run now.
    pub(super) fn check(&self, now: Instant) -> Result<(), FilterError> {
        match self.until.map(|until| until.saturating_duration_since(now)) {
            None | Some(Duration::ZERO) => Ok(()),
            Some(wait) => Err(FilterError::BackingOff { wait, failures: self.failures, last: self.last.clone() }),
        }
    }

    /// The filter ended by itself.
    pub(super) fn succeeded(&mut self) {
        *self = Self::default();
    }

    /// The filter had to be stopped.
    pub(super) fn failed(&mut self, now: Instant, why: String) {
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
                match backoff.check(now) {
                    Err(FilterError::BackingOff { wait, .. }) => wait.as_secs(),
                    _ => 0,
                }
            })
            .collect();
        assert_eq!(waits, [0, 0, 1, 2, 4, 8, 16, 32, 60, 60, 60, 60]);
        assert!(backoff.check(now).unwrap_err().to_string().contains("e11"));
        assert!(backoff.check(now + LONGEST).is_ok());
        backoff.succeeded();
        assert!(backoff.check(now).is_ok());
    }
}
