//! Converts custom objects to another version with the webhook of their definition. Without a webhook, `kinds` converts
//! between versions.

mod review;

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};

use crate::json;
use crate::kinds::crd::Converter;
use crate::kinds::{Resource, structural};
use crate::lifecycle::create::uid;
use crate::shared::Shared;
use crate::status::Failure;
use crate::store::Stored;
use crate::webhook::{self, Endpoint};

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
    let converted = review::objects(&answer, &converter.review, &uid).map_err(|why| failed(&why))?;
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
        let new = review::accepted(&object, new, to);
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
