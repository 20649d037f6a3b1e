//! Converts JSON to values of CEL by its schema: dates, durations, bytes and escaped names.
//!
//! The conversion never fails. A text that is not a date stays a text.

use std::{collections::HashMap, sync::Arc};

use base64::{Engine, engine::general_purpose::STANDARD};
use kube_cel::cel::{
    functions,
    objects::{Key, KeyRef, Map, Opaque, OptionalValue},
};
use serde_json::Value as Json;

use crate::Value;

/// Words that cannot be names of fields.
const RESERVED: &str = "true false null in as break const continue else for function if import let loop package namespace \
    return var void while";

/// The name of a field in an expression.
pub(super) fn escape(name: &str) -> String {
    if RESERVED.split(' ').any(|word| word == name) {
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

/// How the items of a list are distinguished.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Identity {
    /// By their whole value.
    Whole,
    /// By these fields.
    Keys(Vec<String>),
}

/// A list with `x-kubernetes-list-type` `set` or `map`.
#[derive(Debug)]
pub(super) struct Unordered {
    pub items: Arc<Vec<Value>>,
    pub identity: Identity,
}

impl Unordered {
    fn same(&self, a: &Value, b: &Value) -> bool {
        match &self.identity {
            Identity::Whole => a == b,
            Identity::Keys(keys) => keys.iter().all(|key| field(a, key) == field(b, key)),
        }
    }

    /// The items of both lists. Items of `other` replace the same items of this list.
    pub(super) fn union(&self, other: &[Value]) -> Value {
        let mut items = (*self.items).clone();
        for new in other {
            match items.iter_mut().find(|old| self.same(old, new)) {
                Some(old) => *old = new.clone(),
                None => items.push(new.clone()),
            }
        }
        Value::Opaque(Arc::new(Self { items: Arc::new(items), identity: self.identity.clone() }))
    }
}

fn field<'v>(value: &'v Value, key: &str) -> Option<&'v Value> {
    match value {
        Value::Map(map) => map.get(&KeyRef::String(key)),
        _ => None,
    }
}

impl PartialEq for Unordered {
    fn eq(&self, other: &Self) -> bool {
        self.items.len() == other.items.len() && self.items.iter().all(|item| other.items.contains(item))
    }
}

impl Eq for Unordered {}

impl Opaque for Unordered {
    fn runtime_type_name(&self) -> &str {
        "list"
    }
}

pub(super) fn unordered(value: &Value) -> Option<&Unordered> {
    match value {
        Value::Opaque(opaque) => opaque.downcast_ref(),
        _ => None,
    }
}

/// The items of a list of any sort.
pub(super) fn items(value: &Value) -> Option<&Arc<Vec<Value>>> {
    match value {
        Value::List(items) => Some(items),
        other => unordered(other).map(|list| &list.items),
    }
}
