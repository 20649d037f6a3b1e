//! What a hook receives, and in which order: the guest `echo` logs it.

use serde_json::{Value, json};

use super::fixture::{Operator, Pipeline, config_map, guests};
use crate::support::cluster::TestCluster;

const LABEL: (&str, &str) = ("echo", "true");

/// What the guest received from `configmaps`, and its start-up.
fn told(operator: &Operator) -> Vec<Value> {
    let mut lines = operator.log.said_json("echo");
    lines.retain(|line| line["type"] != "Schedule");
    lines
}

async fn events(operator: &Operator, count: usize) -> Vec<Value> {
    let wanted = |operator: &Operator| {
        let mut lines = told(operator);
        lines.retain(|line| line["type"] == "Event");
        (lines.len() >= count).then_some(lines)
    };
    operator.until(&format!("{count} events"), wanted).await
}

/// `Added a`, filter's result, and the one before.
fn seen(event: &Value) -> (String, Value, Value) {
    let what = format!("{} {}", event["change"].as_str().unwrap(), event["target"]["name"].as_str().unwrap());
    (what, event["filterResult"].clone(), event["previousFilterResult"].clone())
}

#[tokio::test]
async fn start_up_comes_first_then_what_is_there() {
    let cluster = TestCluster::start().await;
    for (name, label) in [("b", "true"), ("a", "true"), ("other", "false")] {
        cluster.admin.create(&config_map(name, ("echo", label), json!({"from": name}))).await.unwrap();
    }
    let pipeline = Pipeline::on(cluster, &guests(["echo"]), |_| ()).await;
    pipeline.operator.ready().await;
    let told = told(&pipeline.operator);
    let kinds: Vec<_> = told.iter().map(|line| line["type"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["Startup", "Synchronization"]);
    assert_eq!((&told[0]["echo"], &told[0]["snapshots"]), (&json!("onStartup"), &json!({})));
    let snapshot = told[1]["snapshots"]["configmaps"].as_array().unwrap();
    let names: Vec<_> = snapshot.iter().map(|item| (&item["name"], &item["filterResult"]["from"])).collect();
    assert_eq!(names, [(&json!("a"), &json!("a")), (&json!("b"), &json!("b"))]);
    assert_eq!(snapshot[0]["object"]["data"], json!({"from": "a"}));
    assert_eq!(snapshot[0]["object"]["metadata"]["managedFields"], Value::Null);
    assert_ne!(told[0]["run"], told[1]["run"]);
}

#[tokio::test]
async fn changes_are_reported_once_with_what_was_before() {
    let pipeline = Pipeline::start(["echo"]).await;
    let made = pipeline.create(config_map("a", LABEL, json!({"n": "1"}))).await;
    pipeline.apply(config_map("a", LABEL, json!({"n": "2"}))).await;
    // What the filter does not see is no change.
    let mut noted = config_map("a", LABEL, json!({"n": "2"}));
    noted["metadata"]["annotations"] = json!({"note": "irrelevant"});
    pipeline.apply(noted).await;
    pipeline.apply(config_map("other", ("echo", "false"), json!({"n": "0"}))).await;
    pipeline.apply(config_map("a", LABEL, json!({"n": "3"}))).await;
    pipeline.apply(config_map("b", LABEL, json!({}))).await;
    pipeline.delete(config_map("a", LABEL, json!({}))).await;
    // To stop matching is to be gone, to begin matching is to be new.
    pipeline.apply(config_map("b", ("echo", "false"), json!({}))).await;
    pipeline.apply(config_map("other", LABEL, json!({}))).await;

    let events = events(&pipeline.operator, 7).await;
    let n = |n: &str| json!({"n": n});
    let expected = [
        ("Added a", n("1"), Value::Null),
        ("Modified a", n("2"), n("1")),
        ("Modified a", n("3"), n("2")),
        ("Added b", Value::Null, Value::Null),
        ("Deleted a", n("3"), n("3")),
        ("Deleted b", Value::Null, Value::Null),
        ("Added other", n("0"), Value::Null),
    ];
    let seen: Vec<_> = events.iter().map(seen).collect();
    let expected = expected.map(|(what, now, before)| (what.to_owned(), now, before));
    assert_eq!(seen, expected);

    let (added, last) = (&events[0], &events[6]);
    assert_eq!(added["target"], json!({"apiVersion": "v1", "kind": "ConfigMap", "namespace": "default", "name": "a"}));
    assert_eq!((&added["uid"], &added["object"]["data"]), (&made["metadata"]["uid"], &n("1")));
    assert_eq!(added["resourceVersion"], made["metadata"]["resourceVersion"]);
    assert_eq!(added["object"]["kind"], "ConfigMap");
    // A snapshot shows the moment of the run, which may be later than the event.
    let in_snapshot: Vec<_> =
        last["snapshots"]["configmaps"].as_array().unwrap().iter().map(|item| &item["name"]).collect();
    assert_eq!(in_snapshot, ["other"]);
    let synchronizations = told(&pipeline.operator).iter().filter(|line| line["type"] == "Synchronization").count();
    assert_eq!(synchronizations, 1);
}

#[tokio::test]
async fn a_schedule_ticks_with_the_snapshots_it_includes() {
    let cluster = TestCluster::start().await;
    cluster.admin.create(&config_map("a", LABEL, json!({"n": "1"}))).await.unwrap();
    let pipeline = Pipeline::on(cluster, &guests(["echo"]), |_| ()).await;
    let three = |operator: &Operator| {
        let mut lines = operator.log.said_json("echo");
        lines.retain(|line| line["type"] == "Schedule");
        (lines.len() >= 3).then_some(lines)
    };
    let ticks = pipeline.operator.until("three ticks", three).await;
    let mut before = 0;
    for tick in &ticks {
        let at = tick["scheduledAt"].as_u64().unwrap();
        assert!(at > before && at % 1000 == 0, "{ticks:?}");
        before = at;
        assert_eq!(
            (&tick["echo"], &tick["snapshots"]["configmaps"][0]["filterResult"]),
            (&json!("tick"), &json!({"n": "1"}))
        );
    }
}
