//! Filters that never end or grow without bound: the error of their binding is told, others go on.

use std::time::Duration;

use serde_json::json;

use super::{
    fixture::{Operator, Pipeline, config_map},
    written::{Deed, hook},
};
use crate::support::{cluster::TestCluster, guests::guest};

fn filtering(program: &str) -> Vec<u8> {
    let binding = json!({
        "name": "maps", "apiVersion": "v1", "kind": "ConfigMap", "labelSelector": {"matchLabels": {"echo": "true"}},
        "jqFilter": program,
    });
    hook(&json!({"configVersion": "v1", "kubernetes": [binding]}).to_string(), &Deed::Says("woken"))
}

#[tokio::test]
async fn a_filter_without_end_is_an_error_of_its_binding_alone() {
    let cluster = TestCluster::start().await;
    cluster.admin.create(&config_map("there", ("echo", "true"), json!({"n": "0"}))).await.unwrap();
    let hostile = [
        ("endless", "def f: f; f"),
        ("range", "range(1e12)"),
        ("repeat", "[limit(1e9; repeat(1))]"),
        ("partly", r#"def f: f; if .data.n == "0" then f else .data end"#),
    ];
    let mut hooks: Vec<_> = hostile.iter().map(|(name, program)| (*name, filtering(program))).collect();
    hooks.push(("echo", guest("echo")));
    let pipeline = Pipeline::on(cluster, &hooks, |options| {
        options.filter.deadline = Duration::from_secs(1);
        options.filter.memory = 64 * 1024 * 1024;
    })
    .await;
    let operator = &pipeline.operator;
    for (name, _) in hostile {
        let failed = &operator.told("filter failed", name, 1).await[0];
        let told = [&failed["binding"], &failed["object"], &failed["level"]].map(|value| value.as_str().unwrap());
        assert_eq!(told, ["maps", "v1 ConfigMap default/there", "WARN"]);
        let error = failed["error"].as_str().unwrap();
        assert!(["did not end within 1s", "memory", "larger"].iter().any(|part| error.contains(part)), "{error}");
    }
    // The object is missing in their snapshots; that is no reason to wait for ever.
    operator.ready().await;
    // Neither the neighbour nor the same binding's other objects have to wait.
    pipeline.create(config_map("fine", ("echo", "true"), json!({"n": "1"}))).await;
    let told = |operator: &Operator| {
        let mut lines = operator.log.said_json("echo");
        lines.retain(|line| line["type"] == "Event");
        lines.pop()
    };
    let event = operator.until("the neighbour hears of it", told).await;
    assert_eq!((&event["change"], &event["target"]["name"]), (&json!("Added"), &json!("fine")));
    assert_eq!(event["filterResult"], json!({"n": "1"}));
    let partly = |operator: &Operator| (operator.log.said("partly").len() >= 2).then_some(());
    operator.until("the filter gives a result where it ends", partly).await;
    for name in ["endless", "range", "repeat"] {
        // Woken once, for the synchronization.
        assert_eq!(operator.log.said(name), ["woken"]);
    }
}
