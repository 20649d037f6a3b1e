//! Labels and annotations that a decorator sets on an object of somebody else.
//!
//! The hook returns the object itself among the children, with these labels and annotations. They are applied without force,
//! so a label that somebody else manages stays theirs. An annotation has their keys. Without it, the next operator could not
//! know what to remove, or that there is nothing to write, because watches do not keep managed fields.

use std::collections::BTreeMap;

use boathook_core::model::ObjectRef;
use serde_json::{Map, Value, json};

use super::{marks::Names, status};

/// The most bytes of one decoration. The API server accepts annotations of 256 KiB for an object.
const MOST_BYTES: usize = 64 * 1024;

/// What a decorator sets.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(in super::super) struct Decoration {
    labels: BTreeMap<String, String>,
    annotations: BTreeMap<String, String>,
}

/// Takes the parent out of the children, and returns what the hook wants to set on it.
pub(super) fn taken(children: &mut Vec<String>, parent: &ObjectRef) -> Result<Decoration, String> {
    let mut found = None;
    let mut wrong = None;
    children.retain(|child| {
        // Most children are not parsed.
        let child = child.contains(&parent.kind).then(|| serde_json::from_str::<Value>(child).ok()).flatten();
        let Some(child) = child.filter(|child| is(child, parent)) else { return true };
        match Decoration::read(&child) {
            Ok(_) if found.is_some() => wrong = Some("it is returned twice: return it once".to_owned()),
            Ok(decoration) => found = Some(decoration),
            Err(problem) => wrong = Some(problem),
        }
        false
    });
    match wrong {
        Some(problem) => Err(format!("{parent}, which the hook decorates: {problem}")),
        None => Ok(found.unwrap_or_default()),
    }
}

fn is(child: &Value, parent: &ObjectRef) -> bool {
    let reference = ObjectRef::of(child);
    let group = |version: &str| version.split_once('/').map(|(group, _)| group.to_owned());
    let namespace = reference.namespace.as_deref().filter(|namespace| !namespace.is_empty());
    reference.kind == parent.kind
        && reference.name == parent.name
        && group(&reference.api_version) == group(&parent.api_version)
        && namespace.is_none_or(|namespace| parent.namespace.as_deref() == Some(namespace))
}

impl Decoration {
    fn read(object: &Value) -> Result<Self, String> {
        let only = |value: Option<&Value>, known: &[&str]| {
            let fields = value.and_then(Value::as_object).into_iter().flatten();
            let other = fields.filter(|(name, value)| !value.is_null() && !known.contains(&name.as_str()));
            other.map(|(name, _)| name.clone()).next()
        };
        let metadata = object.get("metadata");
        let other = only(Some(object), &["apiVersion", "kind", "metadata"]);
        let other = other.or_else(|| only(metadata, &["name", "namespace", "labels", "annotations"]));
        if let Some(field) = other {
            return Err(format!(
                "a decorator sets only metadata.labels and metadata.annotations of it: remove the field {field}"
            ));
        }
        let texts = |mapping: &str| texts(metadata.and_then(|metadata| metadata.get(mapping)), mapping);
        let made = Self { labels: texts("labels")?, annotations: texts("annotations")? };
        let bytes = made.bytes();
        if bytes > MOST_BYTES {
            return Err(format!("its labels and annotations have {bytes} bytes, more than {MOST_BYTES}: set less"));
        }
        Ok(made)
    }

    /// The bytes of its texts.
    pub fn bytes(&self) -> usize {
        self.labels.iter().chain(&self.annotations).map(|(key, value)| key.len() + value.len()).sum()
    }

    fn is_empty(&self) -> bool {
        self.labels.is_empty() && self.annotations.is_empty()
    }

    /// The annotation with the keys.
    fn keys(&self) -> Option<String> {
        let keys = |texts: &BTreeMap<String, String>| texts.keys().cloned().collect::<Vec<_>>();
        (!self.is_empty())
            .then(|| json!({"labels": keys(&self.labels), "annotations": keys(&self.annotations)}).to_string())
    }

    /// The body of an apply that sets this and removes what was set before, if there is something to do.
    pub fn body(&self, parent: &Value, names: &Names) -> Option<Value> {
        let of = |mapping: &str, key: &str| parent.get("metadata")?.get(mapping)?.get(key)?.as_str();
        let all = |mapping: &str, texts: &BTreeMap<String, String>| {
            texts.iter().all(|(key, value)| of(mapping, key) == Some(value.as_str()))
        };
        let keys = self.keys();
        let knows = of("annotations", &names.decorated) == keys.as_deref();
        if knows && all("labels", &self.labels) && all("annotations", &self.annotations) {
            return None;
        }
        let texts = |texts: &BTreeMap<String, String>| -> Map<String, Value> {
            texts.iter().map(|(key, value)| (key.clone(), value.as_str().into())).collect()
        };
        let (labels, mut annotations) = (texts(&self.labels), texts(&self.annotations));
        annotations.extend(keys.map(|keys| (names.decorated.clone(), keys.into())));
        let mut object = status::identity(parent);
        if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
            metadata.insert("labels".to_owned(), labels.into());
            metadata.insert("annotations".to_owned(), annotations.into());
        }
        Some(object)
    }
}

