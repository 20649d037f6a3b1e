//! Kinds that come and go while they are followed.

use std::{sync::Arc, time::Duration};

use boathook_cluster::{Cluster, Options};
use boathook_core::model::Resource;
use boathook_kube::watch::{Selection, StreamConfig, StreamState, Streams, WatchErrorKind};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::{
    Api, Client,
    api::{DeleteParams, DynamicObject, PostParams},
    core::{ApiResource, GroupVersionKind},
};
use serde_json::json;

use super::{
    follower::Follower,
    gate::Gate,
    recorder::{Recorder, Report},
    scripted::Scripted,
};

struct Harbour {
    _cluster: Cluster,
    gate: Gate,
    client: Client,
    recorder: Arc<Recorder>,
    streams: Streams,
}

fn client(address: std::net::SocketAddr) -> Client {
    let mut config = kube::Config::new(format!("http://{address}").parse().unwrap());
    config.default_retry = false;
    Client::try_from(config).unwrap()
}

async fn harbour(config: StreamConfig) -> Harbour {
    let cluster = Cluster::start(Options::default()).await.unwrap();
    let gate = Gate::before(cluster.address()).await;
    let recorder = Recorder::new();
    let streams = Streams::new(client(gate.address), config, recorder.clone());
    Harbour { client: client(cluster.address()), _cluster: cluster, gate, recorder, streams }
}

fn quick() -> StreamConfig {
    StreamConfig {
        backoff_initial: Duration::from_millis(10),
        backoff_max: Duration::from_millis(100),
        ..StreamConfig::default()
    }
}

/// Requests the kind again only when the test demands it.
fn patient() -> StreamConfig {
    StreamConfig { backoff_initial: Duration::from_millis(50), backoff_max: Duration::from_secs(3600), ..quick() }
}

fn boats(version: &str) -> Selection {
    Selection::of(Resource::of(&format!("example.com/{version}"), "Boat", "boats", true).into())
}

impl Harbour {
    async fn define(&self, version: &str) {
        let schema = json!({"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}});
        let crd: CustomResourceDefinition = serde_json::from_value(json!({
            "metadata": {"name": "boats.example.com"},
            "spec": {
                "group": "example.com", "scope": "Namespaced",
                "names": {"kind": "Boat", "plural": "boats", "singular": "boat", "listKind": "BoatList"},
                "versions": [{"name": version, "served": true, "storage": true, "schema": schema}]
            }
        }))
        .unwrap();
        let crds: Api<CustomResourceDefinition> = Api::all(self.client.clone());
        crds.create(&PostParams::default(), &crd).await.unwrap();
    }

    async fn undefine(&self) {
        let crds: Api<CustomResourceDefinition> = Api::all(self.client.clone());
        crds.delete("boats.example.com", &DeleteParams::default()).await.unwrap();
    }

    async fn launch(&self, version: &str, name: &str) {
        let kind = ApiResource::from_gvk(&GroupVersionKind::gvk("example.com", version, "Boat"));
        let api: Api<DynamicObject> = Api::namespaced_with(self.client.clone(), "default", &kind);
        api.create(&PostParams::default(), &DynamicObject::new(name, &kind)).await.unwrap();
    }

    /// Follows boats until it knows of `a`.
    async fn follow(&self, version: &str) -> Follower {
        self.define(version).await;
        self.launch(version, "a").await;
        let mut follower = Follower::new(self.streams.subscribe(boats(version)));
        assert_eq!(follower.words(3).await, "[ +a ]");
        follower
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_kind_that_goes_takes_its_objects_along_and_comes_back_with_a_list() {
    let harbour = harbour(quick()).await;
    let mut follower = harbour.follow("v1").await;
    harbour.undefine().await;
    assert_eq!(follower.words(2).await, "-a !");
    let (text, _) = harbour.recorder.error(WatchErrorKind::NotFound).await;
    assert!(text.contains("404"), "{text}");
    harbour.define("v1").await;
    harbour.launch("v1", "b").await;
    follower.until(|follower| follower.names() == ["b"] && follower.lists == 2).await;
    assert_eq!(harbour.recorder.all().iter().filter(|report| **report == Report::Unserved).count(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_kind_that_goes_while_the_connection_is_down_is_noticed() {
    let harbour = harbour(quick()).await;
    let mut follower = harbour.follow("v1").await;
    harbour.gate.close();
    harbour.recorder.error(WatchErrorKind::Unavailable).await;
    harbour.undefine().await;
    harbour.gate.open();
    assert_eq!(follower.words(1).await, "!");
    assert!(follower.names().is_empty());
}

/// The watch must not go on in the new collection where it stood in the old one.
#[tokio::test(flavor = "multi_thread")]
async fn a_kind_that_goes_and_comes_back_while_the_connection_is_down_is_listed() {
    let harbour = harbour(quick()).await;
    let mut follower = harbour.follow("v1").await;
    harbour.gate.close();
    harbour.recorder.error(WatchErrorKind::Unavailable).await;
    harbour.undefine().await;
    harbour.define("v1").await;
    harbour.launch("v1", "b").await;
    harbour.gate.open();
    follower.until(|follower| follower.names() == ["b"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_kind_that_comes_back_in_another_version_stays_unserved_in_the_old_one() {
    let harbour = harbour(patient()).await;
    let mut old = harbour.follow("v1").await;
    harbour.undefine().await;
    assert_eq!(old.words(2).await, "-a !");
    harbour.define("v2").await;
    harbour.launch("v2", "b").await;
    let mut new = Follower::new(harbour.streams.subscribe(boats("v2")));
    assert_eq!(new.words(3).await, "[ +b ]");
    // A subscriber that joins the old one is notified at once, and the others are not notified again.
    let mut late = Follower::new(harbour.streams.subscribe(boats("v1")));
    assert_eq!(late.words(1).await, "!");
    assert!(old.is_idle());
    let states: Vec<_> = harbour.streams.stats().into_iter().map(|stats| stats.state).collect();
    assert!(states.contains(&StreamState::Unserved) && states.contains(&StreamState::Watching), "{states:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unserved_kind_is_asked_for_again_on_request() {
    let harbour = harbour(patient()).await;
    let mut follower = Follower::new(harbour.streams.subscribe(boats("v1")));
    assert_eq!(follower.words(1).await, "!");
    harbour.define("v1").await;
    // The next try by itself may be an hour away by then.
    let asked = async {
        loop {
            harbour.streams.retry_unserved();
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::select! {
        () = follower.until_listed() => {}
        () = asked => {}
    }
}

#[tokio::test]
async fn a_namespace_that_is_missing_is_no_missing_kind() {
    let mut server = Scripted::start().await;
    let recorder = Recorder::new();
    let config = StreamConfig { streaming_lists: false, ..quick() };
    let streams = Streams::new(server.client(), config, recorder.clone());
    let mut follower = Follower::new(streams.subscribe(boats("v1")));
    let status =
        json!({"kind": "Status", "reason": "NotFound", "code": 404, "details": {"kind": "namespaces", "name": "n"}});
    server.next().await.answer(404, status.to_string());
    recorder.error(WatchErrorKind::NotFound).await;
    server.next().await.page("5", &["a"], None);
    assert_eq!(follower.words(3).await, "[ +a ]");
}
