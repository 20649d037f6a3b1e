//! What the real server's admission plugins and allocators add. The added fields have no owner. Nothing is refused
//! here.

use serde_json::{Value, json};

use super::defaults;
use crate::context::Context;
use crate::json;
use crate::kinds::Resource;

/// Keeps a claim while a pod uses it.
pub(super) const PVC_PROTECTION: &str = "kubernetes.io/pvc-protection";
/// Keeps a volume while it is bound.
pub(super) const PV_PROTECTION: &str = "kubernetes.io/pv-protection";

/// Additions to a new object only.
pub(crate) fn new(resource: &Resource, object: &mut Value, context: &Context) {
    match &*resource.storage {
        "namespaces" => label(object),
        "persistentvolumeclaims" => protect(object, PVC_PROTECTION),
        "persistentvolumes" => {
            protect(object, PV_PROTECTION);
            let status = json::child(json::object(object), "status");
            status.insert("lastPhaseTransitionTime".into(), context.stamp().into());
        }
        // An empty list that must be present is stored as null.
        "endpointslices.discovery.k8s.io" if json::list(object, &["endpoints"]).is_empty() => {
            json::object(object).insert("endpoints".into(), Value::Null);
        }
        _ => {}
    }
    always(resource, object);
}

/// Adds the label with the namespace's name.
pub(super) fn label(namespace: &mut Value) {
    let name = json::text(namespace, &["metadata", "name"]).to_owned();
    let labels = json::child(json::metadata(namespace), "labels");
    labels.insert("kubernetes.io/metadata.name".into(), name.into());
}

fn protect(object: &mut Value, finalizer: &str) {
    let finalizers = json::metadata(object).entry("finalizers").or_insert_with(|| json!([]));
    if let Value::Array(list) = finalizers
        && !list.iter().any(|f| f == finalizer)
    {
        list.push(finalizer.into());
    }
}

/// Additions at every write.
pub(crate) fn always(resource: &Resource, object: &mut Value) {
    let map = json::object(object);
    match &*resource.storage {
        "pods" => {
            let spec = json::child(map, "spec");
            json::default(spec, "priority", 0);
            json::default(spec, "preemptionPolicy", "PreemptLowerPriority");
            let tolerations = spec.entry("tolerations").or_insert_with(|| json!([]));
            if let Value::Array(list) = tolerations {
                tolerate(list, "node.kubernetes.io/not-ready");
                tolerate(list, "node.kubernetes.io/unreachable");
            }
        }
        "services" => defaults::allocate(json::child(map, "spec")),
        "jobs.batch" => defaults::select_pods(map),
        _ => {}
    }
}

/// Removes from a service the fields that its former type needed and its new type does not. Ownership of these fields
/// stays.
pub(crate) fn retype(resource: &Resource, old: &Value, object: &mut Value) {
    if &*resource.storage != "services" {
        return;
    }
    let open = |kind: &str| matches!(kind, "NodePort" | "LoadBalancer");
    let (was, is) = (json::text(old, &["spec", "type"]), json::text(object, &["spec", "type"]).to_owned());
    let kept = |object: &Value, key: &str| json::at(object, &["spec", key]) == json::at(old, &["spec", key]);
    let mut dropped = Vec::new();
    if was == "LoadBalancer" && is != was {
        dropped.push("allocateLoadBalancerNodePorts");
    }
    if open(was) && !open(&is) {
        dropped.extend(["externalTrafficPolicy"].into_iter().filter(|key| kept(object, key)));
        if kept(object, "ports") {
            let ports = object.get_mut("spec").and_then(|spec| spec.get_mut("ports")).and_then(Value::as_array_mut);
            for port in ports.into_iter().flatten() {
                json::object(port).shift_remove("nodePort");
            }
        }
    }
    json::child(json::object(object), "spec").retain(|key, _| !dropped.contains(&key.as_str()));
}

/// Pods leave a broken node after five minutes, unless their tolerations say otherwise.
fn tolerate(list: &mut Vec<Value>, key: &str) {
    let known = |t: &Value| {
        let (tolerated, effect) = (json::text(t, &["key"]), json::text(t, &["effect"]));
        (tolerated == key || tolerated.is_empty()) && matches!(effect, "" | "NoExecute")
    };
    if !list.iter().any(known) {
        list.push(json!({ "key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300 }));
    }
}
