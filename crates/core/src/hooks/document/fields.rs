//! Reads the fields of a mapping by type. It reports problems with their place, and refuses keys that are not known.

use std::{cell::RefCell, collections::BTreeSet, fmt, time::Duration};

use serde_json::{Map, Value};

use super::problem::{Problems, short};
use crate::model::{format_duration, parse_duration};

/// The longest duration.
const MAX_DURATION: Duration = Duration::from_secs(366 * 24 * 3600);
/// The longest list.
const MAX_ITEMS: usize = 1000;

/// The fields of one mapping. Every known key must be taken before [`Fields::finish`].
pub(super) struct Fields<'v, 'r> {
    map: &'v Map<String, Value>,
    path: String,
    reader: &'r Problems<'r>,
    /// Keys that are known here, present or not.
    known: RefCell<BTreeSet<&'static str>>,
}

impl<'v, 'r> Fields<'v, 'r> {
    /// The fields of `value`, if it is a mapping.
    pub fn of(value: &'v Value, path: &str, reader: &'r Problems<'r>) -> Option<Self> {
        let Value::Object(map) = value else {
            reader.wrong(path, format!("must be a mapping, not {}", describe(value)));
            return None;
        };
        Some(Self { map, path: path.to_owned(), reader, known: RefCell::default() })
    }

    /// Whether the key is present, with any value.
    pub fn has(&self, key: &str) -> bool {
        self.map.contains_key(key)
    }

    /// The document's reader, for what does not concern a key.
    pub fn reader(&self) -> &'r Problems<'r> {
        self.reader
    }

    fn child(&self, key: &str) -> String {
        if self.path.is_empty() { key.to_owned() } else { format!("{}.{key}", self.path) }
    }

    /// Reports a problem with a key.
    pub fn wrong(&self, key: &str, message: impl Into<String>) {
        self.reader.wrong(&self.child(key), message);
    }

    /// Reports a problem with a key unless `holds`. Returns `holds`.
    pub fn check(&self, holds: bool, key: &str, message: impl FnOnce() -> String) -> bool {
        if !holds {
            self.wrong(key, message());
        }
        holds
    }

    /// Warns about something that was accepted but should be changed.
    pub fn warn(&self, key: &str, message: impl fmt::Display) {
        self.reader.warn(&self.child(key), message);
    }

    /// The key's value. `null` is refused, because the author must have meant something.
    pub fn take(&self, key: &'static str) -> Option<&'v Value> {
        let first = self.known.borrow_mut().insert(key);
        let value = self.map.get(key)?;
        if first && value.is_null() {
            self.wrong(key, "is null; give it a value or leave the key out");
        }
        Some(value).filter(|value| !value.is_null())
    }

    /// Returns `value`. A missing key is a problem.
    pub fn need<T>(&self, key: &'static str, value: Option<T>) -> Option<T> {
        if !self.has(key) {
            self.wrong(key, "is missing");
        }
        value
    }

    fn typed<T>(&self, key: &'static str, what: &str, read: impl Fn(&'v Value) -> Option<T>) -> Option<T> {
        let value = self.take(key)?;
        let read = read(value);
        if read.is_none() {
            self.wrong(key, format!("must be {what}, not {}", describe(value)));
        }
        read
    }

