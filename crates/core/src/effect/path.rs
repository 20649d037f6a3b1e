//! The path to a part of an object.

use std::fmt;

use serde_json::Value;

/// One step into an object.
#[derive(Debug, Clone, PartialEq)]
pub enum Segment {
    /// A key of a mapping.
    Key(String),
    /// An index in a list, counted from 0.
    Index(usize),
    /// The item of a list that has this value under this key.
    Item {
        /// `name`, `key`, …
        key: &'static str,
        /// A value that no other item has.
        value: Value,
    },
}

/// The steps from an object to a part of it. Shown as `spec.containers[name=app].image`.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Path(pub Vec<Segment>);

impl Path {
    /// Whether these keys lead to this part, or to a part around it.
    pub(super) fn is_within(&self, keys: &[&str]) -> bool {
        let is = |(segment, key): (&Segment, &&str)| matches!(segment, Segment::Key(own) if own == *key);
        self.0.len() >= keys.len() && self.0.iter().zip(keys).all(is)
    }

    /// Calls `work` on the path with one more step.
    pub(super) fn within(&mut self, segment: Segment, work: impl FnOnce(&mut Self)) {
        self.0.push(segment);
        work(self);
        self.0.pop();
    }
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (n, segment) in self.0.iter().enumerate() {
            match segment {
                Segment::Key(key) if is_plain(key) && n == 0 => f.write_str(key)?,
                Segment::Key(key) if is_plain(key) => write!(f, ".{key}")?,
                Segment::Key(key) => write!(f, "[{}]", Value::from(key.as_str()))?,
                Segment::Index(index) => write!(f, "[{index}]")?,
                Segment::Item { key, value } => match value.as_str().filter(|text| is_plain(text)) {
                    Some(text) => write!(f, "[{key}={text}]")?,
                    None => write!(f, "[{key}={value}]")?,
                },
            }
        }
        Ok(())
    }
}

/// Whether the text cannot be mistaken for anything else in a path.
fn is_plain(key: &str) -> bool {
    !key.is_empty() && key.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '$'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_read_in_one_way_only() {
        let key = |key: &str| Segment::Key(key.to_owned());
        let item = |value: Value| Segment::Item { key: "name", value };
        let shown = |segments: Vec<Segment>| Path(segments).to_string();
        assert_eq!(shown(vec![key("spec"), key("a"), item("app".into()), key("image")]), "spec.a[name=app].image");
        assert_eq!(shown(vec![key("data"), key("app.conf")]), r#"data["app.conf"]"#);
        assert_eq!(shown(vec![key("a/b"), Segment::Index(2), item(7.into())]), r#"["a/b"][2][name=7]"#);
        assert_eq!(shown(vec![key("a\u{1b}[31m")]), r#"["a\u001b[31m"]"#);
    }
}
