//! Resizes the containers of an existing pod. Nothing else in the pod changes.

use serde_json::Value;

use super::kinds::qos_class;
use crate::json;
use crate::status::Cause;

/// The old pod with the resources of the new one.
pub(super) fn merged(old: &Value, new: &Value) -> Value {
    let mut pod = old.clone();
    for key in ["containers", "initContainers"] {
        let wanted = json::list(new, &["spec", key]);
        let containers = pod.get_mut("spec").and_then(|spec| spec.get_mut(key)).and_then(Value::as_array_mut);
        for container in containers.into_iter().flatten() {
            let name = json::text(container, &["name"]);
            let same = wanted.iter().find(|c| json::text(c, &["name"]) == name);
            if let Some(resources) = same.and_then(|c| c.get("resources")).cloned() {
                json::object(container).insert("resources".into(), resources);
            }
        }
    }
    if let Some(managed) = json::at(new, &["metadata", "managedFields"]).cloned() {
        json::metadata(&mut pod).insert("managedFields".into(), managed);
    }
    pod
}

/// The QoS class of a pod cannot change.
pub(super) fn problem(old: &Value, new: &Value) -> Option<Cause> {
    let (before, after) = (qos_class(old), qos_class(new));
    let why = "Pod QOS Class may not change as a result of resizing";
    (before != after).then(|| Cause::invalid("spec", &before.into(), why))
}
