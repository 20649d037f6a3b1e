//! Tables of crontabs: what is read, what is refused, and when they fire.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use jiff::{SignedDuration, Timestamp, Zoned, tz::TimeZone};
use proptest::prelude::*;

use super::*;

/// The next `count` times after `after`, in the zone's local time with its offset.
fn times(crontab: &str, zone: &str, after: &str, count: usize) -> Vec<String> {
    let crontab = Crontab::parse(crontab).unwrap_or_else(|error| panic!("{crontab}: {error}"));
    let zone = Crontab::zone(zone).unwrap();
    let mut at: Timestamp = after.parse().unwrap();
    let mut times = Vec::new();
    for _ in 0..count {
        let Some(next) = crontab.next_after(at, &zone) else { break };
        assert!(next > at);
        times.push(next.to_zoned(zone.clone()).strftime("%F %T %:z").to_string());
        at = next;
    }
    times
}

#[test]
fn what_is_read() {
    // After Friday, 2026-01-30 12:34:56.
    for (crontab, expected) in [
        ("* * * * *", "2026-01-30 12:35:00"),
        ("* * * * * *", "2026-01-30 12:34:57"),
        ("? ? ? ? ?", "2026-01-30 12:35:00"),
        ("0 * * * *", "2026-01-30 13:00:00"),
        ("30 15 12 * * *", "2026-01-31 12:15:30"),
        ("*/10 * * * *", "2026-01-30 12:40:00"),
        ("5/20 * * * *", "2026-01-30 12:45:00"),
        ("40/20 * * * *", "2026-01-30 12:40:00"),
        ("10-50/20 * * * *", "2026-01-30 12:50:00"),
        ("0-10,36,38-39 * * * *", "2026-01-30 12:36:00"),
        ("*/100 * * * *", "2026-01-30 13:00:00"),
        ("00 05 * * *", "2026-01-31 05:00:00"),
        ("0 0 * * 0", "2026-02-01 00:00:00"),
        ("0 0 * * SUN", "2026-02-01 00:00:00"),
        ("0 0 * * Mon-fri", "2026-02-02 00:00:00"),
        ("0 0 * * tue,6", "2026-01-31 00:00:00"),
        ("0 0 1 FEB *", "2026-02-01 00:00:00"),
        ("0 0 1 mar-MAY *", "2026-03-01 00:00:00"),
        ("0 0 31 * *", "2026-01-31 00:00:00"),
        ("0 0 31 2,4 1", "2026-02-02 00:00:00"),
        ("0 0 29 2 *", "2028-02-29 00:00:00"),
        // If neither is a star, a day matches by either.
        ("0 0 5 * mon", "2026-02-02 00:00:00"),
        ("0 0 1 * mon", "2026-02-01 00:00:00"),
        // If one is a star, also one with a step, a day must match both.
        ("0 0 */2 * mon", "2026-02-09 00:00:00"),
        ("0 0 13 * */5", "2026-02-13 00:00:00"),
        ("0 0 1,* * mon", "2026-02-02 00:00:00"),
        ("  0\t12  * * *  ", "2026-01-31 12:00:00"),
        ("@yearly", "2027-01-01 00:00:00"),
        ("@annually", "2027-01-01 00:00:00"),
        ("@monthly", "2026-02-01 00:00:00"),
        ("@weekly", "2026-02-01 00:00:00"),
        ("@daily", "2026-01-31 00:00:00"),
        ("@midnight", "2026-01-31 00:00:00"),
        ("@hourly", "2026-01-30 13:00:00"),
        ("@every 90s", "2026-01-30 12:36:26"),
        ("@every 1h30m", "2026-01-30 14:04:56"),
        ("@every 1.5h", "2026-01-30 14:04:56"),
        ("@every 100ms", "2026-01-30 12:34:57"),
        ("@every 1500ms", "2026-01-30 12:34:57"),
        ("@every 2m500\u{b5}s1ns", "2026-01-30 12:36:56"),
    ] {
        let expected = format!("{expected} +00:00");
        assert_eq!(times(crontab, "UTC", "2026-01-30T12:34:56.789Z", 1), [expected], "{crontab}");
    }
}

