//! Create, read, list, watch and delete through kube-rs.

use boathook_cluster::Cluster;
use futures::StreamExt;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{DeleteParams, ListParams, PostParams, WatchEvent, WatchParams};
use kube::{Api, Client};
use serde_json::json;

async fn start() -> (Cluster, Client) {
    let cluster = Cluster::start(Default::default()).await.unwrap();
    let config = kube::Config::new(cluster.url().parse().unwrap());
    (cluster, Client::try_from(config).unwrap())
}

fn config_map(name: &str) -> ConfigMap {
    serde_json::from_value(json!({ "metadata": { "name": name }, "data": { "a": "1" } })).unwrap()
}

#[tokio::test]
async fn an_object_lives_and_dies() {
    let (_cluster, client) = start().await;
    let api: Api<ConfigMap> = Api::namespaced(client, "default");
    let made = api
        .create(&PostParams::default(), &config_map("x"))
        .await
        .unwrap();
    assert!(made.metadata.uid.is_some());
    let list = api.list(&ListParams::default()).await.unwrap();
    assert_eq!(list.items, [made.clone()]);
    let since = list.metadata.resource_version.unwrap();
    let mut watch = api
        .watch(&WatchParams::default(), &since)
        .await
        .unwrap()
        .boxed();
    api.delete("x", &DeleteParams::default()).await.unwrap();
    match watch.next().await.unwrap().unwrap() {
        WatchEvent::Deleted(gone) => assert_eq!(gone.metadata.uid, made.metadata.uid),
        other => panic!("{other:?}"),
    }
    let error = api.get("x").await.unwrap_err();
    assert!(
        matches!(error, kube::Error::Api(status) if status.code == 404 && status.message == "configmaps \"x\" not found")
    );
}
