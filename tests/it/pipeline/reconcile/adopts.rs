//! Objects that exist before they are children, by the binding's `adopt`, and objects that own each other.

use k8s_openapi::api::events::v1::Event;
use kube::{Api, api::ListParams};
use serde_json::{Value, json};

use super::{child, cluster, cluster_wish, current, map, there, told, wish};
use crate::{
    pipeline::fixture::Pipeline,
    support::{guests::guest, until},
};

const SET: &str = "applyset.kubernetes.io/part-of";

/// The guest `adopt` on a cluster that serves its kinds.
pub async fn start() -> Pipeline {
    let cluster = cluster().await;
    let text = super::definition("Wish").to_string();
    let hopes = text.replace("wish", "hope").replace("Wish", "Hope").replace("hopees", "hopes");
    cluster.admin.create(&serde_json::from_str(&hopes).unwrap()).await.unwrap();
    let pipeline = Pipeline::on(cluster, &[("adopt", guest("adopt"))], |_| ()).await;
    pipeline.operator.ready().await;
    pipeline
}

/// A ConfigMap of somebody else, in this set if there is one.
fn theirs(name: &str, set: Option<&str>) -> Value {
    let mut object = map(name);
    object["data"] = json!({"value": "theirs", "more": "theirs"});
    if let Some(set) = set {
        object["metadata"]["labels"] = json!({SET: set});
    }
    object
}

impl Pipeline {
    /// What Events say about an object.
    async fn notes_about(&self, name: &str) -> Vec<String> {
        let events: Api<Event> = Api::all(self.cluster.admin.client.clone());
        let found = events.list(&ListParams::default()).await.unwrap().items;
        let about = found
            .into_iter()
            .filter(|event| event.regarding.as_ref().and_then(|about| about.name.as_deref()) == Some(name));
        about.map(|event| format!("{}: {}", event.reason.unwrap_or_default(), event.note.unwrap_or_default())).collect()
    }
}

// mutant: crates/operator/src/app/reconcile/mod.rs: `model::Adopt::IfUnowned => Adopt::IfUnowned,` => `model::Adopt::IfUnowned => Adopt::Always,`
#[tokio::test]
async fn what_nobody_has_is_adopted_and_that_is_reported() {
    let pipeline = start().await;
    for object in [theirs("free", None), theirs("taken", Some("applyset-theirs-v1"))] {
        pipeline.create(object).await;
    }
    let parent = wish("web", json!({"children": [child("free", "1")]}));
    pipeline.create(parent.clone()).await;
    current(&pipeline.cluster, &parent, 1).await;
    let found = pipeline.get(map("free")).await.unwrap();
    assert_eq!(found["data"], json!({"value": "1", "more": "theirs"}));
    assert_eq!(found["metadata"]["ownerReferences"][0]["name"], "web");
    let note = "Adopted: v1 ConfigMap default/free is a child from now on: it belonged to nobody";
    until("an Event says so", async || pipeline.notes_about("web").await.contains(&note.to_owned()).then_some(()))
        .await;
    let said = pipeline.operator.log.told("adopted an object that belonged to nobody");
    assert_eq!(said.len(), 1, "{said:?}");
    assert_eq!(said[0]["object"], "v1 ConfigMap default/free");
    pipeline.apply(wish("web", json!({"children": [child("free", "1"), child("taken", "1")]}))).await;
    let message = told(&pipeline.cluster, &parent, "Stalled", "True", "MemberRefused").await;
    assert!(message.starts_with("ConfigMap default/taken: it belongs to the set applyset-theirs-v1"), "{message}");
    assert_eq!(pipeline.get(map("taken")).await.unwrap()["data"]["value"], "theirs");
}

// mutant: crates/operator/src/app/reconcile/mod.rs: `model::Adopt::Always => Adopt::Always,` => `model::Adopt::Always => Adopt::IfUnowned,`
#[tokio::test]
async fn what_another_set_has_is_adopted_if_the_document_says_so() {
    let pipeline = start().await;
    for object in [theirs("free", None), theirs("taken", Some("applyset-theirs-v1"))] {
        pipeline.create(object).await;
    }
    let children = ["free", "taken"].map(|name| {
        let mut child = child(name, "1");
        child["metadata"]["namespace"] = json!("default");
        child
    });
    let parent = cluster_wish("all", json!({"children": children}));
    pipeline.create(parent.clone()).await;
    current(&pipeline.cluster, &parent, 1).await;
    for name in ["free", "taken"] {
        let found = pipeline.get(map(name)).await.unwrap();
        assert_eq!((&found["data"]["value"], &found["data"]["more"]), (&json!("1"), &json!("theirs")));
        assert_ne!(found["metadata"]["labels"][SET], "applyset-theirs-v1");
    }
    let note = "Adopted: v1 ConfigMap default/taken is a child from now on: it belonged to the set applyset-theirs-v1";
    until("an Event says so", async || pipeline.notes_about("all").await.contains(&note.to_owned()).then_some(()))
        .await;
}

/// Kubernetes would delete all three of them with any one of them.
// mutant: crates/operator/src/app/reconcile/ask.rs: `parent.owners = self.ancestors(parent.owners, now);` => ``
#[tokio::test]
async fn an_object_is_no_child_of_what_it_owns() {
    let pipeline = start().await;
    let warned = |line: &Value| line["message"].as_str().is_some_and(|text| text.starts_with("kinds own each other"));
    let circles: Vec<_> = pipeline.operator.log.lines().into_iter().filter(warned).collect();
    assert_eq!(circles.len(), 1, "{circles:?}");
    assert_eq!(circles[0]["circle"], "Wish.example.com, Hope.example.com, Wish.example.com");
    let with = |kind: &str, name: &str, children: Value| {
        let mut parent = wish(name, json!({"children": children}));
        parent["kind"] = json!(kind);
        parent["metadata"].as_object_mut().unwrap().remove("namespace");
        parent
    };
    let fourth = with("Hope", "fourth", json!([with("Wish", "first", json!([]))]));
    let third = with("Wish", "third", json!([fourth]));
    let first = wish("first", json!({"children": [with("Hope", "second", json!([third]))]}));
    pipeline.create(first.clone()).await;
    let mut last = wish("fourth", Value::Null);
    last["kind"] = json!("Hope");
    let last = there(&pipeline.cluster, &last).await;
    let message = told(&pipeline.cluster, &last, "Stalled", "True", "InvalidAnswer").await;
    assert!(message.contains("Wish first: it is an owner of the parent"), "{message}");
    let first = pipeline.get(first).await.unwrap();
    assert!(first["metadata"].get("ownerReferences").is_none(), "{first}");
}
