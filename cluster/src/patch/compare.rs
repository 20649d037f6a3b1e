//! Finds the fields of an object, and the differences between two versions of it.

use serde_json::{Map, Value};

use super::fields::{FieldSet, Step, shown};
use crate::kinds::schema::ListType;
use crate::kinds::shape::Shape;

/// The differences between two versions.
#[derive(Debug, Default)]
pub(crate) struct Difference {
    /// Added, or with another value.
    pub changed: FieldSet,
    pub removed: FieldSet,
}

/// Metadata without an owner.
const UNOWNED: &[&str] = &[
    "name",
    "namespace",
    "creationTimestamp",
    "selfLink",
    "uid",
    "clusterName",
    "generation",
    "managedFields",
    "resourceVersion",
];

/// The object without the fields that have no owner.
pub(crate) fn ownable(object: &Value) -> Value {
    let mut map: Map<String, Value> = object.as_object().cloned().unwrap_or_default();
    map.shift_remove("apiVersion");
    map.shift_remove("kind");
    if let Some(Value::Object(meta)) = map.get_mut("metadata") {
        meta.retain(|key, _| !UNOWNED.contains(&key.as_str()));
        if meta.is_empty() {
            map.shift_remove("metadata");
        }
    }
    Value::Object(map)
}

/// The step that identifies an item of a list, if the list has such steps.
pub(crate) fn item_step(item: &Value, list: &ListType, shape: Shape<'_>) -> Option<Step> {
    match list {
        ListType::Atomic => None,
        ListType::Set => Some(format!("v:{item}")),
        ListType::Keyed(keys) => {
            let mut sorted: Vec<&String> = keys.iter().collect();
            sorted.sort();
            let mut map = Map::new();
            for key in sorted {
                if let Some(value) = item.get(key).cloned().or_else(|| shape.key_default(key)) {
                    map.insert(key.clone(), value);
                }
            }
            (!map.is_empty()).then(|| format!("k:{}", Value::Object(map)))
        }
    }
}

/// The steps of all items, if every item has one.
fn steps<'v>(items: &'v [Value], list: &ListType, shape: Shape<'_>) -> Option<Vec<(Step, &'v Value)>> {
    let found: Option<Vec<_>> = items.iter().map(|item| Some((item_step(item, list, shape.item())?, item))).collect();
    found
}

/// The fields of an applied configuration.
pub(crate) fn field_set(object: &Value, shape: Shape<'_>) -> FieldSet {
    let mut set = FieldSet::default();
    leaves(object, shape, &mut Vec::new(), &mut set);
    set
}

fn leaves(value: &Value, shape: Shape<'_>, path: &mut Vec<Step>, set: &mut FieldSet) {
    match value {
        Value::Object(map) if !shape.is_atomic() && (!map.is_empty() || path.is_empty()) => {
            for (key, value) in map {
                path.push(format!("f:{key}"));
                if value.is_null() || !shape.declares(key) || value.as_object().is_some_and(Map::is_empty) {
                    set.insert(path);
                }
                leaves(value, shape.field(key), path, set);
                path.pop();
            }
        }
        Value::Array(items) => match steps(items, &shape.list(), shape) {
            Some(steps) if !items.is_empty() => {
                for (step, item) in steps {
                    path.push(step);
                    set.insert(path);
                    if item.is_object() {
                        leaves(item, shape.item(), path, set);
                    }
                    path.pop();
                }
            }
            _ => set.insert(path),
        },
        _ => set.insert(path),
    }
}

/// The first list with a duplicate item, as an error text.
pub(crate) fn duplicate(value: &Value, shape: Shape<'_>, path: &mut Vec<Step>) -> Option<String> {
    match value {
        Value::Object(map) if !shape.is_atomic() => map.iter().find_map(|(key, value)| {
            path.push(format!("f:{key}"));
            let found = duplicate(value, shape.field(key), path);
            path.pop();
            found
        }),
        Value::Array(items) => {
            let steps = steps(items, &shape.list(), shape)?;
            for (index, (step, item)) in steps.iter().enumerate() {
                if steps.iter().take(index).any(|(earlier, _)| earlier == step) {
                    let key = shown(std::slice::from_ref(step));
                    return Some(format!("{}: duplicate entries for key {key}", shown(path)));
                }
                path.push(step.clone());
                let found = duplicate(item, shape.item(), path);
                path.pop();
                if found.is_some() {
                    return found;
                }
            }
            None
        }
        _ => None,
    }
}

