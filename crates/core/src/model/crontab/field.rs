//! One field of a crontab, as a set of numbers.

use super::CrontabError;

/// The kind of a field, with its bounds and names.
#[derive(Debug, Clone, Copy)]
pub(super) enum FieldKind {
    Second,
    Minute,
    Hour,
    Day,
    Month,
    Weekday,
}

/// The numbers of a field. Number n is bit n.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Field {
    pub set: u64,
    /// The field contains a `*` or `?`, with or without a step.
    pub star: bool,
}

const MONTHS: [&str; 12] = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
const WEEKDAYS: [&str; 7] = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];

impl FieldKind {
    fn name(self) -> &'static str {
        match self {
            Self::Second => "second",
            Self::Minute => "minute",
            Self::Hour => "hour",
            Self::Day => "day of month",
            Self::Month => "month",
            Self::Weekday => "day of week",
        }
    }

    fn bounds(self) -> (u32, u32) {
        match self {
            Self::Second | Self::Minute => (0, 59),
            Self::Hour => (0, 23),
            Self::Day => (1, 31),
            Self::Month => (1, 12),
            Self::Weekday => (0, 6),
        }
    }

    fn example(self) -> &'static str {
        match self {
            Self::Second | Self::Minute | Self::Hour => "*, 5, 0-10, */5 or 1,7",
            Self::Day => "*, 15, 1-7, */2 or 1,15",
            Self::Month => "*, 6, jan, 1-3 or mar,sep",
            Self::Weekday => "*, 0, mon, mon-fri or 0,6",
        }
    }

    /// The number that a name stands for.
    fn named(self, text: &str) -> Option<u32> {
        let (names, first): (&[&str], u32) = match self {
            Self::Month => (&MONTHS, 1),
            Self::Weekday => (&WEEKDAYS, 0),
            _ => return None,
        };
        let place = names.iter().position(|name| name.eq_ignore_ascii_case(text))?;
        u32::try_from(place).ok().map(|place| place + first)
    }

    pub fn parse(self, text: &str) -> Result<Field, CrontabError> {
        let mut field = Field { set: 0, star: false };
        for part in text.split(',') {
            let (set, star) = self.part(part)?;
            field.set |= set;
            field.star |= star;
        }
        Ok(field)
    }

    /// Reads `range` or `range/step`.
    fn part(self, part: &str) -> Result<(u64, bool), CrontabError> {
        let (range, step) = match part.split_once('/') {
            Some((range, step)) => (range, Some(self.number(step, part)?)),
            None => (part, None),
        };
        if step == Some(0) {
            return Err(CrontabError::ZeroStep { field: self.name(), part: part.to_owned() });
        }
        let (min, max) = self.bounds();
        let star = matches!(range, "*" | "?");
        let (first, last) = match range.split_once('-') {
            _ if star => (min, max),
            Some((first, last)) => (self.value(first, part)?, self.value(last, part)?),
            None => {
                let value = self.value(range, part)?;
                (value, if step.is_some() { max } else { value })
            }
        };
        if first > last {
            return Err(CrontabError::ReversedRange { field: self.name(), part: part.to_owned() });
        }
        let step = usize::try_from(step.unwrap_or(1)).unwrap_or(usize::MAX);
        Ok(((first..=last).step_by(step).fold(0, |set, value| set | 1 << value), star))
    }

    fn value(self, text: &str, part: &str) -> Result<u32, CrontabError> {
        let value = match self.named(text) {
            Some(value) => value,
            None => self.number(text, part)?,
        };
        let (min, max) = self.bounds();
        if (min..=max).contains(&value) {
            return Ok(value);
        }
        let sunday = matches!(self, Self::Weekday);
        Err(CrontabError::OutOfRange { field: self.name(), value, min, max, sunday })
    }

    fn number(self, text: &str, part: &str) -> Result<u32, CrontabError> {
        let digits = Some(text).filter(|text| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()));
        digits.and_then(|digits| digits.parse().ok()).ok_or_else(|| CrontabError::Syntax {
            field: self.name(),
            part: part.chars().take(80).collect(),
            example: self.example(),
        })
    }
}
