//! A watch that goes on over a gap as if nothing had happened, as after a restore of etcd: what it does not tell is found
//! out by a list.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use axum::body::Body;
use futures::{StreamExt as _, future};
use http_body_util::BodyExt as _;
use kube::Client;
use serde_json::json;

use super::{
    desk::{desk, id},
    stage::{Stage, get},
};
use crate::support::{cluster::client, until};

/// A client whose watches of HookBundles tell nothing during the gap.
fn told_nothing(url: &str, gap: Arc<AtomicBool>) -> Client {
    let inner = client(url);
    let send = move |request: http::Request<kube::client::Body>| {
        let (inner, gap, uri) = (inner.clone(), gap.clone(), request.uri().clone());
        let watches = uri.path().ends_with("/hookbundles") && uri.query().is_some_and(|query| query.contains("watch="));
        async move {
            let (head, body) = inner.send(request).await?.into_parts();
            let told = body.into_data_stream();
            let told = told.filter(move |_| future::ready(!(watches && gap.load(Ordering::SeqCst))));
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
    let client = told_nothing(&stage.cluster.cluster.url(), gap.clone());
    let _keeping = stage.keep_by(client, desk.clone(), Duration::from_millis(500));
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
