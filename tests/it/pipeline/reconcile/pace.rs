//! When the hook is asked: not before the watch has shown what was written, not sooner than the back-off, and again at `resync`.

use std::{sync::Arc, time::Instant};

use axum::body::Body;
use futures::StreamExt as _;
use http_body_util::BodyExt as _;
use kube::Client;
use serde_json::{Value, json};
use tokio::sync::watch;

use super::{adopts, asked, child, cluster, cluster_wish, current, map, start, there, told, wish};
use crate::{
    pipeline::fixture::{Operator, guests},
    support::{cluster::client, until},
};

/// A client whose watches of ConfigMaps show nothing while they are held.
fn late(url: &str, held: &Arc<watch::Sender<bool>>) -> Client {
    let (inner, held) = (client(url), held.clone());
    let send = move |request: http::Request<kube::client::Body>| {
        let (inner, held, uri) = (inner.clone(), held.clone(), request.uri().clone());
        let watches = uri.path().ends_with("/configmaps") && uri.query().is_some_and(|query| query.contains("watch="));
        async move {
            let (head, body) = inner.send(request).await?.into_parts();
            let shown = body.into_data_stream().then(move |part| {
                let mut held = held.subscribe();
                async move {
                    if watches {
                        let _released = held.wait_for(|held| !held).await;
                    }
                    part
                }
            });
            Ok::<_, kube::Error>(http::Response::from_parts(head, Body::from_stream(shown)))
        }
    };
    Client::new(tower::service_fn(send), "default")
}

/// Otherwise, it would decide from a state that it has changed since.
// mutant: crates/operator/src/app/reconcile/mod.rs: `if let Some(until) = entry.own_writes_until(Instant::now()) {` => `if let Some(until) = entry.own_writes_until(Instant::now()).filter(|_| false) {`
#[tokio::test]
async fn the_hook_is_not_asked_before_the_watch_has_shown_what_was_written() {
    let (cluster, held) = (cluster().await, Arc::new(watch::Sender::new(false)));
    let operator = Operator::start(late(&cluster.cluster.url(), &held), &guests(["wish"]), |_| ()).await;
    operator.ready().await;
    held.send_replace(true);
    let parent = wish("web", json!({"children": [child("a", "1")]}));
    cluster.admin.create(&parent).await.unwrap();
    there(&cluster, &map("a")).await;
    let runs = |operator: &Operator| operator.log.told("run succeeded").len();
    for n in 1..=3 {
        let before = runs(&operator);
        cluster.admin.apply(&wish("web", json!({"status": {"x": n}}))).await.unwrap();
        operator.until("a run has seen the change", |operator| (runs(operator) > before).then_some(())).await;
    }
    assert_eq!(asked(&operator, "web"), 1, "it would have been told that it has no child");
    held.send_replace(false);
    let found = until("the hook is asked about the change", async || {
        let found = cluster.admin.get(&parent).await.unwrap()?;
        (found["status"]["x"] == 3).then_some(found)
    })
    .await;
    assert_eq!(found["status"]["seen"], json!(["a"]));
}

#[tokio::test]
async fn no_event_shortens_the_back_off_of_a_parent_that_fails() {
    let pipeline = start().await;
    let parent = wish("web", json!({"children": [child("a", "1")]}));
    pipeline.create(parent.clone()).await;
    current(&pipeline.cluster, &parent, 1).await;
    pipeline.apply(wish("web", json!({"fail": "retry"}))).await;
    told(&pipeline.cluster, &parent, "Reconciling", "True", "HookFailed").await;
    let (before, started) = (asked(&pipeline.operator, "web"), Instant::now());
    for n in 0..40 {
        let mut changed = map("a");
        changed["data"] = json!({"value": format!("theirs {n}")});
        pipeline.apply(changed).await;
    }
    let calls = asked(&pipeline.operator, "web") - before;
    // The hook's document says 200 ms at least.
    let most = 2 + started.elapsed().as_millis() / 200;
    assert!(calls as u128 <= most, "{calls} calls, and not more than {most}");
}

// mutant: crates/operator/src/app/reconcile/mod.rs: `let at = [at, requeue, resync].into_iter().flatten().min();` => `let at = [at, requeue].into_iter().flatten().min();`
#[tokio::test]
async fn resync_asks_again_although_nothing_changed() {
    let pipeline = adopts::start().await;
    let mut far = child("far", "1");
    far["metadata"]["namespace"] = json!("kube-public");
    let (all, one) =
        (cluster_wish("all", json!({"children": [far]})), wish("one", json!({"children": [child("a", "1")]})));
    for parent in [&all, &one] {
        pipeline.create(parent.clone()).await;
        current(&pipeline.cluster, parent, 1).await;
    }
    let asked =
        |operator: &Operator, name: &str| operator.log.said("adopt").iter().filter(|said| *said == name).count();
    let before = asked(&pipeline.operator, "all");
    // More often than events of this parent can be the reason.
    pipeline.operator.until("it is asked again", |operator| (asked(operator, "all") > before + 5).then_some(())).await;
    let version = |found: Value| found["metadata"]["resourceVersion"].clone();
    let found = pipeline.get(all.clone()).await.unwrap();
    assert!(asked(&pipeline.operator, "one") < 6, "its binding has no resync");
    let before = asked(&pipeline.operator, "all");
    pipeline.operator.until("it is asked again", |operator| (asked(operator, "all") > before).then_some(())).await;
    assert_eq!(version(pipeline.get(all).await.unwrap()), version(found), "nothing is written because of it");
}
