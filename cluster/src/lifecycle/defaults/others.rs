//! Defaults of autoscaling, storage, scheduling, discovery, flow control and admission policies. Existing values are
//! never overwritten.

use serde_json::{Map, Value, json};

use super::items;
use crate::json::{child, default};

pub(super) fn apply(storage: &str, map: &mut Map<String, Value>) {
    match storage {
        "horizontalpodautoscalers.autoscaling" => autoscaler(map),
        "storageclasses.storage.k8s.io" => {
            default(map, "reclaimPolicy", "Delete");
            default(map, "volumeBindingMode", "Immediate");
        }
        "limitranges" => {
            for limit in items(child(map, "spec"), "limits") {
                limits(limit);
            }
        }
        "csidrivers.storage.k8s.io" => driver(child(map, "spec")),
        "volumeattributesclasses.storage.k8s.io" => {
            default(child(map, "metadata"), "finalizers", json!(["kubernetes.io/vac-protection"]));
        }
        "priorityclasses.scheduling.k8s.io" => default(map, "preemptionPolicy", "PreemptLowerPriority"),
        "endpointslices.discovery.k8s.io" => {
            for port in items(map, "ports") {
                port.entry("name").or_insert_with(|| "".into());
                default(port, "protocol", "TCP");
            }
        }
        "endpoints" => {
            for subset in items(map, "subsets") {
                for port in items(subset, "ports") {
                    default(port, "protocol", "TCP");
                }
            }
        }
        "flowschemas.flowcontrol.apiserver.k8s.io" => {
            let spec = child(map, "spec");
            if spec.get("matchingPrecedence").is_none_or(|v| v == 0) {
                spec.insert("matchingPrecedence".into(), 1000.into());
            }
        }
        "prioritylevelconfigurations.flowcontrol.apiserver.k8s.io" => {
            if let Some(Value::Object(limited)) = child(map, "spec").get_mut("limited") {
                default(limited, "nominalConcurrencyShares", 30);
                default(limited, "lendablePercent", 0);
            }
        }
        _ => {}
    }
}

fn autoscaler(map: &mut Map<String, Value>) {
    let spec = child(map, "spec");
    default(spec, "minReplicas", 1);
    if spec.get("metrics").and_then(Value::as_array).is_none_or(Vec::is_empty) {
        let target = json!({ "type": "Utilization", "averageUtilization": 80 });
        let cpu = json!([{ "type": "Resource", "resource": { "name": "cpu", "target": target } }]);
        spec.insert("metrics".into(), cpu);
    }
    behavior(spec);
}

/// The defaults for containers in a limit range.
fn limits(limit: &mut Map<String, Value>) {
    if limit.get("type").and_then(Value::as_str) != Some("Container") {
        return;
    }
    for (from, to) in [("max", "default"), ("default", "defaultRequest"), ("min", "defaultRequest")] {
        for (name, quantity) in limit.get(from).and_then(Value::as_object).cloned().into_iter().flatten() {
            default(child(limit, to), &name, quantity);
        }
    }
}

/// The scaling speed of an autoscaler, if it has a `behavior`.
fn behavior(spec: &mut Map<String, Value>) {
    let Some(Value::Object(behavior)) = spec.get_mut("behavior") else {
        return;
    };
    let percent = json!({ "type": "Percent", "value": 100, "periodSeconds": 15 });
    let pods = json!({ "type": "Pods", "value": 4, "periodSeconds": 15 });
    let up = child(behavior, "scaleUp");
    default(up, "stabilizationWindowSeconds", 0);
    default(up, "selectPolicy", "Max");
    default(up, "policies", json!([pods, percent]));
    let down = child(behavior, "scaleDown");
    default(down, "selectPolicy", "Max");
    default(down, "policies", json!([percent]));
}

fn driver(spec: &mut Map<String, Value>) {
    default(spec, "attachRequired", true);
    default(spec, "podInfoOnMount", false);
    default(spec, "volumeLifecycleModes", json!(["Persistent"]));
    default(spec, "storageCapacity", false);
    default(spec, "fsGroupPolicy", "ReadWriteOnceWithFSType");
    default(spec, "requiresRepublish", false);
    default(spec, "seLinuxMount", false);
}

/// Policies and their bindings. Their rules have the same defaults as those of webhooks.
pub(super) fn policy(map: &mut Map<String, Value>) {
    let binding = map.get("kind").and_then(Value::as_str).is_some_and(|kind| kind.ends_with("Binding"));
    let spec = child(map, "spec");
    if !binding {
        default(spec, "failurePolicy", "Fail");
    }
    let key = if binding { "matchResources" } else { "matchConstraints" };
    let Some(Value::Object(constraints)) = spec.get_mut(key) else { return };
    default(constraints, "matchPolicy", "Equivalent");
    default(constraints, "namespaceSelector", json!({}));
    default(constraints, "objectSelector", json!({}));
    for rules in ["resourceRules", "excludeResourceRules"] {
        for rule in items(constraints, rules) {
            default(rule, "scope", "*");
        }
    }
}
