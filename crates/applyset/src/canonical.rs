//! JSON in one form only, and digests of it: equal values have equal text, whatever the order of their fields.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

/// 128 bits of the SHA-256 of some content, in hex. It is shown to people and stored in annotations, so it is short.
/// That is enough against collisions that somebody searches for on purpose.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Digest(Box<str>);

impl Digest {
    /// The digest of these parts. Each part's length counts, so `a`, `bc` and `ab`, `c` differ.
    pub fn of<'p>(parts: impl IntoIterator<Item = &'p [u8]>) -> Self {
        let mut sum = Sha256::new();
        for part in parts {
            sum.update((part.len() as u64).to_be_bytes());
            sum.update(part);
        }
        Self(sum.finalize().iter().take(16).map(|byte| format!("{byte:02x}")).collect())
    }

    /// A digest as it was written. A text that is not one equals no digest.
    pub fn read(text: &str) -> Self {
        Self(text.into())
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The value as compact JSON, with the fields of each mapping in order. Fields that are null are left out, because in
/// an applied object they say nothing.
pub(crate) fn text(value: &Value) -> String {
    let mut out = String::with_capacity(256);
    write(value, &mut out);
    out
}

fn write(value: &Value, out: &mut String) {
    match value {
        Value::Object(fields) => {
            let mut fields: Vec<_> = fields.iter().filter(|(_, value)| !value.is_null()).collect();
            fields.sort_unstable_by_key(|(key, _)| *key);
            out.push('{');
            for (n, (key, value)) in fields.into_iter().enumerate() {
                if n > 0 {
                    out.push(',');
                }
                out.push_str(&Value::from(key.as_str()).to_string());
                out.push(':');
                write(value, out);
            }
            out.push('}');
        }
        Value::Array(items) => {
            out.push('[');
            for (n, item) in items.iter().enumerate() {
                if n > 0 {
                    out.push(',');
                }
                write(item, out);
            }
            out.push(']');
        }
        plain => out.push_str(&plain.to_string()),
    }
}

/// At most `max` bytes of a text, and an ellipsis if that is not all of it.
pub(crate) fn cut(text: &str, max: usize) -> String {
    if text.len() <= max {
        return text.to_owned();
    }
    let end = (0..=max.saturating_sub(3)).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    format!("{}...", text.get(..end).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn equal_values_have_equal_text() {
        let (one, other) = (json!({"b": [{"y": 1, "x": null}], "a": "ä\n"}), json!({"a": "ä\n", "b": [{"y": 1}]}));
        assert_eq!(text(&one), r#"{"a":"ä\n","b":[{"y":1}]}"#);
        assert_eq!(text(&one), text(&other));
        assert_ne!(text(&json!([1, 2])), text(&json!([2, 1])), "the order of a list counts");
    }

    #[test]
    fn a_digest_is_of_the_parts_and_of_where_they_end() {
        let of = |parts: &[&str]| Digest::of(parts.iter().map(|part| part.as_bytes()));
        assert_eq!(of(&["a", "bc"]), of(&["a", "bc"]));
        assert_ne!(of(&["a", "bc"]), of(&["ab", "c"]));
        assert_eq!(of(&[]).as_str().len(), 32);
    }

    #[test]
    fn a_text_is_cut_between_characters() {
        assert_eq!(cut("abc", 3), "abc");
        assert_eq!(cut("abcdef", 5), "ab...");
        assert_eq!(cut("äöüäöü", 6), "ä...");
    }
}
