//! Namespaces chosen by their labels, which come and go.
//!
//! Never looks at the streams behind it.

use serde_json::{Value, json};

use super::{
    fixture::Pipeline,
    tell::{change, telling, told_of},
};

fn namespace(name: &str, team: Value) -> Value {
    json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": {"team": team}}})
}

fn map(namespace: &str, name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"namespace": namespace, "name": name, "labels": {"x": "y"}}})
}

fn document(selector: &str) -> String {
    format!(
        "configVersion: v1\nkubernetes: [{{name: maps, apiVersion: v1, kind: ConfigMap, \
         labelSelector: {{matchLabels: {{x: y}}}}, namespace: {{{selector}}}}}]\n"
    )
}

async fn changes(pipeline: &Pipeline, count: usize) -> Vec<String> {
    told_of(&pipeline.operator, "tell", "Event", count).await.iter().map(change).collect()
}

#[tokio::test]
async fn objects_come_and_go_with_the_label_of_their_namespace() {
    let pipeline = telling(&document("labelSelector: {matchLabels: {team: a}}")).await;
    pipeline.create(namespace("n", json!("b"))).await;
    pipeline.create(map("n", "first")).await;
    pipeline.create(namespace("m", json!("a"))).await;
    pipeline.create(map("m", "other")).await;
    assert_eq!(changes(&pipeline, 1).await, ["Added m/other"]);
    pipeline.apply(namespace("n", json!("a"))).await;
    changes(&pipeline, 2).await;
    pipeline.create(map("n", "second")).await;
    changes(&pipeline, 3).await;
    pipeline.apply(namespace("n", json!(null))).await;
    let all = changes(&pipeline, 5).await;
    assert_eq!(all[1..3], ["Added n/first", "Added n/second"]);
    let mut gone = all[3..].to_vec();
    gone.sort();
    assert_eq!(gone, ["Deleted n/first", "Deleted n/second"]);
    // What happens there is nobody's concern any more.
    pipeline.create(map("n", "third")).await;
    pipeline.create(map("m", "last")).await;
    assert_eq!(changes(&pipeline, 6).await[5], "Added m/last");
}

#[tokio::test]
async fn a_namespace_must_have_the_name_and_the_label() {
    let both = "nameSelector: {matchNames: [n, m]}, labelSelector: {matchLabels: {team: a}}";
    let pipeline = telling(&document(both)).await;
    for (name, team) in [("n", "a"), ("m", "b"), ("o", "a")] {
        pipeline.create(namespace(name, json!(team))).await;
        pipeline.create(map(name, "x")).await;
    }
    assert_eq!(changes(&pipeline, 1).await, ["Added n/x"]);
    pipeline.apply(namespace("m", json!("a"))).await;
    pipeline.create(map("n", "last")).await;
    let mut all = changes(&pipeline, 3).await;
    all.sort();
    assert_eq!(all, ["Added m/x", "Added n/last", "Added n/x"]);
}
