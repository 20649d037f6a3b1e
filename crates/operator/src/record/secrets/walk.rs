//! Finds Secrets in JSON, and replaces their values. `scrub.rs` replaces values in other texts.

use std::collections::HashMap;

use serde_json::{Map, Value};

use super::placeholder::{Key, decoded};

/// Keys in a filter's result whose texts are not values of Secrets.
const PUBLIC: [&str; 8] = ["name", "namespace", "uid", "resourceVersion", "type", "kind", "apiVersion", "phase"];

/// Keys in a filter's result whose maps contain no values of Secrets.
const PUBLIC_MAPS: [&str; 3] = ["labels", "annotations", "metadata"];

/// Kinds other than Secret that contain a credential, and its position.
const TOKENS: [(&str, [&str; 2]); 2] = [("TokenRequest", ["status", "token"]), ("TokenReview", ["spec", "token"])];

/// The key of the placeholders, and what was replaced.
pub(super) struct Pass<'k> {
    key: &'k Key,
    /// The placeholder for each text that was replaced.
    pub replaced: HashMap<String, String>,
    /// Whether a value was replaced for the first time.
    pub found_new: bool,
}

impl<'k> Pass<'k> {
    pub fn new(key: &'k Key) -> Self {
        Self { key, replaced: HashMap::new(), found_new: false }
    }

    /// Replaces values in a JSON text that may contain Secrets or tokens.
    pub fn json(&mut self, text: &mut String) {
        // A hook may write the letters of a kind as escapes.
        if ["Secret", "TokenRe", "\\u"].iter().any(|part| text.contains(part)) {
            self.parsed(text, |pass, value| pass.value(value));
        }
    }

    /// Replaces values in a JSON text that is a part of a Secret: the body of a patch.
    pub fn secret(&mut self, text: &mut String) {
        self.parsed(text, |pass, value| match value {
            Value::Array(operations) => operations.iter_mut().for_each(|operation| pass.patch(operation)),
            Value::Object(fields) => pass.fields(fields),
            _ => {}
        });
    }

    /// Replaces values in the result of a `jqFilter` on a Secret.
    pub fn filter_result(&mut self, text: &mut String, known: &[&str]) {
        self.parsed(text, |pass, value| pass.leaf(value, known));
    }

    fn parsed(&mut self, text: &mut String, change: impl FnOnce(&mut Self, &mut Value)) {
        match serde_json::from_str::<Value>(text) {
            Ok(mut value) => {
                let before = value.clone();
                change(self, &mut value);
                if value != before {
                    *text = value.to_string();
                }
            }
            // The text may be a Secret despite that.
            Err(_) => *text = self.text(text),
        }
    }

    fn value(&mut self, value: &mut Value) {
        match value {
            Value::Object(fields) => {
                let kind = fields.get("kind").and_then(Value::as_str);
                let token = TOKENS.iter().find(|(holder, _)| kind == Some(holder));
                if kind == Some("Secret") {
                    self.fields(fields);
                } else if let Some((_, [part, field])) = token
                    && let Some(token) = fields.get_mut(*part).and_then(|part| part.get_mut(*field))
                {
                    self.replace(token, Self::text);
                }
                fields.values_mut().for_each(|value| self.value(value));
            }
            Value::Array(values) => values.iter_mut().for_each(|value| self.value(value)),
            // As in kubectl's last-applied-configuration annotation.
            Value::String(text) if text.trim_start().starts_with(['{', '[']) => self.json(text),
            _ => {}
        }
    }

    /// Replaces values in the fields of a Secret.
    fn fields(&mut self, fields: &mut Map<String, Value>) {
        for (key, replace) in [("data", Self::data as fn(&mut Self, &str) -> String), ("stringData", Self::text)] {
            if let Some(Value::Object(values)) = fields.get_mut(key) {
                values.values_mut().for_each(|value| self.replace(value, replace));
            }
        }
        if let Some(Value::Object(annotations)) =
            fields.get_mut("metadata").and_then(|meta| meta.get_mut("annotations"))
        {
            annotations.values_mut().for_each(|value| self.value(value));
        }
    }

