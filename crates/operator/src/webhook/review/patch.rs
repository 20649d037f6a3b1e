//! A mutating hook's change of an object, as the JSON Patch that the API server expects. A hook's own patch is checked
//! and passed on unchanged.

use std::borrow::Cow;

use boathook_core::model::Mutation;
use json_patch::{PatchOperation, jsonptr::Pointer};
use serde::Serialize;
use serde_json::{Map, Value};

use super::{AdmissionRequest, object_of};

/// Why a hook's answer cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum PatchError {
    #[error("the hook returned an object, but a {operation} has none: return `unchanged`")]
    NoObject {
        /// For example `DELETE`.
        operation: String,
    },
    #[error("the object under review cannot be read")]
    Reviewed(#[source] serde_json::Error),
    #[error("the object that the hook returned is not JSON")]
    Object(#[source] serde_json::Error),
    #[error("the hook returned {answered} for {reviewed}: return an object of the same apiVersion and kind")]
    OtherKind {
        /// For example `v1, Kind=Pod`.
        answered: String,
        /// For example `v1, Kind=ConfigMap`.
        reviewed: String,
    },
    #[error("the hook did not return a JSON Patch")]
    Patch(#[source] serde_json::Error),
    #[error("operation {number} of the hook's JSON Patch ({operation}) does not apply: {why}")]
    Operation {
        /// The index of the operation, counted from 0.
        number: usize,
        /// For example `replace /spec/replicas`.
        operation: String,
        /// Why it does not apply.
        why: String,
    },
    #[error("the hook's JSON Patch is too large to check: {0}")]
    TooMuch(String),
    #[error("the answer cannot be written as JSON")]
    Answer(#[source] serde_json::Error),
}

/// Returns the patch, or `None` if nothing changes.
pub(super) fn patch_of<'a>(
    mutation: &'a Mutation,
    request: &AdmissionRequest,
) -> Result<Option<Cow<'a, [u8]>>, PatchError> {
    match mutation {
        Mutation::Unchanged => Ok(None),
        Mutation::JsonPatch(patch) => {
            let operations: Vec<json_patch::PatchOperation> = serde_json::from_str(patch).map_err(PatchError::Patch)?;
            if operations.is_empty() {
                return Ok(None);
            }
            let changed = apply(reviewed(request)?, &operations)?;
            drop(changed);
            Ok(Some(Cow::Borrowed(patch.as_bytes())))
        }
        Mutation::Object(object) => {
            let before = reviewed(request)?;
            let after: Value = serde_json::from_str(object).map_err(PatchError::Object)?;
            same_kind(&before, &after)?;
            let operations = diff(&before, &after);
            if operations.is_empty() {
                return Ok(None);
            }
            serde_json::to_vec(&operations).map(|patch| Some(Cow::Owned(patch))).map_err(PatchError::Answer)
        }
    }
}

fn reviewed(request: &AdmissionRequest) -> Result<Value, PatchError> {
    let object = object_of(&request.json).map_err(PatchError::Reviewed)?;
    let object = object.ok_or_else(|| PatchError::NoObject { operation: request.operation.clone() })?;
    serde_json::from_str(object.get()).map_err(PatchError::Reviewed)
}

fn same_kind(before: &Value, after: &Value) -> Result<(), PatchError> {
    let kind = |value: &Value| {
        let text = |key| value.get(key).and_then(Value::as_str).unwrap_or_default();
        match value {
            Value::Object(_) => crate::webhook::envelope::found(text("apiVersion"), text("kind")),
            _ => "a value that is not an object".to_owned(),
        }
    };
    let (reviewed, answered) = (kind(before), kind(after));
    if after.is_object() && answered == reviewed {
        return Ok(());
    }
    Err(PatchError::OtherKind { answered, reviewed })
}

/// The maximum number of operations. It is the API server's own limit for patches of its users.
const OPERATIONS: usize = 10_000;
/// The maximum cost of all operations together, in values that are copied, moved or shifted.
const WORK: usize = 4_000_000;
/// The maximum depth of an object. serde_json reads no deeper one.
const DEPTH: usize = 128;

/// Returns the object that the patch makes, within limits. A few operations can double an object again and again, nest it
/// until the stack is used up, or move a long list again and again. The cost of each operation is therefore counted
/// before it is done.
fn apply(object: Value, operations: &[PatchOperation]) -> Result<Value, PatchError> {
    if operations.len() > OPERATIONS {
        let found = operations.len();
        return Err(PatchError::TooMuch(format!("it has {found} operations; {OPERATIONS} are allowed")));
    }
    let mut made = object.clone();
    let mut work = 0;
    for (number, operation) in operations.iter().enumerate() {
        work += cost(&made, operation)?;
        if work > WORK {
            return Err(PatchError::TooMuch("its operations copy and move too much".to_owned()));
        }
        json_patch::patch_unsafe(&mut made, std::slice::from_ref(operation)).map_err(|error| {
            PatchError::Operation { number, operation: shown(operation), why: error.kind.to_string() }
        })?;
    }
    same_kind(&object, &made)?;
    Ok(made)
}

/// The cost of an operation. Fails if its value would be nested too deeply.
fn cost(object: &Value, operation: &PatchOperation) -> Result<usize, PatchError> {
    let (value, from) = match operation {
        PatchOperation::Add(add) => (Some(&add.value), None),
        PatchOperation::Replace(replace) => (Some(&replace.value), None),
        PatchOperation::Move(op) => (object.pointer(op.from.as_str()), Some(&*op.from)),
        PatchOperation::Copy(op) => (object.pointer(op.from.as_str()), Some(&*op.from)),
        PatchOperation::Remove(_) | PatchOperation::Test(_) => (None, None),
    };
    let path = operation.path();
    let size = value.map_or(Size { values: 0, depth: 0 }, size);
    if path.count() + size.depth > DEPTH {
        return Err(PatchError::TooMuch(format!("the object would be more than {DEPTH} levels deep")));
    }
    Ok(1 + size.values + shifted(object, path) + from.map_or(0, |from| shifted(object, from)))
}

/// The cost of the items of a list that may shift when one is added or removed. Sixteen items count as one value.
fn shifted(object: &Value, path: &Pointer) -> usize {
    let list = path.parent().and_then(|parent| object.pointer(parent.as_str())).and_then(Value::as_array);
    list.map_or(0, |list| list.len() / 16)
}

struct Size {
    values: usize,
    depth: usize,
}

/// The number of values in a value, and its depth. It is recursive, because nothing is ever deeper than [`DEPTH`], or
/// than serde_json reads.
fn size(value: &Value) -> Size {
    let under = |sizes: &mut dyn Iterator<Item = Size>| {
        sizes.fold(Size { values: 1, depth: 1 }, |sum, size| Size {
            values: sum.values + size.values,
            depth: sum.depth.max(size.depth + 1),
        })
    };
    match value {
        Value::Array(items) => under(&mut items.iter().map(size)),
        Value::Object(members) => under(&mut members.values().map(size)),
        // A long text costs as much as many values.
        Value::String(text) => Size { values: 1 + text.len() / 32, depth: 1 },
        _ => Size { values: 1, depth: 1 },
    }
}

/// For example `replace /spec/replicas`, short enough for an error's text.
fn shown(operation: &PatchOperation) -> String {
    const LONGEST: usize = 200;
    let name = match operation {
        PatchOperation::Add(_) => "add",
        PatchOperation::Remove(_) => "remove",
        PatchOperation::Replace(_) => "replace",
        PatchOperation::Move(_) => "move",
        PatchOperation::Copy(_) => "copy",
        PatchOperation::Test(_) => "test",
    };
    format!("{name} {}", operation.path()).chars().take(LONGEST).collect()
}

/// One operation.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "op", rename_all = "lowercase")]
enum Change<'a> {
    Add { path: String, value: &'a Value },
    Replace { path: String, value: &'a Value },
    Remove { path: String },
}

/// The operations that change `before` into `after`, in the order of `before`. Lists are compared from both ends, so that
/// an item that was added or removed is one operation. The items in between are compared by position.
fn diff<'a>(before: &Value, after: &'a Value) -> Vec<Change<'a>> {
    let mut differ = Differ { path: String::new(), changes: Vec::new() };
    differ.values(before, after);
    differ.changes
}

