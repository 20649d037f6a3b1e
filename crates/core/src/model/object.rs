//! One object as it came from the API server: its identity, and its JSON without managed fields.
//!
//! The body is kept as text and not parsed further here, because most bindings need only a small part of it.

use std::{borrow::Cow, collections::BTreeMap, sync::Arc};

use serde::Deserialize;
use serde_json::value::RawValue;

use super::{ObjectKey, ObjectRef};
use crate::fair::Charge;

/// What only the API server writes to the metadata of an object.
pub const SERVER_FIELDS: [&str; 8] = [
    "uid",
    "resourceVersion",
    "generation",
    "managedFields",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "selfLink",
];

/// Why an object cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum InvalidObject {
    /// Not JSON, or not an object with metadata.
    #[error("not valid JSON of a Kubernetes object")]
    Json(#[source] serde_json::Error),
    /// `metadata.name` is missing.
    #[error("the object has no metadata.name")]
    NoName,
}

/// An object. It is cheap to share behind an `Arc`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Object {
    /// `v1`, `apps/v1`.
    pub api_version: Arc<str>,
    /// `Secret`.
    pub kind: Arc<str>,
    pub key: ObjectKey,
    /// `metadata.uid`.
    pub uid: Box<str>,
    /// `metadata.resourceVersion`.
    pub resource_version: Box<str>,
    /// The last writers: the managers of the newest managed fields. Their times are whole seconds, so there may be
    /// several.
    pub last_managers: Vec<Box<str>>,
    /// The whole object as compact JSON without `metadata.managedFields`. It always has `apiVersion` and `kind`, which
    /// items of lists do not have on the wire.
    pub json: Arc<str>,
    /// Its part of the memory for what is kept, as soon as something keeps it.
    pub charge: Charge,
}

/// One entry of `metadata.managedFields`, without the fields.
#[derive(Deserialize)]
struct ManagedFields<'a> {
    #[serde(borrow, default)]
    manager: Cow<'a, str>,
    /// RFC 3339 in UTC, so that the later time is the greater text.
    #[serde(borrow, default)]
    time: Cow<'a, str>,
}

type Fields<'a> = BTreeMap<Cow<'a, str>, &'a RawValue>;

impl Object {
    /// Reads an object from its JSON. `api_version` and `kind` are those of the list or watch that it came from.
    pub fn from_json(json: &str, api_version: &Arc<str>, kind: &Arc<str>) -> Result<Self, InvalidObject> {
        let mut fields: Fields<'_> = serde_json::from_str(json).map_err(InvalidObject::Json)?;
        let raw_meta = fields.remove("metadata").ok_or(InvalidObject::NoName)?;
        let mut meta: Fields<'_> = serde_json::from_str(raw_meta.get()).map_err(InvalidObject::Json)?;
        let managed = meta.remove("managedFields");
        let name = text(&meta, "name")?.ok_or(InvalidObject::NoName)?;
        Ok(Self {
            api_version: api_version.clone(),
            kind: kind.clone(),
            key: ObjectKey { namespace: text(&meta, "namespace")?.map(Arc::from), name: name.into() },
            uid: text(&meta, "uid")?.unwrap_or_default(),
            resource_version: text(&meta, "resourceVersion")?.unwrap_or_default(),
            last_managers: managed.map(|managed| last_managers(managed.get())).unwrap_or_default(),
            json: compact(&fields, &meta, api_version, kind),
            charge: Charge::default(),
        })
    }

    /// The last writers, separated by commas.
    pub fn managers(&self) -> Option<Arc<str>> {
        (!self.last_managers.is_empty()).then(|| self.last_managers.join(", ").into())
    }

    pub fn reference(&self) -> ObjectRef {
        ObjectRef {
            api_version: self.api_version.to_string(),
            kind: self.kind.to_string(),
            namespace: self.key.namespace.as_deref().map(str::to_owned),
            name: self.key.name.to_string(),
        }
    }
}

/// A text field of the metadata.
fn text(meta: &Fields<'_>, name: &str) -> Result<Option<Box<str>>, InvalidObject> {
    match meta.get(name) {
        Some(value) => serde_json::from_str(value.get()).map_err(InvalidObject::Json),
        None => Ok(None),
    }
}

