//! The cells of built-in kinds, by the names of their columns. The published definitions say which columns exist.
//! Incomplete objects are not errors.

use jiff::Timestamp;
use serde_json::Value;

use super::{or_none, since};
use crate::json;
use crate::kinds::scale::selector_text;

/// How a cell gets its value. Paths are written with dots.
pub(super) enum Cell {
    /// The text at a path.
    Text(&'static str),
    /// The text at a path, or what stands for an empty one.
    Or(&'static str, &'static str),
    /// The texts of a list.
    Texts(&'static str),
    /// The text at this key of each item of a list.
    Each(&'static str, &'static str),
    /// The integer at a path, or 0.
    Count(&'static str),
    /// The integer at a path, or `<none>`.
    Number(&'static str),
    /// How many entries a list or a map has.
    Size(&'static str),
    Flag(&'static str),
    Selector(&'static str),
    Of(fn(&Value, Timestamp) -> Value),
}

use Cell::{Count, Each, Flag, Number, Of, Or, Selector, Size, Text, Texts};

const NONE: &str = "<none>";
const UNSET: &str = "<unset>";
const UNKNOWN: &str = "<unknown>";

/// The columns of kinds, except names and ages: plural names, of which `*` is any beginning, the column, and its cell.
const COLUMNS: &[(&str, &str, Cell)] = &[
    ("pods", "Ready", Of(pod_ready)),
    ("pods", "Status", Of(pod_status)),
    ("pods", "Restarts", Of(pod_restarts)),
    ("pods", "IP", Or("status.podIP", NONE)),
    ("pods", "Node", Or("spec.nodeName", NONE)),
    ("pods", "Nominated Node", Or("status.nominatedNodeName", NONE)),
    ("pods", "Readiness Gates", Of(pod_gates)),
    ("deployments statefulsets", "Ready", Of(ready_of_wanted)),
    ("deployments", "Up-to-date", Count("status.updatedReplicas")),
    ("deployments", "Available", Count("status.availableReplicas")),
    ("replicasets replicationcontrollers", "Desired", Count("spec.replicas")),
    ("replicasets replicationcontrollers", "Current", Count("status.replicas")),
    ("replicasets replicationcontrollers", "Ready", Count("status.readyReplicas")),
    ("daemonsets", "Desired", Count("status.desiredNumberScheduled")),
    ("daemonsets", "Current", Count("status.currentNumberScheduled")),
    ("daemonsets", "Ready", Count("status.numberReady")),
    ("daemonsets", "Up-to-date", Count("status.updatedNumberScheduled")),
    ("daemonsets", "Available", Count("status.numberAvailable")),
    ("daemonsets", "Node Selector", Selector("spec.template.spec.nodeSelector")),
    (WORKLOADS, "Containers", Each("spec.template.spec.containers", "name")),
    (WORKLOADS, "Images", Each("spec.template.spec.containers", "image")),
    (WORKLOADS, "Selector", Selector("spec.selector")),
    ("jobs", "Status", Of(job_status)),
    ("jobs", "Completions", Of(completions)),
    ("jobs", "Duration", Of(duration)),
    ("cronjobs", "Schedule", Text("spec.schedule")),
    ("cronjobs", "Timezone", Or("spec.timeZone", NONE)),
    ("cronjobs", "Suspend", Of(|o, _| if flag(o, "spec.suspend") { "True".into() } else { "False".into() })),
    ("cronjobs", "Active", Size("status.active")),
    ("cronjobs", "Last Schedule", Of(|o, now| first_of(o, &["status.lastScheduleTime"], NONE, now))),
    ("cronjobs", "Containers", Each("spec.jobTemplate.spec.template.spec.containers", "name")),
    ("cronjobs", "Images", Each("spec.jobTemplate.spec.template.spec.containers", "image")),
    ("cronjobs", "Selector", Selector("spec.jobTemplate.spec.selector")),
    ("podtemplates", "Containers", Each("template.spec.containers", "name")),
    ("podtemplates", "Images", Each("template.spec.containers", "image")),
    ("podtemplates", "Pod Labels", Selector("template.metadata.labels")),
    ("services", "Type", Text("spec.type")),
    ("services", "Cluster-IP", Or("spec.clusterIP", NONE)),
    ("services", "External-IP", Of(external_ip)),
    ("services", "Port(s)", Of(ports)),
    ("services", "Selector", Selector("spec.selector")),
    ("nodes", "Status", Of(node_status)),
    ("nodes", "Roles", Of(node_roles)),
    ("nodes", "Version", Text("status.nodeInfo.kubeletVersion")),
    ("nodes", "Internal-IP", Of(|o, _| address(o, "InternalIP"))),
    ("nodes", "External-IP", Of(|o, _| address(o, "ExternalIP"))),
    ("nodes", "OS-Image", Or("status.nodeInfo.osImage", UNKNOWN)),
    ("nodes", "Kernel-Version", Or("status.nodeInfo.kernelVersion", UNKNOWN)),
    ("nodes", "Container-Runtime", Or("status.nodeInfo.containerRuntimeVersion", UNKNOWN)),
    ("events", "Last Seen", Of(|o, now| first_of(o, LAST_SEEN, UNKNOWN, now))),
    ("events", "Type", Text("type")),
    ("events", "Reason", Text("reason")),
    ("events", "Object", Of(involved)),
    ("events", "Subobject", Text("involvedObject.fieldPath")),
    ("events", "Source", Of(event_source)),
    ("events", "Message", Of(|o, _| text(o, "message").trim().into())),
    ("events", "First Seen", Of(|o, now| first_of(o, &["firstTimestamp", "eventTime"], UNKNOWN, now))),
    ("events", "Count", Of(|o, _| int(o, "series.count").or(int(o, "count")).unwrap_or(1).into())),
    ("persistentvolumeclaims persistentvolumes namespaces", "Status", Of(phase)),
    ("persistentvolumeclaims", "Volume", Text("spec.volumeName")),
    ("persistentvolumeclaims", "Capacity", Text("status.capacity.storage")),
    ("persistentvolumeclaims", "Access Modes", Of(|o, _| access_modes(o, "status.accessModes"))),
    ("persistentvolumeclaims persistentvolumes", "StorageClass", Text("spec.storageClassName")),
    ("persistentvolumeclaims persistentvolumes", "VolumeMode", Or("spec.volumeMode", UNSET)),
    ("persistentvolumeclaims persistentvolumes", "VolumeAttributesClass", Or("spec.volumeAttributesClassName", UNSET)),
    ("persistentvolumes", "Capacity", Text("spec.capacity.storage")),
    ("persistentvolumes", "Access Modes", Of(|o, _| access_modes(o, "spec.accessModes"))),
    ("persistentvolumes", "Reclaim Policy", Text("spec.persistentVolumeReclaimPolicy")),
    ("persistentvolumes", "Claim", Of(claim)),
    ("persistentvolumes", "Reason", Text("status.reason")),
    ("ingresses", "Class", Or("spec.ingressClassName", NONE)),
    ("ingresses", "Hosts", Of(|o, _| or(given(o, "spec.rules", "host"), "*"))),
    ("ingresses", "Address", Of(|o, _| given(o, "status.loadBalancer.ingress", "ip").into())),
    ("ingresses", "Ports", Of(|o, _| if list(o, "spec.tls").is_empty() { "80".into() } else { "80, 443".into() })),
    ("configmaps", "Data", Of(|o, _| (size(o, "data") + size(o, "binaryData")).into())),
    ("secrets", "Type", Text("type")),
    ("secrets", "Data", Size("data")),
    ("endpoints", "Endpoints", Of(endpoints)),
    ("leases", "Holder", Text("spec.holderIdentity")),
    ("networkpolicies", "Pod-Selector", Selector("spec.podSelector")),
    ("*rolebindings", "Role", Of(|o, _| format!("{}/{}", text(o, "roleRef.kind"), text(o, "roleRef.name")).into())),
    ("*rolebindings", "Users", Of(|o, _| subjects(o, "User"))),
    ("*rolebindings", "Groups", Of(|o, _| subjects(o, "Group"))),
    ("*rolebindings", "ServiceAccounts", Of(|o, _| subjects(o, "ServiceAccount"))),
    ("poddisruptionbudgets", "Min Available", Or("spec.minAvailable", "N/A")),
    ("poddisruptionbudgets", "Max Unavailable", Or("spec.maxUnavailable", "N/A")),
    ("poddisruptionbudgets", "Allowed Disruptions", Count("status.disruptionsAllowed")),
    ("*webhookconfigurations", "Webhooks", Size("webhooks")),
    ("ingressclasses", "Controller", Text("spec.controller")),
    ("ingressclasses", "Parameters", Or("spec.parameters.name", NONE)),
    ("controllerrevisions", "Controller", Of(owner)),
    ("controllerrevisions", "Revision", Count("revision")),
    ("resourcequotas", "Request", Of(|o, _| quota(o, false))),
    ("resourcequotas", "Limit", Of(|o, _| quota(o, true))),
    ("horizontalpodautoscalers", "Reference", Of(scaled)),
    ("horizontalpodautoscalers", "Targets", Of(targets)),
    ("horizontalpodautoscalers", "MinPods", Or("spec.minReplicas", UNSET)),
    ("horizontalpodautoscalers", "MaxPods", Count("spec.maxReplicas")),
    ("horizontalpodautoscalers", "Replicas", Count("status.currentReplicas")),
    ("storageclasses", "Provisioner", Text("provisioner")),
    ("storageclasses", "ReclaimPolicy", Text("reclaimPolicy")),
    ("storageclasses", "VolumeBindingMode", Text("volumeBindingMode")),
    ("storageclasses", "AllowVolumeExpansion", Flag("allowVolumeExpansion")),
    ("csidrivers", "AttachRequired", Flag("spec.attachRequired")),
    ("csidrivers", "PodInfoOnMount", Flag("spec.podInfoOnMount")),
    ("csidrivers", "StorageCapacity", Flag("spec.storageCapacity")),
    ("csidrivers", "TokenRequests", Of(|o, _| or(each(o, "spec.tokenRequests", "audience"), UNSET))),
    ("csidrivers", "RequiresRepublish", Flag("spec.requiresRepublish")),
    ("csidrivers", "Modes", Texts("spec.volumeLifecycleModes")),
    ("csinodes", "Drivers", Size("spec.drivers")),
    ("volumeattachments", "Attacher", Text("spec.attacher")),
    ("volumeattachments", "PV", Text("spec.source.persistentVolumeName")),
    ("volumeattachments resourceslices", "Node", Text("spec.nodeName")),
    ("volumeattachments", "Attached", Flag("status.attached")),
    ("volumeattributesclasses", "DriverName", Text("driverName")),
    ("endpointslices", "AddressType", Text("addressType")),
    ("endpointslices", "Ports", Of(slice_ports)),
    ("endpointslices", "Endpoints", Of(slice_addresses)),
    ("priorityclasses", "Value", Count("value")),
    ("priorityclasses", "Global-Default", Flag("globalDefault")),
    ("priorityclasses", "PreemptionPolicy", Text("preemptionPolicy")),
    ("certificatesigningrequests", "SignerName", Or("spec.signerName", NONE)),
    ("certificatesigningrequests", "Requestor", Text("spec.username")),
    ("certificatesigningrequests", "RequestedDuration", Of(requested_duration)),
    ("certificatesigningrequests", "Condition", Of(request_state)),
    ("flowschemas", "PriorityLevel", Text("spec.priorityLevelConfiguration.name")),
    ("flowschemas", "MatchingPrecedence", Count("spec.matchingPrecedence")),
    ("flowschemas", "DistinguisherMethod", Or("spec.distinguisherMethod.type", NONE)),
    ("flowschemas", "MissingPL", Of(missing_level)),
    ("prioritylevelconfigurations", "Type", Text("spec.type")),
    ("prioritylevelconfigurations", "NominalConcurrencyShares", Number("spec.limited.nominalConcurrencyShares")),
    ("prioritylevelconfigurations", "Queues", Number("spec.limited.limitResponse.queuing.queues")),
    ("prioritylevelconfigurations", "HandSize", Number("spec.limited.limitResponse.queuing.handSize")),
    ("prioritylevelconfigurations", "QueueLengthLimit", Number("spec.limited.limitResponse.queuing.queueLengthLimit")),
    ("runtimeclasses", "Handler", Text("handler")),
    ("ipaddresses", "ParentRef", Of(parent)),
    ("servicecidrs", "CIDRs", Texts("spec.cidrs")),
    ("apiservices", "Service", Of(api_service)),
    ("apiservices", "Available", Of(|o, _| condition(o, "Available").unwrap_or("Unknown").into())),
    ("resourceclaims", "State", Of(claim_state)),
    ("resourceslices", "Driver", Text("spec.driver")),
    ("resourceslices", "Pool", Text("spec.pool.name")),
    ("*admissionpolicies", "Validations", Size("spec.validations")),
    ("*admissionpolicies", "Mutations", Size("spec.mutations")),
    ("*admissionpolicies", "ParamKind", Of(param_kind)),
    ("*admissionpolicybindings", "PolicyName", Text("spec.policyName")),
    ("*admissionpolicybindings", "ParamRef", Of(param_ref)),
];
const WORKLOADS: &str = "deployments replicasets replicationcontrollers statefulsets daemonsets jobs";
const LAST_SEEN: &[&str] = &["series.lastObservedTime", "lastTimestamp", "eventTime"];

/// The cell of a column of a collection.
pub(super) fn of(storage: &str, column: &str) -> Option<&'static Cell> {
    let plural = storage.split('.').next().unwrap_or_default();
    let is = |name: &str| name.strip_prefix('*').map_or(name == plural, |end| plural.ends_with(end));
    COLUMNS.iter().find(|(kinds, name, _)| *name == column && kinds.split(' ').any(is)).map(|(.., cell)| cell)
}

impl Cell {
    pub(super) fn value(&self, o: &Value, now: Timestamp) -> Value {
        match *self {
            Text(path) => text(o, path).into(),
            Or(path, empty) => or(shown(o, path), empty),
            Texts(path) => list(o, path).iter().filter_map(Value::as_str).collect::<Vec<_>>().join(",").into(),
            Each(path, key) => each(o, path, key).into(),
            Count(path) => int(o, path).unwrap_or_default().into(),
            Number(path) => int(o, path).map_or_else(|| NONE.into(), Value::from),
            Size(path) => size(o, path).into(),
            Flag(path) => flag(o, path).into(),
            Selector(path) => or_none(selector_text(at(o, path))),
            Of(cell) => cell(o, now),
        }
    }
}

fn at<'a>(o: &'a Value, path: &str) -> Option<&'a Value> {
    path.split('.').try_fold(o, |here, key| here.get(key))
}

fn text<'a>(o: &'a Value, path: &str) -> &'a str {
    at(o, path).and_then(Value::as_str).unwrap_or_default()
}

fn int(o: &Value, path: &str) -> Option<i64> {
    at(o, path).and_then(Value::as_i64)
}

fn flag(o: &Value, path: &str) -> bool {
    at(o, path).and_then(Value::as_bool).unwrap_or_default()
}

fn list<'a>(o: &'a Value, path: &str) -> &'a [Value] {
    at(o, path).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

fn size(o: &Value, path: &str) -> i64 {
    let length = match at(o, path) {
        Some(Value::Object(map)) => map.len(),
        Some(Value::Array(items)) => items.len(),
        _ => 0,
    };
    i64::try_from(length).unwrap_or(i64::MAX)
}

fn shown(o: &Value, path: &str) -> String {
    at(o, path).map(crate::jsonpath::text).unwrap_or_default()
}

fn or(text: String, empty: &str) -> Value {
    if text.is_empty() { empty.into() } else { text.into() }
}

fn each(o: &Value, path: &str, key: &str) -> String {
    list(o, path).iter().map(|item| text(item, key)).collect::<Vec<_>>().join(",")
}

/// Like `each`, without empty texts.
fn given(o: &Value, path: &str, key: &str) -> String {
    list(o, path).iter().map(|item| text(item, key)).filter(|v| !v.is_empty()).collect::<Vec<_>>().join(",")
}

/// The time since the first of these that is set.
fn first_of(o: &Value, paths: &[&str], none: &str, now: Timestamp) -> Value {
    let set = paths.iter().map(|path| text(o, path)).find(|text| !text.is_empty());
    set.map_or_else(|| none.into(), |text| since(text, now))
}

/// The status of a condition.
fn condition<'a>(o: &'a Value, kind: &str) -> Option<&'a str> {
    list(o, "status.conditions").iter().find(|c| text(c, "type") == kind).map(|c| text(c, "status"))
}

