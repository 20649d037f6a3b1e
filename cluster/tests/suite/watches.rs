//! Watches: order, selections, bookmarks, initial events.

use std::time::Duration;

use boathook_cluster::Options;
use futures::{AsyncBufReadExt, StreamExt, TryStreamExt};
use http::Request;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::runtime::watcher;
use kube::{Api, Client};
use serde_json::{Value, json};

use super::support::{CONFIG_MAPS, soon, start, start_with};

pub type Events = futures::stream::BoxStream<'static, Result<Value, std::io::Error>>;

pub async fn watch(client: &Client, query: &str) -> Events {
    watch_at(client, CONFIG_MAPS, query).await
}

pub async fn watch_at(client: &Client, path: &str, query: &str) -> Events {
    let request = Request::get(format!("{path}?watch=true&{query}")).body(Vec::new()).unwrap();
    let lines = client.request_stream(request).await.unwrap().lines();
    lines.map_ok(|line| serde_json::from_str(&line).unwrap()).boxed()
}

pub async fn next(events: &mut Events) -> Value {
    soon("a watch event", events.next()).await.expect("the watch ended").expect("the watch broke")
}

fn short(event: &Value) -> (String, String) {
    let text = |v: &Value| v.as_str().unwrap_or_default().to_owned();
    (text(&event["type"]), text(&event["object"]["metadata"]["name"]))
}

fn pair(kind: &str, name: &str) -> (String, String) {
    (kind.to_owned(), name.to_owned())
}

#[tokio::test]
async fn state_first_then_changes() {
    let f = start().await;
    f.config_map("a", json!({})).await;
    let mut events = watch(&f.client, "").await;
    assert_eq!(short(&next(&mut events).await), pair("ADDED", "a"));
    f.config_map("b", json!({})).await;
    f.patch(&format!("{CONFIG_MAPS}/a"), "merge", json!({ "data": { "a": "2" } })).await;
    f.delete(&format!("{CONFIG_MAPS}/b")).await;
    assert_eq!(short(&next(&mut events).await), pair("ADDED", "b"));
    let modified = next(&mut events).await;
    assert_eq!((short(&modified), &modified["object"]["data"]["a"]), (pair("MODIFIED", "a"), &json!("2")));
    let deleted = next(&mut events).await;
    assert_eq!(short(&deleted), pair("DELETED", "b"));
    let revision = |e: &Value| e["object"]["metadata"]["resourceVersion"].as_str().unwrap().parse::<u64>().unwrap();
    assert!(revision(&deleted) > revision(&modified));
}

#[tokio::test]
async fn objects_enter_and_leave_a_selection() {
    let f = start().await;
    f.config_map("a", json!({})).await;
    let mut events = watch(&f.client, "labelSelector=on%3Dyes").await;
    let path = format!("{CONFIG_MAPS}/a");
    f.patch(&path, "merge", json!({ "metadata": { "labels": { "on": "yes" } } })).await;
    assert_eq!(short(&next(&mut events).await), pair("ADDED", "a"));
    f.patch(&path, "merge", json!({ "metadata": { "labels": { "on": null } } })).await;
    let left = next(&mut events).await;
    assert_eq!(short(&left), pair("DELETED", "a"));
    assert_eq!(left["object"]["metadata"]["labels"]["on"], "yes");
    f.delete(&path).await;
    f.config_map("b", json!({ "on": "yes" })).await;
    assert_eq!(short(&next(&mut events).await), pair("ADDED", "b"));
}

#[tokio::test]
async fn bookmarks_come_and_the_initial_state_is_announced() {
    let f = start_with(Options::default().bookmark_interval(Duration::from_millis(20))).await;
    f.config_map("a", json!({})).await;
    let query = "allowWatchBookmarks=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan";
    let mut events = watch(&f.client, query).await;
    assert_eq!(short(&next(&mut events).await), pair("ADDED", "a"));
    let end = next(&mut events).await;
    assert_eq!(end["type"], "BOOKMARK");
    assert_eq!(end["object"]["metadata"]["annotations"]["k8s.io/initial-events-end"], "true");
    let later = next(&mut events).await;
    assert_eq!((&later["type"], &later["object"]["kind"]), (&json!("BOOKMARK"), &json!("ConfigMap")));
    assert_eq!(later["object"]["metadata"].get("annotations"), None);
    let unmatched = f.get(&format!("{CONFIG_MAPS}?watch=true&sendInitialEvents=true")).await;
    assert_eq!(unmatched.0, 422);
}

#[tokio::test]
async fn a_watch_ends_in_time() {
    let f = start().await;
    let mut events = watch(&f.client, "timeoutSeconds=1").await;
    assert!(soon("the end of the watch", events.next()).await.is_none());
}

#[tokio::test]
async fn kube_runtime_follows_with_lists_and_with_streaming_lists() {
    let f = start().await;
    f.config_map("a", json!({})).await;
    for config in [watcher::Config::default(), watcher::Config::default().streaming_lists()] {
        let api: Api<ConfigMap> = Api::namespaced(f.client.clone(), "default");
        let mut stream = watcher(api, config).boxed();
        let mut seen = Vec::new();
        loop {
            match soon("a watcher event", stream.try_next()).await.unwrap().unwrap() {
                watcher::Event::InitApply(object) => seen.push(object.metadata.name.unwrap()),
                watcher::Event::InitDone => break,
                _ => {}
            }
        }
        assert_eq!(seen, ["a"]);
    }
}
