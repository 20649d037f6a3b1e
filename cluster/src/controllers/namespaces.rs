//! The default objects of every namespace, and the Service through which pods reach the API server. Namespaces that are
//! being deleted are ignored.

use serde_json::{Value, json};

use super::act::Actor;
use crate::json;
use crate::status::Failure;
use crate::store::key;

/// The ConfigMap with the cluster's certificate.
pub(super) const ROOT_CA: &str = "kube-root-ca.crt";
/// The key of the API server's own Service.
pub(super) const KUBERNETES: &str = "default/kubernetes";

fn is_living(actor: &Actor<'_>, namespace: &str) -> bool {
    actor.living("namespaces", namespace).is_some()
}

pub(super) async fn service_account(actor: &Actor<'_>, namespace: &str) -> Result<(), Failure> {
    let there = actor.shared.store.get("serviceaccounts", &key(namespace, "default")).is_some();
    if there || !is_living(actor, namespace) {
        return Ok(());
    }
    let account = json!({ "apiVersion": "v1", "kind": "ServiceAccount", "metadata": { "name": "default" } });
    actor.make("serviceaccounts", namespace, account).await
}

pub(super) async fn root_ca(actor: &Actor<'_>, namespace: &str) -> Result<(), Failure> {
    if !is_living(actor, namespace) {
        return Ok(());
    }
    let data = json!({ "ca.crt": actor.shared.tls.certificate() });
    let Some(found) = actor.living("configmaps", &key(namespace, ROOT_CA)) else {
        let map = json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": ROOT_CA }, "data": data });
        return actor.make("configmaps", namespace, map).await;
    };
    let change = |map: &mut Value| {
        json::object(map).insert("data".into(), data.clone());
    };
    actor.edit("configmaps", &found, None, change).await.map(drop)
}

pub(super) async fn kubernetes(actor: &Actor<'_>) -> Result<(), Failure> {
    if actor.shared.store.get("services", KUBERNETES).is_some() {
        return Ok(());
    }
    let labels = json!({ "component": "apiserver", "provider": "kubernetes" });
    let port = json!({ "name": "https", "port": 443, "targetPort": actor.shared.address.port() });
    let service = json!({
        "apiVersion": "v1", "kind": "Service", "metadata": { "name": "kubernetes", "labels": labels },
        "spec": { "ports": [port] },
    });
    actor.make("services", "default", service).await
}
