//! Namespaces chosen by label: what happens to their objects when they begin and cease to match.

use serde_json::{Value, json};

use super::{
    fixture::{Operator, Pipeline},
    tell::{change, tell, told_of},
};
use crate::support::cluster::TestCluster;

const BY_LABEL: &str = "
configVersion: v1
kubernetes:
- {name: maps, apiVersion: v1, kind: ConfigMap, labelSelector: {matchLabels: {mine: 'true'}}, jqFilter: .data,
   namespace: {labelSelector: {matchLabels: {team: a}}}}
";
const BY_BOTH: &str = "
configVersion: v1
kubernetes:
- {name: maps, apiVersion: v1, kind: ConfigMap, labelSelector: {matchLabels: {mine: 'true'}},
   namespace: {nameSelector: {matchNames: [one, three]}, labelSelector: {matchLabels: {team: a}}}}
";

fn namespace(name: &str, team: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": {"team": team}}})
}

fn map(namespace: &str, name: &str, value: &str) -> Value {
    let metadata = json!({"namespace": namespace, "name": name, "labels": {"mine": "true"}});
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"value": value}})
}

/// Three namespaces with a ConfigMap each; `one` and `two` are of team a.
async fn start(document: &str) -> Pipeline {
    let cluster = TestCluster::start().await;
    for (name, team) in [("one", "a"), ("two", "a"), ("three", "b")] {
        cluster.admin.create(&namespace(name, team)).await.unwrap();
        cluster.admin.create(&map(name, "x", name)).await.unwrap();
    }
    let pipeline = Pipeline::on(cluster, &[("tell", tell(document))], |_| ()).await;
    pipeline.operator.ready().await;
    pipeline
}

async fn snapshot(operator: &Operator) -> Vec<String> {
    let told = told_of(operator, "tell", "Synchronization", 1).await;
    told[0]["snapshots"]["maps"].as_object().unwrap().keys().cloned().collect()
}

#[tokio::test]
async fn objects_come_and_go_with_their_namespace() {
    let pipeline = start(BY_LABEL).await;
    let operator = &pipeline.operator;
    assert_eq!(snapshot(operator).await, ["one/x", "two/x"]);
    // A namespace begins to match, and what changes in it is seen.
    pipeline.apply(namespace("three", "a")).await;
    told_of(operator, "tell", "Event", 1).await;
    pipeline.apply(map("three", "x", "changed")).await;
    told_of(operator, "tell", "Event", 2).await;
    // One ceases to: its objects are gone for the hook, and it hears of them no more.
    pipeline.apply(namespace("one", "b")).await;
    told_of(operator, "tell", "Event", 3).await;
    pipeline.apply(map("one", "x", "unseen")).await;
    pipeline.create(map("one", "y", "unseen")).await;
    // One is deleted with all that it has, one is new.
    pipeline.delete(namespace("two", "a")).await;
    told_of(operator, "tell", "Event", 4).await;
    pipeline.create(namespace("four", "a")).await;
    pipeline.create(map("four", "x", "four")).await;
    let events = told_of(operator, "tell", "Event", 5).await;
    let seen: Vec<_> = events.iter().map(|event| (change(event), event["result"]["value"].as_str().unwrap())).collect();
    let expected = [
        ("Added three/x", "three"),
        ("Modified three/x", "changed"),
        ("Deleted one/x", "one"),
        ("Deleted two/x", "two"),
        ("Added four/x", "four"),
    ];
    assert_eq!(seen, expected.map(|(change, value)| (change.to_owned(), value)));
    let last: Vec<_> = events[4]["snapshots"]["maps"].as_object().unwrap().keys().collect();
    assert_eq!(last, ["four/x", "three/x"]);
}

#[tokio::test]
async fn names_and_labels_must_both_hold() {
    let pipeline = start(BY_BOTH).await;
    let operator = &pipeline.operator;
    assert_eq!(snapshot(operator).await, ["one/x"]);
    pipeline.apply(map("two", "x", "unseen")).await;
    pipeline.apply(namespace("three", "a")).await;
    let events = told_of(operator, "tell", "Event", 1).await;
    assert_eq!(change(&events[0]), "Added three/x");
}
