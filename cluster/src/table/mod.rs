//! Tables: the columns that `kubectl get` prints.

mod cells;

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::json::{int, text};
use crate::jsonpath;
use crate::kinds::crd::Custom;
use crate::kinds::{Resource, published};

/// The column definitions of a resource.
pub(crate) fn columns(resource: &Resource) -> Value {
    match &resource.custom {
        Some(custom) => custom_columns(custom),
        None => published::columns(&resource.api_version(), &resource.plural).unwrap_or_default().into(),
    }
}

/// The cells of one stored object.
pub(crate) fn cells(resource: &Resource, object: &Value, now: Timestamp) -> Vec<Value> {
    if let Some(custom) = &resource.custom {
        return custom_cells(custom, object, now);
    }
    let cell = |column: &Value| {
        let name = text(column, &["name"]);
        match cells::of(&resource.storage, name) {
            Some(cell) => cell.value(object, now),
            None => common(name, object, now),
        }
    };
    published::columns(&resource.api_version(), &resource.plural).unwrap_or_default().iter().map(cell).collect()
}

/// Cells that many kinds share.
fn common(column: &str, object: &Value, now: Timestamp) -> Value {
    match column {
        "Name" => text(object, &["metadata", "name"]).into(),
        "Age" => age(object, now),
        "Created At" => text(object, &["metadata", "creationTimestamp"]).into(),
        _ => Value::Null,
    }
}

/// The age of an object.
fn age(object: &Value, now: Timestamp) -> Value {
    since(text(object, &["metadata", "creationTimestamp"]), now)
}

/// The time since a timestamp.
fn since(timestamp: &str, now: Timestamp) -> Value {
    crate::time::age(timestamp, now).into()
}

/// A text, or `<none>` if it is empty.
fn or_none(text: impl Into<String>) -> Value {
    let text: String = text.into();
    if text.is_empty() { "<none>".into() } else { text.into() }
}

/// Those of `additionalPrinterColumns`, or the age.
fn custom_columns(custom: &Custom) -> Value {
    // The definitions of names and ages are the same for all kinds.
    let known = published::columns("v1", "configmaps").unwrap_or_default();
    let name = known.first().cloned();
    if custom.columns.is_empty() {
        let about = known.last().map_or("", |age| text(age, &["description"]));
        let age = json!({ "name": "Age", "type": "date", "format": "", "description": about, "priority": 0 });
        return name.into_iter().chain([age]).collect();
    }
    let definition = |c: &Value| {
        let kind = text(c, &["type"]);
        let description = match text(c, &["description"]) {
            "" => format!("Custom resource definition column (in JSONPath format): {}", text(c, &["jsonPath"])),
            given => given.to_owned(),
        };
        json!({
            "name": text(c, &["name"]), "type": kind, "format": text(c, &["format"]),
            "description": description, "priority": int(c, &["priority"]).unwrap_or_default(),
        })
    };
    name.into_iter().chain(custom.columns.iter().map(definition)).collect()
}

fn custom_cells(custom: &Custom, object: &Value, now: Timestamp) -> Vec<Value> {
    let name = text(object, &["metadata", "name"]).into();
    if custom.columns.is_empty() {
        return vec![name, age(object, now)];
    }
    std::iter::once(name).chain(custom.columns.iter().map(|column| custom_cell(column, object, now))).collect()
}

/// A path may match nothing.
fn custom_cell(column: &Value, object: &Value, now: Timestamp) -> Value {
    let found = jsonpath::select(object, text(column, &["jsonPath"]));
    let Some(value) = found.first() else {
        return Value::Null;
    };
    match text(column, &["type"]) {
        "integer" => value.as_i64().map_or(Value::Null, Value::from),
        "number" => value.as_f64().map_or(Value::Null, Value::from),
        "boolean" => value.as_bool().map_or(Value::Null, Value::from),
        "date" => since(value.as_str().unwrap_or_default(), now),
        _ => jsonpath::text(value).into(),
    }
}