fn is_true(o: &Value, kind: &str) -> bool {
    list(o, "status.conditions").iter().any(|c| text(c, "type") == kind && text(c, "status") == "True")
}

fn is_terminating(o: &Value) -> bool {
    at(o, "metadata.deletionTimestamp").is_some()
}

fn phase(o: &Value, _: Timestamp) -> Value {
    if is_terminating(o) { "Terminating".into() } else { text(o, "status.phase").into() }
}

fn ready_of_wanted(o: &Value, _: Timestamp) -> Value {
    let count = |path| int(o, path).unwrap_or_default();
    format!("{}/{}", count("status.readyReplicas"), count("spec.replicas")).into()
}

fn job_status(o: &Value, _: Timestamp) -> Value {
    let kinds = ["Complete", "Failed", "Suspended", "FailureTarget", "SuccessCriteriaMet"];
    let terminating = is_terminating(o).then_some("Terminating");
    kinds.into_iter().find(|kind| is_true(o, kind)).or(terminating).unwrap_or("Running").into()
}

fn completions(o: &Value, _: Timestamp) -> Value {
    let done = int(o, "status.succeeded").unwrap_or_default();
    match (int(o, "spec.completions"), int(o, "spec.parallelism")) {
        (Some(wanted), _) => format!("{done}/{wanted}").into(),
        (None, Some(parallel)) if parallel > 1 => format!("{done}/1 of {parallel}").into(),
        _ => format!("{done}/1").into(),
    }
}

