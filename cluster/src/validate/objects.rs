//! Required fields and immutable fields of built-in kinds.
//!
//! Never checks metadata.

use serde_json::Value;

use crate::kinds::{Resource, crd, structural};
use crate::status::Cause;

/// Problems of `object`, in its storage version; `old` is the version it replaces.
pub(crate) fn problems(resource: &Resource, object: &Value, _old: Option<&Value>) -> Vec<Cause> {
    if let Some(schema) = resource.custom.as_ref().and_then(|c| c.schema.as_ref()) {
        return structural::problems(object, schema, "");
    }
    match &*resource.storage {
        "customresourcedefinitions.apiextensions.k8s.io" => crd::problems(object),
        _ => Vec::new(),
    }
}
