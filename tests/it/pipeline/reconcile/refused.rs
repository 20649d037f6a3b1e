//! Answers that cannot be, and parents that cannot have a status.

use k8s_openapi::api::events::v1::Event;
use kube::{Api, api::ListParams};
use serde_json::{Value, json};

use super::{child, cluster_wish, current, definition, gone, map, start, there, told, wish};
use crate::{
    pipeline::{
        bundles::{Shelf, state},
        fixture::{Pipeline, guests},
    },
    support::{cluster::TestCluster, guests::guest, until},
};

/// What the parent says about children of this kind, which are refused before anything is applied.
async fn refused(pipeline: &Pipeline, parent: Value) -> String {
    pipeline.create(parent.clone()).await;
    let message = told(&pipeline.cluster, &parent, "Stalled", "True", "InvalidAnswer").await;
    pipeline.delete(parent.clone()).await;
    gone(&pipeline.cluster, &parent).await;
    message
}

fn with(mut child: Value, change: impl FnOnce(&mut Value)) -> Value {
    change(&mut child);
    child
}

#[tokio::test]
async fn what_a_parent_cannot_own_is_refused_before_anything_is_applied() {
    let pipeline = start().await;
    let elsewhere = with(child("b", "1"), |child| child["metadata"]["namespace"] = json!("kube-public"));
    let nameless = with(child("b", "1"), |child| child["metadata"] = json!({"generateName": "b-"}));
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "n"}});
    let secret = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}});
    for (bad, says) in [
        (
            elsewhere,
            r#"ConfigMap kube-public/b: it is in namespace "kube-public", and the parent owns in namespace "default" only"#,
        ),
        (namespace, "Namespace n: it is cluster-scoped, and a parent in a namespace owns in its namespace only"),
        (
            secret,
            "Secret s: its kind is not declared, or the API server does not serve it: add {apiVersion: v1, kind: Secret} to owns",
        ),
        (nameless, "it has no metadata.name"),
        (child("a", "2"), "ConfigMap a: it is returned twice"),
        (json!("text"), "it is not an object with apiVersion, kind and metadata"),
    ] {
        let message = refused(&pipeline, wish("web", json!({"children": [child("a", "1"), bad]}))).await;
        assert!(message.contains(says), "{message}");
        assert!(pipeline.get(map("a")).await.is_none(), "{says}");
    }
}

#[tokio::test]
async fn an_object_cannot_own_its_owner() {
    let pipeline = start().await;
    let mut owner = map("owner");
    owner["data"] = json!({"value": "1"});
    let owner = pipeline.create(owner).await;
    let mut parent = wish("web", json!({"children": [child("owner", "2")]}));
    parent["metadata"]["ownerReferences"] =
        json!([{"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": owner["metadata"]["uid"]}]);
    let message = refused(&pipeline, parent).await;
    assert!(message.contains("it is an owner of the parent: an object cannot own its owner"), "{message}");
    assert_eq!(pipeline.get(map("owner")).await.unwrap()["data"]["value"], "1");
}

#[tokio::test]
async fn a_child_that_the_api_server_refuses_is_named_and_others_are_applied() {
    let pipeline = start().await;
    let bad =
        json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "bad"}, "spec": {"replicas": 1}});
    let parent = wish("web", json!({"children": [child("a", "1"), bad]}));
    pipeline.create(parent.clone()).await;
    let message = told(&pipeline.cluster, &parent, "Stalled", "True", "MemberFailed").await;
    assert!(message.contains("Deployment.apps default/bad") && message.contains("selector"), "{message}");
    assert!(pipeline.get(map("a")).await.is_some());
    // A change of the answer is tried at once.
    pipeline.apply(wish("web", json!({"children": [child("a", "1")]}))).await;
    current(&pipeline.cluster, &parent, 2).await;
}

#[tokio::test]
async fn a_namespace_waits_for_an_approval() {
    let pipeline = start().await;
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "n"}});
    let parent = cluster_wish("all", json!({"children": [namespace, child("x", "1")]}));
    let message = refused(&pipeline, parent).await;
    assert!(message.contains("ConfigMap x: it has no namespace, and the parent has none"), "{message}");
    let inside = with(child("x", "1"), |child| child["metadata"]["namespace"] = json!("n"));
    let parent = cluster_wish("two", json!({"children": [namespace, inside]}));
    pipeline.create(parent.clone()).await;
    current(&pipeline.cluster, &parent, 1).await;
    pipeline.apply(cluster_wish("two", json!({"children": [], "noneWanted": true}))).await;
    let message = told(&pipeline.cluster, &parent, "Stalled", "True", "ApprovalRequired").await;
    assert!(message.contains("Namespace n") && message.contains("others may depend on them"), "{message}");
    assert!(pipeline.get(namespace.clone()).await.is_some());
}

