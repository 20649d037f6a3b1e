//! Crontabs: reads one, and says when it strikes next. Reads no clock; of the system only its time
//! zone database.
//!
//! The grammar is robfig/cron's, second version, which shell-operator documents are written for.
//! Where that one hangs or takes nonsense, this one gives an error.

mod every;
mod field;
mod next;

use jiff::{Timestamp, tz::TimeZone};

use every::every;
use field::FieldKind;
use next::Fields;

/// The longest text that is read, in bytes.
const MAX_LENGTH: usize = 1000;

/// A text that is no crontab, or one that never strikes.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CrontabError {
    /// Longer than any crontab.
    #[error("a crontab has at most {MAX_LENGTH} bytes, this text has {0}")]
    TooLong(usize),
    /// Not 5 or 6 fields.
    #[error("a crontab has 5 fields (minute, hour, day of month, month, day of week) or 6 with seconds first, not {0}")]
    FieldCount(usize),
    /// A part of a field that can't be read.
    #[error("{field}: {part:?} is not a value, a range or a list of these; write for example {example}")]
    Syntax {
        /// The field.
        field: &'static str,
        /// The part.
        part: String,
        /// What would do.
        example: &'static str,
    },
    /// A value that the field does not have.
    #[error("{field}: {value} is not within {min} to {max}{}", if *.sunday { "; Sunday is 0" } else { "" })]
    OutOfRange {
        /// The field.
        field: &'static str,
        /// The value.
        value: u32,
        /// The least.
        min: u32,
        /// The greatest.
        max: u32,
        /// Whether someone may have thought of another numbering.
        sunday: bool,
    },
    /// A range from a greater to a smaller value.
    #[error("{field}: the range {part:?} ends before it begins")]
    ReversedRange {
        /// The field.
        field: &'static str,
        /// The range.
        part: String,
    },
    /// A step of 0.
    #[error("{field}: the step of {part:?} must be at least 1")]
    ZeroStep {
        /// The field.
        field: &'static str,
        /// Where it stands.
        part: String,
    },
    /// `@` and a word that means nothing.
    #[error(
        "{0:?} is not known; there are @yearly, @annually, @monthly, @weekly, @daily, @midnight, @hourly and @every with a duration like 1h30m"
    )]
    Descriptor(String),
    /// The duration of `@every`.
    #[error("@every needs a duration over 0 and up to 100 years like 90s or 1h30m, not {0:?}")]
    Duration(String),
    /// A time zone that the database lacks.
    #[error("{0:?} is not a time zone of the IANA database; write for example Europe/Berlin")]
    Zone(String),
    /// Like 30 February.
    #[error("no day matches: no such day of month in these months")]
    Never,
}

/// When something happens again and again.
///
/// Clock changes: a time of day that is skipped does not strike. A time of day that comes twice
/// strikes the first time only, unless the crontab names no hours: then it goes on in both, so that
/// "every five minutes" has no hour-long gap.
#[derive(Debug, Clone)]
pub struct Crontab {
    zone: Option<TimeZone>,
    when: When,
}

#[derive(Debug, Clone)]
enum When {
    Fields(Fields),
    /// Seconds from one to the next.
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

    /// The zone's name out of a leading `TZ=`, and what follows it.
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

    /// Looks a time zone up by its IANA name. `Local` is the process's zone.
    pub fn zone(name: &str) -> Result<TimeZone, CrontabError> {
        if name == "Local" {
            return Ok(TimeZone::system());
        }
        let unknown = || CrontabError::Zone(name.chars().take(80).collect());
        TimeZone::get(name).map_err(|_| unknown())
    }

    /// The first time it strikes after `after`, on a whole second. `zone` is for crontabs without
    /// one of their own. `None` when that is more than 40 years away.
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
        seconds: FieldKind::Second.parse(seconds)?.set,
        minutes: FieldKind::Minute.parse(minutes)?.set,
        hours: FieldKind::Hour.parse(hours)?.set,
        days: FieldKind::Day.parse(days)?,
        months: FieldKind::Month.parse(months)?.set,
        weekdays: FieldKind::Weekday.parse(weekdays)?,
    };
    if fields.has_a_day() { Ok(fields) } else { Err(CrontabError::Never) }
}

#[cfg(test)]
mod tests;
