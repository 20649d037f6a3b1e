//! Owners and dependents, and how long pods take to go.

use std::time::Duration;

use boathook_cluster::Options;
use http::Method;
use serde_json::{Value, json};

use super::support::{Answer, CONFIG_MAPS, Fixture, soon, start, start_with};

const SECRETS: &str = "/api/v1/namespaces/default/secrets";
const PODS: &str = "/api/v1/namespaces/default/pods";

fn owned_by(owner: &Value, block: bool) -> Value {
    json!({
        "apiVersion": "v1", "kind": owner["kind"], "name": owner["metadata"]["name"], "uid": owner["metadata"]["uid"],
        "blockOwnerDeletion": block,
    })
}

async fn secret(f: &Fixture, name: &str, owners: Vec<Value>, finalizers: &[&str]) -> Value {
    let metadata = json!({ "name": name, "ownerReferences": owners, "finalizers": finalizers });
    let (code, made) = f.post(SECRETS, json!({ "metadata": metadata })).await;
    assert_eq!(code, 201, "{made}");
    made
}

async fn delete(f: &Fixture, path: &str, options: Value) -> Answer {
    f.send(Method::DELETE, path, "application/json", options.to_string().into_bytes()).await
}

async fn until(f: &Fixture, path: &str, holds: impl Fn(&Answer) -> bool) -> Value {
    let wait = async {
        loop {
            let answer = f.get(path).await;
            if holds(&answer) {
                return answer.1;
            }
            tokio::task::yield_now().await;
        }
    };
    soon(path, wait).await
}

async fn gone(f: &Fixture, path: &str) {
    until(f, path, |answer| answer.0 == 404).await;
}

#[tokio::test]
async fn in_the_background_dependents_go_after_their_owner() {
    let f = start().await;
    let owner = f.config_map("owner", json!({})).await;
    let child = secret(&f, "child", vec![owned_by(&owner, true)], &[]).await;
    secret(&f, "grandchild", vec![owned_by(&child, true)], &[]).await;
    secret(&f, "stranger", vec![], &[]).await;
    assert_eq!(f.delete(&format!("{CONFIG_MAPS}/owner")).await.0, 200);
    assert_eq!(f.get(&format!("{CONFIG_MAPS}/owner")).await.0, 404);
    gone(&f, &format!("{SECRETS}/child")).await;
    gone(&f, &format!("{SECRETS}/grandchild")).await;
    assert_eq!(f.get(&format!("{SECRETS}/stranger")).await.0, 200);
}

#[tokio::test]
async fn in_the_foreground_the_owner_waits_for_what_blocks_it() {
    let f = start().await;
    let owner = f.config_map("owner", json!({})).await;
    secret(&f, "blocks", vec![owned_by(&owner, true)], &["example.com/hold"]).await;
    secret(&f, "does-not", vec![owned_by(&owner, false)], &["example.com/hold"]).await;
    let path = format!("{CONFIG_MAPS}/owner");
    let (code, held) = delete(&f, &path, json!({ "propagationPolicy": "Foreground" })).await;
    assert_eq!((code, &held["metadata"]["finalizers"]), (200, &json!(["foregroundDeletion"])));
    for name in ["blocks", "does-not"] {
        until(&f, &format!("{SECRETS}/{name}"), |a| a.1["metadata"]["deletionTimestamp"].is_string()).await;
    }
    assert_eq!(f.get(&path).await.0, 200);
    let asked = f.delete(&format!("{SECRETS}/blocks?orphanDependents=false")).await;
    assert_eq!(asked.0, 202);
    f.patch(&format!("{SECRETS}/blocks"), "merge", json!({ "metadata": { "finalizers": null } })).await;
    gone(&f, &path).await;
    assert_eq!(f.get(&format!("{SECRETS}/does-not")).await.0, 200);
}

#[tokio::test]
async fn a_circle_of_owners_goes_in_the_foreground() {
    let f = start().await;
    let a = f.config_map("a", json!({})).await;
    let b = secret(&f, "b", vec![owned_by(&a, true)], &[]).await;
    let path = format!("{CONFIG_MAPS}/a");
    f.patch(&path, "merge", json!({ "metadata": { "ownerReferences": [owned_by(&b, true)] } })).await;
    delete(&f, &path, json!({ "propagationPolicy": "Foreground" })).await;
    gone(&f, &path).await;
    gone(&f, &format!("{SECRETS}/b")).await;
}

#[tokio::test]
async fn orphans_stay_and_forget_their_owner() {
    let f = start().await;
    let (owner, other) = (f.config_map("owner", json!({})).await, f.config_map("other", json!({})).await);
    secret(&f, "one", vec![owned_by(&owner, true)], &[]).await;
    secret(&f, "two", vec![owned_by(&owner, true), owned_by(&other, false)], &[]).await;
    let (_, held) = delete(&f, &format!("{CONFIG_MAPS}/owner"), json!({ "propagationPolicy": "Orphan" })).await;
    assert_eq!(held["metadata"]["finalizers"], json!(["orphan"]));
    gone(&f, &format!("{CONFIG_MAPS}/owner")).await;
    assert_eq!(f.get(&format!("{SECRETS}/one")).await.1["metadata"].get("ownerReferences"), None);
    assert_eq!(
        f.get(&format!("{SECRETS}/two")).await.1["metadata"]["ownerReferences"],
        json!([owned_by(&other, false)])
    );
}

