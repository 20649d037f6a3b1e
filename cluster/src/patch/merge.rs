//! JSON merge patch (RFC 7396). It cannot fail.

use serde_json::Value;

/// Applies `patch` to `target`.
pub(crate) fn apply(target: &mut Value, patch: &Value) {
    let Value::Object(changes) = patch else {
        *target = patch.clone();
        return;
    };
    let map = crate::json::object(target);
    for (key, change) in changes {
        if change.is_null() {
            map.shift_remove(key);
        } else {
            apply(map.entry(key.as_str()).or_insert(Value::Null), change);
        }
    }
}
