//! The scale subresource: `autoscaling/v1` Scale on the replica fields of a kind.

use serde_json::{Value, json};

use super::Resource;
use super::crd::Custom;
use crate::json;
use crate::status::{Cause, Failure};

fn paths(resource: &Resource) -> (Vec<String>, Vec<String>, Option<Vec<String>>) {
    match resource.custom.as_ref().and_then(|c| c.scale.clone()) {
        Some(paths) => (paths.spec, paths.status, paths.selector),
        None => {
            let path = |first: &str| vec![first.to_owned(), "replicas".to_owned()];
            (path("spec"), path("status"), None)
        }
    }
}

fn count(object: &Value, path: &[String]) -> i64 {
    let path: Vec<&str> = path.iter().map(String::as_str).collect();
    json::int(object, &path).unwrap_or_default()
}

/// The problems of the replica counts of a custom object.
pub(crate) fn problems(custom: &Custom, object: &Value) -> Vec<Cause> {
    let Some(paths) = &custom.scale else {
        return Vec::new();
    };
    let mut causes = Vec::new();
    for path in [&paths.spec, &paths.status] {
        let shown = format!(".{}", path.join("."));
        let found = path.iter().try_fold(object, |here, key| match here {
            Value::Object(map) => map.get(key).ok_or(None),
            Value::Null => Err(None),
            other => Err(Some(other)),
        });
        let number: Value = 0.into();
        match found {
            Err(None) | Ok(Value::Null) => {}
            Ok(value) if value.as_i64().is_some_and(|n| n < 0) => {
                causes.push(Cause::invalid(&shown, value, "should be a non-negative integer"));
            }
            Ok(value) if value.is_i64() => {}
            Ok(value) => {
                let why = format!(
                    "{shown} accessor error: {} is of the type {}, expected int64",
                    text(value),
                    go_type(value)
                );
                causes.push(Cause::invalid(&shown, &number, why));
            }
            Err(Some(value)) => {
                let why = format!(
                    "{shown} accessor error: {} is of the type {}, expected map[string]interface{{}}",
                    text(value),
                    go_type(value)
                );
                causes.push(Cause::invalid(&shown, &number, why));
            }
        }
    }
    causes
}

fn text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

fn go_type(value: &Value) -> &'static str {
    match value {
        Value::Null => "nil",
        Value::Bool(_) => "bool",
        Value::Number(n) if n.is_f64() => "float64",
        Value::Number(_) => "int64",
        Value::String(_) => "string",
        Value::Array(_) => "[]interface {}",
        Value::Object(_) => "map[string]interface {}",
    }
}

/// The error if the object has no replica count, which is optional in a custom object.
pub(crate) fn missing(resource: &Resource, object: &Value) -> Option<Failure> {
    let paths = resource.custom.as_ref()?.scale.as_ref()?;
    let path: Vec<&str> = paths.spec.iter().map(String::as_str).collect();
    if json::at(object, &path).is_some() {
        return None;
    }
    Some(Failure::internal_error(&format!("the spec replicas field \".{}\" does not exist", path.join("."))))
}

/// The Scale of an object.
pub(crate) fn read(resource: &Resource, object: &Value) -> Value {
    let (spec, status, selector) = paths(resource);
    let selector = match &selector {
        Some(path) => {
            let path: Vec<&str> = path.iter().map(String::as_str).collect();
            json::text(object, &path).to_owned()
        }
        None => selector_text(json::at(object, &["spec", "selector"])),
    };
    let mut metadata = json!({});
    for key in ["name", "namespace", "uid", "resourceVersion", "creationTimestamp"] {
        if let Some(value) = json::at(object, &["metadata", key]) {
            json::object(&mut metadata).insert(key.to_owned(), value.clone());
        }
    }
    let mut shown = json!({ "replicas": count(object, &status) });
    if !selector.is_empty() {
        json::object(&mut shown).insert("selector".into(), selector.into());
    }
    let replicas = count(object, &spec);
    let wanted = if replicas == 0 { json!({}) } else { json!({ "replicas": replicas }) };
    json!({ "kind": "Scale", "apiVersion": "autoscaling/v1", "metadata": metadata, "spec": wanted, "status": shown })
}

/// A label selector, or a plain map of labels, as text.
pub(crate) fn selector_text(selector: Option<&Value>) -> String {
    let Some(Value::Object(map)) = selector else {
        return String::new();
    };
    let pairs = |labels: &serde_json::Map<String, Value>| -> Vec<String> {
        labels.iter().map(|(k, v)| format!("{k}={}", v.as_str().unwrap_or_default())).collect()
    };
    let mut parts = Vec::new();
    match (map.get("matchLabels"), map.get("matchExpressions")) {
        (None, None) => parts = pairs(map),
        (labels, expressions) => {
            parts.extend(labels.and_then(Value::as_object).map(pairs).unwrap_or_default());
            for e in expressions.and_then(Value::as_array).into_iter().flatten() {
                let mut values: Vec<&str> = json::list(e, &["values"]).iter().filter_map(Value::as_str).collect();
                values.sort_unstable();
                let key = json::text(e, &["key"]);
                parts.push(match json::text(e, &["operator"]) {
                    "In" => format!("{key} in ({})", values.join(",")),
                    "NotIn" => format!("{key} notin ({})", values.join(",")),
                    "DoesNotExist" => format!("!{key}"),
                    _ => key.to_owned(),
                });
            }
        }
    }
    parts.sort();
    parts.join(",")
}

/// The part of the object that an applied Scale sets.
pub(crate) fn applied(resource: &Resource, scale: &Value) -> Value {
    let (spec, ..) = paths(resource);
    let mut value = json::at(scale, &["spec", "replicas"]).cloned().unwrap_or_default();
    for key in spec.iter().rev() {
        value = Value::Object([(key.clone(), value)].into_iter().collect());
    }
    let name = json::text(scale, &["metadata", "name"]);
    let object = json::object(&mut value);
    object.insert("metadata".into(), json!({ "name": name }));
    object.insert("apiVersion".into(), resource.stored_api_version.clone().into());
    object.insert("kind".into(), resource.kind.clone().into());
    value
}

/// Sets the wanted replicas.
pub(crate) fn write(resource: &Resource, object: &mut Value, replicas: i64) -> Result<(), Failure> {
    if replicas < 0 {
        let name = json::text(object, &["metadata", "name"]);
        let cause = Cause::invalid("spec.replicas", &replicas.into(), "must be greater than or equal to 0");
        return Err(Failure::invalid("autoscaling", "Scale", name, &[cause]));
    }
    let (spec, ..) = paths(resource);
    let Some((last, parents)) = spec.split_last() else {
        return Ok(());
    };
    let mut map = json::object(object);
    for parent in parents {
        map = json::child(map, parent);
    }
    map.insert(last.clone(), replicas.into());
    Ok(())
}
