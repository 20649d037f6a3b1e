//! Defaults of services, including a cluster IP. Addresses are not tracked: they are random, from a range that is large
//! enough to avoid duplicates.

use rand::Rng;
use serde_json::{Map, Value, json};

use super::items;
use crate::json::default;

pub(crate) fn service(spec: &mut Map<String, Value>) {
    default(spec, "type", "ClusterIP");
    default(spec, "sessionAffinity", "None");
    let kind = kind(spec);
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

fn kind(spec: &Map<String, Value>) -> String {
    spec.get("type").and_then(Value::as_str).unwrap_or_default().to_owned()
}

fn has_node_ports(kind: &str) -> bool {
    matches!(kind, "NodePort" | "LoadBalancer")
}

/// Assigns addresses and ports to a service. They have no owner.
pub(crate) fn allocate(spec: &mut Map<String, Value>) {
    let kind = kind(spec);
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