fn duration(o: &Value, now: Timestamp) -> Value {
    let start = text(o, "status.startTime");
    let end = text(o, "status.completionTime").parse().unwrap_or(now);
    if start.is_empty() { "".into() } else { since(start, end) }
}

fn pod_ready(o: &Value, _: Timestamp) -> Value {
    let ready = list(o, "status.containerStatuses").iter().filter(|c| flag(c, "ready"));
    format!("{}/{}", ready.count(), list(o, "spec.containers").len()).into()
}

fn pod_restarts(o: &Value, _: Timestamp) -> Value {
    let counts = list(o, "status.containerStatuses").iter().filter_map(|c| int(c, "restartCount"));
    counts.fold(0i64, i64::saturating_add).to_string().into()
}

fn pod_gates(o: &Value, _: Timestamp) -> Value {
    let gates = list(o, "spec.readinessGates");
    if gates.is_empty() {
        return NONE.into();
    }
    let met = gates.iter().filter(|gate| is_true(o, text(gate, "conditionType"))).count();
    format!("{met}/{}", gates.len()).into()
}

/// The word that `kubectl get pods` shows: the phase, or the most informative container state.
fn pod_status(o: &Value, _: Timestamp) -> Value {
    let reason = text(o, "status.reason");
    if is_terminating(o) {
        return if reason == "NodeLost" { "Unknown".into() } else { "Terminating".into() };
    }
    let mut shown = if reason.is_empty() { text(o, "status.phase") } else { reason }.to_owned();
    for status in list(o, "status.containerStatuses").iter().rev() {
        let waiting = text(status, "state.waiting.reason");
        let terminated = text(status, "state.terminated.reason");
        if !waiting.is_empty() {
            shown = waiting.to_owned();
        } else if !terminated.is_empty() {
            shown = terminated.to_owned();
        } else if let Some(code) = int(status, "state.terminated.exitCode") {
            shown = match int(status, "state.terminated.signal") {
                Some(signal) if signal != 0 => format!("Signal:{signal}"),
                _ => format!("ExitCode:{code}"),
            };
        }
    }
    shown.into()
}