fn last_managers(managed: &str) -> Vec<Box<str>> {
    let entries: Vec<ManagedFields<'_>> = serde_json::from_str(managed).unwrap_or_default();
    let newest = entries.iter().map(|entry| &entry.time).max();
    let mut managers: Vec<Box<str>> = Vec::with_capacity(1);
    for entry in entries.iter().filter(|entry| Some(&entry.time) == newest) {
        if !managers.iter().any(|known| **known == *entry.manager) {
            managers.push(entry.manager.as_ref().into());
        }
    }
    managers
}

/// Writes the object in the order that kubectl prints: apiVersion, kind, metadata, the rest.
fn compact(fields: &Fields<'_>, meta: &Fields<'_>, api_version: &str, kind: &str) -> Arc<str> {
    let mut out = String::with_capacity(1024);
    out.push_str("{\"apiVersion\":");
    push_string(&mut out, api_version);
    out.push_str(",\"kind\":");
    push_string(&mut out, kind);
    out.push_str(",\"metadata\":{");
    push_fields(&mut out, meta.iter(), false);
    out.push('}');
    push_fields(&mut out, fields.iter().filter(|(key, _)| !matches!(key.as_ref(), "apiVersion" | "kind")), true);
    out.push('}');
    out.into()
}

fn push_fields<'a>(
    out: &mut String,
    fields: impl Iterator<Item = (&'a Cow<'a, str>, &'a &'a RawValue)>,
    mut comma: bool,
) {
    for (key, value) in fields {
        if std::mem::replace(&mut comma, true) {
            out.push(',');
        }
        push_string(out, key);
        out.push(':');
        out.push_str(value.get());
    }
}

fn push_string(out: &mut String, text: &str) {
    out.push_str(&serde_json::Value::from(text).to_string());
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn read(json: &str) -> Result<Object, InvalidObject> {
        Object::from_json(json, &"v1".into(), &"Secret".into())
    }

    #[test]
    fn strips_managed_fields_and_adds_the_kind() {
        let object = read(r#"{"metadata":{"name":"a","namespace":"n","uid":"u","resourceVersion":"7","managedFields":[{"x":1}],"labels":{"k":"v"}},"data":{"b":"YQ=="}}"#).unwrap();
        assert_eq!(
            &*object.json,
            r#"{"apiVersion":"v1","kind":"Secret","metadata":{"labels":{"k":"v"},"name":"a","namespace":"n","resourceVersion":"7","uid":"u"},"data":{"b":"YQ=="}}"#
        );
        assert_eq!((object.key.to_string().as_str(), &*object.uid, &*object.resource_version), ("n/a", "u", "7"));
    }

    #[test]
    fn the_last_managers_are_those_who_wrote_last() {
        let managers = |managed: &str| {
            let json = format!(r#"{{"metadata":{{"name":"a","managedFields":{managed}}}}}"#);
            read(&json).unwrap().last_managers.join(",")
        };
        let (early, late) = ("2024-05-01T10:00:00Z", "2024-05-01T10:00:01Z");
        let entry = |manager: &str, time: &str| {
            format!(r#"{{"manager":"{manager}","operation":"Update","time":"{time}","fieldsV1":{{"f:x":{{}}}}}}"#)
        };
        assert_eq!(managers(&format!("[{},{}]", entry("a", late), entry("b", early))), "a");
        assert_eq!(managers(&format!("[{},{}]", entry("a", early), entry("b", late))), "b");
        assert_eq!(managers(&format!("[{},{}]", entry("a", late), entry("a", late))), "a");
        assert_eq!(managers(&format!("[{},{}]", entry("a", late), entry("b", late))), "a,b");
        for none in ["[]", "null", "{}", "[1]", r#"[{"manager":null}]"#] {
            assert_eq!(managers(none), "", "{none}");
        }
    }

    #[test]
    fn refuses_what_is_no_object() {
        assert!(matches!(read("[]"), Err(InvalidObject::Json(_))));
        assert!(matches!(read("{\"metadata\":{}}"), Err(InvalidObject::NoName)));
        assert!(matches!(read("{}"), Err(InvalidObject::NoName)));
        assert!(matches!(read("{\"metadata\":{\"name\":1}}"), Err(InvalidObject::Json(_))));
    }
}
