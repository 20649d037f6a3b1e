//! Ticks on a paused clock.
#![allow(clippy::unwrap_used, clippy::panic)]

use std::sync::{
    Arc,
    atomic::{AtomicI64, Ordering},
};

use futures::StreamExt;
use jiff::SignedDuration;
use proptest::prelude::*;
use tokio::time::Instant;

use super::*;

fn at(text: &str) -> Timestamp {
    text.parse().unwrap()
}

fn schedule(crontab: &str, missed_runs: MissedRuns) -> Schedule {
    Schedule::new(crontab, Some("UTC"), missed_runs, Duration::ZERO).unwrap()
}

/// A wall clock on top of tokio's paused clock. Tests can set it.
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
        // A closed channel reports nothing.
        Box::pin(schedule.ticks(move || clock.now(), watch::channel(()).1))
    }

    /// Returns when the tick was planned, what it missed, and how late it is.
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

/// The clock goes forward by half a day during the first sleep, as after a suspension.
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
    assert_eq!((missed, late), (10_080, 0));
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
    let never = Schedule::new("30 2 25-31 3 */7", Some("Europe/Berlin"), MissedRuns::Skip, Duration::ZERO).unwrap();
    assert_eq!(wall.ticks(never).next().await, None);
}

#[test]
fn sleeps_are_short_enough_to_notice_another_clock() {
    let mut plan = Plan::new(schedule("0 0 1 1 *", MissedRuns::Skip), at("2026-01-30T12:00:00Z"), 0.0);
    assert_eq!(plan.step(at("2026-01-30T12:00:00Z"), &mut || 0.0), Step::Sleep(MAX_SLEEP));
    assert_eq!(plan.step(at("2026-12-31T23:59:59.5Z"), &mut || 0.0), Step::Sleep(Duration::from_millis(500)));
}

#[test]
fn zones_are_looked_up() {
    let new = |crontab, zone| Schedule::new(crontab, zone, MissedRuns::Skip, Duration::ZERO);
    assert!(new("* * * * *", Some("Mars/Olympus")).is_err());
    assert!(new("* * * *", None).is_err());
    assert!(new("* * * * *", None).is_ok());
}

/// Returns the first ticks after `start`, in the zone's time, and checks that each comes when it is planned.
async fn local(crontab: &str, zone: &str, start: &str, count: usize) -> Vec<String> {
    let wall = Wall::new(start);
    let schedule = Schedule::new(crontab, Some(zone), MissedRuns::Skip, Duration::ZERO)
        .unwrap_or_else(|error| panic!("{crontab}: {error}"));
    let ticks: Vec<_> = wall.ticks(schedule).take(count).map(|tick| (tick, wall.now())).collect().await;
    let in_time = |(tick, now): (Tick, Timestamp)| {
        let planned = Timestamp::from_millisecond(i64::try_from(tick.scheduled_at).unwrap()).unwrap();
        assert_eq!((planned, tick.missed), (now, 0), "{crontab}");
        planned.to_zoned(TimeZone::get(zone).unwrap()).strftime("%m-%d %H:%M:%S %:z").to_string()
    };
    ticks.into_iter().map(in_time).collect()
}

