//! One version of an object: its JSON bytes, and the few values for selectors and keys. It is immutable, because lists,
//! history and watchers share it.

use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

use crate::json;

/// The key of an object in its collection: `namespace/name`, or `name` for a cluster-scoped object.
pub(crate) fn key(namespace: &str, name: &str) -> String {
    if namespace.is_empty() { name.to_owned() } else { format!("{namespace}/{name}") }
}

/// The values for selectors, except the name.
#[derive(Debug, Default)]
pub(crate) struct Index {
    pub labels: Box<[(Box<str>, Box<str>)]>,
    /// Selectable fields, in the order of the kind's declaration.
    pub fields: Box<[(Arc<str>, Box<str>)]>,
}

impl Index {
    pub(crate) fn labels_of(object: &Value) -> Box<[(Box<str>, Box<str>)]> {
        match json::at(object, &["metadata", "labels"]) {
            Some(Value::Object(labels)) => {
                labels.iter().map(|(k, v)| (k.as_str().into(), v.as_str().unwrap_or_default().into())).collect()
            }
            _ => Box::default(),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Owner {
    pub uid: Box<str>,
    pub api_version: Box<str>,
    pub kind: Box<str>,
    pub name: Box<str>,
    /// The owner's foreground deletion waits for this dependent.
    pub blocks: bool,
}

impl Owner {
    fn all(object: &Value) -> Box<[Self]> {
        let references = json::list(object, &["metadata", "ownerReferences"]).iter();
        references
            .map(|r| Self {
                uid: json::text(r, &["uid"]).into(),
                api_version: json::text(r, &["apiVersion"]).into(),
                kind: json::text(r, &["kind"]).into(),
                name: json::text(r, &["name"]).into(),
                blocks: r.get("blockOwnerDeletion") == Some(&Value::Bool(true)),
            })
            .collect()
    }
}

/// The finalizer of an owner whose deletion waits for its dependents.
pub(crate) const FOREGROUND: &str = "foregroundDeletion";
/// The finalizer of an owner that releases its dependents before it is deleted.
pub(crate) const ORPHAN: &str = "orphan";

/// A stored object.
#[derive(Debug)]
pub(crate) struct Stored {
    pub key: Arc<str>,
    pub revision: u64,
    pub uid: Box<str>,
    /// It has a deletionTimestamp.
    pub terminating: bool,
    /// It has the finalizer `foregroundDeletion`.
    pub foreground: bool,
    /// It has the finalizer `orphan`.
    pub orphan: bool,
    /// The time of its deletion request, and its grace period in seconds. None without a grace period.
    pub grace: Option<(Timestamp, i64)>,
    pub owners: Box<[Owner]>,
    /// The whole object, in its storage version.
    pub json: Bytes,
    /// The end of `kind` and `apiVersion` in `json`, where they come first.
    typed: usize,
    /// The position of the value of `metadata` in `json`.
    metadata: Range<usize>,
    index: Index,
}

impl Stored {
    /// Serializes `object`, whose metadata must be complete.
    pub(crate) fn build(object: &Value, revision: u64, index: Index) -> Self {
        let namespace = json::text(object, &["metadata", "namespace"]);
        let name = json::text(object, &["metadata", "name"]);
        let Text { bytes, typed, metadata } = Text::of(object);
        Self {
            key: key(namespace, name).into(),
            revision,
            uid: json::text(object, &["metadata", "uid"]).into(),
            terminating: json::at(object, &["metadata", "deletionTimestamp"]).is_some_and(|v| !v.is_null()),
            foreground: has_finalizer(object, FOREGROUND),
            orphan: has_finalizer(object, ORPHAN),
            grace: grace(object),
            owners: Owner::all(object),
            json: bytes.into(),
            typed,
            metadata,
            index,
        }
    }

    /// Its deletion must first handle its dependents.
    pub(crate) fn goes_by_steps(&self) -> bool {
        self.terminating && (self.foreground || self.orphan)
    }

    /// The object without `kind`, `apiVersion` and the opening brace, as in a list of its kind.
    pub(crate) fn untyped(&self) -> &[u8] {
        self.json.get(self.typed..).unwrap_or_default()
    }

    /// The JSON of the object's metadata.
    pub(crate) fn metadata(&self) -> &[u8] {
        self.json.get(self.metadata.clone()).unwrap_or(b"{}")
    }

    /// The object, parsed from its JSON.
    pub(crate) fn value(&self) -> Value {
        serde_json::from_slice(&self.json).unwrap_or_default()
    }

    pub(crate) fn name(&self) -> &str {
        self.key.rsplit_once('/').map_or(&*self.key, |(_, name)| name)
    }

    pub(crate) fn namespace(&self) -> &str {
        self.key.rsplit_once('/').map_or("", |(namespace, _)| namespace)
    }

    pub(crate) fn label(&self, key: &str) -> Option<&str> {
        self.index.labels.iter().find(|(k, _)| **k == *key).map(|(_, v)| &**v)
    }

    pub(crate) fn field(&self, path: &str) -> Option<&str> {
        match path {
            "metadata.name" => Some(self.name()),
            "metadata.namespace" => Some(self.namespace()),
            path => self.index.fields.iter().find(|(k, _)| **k == *path).map(|(_, v)| &**v),
        }
    }
}

fn grace(object: &Value) -> Option<(Timestamp, i64)> {
    let seconds = json::int(object, &["metadata", "deletionGracePeriodSeconds"]).filter(|s| *s > 0)?;
    let end: Timestamp = json::text(object, &["metadata", "deletionTimestamp"]).parse().ok()?;
    Some((end.checked_sub(SignedDuration::from_secs(seconds)).ok()?, seconds))
}

fn has_finalizer(object: &Value, name: &str) -> bool {
    json::list(object, &["metadata", "finalizers"]).iter().any(|f| f == name)
}

/// The JSON of an object, and the positions of its parts.
struct Text {
    bytes: Vec<u8>,
    typed: usize,
    metadata: Range<usize>,
}

impl Text {
    fn of(object: &Value) -> Self {
        let mut text = Self { bytes: vec![b'{'], typed: 1, metadata: 0..0 };
        for (index, (key, value)) in object.as_object().into_iter().flatten().enumerate() {
            if index > 0 {
                text.bytes.push(b',');
            }
            if index == 2 && has_type_first(object) {
                text.typed = text.bytes.len();
            }
            text.bytes.extend(json::bytes(key));
            text.bytes.push(b':');
            let start = text.bytes.len();
            // Writing to memory cannot fail.
            let _written = serde_json::to_writer(&mut text.bytes, value);
            if key == "metadata" {
                text.metadata = start..text.bytes.len();
            }
        }
        text.bytes.push(b'}');
        text.bytes.shrink_to_fit();
        text
    }
}

/// Whether the object begins with its kind and apiVersion.
fn has_type_first(object: &Value) -> bool {
    let mut keys = object.as_object().into_iter().flat_map(|map| map.keys());
    keys.next().is_some_and(|k| k == "kind") && keys.next().is_some_and(|k| k == "apiVersion")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use serde_json::json;

    #[test]
    fn the_text_is_the_object_and_its_parts_are_found() {
        let metadata = json!({ "name": "x", "annotations": { "metadata": "\"}{" } });
        let object =
            json!({ "kind": "A", "apiVersion": "v1", "data": { "metadata": 1 }, "metadata": metadata, "z": [1] });
        let stored = Stored::build(&object, 1, Index::default());
        assert_eq!(stored.value(), object);
        assert_eq!(serde_json::from_slice::<Value>(stored.metadata()).unwrap(), metadata);
        assert!(stored.untyped().starts_with(b"\"data\":"));
        let bare = Stored::build(&json!({ "metadata": {} }), 1, Index::default());
        assert_eq!((bare.untyped(), bare.metadata()), (&b"\"metadata\":{}}"[..], &b"{}"[..]));
    }
}