struct Differ<'a> {
    path: String,
    changes: Vec<Change<'a>>,
}

impl<'a> Differ<'a> {
    fn values(&mut self, before: &Value, after: &'a Value) {
        match (before, after) {
            (Value::Object(before), Value::Object(after)) => self.objects(before, after),
            (Value::Array(before), Value::Array(after)) => self.lists(before, after),
            _ if before == after => {}
            _ => self.changes.push(Change::Replace { path: self.path.clone(), value: after }),
        }
    }

    fn objects(&mut self, before: &Map<String, Value>, after: &'a Map<String, Value>) {
        for (key, was) in before {
            self.at(&escaped(key), |differ| match after.get(key) {
                Some(is) => differ.values(was, is),
                None => differ.changes.push(Change::Remove { path: differ.path.clone() }),
            });
        }
        for (key, value) in after.iter().filter(|(key, _)| !before.contains_key(*key)) {
            self.at(&escaped(key), |differ| differ.changes.push(Change::Add { path: differ.path.clone(), value }));
        }
    }

    fn lists(&mut self, before: &[Value], after: &'a [Value]) {
        let head = before.iter().zip(after).take_while(|(was, is)| was == is).count();
        let (before, after) = (before.get(head..).unwrap_or_default(), after.get(head..).unwrap_or_default());
        let tail = before.iter().rev().zip(after.iter().rev()).take_while(|(was, is)| was == is).count();
        let (before, _) = before.split_at(before.len() - tail);
        let (after, _) = after.split_at(after.len() - tail);
        for (at, (was, is)) in before.iter().zip(after).enumerate() {
            self.at(&(head + at).to_string(), |differ| differ.values(was, is));
        }
        for at in (after.len()..before.len()).rev() {
            self.at(&(head + at).to_string(), |differ| {
                differ.changes.push(Change::Remove { path: differ.path.clone() });
            });
        }
        for (at, value) in after.iter().enumerate().skip(before.len()) {
            self.at(&(head + at).to_string(), |differ| {
                differ.changes.push(Change::Add { path: differ.path.clone(), value });
            });
        }
    }