#[tokio::test(start_paused = true)]
async fn clock_changes_are_kept_as_the_clock_on_the_wall_shows_them() {
    for (crontab, zone, start, expected) in [
        // The hour from two to three is left out, and later comes twice.
        (
            "30 2 * * *",
            "Europe/Berlin",
            "2026-03-27T12:00:00Z",
            ["03-28 02:30:00 +01:00", "03-30 02:30:00 +02:00", "03-31 02:30:00 +02:00"],
        ),
        (
            "30 2 * * *",
            "Europe/Berlin",
            "2026-10-24T12:00:00Z",
            ["10-25 02:30:00 +02:00", "10-26 02:30:00 +01:00", "10-27 02:30:00 +01:00"],
        ),
        (
            "*/30 * * * *",
            "Europe/Berlin",
            "2026-10-25T00:10:00Z",
            ["10-25 02:30:00 +02:00", "10-25 02:00:00 +01:00", "10-25 02:30:00 +01:00"],
        ),
        (
            "0 2 * * *",
            "America/New_York",
            "2026-03-07T05:00:00Z",
            ["03-07 02:00:00 -05:00", "03-09 02:00:00 -04:00", "03-10 02:00:00 -04:00"],
        ),
        (
            "0 1 * * *",
            "America/New_York",
            "2026-10-31T12:00:00Z",
            ["11-01 01:00:00 -04:00", "11-02 01:00:00 -05:00", "11-03 01:00:00 -05:00"],
        ),
        // Half an hour of daylight saving.
        (
            "15 2 * * *",
            "Australia/Lord_Howe",
            "2026-10-02T12:00:00Z",
            ["10-03 02:15:00 +10:30", "10-05 02:15:00 +11:00", "10-06 02:15:00 +11:00"],
        ),
        (
            "45 1 * * *",
            "Australia/Lord_Howe",
            "2026-04-03T20:00:00Z",
            ["04-05 01:45:00 +11:00", "04-06 01:45:00 +10:30", "04-07 01:45:00 +10:30"],
        ),
        // 30 December did not exist.
        (
            "0 12 * * *",
            "Pacific/Apia",
            "2011-12-29T00:00:00Z",
            ["12-29 12:00:00 -10:00", "12-31 12:00:00 +14:00", "01-01 12:00:00 +14:00"],
        ),
        // Intervals know no time zone: three hours are three hours.
        (
            "@every 3h",
            "Europe/Berlin",
            "2026-03-28T23:00:00Z",
            ["03-29 04:00:00 +02:00", "03-29 07:00:00 +02:00", "03-29 10:00:00 +02:00"],
        ),
    ] {
        assert_eq!(local(crontab, zone, start, 3).await, expected, "{crontab} {zone}");
    }
}

#[tokio::test(start_paused = true)]
async fn all_forms_strike() {
    for (crontab, expected) in [
        ("*/20 * * * * *", ["01-30 12:35:00", "01-30 12:35:20", "01-30 12:35:40"]),
        ("10 30 12 * * *", ["01-31 12:30:10", "02-01 12:30:10", "02-02 12:30:10"]),
        ("0 8 ? * MON-wed", ["02-02 08:00:00", "02-03 08:00:00", "02-04 08:00:00"]),
        ("0 0 ? Feb ?", ["02-01 00:00:00", "02-02 00:00:00", "02-03 00:00:00"]),
        ("@hourly", ["01-30 13:00:00", "01-30 14:00:00", "01-30 15:00:00"]),
        ("@daily", ["01-31 00:00:00", "02-01 00:00:00", "02-02 00:00:00"]),
        ("@every 90s", ["01-30 12:36:26", "01-30 12:37:56", "01-30 12:39:26"]),
        ("TZ=Asia/Kolkata 0 18 * * *", ["01-31 12:30:00", "02-01 12:30:00", "02-02 12:30:00"]),
    ] {
        let expected = expected.map(|text| format!("{text} +00:00"));
        assert_eq!(local(crontab, "UTC", "2026-01-30T12:34:56Z", 3).await, expected, "{crontab}");
    }
}

/// Returns ticks with a given jitter: when each was planned, and how late it came.
async fn jittered(crontab: &str, jitter: u64, chances: &'static [f64]) -> Vec<(String, u32, i64)> {
    let wall = Wall::new("2026-01-30T11:59:30Z");
    let schedule = Schedule::new(crontab, Some("UTC"), MissedRuns::Skip, Duration::from_secs(jitter)).unwrap();
    let clock = wall.clone();
    let mut chance = chances.iter().copied().cycle();
    let ticks = schedule.ticks_by(move || clock.now(), watch::channel(()).1, move || chance.next().unwrap());
    ticks.take(chances.len()).map(|tick| wall.read(tick)).collect().await
}

