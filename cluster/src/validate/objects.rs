//! Required fields of built-in kinds.
//!
//! Never checks metadata.

use serde_json::Value;

use crate::json::{at, is_empty, list, text};
use crate::kinds::{Resource, definition};
use crate::status::Cause;
use crate::validate::Naming;

/// Problems of `object`, in its storage version; `old` is the version it replaces.
pub(crate) fn problems(resource: &Resource, object: &Value, old: Option<&Value>) -> Vec<Cause> {
    match &*resource.storage {
        "customresourcedefinitions.apiextensions.k8s.io" => definition::problems(object, old),
        "pods" => containers(object, "spec", &["spec"]),
        "deployments.apps" | "replicasets.apps" | "statefulsets.apps" | "daemonsets.apps" => workload(object),
        "jobs.batch" => containers(object, "spec.template.spec", &["spec", "template", "spec"]),
        "secrets" => secret(object, old),
        "configmaps" => immutable(object, old),
        "nodes" => taints(object),
        _ => Vec::new(),
    }
}

/// What may not change once the object exists. Both versions are complete.
pub(crate) fn immutable_problems(resource: &Resource, old: &Value, new: &Value) -> Vec<Cause> {
    match &*resource.storage {
        "pods" => pod_changes(old, new),
        "deployments.apps" | "replicasets.apps" | "daemonsets.apps" | "jobs.batch" => {
            let selector = |o: &Value| at(o, &["spec", "selector"]).cloned().unwrap_or_default();
            let (before, after) = (selector(old), selector(new));
            let changed = before != after;
            changed.then(|| Cause::invalid("spec.selector", &after, "field is immutable")).into_iter().collect()
        }
        _ => Vec::new(),
    }
}

/// A pod's spec is fixed, but for images, a deadline and more tolerations.
fn pod_changes(old: &Value, new: &Value) -> Vec<Cause> {
    let fixed = |pod: &Value| {
        let mut spec = pod.get("spec").cloned().unwrap_or_default();
        for key in ["containers", "initContainers"] {
            for container in spec.get_mut(key).and_then(Value::as_array_mut).into_iter().flatten() {
                // The pull policy's default follows the image.
                crate::json::object(container).retain(|key, _| !matches!(key.as_str(), "image" | "imagePullPolicy"));
            }
        }
        crate::json::object(&mut spec).retain(|key, _| {
            !matches!(
                key.as_str(),
                "activeDeadlineSeconds" | "tolerations" | "terminationGracePeriodSeconds" | "schedulingGates"
            )
        });
        spec
    };
    let tolerations = list(new, &["spec", "tolerations"]);
    let kept = list(old, &["spec", "tolerations"]).iter().all(|t| tolerations.contains(t));
    if kept && fixed(old) == fixed(new) {
        return Vec::new();
    }
    let why = "pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,\
        `spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),\
        `spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)";
    vec![Cause::forbidden("spec", why)]
}

fn taints(node: &Value) -> Vec<Cause> {
    let mut causes = Vec::new();
    for (index, taint) in list(node, &["spec", "taints"]).iter().enumerate() {
        for key in ["key", "effect"] {
            if text(taint, &[key]).is_empty() {
                causes.push(Cause::required(format!("metadata.taints[{index}].{key}"), ""));
            }
        }
    }
    causes
}

fn containers(object: &Value, shown: &str, path: &[&str]) -> Vec<Cause> {
    let Some(spec) = at(object, path) else {
        return Vec::new();
    };
    let mut causes = Vec::new();
    let all = list(spec, &["containers"]);
    if all.is_empty() {
        causes.push(Cause::required(format!("{shown}.containers"), ""));
    }
    let mut seen = Vec::new();
    for (index, container) in all.iter().enumerate() {
        let field = |key: &str| format!("{shown}.containers[{index}].{key}");
        let name = text(container, &["name"]);
        if name.is_empty() {
            causes.push(Cause::required(field("name"), ""));
        }
        let wrong = Naming::Label.problems(name).into_iter().filter(|_| !name.is_empty());
        causes.extend(wrong.map(|why| Cause::invalid(field("name"), &name.into(), why)));
        if seen.contains(&name) {
            causes.push(Cause {
                reason: "FieldValueDuplicate",
                message: format!("Duplicate value: \"{name}\""),
                field: field("name"),
            });
        }
        seen.push(name);
        if text(container, &["image"]).is_empty() {
            causes.push(Cause::required(field("image"), ""));
        }
    }
    causes
}

fn workload(object: &Value) -> Vec<Cause> {
    let mut causes = Vec::new();
    let selector = at(object, &["spec", "selector"]);
    if is_empty(selector) {
        causes.push(Cause::required("spec.selector", ""));
    }
    let labels = at(object, &["spec", "template", "metadata", "labels"]);
    let wanted = selector.and_then(|s| at(s, &["matchLabels"])).and_then(Value::as_object);
    let fits = wanted.is_some_and(|w| w.iter().all(|(k, v)| labels.and_then(|l| l.get(k)) == Some(v)));
    let by_expression = selector.is_some_and(|s| !list(s, &["matchExpressions"]).is_empty());
    if !fits && !by_expression {
        let why = "`selector` does not match template `labels`";
        let labels = labels.cloned().unwrap_or_default();
        causes.push(Cause::invalid("spec.template.metadata.labels", &labels, why));
    }
    causes.extend(containers(object, "spec.template.spec", &["spec", "template", "spec"]));
    causes
}

/// The keys that typed secrets must have.
const SECRET_KEYS: &[(&str, &[&str])] = &[
    ("kubernetes.io/dockerconfigjson", &[".dockerconfigjson"]),
    ("kubernetes.io/dockercfg", &[".dockercfg"]),
    ("kubernetes.io/tls", &["tls.crt", "tls.key"]),
    ("kubernetes.io/ssh-auth", &["ssh-privatekey"]),
];

fn secret(object: &Value, old: Option<&Value>) -> Vec<Cause> {
    let kind = text(object, &["type"]);
    let mut causes = Vec::new();
    if let Some((_, keys)) = SECRET_KEYS.iter().find(|(name, _)| *name == kind) {
        let missing = keys.iter().filter(|key| at(object, &["data", key]).is_none());
        causes.extend(missing.map(|key| Cause::required(format!("data[{key}]"), "")));
    }
    if old.is_some_and(|old| text(old, &["type"]) != kind) {
        causes.push(Cause::invalid("type", &kind.into(), "field is immutable"));
    }
    causes.extend(immutable(object, old));
    causes
}

/// `immutable: true` freezes the data of a config map or secret.
fn immutable(object: &Value, old: Option<&Value>) -> Vec<Cause> {
    let Some(old) = old.filter(|old| old.get("immutable") == Some(&Value::Bool(true))) else {
        return Vec::new();
    };
    let why = "field is immutable when `immutable` is set";
    let changed = ["immutable", "data", "binaryData"].into_iter().filter(|key| object.get(key) != old.get(key));
    changed.map(|key| Cause::forbidden(key, why)).collect()
}
