//! The NetworkPolicy that the hook lays down.
//!
//! It makes no calls.

use boathook_sdk::kube::ObjectRef;
use boathook_sdk::serde_json::{Value, json};

/// Its name in every namespace.
pub const NAME: &str = "allow-internet";
/// Marks it as laid down by this hook.
pub const MANAGED_LABEL: &str = "internet-access.boathook.dev/managed";

/// The policy in a namespace.
pub fn reference(namespace: &str) -> ObjectRef {
    ObjectRef::new("networking.k8s.io/v1", "NetworkPolicy", namespace, NAME)
}

/// All of the internet, and no private network.
pub fn spec() -> Value {
    let private = ["10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16"];
    json!({
        "podSelector": {},
        "policyTypes": ["Egress"],
        "egress": [{"to": [{"ipBlock": {"cidr": "0.0.0.0/0", "except": private}}]}],
    })
}

/// The whole object; to replace only the version that was seen, with its resource version.
pub fn object(namespace: &str, resource_version: Option<&str>) -> Value {
    let mut object = json!({
        "apiVersion": "networking.k8s.io/v1",
        "kind": "NetworkPolicy",
        "metadata": {"name": NAME, "namespace": namespace, "labels": {MANAGED_LABEL: "true"}},
        "spec": spec(),
    });
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.extend(resource_version.map(|version| ("resourceVersion".to_owned(), json!(version))));
    }
    object
}