#[test]
fn the_prefix_chooses_the_zone() {
    for crontab in ["TZ=Europe/Berlin 0 2 * * *", "TZ=Europe/Berlin\t 0 0 2 * * *"] {
        assert_eq!(times(crontab, "UTC", "2026-07-01T12:00:00Z", 1), ["2026-07-02 00:00:00 +00:00"]);
    }
    assert_eq!(times("TZ=Asia/Kolkata @daily", "UTC", "2026-07-01T12:00:00Z", 1), ["2026-07-01 18:30:00 +00:00"]);
    assert_eq!(Crontab::split_zone(" TZ=UTC  0 2 * * * "), (Some("UTC"), "0 2 * * *"));
    assert_eq!(Crontab::split_zone("0 2 * * *"), (None, "0 2 * * *"));
}

#[test]
fn what_is_refused_and_why() {
    for (crontab, expected) in [
        ("", "5 fields"),
        ("* * * *", "not 4"),
        ("* * * * * * *", "not 7"),
        ("TZ=Europe/Berlin", "not 0"),
        ("x * * * *", "minute: \"x\""),
        ("-1 * * * *", "minute: \"-1\""),
        ("+1 * * * *", "minute: \"+1\""),
        ("1- * * * *", "minute: \"1-\""),
        ("1-2-3 * * * *", "minute: \"1-2-3\""),
        ("*-5 * * * *", "minute: \"*-5\""),
        ("1,,2 * * * *", "minute: \"\""),
        (", * * * *", "minute: \"\""),
        ("*/ * * * *", "minute: \"*/\""),
        ("*/1/2 * * * *", "minute: \"*/1/2\""),
        ("99999999999999999999 * * * *", "minute: \"999"),
        ("mon * * * *", "minute: \"mon\""),
        ("0 0 L * *", "day of month: \"L\""),
        ("0 0 15W * *", "day of month: \"15W\""),
        ("0 0 * * 5#2", "day of week: \"5#2\""),
        ("60 * * * *", "minute: 60 is not within 0 to 59"),
        ("0 60 * * * *", "minute: 60"),
        ("60 0 * * * *", "second: 60"),
        ("0 24 * * *", "hour: 24 is not within 0 to 23"),
        ("0 0 0 * *", "day of month: 0 is not within 1 to 31"),
        ("0 0 32 * *", "day of month: 32"),
        ("0 0 * 0 *", "month: 0"),
        ("0 0 * 13 *", "month: 13"),
        ("0 0 * * 7", "day of week: 7 is not within 0 to 6; Sunday is 0"),
        ("0 0 * * fri-mon", "the range \"fri-mon\" ends before it begins"),
        ("30-10 * * * *", "the range \"30-10\""),
        ("*/0 * * * *", "the step of \"*/0\" must be at least 1"),
        ("5/0 * * * *", "the step of \"5/0\""),
        ("0 0 30 2 *", "no day matches"),
        ("0 0 31 2,4,6,9,11 *", "no day matches"),
        ("@reboot", "\"@reboot\" is not known"),
        ("@", "\"@\" is not known"),
        ("@Daily", "is not known"),
        ("@every", "is not known"),
        ("@every ", "is not known"),
        ("@every 0s", "needs a duration"),
        ("@every -5s", "needs a duration"),
        ("@every 5", "needs a duration"),
        ("@every 5x", "needs a duration"),
        ("@every .s", "needs a duration"),
        ("@every 1.2.3s", "needs a duration"),
        ("@every 999999999999999999999999999999999999999999h", "needs a duration"),
        ("@every 9999999h", "needs a duration"),
        ("TZ=Mars/Olympus 0 2 * * *", "\"Mars/Olympus\" is not a time zone"),
        ("TZ= 0 2 * * *", "is not a time zone"),
        ("TZ=../../etc/passwd 0 2 * * *", "is not a time zone"),
    ] {
        let error = Crontab::parse(crontab).map(|_| ()).expect_err(crontab).to_string();
        assert!(error.contains(expected), "{crontab}: {error}");
        assert!(error.len() < 300, "{error}");
    }
}

