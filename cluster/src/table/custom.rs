//! Columns of custom resources: `additionalPrinterColumns`, or the age.
//!
//! Never trusts a column's path.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::age;
use crate::json::{int, text};
use crate::jsonpath;
use crate::kinds::crd::Custom;

pub(crate) fn columns(custom: &Custom) -> Vec<Value> {
    if custom.columns.is_empty() {
        return vec![json!({ "name": "Age", "type": "date", "format": "", "description": "", "priority": 0 })];
    }
    let definition = |c: &Value| {
        json!({
            "name": text(c, &["name"]), "type": text(c, &["type"]), "format": text(c, &["format"]),
            "description": text(c, &["description"]), "priority": int(c, &["priority"]).unwrap_or_default(),
        })
    };
    custom.columns.iter().map(definition).collect()
}

pub(crate) fn cells(custom: &Custom, object: &Value, now: Timestamp) -> Vec<Value> {
    if custom.columns.is_empty() {
        return vec![age(object, now)];
    }
    custom.columns.iter().map(|column| cell(column, object, now)).collect()
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
