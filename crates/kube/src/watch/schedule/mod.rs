//! The ticks of one crontab. They do not survive a restart, and never make up for more than one missed tick at a time.

use std::time::Duration;

use boathook_core::model::{Crontab, CrontabError, MissedRuns, Tick};
use futures::{Stream, stream};
use jiff::{SignedDuration, Timestamp, tz::TimeZone};
use tokio::{
    sync::watch,
    time::{Instant, sleep},
};

/// The most missed ticks that are counted: a week of minutes.
const MAX_MISSED: u32 = 10_080;

/// A crontab with its time zone.
#[derive(Debug, Clone)]
pub struct Schedule {
    crontab: Crontab,
    zone: TimeZone,
    missed_runs: MissedRuns,
    jitter: Duration,
}

/// A tick: when it is planned, and when it is given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Due {
    at: Timestamp,
    given: Timestamp,
}

impl Schedule {
    /// Creates a schedule from the texts of a document. Without `zone` and without a `TZ=` in the crontab, it uses the
    /// process's time zone. Each tick is given later than planned by a random time up to `jitter`, but always before
    /// the next tick is due.
    pub fn new(
        crontab: &str,
        zone: Option<&str>,
        missed_runs: MissedRuns,
        jitter: Duration,
    ) -> Result<Self, CrontabError> {
        let zone = zone.map(Crontab::zone).transpose()?.unwrap_or_else(TimeZone::system);
        Ok(Self { crontab: Crontab::parse(crontab)?, zone, missed_runs, jitter })
    }

    /// The ticks, at the times of `clock`. The stream ends only if there will never be another tick.
    ///
    /// Some ticks cannot be given in time: the machine slept, the clock was set forward, or nothing polled the stream.
    /// They are counted in the next tick's `missed`, up to 10 080. With [`MissedRuns::Once`], the last of them is given
    /// at once, however late. The stream does not know about ticks that were missed before it was created, for example
    /// while the operator was down.
    ///
    /// A tick does not wait for the run of the previous one. It waits in the binding's queue, where runs of a hook
    /// never overlap and neighbors become one run.
    ///
    /// `jumps` reports that `clock` was set. Without it, the stream notices that within a minute.
    pub fn ticks(
        self,
        clock: impl Fn() -> Timestamp + Send + 'static,
        jumps: watch::Receiver<()>,
    ) -> impl Stream<Item = Tick> + Send {
        self.ticks_by(clock, jumps, || rand::random_range(0.0..1.0))
    }

    /// `chance` returns numbers from 0 to 1.
    fn ticks_by(
        self,
        clock: impl Fn() -> Timestamp + Send + 'static,
        jumps: watch::Receiver<()>,
        mut chance: impl FnMut() -> f64 + Send + 'static,
    ) -> impl Stream<Item = Tick> + Send {
        let plan = Plan::new(self, clock(), chance());
        stream::unfold((plan, clock, jumps, chance), |(mut plan, clock, mut jumps, mut chance)| async move {
            loop {
                match plan.step(clock(), &mut chance) {
                    Step::Sleep(time) => tokio::select! {
                        () = sleep(time) => {}
                        Ok(()) = jumps.changed() => {}
                    },
                    Step::Strike(tick) => return Some((tick, (plan, clock, jumps, chance))),
                    Step::End => return None,
                }
            }
        })
    }

    fn next_after(&self, at: Timestamp) -> Option<Timestamp> {
        self.crontab.next_after(at, &self.zone)
    }

    /// The next tick after `at`. If the jitter is longer than the time between two ticks, the tick is given at any
    /// moment between them.
    fn due_after(&self, at: Timestamp, chance: f64) -> Option<Due> {
        let at = self.next_after(at)?;
        if self.jitter.is_zero() {
            return Some(Due { at, given: at });
        }
        let room = self.next_after(at).and_then(|next| Duration::try_from(next.duration_since(at)).ok());
        let delay = room.map_or(self.jitter, |room| room.min(self.jitter)).mul_f64(chance.clamp(0.0, 0.999));
        Some(Due { at, given: at.checked_add(delay).unwrap_or(at) })
    }

