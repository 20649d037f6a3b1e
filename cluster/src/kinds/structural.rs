//! Structural schemas of custom resources: prunes unknown fields, sets defaults and validates values. `rules` evaluates
//! `x-kubernetes-validations` (CEL).

use std::net::{Ipv4Addr, Ipv6Addr};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value};

use super::rules;
use crate::json;
use crate::status::Cause;

fn on(schema: &Value, key: &str) -> bool {
    schema.get(key) == Some(&Value::Bool(true))
}

/// The schema of a key: the declared one, or that of all other keys.
pub(crate) fn property<'a>(schema: &'a Value, key: &str) -> Option<&'a Value> {
    let declared = json::at(schema, &["properties", key]);
    declared.or_else(|| schema.get("additionalProperties").filter(|v| v.is_object()))
}

/// Drops fields that the schema does not declare, and collects their paths in `unknown`. The root keeps its type and
/// metadata.
pub(crate) fn prune(value: &mut Value, schema: &Value, root: bool, path: &mut Vec<String>, unknown: &mut Vec<String>) {
    match value {
        Value::Object(map) => {
            let embedded = root || on(schema, "x-kubernetes-embedded-resource");
            let open = on(schema, "x-kubernetes-preserve-unknown-fields") || on(schema, "additionalProperties");
            map.retain(|key, value| {
                if embedded && matches!(key.as_str(), "apiVersion" | "kind" | "metadata") {
                    return true;
                }
                path.push(key.clone());
                let kept = match property(schema, key) {
                    Some(inner) => {
                        prune(value, inner, false, path, unknown);
                        true
                    }
                    None if open => true,
                    None => {
                        unknown.push(format!("unknown field \"{}\"", path.join(".")));
                        false
                    }
                };
                path.pop();
                kept
            });
        }
        Value::Array(items) => {
            let Some(inner) = schema.get("items") else {
                return;
            };
            for (index, item) in items.iter_mut().enumerate() {
                let name = path.pop().unwrap_or_default();
                path.push(format!("{name}[{index}]"));
                prune(item, inner, false, path, unknown);
                path.pop();
                path.push(name);
            }
        }
        _ => {}
    }
}

/// Drops null values where null is not allowed.
pub(crate) fn drop_nulls(value: &mut Value, schema: &Value) {
    match value {
        Value::Object(map) => {
            map.retain(|key, value| !value.is_null() || property(schema, key).is_none_or(accepts_null));
            for (key, value) in map.iter_mut() {
                if let Some(inner) = property(schema, key) {
                    drop_nulls(value, inner);
                }
            }
        }
        Value::Array(items) => {
            if let Some(inner) = schema.get("items") {
                items.iter_mut().for_each(|item| drop_nulls(item, inner));
            }
        }
        _ => {}
    }
}

/// Sets defaults for values that are missing, or null where null is not allowed.
pub(crate) fn set_defaults(value: &mut Value, schema: &Value) {
    match value {
        Value::Object(map) => {
            if let Some(Value::Object(properties)) = schema.get("properties") {
                for (key, inner) in properties {
                    let there = map.get(key).is_some_and(|value| !value.is_null() || accepts_null(inner));
                    if let Some(default) = inner.get("default").filter(|_| !there) {
                        map.insert(key.clone(), default.clone());
                    }
                }
            }
            for (key, value) in map.iter_mut() {
                if let Some(inner) = property(schema, key) {
                    set_defaults(value, inner);
                }
            }
        }
        Value::Array(items) => {
            if let Some(inner) = schema.get("items") {
                items.iter_mut().for_each(|item| set_defaults(item, inner));
            }
        }
        _ => {}
    }
}

fn accepts_null(schema: &Value) -> bool {
    on(schema, "nullable") || json::text(schema, &["type"]).is_empty() && !on(schema, "x-kubernetes-int-or-string")
}

/// The problems of `value`, with their paths.
pub(crate) fn problems(value: &Value, schema: &Value, path: &str) -> Vec<Cause> {
    let mut causes = Vec::new();
    check(value, None, schema, path, &mut causes);
    causes
}

/// The same for the next version of an object. Unchanged values are not checked.
pub(crate) fn changes(value: &Value, old: Option<&Value>, schema: &Value) -> Vec<Cause> {
    let mut causes = Vec::new();
    check(value, old, schema, "", &mut causes);
    causes
}

fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(n) if n.is_i64() || n.is_u64() => "integer",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

fn has_type(value: &Value, schema: &Value) -> bool {
    if on(schema, "x-kubernetes-int-or-string") {
        return value.is_string() || value.is_i64();
    }
    match json::text(schema, &["type"]) {
        "" => true,
        "number" => value.is_number(),
        "integer" => value.is_i64() || value.is_u64() || value.as_f64().is_some_and(|f| f.fract() == 0.0),
        wanted => type_name(value) == wanted,
    }
}

