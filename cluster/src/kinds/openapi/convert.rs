//! Converts OpenAPI v3 schemas to v2.

use serde_json::{Map, Value};

/// Converts a schema in place.
pub(super) fn to_v2(schema: &mut Value) {
    match schema {
        Value::Object(map) => {
            unwrap_reference(map);
            let quantity = map.contains_key("oneOf");
            if quantity || map.contains_key("anyOf") {
                map.shift_remove("oneOf");
                map.shift_remove("anyOf");
                if quantity {
                    map.insert("type".into(), "string".into());
                }
            }
            map.retain(|key, _| !matches!(key.as_str(), "default" | "nullable"));
            for (key, value) in map.iter_mut() {
                match (key.as_str(), value) {
                    // A map of schemas, whose keys are names.
                    ("properties", Value::Object(properties)) => properties.values_mut().for_each(to_v2),
                    ("items" | "additionalProperties", inner) => to_v2(inner),
                    ("$ref", Value::String(path)) => *path = path.replace("#/components/schemas/", "#/definitions/"),
                    _ => {}
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(to_v2),
        _ => {}
    }
}

/// v3 wraps a reference that has a description.
fn unwrap_reference(map: &mut Map<String, Value>) {
    let inner = match map.get("allOf") {
        Some(Value::Array(items)) => items.first().and_then(|item| item.get("$ref")).cloned(),
        _ => None,
    };
    if let Some(inner) = inner {
        map.shift_remove("allOf");
        map.insert("$ref".into(), inner);
    }
}
