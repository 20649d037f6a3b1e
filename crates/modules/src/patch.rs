//! JSON patches of hooks, with addon-operator's own rules: `add` and `remove` of values that the hook may change.

use std::collections::HashSet;

use serde_json::{Map, Value};

use crate::files::{MAX_DEPTH, depth};

/// The longest text of a patch.
const MAX_BYTES: usize = 1024 * 1024;
/// The most operations in one patch.
const MAX_OPERATIONS: usize = 10_000;

/// A patch that is not one.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct InvalidPatch(String);

/// What a run does to values, in order.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Patch {
    pub(crate) operations: Vec<Operation>,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Operation {
    /// The keys below the document.
    pub path: Vec<String>,
    /// The value that is added. `None` removes what is there.
    pub value: Option<Value>,
}

impl Patch {
    /// Reads a stream of operations, and of lists of operations.
    ///
    /// # Errors
    /// Names the operation that cannot be used.
    pub fn parse(text: &str) -> Result<Self, InvalidPatch> {
        if text.len() > MAX_BYTES {
            return Err(InvalidPatch(format!("the patch is larger than {MAX_BYTES} bytes: change less in one run")));
        }
        let mut operations = Vec::new();
        for document in serde_json::Deserializer::from_str(text).into_iter::<Value>() {
            let document = document.map_err(|error| InvalidPatch(format!("the patch is not JSON: {error}")))?;
            let list = match document {
                Value::Array(list) => list,
                one => vec![one],
            };
            for written in list {
                if operations.len() == MAX_OPERATIONS {
                    let why = format!("the patch has more than {MAX_OPERATIONS} operations: add whole values");
                    return Err(InvalidPatch(why));
                }
                let number = operations.len() + 1;
                let operation = Operation::read(written);
                operations
                    .push(operation.map_err(|why| InvalidPatch(format!("operation {number} of the patch {why}")))?);
            }
        }
        Ok(Self { operations })
    }

    pub fn is_empty(&self) -> bool {
        self.operations.is_empty()
    }

    /// Applies the operations as the answer of a run: what is removed must be there.
    pub(crate) fn apply(&self, document: &mut Value) -> Result<(), String> {
        self.operations.iter().try_for_each(|operation| operation.apply(document, true))
    }

    /// Applies the operations again, to values whose lower layers may have changed.
    pub(crate) fn apply_again(&self, document: &mut Value) -> Result<(), String> {
        self.operations.iter().try_for_each(|operation| operation.apply(document, false))
    }

    /// Whether the patch touches a path, what is above it or what is below it.
    pub(crate) fn touches(&self, path: &[String]) -> bool {
        self.operations.iter().any(|operation| operation.path.iter().zip(path).all(|(one, other)| one == other))
    }
}

impl Operation {
    fn read(written: Value) -> Result<Self, String> {
        let Value::Object(mut fields) = written else {
            return Err("is not an object: write {\"op\", \"path\", \"value\"}".to_owned());
        };
        let path = fields.get("path").and_then(Value::as_str).ok_or("has no path")?;
        let path = pointer(path)?;
        let value = match fields.get("op").and_then(Value::as_str) {
            Some("add") => Some(fields.remove("value").ok_or("adds no value")?),
            Some("remove") => None,
            Some(op) => {
                let op: String = op.chars().take(40).collect();
                return Err(format!("is {op:?}: only add and remove are allowed, and add replaces what is there"));
            }
            None => return Err("has no op".to_owned()),
        };
        if path.len() + value.as_ref().map_or(0, depth) > MAX_DEPTH + 1 {
            return Err(format!("makes values that are nested deeper than {MAX_DEPTH} levels"));
        }
        Ok(Self { path, value })
    }

    /// The path as text.
    pub(crate) fn shown(&self) -> String {
        self.path.iter().map(|key| format!("/{}", key.replace('~', "~0").replace('/', "~1"))).collect()
    }

