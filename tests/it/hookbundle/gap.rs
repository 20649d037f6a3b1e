//! A watch that goes on over a gap as if nothing had happened, as after a restore of etcd: what it does not tell is found
//! out by a list. And what the operator does not ask for while nothing happens.

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use axum::body::Body;
use boathook_operator::hookbundle::Lists;
use futures::{StreamExt as _, future};
use http_body_util::BodyExt as _;
use kube::Client;
use serde_json::json;
use tokio::sync::Notify;

use super::{
    definition::serve,
    desk::{desk, id},
    stage::{Stage, get},
};
use crate::support::{
    cluster::{TestCluster, client},
    until,
};

/// Lists as often.
pub fn often(every: Duration) -> Lists {
    Lists { every, confirm: every }
}

/// A client whose watches of HookBundles tell nothing during the gap, and end when they are cut.
fn told_nothing(url: &str, gap: &Arc<AtomicBool>, cut: &Arc<Notify>) -> Client {
    let (inner, gap, cut) = (client(url), gap.clone(), cut.clone());
    let send = move |request: http::Request<kube::client::Body>| {
        let (inner, gap, cut, uri) = (inner.clone(), gap.clone(), cut.clone(), request.uri().clone());
        let watches = uri.path().ends_with("/hookbundles") && uri.query().is_some_and(|query| query.contains("watch="));
        async move {
            let (head, body) = inner.send(request).await?.into_parts();
            let told = body.into_data_stream();
            let told = told.filter(move |_| future::ready(!(watches && gap.load(Ordering::SeqCst))));
            let told = told.take_until(Box::pin(async move {
                if watches {
                    cut.notified().await;
                } else {
                    future::pending::<()>().await;
                }
            }));
            Ok::<_, kube::Error>(http::Response::from_parts(head, Body::from_stream(told)))
        }
    };
    Client::new(tower::service_fn(send), "default")
}

// mutant: crates/operator/src/hookbundle/list.rs: `unreported.send_replace(Some(gone));` => `drop::<Vec<BundleId>>(gone);`
#[tokio::test]
async fn what_the_watch_of_hook_bundles_does_not_tell_is_found_out_by_a_list() {
    let (stage, desk, gap) = (Stage::new().await, desk(), Arc::new(AtomicBool::new(false)));
    for name in ["changed", "gone", "new"] {
        stage.push(name, "configmaps").await;
    }
    let client = told_nothing(&stage.cluster.cluster.url(), &gap, &Arc::default());
    let _keeping = stage.keep_by(client, desk.clone(), often(Duration::from_millis(500)));
    for name in ["changed", "gone"] {
        stage.bundle(name, json!({"grants": [get("configmaps")]})).await;
        stage.condition(name, "Ready=True/HooksReady").await;
    }

    gap.store(true, Ordering::SeqCst);
    stage.change("changed", json!({"grants": [get("configmaps"), get("secrets")]})).await;
    stage.bundle("new", json!({"grants": [get("configmaps")]})).await;
    // In a snapshot from before it was made, there is nothing of it.
    let finalizers = json!({"apiVersion": "boathook.dev/v1alpha1", "kind": "HookBundle",
        "metadata": {"name": "gone", "namespace": "team", "finalizers": []}});
    stage.cluster.admin.apply(&finalizers).await.unwrap();
    stage.delete("gone").await;
    assert_eq!(stage.get("gone").await, None);

    let granted = |name: &str| desk.has(&id(name)).and_then(|bundle| bundle.grants).map(|grants| grants.len());
    until("what changed counts", async || (granted("changed") == Some(2)).then_some(())).await;
    until("what is gone is removed", async || granted("gone").is_none().then_some(())).await;
    until("what is new is at work", async || (granted("new") == Some(1)).then_some(())).await;
    assert!(desk.log().contains(&"remove team/gone".to_owned()), "{:?}", desk.log());
}

/// An operator with nothing to do sends no lists. A restore breaks the watch.
// mutant: crates/operator/src/hookbundle/list.rs: `self.broke.notify_one();` => ``
#[tokio::test]
async fn a_watch_that_breaks_is_followed_by_a_list() {
    let (stage, desk) = (Stage::new().await, desk());
    let (gap, cut) = (Arc::new(AtomicBool::new(false)), Arc::new(Notify::new()));
    stage.push("changed", "configmaps").await;
    let client = told_nothing(&stage.cluster.cluster.url(), &gap, &cut);
    let lists = Lists { every: Duration::from_secs(3_600), confirm: Duration::from_millis(500) };
    let _keeping = stage.keep_by(client, desk.clone(), lists);
    stage.bundle("changed", json!({"grants": [get("configmaps")]})).await;
    stage.condition("changed", "Ready=True/HooksReady").await;
    gap.store(true, Ordering::SeqCst);
    stage.change("changed", json!({"grants": [get("configmaps"), get("secrets")]})).await;
    let granted = || desk.has(&id("changed")).and_then(|bundle| bundle.grants).map(|grants| grants.len());
    assert_eq!(granted(), Some(1));
    cut.notify_waiters();
    until("what changed counts", async || (granted() == Some(2)).then_some(())).await;
}

/// A cluster without HookBundles is asked once, and not again and again.
#[tokio::test]
async fn the_definition_of_hook_bundles_is_waited_for_by_a_watch() {
    let (stage, desk) = (Stage::on(TestCluster::start().await).await, desk());
    let (inner, asked) = (client(&stage.cluster.cluster.url()), Arc::new(Mutex::new(Vec::new())));
    let noted = asked.clone();
    let send = move |request: http::Request<kube::client::Body>| {
        noted.lock().unwrap().push(request.uri().to_string());
        let inner = inner.clone();
        async move { inner.send(request).await }
    };
    let recorded = Client::new(tower::service_fn(send), "default");
    let _keeping = stage.keep_by(recorded, desk.clone(), Lists::default());
    let count = |is: fn(&str) -> bool| asked.lock().unwrap().iter().filter(|uri| is(uri)).count();
    let watches = |uri: &str| {
        uri.contains("/customresourcedefinitions?")
            && uri.contains("watch=")
            && uri.contains("hookbundles.boathook.dev")
    };
    until("it watches the definition", async || (count(watches) == 1).then_some(())).await;
    assert_eq!(count(|uri| uri.ends_with("/apis/boathook.dev/v1alpha1")), 1);
    serve(&stage.cluster).await;
    stage.bundle("late", json!({"suspend": true})).await;
    stage.condition("late", "Suspended=True").await;
}
