//! One replica's part in the election: what it has seen of the Lease, and what it is to do now. Pure: never asks,
//! reads no clock, rolls no dice.
//!
//! No clock but its own counts, and of that only how much time has passed. Who leads may act from the moment at which
//! it *sent* a renewal that succeeded, for `deadline`; who waits lets `duration` pass from the moment at which it
//! *saw* the last sign of life, which is later. So two never lead at the same time, as long as no clock runs faster
//! than another by the ratio of the two.

use std::time::Duration;

use jiff::Timestamp;
use tokio::time::Instant;

use super::{Terms, leadership::Standing, record::Record};

/// What is to be done now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Step {
    /// Read the Lease.
    Look,
    /// Make the Lease, which is not there.
    Create(Record),
    /// Write this over the version that was read.
    Write(Record),
    /// Nothing before this moment, or a sign of a change.
    Rest(Instant),
    /// Nothing any more.
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
    record: Record,
    /// When its holder gave the last sign of life.
    alive: Instant,
    /// It was deleted since.
    missing: bool,
}

/// The state machine.
#[derive(Debug)]
pub(super) struct Elector {
    identity: String,
    terms: Terms,
    role: Role,
    seen: Option<Seen>,
    /// When to read the Lease again, whatever else there is.
    look: Instant,
    /// What is known of it may be wrong.
    stale: bool,
}

impl Elector {
    /// `identity` is nobody else's, not even that of this Pod's process before.
    pub fn new(identity: String, terms: Terms, now: Instant) -> Self {
        Self { identity, terms, role: Role::Standby, seen: None, look: now, stale: true }
    }

    /// What to do. `wall` is what goes into the Lease for people to read.
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

    /// The end of its time is never slept through.
    fn bounded(&self, at: Instant) -> Instant {
        match self.role {
            Role::Leading { until, .. } => at.min(until),
            _ => at,
        }
    }

    /// When the Lease may be taken, if not now.
    fn free_from(&self) -> Option<Instant> {
        let seen = self.seen.as_ref()?;
        let holder = seen.record.holder.as_ref()?;
        // The holder may have been told another time than we were.
        let lasts = self.terms.duration.max(seen.record.duration.unwrap_or_default());
        (*holder != self.identity).then(|| seen.alive + lasts)
    }

    fn write(&self, wall: Timestamp) -> Step {
        let before = self.seen.as_ref().map(|seen| seen.record.clone());
        let missing = self.seen.as_ref().is_none_or(|seen| seen.missing);
        let ours = before.as_ref().is_some_and(|before| before.holder.as_deref() == Some(&self.identity));
        let passes = i32::from(before.is_some() && !ours);
        let before = before.unwrap_or_default();
        let record = Record {
            holder: Some(self.identity.clone()),
            duration: Some(self.terms.duration),
            renewed: Some(wall),
            acquired: before.acquired.filter(|_| ours).or(Some(wall)),
            transitions: before.transitions.saturating_add(passes),
            version: before.version,
        };
        if missing { Step::Create(record) } else { Step::Write(record) }
    }

    /// The Lease was read, or a watch showed it: what it says, or that it is not there.
    pub fn saw(&mut self, found: Option<Record>, now: Instant, jitter: f64) {
        self.look = now + self.pause(jitter);
        self.stale = false;
        match (found, &mut self.seen) {
            // Whoever held it may have renewed it just before, and acts on.
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

    /// A write succeeded that was sent at this moment.
    pub fn wrote(&mut self, record: Record, sent: Instant, now: Instant, jitter: f64) {
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

    /// A request failed. After a conflict the Lease is read again at once.
    pub fn failed(&mut self, conflict: bool, now: Instant, jitter: f64) {
        self.stale = true;
        let pause = self.pause(jitter);
        self.look = now + if conflict { pause / 20 } else { pause };
    }

    /// Somewhat less than what the terms say, so that many do not come at once.
    fn pause(&self, jitter: f64) -> Duration {
        self.terms.retry.mul_f64(1.0 - 0.3 * jitter.clamp(0.0, 1.0))
    }

    /// For everybody else.
    pub fn standing(&self, now: Instant) -> Standing {
        match self.role {
            Role::Standby => Standing::Standby { led: self.free_from().is_some_and(|free| now < free) },
            Role::Leading { until, .. } => Standing::Leading { until },
            Role::Over => Standing::Over,
        }
    }

    /// Who holds the Lease, as far as is known.
    pub fn holder(&self) -> Option<&str> {
        self.seen.as_ref()?.record.holder.as_deref()
    }

    /// What gives the Lease back, if it is still ours.
    pub fn released(&self, found: Record) -> Option<Record> {
        let ours = found.holder.as_deref() == Some(&self.identity);
        ours.then_some(Record { holder: None, ..found })
    }
}
