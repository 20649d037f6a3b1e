//! Manifests that a chart renders to, as objects: documents split as Helm splits them, lists taken apart, and completed with
//! what Helm adds to each object of a release. Pure.

use std::collections::BTreeMap;

use boathook_core::{
    hooks::{Duplicates, read_yaml},
    model::SERVER_FIELDS,
};
use serde_json::{Map, Value};

use crate::files::as_go;

/// The label that Helm sets on the objects of a release. Charts select by it.
const MANAGED_BY: &str = "app.kubernetes.io/managed-by";
const RELEASE_NAME: &str = "meta.helm.sh/release-name";
const RELEASE_NAMESPACE: &str = "meta.helm.sh/release-namespace";

/// A document of a manifest that is not an object.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{place}: {problem}")]
pub struct ManifestError {
    /// The template, or the file.
    pub place: String,
    pub problem: String,
}

/// One object of a manifest.
#[derive(Debug, Clone, PartialEq)]
pub struct Document {
    /// The template, or the file.
    pub source: String,
    pub object: Value,
}

/// What the objects of a release have in common.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    pub name: String,
    pub namespace: String,
    /// Labels of all objects, for example addon-operator's `heritage: addon-operator`.
    pub labels: BTreeMap<String, String>,
}

/// The objects of a manifest, in its order. Documents without content are left out.
///
/// # Errors
/// A document is not YAML, or not an object of Kubernetes. The error names the source and the line in it.
pub fn read(source: &str, text: &str) -> Result<Vec<Document>, ManifestError> {
    let mut objects = Vec::new();
    for (line, document) in documents(text) {
        let fail = |problem| ManifestError { place: source.to_owned(), problem };
        let value = parse(line, document).map_err(|problem| fail(format!("the manifest {problem}")))?;
        if !value.is_null() {
            let at = |problem| fail(format!("the document at line {} {problem}", line + 1));
            take_apart(value, None, &mut objects).map_err(at)?;
        }
    }
    Ok(objects.into_iter().map(|object| Document { source: source.to_owned(), object }).collect())
}

/// The documents of a manifest, each with the number of the lines before it. Helm splits at each line that begins with
/// `---`, whatever follows, also within a block of text.
pub(crate) fn documents(text: &str) -> Vec<(usize, &str)> {
    let (mut found, mut begin, mut first, mut at) = (Vec::new(), 0, 0, 0);
    let mut add = |from: usize, to: usize, line: usize| {
        if let Some(document) = text.get(from..to).filter(|document| !document.trim().is_empty()) {
            found.push((line, document));
        }
    };
    for (line, content) in text.split_inclusive('\n').enumerate() {
        if let Some(rest) = content.strip_prefix("---") {
            add(begin, at, first);
            // What stands behind it belongs to the document.
            (begin, first) = (at + content.len() - rest.len(), line);
        }
        at += content.len();
    }
    add(begin, text.len(), first);
    found
}

/// Reads a document that follows so many lines.
fn parse(lines: usize, document: &str) -> Result<Value, String> {
    // Helm's reader takes the last one of keys that stand twice, and there are charts with such keys.
    let read = |text: &str| read_yaml(text, as_go, Duplicates::LastWins);
    // The error counts lines from the beginning of what was read.
    read(document).map_err(|error| read(&format!("{}{document}", "\n".repeat(lines))).err().unwrap_or(error))
}

/// Adds the objects that a document is: one, or those of a list.
fn take_apart(value: Value, of: Option<(&str, &str)>, objects: &mut Vec<Value>) -> Result<(), String> {
    let Value::Object(mut fields) = value else {
        return Err("is not a mapping: write an object with apiVersion, kind and metadata".to_owned());
    };
    if let Some((api_version, kind)) = of {
        // Items of a list of one kind need not say what they are.
        for (name, text) in [("apiVersion", api_version), ("kind", kind)] {
            fields.entry(name).or_insert_with(|| text.into());
        }
    }
    let text = |name: &str| fields.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
    let (api_version, kind) = (text("apiVersion"), text("kind"));
    if api_version.is_empty() || kind.is_empty() {
        let missing = if kind.is_empty() { "kind" } else { "apiVersion" };
        return Err(format!("has no {missing}: write an object with apiVersion, kind and metadata"));
    }
    match (kind.strip_suffix("List"), fields.get_mut("items")) {
        (Some(item), Some(Value::Array(items))) => {
            let of = (!item.is_empty()).then_some((api_version.as_str(), item));
            std::mem::take(items).into_iter().try_for_each(|item| take_apart(item, of, objects))
        }
        _ => {
            objects.push(Value::Object(fields));
            Ok(())
        }
    }
}

