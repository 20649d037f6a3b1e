//! Columns of custom resources: `additionalPrinterColumns`, or the age. A column's path may match nothing.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::age;
use crate::json::{int, text};
use crate::jsonpath;
use crate::kinds::{crd::Custom, published};

pub(crate) fn columns(custom: &Custom) -> Value {
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

pub(crate) fn cells(custom: &Custom, object: &Value, now: Timestamp) -> Vec<Value> {
    let name = text(object, &["metadata", "name"]).into();
    if custom.columns.is_empty() {
        return vec![name, age(object, now)];
    }
    std::iter::once(name).chain(custom.columns.iter().map(|column| cell(column, object, now))).collect()
}

fn cell(column: &Value, object: &Value, now: Timestamp) -> Value {
    let found = jsonpath::select(object, text(column, &["jsonPath"]));
    let Some(value) = found.first() else {
        return Value::Null;
    };
    match text(column, &["type"]) {
        "integer" => value.as_i64().map_or(Value::Null, Value::from),
        "number" => value.as_f64().map_or(Value::Null, Value::from),
        "boolean" => value.as_bool().map_or(Value::Null, Value::from),
        "date" => crate::time::age(value.as_str().unwrap_or_default(), now).into(),
        _ => jsonpath::text(value).into(),
    }
}
