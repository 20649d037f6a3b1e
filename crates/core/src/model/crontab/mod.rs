//! Crontabs: reads one, and finds the next time when it fires. This reads no clock, and nothing of the system but its
//! time zone database.
//!
//! The grammar is that of robfig/cron's second version, which shell-operator documents are written for. Where
//! robfig/cron hangs or accepts nonsense, this gives an error.

mod field;
mod next;

use jiff::{Timestamp, tz::TimeZone};

use super::parse_duration;
use field::FieldKind;
use next::Fields;

/// The longest text that is read, in bytes.
const MAX_LENGTH: usize = 1000;
/// The longest time of `@every`.
const MAX_SECONDS: u64 = 100 * 366 * 24 * 3600;

/// Why a text is not a crontab, or never fires.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CrontabError {
    /// The text is longer than any crontab.
    #[error("a crontab has at most {MAX_LENGTH} bytes, this text has {0}")]
    TooLong(usize),
    /// Not 5 or 6 fields.
    #[error("a crontab has 5 fields (minute, hour, day of month, month, day of week) or 6 with seconds first, not {0}")]
    FieldCount(usize),
    /// A part of a field that cannot be read.
    #[error("{field}: {part:?} is not a value, a range or a list of these; write for example {example}")]
    Syntax {
        field: &'static str,
        part: String,
        /// Valid examples.
        example: &'static str,
    },
    /// A value that the field does not have.
    #[error("{field}: {value} is not within {min} to {max}{}", if *.sunday { "; Sunday is 0" } else { "" })]
    OutOfRange {
        field: &'static str,
        value: u32,
        min: u32,
        max: u32,
        /// Whether the author may have counted Sunday as 7.
        sunday: bool,
    },
    /// A range from a greater to a smaller value.
    #[error("{field}: the range {part:?} ends before it begins")]
    ReversedRange { field: &'static str, part: String },
    /// A step of 0.
    #[error("{field}: the step of {part:?} must be at least 1")]
    ZeroStep {
        field: &'static str,
        /// The part of the field that has the step.
        part: String,
    },
    /// `@` and an unknown word.
    #[error(
        "{0:?} is not known; there are @yearly, @annually, @monthly, @weekly, @daily, @midnight, @hourly and @every with a duration like 1h30m"
    )]
    Descriptor(String),
    /// The duration of `@every` is not valid.
    #[error("@every needs a duration over 0 and up to 100 years like 90s or 1h30m, not {0:?}")]
    Duration(String),
    /// A time zone that is missing in the database.
    #[error("{0:?} is not a time zone of the IANA database; write for example Europe/Berlin")]
    Zone(String),
    /// For example 30 February.
    #[error("no day matches: no such day of month in these months")]
    Never,
}

/// The times when something happens again and again.
///
/// Clock changes: a time of day that is skipped does not fire. A time of day that occurs twice fires only the first
/// time, unless the crontab names no hours. In that case it fires both times, so that "every five minutes" has no gap
/// of an hour.
#[derive(Debug, Clone)]
pub struct Crontab {
    zone: Option<TimeZone>,
    when: When,
}

#[derive(Debug, Clone)]
enum When {
    Fields(Fields),
    /// Seconds from one time to the next.
    Every(i64),
}

impl Crontab {
    /// Reads a crontab, with or without a leading `TZ=Area/City `.
    pub fn parse(text: &str) -> Result<Self, CrontabError> {
        if text.len() > MAX_LENGTH {
            return Err(CrontabError::TooLong(text.len()));
        }
        let (zone, rest) = Self::split_zone(text);
        let zone = zone.map(Self::zone).transpose()?;
        let when = match rest.strip_prefix('@') {
            Some(descriptor) => described(descriptor)?,
            None => When::Fields(fields(rest)?),
        };
        Ok(Self { zone, when })
    }

    /// The name of the zone in a leading `TZ=`, and the text after it.
    pub fn split_zone(text: &str) -> (Option<&str>, &str) {
        let text = text.trim();
        match text.strip_prefix("TZ=") {
            Some(rest) => {
                let (zone, rest) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
                (Some(zone), rest.trim_start())
            }
            None => (None, text),
        }
    }

    /// Finds a time zone by its IANA name. `Local` is the process's zone.
    pub fn zone(name: &str) -> Result<TimeZone, CrontabError> {
        if name == "Local" {
            return Ok(TimeZone::system());
        }
        let unknown = || CrontabError::Zone(name.chars().take(80).collect());
        TimeZone::get(name).map_err(|_| unknown())
    }

    /// The first time after `after`, on a whole second. `zone` is for crontabs that have no zone of their own. `None`
    /// if the time is more than 40 years away.
    pub fn next_after(&self, after: Timestamp, zone: &TimeZone) -> Option<Timestamp> {
        match &self.when {
            When::Fields(fields) => fields.next_after(after, self.zone.as_ref().unwrap_or(zone)),
            When::Every(seconds) => Timestamp::from_second(after.as_second().checked_add(*seconds)?).ok(),
        }
    }
}

fn described(descriptor: &str) -> Result<When, CrontabError> {
    let text = match descriptor.trim_end() {
        "yearly" | "annually" => "0 0 1 1 *",
        "monthly" => "0 0 1 * *",
        "weekly" => "0 0 * * 0",
        "daily" | "midnight" => "0 0 * * *",
        "hourly" => "0 * * * *",
        other => {
            let unknown = || CrontabError::Descriptor(format!("@{}", other.chars().take(80).collect::<String>()));
            let duration = other.strip_prefix("every ").ok_or_else(unknown)?.trim();
            return every(duration).map(When::Every);
        }
    };
    fields(text).map(When::Fields)
}

fn fields(text: &str) -> Result<Fields, CrontabError> {
    let mut parts: Vec<&str> = text.split_whitespace().collect();
    if parts.len() == 5 {
        parts.insert(0, "0");
    }
    let [seconds, minutes, hours, days, months, weekdays] = parts.as_slice() else {
        return Err(CrontabError::FieldCount(parts.len()));
    };
    let fields = Fields {
        seconds: FieldKind::SECOND.parse(seconds)?.set,
        minutes: FieldKind::MINUTE.parse(minutes)?.set,
        hours: FieldKind::HOUR.parse(hours)?.set,
        days: FieldKind::DAY.parse(days)?,
        months: FieldKind::MONTH.parse(months)?.set,
        weekdays: FieldKind::WEEKDAY.parse(weekdays)?,
    };
    if fields.has_a_day() { Ok(fields) } else { Err(CrontabError::Never) }
}

/// Reads the duration of `@every`: whole seconds, at least one. Parts of a second are cut off.
fn every(text: &str) -> Result<i64, CrontabError> {
    let duration = parse_duration(text).filter(|duration| !duration.is_zero());
    duration
        .map(|duration| duration.as_secs().max(1))
        .filter(|&seconds| seconds <= MAX_SECONDS)
        .and_then(|seconds| i64::try_from(seconds).ok())
        .ok_or_else(|| CrontabError::Duration(text.chars().take(80).collect()))
}

#[cfg(test)]
mod tests;
