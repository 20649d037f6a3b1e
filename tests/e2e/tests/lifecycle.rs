//! How the operator starts without an API server, and how it ends.
//! It never looks at what the hooks do beyond that they run.

use std::sync::Arc;

use serde_json::Value;

use crate::copies::{copied, ensure_source};
use crate::harness::{ALL_HOOKS, Operator, Proxy, Test};
use crate::objects::create_namespace;

pub async fn waits_for_the_api_server(test: Arc<Test>) {
    let cluster = test.own_cluster().await;
    let mut proxy = Proxy::closed(&cluster);
    let operator = unreachable(&test, &test.kubeconfig_via(&cluster, &proxy.address), &proxy.address).await;

    ensure_source(&cluster.client).await;
    proxy.open();
    operator.ready().await;
    copied(&cluster.client, "kube-system").await;
    operator.stop().await;
}

pub async fn stops_while_it_waits(test: Arc<Test>) {
    let cluster = &test.shared().await.cluster;
    let proxy = Proxy::closed(cluster);
    let operator = unreachable(&test, &test.kubeconfig_via(cluster, &proxy.address), &proxy.address).await;
    operator.stop().await;
}

pub async fn stops_cleanly(test: Arc<Test>) {
    let shared = test.shared().await;
    let cluster = &shared.cluster;
    let operator = test.operator(cluster).await;
    operator.ready().await;
    let (code, metrics) = operator.get("/metrics").await.expect("/metrics answers");
    assert_eq!(code, 200, "/metrics");
    assert!(metrics.lines().any(|line| line.starts_with("boathook_")), "metrics of its own: {metrics}");

    // With work on its hands.
    for number in 0..20 {
        create_namespace(&cluster.client, &test.name(&number.to_string()), &[]).await;
    }
    operator.stop().await;
}

/// Starts an operator that cannot reach the API server, and waits until it says so.
async fn unreachable(test: &Test, kubeconfig: &std::path::Path, address: &str) -> Operator {
    let operator = test.operator_with(kubeconfig, &ALL_HOOKS).await;
    operator.logs("which API server it cannot reach", |line| complains_of(line, address)).await;
    for (path, expected) in [("/healthz", 200), ("/readyz", 503)] {
        let (code, body) = operator.get(path).await.unwrap_or_else(|error| panic!("{path}: {error}"));
        assert_eq!(code, expected, "{path} without an API server: {body}");
    }
    assert!(operator.is_running(), "it keeps trying");
    operator
}

fn complains_of(line: &Value, address: &str) -> bool {
    matches!(line["level"].as_str(), Some("WARN" | "ERROR")) && line.to_string().contains(address)
}
