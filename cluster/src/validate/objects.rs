//! Required fields and immutable fields of built-in kinds.
//!
//! Never checks metadata.

use serde_json::Value;

use crate::kinds::{Resource, crd};
use crate::status::Cause;

/// Problems of `object`, in its storage version; `old` is the version it replaces.
pub(crate) fn problems(resource: &Resource, object: &Value, _old: Option<&Value>) -> Vec<Cause> {
    match &*resource.storage {
        "customresourcedefinitions.apiextensions.k8s.io" => crd::problems(object),
        _ => Vec::new(),
    }
}
