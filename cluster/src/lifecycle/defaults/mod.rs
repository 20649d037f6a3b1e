//! Defaults of built-in kinds. Existing values are never overwritten.

mod others;
mod pods;
pub(super) mod services;
pub(super) mod workloads;

use serde_json::{Map, Value, json};

use crate::json::{child, default, object};
use crate::kinds::Resource;

/// Sets the fields that the client left out, in the storage version.
pub(crate) fn apply(resource: &Resource, value: &mut Value) {
    let map = object(value);
    match &*resource.storage {
        "pods" => {
            let spec = child(map, "spec");
            pods::spec(spec);
            default(spec, "enableServiceLinks", true);
            pods::requests(spec);
        }
        "podtemplates" => pods::template(map),
        "replicationcontrollers" => workloads::replication_controller(map),
        "deployments.apps" => workloads::deployment(child(map, "spec")),
        "replicasets.apps" => workloads::replica_set(child(map, "spec")),
        "statefulsets.apps" => workloads::stateful_set(child(map, "spec")),
        "daemonsets.apps" => workloads::daemon_set(child(map, "spec")),
        "jobs.batch" => workloads::job(child(map, "spec")),
        "cronjobs.batch" => workloads::cron_job(child(map, "spec")),
        "services" => services::service(child(map, "spec")),
        "namespaces" => {
            let spec = child(map, "spec");
            default(spec, "finalizers", json!(["kubernetes"]));
        }
        "secrets" => default(map, "type", "Opaque"),
        "persistentvolumeclaims" => default(child(map, "spec"), "volumeMode", "Filesystem"),
        "persistentvolumes" => {
            let spec = child(map, "spec");
            default(spec, "persistentVolumeReclaimPolicy", "Retain");
            default(spec, "volumeMode", "Filesystem");
            if let Some(Value::Object(path)) = spec.get_mut("hostPath") {
                path.entry("type").or_insert_with(|| "".into());
            }
        }
        "nodes" => {
            let capacity = map.get("status").and_then(|status| status.get("capacity")).cloned();
            if let Some(capacity) = capacity {
                default(child(map, "status"), "allocatable", capacity);
            }
        }
        "networkpolicies.networking.k8s.io" => network_policy(child(map, "spec")),
        storage if storage.ends_with(".rbac.authorization.k8s.io") => rbac(map),
        storage if storage.ends_with("configurations.admissionregistration.k8s.io") => webhooks(map),
        storage if storage.ends_with(".admissionregistration.k8s.io") => others::policy(map),
        storage => others::apply(storage, map),
    }
}

/// The objects of a list field.
fn items<'a>(map: &'a mut Map<String, Value>, key: &str) -> impl Iterator<Item = &'a mut Map<String, Value>> {
    let list = map.get_mut(key).and_then(Value::as_array_mut);
    list.into_iter().flatten().filter_map(Value::as_object_mut)
}

fn network_policy(spec: &mut Map<String, Value>) {
    let egress = spec.contains_key("egress");
    let types = if egress { json!(["Ingress", "Egress"]) } else { json!(["Ingress"]) };
    default(spec, "policyTypes", types);
    default(spec, "podSelector", json!({}));
    for direction in ["ingress", "egress"] {
        for rule in items(spec, direction) {
            for port in items(rule, "ports") {
                default(port, "protocol", "TCP");
            }
        }
    }
}

fn rbac(map: &mut Map<String, Value>) {
    if map.contains_key("roleRef") {
        default(child(map, "roleRef"), "apiGroup", "rbac.authorization.k8s.io");
    }
    for subject in items(map, "subjects") {
        if let Some("User" | "Group") = subject.get("kind").and_then(Value::as_str) {
            default(subject, "apiGroup", "rbac.authorization.k8s.io");
        }
    }
    if map.get("kind").and_then(Value::as_str).is_some_and(|k| k.ends_with("Role")) {
        map.entry("rules").or_insert(Value::Null);
    }
}

fn webhooks(map: &mut Map<String, Value>) {
    let mutating = map.get("kind").and_then(Value::as_str) == Some("MutatingWebhookConfiguration");
    for hook in items(map, "webhooks") {
        default(hook, "failurePolicy", "Fail");
        default(hook, "matchPolicy", "Equivalent");
        default(hook, "namespaceSelector", json!({}));
        default(hook, "objectSelector", json!({}));
        default(hook, "timeoutSeconds", 10);
        if mutating {
            default(hook, "reinvocationPolicy", "Never");
        }
        for rule in items(hook, "rules") {
            default(rule, "scope", "*");
        }
        if let Some(service) =
            hook.get_mut("clientConfig").and_then(|c| c.get_mut("service")).and_then(Value::as_object_mut)
        {
            default(service, "port", 443);
        }
    }
}
