//! Converts custom objects to another version with the webhook of their definition. Without a webhook, `kinds` converts
//! between versions.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value, json};

use crate::kinds::crd::Converter;
use crate::kinds::{Resource, structural};
use crate::lifecycle::create::uid;
use crate::shared::Shared;
use crate::status::Failure;
use crate::store::Stored;
use crate::webhook::Endpoint;
use crate::{json, webhook};

/// The real server's timeout for a converter.
const PATIENCE: Duration = Duration::from_secs(30);

/// The converter of a resource, if it has one.
fn converter(resource: &Resource) -> Option<&Arc<Converter>> {
    resource.custom.as_ref()?.converter.as_ref()
}

/// Whether stored objects of the resource may have to be converted before they are shown.
pub(crate) fn needed(resource: &Resource) -> bool {
    converter(resource).is_some()
}

/// Converts `objects` of one kind to the version `to`. Objects that already have this version are unchanged.
async fn convert(shared: &Shared, converter: &Converter, objects: Vec<Value>, to: &str) -> Result<Vec<Value>, Failure> {
    let others: Vec<&Value> = objects.iter().filter(|o| json::text(o, &["apiVersion"]) != to).collect();
    let Some(first) = others.first() else {
        return Ok(objects);
    };
    // The real server converts one object at a time, and its texts reflect that.
    let subject = format!("{}, Kind={}", json::text(first, &["apiVersion"]), json::text(first, &["kind"]));
    let failed = |why: &str| Failure::internal(format!("conversion webhook for {subject} failed: {why}"));
    let uid = uid();
    let review = json!({
        "kind": "ConversionReview", "apiVersion": format!("apiextensions.k8s.io/{}", converter.review),
        "request": { "uid": uid, "desiredAPIVersion": to, "objects": others },
    });
    let endpoint = Endpoint::of(shared, &converter.client).map_err(|why| failed(&why))?;
    let answer = webhook::post(&endpoint, &review, PATIENCE).await.map_err(|why| failed(&why))?;
    let converted = converted_objects(&answer, &converter.review, &uid).map_err(|why| failed(&why))?;
    if converted.len() != others.len() {
        return Err(Failure::internal(format!(
            "conversion webhook for {subject} returned {} objects, expected {}",
            converted.len(),
            others.len()
        )));
    }
    let mut converted = converted.into_iter();
    let mut out = Vec::with_capacity(objects.len());
    for object in objects {
        if json::text(&object, &["apiVersion"]) == to {
            out.push(object);
            continue;
        }
        let Some(new) = converted.next() else { break };
        let new = accepted(&object, new, to);
        out.push(new.map_err(|why| Failure::internal(format!("conversion webhook for {subject} returned {why}")))?);
    }
    Ok(out)
}

/// Objects in the version of `resource`, with only its fields.
async fn shaped(shared: &Shared, resource: &Resource, objects: Vec<Value>) -> Result<Vec<Value>, Failure> {
    let Some(converter) = converter(resource) else {
        return Ok(objects);
    };
    let mut converted = convert(shared, converter, objects, &resource.api_version()).await?;
    converted.iter_mut().for_each(|object| prune(resource, object));
    Ok(converted)
}

/// Drops the fields of other versions without a warning. Defaults apply only to what clients write.
fn prune(resource: &Resource, object: &mut Value) {
    if let Some(schema) = resource.custom.as_ref().and_then(|custom| custom.schema.as_ref()) {
        structural::prune(object, schema, true, &mut Vec::new(), &mut Vec::new());
    }
}

/// One object in the version of `resource`.
pub(crate) async fn to_version(shared: &Shared, resource: &Resource, object: Value) -> Result<Value, Failure> {
    shaped(shared, resource, vec![object]).await?.pop().ok_or_else(missing)
}

/// One object in the version in which it is stored.
pub(crate) async fn to_storage(shared: &Shared, resource: &Resource, object: Value) -> Result<Value, Failure> {
    let Some(converter) = converter(resource) else {
        return Ok(object);
    };
    let converted = convert(shared, converter, vec![object], &resource.stored_api_version).await?.pop();
    let mut converted = converted.ok_or_else(missing)?;
    let version = resource.stored_api_version.rsplit('/').next().unwrap_or_default();
    if let Some(stored) = shared.registry().find(&resource.group, version, &resource.plural) {
        prune(stored, &mut converted);
    }
    Ok(converted)
}

fn missing() -> Failure {
    Failure::internal("a converted object is missing")
}

/// A stored object as the resource's version shows it.
pub(crate) async fn shown(shared: &Shared, resource: &Resource, stored: Arc<Stored>) -> Result<Arc<Stored>, Failure> {
    if !needed(resource) {
        return Ok(stored);
    }
    let value = to_version(shared, resource, stored.value()).await?;
    Ok(rebuilt(resource, &stored, &value))
}

/// The items of a list as the resource's version shows them, converted with one call.
pub(crate) async fn all(
    shared: &Shared,
    resource: &Resource,
    items: Vec<Arc<Stored>>,
) -> Result<Vec<Arc<Stored>>, Failure> {
    if !needed(resource) {
        return Ok(items);
    }
    let values = shaped(shared, resource, items.iter().map(|item| item.value()).collect()).await?;
    Ok(items.iter().zip(&values).map(|(item, value)| rebuilt(resource, item, value)).collect())
}

fn rebuilt(resource: &Resource, stored: &Stored, value: &Value) -> Arc<Stored> {
    let mut typed = serde_json::Map::new();
    for key in ["kind", "apiVersion"] {
        typed.extend(value.get(key).map(|v| (key.to_owned(), v.clone())));
    }
    let fields = value.as_object().into_iter().flatten().filter(|(k, _)| !matches!(k.as_str(), "kind" | "apiVersion"));
    typed.extend(fields.map(|(k, v)| (k.clone(), v.clone())));
    let value = Value::Object(typed);
    Arc::new(Stored::build(&value, stored.revision, resource.index(&value)))
}

/// The objects of a response.
///
/// # Errors
/// The converter's own message, or the problem of the response.
fn converted_objects(answer: &Value, version: &str, uid: &str) -> Result<Vec<Value>, String> {
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
fn accepted(from: &Value, mut to: Value, wanted: &str) -> Result<Value, String> {
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