    /// Returns the last tick up to `now`, and the number of ticks from `first`, which is one of them.
    fn due(&self, first: Timestamp, now: Timestamp) -> (Timestamp, u32) {
        let (mut last, mut count) = (first, 1);
        while let Some(next) = self.next_after(last).filter(|next| *next <= now) {
            if count > MAX_MISSED {
                return (self.last_between(last, now), count);
            }
            last = next;
            count += 1;
        }
        (last, count)
    }

    /// Finds the last tick up to `now` by bisection, because `tick` may be years back.
    fn last_between(&self, mut tick: Timestamp, now: Timestamp) -> Timestamp {
        let mut none_after = now;
        while none_after.as_second() - tick.as_second() > 1 {
            let middle = tick.as_second().midpoint(none_after.as_second());
            let Ok(middle) = Timestamp::from_second(middle) else { break };
            match self.next_after(middle).filter(|next| *next <= now) {
                Some(next) => tick = next,
                None => none_after = middle,
            }
        }
        tick
    }
}

/// The longest sleep. A clock that was set, or a machine that was suspended, is noticed after this time at the latest.
const MAX_SLEEP: Duration = Duration::from_secs(60);
/// A tick that is this much later than planned was missed. This is longer than the longest sleep.
const LATE: SignedDuration = SignedDuration::from_secs(90);
/// If the clock is set back by more than this, its ticks come again. If by less, the schedule waits for the clock to
/// catch up.
const SET_BACK: SignedDuration = SignedDuration::from_mins(5);

#[derive(Debug, PartialEq, Eq)]
enum Step {
    Sleep(Duration),
    Strike(Tick),
    End,
}

/// What a schedule does next. The time and the random number are arguments.
struct Plan {
    schedule: Schedule,
    next: Option<Due>,
    missed: u32,
    /// The time at the last step.
    seen: Timestamp,
}

impl Plan {
    fn new(schedule: Schedule, now: Timestamp, chance: f64) -> Self {
        Self { next: schedule.due_after(now, chance), schedule, missed: 0, seen: now }
    }

    fn step(&mut self, now: Timestamp, chance: &mut impl FnMut() -> f64) -> Step {
        if self.seen.duration_since(now) > SET_BACK {
            self.next = self.schedule.due_after(now, chance());
        }
        self.seen = now;
        let Some(next) = self.next else { return Step::End };
        if now < next.given {
            return Step::Sleep(until(now, next.given));
        }
        let (last, count) = self.schedule.due(next.at, now);
        let meant = if count == 1 { next.given } else { last };
        self.next = self.schedule.due_after(last, chance());
        self.missed = self.missed.saturating_add(count - 1).min(MAX_MISSED);
        if self.schedule.missed_runs == MissedRuns::Skip && now.duration_since(meant) > LATE {
            self.missed = self.missed.saturating_add(1).min(MAX_MISSED);
            return self.next.map_or(Step::End, |next| Step::Sleep(until(now, next.given)));
        }
        let scheduled_at = u64::try_from(last.as_millisecond()).unwrap_or(0);
        Step::Strike(Tick { scheduled_at, missed: std::mem::take(&mut self.missed) })
    }
}

fn until(now: Timestamp, next: Timestamp) -> Duration {
    Duration::try_from(next.duration_since(now)).unwrap_or_default().min(MAX_SLEEP)
}

/// The time between two checks.
const LOOK: Duration = Duration::from_secs(1);
/// Smaller differences are the small steps that keep a clock right, not a clock that was set.
const JUMP: SignedDuration = SignedDuration::from_secs(2);

/// Notices that the wall clock was set or that the machine slept, so that whatever waits for a time of day checks the
/// time again. Reports jumps until it is dropped.
pub async fn notify_of_jumps(clock: impl Fn() -> Timestamp + Send, reported: watch::Sender<()>) {
    let (mut wall, mut steady) = (clock(), Instant::now());
    loop {
        sleep(LOOK).await;
        let (now, passed) = (clock(), steady.elapsed());
        let passed = SignedDuration::try_from(passed).unwrap_or(SignedDuration::MAX);
        if (now.duration_since(wall) - passed).abs() > JUMP {
            reported.send_replace(());
        }
        (wall, steady) = (now, Instant::now());
    }
}

#[cfg(test)]
mod tests;
