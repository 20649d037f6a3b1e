//! Cells of common kinds other than workloads. Incomplete objects are not errors.

use jiff::Timestamp;
use serde_json::Value;

use super::{or_none, since};
use crate::json::{at, int, list, text};
use crate::kinds::scale::selector_text;

fn size(object: &Value, path: &[&str]) -> i64 {
    let length = match at(object, path) {
        Some(Value::Object(map)) => map.len(),
        Some(Value::Array(items)) => items.len(),
        _ => 0,
    };
    i64::try_from(length).unwrap_or(i64::MAX)
}

fn joined(object: &Value, path: &[&str], of: &[&str]) -> String {
    let values = list(object, path)
        .iter()
        .map(|item| if of.is_empty() { item.as_str().unwrap_or_default() } else { text(item, of) });
    values.filter(|v| !v.is_empty()).collect::<Vec<_>>().join(",")
}

fn shown(object: &Value, path: &[&str]) -> String {
    at(object, path).map(crate::jsonpath::text).unwrap_or_default()
}

macro_rules! cells {
    ($($name:ident => $expression:expr;)*) => {
        $(pub(crate) fn $name(o: &Value, now: Timestamp) -> Value {
            let cell: fn(&Value, Timestamp) -> Value = $expression;
            cell(o, now)
        })*
    };
}

cells! {
    name => |o, _| text(o, &["metadata", "name"]).into();
    phase => |o, _| {
        if at(o, &["metadata", "deletionTimestamp"]).is_some() { "Terminating".into() } else { text(o, &["status", "phase"]).into() }
    };
    config_data => |o, _| (size(o, &["data"]) + size(o, &["binaryData"])).into();
    secret_data => |o, _| size(o, &["data"]).into();
    webhooks => |o, _| size(o, &["webhooks"]).into();
    event_type => |o, _| text(o, &["type"]).into();
    reason => |o, _| text(o, &["reason"]).into();
    message => |o, _| text(o, &["message"]).trim().into();
    involved => |o, _| {
        format!("{}/{}", text(o, &["involvedObject", "kind"]).to_lowercase(), text(o, &["involvedObject", "name"])).into()
    };
    subobject => |o, _| text(o, &["involvedObject", "fieldPath"]).into();
    event_source => |o, _| {
        let (component, host) = (text(o, &["source", "component"]), text(o, &["source", "host"]));
        let component = if component.is_empty() { text(o, &["reportingComponent"]) } else { component };
        if host.is_empty() { component.into() } else { format!("{component}, {host}").into() }
    };
    event_count => |o, _| int(o, &["series", "count"]).or(int(o, &["count"])).unwrap_or(1).into();
    last_seen => |o, now| first_of(o, &[&["series", "lastObservedTime"], &["lastTimestamp"], &["eventTime"]], now);
    first_seen => |o, now| first_of(o, &[&["firstTimestamp"], &["eventTime"]], now);
    service_type => |o, _| text(o, &["spec", "type"]).into();
    cluster_ip => |o, _| or_none(text(o, &["spec", "clusterIP"]));
    external_ip => |o, _| {
        let ingress = list(o, &["status", "loadBalancer", "ingress"]).iter();
        let mut found: Vec<&str> = ingress.map(|i| if text(i, &["ip"]).is_empty() { text(i, &["hostname"]) } else { text(i, &["ip"]) }).collect();
        found.extend(list(o, &["spec", "externalIPs"]).iter().filter_map(Value::as_str));
        match text(o, &["spec", "type"]) {
            "ExternalName" => text(o, &["spec", "externalName"]).into(),
            "LoadBalancer" if found.is_empty() => "<pending>".into(),
            _ => or_none(found.join(",")),
        }
    };
    ports => |o, _| {
        let port = |p: &Value| {
            let (number, protocol) = (shown(p, &["port"]), text(p, &["protocol"]));
            match int(p, &["nodePort"]) {
                Some(node) => format!("{number}:{node}/{protocol}"),
                None => format!("{number}/{protocol}"),
            }
        };
        or_none(list(o, &["spec", "ports"]).iter().map(port).collect::<Vec<_>>().join(","))
    };
    plain_selector => |o, _| or_none(selector_text(at(o, &["spec", "selector"])));
    pod_selector => |o, _| or_none(selector_text(at(o, &["spec", "podSelector"])));
    node_status => |o, _| {
        let ready = list(o, &["status", "conditions"]).iter().find(|c| text(c, &["type"]) == "Ready");
        let mut status = match ready.map(|c| text(c, &["status"])) {
            Some("True") => "Ready".to_owned(),
            Some(_) => "NotReady".to_owned(),
            None => "Unknown".to_owned(),
        };
        if at(o, &["spec", "unschedulable"]) == Some(&Value::Bool(true)) { status.push_str(",SchedulingDisabled"); }
        status.into()
    };
    node_roles => |o, _| {
        let labels = at(o, &["metadata", "labels"]).and_then(Value::as_object);
        let mut roles: Vec<String> = labels.into_iter().flatten().filter_map(|(k, v)| match k.strip_prefix("node-role.kubernetes.io/") {
            Some(role) => Some(role.to_owned()),
            None => (k == "kubernetes.io/role").then(|| v.as_str().unwrap_or_default().to_owned()),
        }).collect();
        roles.sort();
        or_none(roles.join(","))
    };
    node_version => |o, _| text(o, &["status", "nodeInfo", "kubeletVersion"]).into();
    internal_ip => |o, _| address(o, "InternalIP");
    node_external_ip => |o, _| address(o, "ExternalIP");
    os_image => |o, _| unknown(text(o, &["status", "nodeInfo", "osImage"]));
    kernel => |o, _| unknown(text(o, &["status", "nodeInfo", "kernelVersion"]));
    container_runtime => |o, _| unknown(text(o, &["status", "nodeInfo", "containerRuntimeVersion"]));
    volume_name => |o, _| text(o, &["spec", "volumeName"]).into();
    volume_mode => |o, _| unset(text(o, &["spec", "volumeMode"]));
    attributes_class => |o, _| unset(text(o, &["spec", "volumeAttributesClassName"]));
    status_reason => |o, _| text(o, &["status", "reason"]).into();
    storage_class => |o, _| text(o, &["spec", "storageClassName"]).into();
    reclaim_policy => |o, _| text(o, &["spec", "persistentVolumeReclaimPolicy"]).into();
    claim_capacity => |o, _| text(o, &["status", "capacity", "storage"]).into();
    volume_capacity => |o, _| text(o, &["spec", "capacity", "storage"]).into();
    access_modes => |o, _| access(o, &["spec", "accessModes"]);
    granted_modes => |o, _| access(o, &["status", "accessModes"]);
    claim => |o, _| {
        let (namespace, name) = (text(o, &["spec", "claimRef", "namespace"]), text(o, &["spec", "claimRef", "name"]));
        if name.is_empty() { "".into() } else { format!("{namespace}/{name}").into() }
    };
    ingress_class => |o, _| or_none(text(o, &["spec", "ingressClassName"]));
    hosts => |o, _| {
        let hosts = joined(o, &["spec", "rules"], &["host"]);
        if hosts.is_empty() { "*".into() } else { hosts.into() }
    };
    ingress_address => |o, _| joined(o, &["status", "loadBalancer", "ingress"], &["ip"]).into();
    ingress_ports => |o, _| if list(o, &["spec", "tls"]).is_empty() { "80".into() } else { "80, 443".into() };
    controller => |o, _| text(o, &["spec", "controller"]).into();
    parameters => |o, _| or_none(text(o, &["spec", "parameters", "name"]));
    holder => |o, _| text(o, &["spec", "holderIdentity"]).into();
    role => |o, _| format!("{}/{}", text(o, &["roleRef", "kind"]), text(o, &["roleRef", "name"])).into();
    users => |o, _| subjects(o, "User");
    groups => |o, _| subjects(o, "Group");
    accounts => |o, _| subjects(o, "ServiceAccount");
    min_available => |o, _| not_available(shown(o, &["spec", "minAvailable"]));
    max_unavailable => |o, _| not_available(shown(o, &["spec", "maxUnavailable"]));
    disruptions => |o, _| int(o, &["status", "disruptionsAllowed"]).unwrap_or_default().into();
    owner => |o, _| {
        let owner = list(o, &["metadata", "ownerReferences"]).first();
        or_none(owner.map(|r| format!("{}/{}", text(r, &["kind"]).to_lowercase(), text(r, &["name"]))).unwrap_or_default())
    };
    revision => |o, _| int(o, &["revision"]).unwrap_or_default().into();
    endpoints => |o, _| {
        let mut found = Vec::new();
        for subset in list(o, &["subsets"]) {
            for address in list(subset, &["addresses"]) {
                let ip = text(address, &["ip"]);
                let ports = list(subset, &["ports"]);
                if ports.is_empty() { found.push(ip.to_owned()); }
                found.extend(ports.iter().map(|p| format!("{ip}:{}", shown(p, &["port"]))));
            }
        }
        let more = found.len().saturating_sub(3);
        found.truncate(3);
        let mut out = found.join(",");
        if more > 0 { out.push_str(&format!(" + {more} more...")); }
        or_none(out)
    };
}

