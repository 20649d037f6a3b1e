//! Converts objects of a request to the version that a webhook wants, and back.

use serde_json::Value;

use super::Attributes;
use crate::conversion;
use crate::json;
use crate::kinds::Resource;
use crate::status::Failure;

/// Converts `object` from the version of `from` to that of `to`.
pub(super) async fn convert(
    attributes: &Attributes<'_>,
    from: &Resource,
    to: &Resource,
    mut object: Value,
) -> Result<Value, Failure> {
    if from.api_version() == to.api_version() || !attributes.is_versioned() {
        return Ok(object);
    }
    from.to_storage(&mut object);
    to.show_stored(&mut object);
    if !conversion::needed(to) {
        return Ok(object);
    }
    let converted = conversion::to_version(attributes.shared, to, object).await;
    converted.map_err(|failure| Failure::internal_error(failure.message()))
}

/// The same for an optional object.
pub(super) async fn maybe(
    attributes: &Attributes<'_>,
    to: &Resource,
    object: Option<&Value>,
) -> Result<Option<Value>, Failure> {
    match object {
        Some(object) => convert(attributes, attributes.resource, to, object.clone()).await.map(Some),
        None => Ok(None),
    }
}

/// Puts kind and apiVersion first, as in every object that is written out.
pub(super) fn complete(attributes: &Attributes<'_>, resource: &Resource, object: &mut Value) {
    let map = json::object(object);
    if attributes.is_versioned() {
        map.insert("kind".into(), resource.kind.clone().into());
        map.insert("apiVersion".into(), resource.api_version().into());
    }
}
