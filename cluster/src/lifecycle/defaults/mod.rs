//! Defaults of built-in kinds, which `defaults.yaml` lists, and what the server chooses itself. Existing values are never
//! overwritten.

use std::sync::LazyLock;

use rand::Rng;
use serde_json::{Map, Value, json};

use crate::json::{child, default, object};
use crate::kinds::Resource;

static DEFAULTS: LazyLock<Map<String, Value>> =
    LazyLock::new(|| yaml_serde::from_str(include_str!("defaults.yaml")).unwrap_or_default());

/// Sets the fields that the client left out, in the storage version.
pub(crate) fn apply(resource: &Resource, value: &mut Value) {
    let map = object(value);
    if &*resource.storage == "replicationcontrollers"
        && let Some(labels) = map.get("spec").and_then(|s| s.pointer("/template/metadata/labels")).cloned()
    {
        default(child(map, "spec"), "selector", labels);
    }
    if let Some(defaults) = DEFAULTS.get(&*resource.storage) {
        fill(map, defaults);
    }
    match &*resource.storage {
        "pods" => requests(child(map, "spec")),
        "services" => {
            for port in items(child(map, "spec"), "ports") {
                copy(port, "port", "targetPort");
            }
        }
        "nodes" => {
            if let Some(Value::Object(status)) = map.get_mut("status") {
                copy(status, "capacity", "allocatable");
            }
        }
        "limitranges" => items(child(map, "spec"), "limits").for_each(limits),
        "flowschemas.flowcontrol.apiserver.k8s.io" => {
            let spec = child(map, "spec");
            if spec.get("matchingPrecedence").is_none_or(|precedence| *precedence == 0) {
                spec.insert("matchingPrecedence".into(), 1000.into());
            }
        }
        _ => {}
    }
}

/// Sets the defaults of an object or of a part of it.
fn fill(map: &mut Map<String, Value>, defaults: &Value) {
    let named = defaults.as_str();
    let defaults = named.map_or(Some(defaults), |name| DEFAULTS.get(name));
    for (key, value) in defaults.and_then(Value::as_object).into_iter().flatten() {
        let (key, condition) = key.split_once(" if ").unwrap_or((key, ""));
        if !holds(map, condition) {
            continue;
        }
        if key == "$" {
            fill(map, value);
        } else if let Some(list) = key.strip_suffix('*') {
            items(map, list).for_each(|item| fill(item, value));
        } else if let Some(part) = key.strip_suffix('?') {
            if let Some(Value::Object(part)) = map.get_mut(part) {
                fill(part, value);
            }
        } else if value.is_object() || value.as_str().is_some_and(|name| name.starts_with('$')) {
            fill(child(map, key), value);
        } else {
            default(map, key, value.clone());
        }
    }
    if named == Some("$pod") {
        complete_pod(map);
    }
}

fn holds(map: &Map<String, Value>, condition: &str) -> bool {
    match (condition.strip_prefix('!'), condition.split_once('=')) {
        (Some(other), _) => !map.contains_key(other),
        (_, Some((other, values))) => {
            map.get(other).and_then(Value::as_str).is_some_and(|found| values.split(',').any(|value| value == found))
        }
        _ => true,
    }
}

/// The objects of a list field.
fn items<'a>(map: &'a mut Map<String, Value>, key: &str) -> impl Iterator<Item = &'a mut Map<String, Value>> {
    let list = map.get_mut(key).and_then(Value::as_array_mut);
    list.into_iter().flatten().filter_map(Value::as_object_mut)
}

/// A field defaults to another one.
fn copy(map: &mut Map<String, Value>, from: &str, to: &str) {
    if let Some(value) = map.get(from).cloned() {
        default(map, to, value);
    }
}

/// Defaults of a pod's spec that depend on its other fields.
fn complete_pod(spec: &mut Map<String, Value>) {
    copy(spec, "serviceAccountName", "serviceAccount");
    let host_network = spec.get("hostNetwork") == Some(&Value::Bool(true));
    for list in ["initContainers", "containers", "ephemeralContainers"] {
        for container in items(spec, list) {
            let image = container.get("image").and_then(Value::as_str).unwrap_or_default();
            let name = image.rsplit('/').next().unwrap_or_default();
            let latest = !image.contains('@') && (!name.contains(':') || name.ends_with(":latest"));
            default(container, "imagePullPolicy", if latest { "Always" } else { "IfNotPresent" });
            for port in items(container, "ports").filter(|_| host_network) {
                copy(port, "containerPort", "hostPort");
            }
        }
    }
}