fn first_of(o: &Value, paths: &[&[&str]], now: Timestamp) -> Value {
    match paths.iter().find(|path| !text(o, path).is_empty()) {
        Some(path) => since(o, path, now),
        None => "<unknown>".into(),
    }
}

fn address(o: &Value, kind: &str) -> Value {
    let found = list(o, &["status", "addresses"]).iter().find(|a| text(a, &["type"]) == kind);
    or_none(found.map(|a| text(a, &["address"])).unwrap_or_default())
}

fn access(o: &Value, path: &[&str]) -> Value {
    let short = |mode: &Value| match mode.as_str().unwrap_or_default() {
        "ReadWriteOnce" => "RWO",
        "ReadOnlyMany" => "ROX",
        "ReadWriteMany" => "RWX",
        "ReadWriteOncePod" => "RWOP",
        _ => "",
    };
    list(o, path).iter().map(short).collect::<Vec<_>>().join(",").into()
}

fn unset(text: &str) -> Value {
    if text.is_empty() { "<unset>".into() } else { text.into() }
}

fn unknown(text: &str) -> Value {
    if text.is_empty() { "<unknown>".into() } else { text.into() }
}

fn not_available(text: String) -> Value {
    if text.is_empty() { "N/A".into() } else { text.into() }
}

fn subjects(o: &Value, kind: &str) -> Value {
    let named = |s: &&Value| text(s, &["kind"]) == kind;
    let name = |s: &Value| match text(s, &["namespace"]) {
        "" => text(s, &["name"]).to_owned(),
        namespace => format!("{namespace}/{}", text(s, &["name"])),
    };
    list(o, &["subjects"]).iter().filter(named).map(name).collect::<Vec<_>>().join(", ").into()
}
