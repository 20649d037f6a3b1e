//! Defaults of built-in kinds. Existing values are never overwritten.

use rand::Rng;
use serde_json::{Map, Value, json};

use crate::json::{child, default, object};
use crate::kinds::Resource;

/// Sets the fields that the client left out, in the storage version.
pub(crate) fn apply(resource: &Resource, value: &mut Value) {
    let map = object(value);
    match &*resource.storage {
        "pods" => {
            let spec = child(map, "spec");
            pod_spec(spec);
            default(spec, "enableServiceLinks", true);
            requests(spec);
        }
        "podtemplates" => pod_template(map),
        "replicationcontrollers" => replication_controller(map),
        "deployments.apps" => deployment(child(map, "spec")),
        "replicasets.apps" => replica_set(child(map, "spec")),
        "statefulsets.apps" => stateful_set(child(map, "spec")),
        "daemonsets.apps" => daemon_set(child(map, "spec")),
        "jobs.batch" => job(child(map, "spec")),
        "cronjobs.batch" => cron_job(child(map, "spec")),
        "services" => service(child(map, "spec")),
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
        storage if storage.ends_with(".admissionregistration.k8s.io") => policy(map),
        storage => apply_others(storage, map),
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

/// The `template` of a workload, or a PodTemplate itself.
pub(crate) fn pod_template(map: &mut Map<String, Value>) {
    let template = child(map, "template");
    pod_spec(child(template, "spec"));
}

pub(crate) fn pod_spec(spec: &mut Map<String, Value>) {
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
            pod_container(container, host_network);
        }
    }
    for volume in items(spec, "volumes") {
        pod_volume(volume);
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

fn pod_container(container: &mut Map<String, Value>, host_network: bool) {
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
            container_probe(probe);
        }
    }
}

fn container_probe(probe: &mut Map<String, Value>) {
    for (key, value) in [("timeoutSeconds", 1), ("periodSeconds", 10), ("successThreshold", 1), ("failureThreshold", 3)]
    {
        default(probe, key, value);
    }
    if let Some(http) = probe.get_mut("httpGet").and_then(Value::as_object_mut) {
        default(http, "path", "/");
        default(http, "scheme", "HTTP");
    }
}

fn pod_volume(volume: &mut Map<String, Value>) {
    for (source, mode) in [("secret", 420), ("configMap", 420), ("projected", 420), ("downwardAPI", 420)] {
        if let Some(source) = volume.get_mut(source).and_then(Value::as_object_mut) {
            default(source, "defaultMode", mode);
        }
    }
    if let Some(path) = volume.get_mut("hostPath").and_then(Value::as_object_mut) {
        path.entry("type").or_insert_with(|| "".into());
    }
}

pub(crate) fn deployment(spec: &mut Map<String, Value>) {
    default(spec, "replicas", 1);
    pod_template(spec);
    let strategy = child(spec, "strategy");
    default(strategy, "type", "RollingUpdate");
    if strategy.get("type").and_then(Value::as_str) == Some("RollingUpdate") {
        let rolling = child(strategy, "rollingUpdate");
        default(rolling, "maxUnavailable", "25%");
        default(rolling, "maxSurge", "25%");
    }
    default(spec, "revisionHistoryLimit", 10);
    default(spec, "progressDeadlineSeconds", 600);
}

pub(crate) fn replica_set(spec: &mut Map<String, Value>) {
    default(spec, "replicas", 1);
    if spec.contains_key("template") {
        pod_template(spec);
    }
}

pub(crate) fn replication_controller(map: &mut Map<String, Value>) {
    let labels = map.get("spec").and_then(|s| crate::json::at(s, &["template", "metadata", "labels"])).cloned();
    let spec = child(map, "spec");
    if let Some(labels) = labels {
        default(spec, "selector", labels);
    }
    replica_set(spec);
}

