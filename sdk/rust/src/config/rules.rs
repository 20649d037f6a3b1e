//! Limits of a run, and how a failed one is repeated.
//!
//! Wishes only: the host holds them within its own maxima.

use super::document::Fields;
use std::time::Duration;

/// What one run may use.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Limits(pub(super) Fields);

impl Limits {
    /// The defaults.
    pub fn new() -> Self {
        Self::default()
    }

    /// Memory, as a Kubernetes quantity. Default `64Mi`.
    pub fn memory(mut self, quantity: &str) -> Self {
        self.0.text("memory", quantity);
        self
    }

    /// Wall-clock time. Default 10 s.
    pub fn time(mut self, time: Duration) -> Self {
        self.0.duration("time", time);
        self
    }

    /// Calls to the host. Default 10 000.
    pub fn host_calls(mut self, calls: u32) -> Self {
        self.0.plain("hostCalls", calls);
        self
    }

    /// Bytes that pass between hook and host, as a Kubernetes quantity. Default `64Mi`.
    pub fn host_bytes(mut self, quantity: &str) -> Self {
        self.0.text("hostBytes", quantity);
        self
    }

    /// Bytes of log, as a Kubernetes quantity. Default `1Mi`.
    pub fn log_bytes(mut self, quantity: &str) -> Self {
        self.0.text("logBytes", quantity);
        self
    }
}

/// The curve by which failed runs are repeated.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Retry(pub(super) Fields);

impl Retry {
    /// The defaults.
    pub fn new() -> Self {
        Self::default()
    }

    /// The delay before the first repetition. Default 5 s.
    pub fn initial(mut self, delay: Duration) -> Self {
        self.0.duration("initial", delay);
        self
    }

    /// The longest delay. Default 32 s.
    pub fn max(mut self, delay: Duration) -> Self {
        self.0.duration("max", delay);
        self
    }

    /// By how much the delay grows each time. Default 2.
    pub fn multiplier(mut self, factor: f64) -> Self {
        self.0.plain("multiplier", factor);
        self
    }

    /// Up to this share of a delay is added to it, by chance. Default 0.1.
    pub fn jitter(mut self, share: f64) -> Self {
        self.0.plain("jitter", share);
        self
    }

    /// Runs at most, the first one included, after which the triggers become a dead letter. At least
    /// 1; unlimited by default.
    pub fn attempts(mut self, attempts: u32) -> Self {
        self.0.plain("attempts", attempts);
        self
    }
}