/// A container's requests default to its limits.
fn requests(spec: &mut Map<String, Value>) {
    for list in ["initContainers", "containers"] {
        for container in items(spec, list) {
            let Some(Value::Object(limits)) = container.get("resources").and_then(|r| r.get("limits")).cloned() else {
                continue;
            };
            let requests = child(child(container, "resources"), "requests");
            for (name, limit) in limits {
                default(requests, &name, limit);
            }
        }
    }
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

/// Sets the labels and the selector by which a job finds its pods, from its own uid.
pub(crate) fn select_pods(map: &mut Map<String, Value>) {
    let text = |key: &str| {
        let found = map.get("metadata").and_then(|m| m.get(key)).and_then(Value::as_str);
        found.unwrap_or_default().to_owned()
    };
    let (uid, name) = (text("uid"), text("name"));
    let spec = child(map, "spec");
    if spec.get("manualSelector") == Some(&Value::Bool(true)) || spec.contains_key("selector") {
        return;
    }
    let labels = child(child(child(spec, "template"), "metadata"), "labels");
    for (key, value) in [("controller-uid", &uid), ("job-name", &name)] {
        labels.insert(format!("batch.kubernetes.io/{key}"), value.as_str().into());
        labels.insert(key.to_owned(), value.as_str().into());
    }
    let labels = labels.clone();
    spec.insert("selector".into(), json!({ "matchLabels": { "batch.kubernetes.io/controller-uid": uid } }));
    default(child(map, "metadata"), "labels", labels);
}

/// Assigns addresses and ports to a service. They have no owner.
pub(crate) fn allocate(spec: &mut Map<String, Value>) {
    let kind = spec.get("type").and_then(Value::as_str).unwrap_or_default();
    if kind == "ExternalName" {
        return;
    }
    let mut random = rand::rng();
    let has_node_ports = matches!(kind, "NodePort" | "LoadBalancer");
    for port in items(spec, "ports").filter(|_| has_node_ports) {
        default(port, "nodePort", random.random_range(30_000..32_768));
    }
    let address = format!("10.96.{}.{}", random.random_range(0..=255), random.random_range(1..255));
    default(spec, "clusterIP", address);
    let addresses = spec.get("clusterIP").cloned();
    default(spec, "clusterIPs", addresses.into_iter().collect::<Value>());
    let headless = spec.get("clusterIP").and_then(Value::as_str) == Some("None");
    if headless && !spec.contains_key("selector") {
        default(spec, "ipFamilies", json!(["IPv4", "IPv6"]));
        default(spec, "ipFamilyPolicy", "RequireDualStack");
    }
    default(spec, "ipFamilies", json!(["IPv4"]));
    default(spec, "ipFamilyPolicy", "SingleStack");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_defaults_can_be_read_and_name_only_what_there_is() {
        let entries: Map<String, Value> = yaml_serde::from_str(include_str!("defaults.yaml")).unwrap();
        let text = Value::Object(entries.clone()).to_string();
        let names = text.split('"').filter(|word| word.len() > 1 && word.starts_with('$'));
        assert!(names.clone().count() > 10);
        assert!(names.into_iter().all(|name| entries.contains_key(name)));
    }

    #[test]
    fn parts_are_filled_where_their_conditions_hold() {
        let mut service = json!({ "spec": { "type": "NodePort", "ports": [{ "port": 1 }, { "protocol": "UDP" }] } });
        fill(object(&mut service), &DEFAULTS["services"]);
        assert_eq!(
            service["spec"],
            json!({
                "type": "NodePort", "ports": [{ "port": 1, "protocol": "TCP" }, { "protocol": "UDP" }],
                "sessionAffinity": "None", "externalTrafficPolicy": "Cluster", "internalTrafficPolicy": "Cluster",
            })
        );
    }
}
