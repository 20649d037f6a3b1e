//! Streams on the local cluster.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use boathook_cluster::{Cluster, Options};
use boathook_core::model::Resource;
use boathook_kube::watch::{Selection, StreamConfig, StreamState, Streams, WatchErrorKind};
use futures::{StreamExt, TryStreamExt, stream};
use k8s_openapi::{
    api::core::v1::{ConfigMap, Namespace},
    apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition,
};
use kube::{
    Api, Client,
    api::{DeleteParams, DynamicObject, Patch, PatchParams, PostParams},
};
use serde_json::json;

use super::{
    follower::{Follower, config_maps},
    recorder::{Recorder, Report},
};

struct Live {
    cluster: Cluster,
    client: Client,
    recorder: Arc<Recorder>,
    streams: Streams,
}

fn quick() -> StreamConfig {
    StreamConfig {
        backoff_initial: Duration::from_millis(10),
        backoff_max: Duration::from_millis(100),
        ..StreamConfig::default()
    }
}

async fn live(config: StreamConfig) -> Live {
    let cluster = Cluster::start(Options::default()).await.unwrap();
    let mut client_config = kube::Config::new(cluster.url().parse().unwrap());
    client_config.default_retry = false;
    let client = Client::try_from(client_config).unwrap();
    let recorder = Recorder::new();
    let streams = Streams::new(client.clone(), config, recorder.clone());
    Live { cluster, client, recorder, streams }
}

impl Live {
    fn api(&self) -> Api<ConfigMap> {
        Api::namespaced(self.client.clone(), "default")
    }

    async fn create(&self, name: &str) {
        self.api().create(&PostParams::default(), &config_map(name, 0)).await.unwrap();
    }

    async fn create_all(&self, count: usize) {
        let api = &self.api();
        stream::iter(0..count)
            .map(|n| async move { api.create(&PostParams::default(), &config_map(&format!("o{n:05}"), 0)).await })
            .buffer_unordered(16)
            .try_collect::<Vec<_>>()
            .await
            .unwrap();
    }

    async fn label(&self, name: &str, value: Option<&str>) {
        let patch = json!({"metadata": {"labels": {"app": value}}});
        self.api().patch(name, &PatchParams::default(), &Patch::Merge(patch)).await.unwrap();
    }

    async fn delete(&self, name: &str) {
        self.api().delete(name, &DeleteParams::default()).await.unwrap();
    }

    fn follow(&self, selection: Selection) -> Follower {
        Follower::new(self.streams.subscribe(selection))
    }

    /// Names and versions, by the server's own word.
    async fn truth(&self) -> BTreeMap<String, String> {
        let list = self.api().list(&Default::default()).await.unwrap();
        list.into_iter()
            .map(|object| (object.metadata.name.unwrap(), object.metadata.resource_version.unwrap()))
            .collect()
    }
}

fn config_map(name: &str, value: usize) -> ConfigMap {
    serde_json::from_value(json!({"metadata": {"name": name}, "data": {"value": value.to_string()}})).unwrap()
}