#[tokio::test]
async fn a_kind_without_a_status_is_told_and_works_when_it_has_one() {
    let cluster = TestCluster::start().await;
    let mut without = definition("Wish");
    without["spec"]["versions"][0].as_object_mut().unwrap().remove("subresources");
    cluster.admin.create(&without).await.unwrap();
    cluster.admin.create(&definition("ClusterWish")).await.unwrap();
    let pipeline = Pipeline::on(cluster, &guests(["wish"]), |_| ()).await;
    let parent = wish("web", json!({"children": [child("a", "1")]}));
    pipeline.create(parent.clone()).await;
    let says = "objects of kind Wish have no status: add `subresources: {status: {}}` to version v1 of the \
                CustomResourceDefinition wishes.example.com";
    pipeline
        .operator
        .until("the log says so", |operator| {
            let failed = operator.log.told("run failed");
            failed.iter().any(|line| line["hook"] == "wish" && line["error"] == says).then_some(())
        })
        .await;
    assert!(pipeline.get(map("a")).await.is_none());
    // Others are not held up.
    let other = cluster_wish("all", json!({"children": [], "noneWanted": true}));
    pipeline.create(other.clone()).await;
    current(&pipeline.cluster, &other, 1).await;
    pipeline.apply(definition("Wish")).await;
    current(&pipeline.cluster, &parent, 1).await;
}

/// Such a parent has no conditions. Its author sees an Event, and the owner of the bundle sees the error of the hook.
#[tokio::test]
async fn a_kind_without_a_status_is_told_on_its_parent_and_on_the_bundle() {
    let cluster = TestCluster::start().await;
    let mut without = definition("Wish");
    without["spec"]["versions"][0].as_object_mut().unwrap().remove("subresources");
    cluster.admin.create(&without).await.unwrap();
    let pipeline = Pipeline::on(cluster, &[], |_| ()).await;
    let (shelf, installer) = (Shelf::new(), pipeline.operator.app.installer());
    installer.install(shelf.bundle(&[("farewell", &guest("farewell"))])).await.unwrap();
    let parent = wish("web", json!({"children": [child("a", "1")]}));
    let uid = pipeline.create(parent.clone()).await["metadata"]["uid"].as_str().unwrap().to_owned();
    let events: Api<Event> = Api::namespaced(pipeline.cluster.admin.client.clone(), "default");
    let told = until("an Event", async || {
        let found = events.list(&ListParams::default()).await.unwrap().items;
        found.into_iter().find(|event| event.regarding.as_ref().is_some_and(|it| it.uid.as_deref() == Some(&*uid)))
    })
    .await;
    assert_eq!((told.type_.as_deref(), told.reason.as_deref()), (Some("Warning"), Some("NotReconciled")));
    let says = "objects of kind Wish have no status: add `subresources: {status: {}}` to version v1";
    assert!(told.note.as_deref().is_some_and(|note| note.contains(says)), "{told:?}");
    let error = until("the error", async || state(&installer, "farewell").last_error).await;
    assert!(error.contains(says), "{error}");
}

// mutant: crates/operator/src/app/reconcile/send.rs: `*stage == Stage::Deleting && !waits` => `*stage == Stage::Deleting`
#[tokio::test]
async fn a_deletion_that_waits_for_an_approval_says_so() {
    let pipeline = start().await;
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "kept"}});
    let parent = cluster_wish("web", json!({"children": [namespace]}));
    pipeline.create(parent.clone()).await;
    there(&pipeline.cluster, &namespace).await;
    current(&pipeline.cluster, &parent, 1).await;
    pipeline.delete(parent.clone()).await;
    let message = told(&pipeline.cluster, &parent, "Stalled", "True", "ApprovalRequired").await;
    assert!(message.contains("Namespace kept") && message.contains("approve "), "{message}");
    assert!(pipeline.get(namespace).await.unwrap()["metadata"].get("deletionTimestamp").is_none());
}
