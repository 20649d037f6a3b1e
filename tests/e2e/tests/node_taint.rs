//! `node-taint`: labels with a prefix become taints, and take them along when they go.
//! It never looks at how the hook gets there.

use std::sync::Arc;

use k8s_openapi::api::core::v1::{Node, NodeSpec, Taint};
use kube::Client;
use kube::api::PostParams;
use serde_json::json;

use crate::harness::{Test, eventually};
use crate::objects::{Labels, merge, meta, nodes};

const PREFIX: &str = "taint.boathook.dev/";

pub async fn taints_follow_labels(test: Arc<Test>) {
    let cluster = &test.shared().await.cluster;
    let client = &cluster.client;
    let name = test.name("node");
    create_node(client, &name, &[("taint.boathook.dev/gpu", "NoSchedule")]).await;
    tainted(client, &name, &["gpu:NoSchedule"]).await;

    cluster.kubectl(&["label", "node", &name, "taint.boathook.dev/batch=PreferNoSchedule"]).await;
    tainted(client, &name, &["batch:PreferNoSchedule", "gpu:NoSchedule"]).await;

    // Another effect replaces the taint: it is not one more.
    label_node(client, &name, "gpu", Some("NoExecute")).await;
    tainted(client, &name, &["batch:PreferNoSchedule", "gpu:NoExecute"]).await;

    cluster.kubectl(&["label", "node", &name, "taint.boathook.dev/batch-"]).await;
    tainted(client, &name, &["gpu:NoExecute"]).await;

    label_node(client, &name, "gpu", None).await;
    tainted(client, &name, &[]).await;
}

pub async fn other_taints_stay(test: Arc<Test>) {
    let client = &test.shared().await.cluster.client;
    let name = test.name("node");
    let dedicated = taint("example.com/dedicated", Some("db"), "NoSchedule");
    let node = Node {
        metadata: meta(&name, &[("taint.boathook.dev/gpu", "NoSchedule")]),
        spec: Some(NodeSpec { taints: Some(vec![dedicated]), ..NodeSpec::default() }),
        ..Node::default()
    };
    // Kubernetes adds a taint of its own to a node that is not ready.
    let created = nodes(client).create(&PostParams::default(), &node).await.expect("create a node");
    let others = other_taints(&created);
    assert!(!others.is_empty(), "the node has taints that are not the hook's");

    tainted(client, &name, &["gpu:NoSchedule"]).await;
    assert_eq!(other_taints(&get(client, &name).await), others, "beside a taint that came");

    label_node(client, &name, "gpu", None).await;
    tainted(client, &name, &[]).await;
    assert_eq!(other_taints(&get(client, &name).await), others, "beside a taint that went");
}

pub async fn unknown_effects_are_passed_over(test: Arc<Test>) {
    let client = &test.shared().await.cluster.client;
    let name = test.name("node");
    let labels = [("taint.boathook.dev/gpu", "Sometimes"), ("taint.boathook.dev/batch", "NoSchedule")];
    create_node(client, &name, &labels).await;
    tainted(client, &name, &["batch:NoSchedule"]).await;

    label_node(client, &name, "gpu", Some("NoSchedule")).await;
    tainted(client, &name, &["batch:NoSchedule", "gpu:NoSchedule"]).await;
}

pub async fn create_node(client: &Client, name: &str, labels: Labels<'_>) {
    let node = Node { metadata: meta(name, labels), ..Node::default() };
    let created = nodes(client).create(&PostParams::default(), &node).await;
    created.unwrap_or_else(|error| panic!("create node {name}: {error}"));
}

/// Sets a taint's label, or takes it away.
pub async fn label_node(client: &Client, name: &str, taint: &str, effect: Option<&str>) {
    let key = format!("{PREFIX}{taint}");
    merge(&nodes(client), name, json!({"metadata": {"labels": {key: effect}}})).await;
}

/// Waits until the node has just these of the hook's taints, each written `NAME:EFFECT`, in order.
pub async fn tainted(client: &Client, name: &str, taints: &[&str]) {
    eventually(&format!("the hook's taints of {name} are {taints:?}"), async || {
        let node = nodes(client).get(name).await.map_err(|error| error.to_string())?;
        let mut seen: Vec<_> = taints_of(&node)
            .iter()
            .filter_map(|taint| Some(format!("{}:{}", taint.key.strip_prefix(PREFIX)?, taint.effect)))
            .collect();
        seen.sort();
        let valueless = taints_of(&node)
            .iter()
            .filter(|taint| taint.key.starts_with(PREFIX))
            .all(|taint| taint.value.as_deref().unwrap_or_default().is_empty());
        if seen == taints && valueless { Ok(()) } else { Err(format!("{:?}", taints_of(&node))) }
    })
    .await;
}

async fn get(client: &Client, name: &str) -> Node {
    nodes(client).get(name).await.expect("get a node")
}

fn taints_of(node: &Node) -> &[Taint] {
    node.spec.as_ref().and_then(|spec| spec.taints.as_deref()).unwrap_or_default()
}

fn other_taints(node: &Node) -> Vec<Taint> {
    taints_of(node).iter().filter(|taint| !taint.key.starts_with(PREFIX)).cloned().collect()
}

fn taint(key: &str, value: Option<&str>, effect: &str) -> Taint {
    Taint { key: key.to_owned(), value: value.map(str::to_owned), effect: effect.to_owned(), ..Taint::default() }
}
