//! The shapes of Secrets that the hook writes and reads.
//!
//! It makes no calls.

use crate::NAME;
use crate::plan::{Copied, Source};
use boathook_sdk::kube::ObjectRef;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The Secret with our name in a namespace.
pub fn reference(namespace: &str) -> ObjectRef {
    ObjectRef::new("v1", "Secret", namespace, NAME)
}

/// A copy to be created: what of the source is copied, our label, and nothing else.
#[derive(Serialize)]
pub struct NewCopy<'a> {
    #[serde(rename = "apiVersion")]
    api_version: &'static str,
    kind: &'static str,
    metadata: NewMetadata<'a>,
    #[serde(flatten)]
    content: &'a Source,
}

#[derive(Serialize)]
struct NewMetadata<'a> {
    name: &'static str,
    namespace: &'a str,
    labels: Labels<&'static str>,
}

/// The one label that matters ([`COPY_LABEL`](crate::COPY_LABEL)).
#[derive(Serialize, Deserialize)]
struct Labels<T> {
    #[serde(rename = "registry-secret.boathook.dev/copy")]
    copy: T,
}

impl<'a> NewCopy<'a> {
    /// A copy of the source for this namespace.
    pub fn new(namespace: &'a str, source: &'a Source) -> Self {
        let metadata = NewMetadata { name: NAME, namespace, labels: Labels { copy: "true" } };
        Self { api_version: "v1", kind: "Secret", metadata, content: source }
    }
}

/// A merge patch that makes a copy's data the source's.
#[derive(Serialize)]
pub struct DataPatch<'a> {
    metadata: Seen<'a>,
    /// `None` removes a key.
    data: BTreeMap<&'a str, Option<&'a str>>,
}

#[derive(Serialize)]
struct Seen<'a> {
    #[serde(rename = "resourceVersion")]
    resource_version: &'a str,
}

impl<'a> DataPatch<'a> {
    /// The patch for a copy that was seen in this version.
    pub fn new(resource_version: &'a str, source: &'a Source, copied: &'a Copied) -> Self {
        let mut data = BTreeMap::new();
        for (key, _) in copied.data.iter().flatten() {
            data.insert(key.as_str(), None);
        }
        for (key, value) in source.data.iter().flatten() {
            data.insert(key.as_str(), Some(value.as_str()));
        }
        Self { metadata: Seen { resource_version }, data }
    }
}

/// A Secret that is there, as far as it matters.
#[derive(Deserialize)]
pub struct Existing {
    metadata: ExistingMetadata,
}

#[derive(Deserialize)]
struct ExistingMetadata {
    labels: Option<Labels<Option<String>>>,
}

impl Existing {
    /// Whether it is labelled as our copy.
    pub fn is_copy(&self) -> bool {
        let label = self.metadata.labels.as_ref().and_then(|labels| labels.copy.as_deref());
        label == Some("true")
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
    use super::*;
    use serde_json::{from_value, json, to_value};

    #[test]
    fn a_copy_has_the_type_the_data_and_our_label() {
        let source = from_value(json!({"type": "Opaque", "data": {"a": "MQ=="}})).unwrap();
        let expected = json!({
            "apiVersion": "v1", "kind": "Secret", "type": "Opaque", "data": {"a": "MQ=="},
            "metadata": {"name": NAME, "namespace": "web", "labels": {crate::COPY_LABEL: "true"}},
        });
        assert_eq!(to_value(NewCopy::new("web", &source)).unwrap(), expected);
    }

    #[test]
    fn a_patch_removes_what_the_source_does_not_have() {
        let source = from_value(json!({"type": "Opaque", "data": {"a": "MQ==", "c": "Mw=="}})).unwrap();
        let copied = from_value(json!({"type": "Opaque", "data": {"a": "", "b": "Mg=="}, "immutable": null})).unwrap();
        let patch = to_value(DataPatch::new("7", &source, &copied)).unwrap();
        let expected = json!({
            "metadata": {"resourceVersion": "7"},
            "data": {"a": "MQ==", "b": null, "c": "Mw=="},
        });
        assert_eq!(patch, expected);
    }

    #[test]
    fn only_the_label_makes_a_copy() {
        let labelled = |labels| from_value::<Existing>(json!({"metadata": {"labels": labels}})).unwrap();
        assert!(labelled(json!({crate::COPY_LABEL: "true", "x": "y"})).is_copy());
        assert!(!labelled(json!({crate::COPY_LABEL: "false"})).is_copy());
        assert!(!labelled(json!({"x": "y"})).is_copy());
        assert!(!labelled(json!(null)).is_copy());
    }
}
