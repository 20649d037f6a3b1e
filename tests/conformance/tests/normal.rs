//! Puts placeholders for what each server makes up: uids, resource versions, times, random names, addresses.
//! It never hides anything else.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use regex::{Captures, Regex};
use serde_json::{Map, Value};

/// What has been seen in one case: the same value gets the same placeholder.
#[derive(Default)]
pub struct Normal {
    uids: BTreeMap<String, String>,
    versions: BTreeMap<String, String>,
    names: Vec<(String, String)>,
}

impl Normal {
    /// With names that are the same for both servers in the place of these.
    pub fn with(names: &[(&str, &str)]) -> Self {
        let names = names.iter().map(|(name, shown)| ((*name).to_owned(), (*shown).to_owned())).collect();
        Self { names, ..Self::default() }
    }
}

fn regex(pattern: &str) -> Regex {
    Regex::new(pattern).expect("the pattern is valid")
}

static UID: LazyLock<Regex> = LazyLock::new(|| regex("[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"));
static NUMBER: LazyLock<Regex> = LazyLock::new(|| regex(r"\b[0-9]+\b"));
static AGE: LazyLock<Regex> = LazyLock::new(|| regex(r"\b[0-9]+s\b"));
static SPACES: LazyLock<Regex> = LazyLock::new(|| regex(" {2,}"));
static PLAIN: LazyLock<Vec<(Regex, &str)>> = LazyLock::new(|| {
    vec![
        (regex(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:]{8}\.[0-9]{6}Z"), "<micro-time>"),
        (regex(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:]{8}Z"), "<time>"),
        (regex(r"\b10\.[0-9]+\.[0-9]+\.[0-9]+\b"), "<address>"),
        (regex(r"eyJ[\w-]+\.[\w-]+\.[\w-]+"), "<token>"),
        (regex(r"\.[0-9a-f]{16}\b"), ".<random>"),
    ]
});

impl Normal {
    pub fn value(&mut self, value: &Value) -> Value {
        match value {
            Value::Object(object) => self.object(object),
            Value::Array(items) => items.iter().map(|item| self.value(item)).collect(),
            Value::String(text) => self.string(text).into(),
            other => other.clone(),
        }
    }

    /// Output for people: columns are as wide as what they hold, ages tell the time.
    pub fn text(&mut self, text: &str) -> String {
        let text = self.string(text);
        let text = SPACES.replace_all(&text, " ");
        AGE.replace_all(&text, "<age>").lines().map(str::trim_end).collect::<Vec<_>>().join("\n")
    }

    fn object(&mut self, object: &Map<String, Value>) -> Value {
        self.random_name(object.get("metadata"));
        let kind = object.get("kind").and_then(Value::as_str).unwrap_or_default();
        let list = kind.ends_with("List") || kind == "Table";
        let bookmark = object.get("type").and_then(Value::as_str) == Some("BOOKMARK");
        // Both servers' keys in one order, so that placeholders get the same numbers.
        let sorted: BTreeMap<&String, &Value> = object.iter().collect();
        let entry = |(key, value): (&String, &Value)| {
            let value = match (key.as_str(), value) {
                ("metadata", Value::Object(metadata)) if list => self.metadata_of_list(metadata),
                ("object", Value::Object(object)) if bookmark => self.bookmark(object),
                _ => self.field(key, value),
            };
            // Field sets have uids in their keys.
            (self.string(key), value)
        };
        Value::Object(sorted.into_iter().map(entry).collect())
    }

    fn field(&mut self, key: &str, value: &Value) -> Value {
        match (key, value) {
            ("resourceVersion", Value::String(version)) if version != "0" && !version.is_empty() => {
                let next = format!("<version-{}>", self.versions.len() + 1);
                self.versions.entry(version.clone()).or_insert(next).clone().into()
            }
            ("message" | "reason", Value::String(text)) => self.message(text).into(),
            ("pod-template-hash", Value::String(hash)) => {
                let next = format!("<hash-{}>", self.names.len() + 1);
                if !self.names.iter().any(|(known, _)| known == hash) {
                    self.names.push((hash.clone(), next));
                }
                self.string(hash).into()
            }
            ("nodePort", Value::Number(_)) => "<port>".into(),
            ("managedFields", Value::Array(entries)) => self.managers(entries),
            ("cells", Value::Array(cells)) => cells.iter().map(|cell| self.cell(cell)).collect(),
            _ => self.value(value),
        }
    }

    /// Their order depends on the second in which each one wrote.
    fn managers(&mut self, entries: &[Value]) -> Value {
        let mut entries: Vec<&Value> = entries.iter().collect();
        entries.sort_by_key(|entry| ["manager", "operation", "subresource"].map(|key| entry[key].to_string()));
        entries.into_iter().map(|entry| self.value(entry)).collect()
    }

    fn cell(&mut self, cell: &Value) -> Value {
        match cell {
            Value::String(text) => AGE.replace_all(&self.string(text), "<age>").into_owned().into(),
            other => other.clone(),
        }
    }

    /// How a list's version relates to its items' is chance, because other clients write at the same time.
    fn metadata_of_list(&mut self, metadata: &Map<String, Value>) -> Value {
        let mut metadata = metadata.clone();
        for key in ["resourceVersion", "continue"] {
            if let Some(Value::String(text)) = metadata.get_mut(key)
                && !text.is_empty()
            {
                *text = format!("<{key}>");
            }
        }
        Value::Object(metadata)
    }

    fn bookmark(&mut self, object: &Map<String, Value>) -> Value {
        let mut object = object.clone();
        if let Some(Value::Object(metadata)) = object.get("metadata") {
            let metadata = self.metadata_of_list(metadata);
            object.insert("metadata".to_owned(), metadata);
        }
        Value::Object(object)
    }

    fn random_name(&mut self, metadata: Option<&Value>) {
        let text = |key: &str| metadata.and_then(|metadata| metadata.get(key)).and_then(Value::as_str);
        let (Some(prefix), Some(name)) = (text("generateName"), text("name")) else {
            return;
        };
        let random = name.strip_prefix(prefix).is_some_and(|rest| rest.len() == 5);
        if random && !self.names.iter().any(|(known, _)| known == name) {
            self.names.push((name.to_owned(), format!("{prefix}<random-{}>", self.names.len() + 1)));
        }
    }

    /// Messages name resource versions in their sentences.
    fn message(&mut self, text: &str) -> String {
        let text = self.string(text);
        // The example of a name in many texts is no version.
        let version = |found: &str| self.versions.get(found).filter(|_| found != "123").cloned();
        let known = |found: &Captures<'_>| version(&found[0]).unwrap_or_else(|| found[0].to_owned());
        NUMBER.replace_all(&text, known).into_owned()
    }

    fn string(&mut self, text: &str) -> String {
        let mut text = self.names.iter().fold(text.to_owned(), |text, (name, as_)| text.replace(name, as_));
        for (pattern, placeholder) in PLAIN.iter() {
            text = pattern.replace_all(&text, *placeholder).into_owned();
        }
        let uid = |found: &Captures<'_>| {
            let next = format!("<uid-{}>", self.uids.len() + 1);
            self.uids.entry(found[0].to_owned()).or_insert(next).clone()
        };
        UID.replace_all(&text, uid).into_owned()
    }
}