fn check(value: &Value, old: Option<&Value>, schema: &Value, path: &str, causes: &mut Vec<Cause>) {
    if old == Some(value) || value.is_null() && on(schema, "nullable") {
        return;
    }
    if !has_type(value, schema) {
        let either = on(schema, "x-kubernetes-int-or-string");
        let wanted = if either { "integer,string" } else { json::text(schema, &["type"]) };
        let got = type_name(value);
        causes.push(Cause {
            reason: "FieldValueTypeInvalid",
            message: format!("Invalid value: \"{got}\": {path} in body must be of type {wanted}: \"{got}\""),
            field: path.to_owned(),
        });
        return;
    }
    if let Some(Value::Array(allowed)) = schema.get("enum")
        && !allowed.contains(value)
    {
        let shown: Vec<String> = allowed.iter().map(Value::to_string).collect();
        causes.push(Cause {
            reason: "FieldValueNotSupported",
            message: format!("Unsupported value: {value}: supported values: {}", shown.join(", ")),
            field: path.to_owned(),
        });
    }
    match value {
        Value::Object(map) => object(map, old, schema, path, causes),
        Value::Array(items) => array(items, old, schema, path, causes),
        Value::String(text) => string(text, value, schema, path, causes),
        Value::Number(_) => number(value, schema, path, causes),
        _ => {}
    }
    combined(value, schema, path, causes);
}

fn invalid(value: &Value, path: &str, why: &str, causes: &mut Vec<Cause>) {
    causes.push(Cause::invalid(path, value, format!("{path} in body {why}")));
}

fn under(path: &str, key: &str) -> String {
    if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") }
}

fn object(map: &Map<String, Value>, old: Option<&Value>, schema: &Value, path: &str, causes: &mut Vec<Cause>) {
    for key in json::list(schema, &["required"]).iter().filter_map(Value::as_str) {
        if !map.contains_key(key) {
            causes.push(Cause::required(under(path, key), ""));
        }
    }
    if json::int(schema, &["minProperties"]).is_some_and(|min| (map.len() as i64) < min) {
        let min = json::int(schema, &["minProperties"]).unwrap_or_default();
        invalid(&Value::Object(map.clone()), path, &format!("should have at least {min} properties"), causes);
    }
    if let Some(max) = json::int(schema, &["maxProperties"]).filter(|max| map.len() as i64 > *max) {
        let message = format!("Too many: {}: must have at most {max} items", map.len());
        causes.push(Cause { reason: "FieldValueTooMany", message, field: path.to_owned() });
    }
    if on(schema, "x-kubernetes-embedded-resource") {
        for key in ["apiVersion", "kind"] {
            if map.get(key).is_none_or(|v| !v.is_string() || v == "") {
                causes.push(Cause::required(under(path, key), ""));
            }
        }
    }
    for (key, value) in map {
        if let Some(inner) = property(schema, key) {
            check(value, old.and_then(|old| old.get(key)), inner, &under(path, key), causes);
        }
    }
}

fn array(items: &[Value], old: Option<&Value>, schema: &Value, path: &str, causes: &mut Vec<Cause>) {
    if let Some(min) = json::int(schema, &["minItems"]).filter(|min| (items.len() as i64) < *min) {
        invalid(&Value::from(items), path, &format!("should have at least {min} items"), causes);
    }
    if let Some(max) = json::int(schema, &["maxItems"]).filter(|max| items.len() as i64 > *max) {
        let unit = if max == 1 { "item" } else { "items" };
        let message = format!("Too many: {}: must have at most {max} {unit}", items.len());
        causes.push(Cause { reason: "FieldValueTooMany", message, field: path.to_owned() });
    }
    duplicates(items, schema, path, causes);
    if let Some(inner) = schema.get("items") {
        for (index, item) in items.iter().enumerate() {
            let before = old.and_then(|old| rules::correlated(item, old, schema));
            check(item, before, inner, &format!("{path}[{index}]"), causes);
        }
    }
}

fn duplicates(items: &[Value], schema: &Value, path: &str, causes: &mut Vec<Cause>) {
    let keys = json::list(schema, &["x-kubernetes-list-map-keys"]);
    let id = |item: &Value| -> Value {
        match json::text(schema, &["x-kubernetes-list-type"]) {
            "map" => {
                let pairs =
                    keys.iter().filter_map(Value::as_str).filter_map(|k| Some((k.to_owned(), item.get(k)?.clone())));
                Value::Object(pairs.collect())
            }
            "set" => item.clone(),
            _ => Value::Null,
        }
    };
    let mut seen = std::collections::HashSet::new();
    for (index, item) in items.iter().enumerate() {
        let id = id(item);
        if !id.is_null() && !seen.insert(id.to_string()) {
            causes.push(Cause {
                reason: "FieldValueDuplicate",
                message: format!("Duplicate value: {id}"),
                field: format!("{path}[{index}]"),
            });
        }
    }
}

