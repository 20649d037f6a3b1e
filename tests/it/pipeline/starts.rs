//! When the bindings of a hook go live: together, in order, unless one need not wait or cannot come.

use serde_json::{Value, json};

use super::{
    fixture::{Operator, Pipeline, config_map, missing},
    kinds::widgets,
    tell::{change, tell, told, told_of},
};
use crate::support::cluster::TestCluster;

const LABEL: (&str, &str) = ("starts", "true");

fn maps(name: &str, more: &str) -> String {
    format!(
        "- {{name: {name}, apiVersion: v1, kind: ConfigMap, labelSelector: {{matchLabels: {{starts: 'true'}}}}{more}}}\n"
    )
}

/// A binding that the API server refuses to list.
fn refused(more: &str) -> String {
    let field = "fieldSelector: {matchExpressions: [{field: spec.unknown, operator: Equals, value: x}]}";
    format!("- {{name: refused, apiVersion: v1, kind: ConfigMap, {field}{more}}}\n")
}

fn document(bindings: &[String]) -> String {
    format!("configVersion: v1\nkubernetes:\n{}", bindings.concat())
}

fn bindings(lines: &[Value]) -> Vec<&str> {
    lines.iter().map(|line| line["binding"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn bindings_go_live_in_the_order_of_the_document() {
    let names = ["d", "b", "a", "c"];
    let document = document(&names.map(|name| maps(name, "")));
    let pipeline = Pipeline::on(TestCluster::start().await, &[("tell", tell(&document))], |_| ()).await;
    let lines = told_of(&pipeline.operator, "tell", "Synchronization", 4).await;
    assert_eq!(bindings(&lines), names);
}

#[tokio::test]
async fn nothing_is_reported_before_all_bindings_know_their_objects() {
    let waits = document(&[maps("maps", ""), refused("")]);
    let goes = document(&[maps("maps", ""), refused(", waitForSynchronization: false")]);
    let hooks = [("waits", tell(&waits)), ("goes", tell(&goes))];
    let pipeline = Pipeline::on(TestCluster::start().await, &hooks, |_| ()).await;
    let operator = &pipeline.operator;
    told_of(operator, "goes", "Synchronization", 1).await;
    pipeline.create(config_map("a", LABEL, json!({}))).await;
    told_of(operator, "goes", "Event", 1).await;
    let why = "binding maps waits for other bindings of its hook; binding refused has not listed its objects";
    let waiting = |operator: &Operator| (missing(&operator.app.readiness(), "waits") == why).then_some(());
    operator.until("readiness says what is waited for", waiting).await;
    assert_eq!(told(operator, "waits"), Vec::<Value>::new());
}

#[tokio::test]
async fn a_binding_that_need_not_be_waited_for_waits_for_nobody() {
    let document = document(&[refused(""), maps("maps", ", waitForSynchronization: false")]);
    let pipeline = Pipeline::on(TestCluster::start().await, &[("tell", tell(&document))], |_| ()).await;
    let lines = told_of(&pipeline.operator, "tell", "Synchronization", 1).await;
    assert_eq!(bindings(&lines), ["maps"]);
}

#[tokio::test]
async fn what_comes_after_the_start_is_reported_without_a_synchronization_too() {
    let document = document(&[
        maps("maps", ""),
        "- {name: widgets, kind: Widget, executeHookOnSynchronization: false}\n".to_owned(),
    ]);
    let pipeline = Pipeline::on(TestCluster::start().await, &[("tell", tell(&document))], |_| ()).await;
    let operator = &pipeline.operator;
    // Nobody waits for a kind that is not served.
    told_of(operator, "tell", "Synchronization", 1).await;
    pipeline.create(widgets()).await;
    let metadata = json!({"namespace": "default", "name": "w"});
    pipeline.create(json!({"apiVersion": "example.com/v1", "kind": "Widget", "metadata": metadata})).await;
    let events = told_of(operator, "tell", "Event", 1).await;
    assert_eq!(change(&events[0]), "Added default/w");
    assert_eq!(told_of(operator, "tell", "Synchronization", 1).await.len(), 1);
}