fn external_ip(o: &Value, _: Timestamp) -> Value {
    let ingress = list(o, "status.loadBalancer.ingress").iter();
    let mut found: Vec<&str> =
        ingress.map(|i| if text(i, "ip").is_empty() { text(i, "hostname") } else { text(i, "ip") }).collect();
    found.extend(list(o, "spec.externalIPs").iter().filter_map(Value::as_str));
    match text(o, "spec.type") {
        "ExternalName" => text(o, "spec.externalName").into(),
        "LoadBalancer" if found.is_empty() => "<pending>".into(),
        _ => or_none(found.join(",")),
    }
}

fn ports(o: &Value, _: Timestamp) -> Value {
    let port = |p: &Value| {
        let (number, protocol) = (shown(p, "port"), text(p, "protocol"));
        match int(p, "nodePort") {
            Some(node) => format!("{number}:{node}/{protocol}"),
            None => format!("{number}/{protocol}"),
        }
    };
    or_none(list(o, "spec.ports").iter().map(port).collect::<Vec<_>>().join(","))
}

fn node_status(o: &Value, _: Timestamp) -> Value {
    let status = match condition(o, "Ready") {
        Some("True") => "Ready",
        Some(_) => "NotReady",
        None => "Unknown",
    };
    if flag(o, "spec.unschedulable") { format!("{status},SchedulingDisabled").into() } else { status.into() }
}