#[tokio::test]
async fn absent_owners_count_as_deleted_and_a_live_one_saves() {
    let f = start().await;
    let owner = f.config_map("owner", json!({})).await;
    let mut absent = owned_by(&owner, false);
    absent["uid"] = "00000000-0000-4000-8000-000000000000".into();
    let namespace = json!({ "metadata": { "name": "elsewhere" } });
    f.post("/api/v1/namespaces", namespace).await;
    let foreign = json!({ "metadata": { "name": "foreign", "ownerReferences": [owned_by(&owner, false)] } });
    f.post("/api/v1/namespaces/elsewhere/secrets", foreign).await;
    secret(&f, "lost", vec![absent.clone()], &[]).await;
    secret(&f, "saved", vec![absent, owned_by(&owner, false)], &[]).await;
    gone(&f, &format!("{SECRETS}/lost")).await;
    // An owner in another namespace is none.
    gone(&f, "/api/v1/namespaces/elsewhere/secrets/foreign").await;
    let references = json!([owned_by(&owner, false)]);
    until(&f, &format!("{SECRETS}/saved"), |a| a.1["metadata"]["ownerReferences"] == references).await;
}

#[tokio::test]
async fn owners_of_an_unknown_kind_or_out_of_reach_are_left_alone() {
    let f = start().await;
    let owner = f.config_map("owner", json!({})).await;
    let mut unknown = owned_by(&owner, false);
    unknown["apiVersion"] = "example.com/v1".into();
    secret(&f, "unknown", vec![unknown], &[]).await;
    let node = json!({ "metadata": { "name": "n", "ownerReferences": [owned_by(&owner, false)] } });
    assert_eq!(f.post("/api/v1/nodes", node).await.0, 201);
    // What is queued after them is done: so are they.
    let mut absent = owned_by(&owner, false);
    absent["uid"] = "x".into();
    secret(&f, "last", vec![absent], &[]).await;
    gone(&f, &format!("{SECRETS}/last")).await;
    assert_eq!(f.get(&format!("{SECRETS}/unknown")).await.0, 200);
    assert_eq!(f.get("/api/v1/nodes/n").await.0, 200);
}

#[tokio::test]
async fn without_a_collector_the_finalizers_stay() {
    let f = start_with(Options::default().garbage_collection(false)).await;
    let owner = f.config_map("owner", json!({})).await;
    secret(&f, "child", vec![owned_by(&owner, true)], &[]).await;
    let path = format!("{CONFIG_MAPS}/owner");
    delete(&f, &path, json!({ "propagationPolicy": "Orphan" })).await;
    assert_eq!(f.get(&path).await.1["metadata"]["finalizers"], json!(["orphan"]));
    // A later wish replaces an earlier one.
    delete(&f, &path, json!({ "propagationPolicy": "Background" })).await;
    assert_eq!(f.get(&path).await.0, 404);
    assert_eq!(f.get(&format!("{SECRETS}/child")).await.0, 200);
}

#[tokio::test]
async fn both_forms_of_the_policy_are_one_too_many() {
    let f = start().await;
    f.config_map("x", json!({})).await;
    let both = json!({ "propagationPolicy": "Orphan", "orphanDependents": true });
    let refused = delete(&f, &format!("{CONFIG_MAPS}/x"), both).await;
    assert_eq!((refused.0, refused.1["details"]["causes"][0]["field"].as_str()), (422, Some("propagationPolicy")));
}

async fn bound_pod(f: &Fixture, name: &str) {
    let spec = json!({ "nodeName": "n", "containers": [{ "name": "c", "image": "i" }] });
    assert_eq!(f.post(PODS, json!({ "metadata": { "name": name }, "spec": spec })).await.0, 201);
}

#[tokio::test]
async fn pods_on_a_node_get_their_grace_period() {
    let f = start_with(Options::default().pod_shutdown(None)).await;
    bound_pod(&f, "p").await;
    let path = format!("{PODS}/p");
    let (code, first) = f.delete(&path).await;
    assert_eq!((code, &first["metadata"]["deletionGracePeriodSeconds"]), (200, &json!(30)));
    let end = |pod: &Value| pod["metadata"]["deletionTimestamp"].as_str().unwrap().parse::<jiff::Timestamp>().unwrap();
    let (_, longer) = delete(&f, &path, json!({ "gracePeriodSeconds": 60 })).await;
    assert_eq!(longer["metadata"]["resourceVersion"], first["metadata"]["resourceVersion"]);
    let (_, shorter) = delete(&f, &path, json!({ "gracePeriodSeconds": 10 })).await;
    assert_eq!(end(&first).as_second() - end(&shorter).as_second(), 20);
    assert_eq!(f.patch(&path, "merge", json!({ "metadata": { "labels": { "a": "b" } } })).await.0, 200);
    assert_eq!(delete(&f, &format!("{path}?gracePeriodSeconds=0"), json!({})).await.0, 200);
    assert_eq!(f.get(&path).await.0, 404);
}

#[tokio::test]
async fn pods_on_a_node_end_and_finalizers_hold_them() {
    let f = start_with(Options::default().pod_shutdown(Some(Duration::ZERO))).await;
    bound_pod(&f, "p").await;
    bound_pod(&f, "held").await;
    let held = format!("{PODS}/held");
    f.patch(&held, "merge", json!({ "metadata": { "finalizers": ["example.com/hold"] } })).await;
    f.delete(&format!("{PODS}/p")).await;
    f.delete(&held).await;
    gone(&f, &format!("{PODS}/p")).await;
    until(&f, &held, |a| a.1["metadata"]["deletionGracePeriodSeconds"] == 0).await;
    f.patch(&held, "merge", json!({ "metadata": { "finalizers": null } })).await;
    assert_eq!(f.get(&held).await.0, 404);
}
