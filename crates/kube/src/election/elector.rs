//! One replica's part in the election: what it has seen of the Lease, and what it does next. Pure: the time and the
//! random numbers are arguments.
//!
//! The elector uses only its own clock, and of that only how much time has passed. The leader may act for `deadline`,
//! counted from when it *sent* a renewal that succeeded. A standby waits for `duration`, counted from when it *saw* the
//! last sign of life, which is later. Two replicas therefore never lead at the same time, as long as no clock runs
//! faster than another by the ratio of the two times.

use std::time::Duration;

use jiff::Timestamp;
use tokio::time::Instant;

use super::{Terms, leadership::Standing, lease::LeaderElectionRecord};

/// What to do now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Step {
    Look,
    /// Create the Lease, because it does not exist.
    Create(LeaderElectionRecord),
    /// Write this record over the version that was read.
    Write(LeaderElectionRecord),
    /// Do nothing before this moment or a sign of a change.
    Rest(Instant),
    /// Do nothing any more.
    End,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Role {
    Standby,
    Leading { until: Instant, renew: Instant },
    Over,
}

#[derive(Debug)]
struct Seen {
    record: LeaderElectionRecord,
    /// When its holder gave the last sign of life.
    alive: Instant,
    /// It has been deleted since.
    missing: bool,
}

/// The state machine of one replica.
#[derive(Debug)]
pub(super) struct Elector {
    identity: String,
    terms: Terms,
    role: Role,
    seen: Option<Seen>,
    /// When to read the Lease again, whatever else happens.
    look: Instant,
    /// What is known of the Lease may be wrong.
    stale: bool,
}

impl Elector {
    /// `identity` is unique. Not even the previous process in the same Pod had it.
    pub fn new(identity: String, terms: Terms, now: Instant) -> Self {
        Self { identity, terms, role: Role::Standby, seen: None, look: now, stale: true }
    }

    /// Returns what to do now. `wall` is the time that is written into the Lease for people to read.
    pub fn next(&mut self, now: Instant, wall: Timestamp) -> Step {
        match self.role {
            Role::Over => return Step::End,
            Role::Leading { until, .. } if now >= until => {
                self.role = Role::Over;
                return Step::End;
            }
            Role::Leading { .. } | Role::Standby => {}
        }
        if self.stale {
            return if now >= self.look { Step::Look } else { Step::Rest(self.bounded(self.look)) };
        }
        match self.role {
            Role::Leading { renew, .. } if now < renew => Step::Rest(self.bounded(renew)),
            Role::Leading { .. } => self.write(wall),
            _ => match self.free_from() {
                Some(free) if now < free && now >= self.look => Step::Look,
                Some(free) if now < free => Step::Rest(free.min(self.look)),
                _ => self.write(wall),
            },
        }
    }

    /// Limits a rest to the end of the time in which this replica leads.
    fn bounded(&self, at: Instant) -> Instant {
        match self.role {
            Role::Leading { until, .. } => at.min(until),
            _ => at,
        }
    }

    /// When the Lease becomes free. `None` if it may be taken now.
    fn free_from(&self) -> Option<Instant> {
        let seen = self.seen.as_ref()?;
        let holder = seen.record.holder.as_ref()?;
        // The holder may be configured with another duration.
        let lasts = self.terms.duration.max(seen.record.duration.unwrap_or_default());
        (*holder != self.identity).then(|| seen.alive + lasts)
    }

    fn write(&self, wall: Timestamp) -> Step {
        let before = self.seen.as_ref().map(|seen| seen.record.clone());
        let missing = self.seen.as_ref().is_none_or(|seen| seen.missing);
        let ours = before.as_ref().is_some_and(|before| before.holder.as_deref() == Some(&self.identity));
        let passes = i32::from(before.is_some() && !ours);
        let before = before.unwrap_or_default();
        let record = LeaderElectionRecord {
            holder: Some(self.identity.clone()),
            duration: Some(self.terms.duration),
            renewed: Some(wall),
            acquired: before.acquired.filter(|_| ours).or(Some(wall)),
            transitions: before.transitions.saturating_add(passes),
            version: before.version,
        };
        if missing { Step::Create(record) } else { Step::Write(record) }
    }

    /// Notes that the Lease was read, or that a watch showed it. `found` is its record, or `None` if it does not exist.
    pub fn saw(&mut self, found: Option<LeaderElectionRecord>, now: Instant, jitter: f64) {
        self.look = now + self.pause(jitter);
        self.stale = false;
        match (found, &mut self.seen) {
            // The former holder may have renewed the Lease just before, and still acts.
            (None, Some(seen)) if !seen.missing => (seen.alive, seen.missing) = (now, true),
            (None, _) => {}
            (Some(record), Some(seen)) if seen.record.is_as(&record) => {
                (seen.record.version, seen.missing) = (record.version, false);
            }
            (Some(record), _) => self.seen = Some(Seen { record, alive: now, missing: false }),
        }
        let other = self.seen.as_ref().is_some_and(|seen| seen.record.holder.as_ref() != Some(&self.identity));
        if other && matches!(self.role, Role::Leading { .. }) {
            self.role = Role::Over;
        }
    }

    /// Notes that a write succeeded. It was sent at `sent`.
    pub fn wrote(&mut self, record: LeaderElectionRecord, sent: Instant, now: Instant, jitter: f64) {
        let until = sent + self.terms.deadline;
        let late = match self.role {
            Role::Over => true,
            Role::Leading { until, .. } => now >= until,
            Role::Standby => false,
        };
        if late {
            self.role = Role::Over;
            return;
        }
        self.seen = Some(Seen { record, alive: now, missing: false });
        self.role = Role::Leading { until, renew: sent + self.pause(jitter) };
    }

    /// Notes that a request failed. After a conflict, the elector reads the Lease again almost at once.
    pub fn failed(&mut self, conflict: bool, now: Instant, jitter: f64) {
        self.stale = true;
        let pause = self.pause(jitter);
        self.look = now + if conflict { pause / 20 } else { pause };
    }

    /// Somewhat less than the terms say, so that replicas do not send their requests together.
    fn pause(&self, jitter: f64) -> Duration {
        self.terms.retry.mul_f64(1.0 - 0.3 * jitter.clamp(0.0, 1.0))
    }

    /// Whether this replica leads, for the other parts of the operator.
    pub fn standing(&self, now: Instant) -> Standing {
        match self.role {
            Role::Standby => Standing::Standby { led: self.free_from().is_some_and(|free| now < free) },
            Role::Leading { until, .. } => Standing::Leading { until },
            Role::Over => Standing::Over,
        }
    }

    /// The holder of the Lease, as far as is known.
    pub fn holder(&self) -> Option<&str> {
        self.seen.as_ref()?.record.holder.as_deref()
    }

    /// Returns the record that gives the Lease back, if this replica still holds it.
    pub fn released(&self, found: LeaderElectionRecord) -> Option<LeaderElectionRecord> {
        let ours = found.holder.as_deref() == Some(&self.identity);
        ours.then_some(LeaderElectionRecord { holder: None, ..found })
    }
}
