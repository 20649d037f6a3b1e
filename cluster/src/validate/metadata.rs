//! Validation of `metadata`: the name by its kind's rule, label and annotation keys, finalizers, owners.
//!
//! Never looks outside `metadata`.

use serde_json::Value;

use super::{Naming, label_value, qualified_name};
use crate::json;
use crate::status::Cause;

/// All annotations of an object together may have this many bytes.
const ANNOTATIONS_LIMIT: usize = 256 * 1024;

/// Problems of a new object's metadata.
pub(crate) fn for_create(object: &Value, naming: Naming, namespaced: bool) -> Vec<Cause> {
    let mut causes = Vec::new();
    let name = json::text(object, &["metadata", "name"]);
    if name.is_empty() {
        causes.push(Cause::required(
            "metadata.name",
            "name or generateName is required",
        ));
    } else {
        for why in naming.problems(name) {
            causes.push(Cause::invalid("metadata.name", &name.into(), why));
        }
    }
    if namespaced && json::text(object, &["metadata", "namespace"]).is_empty() {
        causes.push(Cause::required("metadata.namespace", ""));
    }
    causes.extend(common(object));
    causes
}

/// Problems that can appear on create and on update.
pub(crate) fn common(object: &Value) -> Vec<Cause> {
    let mut causes = Vec::new();
    labels(object, &mut causes);
    annotations(object, &mut causes);
    owners(object, &mut causes);
    for finalizer in json::list(object, &["metadata", "finalizers"]) {
        let text = finalizer.as_str().unwrap_or_default();
        if let Some(why) = qualified_name(text) {
            causes.push(Cause::invalid("metadata.finalizers", finalizer, why));
        }
    }
    causes
}

fn labels(object: &Value, causes: &mut Vec<Cause>) {
    let Some(Value::Object(labels)) = json::at(object, &["metadata", "labels"]) else {
        return;
    };
    for (key, value) in labels {
        if let Some(why) = qualified_name(key) {
            causes.push(Cause::invalid("metadata.labels", &key.as_str().into(), why));
        }
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
        if let Some(why) = qualified_name(&key.to_ascii_lowercase()) {
            causes.push(Cause::invalid(
                "metadata.annotations",
                &key.as_str().into(),
                why,
            ));
        }
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
    for (index, owner) in json::list(object, &["metadata", "ownerReferences"])
        .iter()
        .enumerate()
    {
        for (key, why) in [
            ("apiVersion", "version must not be empty"),
            ("kind", "must not be empty"),
            ("name", "must not be empty"),
            ("uid", "must not be empty"),
        ] {
            if json::text(owner, &[key]).is_empty() {
                let field = format!("metadata.ownerReferences[{index}].{key}");
                causes.push(Cause::invalid(field, &"".into(), why));
            }
        }
    }
}

/// Values of metadata that have the wrong JSON type, which the real server's decoder refuses.
pub(crate) fn type_problem(object: &Value) -> Option<String> {
    let meta = match object.get("metadata") {
        None | Some(Value::Null) => return None,
        Some(Value::Object(meta)) => meta,
        Some(_) => return Some(go_mismatch("ObjectMeta", "metadata")),
    };
    for key in [
        "name",
        "generateName",
        "namespace",
        "uid",
        "resourceVersion",
        "creationTimestamp",
    ] {
        if meta
            .get(key)
            .is_some_and(|v| !v.is_string() && !v.is_null())
        {
            return Some(go_mismatch("string", &format!("metadata.{key}")));
        }
    }
    for key in ["labels", "annotations"] {
        match meta.get(key) {
            None | Some(Value::Null) => {}
            Some(Value::Object(map)) => {
                if map.values().any(|v| !v.is_string() && !v.is_null()) {
                    return Some(go_mismatch("string", &format!("metadata.{key}")));
                }
            }
            Some(_) => return Some(go_mismatch("map[string]string", &format!("metadata.{key}"))),
        }
    }
    for key in ["finalizers", "ownerReferences", "managedFields"] {
        let Some(value) = meta.get(key).filter(|v| !v.is_null()) else {
            continue;
        };
        let fits = |item: &Value| {
            if key == "finalizers" {
                item.is_string()
            } else {
                item.is_object()
            }
        };
        if !value.as_array().is_some_and(|list| list.iter().all(fits)) {
            return Some(go_mismatch("list", &format!("metadata.{key}")));
        }
    }
    None
}

fn go_mismatch(wanted: &str, field: &str) -> String {
    format!("json: cannot unmarshal value into Go struct field {field} of type {wanted}")
}
