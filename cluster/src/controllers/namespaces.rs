//! What every namespace has, and the Service through which pods reach the API server.
//!
//! Never touches a namespace that is going.

use serde_json::json;

use super::act;
use crate::json;
use crate::shared::Shared;
use crate::store::key;

/// The ConfigMap with the cluster's certificate.
pub(super) const ROOT_CA: &str = "kube-root-ca.crt";
/// The key of the API server's own Service.
pub(super) const KUBERNETES: &str = "default/kubernetes";

fn is_living(shared: &Shared, namespace: &str) -> bool {
    act::living(shared, "namespaces", namespace).is_some()
}

pub(super) fn service_account(shared: &Shared, namespace: &str) {
    if is_living(shared, namespace) && shared.store.get("serviceaccounts", &key(namespace, "default")).is_none() {
        let account = json!({ "apiVersion": "v1", "kind": "ServiceAccount", "metadata": { "name": "default" } });
        act::make(shared, "serviceaccounts", namespace, account);
    }
}

pub(super) fn root_ca(shared: &Shared, namespace: &str) {
    if !is_living(shared, namespace) {
        return;
    }
    let data = json!({ "ca.crt": shared.tls.certificate() });
    match act::living(shared, "configmaps", &key(namespace, ROOT_CA)) {
        None => {
            let map = json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": ROOT_CA }, "data": data });
            act::make(shared, "configmaps", namespace, map);
        }
        Some(found) => {
            act::edit(shared, "configmaps", &found, None, |map| {
                json::object(map).insert("data".into(), data.clone());
            });
        }
    }
}

pub(super) fn kubernetes(shared: &Shared) {
    if shared.store.get("services", KUBERNETES).is_some() {
        return;
    }
    let labels = json!({ "component": "apiserver", "provider": "kubernetes" });
    let port = json!({ "name": "https", "port": 443, "targetPort": shared.address.port() });
    let service = json!({
        "apiVersion": "v1", "kind": "Service", "metadata": { "name": "kubernetes", "labels": labels },
        "spec": { "ports": [port] },
    });
    act::make(shared, "services", "default", service);
}