    fn apply(&self, document: &mut Value, strict: bool) -> Result<(), String> {
        let wrong =
            |why: &str| format!("{} {}: {why}", if self.value.is_some() { "add" } else { "remove" }, self.shown());
        let Some((last, above)) = self.path.split_last() else { return Err(wrong("name a key")) };
        let mut at = document;
        for key in above {
            let next = match at {
                Value::Object(fields) => fields.get_mut(key),
                Value::Array(items) => index(key, items.len()).and_then(|index| items.get_mut(index)),
                _ => None,
            };
            at = match next {
                Some(next) => next,
                None if self.value.is_none() && !strict => return Ok(()),
                None => return Err(wrong(&format!("there is no {key:?} to go on from; add it first"))),
            };
        }
        let done = match (at, &self.value) {
            (Value::Object(fields), Some(value)) => {
                fields.insert(last.clone(), value.clone());
                true
            }
            (Value::Object(fields), None) => fields.shift_remove(last).is_some(),
            (Value::Array(items), Some(value)) => {
                let place = if last == "-" { Some(items.len()) } else { index(last, items.len() + 1) };
                place.map(|place| items.insert(place, value.clone())).is_some()
            }
            (Value::Array(items), None) => index(last, items.len()).map(|place| items.remove(place)).is_some(),
            _ => false,
        };
        match done || (self.value.is_none() && !strict) {
            true => Ok(()),
            false if self.value.is_none() => Err(wrong("it is not there")),
            false => Err(wrong("nothing can be added there")),
        }
    }
}

/// The place in a list, if it has it.
fn index(key: &str, length: usize) -> Option<usize> {
    let plain = key == "0" || !key.starts_with(['0', '+', '-']);
    key.parse().ok().filter(|index| plain && *index < length)
}

/// The keys of a JSON pointer.
fn pointer(text: &str) -> Result<Vec<String>, String> {
    let keys = text.strip_prefix('/').ok_or_else(|| {
        let text: String = text.chars().take(80).collect();
        format!("has the path {text:?}: begin it with /")
    })?;
    Ok(keys.split('/').map(|key| key.replace("~1", "/").replace("~0", "~")).collect())
}

/// Whether a key may be a place in a list. What is added there replaces nothing.
fn may_be_place(key: &str) -> bool {
    key == "-" || key.bytes().all(|byte| byte.is_ascii_digit())
}

/// Drops operations that later ones make meaningless, whatever comes between. The result of all of them stays the same.
pub(crate) fn compact<'p>(earlier: impl IntoIterator<Item = &'p mut Patch>, later: &mut Patch) {
    // Paths that are set as a whole. With a set, many operations cost little.
    let mut whole: HashSet<Vec<String>> = HashSet::new();
    let mut kept: Vec<Operation> = Vec::with_capacity(later.operations.len());
    for operation in std::mem::take(&mut later.operations).into_iter().rev() {
        if !covered(&operation, &whole) {
            if !operation.path.iter().any(|key| may_be_place(key)) {
                whole.insert(operation.path.clone());
            }
            kept.push(operation);
        }
    }
    kept.reverse();
    later.operations = kept;
    for patch in earlier {
        patch.operations.retain(|operation| !covered(operation, &whole));
    }
}

/// Whether a later operation sets the path, or something above it, as a whole.
fn covered(operation: &Operation, whole: &HashSet<Vec<String>>) -> bool {
    (1..=operation.path.len()).any(|length| operation.path.get(..length).is_some_and(|path| whole.contains(path)))
}

/// About how many bytes a value takes as text.
pub(crate) fn size(value: &Value) -> usize {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => 8,
        Value::String(text) => text.len() + 2,
        Value::Array(items) => items.iter().map(|item| size(item) + 1).sum::<usize>() + 2,
        Value::Object(fields) => fields.iter().map(|(key, value)| key.len() + 4 + size(value)).sum::<usize>() + 2,
    }
}

