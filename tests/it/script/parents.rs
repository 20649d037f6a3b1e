//! Parents whose hook fails in each way that a program can, what a hook sees of a parent, and when it is asked again.

use serde_json::{Value, json};

use super::{interpreters, packed};
use crate::{
    pipeline::fixture::{Operator, Pipeline},
    support::{cluster::TestCluster, until},
};

const WISHES: &str = include_str!("../../../hooks-wasm/test/wish/wishes.yaml");

/// Does what the `spec` of the parent says, and tells which Namespace it refers to. A Namespace has no namespace.
const HOOK: &str = r#"
const reconcile = [{
  name: "wishes", apiVersion: "example.com/v1", kind: "Wish", owns: [{ apiVersion: "v1", kind: "ConfigMap" }],
  retry: { initial: "200ms", max: "400ms" },
  related: [{
    name: "place", apiVersion: "v1", kind: "Namespace", nameFrom: ".spec.place",
    labelSelector: { matchLabels: { open: "true" } },
  }],
}];

function deep(n) { return n + deep(n + 1); }

function fail(how) {
  if (how === "throw") throw new Error("it was wished");
  if (how === "spin") for (;;);
  if (how === "stack") deep(0);
  if (how === "memory") for (let all = []; ; ) all.push(new Uint8Array(1 << 20).fill(1));
}

export default {
  config: { configVersion: "v1", reconcile, limits: { time: "2s", memory: "64Mi" } },
  reconcile(info, binding, parent) {
    const { spec } = JSON.parse(parent.object);
    fail(spec.fail);
    const names = parent.related.map((related) => JSON.parse(related.object).metadata.name);
    return { noneWanted: true, status: { names } };
  },
};
"#;

fn wish(name: &str, spec: Value) -> Value {
    let metadata = json!({"name": name, "namespace": "default"});
    json!({"apiVersion": "example.com/v1", "kind": "Wish", "metadata": metadata, "spec": spec})
}

async fn start() -> Pipeline {
    start_with(HOOK).await
}

async fn start_with(script: &str) -> Pipeline {
    let cluster = TestCluster::start().await;
    cluster.admin.create(&yaml_serde::from_str::<Value>(WISHES).unwrap()).await.unwrap();
    let places = |options: &mut boathook_operator::app::Options| options.sandbox.interpreters = vec![interpreters()];
    let pipeline = Pipeline::on(cluster, &[("wishes", packed(&[("hook.js", script)]))], places).await;
    pipeline.operator.ready().await;
    pipeline
}

fn condition(found: &Value, of: &str) -> Value {
    let all = found["status"]["conditions"].as_array().cloned().unwrap_or_default();
    all.into_iter().find(|one| one["type"] == of).unwrap_or_default()
}

/// They are more than the hook has runs at a time, and they are tried again and again.
#[tokio::test]
async fn many_parents_that_break_the_hook_hold_up_no_other() {
    let pipeline = start().await;
    let bad: Vec<_> = ["throw", "spin", "stack", "memory"]
        .into_iter()
        .flat_map(|how| (0..5).map(move |n| wish(&format!("{how}-{n}"), json!({"fail": how}))))
        .collect();
    assert_eq!(bad.len(), 20);
    for parent in &bad {
        pipeline.create(parent.clone()).await;
    }
    // Half of them at least is under way or waits for its next try.
    pipeline
        .operator
        .until("many have failed", |operator| (operator.log.told("run failed").len() >= 10).then_some(()))
        .await;
    let good = wish("good", json!({}));
    pipeline.create(good.clone()).await;
    until("the good one is ready", async || {
        let found = pipeline.get(good.clone()).await?;
        (condition(&found, "Ready")["status"] == "True").then_some(())
    })
    .await;
    for parent in &bad {
        let name = parent["metadata"]["name"].as_str().unwrap();
        let part = match name.split_once('-').unwrap().0 {
            "throw" => "it was wished",
            "spin" => "time",
            "stack" => "stack",
            _ => "memory",
        };
        until(&format!("{name} says why"), async || {
            let found = pipeline.get(parent.clone()).await?;
            let says = |of: &str| condition(&found, of)["message"].as_str().is_some_and(|text| text.contains(part));
            (says("Reconciling") || says("Stalled")).then_some(())
        })
        .await;
    }
}

/// Cluster-scoped objects have no namespace that could be somebody's. A name leads to each of them that the labels in the
/// document select, and to no other one.
// mutant: crates/core/src/model/reconcile.rs: `let (name, labels) = (self.watching(related), related.label_selector.clone());` => `let (name, labels) = (self.watching(related), None);`
#[tokio::test]
async fn cve_2026_22039_a_name_leads_to_cluster_scoped_objects_that_the_document_selects() {
    let pipeline = start().await;
    for (name, labels) in [("open", json!({"open": "true"})), ("closed", json!({}))] {
        let metadata = json!({"name": name, "labels": labels});
        pipeline.create(json!({"apiVersion": "v1", "kind": "Namespace", "metadata": metadata})).await;
    }
    let found = async |name: &str| {
        let parent = wish(name, json!({"place": name}));
        pipeline.create(parent.clone()).await;
        until("its status", async || {
            let found = pipeline.get(parent.clone()).await?;
            found["status"]["names"].as_array().cloned().filter(|_| condition(&found, "Ready")["status"] == "True")
        })
        .await
    };
    assert_eq!(found("open").await, [json!("open")]);
    assert_eq!(found("closed").await, [] as [Value; 0]);
    assert_eq!(found("none").await, [] as [Value; 0]);
}

