//! Converts JSON to values of CEL by its schema: dates, durations, bytes and escaped names.
//!
//! The conversion never fails. A text that is not a date stays a text.

use std::collections::HashMap;
use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use kube_cel::cel::functions;
use kube_cel::cel::objects::{Key, Map, OptionalValue};
use serde_json::Value as Json;

use super::Value;
use super::list::{Identity, Unordered};

/// Words that cannot be names of fields.
const RESERVED: &[&str] = &[
    "true",
    "false",
    "null",
    "in",
    "as",
    "break",
    "const",
    "continue",
    "else",
    "for",
    "function",
    "if",
    "import",
    "let",
    "loop",
    "package",
    "namespace",
    "return",
    "var",
    "void",
    "while",
];

/// The name of a field in an expression.
pub(super) fn escape(name: &str) -> String {
    if RESERVED.contains(&name) {
        return format!("__{name}__");
    }
    let escaped = name.replace("__", "__underscores__").replace('.', "__dot__");
    escaped.replace('-', "__dash__").replace('/', "__slash__")
}

/// A value that may be absent.
pub fn optional(value: Option<Value>) -> Value {
    Value::Opaque(Arc::new(value.map_or_else(OptionalValue::none, OptionalValue::of)))
}

fn on(schema: &Json, key: &str) -> bool {
    schema.get(key) == Some(&Json::Bool(true))
}

/// Converts a value of this schema. A null schema means that the schema is unknown.
pub fn to_cel(value: &Json, schema: &Json) -> Value {
    match value {
        Json::Null => Value::Null,
        Json::Bool(on) => Value::Bool(*on),
        Json::Number(number) => self::number(number, schema["type"].as_str().unwrap_or_default() == "number"),
        Json::String(text) => self::text(text, schema),
        Json::Array(items) => self::list(items, schema),
        Json::Object(fields) => self::object(fields, schema),
    }
}

fn timestamp(text: &str) -> Option<Value> {
    functions::time::timestamp(Arc::new(text.to_owned())).ok()
}

fn duration(text: &str) -> Option<Value> {
    functions::time::duration(Arc::new(text.to_owned())).ok()
}

fn number(number: &serde_json::Number, float: bool) -> Value {
    match (number.as_i64(), number.as_u64()) {
        (Some(n), _) if !float => Value::Int(n),
        (None, Some(n)) if !float => Value::UInt(n),
        _ => Value::Float(number.as_f64().unwrap_or_default()),
    }
}

fn text(text: &str, schema: &Json) -> Value {
    let plain = || Value::String(Arc::new(text.to_owned()));
    if on(schema, "x-kubernetes-int-or-string") {
        return plain();
    }
    match schema["format"].as_str().unwrap_or_default() {
        "date-time" => timestamp(text).unwrap_or_else(plain),
        "date" => timestamp(&format!("{text}T00:00:00Z")).unwrap_or_else(plain),
        "duration" => duration(text).unwrap_or_else(plain),
        "byte" => STANDARD.decode(text).map_or_else(|_| plain(), |bytes| Value::Bytes(Arc::new(bytes))),
        _ => plain(),
    }
}

fn list(items: &[Json], schema: &Json) -> Value {
    let inner = schema.get("items").unwrap_or(&Json::Null);
    let items: Arc<Vec<Value>> = Arc::new(items.iter().map(|item| to_cel(item, inner)).collect());
    let identity = match schema["x-kubernetes-list-type"].as_str().unwrap_or_default() {
        "set" => Identity::Whole,
        "map" => {
            let keys = schema["x-kubernetes-list-map-keys"].as_array().into_iter().flatten();
            Identity::Keys(keys.filter_map(Json::as_str).map(escape).collect())
        }
        _ => return Value::List(items),
    };
    Value::Opaque(Arc::new(Unordered { items, identity }))
}

fn object(fields: &serde_json::Map<String, Json>, schema: &Json) -> Value {
    let others = schema.get("additionalProperties").filter(|v| v.is_object());
    // Names are escaped if a schema declares the fields. A map has keys, which may be anything.
    let raw = others.is_some() || schema.is_null();
    let mut map = HashMap::with_capacity(fields.len());
    for (name, value) in fields {
        let declared = schema["properties"].get(name);
        let inner = declared.or(others).unwrap_or(&Json::Null);
        let name = if raw { name.clone() } else { escape(name) };
        map.insert(Key::String(Arc::new(name)), to_cel(value, inner));
    }
    Value::Map(Map { map: Arc::new(map) })
}
