//! Checks applied configurations against their types: unknown fields, and values of the wrong type, with their paths.

use serde_json::Value;

use super::compare::item_step;
use super::fields::{Step, shown};
use crate::kinds::schema::ListType;
use crate::kinds::shape::{Expected, Shape};

/// The problems in the format of server-side apply: one error, or a list of them.
pub(crate) fn problem(config: &Value, shape: Shape<'_>) -> Option<String> {
    let mut errors = Vec::new();
    walk(config, shape, &mut Vec::new(), &mut errors);
    match errors.as_slice() {
        [] => None,
        [one] => Some(one.clone()),
        many => Some(format!("errors:\n{}", many.iter().map(|e| format!("  {e}")).collect::<Vec<_>>().join("\n"))),
    }
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(n) if n.is_f64() => "float",
        Value::Number(_) => "int",
        Value::String(_) => "string",
        Value::Array(_) => "list",
        Value::Object(_) => "map",
    }
}

fn walk(value: &Value, shape: Shape<'_>, path: &mut Vec<Step>, errors: &mut Vec<String>) {
    if value.is_null() {
        return;
    }
    let fits = match shape.expected() {
        Expected::Anything => return,
        Expected::Text => value.is_string(),
        Expected::Number => value.is_number(),
        Expected::Switch => value.is_boolean(),
        Expected::List => value.is_array(),
        Expected::Map | Expected::Fields => value.is_object(),
    };
    if !fits {
        let wanted = match shape.expected() {
            Expected::Number => "numeric (int or float)",
            Expected::Text => "string",
            Expected::Switch => "boolean",
            Expected::List => "list",
            _ => "map",
        };
        errors.push(format!("{}: expected {wanted}, got {}", shown(path), kind(value)));
        return;
    }
    match value {
        Value::Object(map) => {
            let typed = |key: &str| path.is_empty() && matches!(key, "apiVersion" | "kind");
            let keys: Vec<&String> = map.keys().filter(|key| !typed(key)).collect();
            for (key, value) in keys.into_iter().filter_map(|key| map.get_key_value(key)) {
                path.push(format!("f:{key}"));
                if shape.expected() == Expected::Fields && !shape.declares(key) {
                    errors.push(format!("{}: field not declared in schema", shown(path)));
                } else {
                    walk(value, shape.field(key), path, errors);
                }
                path.pop();
            }
        }
        Value::Array(items) => {
            let list = shape.list();
            for (index, item) in items.iter().enumerate() {
                let step = if list == ListType::Atomic { None } else { item_step(item, &list, shape.item()) };
                path.push(step.unwrap_or_else(|| format!("i:{index}")));
                walk(item, shape.item(), path, errors);
                path.pop();
            }
        }
        _ => {}
    }
}