fn string(text: &str, value: &Value, schema: &Value, path: &str, causes: &mut Vec<Cause>) {
    let length = text.chars().count() as i64;
    if let Some(min) = json::int(schema, &["minLength"]).filter(|min| length < *min) {
        invalid(value, path, &format!("should be at least {min} chars long"), causes);
    }
    if let Some(max) = json::int(schema, &["maxLength"]).filter(|max| length > *max) {
        let message = format!("Too long: may not be more than {max} bytes");
        causes.push(Cause { reason: "FieldValueTooLong", message, field: path.to_owned() });
    }
    if let Some(pattern) = schema.get("pattern").and_then(Value::as_str)
        && regex::Regex::new(pattern).is_ok_and(|r| !r.is_match(text))
    {
        invalid(value, path, &format!("should match '{pattern}'"), causes);
    }
    let format = json::text(schema, &["format"]);
    if !fits(format, text) && !on(schema, "x-kubernetes-int-or-string") {
        causes.push(Cause {
            reason: "FieldValueTypeInvalid",
            message: format!("Invalid value: {value}: {path} in body must be of type {format}: {value}"),
            field: path.to_owned(),
        });
    }
}

fn number(value: &Value, schema: &Value, path: &str, causes: &mut Vec<Cause>) {
    let Some(number) = value.as_f64() else { return };
    if let Some(min) = schema.get("minimum").and_then(Value::as_f64) {
        if number < min {
            invalid(value, path, &format!("should be greater than or equal to {min}"), causes);
        } else if number <= min && on(schema, "exclusiveMinimum") {
            invalid(value, path, &format!("should be greater than {min}"), causes);
        }
    }
    if let Some(max) = schema.get("maximum").and_then(Value::as_f64) {
        if number > max {
            invalid(value, path, &format!("should be less than or equal to {max}"), causes);
        } else if number >= max && on(schema, "exclusiveMaximum") {
            invalid(value, path, &format!("should be less than {max}"), causes);
        }
    }
}

fn combined(value: &Value, schema: &Value, path: &str, causes: &mut Vec<Cause>) {
    let fits = |inner: &Value| problems(value, inner, path).is_empty();
    let mut whole = |why: &str| {
        let message = format!("Invalid value: \"\": \"{path}\" {why}");
        causes.push(Cause { reason: "FieldValueInvalid", message, field: "<nil>".to_owned() });
    };
    let any = json::list(schema, &["anyOf"]);
    if !any.is_empty() && !any.iter().any(fits) {
        whole("must validate at least one schema (anyOf)");
    }
    let one = json::list(schema, &["oneOf"]);
    match one.iter().filter(|inner| fits(inner)).count() {
        1 => {}
        _ if one.is_empty() => {}
        0 => whole("must validate one and only one schema (oneOf). Found none valid"),
        n => whole(&format!("must validate one and only one schema (oneOf). Found {n} valid alternatives")),
    }
    if !json::list(schema, &["allOf"]).iter().all(fits) {
        whole("must validate all the schemas (allOf)");
    }
    if schema.get("not").is_some_and(fits) {
        whole("must not validate the schema (not)");
    }
    for inner in json::list(schema, &["allOf"]) {
        check(value, None, inner, path, causes);
    }
}

/// Whether `text` has the format.
pub(super) fn fits(format: &str, text: &str) -> bool {
    match format {
        "date-time" | "datetime" => text.parse::<jiff::Timestamp>().is_ok(),
        "date" => text.len() == 10 && text.parse::<jiff::civil::Date>().is_ok(),
        "duration" => duration(text),
        "byte" => STANDARD.decode(text).is_ok(),
        "ipv4" => text.parse::<Ipv4Addr>().is_ok(),
        "ipv6" => text.parse::<Ipv6Addr>().is_ok(),
        "cidr" => cidr(text),
        "mac" => matches(r"^([0-9A-Fa-f]{2}[:-]){5}[0-9A-Fa-f]{2}$", text),
        "uuid" => uuid(text, "[0-9a-fA-F]"),
        "uuid3" => uuid(text, "3"),
        "uuid4" => uuid(text, "4"),
        "uuid5" => uuid(text, "5"),
        "uri" => text.parse::<http::Uri>().is_ok_and(|uri| uri.scheme().is_some() || text.starts_with('/')),
        "email" => text.split_once('@').is_some_and(|(name, host)| !name.is_empty() && !host.is_empty()),
        "hostname" => {
            matches(r"^[a-zA-Z0-9]([a-zA-Z0-9-]*[a-zA-Z0-9])?(\.[a-zA-Z0-9]([a-zA-Z0-9-]*[a-zA-Z0-9])?)*\.?$", text)
        }
        _ => true,
    }
}

