//! Defaults of pod specs, templates and containers.

use serde_json::{Map, Value, json};

use super::items;
use crate::json::{child, default};

/// The `template` of a workload, or a PodTemplate itself.
pub(crate) fn template(map: &mut Map<String, Value>) {
    let template = child(map, "template");
    spec(child(template, "spec"));
}

pub(crate) fn spec(spec: &mut Map<String, Value>) {
    default(spec, "restartPolicy", "Always");
    default(spec, "terminationGracePeriodSeconds", 30);
    default(spec, "dnsPolicy", "ClusterFirst");
    default(spec, "securityContext", json!({}));
    default(spec, "schedulerName", "default-scheduler");
    if let Some(account) = spec.get("serviceAccountName").cloned() {
        default(spec, "serviceAccount", account);
    }
    let host_network = spec.get("hostNetwork") == Some(&Value::Bool(true));
    for list in ["initContainers", "containers", "ephemeralContainers"] {
        for container in items(spec, list) {
            self::container(container, host_network);
        }
    }
    for volume in items(spec, "volumes") {
        self::volume(volume);
    }
}

/// A container's requests default to its limits.
pub(crate) fn requests(spec: &mut Map<String, Value>) {
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

fn container(container: &mut Map<String, Value>, host_network: bool) {
    let image = container.get("image").and_then(Value::as_str).unwrap_or_default();
    let name = image.rsplit('/').next().unwrap_or_default();
    let latest = !image.contains('@') && (!name.contains(':') || name.ends_with(":latest"));
    default(container, "resources", json!({}));
    default(container, "terminationMessagePath", "/dev/termination-log");
    default(container, "terminationMessagePolicy", "File");
    default(container, "imagePullPolicy", if latest { "Always" } else { "IfNotPresent" });
    for port in items(container, "ports") {
        default(port, "protocol", "TCP");
        if host_network && let Some(number) = port.get("containerPort").cloned() {
            default(port, "hostPort", number);
        }
    }
    for env in items(container, "env") {
        let source = env.get_mut("valueFrom").and_then(|v| v.get_mut("fieldRef"));
        if let Some(reference) = source.and_then(Value::as_object_mut) {
            default(reference, "apiVersion", "v1");
        }
    }
    for probe in ["livenessProbe", "readinessProbe", "startupProbe"] {
        if let Some(probe) = container.get_mut(probe).and_then(Value::as_object_mut) {
            self::probe(probe);
        }
    }
}

fn probe(probe: &mut Map<String, Value>) {
    for (key, value) in [("timeoutSeconds", 1), ("periodSeconds", 10), ("successThreshold", 1), ("failureThreshold", 3)]
    {
        default(probe, key, value);
    }
    if let Some(http) = probe.get_mut("httpGet").and_then(Value::as_object_mut) {
        default(http, "path", "/");
        default(http, "scheme", "HTTP");
    }
}

fn volume(volume: &mut Map<String, Value>) {
    for (source, mode) in [("secret", 420), ("configMap", 420), ("projected", 420), ("downwardAPI", 420)] {
        if let Some(source) = volume.get_mut(source).and_then(Value::as_object_mut) {
            default(source, "defaultMode", mode);
        }
    }
    if let Some(path) = volume.get_mut("hostPath").and_then(Value::as_object_mut) {
        path.entry("type").or_insert_with(|| "".into());
    }
}