/// Logs each call, and tells the children of a parent. A script is asked each time, whatever it returned before.
const TELLS: &str = r#"
const reconcile = [{
  name: "wishes", apiVersion: "example.com/v1", kind: "Wish", resync: "1s",
  owns: [{ apiVersion: "v1", kind: "ConfigMap" }, { apiVersion: "v1", kind: "Secret" }],
}];

export default {
  config: { configVersion: "v1", reconcile },
  reconcile(info, binding, parent) {
    const { metadata, spec } = JSON.parse(parent.object);
    console.log(`asked about ${metadata.name}`);
    const children = spec.maps.map((name) => ({ apiVersion: "v1", kind: "ConfigMap", metadata: { name } }));
    const seen = parent.children.map(({ target }) => `${target.kind} ${target.name}`);
    return { children, noneWanted: children.length === 0, status: { seen } };
  },
};
"#;

#[tokio::test]
async fn a_resync_asks_again_although_nothing_changed() {
    let pipeline = start_with(TELLS).await;
    let parent = wish("web", json!({"maps": []}));
    pipeline.create(parent.clone()).await;
    until("it is ready", async || {
        (condition(&pipeline.get(parent.clone()).await?, "Ready")["status"] == "True").then_some(())
    })
    .await;
    let asked = |operator: &Operator| operator.log.said("wishes").iter().filter(|line| line.contains("web")).count();
    let before = (asked(&pipeline.operator), pipeline.get(parent.clone()).await.unwrap());
    pipeline.operator.until("it is asked again", |operator| (asked(operator) >= before.0 + 2).then_some(())).await;
    // Nothing is written for that.
    assert_eq!(
        pipeline.get(parent).await.unwrap()["metadata"]["resourceVersion"],
        before.1["metadata"]["resourceVersion"]
    );
}

#[tokio::test]
async fn a_hook_sees_its_own_children_and_no_others() {
    let pipeline = start_with(TELLS).await;
    let map = |name: &str| json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "default"}});
    pipeline.create(map("nobodys")).await;
    for (name, maps) in [("one", json!(["a", "b"])), ("two", json!(["c"]))] {
        pipeline.create(wish(name, json!({"maps": maps}))).await;
    }
    for (name, seen) in [("one", json!(["ConfigMap a", "ConfigMap b"])), ("two", json!(["ConfigMap c"]))] {
        until(&format!("{name} sees its children"), async || {
            let found = pipeline.get(wish(name, Value::Null)).await?;
            (found["status"]["seen"] == seen).then_some(())
        })
        .await;
    }
}

/// Attaches a ConfigMap to each ServiceAccount, with the labels of the Secret that the ServiceAccount names.
const ATTACHES: &str = r#"
const reconcile = [{
  name: "accounts", apiVersion: "v1", kind: "ServiceAccount", decorates: true,
  labelSelector: { matchLabels: { attach: "true" } }, owns: [{ apiVersion: "v1", kind: "ConfigMap" }],
  related: [{ name: "key", apiVersion: "v1", kind: "Secret", nameFrom: ".metadata.annotations.key" }],
}];

export default {
  config: { configVersion: "v1", reconcile },
  reconcile(info, binding, parent) {
    const { name } = JSON.parse(parent.object).metadata;
    const [key] = parent.related.map((related) => JSON.parse(related.object).metadata.labels?.tier ?? "");
    return { children: [{ apiVersion: "v1", kind: "ConfigMap", metadata: { name }, data: { tier: key ?? "none" } }] };
  },
};
"#;

#[tokio::test]
async fn a_decorator_is_woken_by_what_its_object_refers_to() {
    let pipeline = start_with(ATTACHES).await;
    let metadata =
        json!({"name": "web", "namespace": "default", "labels": {"attach": "true"}, "annotations": {"key": "key"}});
    pipeline.create(json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata})).await;
    let has = async |tier: &str| {
        let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "web", "namespace": "default"}});
        until(&format!("its ConfigMap has {tier}"), async || {
            (pipeline.get(map.clone()).await?["data"]["tier"] == tier).then_some(())
        })
        .await;
    };
    has("none").await;
    let secret = |tier: &str| {
        let metadata = json!({"name": "key", "namespace": "default", "labels": {"tier": tier}});
        json!({"apiVersion": "v1", "kind": "Secret", "metadata": metadata})
    };
    pipeline.create(secret("one")).await;
    has("one").await;
    pipeline.apply(secret("two")).await;
    has("two").await;
    pipeline.delete(secret("two")).await;
    has("none").await;
}
