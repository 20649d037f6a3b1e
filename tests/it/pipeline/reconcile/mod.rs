//! Reconcile hooks on the local cluster: a custom resource becomes objects and a status.
//!
//! | file | content |
//! | --- | --- |
//! | `hello` | the example |
//! | `behavior` | what becomes of an answer, and when the hook is asked |
//! | `pace` | what the hook is not asked before, and not more often than |
//! | `writes` | how much is written: nothing while nothing changes, and less in a fight |
//! | `adopts` | objects that exist before they are children, and objects that own each other |
//! | `refused` | answers that cannot be, and parents that cannot have a status |
//! | `crashes` | an operator that dies between any two writes |
//! | `claims` | two hooks for one kind |
//! | `decorates` | objects that are attached to those of others |
//! | `finalize` | hooks that undo something before their parents end |
//! | `related` | what parents refer to, and the Events of answers |
//! | `tenants` | hooks of a tenant's bundle |

mod adopts;
mod behavior;
mod claims;
pub mod crashes;
mod decorates;
mod finalize;
mod hello;
mod pace;
mod refused;
mod related;
mod tenants;
mod writes;

use serde_json::{Value, json};

use super::fixture::{Operator, Pipeline, guests};
use crate::support::{cluster::TestCluster, until};

/// The definition of the example's custom resource.
const HELLO: &str = include_str!("../../../../hooks-wasm/hello-app/crd.yaml");

/// A definition of the guest `wish`, whose objects may have any `spec` and `status`.
fn definition(kind: &str) -> Value {
    let text = match kind {
        "Wish" => include_str!("../../../../hooks-wasm/test/wish/wishes.yaml"),
        _ => include_str!("../../../../hooks-wasm/test/wish/clusterwishes.yaml"),
    };
    yaml_serde::from_str(text).unwrap()
}

/// A cluster that serves the kinds of the guest `wish`.
pub async fn cluster() -> TestCluster {
    let cluster = TestCluster::start().await;
    for kind in ["Wish", "ClusterWish"] {
        cluster.admin.create(&definition(kind)).await.unwrap();
    }
    cluster
}

async fn start() -> Pipeline {
    let pipeline = Pipeline::on(cluster().await, &guests(["wish"]), |_| ()).await;
    pipeline.operator.ready().await;
    pipeline
}

fn wish(name: &str, spec: Value) -> Value {
    let metadata = json!({"name": name, "namespace": "default"});
    json!({"apiVersion": "example.com/v1", "kind": "Wish", "metadata": metadata, "spec": spec})
}

fn cluster_wish(name: &str, spec: Value) -> Value {
    json!({"apiVersion": "example.com/v1", "kind": "ClusterWish", "metadata": {"name": name}, "spec": spec})
}

/// How often the hook `wish` was asked about a parent.
fn asked(operator: &Operator, parent: &str) -> usize {
    operator.log.said("wish").iter().filter(|said| *said == parent).count()
}

/// A child without a namespace.
fn child(name: &str, value: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"value": value}})
}

fn in_wave(name: &str, wave: &str) -> Value {
    let mut child = child(name, "1");
    child["metadata"]["annotations"] = json!({"boathook.dev/wave": wave});
    child
}

/// The reference of a ConfigMap in a namespace.
fn map_in(namespace: &str, name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": namespace}})
}

fn map(name: &str) -> Value {
    map_in("default", name)
}

/// A condition of an object.
fn condition<'v>(object: &'v Value, name: &str) -> Option<&'v Value> {
    object["status"]["conditions"].as_array()?.iter().find(|condition| condition["type"] == name)
}

/// Waits until a condition of a parent has this status and reason. Returns its message.
async fn told(cluster: &TestCluster, parent: &Value, name: &str, status: &str, reason: &str) -> String {
    let mut last = Value::Null;
    let what = format!("{} has {name}={status} because of {reason}", parent["metadata"]["name"]);
    let found = until(&what, async || {
        last = cluster.admin.get(parent).await.unwrap()?;
        let found = condition(&last, name)?;
        (found["status"] == status && found["reason"] == reason).then(|| found["message"].as_str().unwrap().to_owned())
    });
    found.await
}

/// Waits until a parent of this generation is as desired.
async fn current(cluster: &TestCluster, parent: &Value, generation: i64) -> Value {
    until("the parent is as desired", async || {
        let found = cluster.admin.get(parent).await.unwrap()?;
        let ready = condition(&found, "Ready")?;
        let is_new = ready["observedGeneration"] == generation && found["status"]["observedGeneration"] == generation;
        (is_new && ready["status"] == "True").then_some(found)
    })
    .await
}

async fn gone(cluster: &TestCluster, object: &Value) {
    until(&format!("{} is gone", object["metadata"]["name"]), async || {
        cluster.admin.get(object).await.unwrap().is_none().then_some(())
    })
    .await;
}

async fn there(cluster: &TestCluster, object: &Value) -> Value {
    until(&format!("{} is there", object["metadata"]["name"]), async || cluster.admin.get(object).await.unwrap()).await
}
