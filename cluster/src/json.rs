//! Small readers and writers for `serde_json::Value`. A missing or wrongly typed value reads as absent.

use serde_json::{Map, Value};

/// The value at a path of object keys.
pub(crate) fn at<'a>(value: &'a Value, path: &[&str]) -> Option<&'a Value> {
    path.iter().try_fold(value, |here, key| here.get(key))
}

/// The string at a path, or `""`.
pub(crate) fn text<'a>(value: &'a Value, path: &[&str]) -> &'a str {
    at(value, path).and_then(Value::as_str).unwrap_or_default()
}

/// The integer at a path.
pub(crate) fn int(value: &Value, path: &[&str]) -> Option<i64> {
    at(value, path).and_then(Value::as_i64)
}

/// The array at a path, or an empty slice.
pub(crate) fn list<'a>(value: &'a Value, path: &[&str]) -> &'a [Value] {
    at(value, path).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// The mutable object at `key`. It is created if it is missing or has another type.
pub(crate) fn child<'a>(map: &'a mut Map<String, Value>, key: &str) -> &'a mut Map<String, Value> {
    let slot = map.entry(key).or_insert(Value::Null);
    object(slot)
}

/// The mutable object behind `value`, which is replaced if it is not an object.
pub(crate) fn object(value: &mut Value) -> &mut Map<String, Value> {
    if !value.is_object() {
        *value = Value::Object(Map::new());
    }
    match value {
        Value::Object(map) => map,
        // The branch above made it an object, so this cannot loop.
        _ => object(value),
    }
}

/// The object's `metadata`. It is created if it is missing.
pub(crate) fn metadata(value: &mut Value) -> &mut Map<String, Value> {
    child(object(value), "metadata")
}

/// Sets `key` unless it is present and neither null nor the empty string.
pub(crate) fn default(map: &mut Map<String, Value>, key: &str, value: impl Into<Value>) {
    if map.get(key).is_none_or(|v| v.is_null() || v == "") {
        map.insert(key.to_owned(), value.into());
    }
}

/// True for `null`, `{}`, `[]` and `""`.
pub(crate) fn is_empty(value: Option<&Value>) -> bool {
    match value {
        None | Some(Value::Null) => true,
        Some(Value::Object(map)) => map.is_empty(),
        Some(Value::Array(list)) => list.is_empty(),
        Some(Value::String(text)) => text.is_empty(),
        Some(_) => false,
    }
}

/// The type of a value in the words of Go's JSON parser.
pub(crate) fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "bool",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

/// Serializes a value that was parsed from JSON, which cannot fail.
pub(crate) fn bytes(value: &impl serde::Serialize) -> Vec<u8> {
    serde_json::to_vec(value).unwrap_or_default()
}

/// A JSON error in the words of Go's parser.
pub(crate) fn error(error: &serde_json::Error, bytes: &[u8]) -> String {
    if error.is_eof() {
        return "unexpected end of JSON input".to_owned();
    }
    let line = bytes.split(|b| *b == b'\n').nth(error.line().saturating_sub(1)).unwrap_or_default();
    let at = line.get(error.column().saturating_sub(1)).copied().map_or(' ', char::from);
    if error.to_string().starts_with("recursion limit") {
        return "exceeded max depth".to_owned();
    }
    // Go's parser names the next expected character of a word.
    let words = ["null", "true", "false"].into_iter().filter(|_| error.to_string().starts_with("expected ident"));
    for word in words {
        let same = |n: &usize| line.get(error.column().saturating_sub(1 + n)..error.column().saturating_sub(1));
        let read = (1..word.len()).find(|n| same(n).is_some_and(|got| word.as_bytes().starts_with(got)));
        if let Some(next) = read.and_then(|n| word.chars().nth(n)) {
            return format!("invalid character {at:?} in literal {word} (expecting {next:?})");
        }
    }
    format!("invalid character {at:?} looking for beginning of value")
}
