//! Finalizers and namespaces.

use serde_json::{Value, json};

use super::support::{CONFIG_MAPS, message, start};

#[tokio::test]
async fn finalizers_hold_an_object_until_they_are_gone() {
    let f = start().await;
    let body = json!({ "metadata": { "name": "x", "finalizers": ["example.com/hold"] } });
    f.post(CONFIG_MAPS, body).await;
    let path = format!("{CONFIG_MAPS}/x");
    let (code, held) = f.delete(&path).await;
    assert_eq!(code, 200);
    assert!(held["metadata"]["deletionTimestamp"].is_string(), "{held}");
    let revision = |v: &Value| v["metadata"]["resourceVersion"].clone();
    assert_eq!(revision(&f.delete(&path).await.1), revision(&held));
    let add = json!({ "metadata": { "finalizers": ["example.com/hold", "example.com/more"] } });
    let refused = f.patch(&path, "merge", add).await;
    assert_eq!(refused.0, 422);
    assert!(message(&refused).contains("no new finalizers can be added if the object is being deleted"));
    assert_eq!(f.patch(&path, "merge", json!({ "metadata": { "finalizers": null } })).await.0, 200);
    assert_eq!(f.get(&path).await.0, 404);
}

#[tokio::test]
async fn a_fresh_cluster_has_its_namespaces() {
    let f = start().await;
    let (_, list) = f.get("/api/v1/namespaces").await;
    let names: Vec<&Value> = list["items"].as_array().unwrap().iter().map(|n| &n["metadata"]["name"]).collect();
    assert_eq!(names, ["default", "kube-node-lease", "kube-public", "kube-system"]);
    assert_eq!(list["items"][0]["metadata"]["labels"]["kubernetes.io/metadata.name"], "default");
    assert_eq!(list["items"][0]["status"]["phase"], "Active");
    assert_eq!(f.delete("/api/v1/namespaces/default").await.0, 403);
}

#[tokio::test]
async fn a_namespace_takes_its_content_along() {
    let f = start().await;
    let missing = f.post("/api/v1/namespaces/a/configmaps", json!({ "metadata": { "name": "x" } })).await;
    assert_eq!((missing.0, message(&missing)), (404, "namespaces \"a\" not found"));
    f.post("/api/v1/namespaces", json!({ "metadata": { "name": "a" } })).await;
    let held = json!({ "metadata": { "name": "held", "finalizers": ["example.com/hold"] } });
    assert_eq!(f.post("/api/v1/namespaces/a/configmaps", held).await.0, 201);
    f.post("/api/v1/namespaces/a/secrets", json!({ "metadata": { "name": "s" } })).await;
    f.delete("/api/v1/namespaces/a").await;
    assert_eq!(f.get("/api/v1/namespaces/a/secrets/s").await.0, 404);
    let (_, namespace) = f.get("/api/v1/namespaces/a").await;
    assert_eq!(namespace["status"]["phase"], "Terminating");
    let late = f.post("/api/v1/namespaces/a/secrets", json!({ "metadata": { "name": "t" } })).await;
    assert_eq!((late.0, &late.1["details"]["causes"][0]["reason"]), (403, &json!("NamespaceTerminating")));
    let release = json!({ "metadata": { "finalizers": [] } });
    f.patch("/api/v1/namespaces/a/configmaps/held", "merge", release).await;
    assert_eq!(f.get("/api/v1/namespaces/a").await.0, 404);
    assert_eq!(f.post("/api/v1/namespaces", json!({ "metadata": { "name": "a" } })).await.0, 201);
}