fn matches(pattern: &str, text: &str) -> bool {
    regex::Regex::new(pattern).is_ok_and(|pattern| pattern.is_match(text))
}

fn uuid(text: &str, version: &str) -> bool {
    let any = "[0-9a-fA-F]";
    matches(&format!("^{any}{{8}}-?{any}{{4}}-?{version}{any}{{3}}-?{any}{{4}}-?{any}{{12}}$"), text)
}

fn cidr(text: &str) -> bool {
    let Some((address, bits)) = text.split_once('/') else {
        return false;
    };
    let bits: u8 = bits.parse().unwrap_or(u8::MAX);
    (address.parse::<Ipv4Addr>().is_ok() && bits <= 32) || (address.parse::<Ipv6Addr>().is_ok() && bits <= 128)
}

/// A duration in Go's format, or numbers with a unit word.
fn duration(text: &str) -> bool {
    let unit = "(ns|us|µs|ms|s|m|h|d|w|seconds?|minutes?|hours?|days?|weeks?|milliseconds?|microseconds?|nanoseconds?)";
    text == "0" || matches(&format!(r"^[-+]?(\d+(\.\d*)?\s*{unit}\s*)+$"), text)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn schema() -> Value {
        json!({ "type": "object", "properties": { "spec": { "type": "object", "required": ["name"], "properties": {
            "name": { "type": "string", "pattern": "^[a-z]+$" },
            "color": { "type": "string", "enum": ["red", "blue"], "default": "red" },
            "replicas": { "type": "integer", "minimum": 0 },
            "free": { "type": "object", "x-kubernetes-preserve-unknown-fields": true },
            "list": { "type": "array", "maxItems": 1, "items": { "type": "object", "properties": { "a": { "type": "integer", "default": 1 } } } },
        } } } })
    }

    #[test]
    fn pruning_and_defaults() {
        let mut value = json!({ "kind": "X", "extra": 1, "spec": { "name": "n", "x": 1, "free": { "y": 1 }, "list": [{ "z": 1 }] } });
        let mut unknown = Vec::new();
        prune(&mut value, &schema(), true, &mut Vec::new(), &mut unknown);
        set_defaults(&mut value, &schema());
        assert_eq!(
            value,
            json!({ "kind": "X", "spec": { "name": "n", "color": "red", "free": { "y": 1 }, "list": [{ "a": 1 }] } })
        );
        assert_eq!(
            unknown,
            ["unknown field \"extra\"", "unknown field \"spec.x\"", "unknown field \"spec.list[0].z\""]
        );
    }

    #[test]
    fn problems_name_their_place() {
        let value = json!({ "spec": { "color": "green", "replicas": -1, "list": [{ "a": "x" }, {}] } });
        let found: Vec<(String, String)> =
            problems(&value, &schema(), "").into_iter().map(|c| (c.field, c.message)).collect();
        let expected = [
            ("spec.name", "Required value"),
            ("spec.color", "Unsupported value: \"green\": supported values: \"red\", \"blue\""),
            ("spec.replicas", "Invalid value: -1: spec.replicas in body should be greater than or equal to 0"),
            ("spec.list", "Too many: 2: must have at most 1 item"),
            ("spec.list[0].a", "Invalid value: \"string\": spec.list[0].a in body must be of type integer: \"string\""),
        ];
        assert_eq!(found, expected.map(|(f, m)| (f.to_owned(), m.to_owned())));
    }

    #[test]
    fn texts_fit_their_formats() {
        for (format, good, bad) in [
            ("date-time", "2024-01-01T00:00:00Z", "yesterday"),
            ("date", "2024-01-01", "2024-13-01"),
            ("duration", "1h30m", "soon"),
            ("byte", "YWJj", "%%%"),
            ("ipv4", "10.0.0.1", "10.0.0"),
            ("ipv6", "::1", ":"),
            ("cidr", "10.0.0.0/8", "10.0.0.0/64"),
            ("uuid", "123e4567-e89b-12d3-a456-426614174000", "123"),
            ("uri", "http://x/y", ":"),
            ("email", "a@b", "a"),
            ("hostname", "a.b", "a_b"),
        ] {
            assert!(fits(format, good) && !fits(format, bad), "{format}");
        }
        assert!(fits("whatever", ""));
    }
}