    /// Replaces values in one operation of a JSON Patch of a Secret.
    fn patch(&mut self, operation: &mut Value) {
        let path = operation.get("path").and_then(Value::as_str).unwrap_or_default().to_owned();
        let Some(value) = operation.get_mut("value") else { return };
        let mut parts = path.split('/').skip(1);
        match (parts.next(), value) {
            (Some("data"), value) => self.replace_all(value, Self::data),
            (Some("stringData"), value) => self.replace_all(value, Self::text),
            (None, Value::Object(fields)) => self.fields(fields),
            (_, value) => self.value(value),
        }
    }

    fn replace_all(&mut self, value: &mut Value, replace: fn(&mut Self, &str) -> String) {
        match value {
            Value::Object(values) => values.values_mut().for_each(|value| self.replace(value, replace)),
            value => self.replace(value, replace),
        }
    }

    fn replace(&mut self, value: &mut Value, replace: fn(&mut Self, &str) -> String) {
        if let Value::String(text) = value {
            *text = replace(self, text);
        }
    }

    /// Replaces a text in a filter's result, unless it is known to be public.
    fn leaf(&mut self, value: &mut Value, known: &[&str]) {
        match value {
            Value::Object(fields) => {
                for (key, value) in fields.iter_mut() {
                    let public = PUBLIC.contains(&key.as_str()) && value.is_string();
                    match key.as_str() {
                        key if public || PUBLIC_MAPS.contains(&key) => self.value(value),
                        "data" => self.replace_all(value, Self::data),
                        "stringData" => self.replace_all(value, Self::text),
                        _ => self.leaf(value, known),
                    }
                }
            }
            Value::Array(values) => values.iter_mut().for_each(|value| self.leaf(value, known)),
            Value::String(text) if !known.contains(&text.as_str()) => *text = self.data(text),
            _ => {}
        }
    }

    fn data(&mut self, value: &str) -> String {
        let placeholder = self.remember(value, Key::data);
        if let Some(text) = decoded(value) {
            let placeholder = self.remember(&text, Key::text);
            self.parts(&text, &placeholder);
        }
        placeholder
    }

    fn text(&mut self, value: &str) -> String {
        let placeholder = self.remember(value, Key::text);
        self.parts(value, &placeholder);
        placeholder
    }

    fn remember(&mut self, value: &str, replace: fn(&Key, &str) -> String) -> String {
        if let Some(placeholder) = self.replaced.get(value) {
            return placeholder.clone();
        }
        self.found_new = true;
        let placeholder = replace(self.key, value);
        self.replaced.insert(value.to_owned(), placeholder.clone());
        placeholder
    }

    /// Remembers parts of a value that a hook may extract: its lines, and credentials in a JSON document.
    fn parts(&mut self, value: &str, placeholder: &str) {
        const LONG_LINE: usize = 16;
        let mut start = 0;
        for line in value.split_inclusive('\n') {
            let part = placeholder.get(start..start + line.len()).unwrap_or_default();
            start += line.len();
            let line = line.trim_end_matches(['\r', '\n']);
            if line.len() >= LONG_LINE && line.len() < value.len() {
                let part = part.get(..line.len()).unwrap_or_default().to_owned();
                self.replaced.entry(line.to_owned()).or_insert(part);
            }
        }
        if value.starts_with('{')
            && let Ok(value) = serde_json::from_str(value)
        {
            self.credentials(&value);
        }
    }

    fn credentials(&mut self, value: &Value) {
        const WORDS: [&str; 5] = ["pass", "auth", "token", "secret", "key"];
        let Value::Object(fields) = value else { return };
        for (key, value) in fields {
            let key = key.to_lowercase();
            match value {
                Value::String(text) if WORDS.iter().any(|word| key.contains(word)) => {
                    let placeholder = self.key.data(text);
                    self.replaced.entry(text.clone()).or_insert(placeholder);
                }
                value => self.credentials(value),
            }
        }
    }
}
