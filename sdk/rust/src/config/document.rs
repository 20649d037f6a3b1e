//! A JSON document that is only ever written: what the builders collect their fields in.
//!
//! `serde_json::Value` would do the same and cost every hook 20 kB.

use std::fmt::{self, Write};
use std::time::Duration;

/// A value of the document.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Node {
    /// A text, quoted when written.
    Text(String),
    /// A number or a boolean, as it is written.
    Plain(String),
    /// A list.
    List(Vec<Node>),
    /// An object.
    Map(Fields),
}

/// An object of the document: its keys in the order they were first set.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Fields(Vec<(String, Node)>);

impl Fields {
    /// Sets a key.
    pub(super) fn set(&mut self, key: &str, node: Node) {
        *self.slot(key) = node;
    }

    /// Sets a key to a text.
    pub(super) fn text(&mut self, key: &str, text: &str) {
        self.set(key, Node::Text(text.to_owned()));
    }

    /// Sets a key to a number or a boolean.
    pub(super) fn plain(&mut self, key: &str, value: impl fmt::Display) {
        self.set(key, Node::Plain(value.to_string()));
    }

    /// Sets a key to a duration in the document's spelling: `10s`, `250ms`.
    pub(super) fn duration(&mut self, key: &str, time: Duration) {
        let ms = u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        let text = if ms.is_multiple_of(1000) { format!("{}s", ms / 1000) } else { format!("{ms}ms") };
        self.set(key, Node::Text(text));
    }

    /// Sets a key to a list of texts.
    pub(super) fn texts<S: Into<String>>(&mut self, key: &str, texts: impl IntoIterator<Item = S>) {
        self.set(key, Node::List(texts.into_iter().map(|text| Node::Text(text.into())).collect()));
    }

    /// Appends to the list under a key, which is made if it is missing.
    pub(super) fn push(&mut self, key: &str, item: Fields) {
        match self.slot(key) {
            Node::List(list) => list.push(Node::Map(item)),
            slot => *slot = Node::List(vec![Node::Map(item)]),
        }
    }

    /// Changes the object under a key, which is made if it is missing.
    pub(super) fn within(&mut self, key: &str, change: impl FnOnce(&mut Fields)) {
        let slot = self.slot(key);
        if let Node::Map(fields) = slot {
            change(fields);
        } else {
            let mut fields = Fields::default();
            change(&mut fields);
            *slot = Node::Map(fields);
        }
    }

    fn slot(&mut self, key: &str) -> &mut Node {
        let at = self.0.iter().position(|(k, _)| k == key).unwrap_or_else(|| {
            self.0.push((key.to_owned(), Node::Plain("null".to_owned())));
            self.0.len() - 1
        });
        #[allow(clippy::indexing_slicing)] // found or pushed just above
        &mut self.0[at].1
    }
}

impl fmt::Display for Fields {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_char('{')?;
        for (index, (key, node)) in self.0.iter().enumerate() {
            if index > 0 {
                f.write_char(',')?;
            }
            quote(f, key)?;
            f.write_char(':')?;
            node.fmt(f)?;
        }
        f.write_char('}')
    }
}

impl fmt::Display for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(text) => quote(f, text),
            Self::Plain(text) => f.write_str(text),
            Self::Map(fields) => fields.fmt(f),
            Self::List(nodes) => {
                f.write_char('[')?;
                for (index, node) in nodes.iter().enumerate() {
                    if index > 0 {
                        f.write_char(',')?;
                    }
                    node.fmt(f)?;
                }
                f.write_char(']')
            }
        }
    }
}

/// Writes a JSON string.
fn quote(f: &mut fmt::Formatter<'_>, text: &str) -> fmt::Result {
    f.write_char('"')?;
    for c in text.chars() {
        match c {
            '"' | '\\' => {
                f.write_char('\\')?;
                f.write_char(c)?;
            }
            c if c < ' ' => write!(f, "\\u{:04x}", u32::from(c))?,
            c => f.write_char(c)?,
        }
    }
    f.write_char('"')
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
    use super::*;
    use serde_json::{Value, json};

    #[test]
    fn what_is_written_reads_back() {
        let hard = "quote \" backslash \\ newline \n tab \t bell \u{7} umlaut ü line \u{2028} 🚢";
        let mut item = Fields::default();
        item.text(hard, hard);
        let mut fields = Fields::default();
        fields.plain("number", -3);
        fields.text("twice", "first");
        fields.push("list", item.clone());
        fields.push("list", Fields::default());
        fields.texts("texts", ["a", "b"]);
        fields.within("map", |map| map.plain("a", true));
        fields.within("map", |map| map.duration("b", Duration::from_millis(1500)));
        fields.text("twice", "last");
        let read: Value = serde_json::from_str(&fields.to_string()).unwrap();
        let expected = json!({
            "number": -3, "twice": "last", "list": [{hard: hard}, {}], "texts": ["a", "b"],
            "map": {"a": true, "b": "1500ms"},
        });
        assert_eq!(read, expected);
    }
}