fn node_roles(o: &Value, _: Timestamp) -> Value {
    let role = |(key, value): (&String, &Value)| match key.strip_prefix("node-role.kubernetes.io/") {
        Some(role) => Some(role.to_owned()),
        None => (key == "kubernetes.io/role").then(|| value.as_str().unwrap_or_default().to_owned()),
    };
    let labels = at(o, "metadata.labels").and_then(Value::as_object);
    let mut roles: Vec<String> = labels.into_iter().flatten().filter_map(role).collect();
    roles.sort();
    or_none(roles.join(","))
}

fn address(o: &Value, kind: &str) -> Value {
    let found = list(o, "status.addresses").iter().find(|a| text(a, "type") == kind);
    or_none(found.map(|a| text(a, "address")).unwrap_or_default())
}

fn involved(o: &Value, _: Timestamp) -> Value {
    format!("{}/{}", text(o, "involvedObject.kind").to_lowercase(), text(o, "involvedObject.name")).into()
}

fn event_source(o: &Value, _: Timestamp) -> Value {
    let (component, host) = (text(o, "source.component"), text(o, "source.host"));
    let component = if component.is_empty() { text(o, "reportingComponent") } else { component };
    if host.is_empty() { component.into() } else { format!("{component}, {host}").into() }
}

fn access_modes(o: &Value, path: &str) -> Value {
    let short = |mode: &Value| match mode.as_str().unwrap_or_default() {
        "ReadWriteOnce" => "RWO",
        "ReadOnlyMany" => "ROX",
        "ReadWriteMany" => "RWX",
        "ReadWriteOncePod" => "RWOP",
        _ => "",
    };
    list(o, path).iter().map(short).collect::<Vec<_>>().join(",").into()
}