    fn at(&mut self, token: &str, work: impl FnOnce(&mut Self)) {
        let length = self.path.len();
        self.path.push('/');
        self.path.push_str(token);
        work(self);
        self.path.truncate(length);
    }
}

/// A key as a token of a JSON Pointer.
fn escaped(key: &str) -> String {
    key.replace('~', "~0").replace('/', "~1")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn request(object: &str) -> AdmissionRequest {
        let json = format!(r#"{{"uid":"u","operation":"CREATE","object":{object}}}"#);
        AdmissionRequest {
            uid: "u".into(),
            dry_run: false,
            operation: "CREATE".into(),
            has_object: object != "null",
            by_hand: false,
            json: json.into(),
        }
    }

    fn patch(mutation: &Mutation, object: &str) -> Result<Option<Value>, String> {
        let patch = patch_of(mutation, &request(object)).map_err(|error| boathook_core::model::error_chain(&error))?;
        Ok(patch.map(|patch| serde_json::from_slice(&patch).unwrap()))
    }

    const POD: &str = r#"{"kind":"Pod","apiVersion":"v1","metadata":{"name":"a"},"big":18446744073709551616,"f":1.10}"#;

    #[test]
    fn a_whole_object_becomes_what_differs() {
        let after = POD.replace(r#"{"name":"a"}"#, r#"{"name":"a","labels":{"x/y":"1"}}"#);
        let made = patch(&Mutation::Object(after), POD).unwrap().unwrap();
        assert_eq!(made, json!([{"op": "add", "path": "/metadata/labels", "value": {"x/y": "1"}}]));
        assert_eq!(patch(&Mutation::Object(POD.into()), POD), Ok(None));
        assert_eq!(patch(&Mutation::Unchanged, "null"), Ok(None));
        assert_eq!(patch(&Mutation::JsonPatch(" [] ".into()), "null"), Ok(None));
    }

    #[test]
    fn a_hooks_patch_is_passed_on_only_when_it_applies() {
        let good = r#"[{"op":"test","path":"/kind","value":"Pod"},{"op":"remove","path":"/f"}]"#;
        assert_eq!(patch(&Mutation::JsonPatch(good.into()), POD).unwrap().unwrap().to_string(), good);
        let table = [
            (r#"[{"op":"remove","path":"/spec"}]"#, "operation 0 of the hook's JSON Patch (remove /spec)"),
            (r#"[{"op":"remove","path":"/f"},{"op":"test","path":"/kind","value":"X"}]"#, "operation 1"),
            (r#"{"metadata":{}}"#, "did not return a JSON Patch"),
            (r#"[{"op":"join","path":"/a"}]"#, "unknown variant"),
            (r#"[{"op":"add","path":"a","value":1}]"#, "did not return a JSON Patch"),
            ("no json", "did not return a JSON Patch"),
            (r#"[{"op":"replace","path":"","value":[]}]"#, "returned a value that is not an object for v1, Kind=Pod"),
        ];
        for (text, expected) in table {
            let error = patch(&Mutation::JsonPatch(text.into()), POD).unwrap_err();
            assert!(error.contains(expected), "{text}: {error}");
        }
    }

    #[test]
    fn an_object_that_is_another_is_refused() {
        let table = [
            (r#"{"kind":"Secret","apiVersion":"v1"}"#, POD, "v1, Kind=Secret for v1, Kind=Pod"),
            ("[]", POD, "returned a value that is not an object for v1, Kind=Pod"),
            ("{", POD, "is not JSON"),
            (POD, "null", "a CREATE has none"),
        ];
        for (after, before, expected) in table {
            let error = patch(&Mutation::Object(after.into()), before).unwrap_err();
            assert!(error.contains(expected), "{after}: {error}");
        }
        let deep = format!("{}{}", "[".repeat(5000), "]".repeat(5000));
        let deep = POD.replace("1.10", &deep);
        assert!(patch(&Mutation::Object(POD.into()), &deep).unwrap_err().contains("recursion limit"));
        assert!(patch(&Mutation::Object(deep), POD).unwrap_err().contains("recursion limit"));
    }

    fn tried(object: &Value, operations: Vec<Value>) -> Result<Value, String> {
        let operations: Vec<_> = operations.into_iter().map(|op| serde_json::from_value(op).unwrap()).collect();
        apply(object.clone(), &operations).map_err(|error| error.to_string())
    }

    #[test]
    fn ordinary_patches_apply() {
        let object = json!({"kind": "X", "list": [1, 2], "from": {"a": 1}});
        let operations = vec![
            json!({"op": "add", "path": "/list/-", "value": 3}),
            json!({"op": "move", "from": "/from", "path": "/to"}),
            json!({"op": "copy", "from": "/to/a", "path": "/to/b"}),
            json!({"op": "test", "path": "/list", "value": [1, 2, 3]}),
        ];
        assert_eq!(tried(&object, operations), Ok(json!({"kind": "X", "list": [1, 2, 3], "to": {"a": 1, "b": 1}})));
    }

    #[test]
    fn copies_can_not_grow_without_end() {
        let object = json!({"kind": "X", "a": ["x".repeat(1000)]});
        let doubling: Vec<_> = (0..60).map(|_| json!({"op": "copy", "from": "/a", "path": "/a/0"})).collect();
        assert!(tried(&object, doubling).unwrap_err().contains("too much"), "");
        let doubling: Vec<_> = (0..60).map(|at| json!({"op": "copy", "from": "", "path": format!("/c{at}")})).collect();
        assert!(tried(&object, doubling).unwrap_err().contains("too large to check"));
    }

    #[test]
    fn moves_can_not_nest_without_end() {
        let nest = (0..5000).flat_map(|at| {
            let (from, to) = if at % 2 == 0 { ("a", "b") } else { ("b", "a") };
            [
                json!({"op": "add", "path": format!("/{to}"), "value": {}}),
                json!({"op": "move", "from": format!("/{from}"), "path": format!("/{to}/x")}),
            ]
        });
        let error = tried(&json!({"kind": "X", "a": {}}), nest.collect()).unwrap_err();
        assert!(error.contains("128 levels"), "{error}");
    }

    #[test]
    fn long_lists_can_not_be_shifted_without_end() {
        let object = json!({"kind": "X", "list": vec![0; 200_000]});
        let shift: Vec<_> = (0..10_000).map(|_| json!({"op": "add", "path": "/list/0", "value": 1})).collect();
        assert!(tried(&object, shift).unwrap_err().contains("too much"));
        let many: Vec<_> = (0..10_001).map(|_| json!({"op": "test", "path": "/kind", "value": "X"})).collect();
        assert!(tried(&object, many).unwrap_err().contains("10001 operations"));
    }

    fn difference(before: &Value, after: &Value) -> Value {
        serde_json::to_value(diff(before, after)).unwrap()
    }

    #[test]
    fn names_only_what_differs() {
        let before = json!({"a": {"x": 1, "y": [1, 2, 3]}, "gone": 1, "same": {"deep": [{}]}, "s/l~": 1});
        let after = json!({"same": {"deep": [{}]}, "a": {"y": [1, 2, 3], "x": 2}, "s/l~": null, "new": {}});
        let expected = json!([
            {"op": "replace", "path": "/a/x", "value": 2},
            {"op": "remove", "path": "/gone"},
            {"op": "replace", "path": "/s~1l~0", "value": null},
            {"op": "add", "path": "/new", "value": {}},
        ]);
        assert_eq!(difference(&before, &after), expected);
    }

    #[test]
    fn items_put_into_lists_leave_the_others_alone() {
        let (a, b, c) = (json!({"name": "a"}), json!({"name": "b"}), json!({"name": "c"}));
        let table = [
            (json!([b, c]), json!([a, b, c]), json!([{"op": "add", "path": "/0", "value": a}])),
            (json!([a, c]), json!([a, b, c]), json!([{"op": "add", "path": "/1", "value": b}])),
            (json!([a, b, c]), json!([c]), json!([{"op": "remove", "path": "/1"}, {"op": "remove", "path": "/0"}])),
            (json!([a, b]), json!([a, c]), json!([{"op": "replace", "path": "/1/name", "value": "c"}])),
            (json!([a, a]), json!([a]), json!([{"op": "remove", "path": "/1"}])),
            (
                json!([]),
                json!([a, b]),
                json!([{"op": "add", "path": "/0", "value": a}, {"op": "add", "path": "/1", "value": b}]),
            ),
        ];
        for (before, after, expected) in table {
            assert_eq!(difference(&before, &after), expected, "{before} to {after}");
        }
    }

    fn value() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![Just(json!(null)), Just(json!(1)), Just(json!(1.0)), Just(json!("a")), Just(json!({}))];
        leaf.prop_recursive(4, 40, 5, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
                prop::collection::vec(("[ab/~]{0,2}", inner), 0..5)
                    .prop_map(|members| members.into_iter().collect::<Map<_, _>>().into()),
            ]
        })
    }

    proptest! {
        #[test]
        fn makes_the_one_into_the_other(before in value(), after in value()) {
            let patch: json_patch::Patch = serde_json::from_value(difference(&before, &after)).unwrap();
            let mut made = before.clone();
            json_patch::patch(&mut made, &patch).unwrap();
            prop_assert_eq!(&made, &after);
            prop_assert_eq!(patch.is_empty(), before == after);
        }
    }
}
