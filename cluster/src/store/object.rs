//! One version of one object: its JSON bytes and the few values that selectors and keys need.
//!
//! Never changes after it was built; lists, history and watchers share it.

use std::sync::Arc;

use bytes::Bytes;
use serde_json::Value;

use crate::json;

/// The key of an object inside its collection: `namespace/name`, or `name` when cluster-scoped.
pub(crate) fn key(namespace: &str, name: &str) -> String {
    if namespace.is_empty() { name.to_owned() } else { format!("{namespace}/{name}") }
}

/// What selectors ask of an object besides its name.
#[derive(Debug, Default)]
pub(crate) struct Index {
    pub labels: Box<[(Box<str>, Box<str>)]>,
    /// Selectable fields in the order the kind declares them.
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

/// A stored object.
#[derive(Debug)]
pub(crate) struct Stored {
    pub key: Arc<str>,
    pub revision: u64,
    pub uid: Box<str>,
    /// It has a deletionTimestamp.
    pub terminating: bool,
    /// The whole object, in its storage version.
    pub json: Bytes,
    /// Where `kind` and `apiVersion`, which come first, end in it.
    typed: usize,
    index: Index,
}

impl Stored {
    /// Serialises `object`, whose metadata is complete.
    pub(crate) fn build(object: &Value, revision: u64, index: Index) -> Self {
        let namespace = json::text(object, &["metadata", "namespace"]);
        let name = json::text(object, &["metadata", "name"]);
        let mut bytes = json::bytes(object);
        bytes.shrink_to_fit();
        let typed = typed_length(object);
        Self {
            key: key(namespace, name).into(),
            revision,
            uid: json::text(object, &["metadata", "uid"]).into(),
            terminating: json::at(object, &["metadata", "deletionTimestamp"]).is_some_and(|v| !v.is_null()),
            json: bytes.into(),
            typed,
            index,
        }
    }

    /// The object without `kind` and `apiVersion`, less its opening brace: how it stands in a list of its kind.
    pub(crate) fn untyped(&self) -> &[u8] {
        self.json.get(self.typed..).unwrap_or_default()
    }

    /// The object as a value of its own.
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

/// The length of `{"kind":"…","apiVersion":"…",` when that is how the object begins, else of the brace.
fn typed_length(object: &Value) -> usize {
    let mut entries = object.as_object().into_iter().flatten();
    match (entries.next(), entries.next()) {
        (Some((first, kind)), Some((second, version))) if first == "kind" && second == "apiVersion" => {
            let text = |v: &Value| json::bytes(v).len();
            "{\"kind\":,\"apiVersion\":,".len() + text(kind) + text(version)
        }
        _ => 1,
    }
}