fn claim(o: &Value, _: Timestamp) -> Value {
    match text(o, "spec.claimRef.name") {
        "" => "".into(),
        name => format!("{}/{name}", text(o, "spec.claimRef.namespace")).into(),
    }
}

fn endpoints(o: &Value, _: Timestamp) -> Value {
    let mut found = Vec::new();
    for subset in list(o, "subsets") {
        for address in list(subset, "addresses") {
            let ip = text(address, "ip");
            let ports = list(subset, "ports");
            if ports.is_empty() {
                found.push(ip.to_owned());
            }
            found.extend(ports.iter().map(|p| format!("{ip}:{}", shown(p, "port"))));
        }
    }
    shortened(found, NONE)
}

fn slice_ports(o: &Value, _: Timestamp) -> Value {
    let port = |port: &Value| match (int(port, "port"), text(port, "name")) {
        (Some(number), _) => number.to_string(),
        (None, "") => "*".to_owned(),
        (None, name) => name.to_owned(),
    };
    shortened(list(o, "ports").iter().map(port).collect(), UNSET)
}

fn slice_addresses(o: &Value, _: Timestamp) -> Value {
    let all = list(o, "endpoints").iter().flat_map(|e| list(e, "addresses"));
    shortened(all.filter_map(Value::as_str).map(str::to_owned).collect(), UNSET)
}

