//! What the page gets.

use std::sync::Arc;

use boathook_core::effect::{Effect, Sink};
use boathook_operator::console::Access;
use serde_json::{Value, json};

use super::Shown;
use crate::{
    pipeline::{
        fixture::{config_map, guests},
        reconcile,
        written::{Deed, hook},
    },
    support::{cluster::TestCluster, guests::guest, until},
};

fn relays() -> Vec<(&'static str, Vec<u8>)> {
    ["relay-1", "relay-2"].map(|name| (name, guest("relay"))).into()
}

fn ball(left: u32) -> Value {
    config_map(
        "ball",
        ("test", "relay"),
        json!({"holder": "relay-1", "order": "relay-1 relay-2", "left": left.to_string()}),
    )
}

struct Nowhere;

impl Sink for Nowhere {
    fn effect(&self, _: Effect) {}
}

/// A write of the last hook, once all are there.
async fn written(shown: &Shown, count: usize) -> Vec<Value> {
    until("all writes are known", async || {
        let view = shown.view("/api/writes?contains=BALL").await;
        let writes = view["writes"].as_array().unwrap().clone();
        (writes.len() == count).then_some(writes)
    })
    .await
}

#[tokio::test]
async fn a_write_leads_to_its_run_and_its_cause() {
    let shown = Shown::start(&relays()).await;
    shown.pipeline.create(ball(4)).await;
    let writes = written(&shown, 4).await;
    assert_eq!((&writes[0]["hook"], &writes[3]["hook"]), (&json!("relay-2"), &json!("relay-1")), "{writes:#?}");
    assert_eq!(writes[3]["reason"]["cause"], "Added");
    let run = writes[0]["run"].as_str().unwrap();

    let why = shown.view(&format!("/api/why?run={run}")).await;
    let steps = why["chains"][0]["steps"].as_array().unwrap();
    assert_eq!(steps.len(), 4, "{why:#}");
    assert_eq!(steps[0]["resourceVersion"], writes[0]["resourceVersion"]);
    let of_object = shown.view("/api/why?object=configmap/default/ball").await;
    assert_eq!(of_object["chains"][0], why["chains"][0]);

    // The log of a test has no layer that keeps lines.
    assert_eq!(shown.view(&format!("/api/logs?run={run}")).await["lines"], json!([]));

    let one = shown.view(&format!("/api/writes?run={run}")).await;
    assert_eq!(one["writes"].as_array().map(Vec::len), Some(1));
    assert_eq!(shown.view("/api/writes?contains=relay-1").await["writes"].as_array().map(Vec::len), Some(2));
    assert_eq!(shown.view("/api/writes?limit=1").await["writes"].as_array().map(Vec::len), Some(1));
    assert_eq!(shown.view("/api/why?run=nope").await["chains"], json!([]));
    for bad in [
        "/api/writes?limit=0",
        "/api/writes?limit=1001",
        "/api/why",
        "/api/why?run=a&object=b",
        "/api/logs",
        "/api/sets?x=1",
    ] {
        assert_eq!(shown.get(bad).await.status, 400, "{bad}");
    }
    let got = shown.get(&format!("/api/effects?run={run}")).await;
    assert_eq!((got.status, got.body.contains("keeps none")), (501, true), "{}", got.body);
}

#[tokio::test]
async fn what_writes_did_is_kept_where_somebody_wants_it_anyway() {
    let wanted = |options: &mut boathook_operator::app::Options| options.effects = Some(Arc::new(Nowhere));
    let shown = Shown::on(TestCluster::start().await, &relays(), Access::random(), wanted).await;
    shown.pipeline.operator.ready().await;
    shown.pipeline.create(ball(1)).await;
    let writes = written(&shown, 1).await;
    let run = writes[0]["run"].as_str().unwrap();
    let effects = until("the effect is kept", async || {
        let view = shown.view(&format!("/api/effects?run={run}")).await;
        let effects = view["effects"].as_array().unwrap().clone();
        (!effects.is_empty()).then_some(effects)
    })
    .await;
    assert_eq!((&effects[0]["action"], &effects[0]["object"]["name"]), (&json!("change"), &json!("ball")));
    assert!(effects[0]["changes"].as_array().is_some_and(|changes| !changes.is_empty()), "{effects:#?}");
}

#[tokio::test]
async fn hooks_in_brief_and_one_in_full() {
    let shown = Shown::start(&guests(["noop", "registry-secret"])).await;
    let brief = shown.view("/api/hooks?brief=true").await;
    let names: Vec<_> = brief["hooks"].as_array().unwrap().iter().map(|hook| &hook["name"]).collect();
    assert_eq!(names, ["noop", "registry-secret"]);
    assert_eq!((&brief["hooks"][1]["state"], &brief["hooks"][1]["bindings"]), (&json!("ready"), &json!([])));
    let one = shown.view("/api/hooks/registry-secret").await;
    assert_eq!(one["bindings"].as_array().map(Vec::len), Some(4), "{one:#}");
    let got = shown.get("/api/hooks/nope").await;
    assert_eq!((got.status, got.body.contains("the hooks are noop, registry-secret")), (404, true), "{}", got.body);
    assert_eq!(shown.view("/api/live-runs").await, json!({"runs": []}));
    assert_eq!(shown.view("/api/sets").await, json!({"sets": [], "count": 0}));
    assert!(shown.view("/api/top").await["hooks"].is_array());
    assert!(shown.view("/api/queues?showEmpty=true").await["summary"].is_object());
    assert_eq!(shown.get("/api/modules").await.status, 501, "it runs none");
}

#[tokio::test]
async fn a_run_that_has_not_ended_is_live() {
    let permissions = "permissions: {kubernetes: [{apiGroups: [''], resources: [configmaps], verbs: [get]}]}";
    let watch =
        "kubernetes: [{name: maps, apiVersion: v1, kind: ConfigMap, labelSelector: {matchLabels: {test: wait}}}]";
    let document = format!("configVersion: v1\n{watch}\n{permissions}\n");
    let waits = hook(&document, &Deed::WaitsFor("go"));
    let shown = Shown::on(TestCluster::start().await, &[("waits", waits)], Access::random(), |_| ()).await;
    let live = async |what: &str, count: usize| {
        until(what, async || {
            let runs = shown.view("/api/live-runs").await["runs"].as_array().unwrap().clone();
            (runs.len() == count).then_some(runs)
        })
        .await
    };
    let runs = live("a run is under way", 1).await;
    assert_eq!((&runs[0]["hook"], &runs[0]["reasons"][0]["cause"]), (&json!("waits"), &json!("Synchronization")));
    shown.pipeline.create(config_map("go", ("test", "go"), json!({}))).await;
    live("the run has ended", 0).await;
}

#[tokio::test]
async fn the_sets_of_parents_are_listed() {
    let shown = Shown::on(reconcile::cluster().await, &guests(["wish"]), Access::random(), |_| ()).await;
    let child = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "child"}, "data": {"value": "1"}});
    let metadata = json!({"name": "parent", "namespace": "default"});
    let parent =
        json!({"apiVersion": "example.com/v1", "kind": "Wish", "metadata": metadata, "spec": {"children": [child]}});
    shown.pipeline.create(parent).await;
    let set = until("the set has its member", async || {
        let view = shown.view("/api/sets").await;
        let set = view["sets"].get(0)?.clone();
        (set["membersCount"] == 1).then_some(set)
    })
    .await;
    assert_eq!(set["parent"], "Wish default/parent", "{set:#}");
    assert_eq!(set["members"], json!(["ConfigMap default/child"]), "{set:#}");
}
