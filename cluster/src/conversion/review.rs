//! The response of a converter: whether it matches the request, and which metadata it may change.

use serde_json::{Map, Value};

use crate::json;

/// The objects of a response.
///
/// # Errors
/// The converter's own message, or the problem of the response.
pub(super) fn objects(answer: &Value, version: &str, uid: &str) -> Result<Vec<Value>, String> {
    let (api_version, kind) = (json::text(answer, &["apiVersion"]), json::text(answer, &["kind"]));
    let (group, short) = api_version.split_once('/').unwrap_or(("", api_version));
    let wanted = "apiextensions.k8s.io/v1, Kind=ConversionReview";
    if version == "v1" && format!("{group}/{short}, Kind={kind}") != wanted {
        return Err(format!("expected webhook response of {wanted}, got {group}/{short}, Kind={kind}"));
    }
    let response = answer.get("response").filter(|r| r.is_object()).ok_or("no response provided")?;
    let got = json::text(response, &["uid"]);
    if version == "v1" && got != uid {
        return Err(format!("expected response.uid={uid:?}, got {got:?}"));
    }
    let status = json::text(response, &["result", "status"]);
    if status != "Success" {
        let message = json::text(response, &["result", "message"]);
        return Err(match message {
            "" => format!("response.result.status was '{status}', not 'Success'"),
            message => message.to_owned(),
        });
    }
    Ok(json::list(response, &["convertedObjects"]).to_vec())
}

/// A converted object, with the metadata that a converter cannot change.
pub(super) fn accepted(from: &Value, mut to: Value, wanted: &str) -> Result<Value, String> {
    let text = |value: &Value, path: &[&str]| json::text(value, path).to_owned();
    let typed = "invalid object at index 0";
    let got = text(&to, &["apiVersion"]);
    if got != wanted {
        return Err(format!("{typed}: invalid groupVersion (expected {wanted}, received {got})"));
    }
    let (kind, received) = (text(from, &["kind"]), text(&to, &["kind"]));
    if kind != received {
        return Err(format!("{typed}: invalid kind (expected {kind}, received {received})"));
    }
    for (key, name) in [("name", "name"), ("namespace", "namespace"), ("uid", "UID")] {
        let (before, after) = (text(from, &["metadata", key]), text(&to, &["metadata", key]));
        if before != after {
            return Err(format!("invalid object: must have the same {name}: {before} != {after}"));
        }
    }
    restore(from, &mut to).map_err(|why| format!("invalid metadata: {why}"))?;
    Ok(to)
}

/// The converter may change labels and annotations. All other metadata is restored.
fn restore(from: &Value, to: &mut Value) -> Result<(), String> {
    let mut kept: Map<String, Value> = from.get("metadata").and_then(Value::as_object).cloned().unwrap_or_default();
    for key in ["labels", "annotations"] {
        let new = json::at(to, &["metadata", key]).filter(|v| !v.is_null()).cloned();
        match new {
            Some(Value::Object(map)) if map.is_empty() => {
                kept.shift_remove(key);
            }
            Some(Value::Object(map)) => {
                if let Some((name, value)) = map.iter().find(|(_, value)| !value.is_string()) {
                    return Err(format!("metadata.{key}[{name}]: invalid type of {value}"));
                }
                kept.insert(key.to_owned(), Value::Object(map));
            }
            Some(_) => return Err(format!("invalid metadata.{key} in converted object")),
            None => {
                kept.shift_remove(key);
            }
        }
    }
    json::object(to).insert("metadata".into(), Value::Object(kept));
    Ok(())
}
