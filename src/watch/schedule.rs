//! When the clock strikes: the ticks of one crontab. Keeps nothing over a restart, and never makes
//! up for more than one tick at a time.

use std::time::Duration;

use futures::{Stream, stream};
use jiff::{SignedDuration, Timestamp, tz::TimeZone};

use crate::model::{Crontab, CrontabError, MissedRuns, Tick};

/// The longest sleep: a clock that was set, or a machine that was suspended, is noticed after it.
const MAX_SLEEP: Duration = Duration::from_secs(60);
/// A tick that comes later than this was missed. Longer than the longest sleep.
const LATE: SignedDuration = SignedDuration::from_secs(90);
/// A clock that is set back by more makes its ticks come again; by less, it is waited for.
const SET_BACK: SignedDuration = SignedDuration::from_mins(5);
/// Missed ticks are counted up to this.
const MAX_COUNT: u32 = 1000;

/// A crontab with its zone.
#[derive(Debug, Clone)]
pub struct Schedule {
    crontab: Crontab,
    zone: TimeZone,
    missed_runs: MissedRuns,
}

impl Schedule {
    /// From the texts of a document. Without `zone` and without a `TZ=` in the crontab, the
    /// process's zone.
    pub fn new(crontab: &str, zone: Option<&str>, missed_runs: MissedRuns) -> Result<Self, CrontabError> {
        let zone = zone.map(Crontab::zone).transpose()?.unwrap_or_else(TimeZone::system);
        Ok(Self { crontab: Crontab::parse(crontab)?, zone, missed_runs })
    }

    /// Ticks, as they come, by `clock`. The stream ends only if there will never be another.
    ///
    /// Ticks that could not be given in time (the machine slept, the clock was set forward, or
    /// nobody asked the stream) are counted in the next one's `missed`, up to 1000. With
    /// [`MissedRuns::Once`] the last of them is given at once, however late.
    pub fn ticks(self, clock: impl Fn() -> Timestamp + Send + 'static) -> impl Stream<Item = Tick> + Send {
        let plan = Plan::new(self, clock());
        stream::unfold((plan, clock), |(mut plan, clock)| async move {
            loop {
                match plan.step(clock()) {
                    Step::Sleep(time) => tokio::time::sleep(time).await,
                    Step::Strike(tick) => return Some((tick, (plan, clock))),
                    Step::End => return None,
                }
            }
        })
    }

    fn next_after(&self, at: Timestamp) -> Option<Timestamp> {
        self.crontab.next_after(at, &self.zone)
    }

    /// The last tick up to `now`, of which `first` is one, and how many there are from `first` on.
    fn due(&self, first: Timestamp, now: Timestamp) -> (Timestamp, u32) {
        let (mut last, mut count) = (first, 1);
        while let Some(next) = self.next_after(last).filter(|next| *next <= now) {
            if count == MAX_COUNT {
                return (self.last_between(last, now), count);
            }
            last = next;
            count += 1;
        }
        (last, count)
    }

    /// The last tick up to `now`, by halves: `tick` may be years back.
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

#[derive(Debug, PartialEq, Eq)]
enum Step {
    Sleep(Duration),
    Strike(Tick),
    End,
}

/// What comes next. Pure: time is an argument.
struct Plan {
    schedule: Schedule,
    next: Option<Timestamp>,
    missed: u32,
    /// The last time that it was told.
    seen: Timestamp,
}

impl Plan {
    fn new(schedule: Schedule, now: Timestamp) -> Self {
        Self { next: schedule.next_after(now), schedule, missed: 0, seen: now }
    }