impl Document {
    /// Completes an object of a release's manifests, as Helm does.
    pub fn of_release(&mut self, identity: &Identity, namespaced: bool) {
        self.place(identity, namespaced);
        let label = [(MANAGED_BY, "Helm")];
        let own = identity.labels.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        let notes = [(RELEASE_NAME, identity.name.as_str()), (RELEASE_NAMESPACE, identity.namespace.as_str())];
        set(&mut self.object, "labels", label.into_iter().chain(own));
        set(&mut self.object, "annotations", notes.into_iter());
    }

    /// Puts the object into the release's namespace, unless it names another one. Leaves out what only the API server
    /// writes, and fields that are null, which say nothing in kinds of Kubernetes' own.
    pub fn place(&mut self, identity: &Identity, namespaced: bool) {
        if is_built_in(&self.object) {
            drop_nulls(&mut self.object);
        }
        let Some(fields) = self.object.as_object_mut() else { return };
        fields.shift_remove("status");
        let metadata = fields.entry("metadata").or_insert_with(|| Map::new().into());
        let Some(metadata) = metadata.as_object_mut() else { return };
        // Generators leave these fields in manifests, and Helm sends them to an API server that ignores them.
        metadata.retain(|name, _| !SERVER_FIELDS.contains(&name.as_str()));
        if !namespaced {
            // The API server ignores it.
            metadata.shift_remove("namespace");
        } else if metadata.get("namespace").and_then(Value::as_str).is_none_or(str::is_empty) {
            metadata.insert("namespace".to_owned(), identity.namespace.as_str().into());
        }
    }
}

/// Sets labels or annotations, in place of those that the object has.
fn set<'a>(object: &mut Value, mapping: &str, entries: impl Iterator<Item = (&'a str, &'a str)>) {
    let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) else { return };
    let slot = metadata.entry(mapping).or_insert(Value::Null);
    if !slot.is_object() {
        *slot = Map::new().into();
    }
    if let Some(slot) = slot.as_object_mut() {
        slot.extend(entries.map(|(name, value)| (name.to_owned(), value.into())));
    }
}

/// Whether the object is of a group that Kubernetes itself has. A schema of a custom resource may give null a meaning.
fn is_built_in(object: &Value) -> bool {
    let api_version = object.get("apiVersion").and_then(Value::as_str).unwrap_or_default();
    let group = api_version.split_once('/').map_or("", |(group, _)| group);
    !group.contains('.') || group.ends_with(".k8s.io")
}

