//! Edits of a scenario file's text, so that it expects the objects that were found. All other text, including comments,
//! is unchanged.

use std::ops::Range;

use serde_json::Value;

use super::{
    matcher::{Difference, Seg},
    tree::Node,
};

/// A replacement for a part of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edit {
    /// In characters.
    span: Range<usize>,
    text: String,
}

/// The edits for an object. None if there is no text to edit, for example because an alias stands for it.
pub(super) fn edits(object: &Node, differences: &[Difference]) -> Option<Vec<Edit>> {
    differences.iter().map(|difference| edit(object, difference)).collect()
}

fn edit(object: &Node, difference: &Difference) -> Option<Edit> {
    let (mut node, mut within) = (object, object.span.clone());
    for seg in &difference.path {
        node = match seg {
            Seg::Key(key) => node.get(key)?,
            Seg::Index(index) => node.item(*index)?,
        };
        // The value of an alias is at another position.
        if node.span.start < within.start || node.span.end > within.end {
            return None;
        }
        within = node.span.clone();
    }
    // For a key without a value, the parser does not report the position of a value.
    if node.block_text || node.span.is_empty() {
        return None;
    }
    Some(Edit { span: node.span.clone(), text: flow(&difference.found) })
}

/// JSON is YAML, also inside a block.
fn flow(value: &Value) -> String {
    value.to_string()
}

/// Applies the edits to the text. Drops edits that overlap another one.
pub fn apply(text: &str, edits: &[Edit]) -> String {
    let mut edits: Vec<&Edit> = edits.iter().collect();
    edits.sort_by_key(|edit| (edit.span.start, edit.span.end));
    edits.dedup();
    let chars: Vec<char> = text.chars().collect();
    let (mut out, mut at) = (String::with_capacity(text.len()), 0);
    for edit in edits.into_iter().filter(|edit| edit.span.end <= chars.len()) {
        if edit.span.start >= at {
            out.extend(chars.get(at..edit.span.start).unwrap_or_default());
            out.push_str(&edit.text);
            // A block text includes the end of its line.
            let replaced = chars.get(edit.span.clone()).unwrap_or_default();
            at = edit.span.end - replaced.iter().rev().take_while(|c| c.is_whitespace()).count();
        }
    }
    out.extend(chars.get(at..).unwrap_or_default());
    out
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use serde_json::json;

    use super::*;
    use crate::scenario::{matcher::differences, tree};

    /// The text after the found value was accepted.
    fn accepted(text: &str, found: &Value) -> Option<String> {
        let node = tree::read(text).unwrap();
        let edits = edits(&node, &differences(&node.value(), found))?;
        Some(apply(text, &edits))
    }

    #[test]
    fn only_what_differs_changes() {
        let found = json!({"a": 2, "b": {"c": [1]}, "d": "x\ny", "e": 1, "f": null});
        for (text, wanted) in [
            ("a: 1 # é\nb: {c: [1]}\n", "a: 2 # é\nb: {c: [1]}\n"),
            ("b:\n  c:\n    - 1\n    - 2\n  # end\na: 2\n", "b:\n  c:\n    [1]\n  # end\na: 2\n"),
            ("{b: {c: {x: 1}}, a: 'é'}", "{b: {c: [1]}, a: 2}"),
            ("f: {g: 1}\n", "f: null\n"),
        ] {
            let changed = accepted(text, &found).unwrap();
            assert_eq!(changed, wanted);
            assert!(differences(&tree::read(&changed).unwrap().value(), &found).is_empty(), "{changed}");
        }
    }

    #[test]
    fn what_can_not_be_replaced_in_its_place_is_not_changed() {
        assert_eq!(accepted("e:\n", &json!({"e": 1})), None);
        assert_eq!(accepted("d: |\n  old\n", &json!({"d": "new"})), None);
        assert_eq!(accepted("{x: &x {a: 1}, y: *x}", &json!({"x": {"a": 1}, "y": {"a": 2}})), None);
    }
}
