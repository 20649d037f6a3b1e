//! One field of a crontab, as a set of numbers.

use super::CrontabError;

/// The kind of a field, with its bounds and names.
#[derive(Debug, Clone, Copy)]
pub(super) struct FieldKind {
    name: &'static str,
    min: u32,
    max: u32,
    example: &'static str,
    /// Names that stand for numbers, from `min` on.
    names: &'static [&'static str],
}

/// The numbers of a field. Number n is bit n.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Field {
    pub set: u64,
    /// The field contains a `*` or `?`, with or without a step.
    pub star: bool,
}

const TIME: &str = "*, 5, 0-10, */5 or 1,7";
const MONTHS: [&str; 12] = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
const WEEKDAYS: [&str; 7] = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];

impl FieldKind {
    pub const SECOND: Self = Self::new("second", 0, 59, TIME, &[]);
    pub const MINUTE: Self = Self::new("minute", 0, 59, TIME, &[]);
    pub const HOUR: Self = Self::new("hour", 0, 23, TIME, &[]);
    pub const DAY: Self = Self::new("day of month", 1, 31, "*, 15, 1-7, */2 or 1,15", &[]);
    pub const MONTH: Self = Self::new("month", 1, 12, "*, 6, jan, 1-3 or mar,sep", &MONTHS);
    pub const WEEKDAY: Self = Self::new("day of week", 0, 6, "*, 0, mon, mon-fri or 0,6", &WEEKDAYS);

    const fn new(
        name: &'static str,
        min: u32,
        max: u32,
        example: &'static str,
        names: &'static [&'static str],
    ) -> Self {
        Self { name, min, max, example, names }
    }

    /// The number that a name stands for.
    fn named(self, text: &str) -> Option<u32> {
        let place = self.names.iter().position(|name| name.eq_ignore_ascii_case(text))?;
        u32::try_from(place).ok().map(|place| place + self.min)
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
            return Err(CrontabError::ZeroStep { field: self.name, part: part.to_owned() });
        }
        let Self { min, max, .. } = self;
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
            return Err(CrontabError::ReversedRange { field: self.name, part: part.to_owned() });
        }
        let step = usize::try_from(step.unwrap_or(1)).unwrap_or(usize::MAX);
        Ok(((first..=last).step_by(step).fold(0, |set, value| set | 1 << value), star))
    }

    fn value(self, text: &str, part: &str) -> Result<u32, CrontabError> {
        let value = match self.named(text) {
            Some(value) => value,
            None => self.number(text, part)?,
        };
        let Self { min, max, .. } = self;
        if (min..=max).contains(&value) {
            return Ok(value);
        }
        let sunday = self.name == Self::WEEKDAY.name;
        Err(CrontabError::OutOfRange { field: self.name, value, min, max, sunday })
    }

    fn number(self, text: &str, part: &str) -> Result<u32, CrontabError> {
        let digits = Some(text).filter(|text| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()));
        digits.and_then(|digits| digits.parse().ok()).ok_or_else(|| CrontabError::Syntax {
            field: self.name,
            part: part.chars().take(80).collect(),
            example: self.example,
        })
    }
}
