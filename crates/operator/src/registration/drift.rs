//! Whether an object in the cluster is as it should be. Pure.
//!
//! Empty lists and objects count as absent. Fields of webhooks that Boathook does not know count as absent, too,
//! because a newer API server may have filled them in.

use serde_json::{Map, Value};

/// The fields of a webhook that decide what the API server does.
const KNOWN: [&str; 11] = [
    "name",
    "clientConfig",
    "rules",
    "failurePolicy",
    "matchPolicy",
    "namespaceSelector",
    "objectSelector",
    "sideEffects",
    "timeoutSeconds",
    "reinvocationPolicy",
    "matchConditions",
];

/// Whether both configurations have the same webhooks, and the first has all labels and annotations of the second.
pub(super) fn same_configuration(there: &Value, desired: &Value) -> bool {
    let webhooks = |object: &Value| -> Vec<Value> {
        let list = object.get("webhooks").and_then(Value::as_array);
        list.into_iter().flatten().map(known).collect()
    };
    let has_all_of = |path: &str| has_all(there.pointer(path), desired.pointer(path));
    webhooks(there) == webhooks(desired) && has_all_of("/metadata/labels") && has_all_of("/metadata/annotations")
}

/// Whether two values are equal, not counting empty parts.
pub(super) fn same(one: Option<&Value>, other: Option<&Value>) -> bool {
    let pruned = |value: Option<&Value>| value.map(pruned).unwrap_or(Value::Null);
    pruned(one) == pruned(other)
}

fn known(webhook: &Value) -> Value {
    let fields = webhook.as_object().into_iter().flatten().filter(|(key, _)| KNOWN.contains(&key.as_str()));
    pruned(&fields.map(|(key, value)| (key.clone(), value.clone())).collect())
}

/// Removes empty lists, empty objects and nulls, at any depth.
fn pruned(value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            let fields = fields.iter().map(|(key, value)| (key.clone(), pruned(value)));
            let fields: Map<_, _> = fields.filter(|(_, value)| !value.is_null()).collect();
            if fields.is_empty() { Value::Null } else { Value::Object(fields) }
        }
        Value::Array(items) if items.is_empty() => Value::Null,
        Value::Array(items) => Value::Array(items.iter().map(pruned).collect()),
        other => other.clone(),
    }
}

fn has_all(there: Option<&Value>, desired: Option<&Value>) -> bool {
    let mut desired = desired.and_then(Value::as_object).into_iter().flatten();
    desired.all(|(key, value)| there.and_then(|labels| labels.get(key)) == Some(value))
}
