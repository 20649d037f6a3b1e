//! Which kinds are found, on the local cluster, when definitions come and go.

use boathook::discovery::{Discovery, DiscoveryError};
use boathook_cluster::{Cluster, Options};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::{
    Api, Client,
    api::{DeleteParams, PostParams},
};
use serde_json::json;

fn boats() -> CustomResourceDefinition {
    let schema = json!({"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}});
    serde_json::from_value(json!({
        "metadata": {"name": "boats.example.com"},
        "spec": {
            "group": "example.com", "scope": "Namespaced",
            "names": {"kind": "Boat", "plural": "boats", "singular": "boat", "listKind": "BoatList"},
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": schema}]
        }
    }))
    .unwrap()
}

#[tokio::test]
async fn news_of_a_group_make_it_be_asked_for_at_once() {
    let cluster = Cluster::start(Options::default()).await.unwrap();
    let client = Client::try_from(kube::Config::new(cluster.url().parse().unwrap())).unwrap();
    let crds: Api<CustomResourceDefinition> = Api::all(client.clone());
    let discovery = Discovery::new(client);
    let find = || discovery.find(Some("example.com/v1"), "boat");
    assert!(matches!(find().await, Err(DiscoveryError::Unknown { .. })));

    let mut changes = discovery.changes();
    crds.create(&PostParams::default(), &boats()).await.unwrap();
    let told = tokio::join!(changes.next(), discovery.invalidate(|group| group == "example.com"));
    let ((), ()) = told;
    assert_eq!(find().await.unwrap().plural, "boats");

    // What was found is remembered until there is reason to doubt it.
    crds.delete("boats.example.com", &DeleteParams::default()).await.unwrap();
    assert!(find().await.is_ok());
    discovery.invalidate(|group| group == "other.com").await;
    assert!(find().await.is_ok());
    discovery.invalidate(|group| group == "example.com").await;
    assert!(matches!(find().await, Err(DiscoveryError::Unknown { .. })));
}
