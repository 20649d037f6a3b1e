//! Elects one of several replicas as the leader by a Lease, and limits the time until which it may act.
//!
//! ```text
//!  the Lease ─▶ lease ─▶ elector (pure: read, write, rest) ─▶ candidate: sends the requests ─▶ Leadership
//! ```
//!
//! | file | its job |
//! | --- | --- |
//! | `lease` | what a Lease says, and the body of a write |
//! | `elector` | what to do now; pure |
//! | `leadership` | whether this process leads, for the code that acts on it |
//! | `candidate` | does what the elector decides |
//!
//! The election stops nothing that runs. The code that holds a [`Leadership`] does that.

mod candidate;
mod elector;
mod leadership;
mod lease;
#[cfg(test)]
mod tests;

use std::time::Duration;

pub use candidate::{Candidacy, Election, ElectionConfig, remove};
pub use leadership::{Leadership, NotLeading, Standing};

/// The times of an election. All follow from the duration of the Lease.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Terms {
    /// After this time without a sign of life, another replica may take the Lease.
    pub duration: Duration,
    /// A leader that could not renew for this time ends. That is before any other replica can lead, with a margin for
    /// clocks that run at different speeds.
    pub deadline: Duration,
    /// The time between two renewals, and between two reads of a standby.
    pub retry: Duration,
    /// The time limit of one request.
    pub patience: Duration,
}

impl Terms {
    /// The default duration: 15 s.
    pub const DURATION: Duration = Duration::from_secs(15);

    /// For a duration of 15 s: 10 s to renew, a try every 2 s, and 3 s for a request.
    pub fn of(duration: Duration) -> Self {
        Self { duration, deadline: duration * 2 / 3, retry: duration * 2 / 15, patience: duration / 5 }
    }
}

/// The default name of an operator's Lease. It includes the operator's instance, if it has one.
pub fn lease_name(instance: Option<&str>) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || c == '.' { c.to_ascii_lowercase() } else { '-' };
    match instance {
        Some(instance) => format!("boathook-{}", instance.chars().map(plain).collect::<String>()),
        None => "boathook".to_owned(),
    }
}
