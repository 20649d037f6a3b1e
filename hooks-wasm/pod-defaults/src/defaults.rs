//! What a Pod gets that does not say it itself.
//!
//! Pure, and done twice it changes nothing more. It never overrides a field that is set.

use boathook_sdk::kube::Object;
use serde_json::{Value, json};

/// Requests of a container that has neither a request nor a limit of a resource: a limit stands for a request.
const REQUESTS: [(&str, &str); 2] = [("cpu", "50m"), ("memory", "64Mi")];

/// Fills in what is missing. `labels` are those of the Pod's namespace that Pods inherit.
pub fn fill(pod: &mut Object, labels: &[(String, String)]) {
    for (key, value) in labels {
        or_insert(child(child(&mut pod.0, "metadata"), "labels"), key, json!(value));
    }
    let windows = pod.pointer("/spec/os/name").and_then(Value::as_str) == Some("windows");
    let spec = child(&mut pod.0, "spec");
    if !windows {
        or_insert(child(spec, "securityContext"), "seccompProfile", json!({"type": "RuntimeDefault"}));
    }
    for list in ["initContainers", "containers"] {
        for container in spec.get_mut(list).and_then(Value::as_array_mut).into_iter().flatten() {
            requests(container);
            if !windows && !is_privileged(container) {
                or_insert(child(container, "securityContext"), "allowPrivilegeEscalation", json!(false));
            }
        }
    }
}

fn requests(container: &mut Value) {
    let resources = child(container, "resources");
    for (resource, quantity) in REQUESTS {
        let limited = resources.get("limits").and_then(|limits| limits.get(resource)).is_some();
        if !limited {
            or_insert(child(resources, "requests"), resource, json!(quantity));
        }
    }
}

/// Such a container cannot be without the right to more privileges: the API server refuses the two together.
fn is_privileged(container: &Value) -> bool {
    let added = container.pointer("/securityContext/capabilities/add").and_then(Value::as_array);
    let admin = |name: &Value| matches!(name.as_str(), Some("SYS_ADMIN" | "CAP_SYS_ADMIN"));
    container.pointer("/securityContext/privileged") == Some(&Value::Bool(true))
        || added.is_some_and(|names| names.iter().any(admin))
}

/// The mapping behind a key, made if it is not there.
fn child<'v>(value: &'v mut Value, key: &str) -> &'v mut Value {
    let child = field(value, key);
    if !child.is_object() {
        *child = json!({});
    }
    child
}

fn or_insert(value: &mut Value, key: &str, wanted: Value) {
    let field = field(value, key);
    if field.is_null() {
        *field = wanted;
    }
}

/// What is behind a key, `null` if it is not there. What is no mapping becomes one.
fn field<'v>(value: &'v mut Value, key: &str) -> &'v mut Value {
    if !value.is_object() {
        *value = json!({});
    }
    &mut value[key]
}
