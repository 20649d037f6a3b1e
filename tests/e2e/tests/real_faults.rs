//! Faults of the control plane itself, and those that take so long that one backend has to do.
//! Each test makes sure that its fault took place.

use std::sync::Arc;
use std::time::Duration;

use futures::TryStreamExt;
use kube::api::{ListParams, WatchEvent, WatchParams};
use serde_json::Value;

use crate::faults::{SOME, behind_proxy, goes_on};
use crate::harness::{Cluster, Needs, Test, last};
use crate::ledger::{self, NAME, settled, settled_within};
use crate::outages::is_alive;
pub use crate::webhook_restarts::api_server_starts_alone;

/// The API server is really gone. Its first moments without the operator, and its last before, are busy.
pub async fn api_server_away_for_20_seconds(test: Arc<Test>) {
    let cluster = test.own_cluster().await;
    let (mut proxy, operator, mut objects) = behind_proxy(&test, &cluster).await;

    // What the hook is at when the server goes has to be done later.
    objects.rounds(SOME).await;
    cluster.stop().await;
    last(Duration::from_secs(20)).await;
    is_alive(&operator).await;
    proxy.cut();
    cluster.start_again().await;
    objects.rounds(SOME).await;
    proxy.open();

    goes_on(&cluster, operator, objects).await;
}

/// etcd has forgotten the history that the operator would go on from.
pub async fn history_compacted(test: Arc<Test>) {
    let cluster = test.own_cluster_with(Needs { no_watch_cache: true, ..Needs::default() }).await;
    let (mut proxy, operator, mut objects) = behind_proxy(&test, &cluster).await;
    let version = version(&cluster).await;

    proxy.cut();
    objects.rounds(SOME).await;
    cluster.compact().await;
    is_forgotten(&cluster, &version).await;
    proxy.open();
    operator.logs("that history was lost", |line| line["kind"] == "expired").await;
    settled(&cluster.client, NAME).await;

    // And again, while it is still catching up.
    for _ in 0..5 {
        proxy.cut();
        objects.rounds(3).await;
        cluster.compact().await;
        proxy.open();
        objects.rounds(1).await;
    }
    goes_on(&cluster, operator, objects).await;
}

/// Connections that stay open and carry nothing: only the silence tells, after a minute and a half.
pub async fn connections_frozen(test: Arc<Test>) {
    let cluster = test.own_cluster().await;
    let (proxy, operator, mut objects) = behind_proxy(&test, &cluster).await;

    proxy.freeze();
    objects.rounds(SOME).await;
    settled_within(Duration::from_secs(150), &cluster.client, NAME).await;
    let is_reported = |line: &Value| line["message"].as_str().is_some_and(|text| text.contains("silent"));
    assert!(operator.log().iter().any(is_reported), "the operator says that a watch was silent");
    goes_on(&cluster, operator, objects).await;
}

async fn version(cluster: &Cluster) -> String {
    let list = ledger::api(&cluster.client).list(&ListParams::default()).await.expect("list ConfigMaps");
    list.metadata.resource_version.expect("a list has a version")
}

/// Makes sure that the server answers 410 for this version.
async fn is_forgotten(cluster: &Cluster, version: &str) {
    let api = ledger::api(&cluster.client);
    let code = match api.watch(&WatchParams::default(), version).await {
        Err(kube::Error::Api(status)) => status.code,
        Err(error) => panic!("watch: {error}"),
        Ok(events) => match std::pin::pin!(events).try_next().await.expect("a line of a watch") {
            Some(WatchEvent::Error(status)) => status.code,
            other => panic!("a watch from the past begins with {other:?}"),
        },
    };
    assert_eq!(code, 410, "the answer to a watch from the past");
}
