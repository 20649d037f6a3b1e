//! Required fields of built-in kinds.
//!
//! Never checks metadata.

use serde_json::Value;

use super::names::config_key;
use super::{events, kinds, pods, webhooks};
use crate::json::{at, int, is_empty, list, text};
use crate::kinds::{Resource, definition};
use crate::status::Cause;

/// Problems of `object`, in its storage version; `old` is the version it replaces.
pub(crate) fn problems(resource: &Resource, object: &Value, old: Option<&Value>) -> Vec<Cause> {
    match &*resource.storage {
        "customresourcedefinitions.apiextensions.k8s.io" => definition::problems(object, old),
        "pods" => at(object, &["spec"]).map(|spec| pods::spec(spec, "spec")).unwrap_or_default(),
        "deployments.apps" | "replicasets.apps" | "statefulsets.apps" | "daemonsets.apps" => workload(object),
        "replicationcontrollers" => counts(object, &["replicas", "minReadySeconds"]),
        "jobs.batch" => kinds::job(at(object, &["spec"]), "spec"),
        "cronjobs.batch" => kinds::cron_job(object),
        "secrets" => secret(object, old),
        "configmaps" => config_map(object, old),
        "nodes" => taints(object),
        "services" => kinds::service(object),
        "networkpolicies.networking.k8s.io" => kinds::network_policy(object),
        "events" => events::problems(resource, object, old),
        "leases.coordination.k8s.io" => kinds::lease(object),
        "horizontalpodautoscalers.autoscaling" => kinds::autoscaler(object),
        "roles.rbac.authorization.k8s.io" | "clusterroles.rbac.authorization.k8s.io" => kinds::rules(object),
        "mutatingwebhookconfigurations.admissionregistration.k8s.io"
        | "validatingwebhookconfigurations.admissionregistration.k8s.io" => webhooks::configuration(object),
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
        "rolebindings.rbac.authorization.k8s.io" | "clusterrolebindings.rbac.authorization.k8s.io" => {
            kinds::role_changes(old, new)
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

fn workload(object: &Value) -> Vec<Cause> {
    let mut causes = counts(object, &["replicas", "minReadySeconds", "revisionHistoryLimit"]);
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
    if let Some(spec) = at(object, &["spec", "template", "spec"]) {
        causes.extend(pods::spec(spec, "spec.template.spec"));
        // What runs again and again may not stop by itself.
        let policy = text(spec, &["restartPolicy"]);
        if matches!(policy, "OnFailure" | "Never") {
            causes.push(Cause::unsupported("spec.template.spec.restartPolicy", &policy.into(), &["Always"]));
        }
    }
    causes
}

/// Numbers of the spec that count something.
fn counts(object: &Value, keys: &[&str]) -> Vec<Cause> {
    let negative = keys.iter().filter_map(|key| Some((key, int(object, &["spec", key]).filter(|n| *n < 0)?)));
    let why = "must be greater than or equal to 0";
    negative.map(|(key, number)| Cause::invalid(format!("spec.{key}"), &number.into(), why)).collect()
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
    let mut causes = data_keys(object, "data");
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

fn config_map(object: &Value, old: Option<&Value>) -> Vec<Cause> {
    let mut causes = data_keys(object, "data");
    for key in at(object, &["data"]).and_then(Value::as_object).into_iter().flat_map(serde_json::Map::keys) {
        if at(object, &["binaryData", key]).is_some() {
            let why = "duplicate of key present in binaryData";
            causes.push(Cause::invalid(format!("data[{key}]"), &key.as_str().into(), why));
        }
    }
    causes.extend(data_keys(object, "binaryData"));
    causes.extend(immutable(object, old));
    causes
}

/// Keys become names of files.
fn data_keys(object: &Value, field: &str) -> Vec<Cause> {
    let keys = at(object, &[field]).and_then(Value::as_object).into_iter().flat_map(serde_json::Map::keys);
    let wrong = keys.flat_map(|key| config_key(key).into_iter().map(move |why| (key, why)));
    wrong.map(|(key, why)| Cause::invalid(format!("{field}[{key}]"), &key.as_str().into(), why)).collect()
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
