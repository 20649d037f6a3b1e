//! Tables: the columns that `kubectl get` prints.
//!
//! Never speaks HTTP.

mod columns;
mod core;
mod custom;
mod workloads;

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::json;
use crate::kinds::Resource;
use columns::Column;

/// Reads a cell.
pub(crate) type Cell = fn(&Value, Timestamp) -> Value;

/// The column definitions of a resource.
pub(crate) fn columns(resource: &Resource) -> Value {
    let name = json!({
        "name": "Name", "type": "string", "format": "name", "description": "Name of the object.", "priority": 0,
    });
    let mut all = vec![name];
    match &resource.custom {
        Some(custom) => all.extend(custom::columns(custom)),
        None => all.extend(columns::of(&resource.storage).iter().map(Column::definition)),
    }
    all.into()
}

/// The cells of one stored object.
pub(crate) fn cells(resource: &Resource, object: &Value, now: Timestamp) -> Vec<Value> {
    let mut cells = vec![json::text(object, &["metadata", "name"]).into()];
    match &resource.custom {
        Some(custom) => cells.extend(custom::cells(custom, object, now)),
        None => cells.extend(columns::of(&resource.storage).iter().map(|c| c.cell(object, now))),
    }
    cells
}

/// The age of an object.
pub(crate) fn age(object: &Value, now: Timestamp) -> Value {
    since(object, &["metadata", "creationTimestamp"], now)
}

/// The time since the timestamp at a path.
pub(crate) fn since(object: &Value, path: &[&str], now: Timestamp) -> Value {
    crate::time::age(json::text(object, path), now).into()
}

/// A text, or `<none>` when it is empty.
pub(crate) fn or_none(text: impl Into<String>) -> Value {
    let text: String = text.into();
    if text.is_empty() { "<none>".into() } else { text.into() }
}
