//! Claims and volumes that are in use stay until they are not.

use boathook_cluster::Options;
use serde_json::json;

use super::support::{Fixture, start, start_with};

const CLAIMS: &str = "/api/v1/namespaces/default/persistentvolumeclaims";
const PODS: &str = "/api/v1/namespaces/default/pods";
const VOLUMES: &str = "/api/v1/persistentvolumes";

async fn claim(f: &Fixture) {
    let spec = json!({ "accessModes": ["ReadWriteOnce"], "resources": { "requests": { "storage": "1Gi" } } });
    let (code, made) = f.post(CLAIMS, json!({ "metadata": { "name": "data" }, "spec": spec })).await;
    assert_eq!((code, &made["metadata"]["finalizers"]), (201, &json!(["kubernetes.io/pvc-protection"])), "{made}");
}

#[tokio::test]
async fn a_claim_that_nobody_uses_goes_at_once() {
    let f = start().await;
    claim(&f).await;
    assert_eq!(f.delete(&format!("{CLAIMS}/data")).await.0, 200);
    assert_eq!(f.get(&format!("{CLAIMS}/data")).await.0, 404);
}

#[tokio::test]
async fn a_claim_waits_for_its_last_pod() {
    let f = start().await;
    claim(&f).await;
    let spec = json!({
        "containers": [{ "name": "c", "image": "i" }],
        "volumes": [{ "name": "data", "persistentVolumeClaim": { "claimName": "data" } }],
    });
    assert_eq!(f.post(PODS, json!({ "metadata": { "name": "user" }, "spec": spec })).await.0, 201);
    f.delete(&format!("{CLAIMS}/data")).await;
    let (code, held) = f.get(&format!("{CLAIMS}/data")).await;
    assert_eq!(code, 200);
    assert!(held["metadata"]["deletionTimestamp"].is_string(), "{held}");
    assert_eq!(f.delete(&format!("{PODS}/user")).await.0, 200);
    assert_eq!(f.get(&format!("{CLAIMS}/data")).await.0, 404);
}

#[tokio::test]
async fn a_bound_volume_waits_until_it_is_released() {
    let f = start().await;
    let spec = json!({
        "capacity": { "storage": "1Gi" }, "accessModes": ["ReadWriteOnce"], "hostPath": { "path": "/data" },
    });
    assert_eq!(f.post(VOLUMES, json!({ "metadata": { "name": "disk" }, "spec": spec })).await.0, 201);
    let (disk, status) = (format!("{VOLUMES}/disk"), format!("{VOLUMES}/disk/status"));
    assert_eq!(f.patch(&status, "merge", json!({ "status": { "phase": "Bound" } })).await.0, 200);
    f.delete(&disk).await;
    assert_eq!(f.get(&disk).await.0, 200);
    assert_eq!(f.patch(&status, "merge", json!({ "status": { "phase": "Released" } })).await.0, 200);
    assert_eq!(f.get(&disk).await.0, 404);
}

#[tokio::test]
async fn without_controllers_the_protection_is_left_to_the_client() {
    let f = start_with(Options::default().garbage_collection(false)).await;
    claim(&f).await;
    f.delete(&format!("{CLAIMS}/data")).await;
    assert_eq!(f.get(&format!("{CLAIMS}/data")).await.0, 200);
}
