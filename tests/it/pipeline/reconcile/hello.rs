//! The example of `docs/operators.md`.

use serde_json::{Value, json};

use crate::{
    pipeline::fixture::{Pipeline, guests},
    support::{cluster::TestCluster, until},
};

fn app(name: &str, size: u32) -> Value {
    json!({
        "apiVersion": "example.com/v1alpha1", "kind": "HelloApp", "metadata": {"name": name, "namespace": "default"},
        "spec": {"image": "example.com/web:1", "size": size},
    })
}

fn deployment(name: &str) -> Value {
    json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name, "namespace": "default"}})
}

fn service(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": name, "namespace": "default"}})
}

async fn start() -> Pipeline {
    let cluster = TestCluster::start().await;
    cluster.admin.create(&serde_json::from_value(yaml_serde::from_str(super::HELLO).unwrap()).unwrap()).await.unwrap();
    let pipeline = Pipeline::on(cluster, &guests(["hello-app"]), |_| ()).await;
    pipeline.operator.ready().await;
    pipeline
}

#[tokio::test]
async fn a_custom_resource_becomes_objects_and_a_status() {
    let pipeline = start().await;
    pipeline.create(app("web", 2)).await;
    let made = until("the Deployment is there", async || pipeline.get(deployment("web")).await).await;
    assert_eq!(made["spec"]["replicas"], 2);
    assert_eq!(made["metadata"]["ownerReferences"][0]["kind"], "HelloApp");
    until("the Service is there", async || pipeline.get(service("web")).await).await;
    let status = until("the status says so", async || {
        let parent = pipeline.get(app("web", 2)).await?;
        parent["status"]["conditions"].as_array().filter(|all| all.len() >= 3)?;
        Some(parent["status"].clone())
    })
    .await;
    assert_eq!(status["observedGeneration"], 1, "{status}");
    // As many as the cluster has started by now.
    assert!(status["readyReplicas"].is_number(), "{status}");
}

#[tokio::test]
async fn what_somebody_changes_or_deletes_is_put_right() {
    let pipeline = start().await;
    pipeline.create(app("web", 2)).await;
    until("the Service is there", async || pipeline.get(service("web")).await).await;
    pipeline.delete(service("web")).await;
    until("the Service is back", async || pipeline.get(service("web")).await).await;
    let patch = json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web", "namespace": "default"},
        "spec": {"replicas": 7},
    });
    pipeline.apply(patch).await;
    until("the size is right again", async || {
        let found = pipeline.get(deployment("web")).await?;
        (found["spec"]["replicas"] == 2).then_some(())
    })
    .await;
}