/// Templates leave keys without a value, such as `nodeSelector:`. The API server does not store them, so after a restart
/// such a field would look like a change.
fn drop_nulls(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.retain(|_, value| !value.is_null());
            fields.values_mut().for_each(drop_nulls);
        }
        Value::Array(items) => items.iter_mut().for_each(drop_nulls),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn objects(text: &str) -> Vec<Value> {
        read("c/templates/a.yaml", text).unwrap().into_iter().map(|document| document.object).collect()
    }

    fn error(text: &str) -> String {
        read("c/templates/a.yaml", text).unwrap_err().to_string()
    }

    fn identity() -> Identity {
        let labels = BTreeMap::from([("heritage".to_owned(), "addon-operator".to_owned())]);
        Identity { name: "web".to_owned(), namespace: "addons".to_owned(), labels }
    }

    #[test]
    fn documents_are_split_as_helm_splits_them() {
        let text = "\n---\n# nothing\n---\n{apiVersion: v1, kind: A}\n--- # c\n\n--- {apiVersion: v1, kind: B}\n---\n";
        assert_eq!(objects(text), [json!({"apiVersion": "v1", "kind": "A"}), json!({"apiVersion": "v1", "kind": "B"})]);
        // A line of a text is not a separator, unless it begins the line.
        let text = "apiVersion: v1\nkind: A\ndata:\n  cert: |\n    -----BEGIN X-----\n    a\n";
        assert_eq!(objects(text)[0]["data"]["cert"], "-----BEGIN X-----\na\n");
        assert_eq!(objects(""), Vec::<Value>::new());
    }

    #[test]
    fn lists_are_taken_apart() {
        let text = "{apiVersion: v1, kind: List, items: [{apiVersion: v1, kind: Secret}, {apiVersion: v1, kind: List, items: \
                    [{apiVersion: v1, kind: Pod}]}]}\n---\n{apiVersion: v1, kind: ConfigMapList, items: [{metadata: {name: a}}]}\n---\n\
                    {apiVersion: x.io/v1, kind: AllowList}";
        let kinds: Vec<_> = objects(text).iter().map(|object| object["kind"].clone()).collect();
        assert_eq!(kinds, ["Secret", "Pod", "ConfigMap", "AllowList"]);
        assert_eq!(objects(text)[2]["apiVersion"], "v1");
    }

    #[test]
    fn errors_name_the_template_and_the_line() {
        let broken = error("apiVersion: v1\nkind: A\n---\napiVersion: v1\nkind: [\n");
        assert!(broken.starts_with("c/templates/a.yaml: the manifest is neither YAML nor JSON"), "{broken}");
        assert!(broken.contains("line 6") || broken.contains("line 5"), "{broken}");
        let nothing = error("{apiVersion: v1, kind: A}\n---\nkind: A\n");
        assert_eq!(
            nothing,
            "c/templates/a.yaml: the document at line 2 has no apiVersion: write an object with apiVersion, kind and metadata"
        );
        assert!(error("text").contains("the document at line 1 is not a mapping"), "{}", error("text"));
        assert!(error("apiVersion: v1").contains("has no kind"));
        assert!(error("{apiVersion: v1, kind: List, items: [1]}").contains("is not a mapping"));
    }

    #[test]
    fn yaml_is_what_helm_reads() {
        let object = &objects("apiVersion: v1\nkind: A\na: yes\nb: 010\nc: 1\nc: 2\n")[0];
        assert_eq!((&object["a"], &object["b"], &object["c"]), (&json!(true), &json!(8), &json!(2)));
    }

    #[test]
    fn objects_get_what_helm_adds() {
        let text = "{apiVersion: v1, kind: Secret, metadata: {name: a, labels: {app.kubernetes.io/managed-by: x, heritage: Helm, \
                    b: c}, creationTimestamp: null}, status: {a: b}, spec: {nodeSelector: null, l: [{x: null}]}}";
        let mut document = read("s", text).unwrap().remove(0);
        document.of_release(&identity(), true);
        let labels = json!({"app.kubernetes.io/managed-by": "Helm", "heritage": "addon-operator", "b": "c"});
        let annotations = json!({"meta.helm.sh/release-name": "web", "meta.helm.sh/release-namespace": "addons"});
        let metadata = json!({"name": "a", "namespace": "addons", "labels": labels, "annotations": annotations});
        let expected = json!({"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "spec": {"l": [{}]}});
        assert_eq!(document.object, expected);
    }

    #[test]
    fn only_objects_in_namespaces_have_one() {
        let namespace = |text: &str, namespaced| {
            let mut document = read("s", text).unwrap().remove(0);
            document.place(&identity(), namespaced);
            document.object["metadata"].get("namespace").cloned()
        };
        assert_eq!(namespace("{apiVersion: v1, kind: A, metadata: {namespace: other}}", true), Some(json!("other")));
        assert_eq!(namespace("{apiVersion: v1, kind: A, metadata: {namespace: ''}}", true), Some(json!("addons")));
        assert_eq!(namespace("{apiVersion: v1, kind: A}", true), Some(json!("addons")));
        assert_eq!(namespace("{apiVersion: v1, kind: A, metadata: {namespace: other}}", false), None);
    }

    #[test]
    fn null_in_a_custom_resource_stays() {
        let mut document = read("s", "{apiVersion: x.io/v1, kind: A, spec: {a: null}}").unwrap().remove(0);
        document.place(&identity(), true);
        assert_eq!(document.object["spec"], json!({"a": null}));
    }
}
