//! What a schedule does next. Pure: the time and the random number are arguments.

use std::time::Duration;

use boathook_core::model::{MissedRuns, Tick};
use jiff::{SignedDuration, Timestamp};

use super::{Due, MAX_MISSED, Schedule};

/// The longest sleep. A clock that was set, or a machine that was suspended, is noticed after this time at the latest.
pub(super) const MAX_SLEEP: Duration = Duration::from_secs(60);
/// A tick that is this much later than planned was missed. This is longer than the longest sleep.
const LATE: SignedDuration = SignedDuration::from_secs(90);
/// If the clock is set back by more than this, its ticks come again. If by less, the schedule waits for the clock to
/// catch up.
const SET_BACK: SignedDuration = SignedDuration::from_mins(5);

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Step {
    Sleep(Duration),
    Strike(Tick),
    End,
}

pub(super) struct Plan {
    schedule: Schedule,
    next: Option<Due>,
    missed: u32,
    /// The time at the last step.
    seen: Timestamp,
}

impl Plan {
    pub fn new(schedule: Schedule, now: Timestamp, chance: f64) -> Self {
        Self { next: schedule.due_after(now, chance), schedule, missed: 0, seen: now }
    }

    pub fn step(&mut self, now: Timestamp, chance: &mut impl FnMut() -> f64) -> Step {
        if self.seen.duration_since(now) > SET_BACK {
            self.next = self.schedule.due_after(now, chance());
        }
        self.seen = now;
        let Some(next) = self.next else { return Step::End };
        if now < next.given {
            return Step::Sleep(sleep(now, next.given));
        }
        let (last, count) = self.schedule.due(next.at, now);
        let meant = if count == 1 { next.given } else { last };
        self.next = self.schedule.due_after(last, chance());
        self.missed = self.missed.saturating_add(count - 1).min(MAX_MISSED);
        if self.schedule.missed_runs == MissedRuns::Skip && now.duration_since(meant) > LATE {
            self.missed = self.missed.saturating_add(1).min(MAX_MISSED);
            return self.next.map_or(Step::End, |next| Step::Sleep(sleep(now, next.given)));
        }
        let scheduled_at = u64::try_from(last.as_millisecond()).unwrap_or(0);
        Step::Strike(Tick { scheduled_at, missed: std::mem::take(&mut self.missed) })
    }
}

fn sleep(now: Timestamp, next: Timestamp) -> Duration {
    Duration::try_from(next.duration_since(now)).unwrap_or_default().min(MAX_SLEEP)
}
