//! Walks a document, collects what is wrong with its place, and refuses keys that nobody asked
//! for. Knows no binding.

use std::{cell::RefCell, collections::BTreeSet, fmt, time::Duration};

use serde_json::{Map, Value};

/// What sort of problem it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProblemKind {
    /// The document is wrong.
    Wrong,
    /// The document is right, and this version of Boathook can't do it.
    NotYet,
}

/// One thing that is wrong with a document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// `kubernetes[0].jqFilter`; empty for the document itself.
    pub path: String,
    /// What is wrong there, and what is allowed.
    pub message: String,
    /// What sort of problem.
    pub kind: ProblemKind,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = if self.path.is_empty() { "the document" } else { &self.path };
        write!(f, "{path}: {}", self.message)
    }
}

/// Collects problems.
pub(super) struct Reader<'c> {
    problems: RefCell<Vec<Problem>>,
    check_filter: &'c dyn Fn(&str) -> Result<(), String>,
}

impl<'c> Reader<'c> {
    pub fn new(check_filter: &'c dyn Fn(&str) -> Result<(), String>) -> Self {
        Self { problems: RefCell::default(), check_filter }
    }

    pub fn into_problems(self) -> Vec<Problem> {
        self.problems.into_inner()
    }

    pub fn is_clean(&self) -> bool {
        self.problems.borrow().is_empty()
    }

    pub fn wrong(&self, path: &str, message: impl Into<String>) {
        self.add(path, message.into(), ProblemKind::Wrong);
    }

    fn add(&self, path: &str, message: String, kind: ProblemKind) {
        self.problems.borrow_mut().push(Problem { path: path.to_owned(), message, kind });
    }
}

/// The fields of one mapping. Every key must be taken by somebody before [`Fields::finish`].
pub(super) struct Fields<'v, 'r> {
    map: &'v Map<String, Value>,
    path: String,
    reader: &'r Reader<'r>,
    /// Keys that are known here, present or not.
    known: RefCell<BTreeSet<&'static str>>,
}

impl<'v, 'r> Fields<'v, 'r> {
    /// The fields of `value`, if it is a mapping.
    pub fn of(value: &'v Value, path: &str, reader: &'r Reader<'r>) -> Option<Self> {
        let Value::Object(map) = value else {
            reader.wrong(path, format!("must be a mapping, not {}", describe(value)));
            return None;
        };
        let known = RefCell::default();
        Some(Self { map, path: path.to_owned(), reader, known })
    }

    fn child(&self, key: &str) -> String {
        if self.path.is_empty() { key.to_owned() } else { format!("{}.{key}", self.path) }
    }

    /// Reports something about a key.
    pub fn wrong(&self, key: &str, message: impl Into<String>) {
        self.reader.wrong(&self.child(key), message);
    }

    /// The same unless a condition holds, which it gives back.
    pub fn check(&self, holds: bool, key: &str, message: impl FnOnce() -> String) -> bool {
        if !holds {
            self.wrong(key, message());
        }
        holds
    }

    /// The key's value; `null` counts as absent.
    pub fn take(&self, key: &'static str) -> Option<&'v Value> {
        self.known.borrow_mut().insert(key);
        self.map.get(key).filter(|value| !value.is_null())
    }

    /// The same, and its absence is a problem.
    fn need<T>(&self, key: &'static str, value: Option<T>) -> Option<T> {
        if value.is_none() && self.take(key).is_none() {
            self.wrong(key, "is missing");
        }
        value
    }

    /// Refuses a key that a later version will know.
    pub fn not_yet(&self, key: &'static str, feature: &str) {
        if self.take(key).is_some() {
            self.refuse_for_now(key, feature);
        }
    }

    /// Says that what stands at the key is not available in this version.
    pub fn refuse_for_now(&self, key: &str, feature: &str) {
        let message =
            format!("not yet: {feature} not available in this version of Boathook; remove it or wait for a later one");
        self.reader.add(&self.child(key), message, ProblemKind::NotYet);
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
        self.typed(key, "an integer", Value::as_i64)
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

    /// A duration of at least one millisecond, as Go writes it: `300ms`, `1m30s`.
    pub fn duration(&self, key: &'static str) -> Option<Duration> {
        let text = self.string(key)?;
        match humantime::parse_duration(text) {
            Ok(duration) if duration >= Duration::from_millis(1) => Some(duration),
            _ => {
                self.wrong(key, format!("is {text:?}; a duration like \"300ms\", \"5s\" or \"1m30s\" is needed"));
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

    /// The mappings of a list; an empty list is a problem, as in shell-operator.
    pub fn items(&self, key: &'static str) -> impl Iterator<Item = Fields<'v, 'r>> {
        let items = self.typed(key, "a list", Value::as_array).map(Vec::as_slice);
        if items.is_some_and(<[Value]>::is_empty) {
            self.wrong(key, "is an empty list; leave it out instead");
        }
        let (path, reader) = (self.child(key), self.reader);
        let each = move |(i, value)| Fields::of(value, &format!("{path}[{i}]"), reader);
        items.unwrap_or_default().iter().enumerate().filter_map(each)
    }

    /// A list of strings; `None` when the key is absent.
    pub fn strings(&self, key: &'static str) -> Option<Vec<String>> {
        let list = self.typed(key, "a list of strings", Value::as_array)?;
        let mut strings = Vec::with_capacity(list.len());
        for (i, value) in list.iter().enumerate() {
            match value.as_str() {
                Some(text) => strings.push(text.to_owned()),
                None => self.wrong(&format!("{key}[{i}]"), format!("must be a string, not {}", describe(value))),
            }
        }
        Some(strings)
    }

    /// The same, and an empty list is a problem.
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
            self.wrong(key, format!("is {text:?}; allowed: {}", list(words.iter().map(|(word, _)| *word))));
        }
        found
    }

    /// Reports keys that nobody asked for. Every mapping ends with it.
    pub fn finish(&self) {
        let known = self.known.borrow();
        for key in self.map.keys().filter(|key| !known.contains(key.as_str())) {
            self.wrong(key, format!("is not known here; allowed: {}", list(known.iter().copied())));
        }
    }
}

fn list<'a>(words: impl Iterator<Item = &'a str>) -> String {
    words.collect::<Vec<_>>().join(", ")
}

fn describe(value: &Value) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Array(_) => "a list".to_owned(),
        Value::Object(_) => "a mapping".to_owned(),
        scalar => {
            let text = scalar.to_string();
            if text.chars().count() <= 40 { text } else { format!("{}…", text.chars().take(40).collect::<String>()) }
        }
    }
}