/// The first three, and the number of the others.
fn shortened(all: Vec<String>, empty: &str) -> Value {
    let shown = all.iter().take(3).cloned().collect::<Vec<_>>().join(",");
    match all.len() {
        count if count > 3 => format!("{shown} + {} more...", count - 3).into(),
        _ => or(shown, empty),
    }
}

fn subjects(o: &Value, kind: &str) -> Value {
    let named = |s: &&Value| text(s, "kind") == kind;
    let name = |s: &Value| match text(s, "namespace") {
        "" => text(s, "name").to_owned(),
        namespace => format!("{namespace}/{}", text(s, "name")),
    };
    list(o, "subjects").iter().filter(named).map(name).collect::<Vec<_>>().join(", ").into()
}

fn owner(o: &Value, _: Timestamp) -> Value {
    let owner = list(o, "metadata.ownerReferences").first();
    or_none(owner.map(|r| format!("{}/{}", text(r, "kind").to_lowercase(), text(r, "name"))).unwrap_or_default())
}

fn quota(o: &Value, limits: bool) -> Value {
    let hard = at(o, "status.hard").and_then(Value::as_object);
    let mut parts: Vec<String> = hard
        .into_iter()
        .flatten()
        .filter(|(name, _)| name.contains("limits") == limits)
        .map(|(name, hard)| {
            let used = match json::text(o, &["status", "used", name]) {
                "" => "0",
                used => used,
            };
            format!("{name}: {used}/{}", hard.as_str().unwrap_or_default())
        })
        .collect();
    parts.sort();
    parts.join(", ").into()
}

fn scaled(o: &Value, _: Timestamp) -> Value {
    format!("{}/{}", text(o, "spec.scaleTargetRef.kind"), text(o, "spec.scaleTargetRef.name")).into()
}

/// Current and wanted value of each metric: `cpu: 3%/80%`.
fn targets(o: &Value, _: Timestamp) -> Value {
    let all: Vec<String> = list(o, "spec.metrics").iter().map(|metric| target(o, metric)).collect();
    match all.as_slice() {
        [] => NONE.into(),
        [one, other, rest @ ..] if !rest.is_empty() => format!("{one}, {other} + {} more...", rest.len()).into(),
        _ => all.join(", ").into(),
    }
}