#[test]
fn a_long_text_is_refused_at_once() {
    let long = "1,".repeat(100_000) + "1 * * * *";
    assert_eq!(Crontab::parse(&long).map(|_| ()), Err(CrontabError::TooLong(long.len())));
    assert!(Crontab::parse(&"*".repeat(900)).is_err());
    assert!(Crontab::parse("\u{0}\u{ffff} \u{1f600} * * *").is_err());
}

#[test]
fn rare_days_are_found() {
    // 29 February on a Sunday. 2100 has no 29 February.
    assert_eq!(
        times("0 0 29 2 */7", "UTC", "2092-03-01T00:00:00Z", 2),
        ["2128-02-29 00:00:00 +00:00", "2156-02-29 00:00:00 +00:00"]
    );
}

#[test]
fn a_skipped_hour_does_not_strike() {
    // 29 March 2026, 02:00 +01:00 is 03:00 +02:00.
    assert_eq!(
        times("30 2 * * *", "Europe/Berlin", "2026-03-28T00:00:00Z", 3),
        ["2026-03-28 02:30:00 +01:00", "2026-03-30 02:30:00 +02:00", "2026-03-31 02:30:00 +02:00"]
    );
    assert_eq!(
        times("*/30 * * * *", "Europe/Berlin", "2026-03-29T00:20:00Z", 3),
        ["2026-03-29 01:30:00 +01:00", "2026-03-29 03:00:00 +02:00", "2026-03-29 03:30:00 +02:00"]
    );
    assert_eq!(
        times("0 3 * * *", "Europe/Berlin", "2026-03-28T12:00:00Z", 2),
        ["2026-03-29 03:00:00 +02:00", "2026-03-30 03:00:00 +02:00"]
    );
    // The last Sunday of March is the day of the clock change in every year, so this time never exists.
    assert!(times("30 2 25-31 3 */7", "Europe/Berlin", "2026-03-28T00:00:00Z", 1).is_empty());
}

#[test]
fn a_named_hour_that_comes_twice_strikes_once() {
    // 25 October 2026, 03:00 +02:00 is 02:00 +01:00.
    assert_eq!(
        times("0,30 2 * * *", "Europe/Berlin", "2026-10-24T12:00:00Z", 3),
        ["2026-10-25 02:00:00 +02:00", "2026-10-25 02:30:00 +02:00", "2026-10-26 02:00:00 +01:00"]
    );
    // Also if the search starts within the second of these hours.
    assert_eq!(times("30 2 * * *", "Europe/Berlin", "2026-10-25T01:10:00Z", 1), ["2026-10-26 02:30:00 +01:00"]);
    assert_eq!(
        times("0 1-4 * * *", "Europe/Berlin", "2026-10-24T22:00:00Z", 4),
        [
            "2026-10-25 01:00:00 +02:00",
            "2026-10-25 02:00:00 +02:00",
            "2026-10-25 03:00:00 +01:00",
            "2026-10-25 04:00:00 +01:00"
        ]
    );
}

#[test]
fn without_named_hours_there_is_no_gap() {
    assert_eq!(
        times("*/30 * * * *", "Europe/Berlin", "2026-10-24T23:40:00Z", 5),
        [
            "2026-10-25 02:00:00 +02:00",
            "2026-10-25 02:30:00 +02:00",
            "2026-10-25 02:00:00 +01:00",
            "2026-10-25 02:30:00 +01:00",
            "2026-10-25 03:00:00 +01:00"
        ]
    );
    assert_eq!(
        times("@every 30m", "Europe/Berlin", "2026-10-25T00:30:00Z", 2),
        ["2026-10-25 02:00:00 +01:00", "2026-10-25 02:30:00 +01:00"]
    );
}

