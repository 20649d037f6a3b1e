//! Validation of `metadata`: the name by its kind's rule, label and annotation keys, finalizers, owners.

use serde_json::Value;

use crate::json::{self, list};
use crate::kinds::Resource;
use crate::names::{label_value, qualified_name};
use crate::status::Cause;

/// Maximum size of all annotations of an object together, in bytes.
const ANNOTATIONS_LIMIT: usize = 256 * 1024;
/// Finalizers that need no domain.
const STANDARD_FINALIZERS: &[&str] = &["kubernetes", "orphan", "foregroundDeletion"];

/// Problems of a new object's metadata.
pub(crate) fn for_create(resource: &Resource, object: &Value) -> Vec<Cause> {
    let mut causes = Vec::new();
    let name = json::text(object, &["metadata", "name"]);
    if name.is_empty() {
        causes.push(Cause::required("metadata.name", "name or generateName is required"));
    } else {
        for why in resource.naming.problems(name) {
            causes.push(Cause::invalid("metadata.name", &name.into(), why));
        }
    }
    if resource.namespaced && json::text(object, &["metadata", "namespace"]).is_empty() {
        causes.push(Cause::required("metadata.namespace", ""));
    }
    causes.extend(common(resource, object));
    causes
}

/// Problems that can occur on create and on update.
pub(crate) fn common(resource: &Resource, object: &Value) -> Vec<Cause> {
    // API extensions are checked only by the general rules of metadata.
    let is_core = resource.custom.is_none() && resource.group != "apiextensions.k8s.io";
    let mut causes = Vec::new();
    labels(object, &mut causes);
    annotations(object, &mut causes);
    owners(object, &mut causes);
    let whole = "metadata.finalizers";
    for (index, finalizer) in list(object, &["metadata", "finalizers"]).iter().enumerate() {
        let text = finalizer.as_str().unwrap_or_default();
        let field = format!("metadata.finalizers[{index}]");
        let problems = qualified_name(text);
        if !problems.is_empty() {
            causes.extend(problems.into_iter().map(|why| Cause::invalid(whole, finalizer, why)));
        } else if !text.contains('/') && !STANDARD_FINALIZERS.contains(&text) && is_core {
            let why = "name is neither a standard finalizer name nor is it fully qualified";
            causes.push(Cause::invalid(field, finalizer, why));
        }
    }
    causes
}

fn labels(object: &Value, causes: &mut Vec<Cause>) {
    let Some(Value::Object(labels)) = json::at(object, &["metadata", "labels"]) else {
        return;
    };
    for (key, value) in labels {
        let wrong = qualified_name(key).into_iter();
        causes.extend(wrong.map(|why| Cause::invalid("metadata.labels", &key.as_str().into(), why)));
        if let Some(why) = label_value(value.as_str().unwrap_or_default()) {
            causes.push(Cause::invalid("metadata.labels", value, why));
        }
    }
}

fn annotations(object: &Value, causes: &mut Vec<Cause>) {
    let Some(Value::Object(annotations)) = json::at(object, &["metadata", "annotations"]) else {
        return;
    };
    let mut size = 0;
    for (key, value) in annotations {
        size += key.len() + value.as_str().map_or(0, str::len);
        let wrong = qualified_name(&key.to_ascii_lowercase()).into_iter();
        causes.extend(wrong.map(|why| Cause::invalid("metadata.annotations", &key.as_str().into(), why)));
    }
    if size > ANNOTATIONS_LIMIT {
        causes.push(Cause {
            reason: "FieldValueTooLong",
            message: format!("Too long: may not be more than {ANNOTATIONS_LIMIT} bytes"),
            field: "metadata.annotations".into(),
        });
    }
}

fn owners(object: &Value, causes: &mut Vec<Cause>) {
    let all = list(object, &["metadata", "ownerReferences"]);
    for owner in all {
        for (key, why) in [
            ("apiVersion", "version must not be empty"),
            ("kind", "must not be empty"),
            ("name", "must not be empty"),
            ("uid", "must not be empty"),
        ] {
            let value = json::text(owner, &[key]);
            // A malformed apiVersion counts as an empty version.
            if value.is_empty() || key == "apiVersion" && value.matches('/').count() > 1 {
                let field = format!("metadata.ownerReferences.{key}");
                causes.push(Cause::invalid(field, &value.into(), why));
            }
        }
        if json::text(owner, &["kind"]) == "Event" && json::text(owner, &["apiVersion"]) == "v1" {
            let why = "/v1, Kind=Event is disallowed from being an owner";
            causes.push(Cause::invalid("metadata.ownerReferences", &in_order(owner), why));
        }
    }
    let mut controllers = all.iter().filter(|owner| owner.get("controller") == Some(&Value::Bool(true)));
    if let Some(first) = controllers.next() {
        let named = |owner: &Value| format!("{}/{}", json::text(owner, &["kind"]), json::text(owner, &["name"]));
        causes.extend(controllers.map(|second| {
            let why = format!(
                "Only one reference can have Controller set to true. Found \"true\" in references for {} and {}",
                named(first),
                named(second)
            );
            Cause::invalid("metadata.ownerReferences", &all.iter().map(in_order).collect(), why)
        }));
    }
}

/// A reference with its fields in the order of its type.
fn in_order(owner: &Value) -> Value {
    let order = ["apiVersion", "kind", "name", "uid", "controller", "blockOwnerDeletion"];
    order.into_iter().filter_map(|key| Some((key.to_owned(), owner.get(key)?.clone()))).collect()
}