    pub fn string(&self, key: &'static str) -> Option<&'v str> {
        self.typed(key, "a string", Value::as_str)
    }

    /// A string that must not be empty.
    pub fn some_string(&self, key: &'static str) -> Option<&'v str> {
        let text = self.string(key)?;
        if text.is_empty() {
            self.wrong(key, "is empty; give it a value or leave the key out");
        }
        Some(text)
    }

    pub fn required_string(&self, key: &'static str) -> Option<&'v str> {
        let text = self.need(key, self.string(key))?;
        if text.is_empty() {
            self.wrong(key, "is empty");
        }
        Some(text)
    }

    pub fn boolean(&self, key: &'static str) -> Option<bool> {
        self.typed(key, "true or false", Value::as_bool)
    }

    pub fn integer(&self, key: &'static str) -> Option<i64> {
        self.typed(key, "an integer", whole)
    }

    pub fn integer_in(&self, key: &'static str, min: i64, max: i64) -> Option<i64> {
        let number = self.integer(key)?;
        if (min..=max).contains(&number) { Some(number) } else { self.out_of(key, number, min, max) }
    }

    pub fn number_in(&self, key: &'static str, min: f64, max: f64) -> Option<f64> {
        let number = self.typed(key, "a number", Value::as_f64)?;
        if (min..=max).contains(&number) { Some(number) } else { self.out_of(key, number, min, max) }
    }

    fn out_of<T, N: fmt::Display>(&self, key: &str, number: N, min: N, max: N) -> Option<T> {
        self.wrong(key, format!("is {number}; from {min} to {max} is allowed"));
        None
    }

    /// A duration in Go's format: `300ms`, `1m30s`.
    pub fn duration(&self, key: &'static str, least: Duration) -> Option<Duration> {
        let text = self.string(key)?;
        let bounds = || format!("from {} to {} is allowed", format_duration(least), format_duration(MAX_DURATION));
        match parse_duration(text) {
            Some(duration) if (least..=MAX_DURATION).contains(&duration) => Some(duration),
            Some(_) => {
                self.wrong(key, format!("is {}; {}", quoted(text), bounds()));
                None
            }
            None => {
                let needed = "a duration like \"300ms\", \"5s\" or \"1h30m\" is needed";
                self.wrong(key, format!("is {}; {needed}", quoted(text)));
                None
            }
        }
    }

    /// A jq program that compiles.
    pub fn filter(&self, key: &'static str) -> Option<&'v str> {
        let text = self.string(key).filter(|text| !text.trim().is_empty())?;
        match (self.reader.check_filter)(text) {
            Ok(()) => Some(text),
            Err(error) => {
                self.wrong(key, format!("is not a jq program that can be used: {error}"));
                None
            }
        }
    }

    /// The mapping at the key.
    pub fn fields(&self, key: &'static str) -> Option<Fields<'v, 'r>> {
        Fields::of(self.take(key)?, &self.child(key), self.reader)
    }

    /// The mappings of a list. An empty list is a problem, as in shell-operator.
    pub fn items(&self, key: &'static str) -> impl Iterator<Item = Fields<'v, 'r>> {
        let items = self.any_items(key);
        if self.map.get(key).and_then(Value::as_array).is_some_and(Vec::is_empty) {
            self.wrong(key, "is an empty list; leave it out instead");
        }
        items
    }

    /// The mappings of a list that may be empty, at most `MAX_ITEMS`.
    pub fn any_items(&self, key: &'static str) -> impl Iterator<Item = Fields<'v, 'r>> {
        let items = self.typed(key, "a list", Value::as_array).map(Vec::as_slice);
        if let Some(count) = items.map(<[Value]>::len).filter(|count| *count > MAX_ITEMS) {
            self.wrong(key, format!("has {count} items; at most {MAX_ITEMS} are allowed"));
        }
        let (path, reader) = (self.child(key), self.reader);
        let each = move |(i, value)| Fields::of(value, &format!("{path}[{i}]"), reader);
        items.unwrap_or_default().iter().take(MAX_ITEMS).enumerate().filter_map(each)
    }

    /// A list of strings. `None` if the key is absent or its value cannot be used.
    pub fn strings(&self, key: &'static str) -> Option<Vec<String>> {
        let list = self.typed(key, "a list of strings", Value::as_array)?;
        if list.len() > MAX_ITEMS {
            self.wrong(key, format!("has {} items; at most {MAX_ITEMS} are allowed", list.len()));
            return None;
        }
        let mut strings = Vec::with_capacity(list.len());
        for (i, value) in list.iter().enumerate() {
            match value.as_str() {
                Some(text) => strings.push(text.to_owned()),
                None => self.wrong(&format!("{key}[{i}]"), format!("must be a string, not {}", describe(value))),
            }
        }
        Some(strings)
    }

    /// A list of strings that must not be empty.
    pub fn some_strings(&self, key: &'static str) -> Option<Vec<String>> {
        let strings = self.strings(key)?;
        if strings.is_empty() {
            self.wrong(key, "is an empty list; leave it out instead");
        }
        Some(strings)
    }

    /// The mapping at the key as pairs of strings.
    pub fn string_map(&self, key: &'static str) -> Option<Vec<(&'v str, &'v str)>> {
        let map = self.typed(key, "a mapping of strings", Value::as_object)?;
        let pair = |(name, value): (&'v String, &'v Value)| match value.as_str() {
            Some(text) => Some((name.as_str(), text)),
            None => {
                self.wrong(&format!("{key}.{name}"), format!("must be a string, not {}", describe(value)));
                None
            }
        };
        Some(map.iter().filter_map(pair).collect())
    }

    /// One of a set of words.
    pub fn word<T: Copy>(&self, key: &'static str, words: &[(&str, T)]) -> Option<T> {
        let text = self.string(key)?;
        let found = words.iter().find(|(word, _)| *word == text).map(|(_, value)| *value);
        if found.is_none() {
            self.wrong(key, format!("is {}; allowed: {}", quoted(text), list(words.iter().map(|(word, _)| *word))));
        }
        found
    }

    /// Refuses keys that were not taken. The reading of every mapping ends with this, or with `finish_loosely`.
    pub fn finish(&self) {
        let allowed = self.allowed();
        self.unknown().iter().for_each(|key| self.wrong(key, format!("is not known here; allowed: {allowed}")));
    }

    /// Like `finish`, but only warns.
    pub fn finish_loosely(&self) {
        let allowed = self.allowed();
        let message = format!("is not known here and ignored; allowed: {allowed}");
        self.unknown().iter().for_each(|key| self.warn(key, &message));
    }

    /// The keys that were not taken.
    pub fn unknown(&self) -> Vec<&'v str> {
        let known = self.known.borrow();
        let strange = |key: &&str| !known.contains(key);
        self.map.keys().map(String::as_str).filter(strange).collect()
    }

    fn allowed(&self) -> String {
        list(self.known.borrow().iter().copied())
    }
}

fn list<'a>(words: impl Iterator<Item = &'a str>) -> String {
    words.collect::<Vec<_>>().join(", ")
}

/// JSON Schema counts `10.0` as an integer, too.
pub(super) fn whole(value: &Value) -> Option<i64> {
    let near = |number: &f64| number.fract() == 0.0 && number.abs() < 9e15;
    value.as_i64().or_else(|| value.as_f64().filter(near).map(|number| number as i64))
}

/// A text of the document, as messages show it.
pub(super) fn quoted(text: &str) -> String {
    format!("{:?}", short(text, 80))
}

pub(super) fn describe(value: &Value) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Array(_) => "a list".to_owned(),
        Value::Object(_) => "a mapping".to_owned(),
        Value::String(text) => quoted(text),
        scalar => scalar.to_string(),
    }
}