pub(crate) fn stateful_set(spec: &mut Map<String, Value>) {
    default(spec, "podManagementPolicy", "OrderedReady");
    default(spec, "replicas", 1);
    default(spec, "revisionHistoryLimit", 10);
    pod_template(spec);
    let strategy = child(spec, "updateStrategy");
    default(strategy, "type", "RollingUpdate");
    if strategy.get("type").and_then(Value::as_str) == Some("RollingUpdate") {
        default(child(strategy, "rollingUpdate"), "partition", 0);
    }
    for claim in items(spec, "volumeClaimTemplates") {
        default(claim, "kind", "PersistentVolumeClaim");
        default(claim, "apiVersion", "v1");
        default(child(claim, "spec"), "volumeMode", "Filesystem");
        default(child(claim, "status"), "phase", "Pending");
    }
    let retention = json!({ "whenDeleted": "Retain", "whenScaled": "Retain" });
    default(spec, "persistentVolumeClaimRetentionPolicy", retention);
}

pub(crate) fn daemon_set(spec: &mut Map<String, Value>) {
    default(spec, "revisionHistoryLimit", 10);
    pod_template(spec);
    let strategy = child(spec, "updateStrategy");
    default(strategy, "type", "RollingUpdate");
    if strategy.get("type").and_then(Value::as_str) == Some("RollingUpdate") {
        let rolling = child(strategy, "rollingUpdate");
        default(rolling, "maxUnavailable", 1);
        default(rolling, "maxSurge", 0);
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

pub(crate) fn job(spec: &mut Map<String, Value>) {
    job_spec(spec);
    default(spec, "manualSelector", false);
}

fn job_spec(spec: &mut Map<String, Value>) {
    if !spec.contains_key("completions") && !spec.contains_key("parallelism") {
        default(spec, "completions", 1);
    }
    default(spec, "parallelism", 1);
    default(spec, "backoffLimit", 6);
    default(spec, "completionMode", "NonIndexed");
    default(spec, "suspend", false);
    default(spec, "podReplacementPolicy", "TerminatingOrFailed");
    pod_template(spec);
}

pub(crate) fn cron_job(spec: &mut Map<String, Value>) {
    default(spec, "concurrencyPolicy", "Allow");
    default(spec, "suspend", false);
    default(spec, "successfulJobsHistoryLimit", 3);
    default(spec, "failedJobsHistoryLimit", 1);
    pod_template(child(child(spec, "jobTemplate"), "spec"));
}

pub(crate) fn service(spec: &mut Map<String, Value>) {
    default(spec, "type", "ClusterIP");
    default(spec, "sessionAffinity", "None");
    let kind = service_kind(spec);
    for port in items(spec, "ports") {
        default(port, "protocol", "TCP");
        if let Some(number) = port.get("port").cloned() {
            default(port, "targetPort", number);
        }
    }
    if kind == "ExternalName" {
        return;
    }
    if has_node_ports(&kind) {
        default(spec, "externalTrafficPolicy", "Cluster");
    }
    if kind == "LoadBalancer" {
        default(spec, "allocateLoadBalancerNodePorts", true);
    }
    default(spec, "internalTrafficPolicy", "Cluster");
}

fn service_kind(spec: &Map<String, Value>) -> String {
    spec.get("type").and_then(Value::as_str).unwrap_or_default().to_owned()
}

fn has_node_ports(kind: &str) -> bool {
    matches!(kind, "NodePort" | "LoadBalancer")
}

/// Assigns addresses and ports to a service. They have no owner.
pub(crate) fn allocate(spec: &mut Map<String, Value>) {
    let kind = service_kind(spec);
    if kind == "ExternalName" {
        return;
    }
    let mut random = rand::rng();
    if has_node_ports(&kind) {
        for port in items(spec, "ports") {
            default(port, "nodePort", random.random_range(30_000..32_768));
        }
    }
    let address = format!("10.96.{}.{}", random.random_range(0..=255), random.random_range(1..255));
    default(spec, "clusterIP", address);
    if let Some(address) = spec.get("clusterIP").cloned() {
        default(spec, "clusterIPs", json!([address]));
    }
    let headless = spec.get("clusterIP").and_then(Value::as_str) == Some("None");
    if headless && !spec.contains_key("selector") {
        default(spec, "ipFamilies", json!(["IPv4", "IPv6"]));
        default(spec, "ipFamilyPolicy", "RequireDualStack");
    }
    default(spec, "ipFamilies", json!(["IPv4"]));
    default(spec, "ipFamilyPolicy", "SingleStack");
}

fn apply_others(storage: &str, map: &mut Map<String, Value>) {
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
fn policy(map: &mut Map<String, Value>) {
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
