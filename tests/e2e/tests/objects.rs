//! The objects that tests make and change, with typed kube-rs calls.
//! It never waits, and it fails when the API server does.

use std::fmt::Debug;

use k8s_openapi::api::core::v1::{Namespace, Node, Secret};
use k8s_openapi::api::networking::v1::NetworkPolicy;
use kube::api::{Api, DeleteParams, ObjectMeta, Patch, PatchParams, PostParams};
use kube::{Client, ResourceExt};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

pub type Labels<'a> = &'a [(&'a str, &'a str)];

pub fn namespaces(client: &Client) -> Api<Namespace> {
    Api::all(client.clone())
}

pub fn nodes(client: &Client) -> Api<Node> {
    Api::all(client.clone())
}

pub fn secrets(client: &Client, namespace: &str) -> Api<Secret> {
    Api::namespaced(client.clone(), namespace)
}

pub fn policies(client: &Client, namespace: &str) -> Api<NetworkPolicy> {
    Api::namespaced(client.clone(), namespace)
}

pub fn meta(name: &str, labels: Labels<'_>) -> ObjectMeta {
    let labels = labels.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    ObjectMeta { name: Some(name.to_owned()), labels: Some(labels), ..ObjectMeta::default() }
}

pub async fn create_namespace(client: &Client, name: &str, labels: Labels<'_>) {
    let namespace = Namespace { metadata: meta(name, labels), ..Namespace::default() };
    let created = namespaces(client).create(&PostParams::default(), &namespace).await;
    created.unwrap_or_else(|error| panic!("create namespace {name}: {error}"));
}

/// Sets a label, or takes it away.
pub async fn label_namespace(client: &Client, name: &str, key: &str, value: Option<&str>) {
    let patch = json!({"metadata": {"labels": {key: value}}});
    merge(&namespaces(client), name, patch).await;
}

pub async fn merge<K>(api: &Api<K>, name: &str, patch: Value)
where
    K: Clone + Debug + DeserializeOwned,
{
    let patched = api.patch(name, &PatchParams::default(), &Patch::Merge(patch)).await;
    patched.unwrap_or_else(|error| panic!("patch {name}: {error}"));
}

pub async fn delete<K>(api: &Api<K>, name: &str)
where
    K: Clone + Debug + DeserializeOwned,
{
    let deleted = api.delete(name, &DeleteParams::default()).await;
    deleted.unwrap_or_else(|error| panic!("delete {name}: {error}"));
}

/// A label's value.
pub fn label<'a>(object: &'a impl kube::Resource, key: &str) -> Option<&'a str> {
    object.labels().get(key).map(String::as_str)
}