#[test]
fn odd_zones() {
    // Daylight saving of half an hour.
    assert_eq!(
        times("15 2 * * *", "Australia/Lord_Howe", "2026-10-03T00:00:00Z", 2),
        ["2026-10-05 02:15:00 +11:00", "2026-10-06 02:15:00 +11:00"]
    );
    // A day that never existed.
    assert_eq!(
        times("0 12 * * *", "Pacific/Apia", "2011-12-29T00:00:00Z", 2),
        ["2011-12-29 12:00:00 -10:00", "2011-12-31 12:00:00 +14:00"]
    );
}

#[test]
fn the_end_of_time_is_none() {
    let crontab = Crontab::parse("0 0 1 1 *").unwrap();
    assert_eq!(crontab.next_after(Timestamp::MAX, &TimeZone::UTC), None);
    let every = Crontab::parse("@every 1h").unwrap();
    assert_eq!(every.next_after(Timestamp::MAX, &TimeZone::UTC), None);
}

/// A field's numbers. `None` is a star.
type Numbers = Option<Vec<i8>>;

fn numbers(min: i8, max: i8) -> impl Strategy<Value = Numbers> {
    prop::option::of(prop::collection::vec(min..=max, 1..4))
}

fn text(numbers: &Numbers) -> String {
    let list = |numbers: &Vec<i8>| numbers.iter().map(i8::to_string).collect::<Vec<_>>().join(",");
    numbers.as_ref().map_or("*".to_owned(), list)
}

fn holds(numbers: &Numbers, number: i8) -> bool {
    numbers.as_ref().is_none_or(|numbers| numbers.contains(&number))
}

/// Whether the crontab fires at a minute, decided from that minute alone.
fn strikes(at: &Zoned, [minutes, hours, days, weekdays]: &[Numbers; 4]) -> bool {
    let by_day = holds(days, at.day());
    let by_weekday = holds(weekdays, at.weekday().to_sunday_zero_offset());
    let day = if days.is_none() || weekdays.is_none() { by_day && by_weekday } else { by_day || by_weekday };
    let first = at.datetime().to_zoned(at.time_zone().clone()).unwrap();
    let every_hour = hours.as_ref().is_none_or(|hours| (0..24).all(|hour| hours.contains(&hour)));
    day && holds(hours, at.hour()) && holds(minutes, at.minute()) && (every_hour || first == *at)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn no_text_does_harm(text in "(TZ=UTC )?[@0-9a-z*?/, -]{0,40}|.{0,60}") {
        if let Ok(crontab) = Crontab::parse(&text) {
            let after = Timestamp::UNIX_EPOCH;
            prop_assert!(crontab.next_after(after, &TimeZone::UTC).is_none_or(|next| next > after));
        }
    }

    /// Around both clock changes.
    #[test]
    fn the_next_time_is_the_first_minute_that_strikes(
        fields in (numbers(0, 59), numbers(0, 23), numbers(1, 31), numbers(0, 6)).prop_map(<[_; 4]>::from),
        start in prop_oneof![Just("2026-03-28T12:00:00Z"), Just("2026-10-24T12:00:00Z")],
        offset in 0_i64..2160,
    ) {
        let [minutes, hours, days, weekdays] = &fields;
        let crontab = format!("{} {} {} * {}", text(minutes), text(hours), text(days), text(weekdays));
        let zone = TimeZone::get("Europe/Berlin").unwrap();
        let start = start.parse::<Timestamp>().unwrap() + SignedDuration::from_mins(offset);
        let minute = |n: i64| (start + SignedDuration::from_mins(n)).to_zoned(zone.clone());
        let expected = (1..4000).map(minute).find(|at| strikes(at, &fields));
        let found = Crontab::parse(&crontab).unwrap().next_after(start, &zone).unwrap().to_zoned(zone.clone());
        match expected {
            Some(expected) => prop_assert_eq!(found, expected, "{}", crontab),
            None => prop_assert!(found >= minute(4000), "{} {}", crontab, found),
        }
    }
}