    fn step(&mut self, now: Timestamp) -> Step {
        if self.seen.duration_since(now) > SET_BACK {
            self.next = self.schedule.next_after(now);
        }
        self.seen = now;
        let Some(next) = self.next else { return Step::End };
        if now < next {
            return Step::Sleep(sleep(now, next));
        }
        let (last, count) = self.schedule.due(next, now);
        self.next = self.schedule.next_after(last);
        self.missed = self.missed.saturating_add(count - 1).min(MAX_COUNT);
        if self.schedule.missed_runs == MissedRuns::Skip && now.duration_since(last) > LATE {
            self.missed = self.missed.saturating_add(1).min(MAX_COUNT);
            return self.next.map_or(Step::End, |next| Step::Sleep(sleep(now, next)));
        }
        let scheduled_at = u64::try_from(last.as_millisecond()).unwrap_or(0);
        Step::Strike(Tick { scheduled_at, missed: std::mem::take(&mut self.missed) })
    }
}

fn sleep(now: Timestamp, next: Timestamp) -> Duration {
    Duration::try_from(next.duration_since(now)).unwrap_or_default().min(MAX_SLEEP)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::sync::{
        Arc,
        atomic::{AtomicI64, Ordering},
    };

    use futures::StreamExt;
    use tokio::time::Instant;

    use super::*;

    fn at(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    fn schedule(crontab: &str, missed_runs: MissedRuns) -> Schedule {
        Schedule::new(crontab, Some("UTC"), missed_runs).unwrap()
    }

    /// A wall clock on tokio's paused one, which can be set.
    #[derive(Clone)]
    struct Wall {
        start: Timestamp,
        began: Instant,
        set_by: Arc<AtomicI64>,
    }

    impl Wall {
        fn new(start: &str) -> Self {
            Self { start: at(start), began: Instant::now(), set_by: Arc::default() }
        }

        fn now(&self) -> Timestamp {
            let passed = SignedDuration::try_from(self.began.elapsed()).unwrap();
            self.start + passed + SignedDuration::from_secs(self.set_by.load(Ordering::Relaxed))
        }

        fn set_by(&self, seconds: i64) {
            self.set_by.fetch_add(seconds, Ordering::Relaxed);
        }

        fn ticks(&self, schedule: Schedule) -> std::pin::Pin<Box<dyn Stream<Item = Tick> + Send>> {
            let clock = self.clone();
            Box::pin(schedule.ticks(move || clock.now()))
        }

        /// When the tick was planned, what it missed, and how late it is.
        fn read(&self, tick: Tick) -> (String, u32, i64) {
            let planned = Timestamp::from_millisecond(i64::try_from(tick.scheduled_at).unwrap()).unwrap();
            (planned.to_string(), tick.missed, self.now().duration_since(planned).as_secs())
        }
    }

    fn tick(planned: &str, missed: u32, late: i64) -> (String, u32, i64) {
        (planned.to_owned(), missed, late)
    }

    #[tokio::test(start_paused = true)]
    async fn strikes_in_time() {
        let wall = Wall::new("2026-01-30T12:34:56.789Z");
        let mut ticks = wall.ticks(schedule("*/20 * * * *", MissedRuns::Skip));
        for planned in ["2026-01-30T12:40:00Z", "2026-01-30T13:00:00Z", "2026-01-30T13:20:00Z"] {
            assert_eq!(wall.read(ticks.next().await.unwrap()), tick(planned, 0, 0));
        }
    }

    #[tokio::test(start_paused = true)]
    async fn ticks_that_nobody_asked_for_are_counted() {
        let wall = Wall::new("2026-01-30T12:00:00Z");
        let mut ticks = wall.ticks(schedule("* * * * * *", MissedRuns::Skip));
        assert_eq!(wall.read(ticks.next().await.unwrap()), tick("2026-01-30T12:00:01Z", 0, 0));
        tokio::time::advance(Duration::from_secs(10)).await;
        assert_eq!(wall.read(ticks.next().await.unwrap()), tick("2026-01-30T12:00:11Z", 9, 0));
        assert_eq!(wall.read(ticks.next().await.unwrap()), tick("2026-01-30T12:00:12Z", 0, 0));
    }

    /// The clock goes forward by half a day in the first sleep, as after a suspension.
    async fn after_suspension(missed_runs: MissedRuns) -> (String, u32, i64) {
        let wall = Wall::new("2026-01-30T01:59:00Z");
        let mut ticks = wall.ticks(schedule("0 */5 * * *", missed_runs));
        let sleeper = wall.clone();
        tokio::spawn(async move {
            tokio::time::sleep(Duration::from_secs(30)).await;
            sleeper.set_by(12 * 3600);
        });
        wall.read(ticks.next().await.unwrap())
    }

    #[tokio::test(start_paused = true)]
    async fn missed_ticks_are_skipped_or_made_up_for_once() {
        assert_eq!(after_suspension(MissedRuns::Skip).await, tick("2026-01-30T15:00:00Z", 2, 0));
        let (planned, missed, late) = after_suspension(MissedRuns::Once).await;
        assert_eq!((planned.as_str(), missed), ("2026-01-30T10:00:00Z", 1));
        assert!((4 * 3600 - 60..4 * 3600 + 60).contains(&late), "{late}");
    }

    #[tokio::test(start_paused = true)]
    async fn a_clock_set_forward_by_years_is_no_storm_and_no_hang() {
        let wall = Wall::new("1970-01-02T00:00:00Z");
        let mut ticks = wall.ticks(schedule("* * * * * *", MissedRuns::Skip));
        ticks.next().await.unwrap();
        wall.set_by(1_780_000_000);
        let (_, missed, late) = wall.read(ticks.next().await.unwrap());
        assert_eq!((missed, late), (999, 0));
        let (_, missed, late) = wall.read(ticks.next().await.unwrap());
        assert_eq!((missed, late), (0, 0));
    }

    #[tokio::test(start_paused = true)]
    async fn a_clock_set_back_by_much_starts_anew_and_by_little_repeats_nothing() {
        let wall = Wall::new("2026-01-30T12:00:30Z");
        let mut ticks = wall.ticks(schedule("* * * * *", MissedRuns::Skip));
        assert_eq!(wall.read(ticks.next().await.unwrap()), tick("2026-01-30T12:01:00Z", 0, 0));
        wall.set_by(-120);
        assert_eq!(wall.read(ticks.next().await.unwrap()), tick("2026-01-30T12:02:00Z", 0, 0));
        wall.set_by(-7200);
        assert_eq!(wall.read(ticks.next().await.unwrap()), tick("2026-01-30T10:03:00Z", 0, 0));
    }

    #[tokio::test(start_paused = true)]
    async fn what_never_strikes_ends() {
        let wall = Wall::new("2026-01-30T12:00:30Z");
        let never = Schedule::new("30 2 25-31 3 */7", Some("Europe/Berlin"), MissedRuns::Skip).unwrap();
        assert_eq!(wall.ticks(never).next().await, None);
    }

    #[test]
    fn sleeps_are_short_enough_to_notice_another_clock() {
        let mut plan = Plan::new(schedule("0 0 1 1 *", MissedRuns::Skip), at("2026-01-30T12:00:00Z"));
        assert_eq!(plan.step(at("2026-01-30T12:00:00Z")), Step::Sleep(MAX_SLEEP));
        assert_eq!(plan.step(at("2026-12-31T23:59:59.5Z")), Step::Sleep(Duration::from_millis(500)));
    }

    #[test]
    fn zones_are_looked_up() {
        assert!(Schedule::new("* * * * *", Some("Mars/Olympus"), MissedRuns::Skip).is_err());
        assert!(Schedule::new("* * * *", None, MissedRuns::Skip).is_err());
        assert!(Schedule::new("* * * * *", None, MissedRuns::Skip).is_ok());
    }
}
