//! Filters that never end or grow without bound: the operator reports their binding's error, and other bindings go on.

use std::time::Duration;

use boathook_core::{
    filter::WorkerConfig,
    model::{HookName, QueueName},
    queue::QueueState,
};
use serde_json::json;

use super::{
    fixture::{Operator, Pipeline, config_map, missing},
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
        options.filter.cpu_time = Duration::from_secs(1);
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

/// No worker can be started at first, and again later. The hook runs when its filter has, and never with a snapshot
/// that lacks objects.
#[tokio::test]
async fn a_filter_that_can_not_run_holds_its_hook_until_it_can() {
    let dir = tempfile::tempdir().unwrap();
    let worker = dir.path().join("worker");
    let make = || std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_boathook"), &worker).unwrap();
    let cluster = TestCluster::start().await;
    cluster.admin.create(&config_map("there", ("echo", "true"), json!({"n": "0"}))).await.unwrap();
    let hooks = [("late", filtering("def f: .data; f")), ("plain", filtering(".data"))];
    let pipeline = Pipeline::on(cluster, &hooks, |options| {
        options.filter = WorkerConfig { idle: Duration::ZERO, ..WorkerConfig::new(&worker) };
    })
    .await;
    let operator = &pipeline.operator;
    operator.said("plain", "woken").await;
    operator.told("filter could not run: runs that include this snapshot wait until it has", "late", 1).await;
    let waits = missing(&operator.app.readiness(), "late");
    assert!(waits.starts_with("binding maps: its filter could not run on 1 objects yet: "), "{waits}");
    assert!(waits.contains("the filter's process cannot be used"), "{waits}");
    make();
    operator.ready().await;
    assert_eq!(operator.log.said("late"), ["woken"]);
    // A change that the filter can't be run on: the run that it is for waits, and so does nothing else.
    std::fs::remove_file(&worker).unwrap();
    pipeline.create(config_map("second", ("echo", "true"), json!({"n": "1"}))).await;
    operator.until("the neighbour hears of it", |operator| (operator.log.said("plain").len() == 2).then_some(())).await;
    operator.told("filter could not run: runs that include this snapshot wait until it has", "late", 2).await;
    // With a filter that is late, the deletion of another object is an event that waits for the snapshot.
    pipeline.delete(config_map("there", ("echo", "true"), json!({}))).await;
    let own = QueueName::Own(HookName::new("late").unwrap());
    let waits = |operator: &Operator| {
        let dump = operator.app.queue().dump(9).into_iter().find(|dump| dump.queue == own)?;
        matches!(dump.state, QueueState::WaitingForSnapshot(_)).then_some(())
    };
    operator.until("the event waits", waits).await;
    assert_eq!(operator.log.said("late"), ["woken"]);
    make();
    operator.until("both are told", |operator| (operator.log.said("late").len() >= 2).then_some(())).await;
    operator.told("no object waits any more: the snapshot is complete", "late", 2).await;
}
