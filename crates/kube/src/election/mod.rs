//! Which of several replicas leads: a Lease elects one, and tells it until when it may act.
//!
//! ```text
//!  the Lease ─▶ record ─▶ elector (pure: look, write, rest) ─▶ keep: asks the API server ─▶ Leadership
//! ```
//!
//! | file | its job |
//! | --- | --- |
//! | `record` | what a Lease says, and the body of a write |
//! | `elector` | what is to be done now; pure |
//! | `leadership` | whether this process leads, for those who act on it |
//! | `keep` | does what the elector says |
//!
//! Never stops anything that runs: those who hold a [`Leadership`] do.

mod elector;
mod keep;
mod leadership;
mod record;
#[cfg(test)]
mod tests;

use std::time::Duration;

pub use keep::{Candidacy, Election, ElectionConfig, remove};
pub use leadership::{Leadership, NotLeading, Standing};

/// The times of an election, all out of how long a Lease lasts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Terms {
    /// Without a sign of life for this time, another may take the Lease.
    pub duration: Duration,
    /// The leader ends when it could not renew for this time: before anybody can follow, by more than clocks differ.
    pub deadline: Duration,
    /// Between two renewals, and between two looks of a standby.
    pub retry: Duration,
    /// For one request.
    pub patience: Duration,
}

impl Terms {
    /// The usual duration: 15 s.
    pub const DURATION: Duration = Duration::from_secs(15);

    /// Of 15 s: 10 s to renew, every 2 s, and 3 s for a request.
    pub fn of(duration: Duration) -> Self {
        Self { duration, deadline: duration * 2 / 3, retry: duration * 2 / 15, patience: duration / 5 }
    }
}

/// The usual name of an operator's Lease: with its instance, where it has one.
pub fn lease_name(instance: Option<&str>) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || c == '.' { c.to_ascii_lowercase() } else { '-' };
    match instance {
        Some(instance) => format!("boathook-{}", instance.chars().map(plain).collect::<String>()),
        None => "boathook".to_owned(),
    }
}
