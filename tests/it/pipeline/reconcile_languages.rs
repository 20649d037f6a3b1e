//! The reconcile hook in other languages makes what the one in Rust makes.

use serde_json::{Value, json};

use super::fixture::Pipeline;
use crate::{
    sandbox::support::{load, sandbox},
    support::{
        cluster::TestCluster,
        guests::{go_guest, guest},
        until,
    },
};

const CRD: &str = include_str!("../../../hooks-wasm/hello-app/crd.yaml");
const SIZE: u32 = 2;

fn object(api_version: &str, kind: &str) -> Value {
    json!({"apiVersion": api_version, "kind": kind, "metadata": {"name": "web", "namespace": "default"}})
}

fn app() -> Value {
    let mut app = object("example.com/v1alpha1", "HelloApp");
    app["spec"] = json!({"image": "example.com/web:1", "size": SIZE});
    app
}

/// What a Deployment's controller writes when all replicas are ready.
async fn all_replicas_become_ready(pipeline: &Pipeline) {
    let progressing = json!({"type": "Progressing", "status": "True", "reason": "NewReplicaSetAvailable"});
    let status = json!({"status": {
        "observedGeneration": 1, "replicas": SIZE, "updatedReplicas": SIZE, "readyReplicas": SIZE, "availableReplicas": SIZE,
        "conditions": [{"type": "Available", "status": "True"}, progressing],
    }});
    let request = http::Request::patch("/apis/apps/v1/namespaces/default/deployments/web/status")
        .header("content-type", "application/merge-patch+json")
        .body(status.to_string().into_bytes());
    let _: Value = pipeline.cluster.admin.client.request(request.unwrap()).await.unwrap();
}

fn ready(parent: &Value) -> Option<&Value> {
    parent["status"]["conditions"].as_array()?.iter().find(|condition| condition["type"] == "Ready")
}

/// Without what differs each time.
fn lasting(object: &Value) -> Value {
    json!({"labels": object["metadata"]["labels"], "spec": object["spec"]})
}

/// The objects that the hook made of a HelloApp, and its status when they are ready.
async fn made(component: Vec<u8>) -> Value {
    let cluster = TestCluster::start().await;
    cluster.admin.create(&yaml_serde::from_str(CRD).unwrap()).await.unwrap();
    let pipeline = Pipeline::on(cluster, &[("hello-app", component)], |_| ()).await;
    pipeline.operator.ready().await;
    pipeline.create(app()).await;
    let deployment = until("the Deployment exists", async || pipeline.get(object("apps/v1", "Deployment")).await).await;
    let service = until("the Service exists", async || pipeline.get(object("v1", "Service")).await).await;
    assert_eq!(deployment["metadata"]["ownerReferences"][0]["kind"], "HelloApp");
    all_replicas_become_ready(&pipeline).await;
    let parent = until("the HelloApp is ready", async || {
        pipeline.get(app()).await.filter(|parent| ready(parent).is_some_and(|ready| ready["reason"] == "Replicas"))
    })
    .await;
    let mut conditions = parent["status"]["conditions"].clone();
    for condition in conditions.as_array_mut().unwrap() {
        condition.as_object_mut().unwrap().remove("lastTransitionTime");
    }
    // The cluster assigns the address.
    let mut service = lasting(&service);
    for address in ["clusterIP", "clusterIPs"] {
        service["spec"].as_object_mut().unwrap().remove(address);
    }
    json!({
        "deployment": lasting(&deployment), "service": service,
        "readyReplicas": parent["status"]["readyReplicas"], "conditions": conditions,
    })
}

#[tokio::test]
async fn hello_app_in_go_makes_what_the_one_in_rust_makes() {
    let Some(component) = go_guest("hello-app") else { return };
    let by_go = made(component).await;
    assert_eq!(by_go["readyReplicas"], SIZE, "{by_go}");
    assert_eq!(by_go["deployment"]["spec"]["replicas"], SIZE, "{by_go}");
    assert_eq!(by_go, made(guest("hello-app")).await);
}

/// What the types of the hooks in Rust and Go make is `crd.yaml`, and the cluster takes it.
#[tokio::test]
async fn the_types_of_hello_app_make_its_definition() {
    let file: Value = yaml_serde::from_str(CRD).unwrap();
    let go: Value = yaml_serde::from_str(include_str!("../../../hooks-wasm/go/hello-app/crd.yaml")).unwrap();
    assert_eq!(go, file);
    for component in [Some(guest("hello-app")), go_guest("hello-app")].into_iter().flatten() {
        let sandbox = sandbox();
        let hook = load(&sandbox, "hello-app", &component).await;
        let definitions = sandbox.definitions(&hook).await.unwrap();
        let [definition] = &*definitions else { panic!("{definitions:?}") };
        assert_eq!(serde_json::from_str::<Value>(definition).unwrap(), file);
    }
    let cluster = TestCluster::start().await;
    cluster.admin.create(&file).await.unwrap();
    let mut small = app();
    small["spec"] = json!({"image": "", "size": -1});
    let refused = until("the kind is served", async || {
        let error = cluster.admin.create(&small).await.unwrap_err().to_string();
        error.contains("spec.size").then_some(error)
    })
    .await;
    assert!(refused.contains("spec.image"), "{refused}");
    small["spec"] = json!({"image": "web:1"});
    assert_eq!(cluster.admin.create(&small).await.unwrap()["spec"], json!({"image": "web:1", "size": 1}));
}
