//! Additions of specific kinds at creation and update.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::admit;
use crate::json;
use crate::kinds::{Resource, Sub, crd};

/// For a new object, after defaults. `generated` means that its name will be generated.
pub(crate) fn on_create(resource: &Resource, object: &mut Value, generated: bool) {
    if resource.has(Sub::Status) && &*resource.storage != "nodes" {
        reset_status(resource, object);
    }
    // For a generated name, the label is added later, when it has no owner.
    if !generated || &*resource.storage != "namespaces" {
        common(resource, object);
    }
    if resource.is("apiextensions.k8s.io", "customresourcedefinitions") {
        crd::pending(object);
    }
    if &*resource.storage == "daemonsets.apps" {
        let annotations = json::child(json::metadata(object), "annotations");
        annotations.insert("deprecated.daemonset.template.generation".into(), "1".into());
    }
}

/// For the next version of an object, after defaults.
pub(crate) fn on_update(resource: &Resource, object: &mut Value, sub: Option<Sub>) {
    if matches!(sub, None | Some(Sub::Finalize)) {
        common(resource, object);
    }
}

/// Restores values that the server chose at creation, even if the client leaves them out.
pub(crate) fn carry_over(resource: &Resource, old: &Value, object: &mut Value, sub: Option<Sub>) {
    match &*resource.storage {
        "namespaces" if sub != Some(Sub::Finalize) => {
            let kept = json::at(old, &["spec", "finalizers"]).cloned();
            let spec = json::child(json::object(object), "spec");
            match kept {
                Some(kept) => spec.insert("finalizers".into(), kept),
                None => spec.shift_remove("finalizers"),
            };
        }
        "services" => keep_allocations(old, object),
        "daemonsets.apps" => {
            let key = "deprecated.daemonset.template.generation";
            let count = json::text(old, &["metadata", "annotations", key]).parse().unwrap_or(1);
            let template = |o: &Value| json::at(o, &["spec", "template"]).cloned();
            let count = if template(old) == template(object) { count } else { count + 1 };
            json::child(json::metadata(object), "annotations").insert(key.into(), count.to_string().into());
        }
        "jobs.batch" => {
            let spec = json::child(json::object(object), "spec");
            if let Some(selector) = json::at(old, &["spec", "selector"]) {
                json::default(spec, "selector", selector.clone());
            }
            let labels = json::at(old, &["spec", "template", "metadata", "labels"]);
            if let Some(Value::Object(labels)) = labels {
                let new = json::child(json::child(json::child(spec, "template"), "metadata"), "labels");
                for (key, value) in labels {
                    json::default(new, key, value.clone());
                }
            }
        }
        _ => {}
    }
}

fn keep_allocations(old: &Value, object: &mut Value) {
    let spec = json::child(json::object(object), "spec");
    if spec.get("type").and_then(Value::as_str) == Some("ExternalName") {
        return;
    }
    for key in ["clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy"] {
        if let Some(value) = json::at(old, &["spec", key]) {
            json::default(spec, key, value.clone());
        }
    }
    if !matches!(spec.get("type").and_then(Value::as_str), Some("NodePort" | "LoadBalancer")) {
        return;
    }
    let before = json::list(old, &["spec", "ports"]);
    for port in spec.get_mut("ports").and_then(Value::as_array_mut).into_iter().flatten() {
        let same = |p: &&Value| p.get("port") == port.get("port") && p.get("protocol") == port.get("protocol");
        if let Some(node) = before.iter().find(same).and_then(|p| p.get("nodePort")).cloned() {
            json::default(json::object(port), "nodePort", node);
        }
    }
}

fn common(resource: &Resource, object: &mut Value) {
    match &*resource.storage {
        "namespaces" => admit::label(object),
        "secrets" => fold_string_data(object),
        "customresourcedefinitions.apiextensions.k8s.io" => {
            crd::set_defaults(object);
            crd::note_stored(object);
        }
        _ => {}
    }
}

/// `stringData` is write-only, and is merged into `data`.
fn fold_string_data(secret: &mut Value) {
    let map = json::object(secret);
    let Some(Value::Object(plain)) = map.shift_remove("stringData") else {
        return;
    };
    if plain.is_empty() {
        return;
    }
    let data = json::child(map, "data");
    for (key, value) in plain {
        let text = value.as_str().unwrap_or_default();
        data.insert(key, STANDARD.encode(text).into());
    }
}

/// The status of a new object from a client is ignored.
fn reset_status(resource: &Resource, object: &mut Value) {
    let status = match &*resource.storage {
        "pods" => json!({ "phase": "Pending", "qosClass": qos_class(object) }),
        "namespaces" => json!({ "phase": "Active" }),
        "persistentvolumes" | "persistentvolumeclaims" => json!({ "phase": "Pending" }),
        "services" | "ingresses.networking.k8s.io" => json!({ "loadBalancer": {} }),
        "poddisruptionbudgets.policy" => {
            json!({ "disruptionsAllowed": 0, "currentHealthy": 0, "desiredHealthy": 0, "expectedPods": 0 })
        }
        "daemonsets.apps" => json!({
            "currentNumberScheduled": 0, "numberMisscheduled": 0, "desiredNumberScheduled": 0, "numberReady": 0,
        }),
        "replicasets.apps" | "replicationcontrollers" => json!({ "replicas": 0 }),
        "statefulsets.apps" => json!({ "replicas": 0, "availableReplicas": 0 }),
        "horizontalpodautoscalers.autoscaling" => json!({ "desiredReplicas": 0, "currentMetrics": null }),
        "volumeattachments.storage.k8s.io" => json!({ "attached": false }),
        _ if resource.custom.is_some() => {
            json::object(object).shift_remove("status");
            return;
        }
        _ => json!({}),
    };
    json::object(object).insert("status".into(), status);
}

pub(super) fn qos_class(pod: &Value) -> &'static str {
    let mut guaranteed = true;
    let mut any = false;
    for container in json::list(pod, &["spec", "containers"]) {
        let part = |which: &str, key: &str| json::at(container, &["resources", which, key]);
        any |= !json::is_empty(json::at(container, &["resources", "requests"]))
            || !json::is_empty(json::at(container, &["resources", "limits"]));
        for key in ["cpu", "memory"] {
            let limit = part("limits", key);
            guaranteed &= limit.is_some() && part("requests", key).is_none_or(|r| Some(r) == limit);
        }
    }
    match (any, guaranteed) {
        (false, _) => "BestEffort",
        (true, true) => "Guaranteed",
        (true, false) => "Burstable",
    }
}