#[tokio::test(start_paused = true)]
async fn jitter_delays_each_tick_by_chance() {
    assert_eq!(
        jittered("0 * * * *", 600, &[0.5, 0.0, 0.9]).await,
        [
            tick("2026-01-30T12:00:00Z", 0, 300),
            tick("2026-01-30T13:00:00Z", 0, 0),
            tick("2026-01-30T14:00:00Z", 0, 540)
        ]
    );
    // Later than what counts as missed, but not missed.
    assert_eq!(jittered("0 * * * *", 3600, &[0.9]).await, [tick("2026-01-30T12:00:00Z", 0, 3240)]);
}

#[tokio::test(start_paused = true)]
async fn jitter_never_reaches_the_next_tick() {
    assert_eq!(
        jittered("* * * * *", 600, &[1.0, 0.5, 0.0]).await,
        [tick("2026-01-30T12:00:00Z", 0, 59), tick("2026-01-30T12:01:00Z", 0, 30), tick("2026-01-30T12:02:00Z", 0, 0)]
    );
}

/// What was missed while nothing ran is not made up for, whatever the policy.
#[tokio::test(start_paused = true)]
async fn a_restart_starts_with_the_next_tick() {
    for missed_runs in [MissedRuns::Skip, MissedRuns::Once] {
        let before = Wall::new("2026-01-30T11:59:00Z");
        let mut ticks = before.ticks(schedule("0 * * * *", missed_runs));
        assert_eq!(before.read(ticks.next().await.unwrap()), tick("2026-01-30T12:00:00Z", 0, 0));
        drop(ticks);
        let after = Wall::new("2026-01-30T17:30:00Z");
        let mut ticks = after.ticks(schedule("0 * * * *", missed_runs));
        assert_eq!(after.read(ticks.next().await.unwrap()), tick("2026-01-30T18:00:00Z", 0, 0));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// However long the jitter is, each tick is given once, after it is due and before the next one is due.
    #[test]
    fn jitter_keeps_the_order(
        crontab in prop::sample::select(vec!["* * * * * *", "*/7 * * * *", "0 2 * * *", "@every 90s", "0 0 1 * *"]),
        jitter in 0_u64..200_000,
        chances in prop::collection::vec(0.0..1.0_f64, 20),
    ) {
        let schedule =
            Schedule::new(crontab, Some("Europe/Berlin"), MissedRuns::Skip, Duration::from_secs(jitter)).unwrap();
        let mut at = at("2026-03-28T12:00:00Z");
        for chance in chances {
            let due = schedule.due_after(at, chance).unwrap();
            let next = schedule.next_after(due.at).unwrap();
            prop_assert_eq!(due.at, schedule.next_after(at).unwrap());
            prop_assert!(due.at <= due.given && due.given < next, "{:?} {}", due, next);
            prop_assert!(due.given.duration_since(due.at).unsigned_abs() <= Duration::from_secs(jitter));
            at = due.at;
        }
    }
}

// mutant: crates/kube/src/watch/schedule/mod.rs: `Ok(()) = jumps.changed() => {}` => `Ok(()) = async { jumps.changed().await?; std::future::pending::<Result<(), watch::error::RecvError>>().await } => {}`
#[tokio::test(start_paused = true)]
async fn a_jump_of_the_clock_is_noticed_at_once() {
    let wall = Wall::new("2026-01-30T12:00:30Z");
    let (reported, jumps) = watch::channel(());
    let (clock, other) = (wall.clone(), wall.clone());
    let _telling =
        tokio_util::task::AbortOnDropHandle::new(tokio::spawn(notify_of_jumps(move || other.now(), reported)));
    let mut ticks = Box::pin(schedule("0 * * * *", MissedRuns::Once).ticks(move || clock.now(), jumps));
    let set = async {
        // In the middle of a sleep, which would notice the jump only at its end.
        tokio::time::sleep(Duration::from_secs(630)).await;
        wall.set_by(2 * 3600);
        tokio::time::Instant::now()
    };
    let (tick, set) = tokio::join!(ticks.next(), set);
    assert!(set.elapsed() <= Duration::from_secs(1), "{:?}", set.elapsed());
    let (planned, missed, _) = wall.read(tick.unwrap());
    assert_eq!((planned.as_str(), missed), ("2026-01-30T14:00:00Z", 1));
}
