//! The cluster before a recorded run: the objects that it saw, in an order in which they can be created.

use std::collections::BTreeMap;

use boathook_core::model::SERVER_FIELDS;
use serde_json::{Value, json};

/// What every cluster has.
const ALWAYS: [&str; 4] = ["default", "kube-node-lease", "kube-public", "kube-system"];
/// What every namespace has.
const IN_EACH_NAMESPACE: [&str; 2] = ["v1 ServiceAccount default", "v1 ConfigMap kube-root-ca.crt"];

/// The objects by what identifies them.
#[derive(Default)]
pub(super) struct Before(BTreeMap<String, Value>);

impl Before {
    /// Adds an object, unless there is one of this name.
    pub fn add(&mut self, object: &Value) {
        self.0.entry(identity(object)).or_insert_with(|| plain(object));
        self.define(object);
    }

    pub fn replace(&mut self, object: &Value) {
        self.0.insert(identity(object), plain(object));
        self.define(object);
    }

    pub fn remove(&mut self, object: &Value) {
        self.0.remove(&identity(object));
        self.define(object);
    }

    /// Adds the definition of an object's kind, if the kind is not one of Kubernetes.
    pub fn define(&mut self, object: &Value) {
        let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
        let (version, kind) = (text("/apiVersion"), text("/kind"));
        let Some((group, version)) = version.split_once('/') else { return };
        if !group.contains('.') || group.ends_with(".k8s.io") {
            return;
        }
        let singular = kind.to_lowercase();
        // As most definitions name them.
        let plural = match singular.strip_suffix('y') {
            Some(stem) if !stem.ends_with(['a', 'e', 'o', 'u']) => format!("{stem}ies"),
            _ if ["s", "x", "ch", "sh"].iter().any(|end| singular.ends_with(end)) => format!("{singular}es"),
            _ => format!("{singular}s"),
        };
        let scope = if text("/metadata/namespace").is_empty() { "Cluster" } else { "Namespaced" };
        let schema = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
        let definition = json!({
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": format!("{plural}.{group}")},
            "spec": {
                "group": group, "scope": scope, "names": {"kind": kind, "plural": plural},
                "versions": [{
                    "name": version, "served": true, "storage": true, "subresources": {"status": {}},
                    "schema": {"openAPIV3Schema": schema},
                }],
            },
        });
        self.0.entry(identity(&definition)).or_insert(definition);
    }

    /// Adds the namespaces of all objects, also of those that steps create.
    pub fn complete(&mut self, steps: &[Value]) {
        let steps = steps.iter().filter_map(|step| step.get("create"));
        let created: Vec<_> = steps.clone().map(identity).collect();
        let namespace = |object: &Value| object.pointer("/metadata/namespace")?.as_str().map(str::to_owned);
        let names: Vec<_> = self.0.values().chain(steps).filter_map(namespace).collect();
        for name in names {
            let object = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
            if !created.contains(&identity(&object)) {
                self.0.entry(identity(&object)).or_insert(object);
            }
        }
    }

    /// The objects without those that every cluster has: definitions first, then namespaces.
    pub fn objects(&self) -> Vec<Value> {
        let kind = |object: &Value| object.get("kind").and_then(Value::as_str).unwrap_or_default().to_owned();
        let name =
            |object: &Value| object.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default().to_owned();
        let exists = |object: &Value| {
            let short = format!("v1 {} {}", kind(object), name(object));
            (kind(object) == "Namespace" && ALWAYS.contains(&name(object).as_str()))
                || IN_EACH_NAMESPACE.contains(&short.as_str())
        };
        let mut objects: Vec<_> = self.0.values().filter(|object| !exists(object)).cloned().collect();
        objects.sort_by_key(|object| match kind(object).as_str() {
            "CustomResourceDefinition" => 0,
            "Namespace" => 1,
            _ => 2,
        });
        objects
    }
}

pub(super) fn parse(text: &str) -> Option<Value> {
    serde_json::from_str(text).ok().filter(Value::is_object)
}

/// An object without what only its cluster knows.
pub(super) fn plain(object: &Value) -> Value {
    let mut object = object.clone();
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        // Without their owners, dependents would be deleted at once.
        metadata.retain(|key, _| key != "ownerReferences" && !SERVER_FIELDS.contains(&key.as_str()));
        if let Some(finalizers) = metadata.get_mut("finalizers").and_then(Value::as_array_mut) {
            finalizers.retain(|finalizer| !finalizer.as_str().is_some_and(|name| name.contains("boathook.dev")));
        }
    }
    object
}

pub(super) fn object_of(api_version: Value, kind: Value, namespace: Value, name: Value) -> Value {
    let metadata = match namespace {
        Value::Null => json!({ "name": name }),
        namespace => json!({"namespace": namespace, "name": name}),
    };
    json!({"apiVersion": api_version, "kind": kind, "metadata": metadata})
}

/// `v1 Secret web/s`, as in the log of writes.
pub(super) fn identity(object: &Value) -> String {
    let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    let namespace = text("/metadata/namespace");
    let namespace = if namespace.is_empty() { String::new() } else { format!("{namespace}/") };
    format!("{} {} {namespace}{}", text("/apiVersion"), text("/kind"), text("/metadata/name"))
}