fn texts(value: Option<&Value>, mapping: &str) -> Result<BTreeMap<String, String>, String> {
    let fields = match value {
        None | Some(Value::Null) => return Ok(BTreeMap::new()),
        Some(Value::Object(fields)) => fields,
        Some(_) => return Err(format!("metadata.{mapping} is not a mapping")),
    };
    let text = |(key, value): (&String, &Value)| {
        let prefix = key.split_once('/').map(|(prefix, _)| prefix);
        if matches!(prefix, Some("boathook.dev" | "applyset.kubernetes.io")) {
            return Err(format!("metadata.{mapping} has {key}, which is Boathook's own: remove it"));
        }
        let value = value.as_str().ok_or_else(|| format!("metadata.{mapping} has {key}, whose value is not text"))?;
        Ok((key.clone(), value.to_owned()))
    };
    fields.iter().map(text).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parent() -> Value {
        json!({"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {
            "name": "db", "namespace": "a", "uid": "u", "labels": {"app": "db"}, "annotations": {"x": "y"}}})
    }

    fn wants(metadata: Value) -> Result<Decoration, String> {
        let mut object = json!({"apiVersion": "apps/v1beta1", "kind": "StatefulSet", "metadata": metadata});
        object["metadata"]["name"] = json!("db");
        let other = json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "db"}}).to_string();
        let mut children = vec![other.clone(), object.to_string()];
        let made = taken(&mut children, &ObjectRef::of(&parent()));
        assert_eq!(children, [other]);
        made
    }

    #[test]
    fn what_is_wanted_is_written_once_and_removed_when_it_is_not_wanted_any_more() {
        let names = Names::of(Some("hook/binding"));
        let wanted = wants(json!({"labels": {"tier": "1"}, "annotations": {"a": "b"}})).unwrap();
        let body = wanted.body(&parent(), &names).unwrap();
        assert_eq!(body["metadata"]["labels"], json!({"tier": "1"}), "nothing of others");
        assert_eq!((&body["metadata"]["uid"], &body["metadata"]["annotations"]["a"]), (&json!("u"), &json!("b")));
        let mut has = parent();
        for mapping in ["labels", "annotations"] {
            let fields = body["metadata"][mapping].as_object().unwrap().clone();
            has["metadata"][mapping].as_object_mut().unwrap().extend(fields);
        }
        assert_eq!(wanted.body(&has, &names), None);
        let less = wants(json!({"labels": {"tier": "1"}})).unwrap();
        let body = less.body(&has, &names).unwrap();
        assert!(body["metadata"]["annotations"].get("a").is_none(), "an apply without it removes it");
        let nothing = Decoration::default();
        assert_eq!(nothing.body(&parent(), &names), None);
        let body = nothing.body(&has, &names).unwrap();
        assert_eq!((&body["metadata"]["labels"], &body["metadata"]["annotations"]), (&json!({}), &json!({})));
        has["metadata"]["labels"]["tier"] = json!("2");
        assert!(wanted.body(&has, &names).is_some(), "somebody changed it");
    }

    // mutant: crates/operator/src/app/reconcile/decorations.rs: `if bytes > MOST_BYTES {` => `if false {`
    #[test]
    fn nothing_else_of_the_object_is_set() {
        for (metadata, said) in [
            (json!({"finalizers": ["x"]}), "remove the field finalizers"),
            (json!({"labels": {"a": 1}}), "metadata.labels has a, whose value is not text"),
            (json!({"labels": []}), "metadata.labels is not a mapping"),
            (json!({"annotations": {"boathook.dev/teardown": ""}}), "which is Boathook's own"),
            (json!({"labels": {"applyset.kubernetes.io/id": ""}}), "which is Boathook's own"),
            (json!({"annotations": {"a": "x".repeat(MOST_BYTES)}}), "bytes, more than 65536: set less"),
        ] {
            let error = wants(metadata).unwrap_err();
            assert!(error.starts_with("apps/v1 StatefulSet a/db, which the hook decorates: "), "{error}");
            assert!(error.contains(said), "{error}");
        }
        let spec = json!({"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": "db"}, "spec": {}});
        let of =
            |children: &[Value]| taken(&mut children.iter().map(Value::to_string).collect(), &ObjectRef::of(&parent()));
        assert!(of(&[spec]).unwrap_err().contains("remove the field spec"));
        let twice = parent_only();
        assert!(of(&[twice.clone(), twice]).unwrap_err().contains("return it once"));
        let mut elsewhere = parent_only();
        elsewhere["metadata"]["namespace"] = json!("b");
        assert_eq!(of(&[elsewhere]), Ok(Decoration::default()), "that is another object");
    }

    fn parent_only() -> Value {
        json!({"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": "db", "labels": {"a": "b"}}})
    }
}