fn known(follower: &Follower) -> BTreeMap<String, String> {
    let version = |name: &str| follower.object(name).unwrap().resource_version.to_string();
    follower.names().into_iter().map(|name| (name.to_owned(), version(name))).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn many_objects_are_listed_both_ways() {
    for streaming_lists in [true, false] {
        let live = live(StreamConfig { streaming_lists, page_size: 100, ..quick() }).await;
        live.create_all(1050).await;
        let mut follower = live.follow(config_maps());
        follower.until_listed().await;
        assert_eq!(known(&follower), live.truth().await);
        let object = follower.object("o00007").unwrap();
        assert!(object.json.starts_with(r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"#), "{}", object.json);
        assert_eq!(object.key.to_string(), "default/o00007");
        live.create("last").await;
        follower.until(|follower| follower.object("last").is_some()).await;
        assert_eq!((live.recorder.all(), follower.lists), (vec![Report::List(1050)], 1));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn subscribers_share_a_stream_and_late_ones_lose_nothing() {
    let live = live(quick()).await;
    live.create_all(50).await;
    let (mut one, mut two) = (live.follow(config_maps()), live.follow(config_maps()));
    one.until_listed().await;
    two.until_listed().await;
    let writer = async {
        for n in 0..200 {
            live.create(&format!("more{n:03}")).await;
        }
        live.create("end").await;
    };
    let joiner = async {
        let mut late = live.follow(config_maps());
        late.until(|late| late.object("end").is_some() && late.lists == 1).await;
        late
    };
    let ((), late) = tokio::join!(writer, joiner);
    for follower in [&mut one, &mut two] {
        follower.until(|follower| follower.object("end").is_some()).await;
        assert_eq!(follower.lists, 1, "the late one's list is its own");
    }
    let truth = live.truth().await;
    assert_eq!(truth.len(), 251);
    assert_eq!((&known(&one), &known(&two), &known(&late)), (&truth, &truth, &truth));
    let stats = live.streams.stats();
    assert_eq!((stats.len(), stats[0].subscribers, stats[0].state), (1, 3, StreamState::Watching));
}

#[tokio::test(flavor = "multi_thread")]
async fn lost_connections_lose_no_change_and_cost_no_list() {
    let live = live(quick()).await;
    let mut follower = live.follow(config_maps());
    follower.until_listed().await;
    let writer = async {
        for n in 0..300 {
            live.create(&format!("o{n:03}")).await;
            if n % 3 == 0 {
                live.delete(&format!("o{n:03}")).await;
            }
            if n % 10 == 0 {
                live.cluster.disconnect_watches();
            }
        }
        live.create("end").await;
    };
    tokio::join!(writer, follower.until(|follower| follower.object("end").is_some()));
    assert_eq!(known(&follower), live.truth().await);
    assert_eq!(follower.lists, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn lost_history_is_made_good_by_a_list() {
    let live = live(quick()).await;
    live.create_all(10).await;
    let mut follower = live.follow(config_maps());
    follower.until_listed().await;
    // Something else happens, so that the watch's version is older than all history.
    let namespaces: Api<Namespace> = Api::all(live.client.clone());
    let namespace = serde_json::from_value(json!({"metadata": {"name": "other"}})).unwrap();
    namespaces.create(&PostParams::default(), &namespace).await.unwrap();
    live.cluster.compact();
    live.cluster.disconnect_watches();
    follower.until_listed().await;
    live.recorder.error(WatchErrorKind::Expired).await;
    live.delete("o00003").await;
    follower.until(|follower| follower.object("o00003").is_none()).await;
    assert_eq!(known(&follower), live.truth().await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lagging_subscriber_catches_up() {
    let live = live(StreamConfig { capacity: 8, grace: Duration::from_millis(300), ..quick() }).await;
    let (mut slow, mut prompt) = (live.follow(config_maps()), live.follow(config_maps()));
    slow.until_listed().await;
    prompt.until_listed().await;
    tokio::join!(live.create_all(100), prompt.until(|follower| follower.names().len() == 100));
    live.delete("o00000").await;
    prompt.until(|follower| follower.names().len() == 99).await;
    live.recorder.wait_for(|report| *report == Report::Lagging).await;
    slow.until_listed().await;
    let truth = live.truth().await;
    assert_eq!((&known(&slow), &known(&prompt)), (&truth, &truth));
}

#[tokio::test(flavor = "multi_thread")]
async fn selectors_choose_and_follow_labels() {
    let live = live(quick()).await;
    live.create_all(3).await;
    live.label("o00001", Some("web")).await;
    let labelled = Selection { label_selector: Some("app in (web,api)".into()), ..config_maps() };
    let named = Selection {
        namespace: Some("default".into()),
        field_selector: Some("metadata.name=o00002".into()),
        ..config_maps()
    };
    let elsewhere = Selection { namespace: Some("kube-system".into()), ..config_maps() };
    let (mut labelled, mut named, mut elsewhere) = (live.follow(labelled), live.follow(named), live.follow(elsewhere));
    for follower in [&mut labelled, &mut named, &mut elsewhere] {
        follower.until_listed().await;
    }
    assert_eq!((labelled.names(), named.names(), elsewhere.names()), (vec!["o00001"], vec!["o00002"], vec![]));
    live.label("o00000", Some("api")).await;
    live.label("o00001", Some("db")).await;
    live.label("o00002", None).await;
    assert_eq!(labelled.words(2).await, "+o00000 -o00001");
    live.delete("o00002").await;
    named.until(|follower| follower.names().is_empty()).await;
    assert_eq!(live.streams.stats().len(), 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn metadata_alone_comes_as_objects_of_the_kind() {
    for streaming_lists in [true, false] {
        let live = live(StreamConfig { streaming_lists, ..quick() }).await;
        live.create("listed").await;
        let mut follower = live.follow(Selection { metadata_only: true, ..config_maps() });
        follower.until_listed().await;
        live.create("watched").await;
        live.cluster.disconnect_watches();
        live.create("resumed").await;
        follower.until(|follower| follower.names().len() == 3).await;
        for name in ["listed", "watched", "resumed"] {
            let object = follower.object(name).unwrap();
            let json: serde_json::Value = serde_json::from_str(&object.json).unwrap();
            let keys: Vec<_> = json.as_object().unwrap().keys().collect();
            assert_eq!(keys, ["apiVersion", "kind", "metadata"]);
            assert_eq!((&json["apiVersion"], &json["kind"]), (&json!("v1"), &json!("ConfigMap")));
            assert_eq!(json["metadata"]["uid"], json!(&*object.uid));
        }
        live.delete("listed").await;
        follower.until(|follower| follower.object("listed").is_none()).await;
        assert_eq!(follower.lists, 1);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_kind_that_comes_later_is_found() {
    let live = live(quick()).await;
    let resource = Resource::of("example.com/v1", "Boat", "boats", true);
    let mut follower = live.follow(Selection { resource: resource.into(), ..config_maps() });
    live.recorder.error(WatchErrorKind::NotFound).await;
    let crd: CustomResourceDefinition = serde_json::from_value(json!({
        "metadata": {"name": "boats.example.com"},
        "spec": {
            "group": "example.com", "scope": "Namespaced",
            "names": {"kind": "Boat", "plural": "boats", "singular": "boat", "listKind": "BoatList"},
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema":
                {"type": "object", "x-kubernetes-preserve-unknown-fields": true}}}]
        }
    }))
    .unwrap();
    let crds: Api<CustomResourceDefinition> = Api::all(live.client.clone());
    crds.create(&PostParams::default(), &crd).await.unwrap();
    follower.until_listed().await;
    let kind = kube::core::ApiResource::from_gvk(&kube::core::GroupVersionKind::gvk("example.com", "v1", "Boat"));
    let boats: Api<DynamicObject> = Api::namespaced_with(live.client.clone(), "default", &kind);
    boats.create(&PostParams::default(), &DynamicObject::new("a", &kind)).await.unwrap();
    assert_eq!(follower.words(1).await, "+a");
}
