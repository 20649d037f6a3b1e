//! Compares an object with the expectation of a scenario, and finds the differences.

use std::{
    fmt::{self, Write as _},
    ops::Range,
};

use serde_json::{Map, Value};

use super::tree::Node;

/// A step into a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Seg {
    Key(String),
    Index(usize),
}

/// One place where an object differs from the expected one.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Difference {
    pub path: Vec<Seg>,
    pub expected: Value,
    /// Null if there is nothing.
    pub found: Value,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: expected {}, found {}", self.place(), shown(&self.expected), shown(&self.found))
    }
}

impl Difference {
    /// `.spec.taints[0].effect`
    pub fn place(&self) -> String {
        let mut text = String::new();
        for seg in &self.path {
            // Writing to a String cannot fail.
            let _ = match seg {
                Seg::Key(key) if key.contains(['.', '[']) => write!(text, "[{key:?}]"),
                Seg::Key(key) => write!(text, ".{key}"),
                Seg::Index(index) => write!(text, "[{index}]"),
            };
        }
        text
    }
}

/// Each place where `found` differs from `expected`. Empty if it matches.
pub(super) fn differences(expected: &Value, found: &Value) -> Vec<Difference> {
    let mut all = Vec::new();
    compare(expected, Some(found), &mut Vec::new(), &mut all);
    all
}

/// A null field is equivalent to a missing one, on both sides.
fn compare(expected: &Value, found: Option<&Value>, path: &mut Vec<Seg>, all: &mut Vec<Difference>) {
    let found = found.filter(|value| !value.is_null());
    match (expected, found) {
        (Value::Object(fields), Some(Value::Object(have))) => {
            for (key, field) in fields {
                within(Seg::Key(key.clone()), path, |path| compare(field, have.get(key), path, all));
            }
        }
        (Value::Array(items), Some(Value::Array(have))) if items.len() == have.len() => {
            for (n, (item, have)) in items.iter().zip(have).enumerate() {
                within(Seg::Index(n), path, |path| compare(item, Some(have), path, all));
            }
        }
        (Value::Null, None) => {}
        (Value::Object(fields), None) if asks_for_nothing(fields) => {}
        (expected, Some(found)) if expected == found => {}
        (expected, found) => {
            let found = found.cloned().unwrap_or_default();
            all.push(Difference { path: path.clone(), expected: expected.clone(), found });
        }
    }
}

fn within(seg: Seg, path: &mut Vec<Seg>, work: impl FnOnce(&mut Vec<Seg>)) {
    path.push(seg);
    work(path);
    path.pop();
}

/// Whether it contains only fields that must be absent. An object without fields must itself exist.
fn asks_for_nothing(fields: &Map<String, Value>) -> bool {
    let nothing = |value: &Value| match value {
        Value::Null => true,
        Value::Object(fields) => asks_for_nothing(fields),
        _ => false,
    };
    !fields.is_empty() && fields.values().all(nothing)
}

/// A value for error texts.
pub(super) fn shown(value: &Value) -> String {
    match value {
        Value::Null => "nothing".to_owned(),
        value => value.to_string(),
    }
}

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
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
    use serde_json::json;

    use super::*;
    use crate::scenario::{matcher::differences, tree};

    fn mismatches(expected: &Value, found: &Value) -> Vec<String> {
        differences(expected, found).iter().map(ToString::to_string).collect()
    }

    #[track_caller]
    fn matches(expected: Value, found: Value) {
        assert_eq!(mismatches(&expected, &found), Vec::<String>::new());
    }

    #[track_caller]
    fn differs(expected: Value, found: Value, all: &[&str]) {
        assert_eq!(mismatches(&expected, &found), all);
    }

    #[test]
    fn an_object_has_at_least_the_keys_given() {
        matches(json!({"a": 1, "b": {"c": "x"}}), json!({"a": 1, "b": {"c": "x", "d": 2}, "e": 3}));
        matches(json!({}), json!({"a": 1}));
        differs(
            json!({"a": 1, "b": {"c": "x"}}),
            json!({"b": {"c": "y"}}),
            &[".a: expected 1, found nothing", ".b.c: expected \"x\", found \"y\""],
        );
        differs(json!({"a": {}}), json!({}), &[".a: expected {}, found nothing"]);
        differs(json!({"a": {"b": 1}}), json!({"a": [1]}), &[".a: expected {\"b\":1}, found [1]"]);
    }

    #[test]
    fn a_list_has_as_many_elements_in_order_each_matching() {
        matches(json!({"a": [{"k": 1}, 2]}), json!({"a": [{"k": 1, "more": true}, 2]}));
        differs(json!([1, 2]), json!([2, 1]), &["[0]: expected 1, found 2", "[1]: expected 2, found 1"]);
        differs(json!({"a": [1]}), json!({"a": [1, 2]}), &[".a: expected [1], found [1,2]"]);
        differs(json!({"a": [1, 2]}), json!({"a": [1]}), &[".a: expected [1,2], found [1]"]);
        differs(json!({"a": []}), json!({}), &[".a: expected [], found nothing"]);
        differs(json!([{"k": 1}]), json!([{"k": 2}]), &["[0].k: expected 1, found 2"]);
    }

    #[test]
    fn everything_else_is_equal() {
        matches(json!({"a": "x", "b": true, "c": 1.5}), json!({"a": "x", "b": true, "c": 1.5}));
        differs(json!({"a": "1"}), json!({"a": 1}), &[".a: expected \"1\", found 1"]);
        differs(json!({"a": false}), json!({}), &[".a: expected false, found nothing"]);
    }

    #[test]
    fn a_field_that_is_null_is_not_there() {
        matches(json!({"a": null}), json!({"b": 1}));
        matches(json!({"a": null}), json!({"a": null}));
        differs(json!({"a": null}), json!({"a": {}}), &[".a: expected nothing, found {}"]);
        differs(json!({"a": [{"b": null}]}), json!({"a": [{"b": 0}]}), &[".a[0].b: expected nothing, found 0"]);
    }

    #[test]
    fn an_object_with_only_such_fields_need_not_be_there() {
        let expected = json!({"a": {"b": null, "c": {"d": null}}});
        matches(expected.clone(), json!({}));
        matches(expected.clone(), json!({"a": {"x": 1}}));
        differs(expected, json!({"a": {"c": {"d": 1}}}), &[".a.c.d: expected nothing, found 1"]);
        differs(json!({"a": {"b": null, "c": 1}}), json!({}), &[".a: expected {\"b\":null,\"c\":1}, found nothing"]);
    }

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