fn target(o: &Value, metric: &Value) -> String {
    let kind = text(metric, "type");
    let mut word = kind.to_owned();
    if let Some(first) = word.get_mut(..1) {
        first.make_ascii_lowercase();
    }
    let Some(source) = metric.get(&word) else {
        return "<unknown type>".to_owned();
    };
    let name = text(source, "name");
    let same = |m: &&Value| text(m, "type") == kind && json::text(m, &[&word, "name"]) == name;
    let current = list(o, "status.currentMetrics").iter().find(same);
    let (key, unit) = match text(source, "target.type") {
        "Utilization" => ("averageUtilization", "%"),
        "AverageValue" => ("averageValue", ""),
        _ => ("value", ""),
    };
    let shown = |value: Option<&Value>| value.map(|v| format!("{}{unit}", crate::jsonpath::text(v)));
    let used = shown(current.and_then(|c| json::at(c, &[&word, "current", key]))).unwrap_or_else(|| UNKNOWN.into());
    let wanted = shown(json::at(source, &["target", key])).unwrap_or_else(|| "<auto>".into());
    match key {
        _ if kind == "Resource" => format!("{name}: {used}/{wanted}"),
        "averageValue" => format!("{used}/{wanted} (avg)"),
        _ => format!("{used}/{wanted}"),
    }
}

fn requested_duration(o: &Value, _: Timestamp) -> Value {
    int(o, "spec.expirationSeconds").map_or_else(|| NONE.into(), |seconds| crate::time::human(seconds).into())
}

fn request_state(o: &Value, _: Timestamp) -> Value {
    let has = |kind: &str| condition(o, kind).is_some();
    let decision = ["Denied", "Approved"].into_iter().find(|kind| has(kind)).unwrap_or("Pending");
    let failed = has("Failed").then_some("Failed");
    let issued = (!text(o, "status.certificate").is_empty()).then_some("Issued");
    [Some(decision), failed, issued].into_iter().flatten().collect::<Vec<_>>().join(",").into()
}

fn missing_level(o: &Value, _: Timestamp) -> Value {
    let dangling = list(o, "status.conditions").iter().rfind(|c| text(c, "type") == "Dangling");
    dangling.map_or("?", |c| text(c, "status")).into()
}

fn parent(o: &Value, _: Timestamp) -> Value {
    let part = |key: &str| json::text(o, &["spec", "parentRef", key]);
    let resource = match part("group") {
        "" => part("resource").to_owned(),
        group => format!("{}.{group}", part("resource")),
    };
    let parts = [resource.as_str(), part("namespace"), part("name")];
    parts.into_iter().filter(|p| !p.is_empty()).collect::<Vec<_>>().join("/").into()
}

fn api_service(o: &Value, _: Timestamp) -> Value {
    match text(o, "spec.service.name") {
        "" => "Local".into(),
        name => format!("{}/{name}", text(o, "spec.service.namespace")).into(),
    }
}

fn claim_state(o: &Value, _: Timestamp) -> Value {
    let allocated = at(o, "status.allocation").is_some();
    let words = [
        ("deleted", is_terminating(o)),
        ("pending", !allocated && !is_terminating(o)),
        ("allocated", allocated),
        ("reserved", allocated && !list(o, "status.reservedFor").is_empty()),
    ];
    words.into_iter().filter(|(_, shown)| *shown).map(|(word, _)| word).collect::<Vec<_>>().join(",").into()
}

fn param_kind(o: &Value, _: Timestamp) -> Value {
    match at(o, "spec.paramKind") {
        Some(kind) => format!("{}/{}", text(kind, "apiVersion"), text(kind, "kind")).into(),
        None => UNSET.into(),
    }
}

fn param_ref(o: &Value, _: Timestamp) -> Value {
    match (text(o, "spec.paramRef.namespace"), text(o, "spec.paramRef.name")) {
        ("", "") => UNSET.into(),
        ("", name) => format!("*/{name}").into(),
        (namespace, name) => format!("{namespace}/{name}").into(),
    }
}
