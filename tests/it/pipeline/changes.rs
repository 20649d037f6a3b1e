//! How a hook receives many changes, and an object's previous state.

use serde_json::json;

use super::{
    fixture::{Operator, config_map},
    tell::{change, telling, told, told_of},
};

const LABEL: (&str, &str) = ("changes", "true");

fn document(more: &str) -> String {
    format!(
        "configVersion: v1\nkubernetes: [{{apiVersion: v1, kind: ConfigMap, executeHookOnSynchronization: false, \
         labelSelector: {{matchLabels: {{changes: 'true'}}}}{more}}}]\n"
    )
}

#[tokio::test]
async fn changes_of_an_object_that_is_not_quiet_are_reported_as_one() {
    let pipeline = telling(&document(", debounce: 700ms, jqFilter: .data")).await;
    pipeline.create(config_map("busy", LABEL, json!({"n": "0"}))).await;
    for n in 1..=9 {
        pipeline.apply(config_map("busy", LABEL, json!({"n": n.to_string()}))).await;
    }
    let lines = told_of(&pipeline.operator, "tell", "Event", 1).await;
    assert_eq!((change(&lines[0]).as_str(), &lines[0]["result"]), ("Added default/busy", &json!({"n": "9"})));
    pipeline.apply(config_map("busy", LABEL, json!({"n": "10"}))).await;
    pipeline.delete(config_map("busy", LABEL, json!({}))).await;
    let lines = told_of(&pipeline.operator, "tell", "Event", 2).await;
    assert_eq!(change(&lines[1]), "Deleted default/busy");
    let idle = |operator: &Operator| operator.app.queue().stats().hooks.iter().all(|hook| hook.idle).then_some(());
    pipeline.operator.until("nothing waits any more", idle).await;
    assert_eq!(told(&pipeline.operator, "tell").len(), 2);
}

#[tokio::test]
async fn a_modified_object_comes_with_what_it_was() {
    let pipeline = telling(&document(", previousObject: true")).await;
    pipeline.create(config_map("a", LABEL, json!({"n": "1"}))).await;
    pipeline.apply(config_map("a", LABEL, json!({"n": "2"}))).await;
    pipeline.delete(config_map("a", LABEL, json!({}))).await;
    let lines = told_of(&pipeline.operator, "tell", "Event", 3).await;
    let before: Vec<_> = lines.iter().map(|line| line["before"]["data"]["n"].as_str()).collect();
    assert_eq!(before, [None, Some("1"), None]);
    assert_eq!(lines[1]["object"]["data"]["n"], "2");
}