/// The differences in `new`.
pub(crate) fn compare(old: &Value, new: &Value, shape: Shape<'_>) -> Difference {
    let mut difference = Difference::default();
    walk(Some(old), Some(new), shape, true, &mut Vec::new(), &mut difference);
    difference
}

/// `present` means that the position exists even in an empty object of the kind, so nobody adds it.
fn walk(
    old: Option<&Value>,
    new: Option<&Value>,
    shape: Shape<'_>,
    present: bool,
    path: &mut Vec<Step>,
    out: &mut Difference,
) {
    if old == new {
        return;
    }
    if present && is_zero(old) && is_zero(new) {
        return;
    }
    match (old, new) {
        (None, Some(_)) if !present => out.changed.insert(path),
        (Some(_), None) if !present => out.removed.insert(path),
        _ => {}
    }
    // A null value is an empty position.
    let old = old.filter(|value| !value.is_null() || new.is_none());
    let some = old.or(new);
    let same_type = match (old, new) {
        (Some(a), Some(b)) => std::mem::discriminant(a) == std::mem::discriminant(b),
        _ => true,
    };
    if same_type && some.is_some_and(Value::is_object) && !shape.is_atomic() {
        return walk_maps(old, new, shape, present, path, out);
    }
    let list = shape.list();
    if same_type && some.is_some_and(Value::is_array) && list != ListType::Atomic {
        let items = |v: Option<&'_ Value>| v.and_then(Value::as_array).map_or(&[] as &[Value], Vec::as_slice).to_vec();
        let (before, after) = (items(old), items(new));
        if let (Some(before), Some(after)) = (steps(&before, &list, shape), steps(&after, &list, shape)) {
            return walk_items(&before, &after, shape, path, out);
        }
    }
    match (old, new) {
        (_, Some(_)) => out.changed.insert(path),
        (Some(_), None) => out.removed.insert(path),
        (None, None) => {}
    }
}

/// The value of such a position in an empty object of the kind.
fn is_zero(value: Option<&Value>) -> bool {
    match value {
        None | Some(Value::Null) => true,
        Some(Value::Object(map)) => map.is_empty(),
        Some(Value::String(text)) => text.is_empty(),
        Some(Value::Number(number)) => number.as_f64() == Some(0.0),
        Some(Value::Bool(on)) => !on,
        Some(Value::Array(_)) => false,
    }
}

fn walk_maps(
    old: Option<&Value>,
    new: Option<&Value>,
    shape: Shape<'_>,
    present: bool,
    path: &mut Vec<Step>,
    out: &mut Difference,
) {
    let empty = Map::new();
    let before = old.and_then(Value::as_object).unwrap_or(&empty);
    let after = new.and_then(Value::as_object).unwrap_or(&empty);
    let gone = before.keys().filter(|key| !after.contains_key(*key));
    for key in after.keys().chain(gone) {
        path.push(format!("f:{key}"));
        let there = present && shape.always_there(key);
        walk(before.get(key), after.get(key), shape.field(key), there, path, out);
        path.pop();
    }
}

fn walk_items(
    before: &[(Step, &Value)],
    after: &[(Step, &Value)],
    shape: Shape<'_>,
    path: &mut Vec<Step>,
    out: &mut Difference,
) {
    let find = |list: &[(Step, &Value)], step: &Step| list.iter().find(|(s, _)| s == step).map(|(_, v)| (*v).clone());
    let gone = before.iter().filter(|(step, _)| !after.iter().any(|(s, _)| s == step));
    for (step, _) in after.iter().chain(gone) {
        let (old, new) = (find(before, step), find(after, step));
        path.push(step.clone());
        walk(old.as_ref(), new.as_ref(), shape.item(), false, path, out);
        path.pop();
    }
}
