//! Defaults of services, with a cluster IP.
//!
//! Never keeps track of addresses: they are drawn from a range large enough not to meet again.

use rand::Rng;
use serde_json::{Map, Value, json};

use super::items;
use crate::json::default;

pub(crate) fn service(spec: &mut Map<String, Value>) {
    default(spec, "type", "ClusterIP");
    default(spec, "sessionAffinity", "None");
    let kind = spec
        .get("type")
        .and_then(Value::as_str)
        .unwrap_or_default()
        .to_owned();
    let node_ports = matches!(kind.as_str(), "NodePort" | "LoadBalancer");
    for port in items(spec, "ports") {
        default(port, "protocol", "TCP");
        if let Some(number) = port.get("port").cloned() {
            default(port, "targetPort", number);
        }
        if node_ports {
            default(port, "nodePort", rand::rng().random_range(30_000..32_768));
        }
    }
    if kind == "ExternalName" {
        return;
    }
    if node_ports {
        default(spec, "externalTrafficPolicy", "Cluster");
    }
    if kind == "LoadBalancer" {
        default(spec, "allocateLoadBalancerNodePorts", true);
    }
    let mut random = rand::rng();
    let address = format!(
        "10.96.{}.{}",
        random.random_range(0..=255),
        random.random_range(1..255)
    );
    default(spec, "clusterIP", address);
    if let Some(address) = spec.get("clusterIP").cloned() {
        default(spec, "clusterIPs", json!([address]));
    }
    default(spec, "ipFamilies", json!(["IPv4"]));
    default(spec, "ipFamilyPolicy", "SingleStack");
    default(spec, "internalTrafficPolicy", "Cluster");
}
