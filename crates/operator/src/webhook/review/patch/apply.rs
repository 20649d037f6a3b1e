//! Applies a hook's JSON Patch to the object to check it, within limits. A few operations can double an object again
//! and again, nest it until the stack is used up, or move a long list again and again. The cost of each operation is
//! therefore counted before it is done.

use json_patch::{PatchOperation, jsonptr::Pointer};
use serde_json::Value;

use super::{PatchError, same_kind};

/// The maximum number of operations. It is the API server's own limit for patches of its users.
const OPERATIONS: usize = 10_000;
/// The maximum cost of all operations together, in values that are copied, moved or shifted.
const WORK: usize = 4_000_000;
/// The maximum depth of an object. serde_json reads no deeper one.
const DEPTH: usize = 128;

/// Returns the object that the patch makes.
pub(super) fn apply(object: Value, operations: &[PatchOperation]) -> Result<Value, PatchError> {
    if operations.len() > OPERATIONS {
        let found = operations.len();
        return Err(PatchError::TooMuch(format!("it has {found} operations; {OPERATIONS} are possible")));
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
        PatchOperation::Move(op) => (op.from.resolve_value(object), Some(&*op.from)),
        PatchOperation::Copy(op) => (op.from.resolve_value(object), Some(&*op.from)),
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
    let list = path.parent().and_then(|parent| parent.resolve_value(object)).and_then(Value::as_array);
    list.map_or(0, |list| list.len() / 16)
}

trait Resolve {
    fn resolve_value<'v>(&self, value: &'v Value) -> Option<&'v Value>;
}

impl Resolve for Pointer {
    fn resolve_value<'v>(&self, value: &'v Value) -> Option<&'v Value> {
        value.pointer(self.as_str())
    }
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

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
    use serde_json::json;

    use super::*;

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
        assert!(tried(&object, doubling).unwrap_err().contains("more than can be checked"));
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
}
