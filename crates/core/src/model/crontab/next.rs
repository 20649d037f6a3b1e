//! Finds the next time that matches a crontab's fields. Every search ends after at most 40 years, which is more than
//! any weekday of 29 February needs.

use jiff::{
    Timestamp, ToSpan,
    civil::{Date, DateTime, Time, date},
    tz::{AmbiguousOffset, TimeZone},
};

use super::field::Field;

const YEARS: i64 = 40;

#[derive(Debug, Clone, Copy)]
pub(super) struct Fields {
    pub seconds: u64,
    pub minutes: u64,
    pub hours: u64,
    pub days: Field,
    pub months: u64,
    pub weekdays: Field,
}

impl Fields {
    pub fn has_a_day(&self) -> bool {
        let start = date(2000, 1, 1).at(0, 0, 0, 0);
        start.checked_add(YEARS.years()).is_ok_and(|end| self.next_local(start, end).is_some())
    }

    /// Goes from one change of the zone's offset to the next. In between, local time is even, so that skipped and
    /// repeated hours need no special search.
    pub fn next_after(&self, after: Timestamp, zone: &TimeZone) -> Option<Timestamp> {
        let mut start = Timestamp::from_second(after.as_second().checked_add(1)?).ok()?;
        let limit = zone.to_datetime(start).checked_add(YEARS.years()).ok()?;
        loop {
            let offset = zone.to_offset(start);
            let change = zone.following(start).next().map(|transition| transition.timestamp());
            let mut from = offset.to_datetime(start);
            let until = change.map_or(limit, |change| offset.to_datetime(change).min(limit));
            while let Some(found) = self.next_local(from, until) {
                let at = offset.to_timestamp(found).ok()?;
                let repeated = matches!(
                    zone.to_ambiguous_timestamp(found).offset(),
                    AmbiguousOffset::Fold { before, after } if after == offset && before != after
                );
                if !repeated || self.is_every_hour() {
                    return Some(at);
                }
                from = found.checked_add(1.second()).ok()?;
            }
            start = change?;
            if zone.to_datetime(start) >= limit {
                return None;
            }
        }
    }

    fn is_every_hour(&self) -> bool {
        self.hours.count_ones() == 24
    }

    /// The first matching local time from `from` on and before `until`. Both are on whole seconds.
    fn next_local(&self, from: DateTime, until: DateTime) -> Option<DateTime> {
        let mut day = from.date();
        let mut earliest = from.time();
        while day <= until.date() {
            if !has(self.months, day.month()) {
                day = day.first_of_month().checked_add(1.month()).ok()?;
            } else {
                if let Some(time) = self.fits(day).then(|| self.next_time(earliest)).flatten() {
                    let found = day.to_datetime(time);
                    return (found < until).then_some(found);
                }
                day = day.tomorrow().ok()?;
            }
            earliest = Time::midnight();
        }
        None
    }

    fn fits(&self, day: Date) -> bool {
        let by_day = has(self.days.set, day.day());
        let by_weekday = has(self.weekdays.set, day.weekday().to_sunday_zero_offset());
        if self.days.star || self.weekdays.star { by_day && by_weekday } else { by_day || by_weekday }
    }

    fn next_time(&self, earliest: Time) -> Option<Time> {
        let (hour, minute, second) = (earliest.hour(), earliest.minute(), earliest.second());
        let this_minute = || self.time(hour, minute, next(self.seconds, second)?);
        let this_hour = || self.time(hour, next(self.minutes, minute + 1)?, next(self.seconds, 0)?);
        let later = || self.time(next(self.hours, hour + 1)?, next(self.minutes, 0)?, next(self.seconds, 0)?);
        this_minute().or_else(this_hour).or_else(later)
    }

    /// The time, if its hour and minute match.
    fn time(&self, hour: i8, minute: i8, second: i8) -> Option<Time> {
        let fits = has(self.hours, hour) && has(self.minutes, minute);
        fits.then(|| Time::new(hour, minute, second, 0).ok()).flatten()
    }
}

fn has(set: u64, number: i8) -> bool {
    u32::try_from(number).ok().and_then(|number| set.checked_shr(number)).is_some_and(|rest| rest & 1 == 1)
}

/// The first number in the set that is not less than `from`.
fn next(set: u64, from: i8) -> Option<i8> {
    (from..64).find(|&number| has(set, number))
}
