//! Reads the fields of a mapping by type. It reports problems with their positions, and refuses unknown keys.

use std::{cell::RefCell, collections::BTreeSet, time::Duration};

use boathook_core::model::{format_duration, parse_duration};
use serde_json::Value;

use super::tree::{Entry, Kind, Node, Place, Problems};

/// The fields of one mapping. The caller must read every allowed key before [`Fields::finish`].
pub(super) struct Fields<'n> {
    entries: &'n [Entry],
    place: Place,
    path: String,
    problems: &'n Problems,
    known: RefCell<BTreeSet<&'static str>>,
}

impl<'n> Fields<'n> {
    /// The fields of `node`, if it is a mapping.
    pub fn of(node: &'n Node, path: &str, problems: &'n Problems) -> Option<Self> {
        let Kind::Map(entries) = &node.kind else {
            problems.add(node.place, path, format!("must be a mapping, not {}", describe(node)));
            return None;
        };
        Some(Self { entries, place: node.place, path: path.to_owned(), problems, known: RefCell::default() })
    }

    pub fn child(&self, key: &str) -> String {
        if self.path.is_empty() { key.to_owned() } else { format!("{}.{key}", self.path) }
    }

    pub fn problems(&self) -> &'n Problems {
        self.problems
    }

    /// Reports a problem of the mapping as a whole.
    pub fn wrong(&self, message: impl Into<String>) {
        self.problems.add(self.place, &self.path, message);
    }

    fn wrong_at(&self, node: &Node, key: &str, message: impl Into<String>) {
        self.problems.add(node.place, &self.child(key), message);
    }

    pub fn take(&self, key: &'static str) -> Option<&'n Node> {
        self.known.borrow_mut().insert(key);
        self.entries.iter().find(|entry| entry.key == key).map(|entry| &entry.node)
    }

    /// Like [`Fields::take`], but a missing key is a problem.
    pub fn need(&self, key: &'static str) -> Option<&'n Node> {
        let node = self.take(key);
        if node.is_none() {
            self.wrong(format!("{key} is missing"));
        }
        node
    }

    /// A non-empty text.
    pub fn text(&self, key: &'static str) -> Option<&'n str> {
        let node = self.take(key)?;
        match &node.kind {
            Kind::Scalar(Value::String(text)) if !text.is_empty() => Some(text),
            _ => {
                self.wrong_at(node, key, format!("must be a text, not {}", describe(node)));
                None
            }
        }
    }

    pub fn needed_text(&self, key: &'static str) -> Option<&'n str> {
        self.need(key)?;
        self.text(key)
    }

    pub fn number(&self, key: &'static str) -> Option<f64> {
        let node = self.need(key)?;
        let number = if let Kind::Scalar(value) = &node.kind { value.as_f64() } else { None };
        if number.is_none() {
            self.wrong_at(node, key, format!("must be a number, not {}", describe(node)));
        }
        number
    }

    pub fn count(&self, key: &'static str) -> Option<usize> {
        let node = self.take(key)?;
        let number = if let Kind::Scalar(value) = &node.kind { value.as_u64() } else { None };
        if number.is_none() {
            self.wrong_at(node, key, format!("must be a number like 2, not {}", describe(node)));
        }
        number.and_then(|number| usize::try_from(number).ok())
    }

    /// One of several words.
    pub fn word(&self, key: &'static str, words: &[&'static str]) -> Option<&'static str> {
        let text = self.text(key)?;
        let found = words.iter().find(|word| **word == text).copied();
        if let (None, Some(node)) = (found, self.take(key)) {
            self.wrong_at(node, key, format!("is {text:?}; allowed: {}", words.join(", ")));
        }
        found
    }

    /// A duration in Go's format, up to `most`.
    pub fn duration(&self, key: &'static str, most: Duration) -> Option<Duration> {
        let text = self.text(key)?;
        let duration = parse_duration(text).filter(|duration| *duration <= most);
        if let (None, Some(node)) = (duration, self.take(key)) {
            let most = format_duration(most);
            let message = format!("is {text:?}; a duration like 500ms or 15s is needed, at most {most}");
            self.wrong_at(node, key, message);
        }
        duration
    }

    /// The elements of a list, each with its path. `None` if the key is missing or is not a list.
    pub fn items(&self, key: &'static str) -> Option<impl Iterator<Item = (&'n Node, String)> + use<'n>> {
        let node = self.take(key)?;
        let Kind::List(items) = &node.kind else {
            self.wrong_at(node, key, format!("must be a list, not {}", describe(node)));
            return None;
        };
        let path = self.child(key);
        Some(items.iter().enumerate().map(move |(n, item)| (item, format!("{path}[{n}]"))))
    }

    /// A mapping of texts.
    pub fn texts(&self, key: &'static str) -> Vec<(String, String)> {
        let Some(node) = self.take(key) else { return Vec::new() };
        let path = self.child(key);
        let Some(fields) = Self::of(node, &path, self.problems) else { return Vec::new() };
        let text = |entry: &Entry| match &entry.node.kind {
            Kind::Scalar(Value::String(text)) => Some((entry.key.clone(), text.clone())),
            _ => {
                fields.wrong_at(&entry.node, &entry.key, format!("must be a text, not {}", describe(&entry.node)));
                None
            }
        };
        fields.entries.iter().filter_map(text).collect()
    }

    /// Refuses keys that were not read. It must be called last for every mapping.
    pub fn finish(&self) {
        let known = self.known.borrow();
        let allowed = known.iter().copied().collect::<Vec<_>>().join(", ");
        for entry in self.entries.iter().filter(|entry| !known.contains(entry.key.as_str())) {
            let message = format!("is not known here; allowed: {allowed}");
            self.problems.add(entry.place, &self.child(&entry.key), message);
        }
    }
}

/// A description of a value for error texts.
pub(super) fn describe(node: &Node) -> String {
    match &node.kind {
        Kind::List(_) => "a list".to_owned(),
        Kind::Map(_) => "a mapping".to_owned(),
        Kind::Scalar(Value::String(text)) => format!("{:?}", text.chars().take(80).collect::<String>()),
        Kind::Scalar(value) => value.to_string(),
    }
}
