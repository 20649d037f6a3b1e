//! Patches of all kinds, and the owners of fields.

pub(crate) mod apply;
pub(crate) mod compare;
mod fields;
pub(crate) mod json;
pub(crate) mod managed;
pub(crate) mod strategic;
pub(crate) mod typed;

use serde_json::Value;

use crate::status::Failure;

/// Maximum nesting of objects. Stored objects must remain readable.
const MAX_DEPTH: usize = 100;

/// The order of metadata in the real server's output.
const METADATA: &[&str] =
    &["name", "generateName", "namespace", "uid", "resourceVersion", "generation", "creationTimestamp"];

/// A patched object in the format of error texts.
pub(crate) fn shown(object: &Value) -> String {
    let mut keys: Vec<(&String, &Value)> = object.as_object().into_iter().flatten().collect();
    keys.sort_by_key(|(key, _)| *key);
    let mut sorted: serde_json::Map<String, Value> = keys.into_iter().map(|(k, v)| (k.clone(), v.clone())).collect();
    if let Some(Value::Object(metadata)) = sorted.get_mut("metadata") {
        let rank = |key: &str| METADATA.iter().position(|known| *known == key).unwrap_or(METADATA.len());
        let mut entries: Vec<(String, Value)> = std::mem::take(metadata).into_iter().collect();
        entries.sort_by_key(|(key, _)| rank(key));
        metadata.extend(entries);
    }
    Value::Object(sorted).to_string()
}

/// Refuses a patched object with too deep nesting.
pub(crate) fn check_depth(value: &Value) -> Result<(), Failure> {
    if fits(value, MAX_DEPTH) {
        return Ok(());
    }
    Err(Failure::bad_request(format!("the object nests deeper than {MAX_DEPTH} levels")))
}

fn fits(value: &Value, depth: usize) -> bool {
    let Some(below) = depth.checked_sub(1) else {
        return false;
    };
    match value {
        Value::Array(items) => items.iter().all(|v| fits(v, below)),
        Value::Object(map) => map.values().all(|v| fits(v, below)),
        _ => true,
    }
}

/// Applies `patch` to `target`.
pub(crate) fn merge_patch(target: &mut Value, patch: &Value) {
    let Value::Object(changes) = patch else {
        *target = patch.clone();
        return;
    };
    let map = crate::json::object(target);
    for (key, change) in changes {
        if change.is_null() {
            map.shift_remove(key);
        } else {
            merge_patch(map.entry(key.as_str()).or_insert(Value::Null), change);
        }
    }
}
