//! Tables: the columns that `kubectl get` prints.

mod columns;
mod core;
mod custom;
mod others;
mod workloads;

use jiff::Timestamp;
use serde_json::Value;

use crate::json;
use crate::kinds::{Resource, published};

/// The function for the value of a cell.
pub(crate) type Cell = fn(&Value, Timestamp) -> Value;

/// The column definitions of a resource.
pub(crate) fn columns(resource: &Resource) -> Value {
    match &resource.custom {
        Some(custom) => custom::columns(custom),
        None => published::columns(&resource.api_version(), &resource.plural).unwrap_or_default().into(),
    }
}

/// The cells of one stored object.
pub(crate) fn cells(resource: &Resource, object: &Value, now: Timestamp) -> Vec<Value> {
    if let Some(custom) = &resource.custom {
        return custom::cells(custom, object, now);
    }
    let known = columns::of(&resource.storage);
    let cell = |column: &Value| {
        let name = json::text(column, &["name"]);
        match known.iter().find(|(known, _)| *known == name) {
            Some((_, cell)) => cell(object, now),
            None => common(name, object, now),
        }
    };
    published::columns(&resource.api_version(), &resource.plural).unwrap_or_default().iter().map(cell).collect()
}

/// Cells that many kinds share.
fn common(column: &str, object: &Value, now: Timestamp) -> Value {
    match column {
        "Name" => json::text(object, &["metadata", "name"]).into(),
        "Age" => age(object, now),
        "Created At" => json::text(object, &["metadata", "creationTimestamp"]).into(),
        _ => Value::Null,
    }
}

/// The age of an object.
pub(crate) fn age(object: &Value, now: Timestamp) -> Value {
    since(object, &["metadata", "creationTimestamp"], now)
}

/// The time since the timestamp at a path.
pub(crate) fn since(object: &Value, path: &[&str], now: Timestamp) -> Value {
    crate::time::age(json::text(object, path), now).into()
}

/// A text, or `<none>` if it is empty.
pub(crate) fn or_none(text: impl Into<String>) -> Value {
    let text: String = text.into();
    if text.is_empty() { "<none>".into() } else { text.into() }
}