/// A document with one section.
pub(crate) fn document(key: &str, section: Value) -> Value {
    Value::Object(Map::from_iter([(key.to_owned(), section)]))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn patched(text: &str, mut document: Value) -> Result<Value, String> {
        Patch::parse(text).unwrap().apply(&mut document).map(|()| document)
    }

    #[test]
    fn a_patch_is_a_stream_of_operations_and_lists() {
        let text = r#"
            {"op": "add", "path": "/m/a", "value": 1}
            [{"op": "add", "path": "/m/list/-", "value": 3}, {"op": "remove", "path": "/m/b"}]
            {"op": "add", "path": "/m/list/0", "value": 1}{"op": "add", "path": "/m/x~1y~0z", "value": null}
        "#;
        let after = patched(text, json!({"m": {"b": 1, "list": [2]}})).unwrap();
        assert_eq!(after, json!({"m": {"a": 1, "list": [1, 2, 3], "x/y~z": null}}));
        assert!(Patch::parse(" \n").unwrap().is_empty());
    }

    #[test]
    fn appends_stay_what_they_are() {
        let text = r#"{"op":"add","path":"/m/list/-","value":1}{"op":"add","path":"/m/list/-","value":2}"#;
        assert_eq!(patched(text, json!({"m": {"list": []}})).unwrap(), json!({"m": {"list": [1, 2]}}));
    }

    #[test]
    fn what_is_not_a_patch_says_why() {
        let deep = format!(r#"{{"op":"add","path":"/m","value":{}1{}}}"#, "[".repeat(33), "]".repeat(33));
        let many = r#"{"op":"remove","path":"/m/a"}"#.repeat(10_001);
        let long = format!(r#"{{"op":"add","path":"/m/a","value":"{}"}}"#, "x".repeat(MAX_BYTES));
        for (text, why) in [
            ("{", "is not JSON"),
            ("7", "operation 1 of the patch is not an object"),
            (
                r#"[{"op":"add","path":"/m/a","value":1},{"op":"add","path":"/m/b"}]"#,
                "operation 2 of the patch adds no",
            ),
            (r#"{"op":"replace","path":"/m/a","value":1}"#, "only add and remove are allowed"),
            (r#"{"op":"move","from":"/m/a","path":"/m/b"}"#, "only add and remove are allowed"),
            (r#"{"path":"/m/a"}"#, "has no op"),
            (r#"{"op":"remove"}"#, "has no path"),
            (r#"{"op":"remove","path":"m"}"#, "begin it with /"),
            (&deep, "deeper than 32 levels"),
            (&many, "more than 10000 operations"),
            (&long, "larger than 1048576 bytes"),
        ] {
            let error = Patch::parse(text).unwrap_err().to_string();
            assert!(error.contains(why), "{why}: {error}");
        }
    }

    #[test]
    fn a_run_may_not_remove_what_is_not_there_and_a_layer_may() {
        for path in ["/m/b", "/m/a/b", "/m/list/1", "/m/list/-", "/m/list/01"] {
            let patch = Patch::parse(&json!({"op": "remove", "path": path}).to_string()).unwrap();
            let mut document = json!({"m": {"a": 1, "list": [1]}});
            let before = document.clone();
            let error = patch.apply(&mut document).unwrap_err();
            assert!(error.starts_with(&format!("remove {path}: ")), "{error}");
            patch.apply_again(&mut document).unwrap();
            assert_eq!(document, before);
        }
        for path in ["/m/b/c", "/m/a/b", "/m/list/2"] {
            let patch = Patch::parse(&json!({"op": "add", "path": path, "value": 1}).to_string()).unwrap();
            let mut document = json!({"m": {"a": 1, "list": [1]}});
            assert!(patch.apply(&mut document).is_err(), "{path}");
            assert!(patch.apply_again(&mut document).is_err(), "{path}");
        }
    }

    fn operation() -> impl Strategy<Value = Operation> {
        let key = prop::sample::select(vec!["a", "b", "0", "1", "-"]).prop_map(str::to_owned);
        let value = prop::sample::select(vec![json!(1), json!([]), json!({}), json!([1, {"a": 2}]), json!({"0": [3]})]);
        (prop::collection::vec(key, 1..4), prop::option::weighted(0.7, value)).prop_map(|(mut path, value)| {
            path.insert(0, "m".to_owned());
            Operation { path, value }
        })
    }

    proptest! {
        /// Whatever is dropped was meaningless: the values are the same, whatever the lower layers have.
        #[test]
        fn compaction_changes_no_value(
            earlier in prop::collection::vec(operation(), 0..8),
            later in prop::collection::vec(operation(), 0..4),
            base in prop::sample::select(vec![json!({}), json!({"a": {"a": [1, 2]}, "b": []}), json!({"a": [{}, {}], "0": {}})]),
        ) {
            let mut whole = json!({"m": base});
            // What a hook returned was applied once.
            let mut worked = |operations: Vec<Operation>| Patch {
                operations: operations.into_iter().filter(|one| one.apply(&mut whole, false).is_ok()).collect(),
            };
            let (mut earlier, mut later) = (worked(earlier), worked(later));
            compact([&mut earlier], &mut later);
            let mut again = json!({"m": base});
            prop_assert_eq!(earlier.apply_again(&mut again).and_then(|()| later.apply_again(&mut again)), Ok(()));
            // The order of keys is not part of a value.
            prop_assert_eq!(again, whole);
        }
    }
}
