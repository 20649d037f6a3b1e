//! Replaces values of Secrets in the rest of a record: logs, names, other objects. It leaves short values, because they
//! would occur in unrelated words.

use std::collections::HashMap;

use aho_corasick::{AhoCorasick, MatchKind};
use serde_json::Value;

/// Shorter values are replaced only in Secrets.
pub const SHORTEST: usize = 8;

/// Knows what to replace.
pub(super) struct Scrubber {
    patterns: AhoCorasick,
    replacements: Vec<String>,
}

impl Scrubber {
    /// Returns `None` if there is nothing to replace.
    pub fn new(replaced: &HashMap<String, String>) -> Option<Self> {
        let (mut patterns, mut replacements) = (Vec::new(), Vec::new());
        for (value, placeholder) in replaced.iter().filter(|(value, _)| value.len() >= SHORTEST) {
            let escaped = Value::from(value.as_str()).to_string();
            let escaped = escaped.get(1..escaped.len() - 1).unwrap_or_default().to_owned();
            if escaped != *value {
                patterns.push(escaped);
                replacements.push(placeholder.clone());
            }
            patterns.push(value.clone());
            replacements.push(placeholder.clone());
        }
        if patterns.is_empty() {
            return None;
        }
        let patterns = AhoCorasick::builder().match_kind(MatchKind::LeftmostLongest).build(&patterns).ok()?;
        Some(Self { patterns, replacements })
    }

    /// Replaces in all texts of a JSON value.
    pub fn value(&self, value: &mut Value) {
        match value {
            Value::String(text) if self.patterns.is_match(text.as_str()) => {
                *text = self.patterns.replace_all(text, &self.replacements);
            }
            Value::Array(values) => values.iter_mut().for_each(|value| self.value(value)),
            Value::Object(fields) => fields.values_mut().for_each(|value| self.value(value)),
            _ => {}
        }
    }
}
