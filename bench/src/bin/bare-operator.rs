//! The HelloApp operator as users of kube-rs write it. `tools/bench operators` compares Boathook with it.
//!
//! The applies of one parent are sent at the same time, and the answer to them has the Deployment's status: nothing is read.

use std::{sync::Arc, time::Duration};

use futures::{StreamExt as _, future};
use k8s_openapi::{
    api::{apps::v1::Deployment, core::v1::Service},
    apimachinery::pkg::apis::meta::v1::{Condition, Time},
    jiff::Timestamp,
};
use kube::{
    Api, Client, CustomResource, Resource as _, ResourceExt as _,
    api::{Patch, PatchParams},
    runtime::{
        Controller,
        controller::{Action, Config},
        watcher,
    },
};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use serde_json::json;

/// That of the operator's own binary.
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

const MANAGER: &str = "hello-app";
/// That of the other contenders.
const CONCURRENCY: u16 = 8;

#[derive(CustomResource, Deserialize, Serialize, Clone, Debug, JsonSchema)]
#[kube(group = "example.com", version = "v1alpha1", kind = "HelloApp", namespaced, status = "HelloAppStatus")]
struct HelloAppSpec {
    image: String,
    #[serde(default)]
    size: i32,
}

#[derive(Deserialize, Serialize, Clone, Debug, Default, PartialEq, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
struct HelloAppStatus {
    ready_replicas: i32,
    observed_generation: Option<i64>,
    #[schemars(schema_with = "any_list")]
    conditions: Vec<Condition>,
}

fn any_list(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": "array", "items": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}})
}

#[tokio::main]
async fn main() -> Result<(), kube::Error> {
    let client = Client::try_default().await?;
    Controller::new(Api::<HelloApp>::all(client.clone()), watcher::Config::default())
        .owns(Api::<Deployment>::all(client.clone()), watcher::Config::default())
        .owns(Api::<Service>::all(client.clone()), watcher::Config::default())
        .with_config(Config::default().concurrency(CONCURRENCY))
        .run(reconcile, retry, Arc::new(client))
        .for_each(|result| {
            if let Err(error) = result {
                eprintln!("{error}");
            }
            future::ready(())
        })
        .await;
    Ok(())
}

async fn reconcile(app: Arc<HelloApp>, client: Arc<Client>) -> Result<Action, kube::Error> {
    if app.meta().deletion_timestamp.is_some() {
        return Ok(Action::await_change());
    }
    let (name, namespace) = (app.name_any(), app.namespace().unwrap_or_default());
    let labels = json!({"app.kubernetes.io/name": name});
    let metadata = json!({"name": name, "labels": labels, "ownerReferences": [app.controller_owner_ref(&())]});
    let web = json!({"name": "web", "image": app.spec.image, "ports": [{"containerPort": 8080}]});
    let deployment = json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata,
        "spec": {
            "replicas": app.spec.size,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": {"containers": [web]}},
        },
    });
    let service = json!({
        "apiVersion": "v1", "kind": "Service", "metadata": metadata,
        "spec": {"selector": labels, "ports": [{"port": 80, "targetPort": 8080}]},
    });
    let deployments: Api<Deployment> = Api::namespaced((*client).clone(), &namespace);
    let services: Api<Service> = Api::namespaced((*client).clone(), &namespace);
    let params = PatchParams::apply(MANAGER).force();
    let (deployment, service) = (Patch::Apply(deployment), Patch::Apply(service));
    let applied =
        future::try_join(deployments.patch(&name, &params, &deployment), services.patch(&name, &params, &service));
    let (deployment, _) = applied.await?;
    let ready = deployment.status.and_then(|status| status.ready_replicas).unwrap_or(0);
    let status = status(&app, ready);
    if app.status.as_ref() != Some(&status) {
        let apps: Api<HelloApp> = Api::namespaced((*client).clone(), &namespace);
        apps.patch_status(&name, &PatchParams::default(), &Patch::Merge(json!({"status": status}))).await?;
    }
    Ok(Action::await_change())
}

fn status(app: &HelloApp, ready: i32) -> HelloAppStatus {
    let state = if ready == app.spec.size { "True" } else { "False" };
    let old = app.status.iter().flat_map(|status| &status.conditions).find(|old| old.type_ == "Ready");
    let since = old.filter(|old| old.status == state).map(|old| old.last_transition_time.clone());
    let ready_condition = Condition {
        type_: "Ready".to_owned(),
        status: state.to_owned(),
        observed_generation: app.meta().generation,
        last_transition_time: since.unwrap_or_else(|| Time(Timestamp::now())),
        reason: "Replicas".to_owned(),
        message: format!("{ready} of {} replicas are ready", app.spec.size),
    };
    HelloAppStatus {
        ready_replicas: ready,
        observed_generation: app.meta().generation,
        conditions: vec![ready_condition],
    }
}

fn retry(_: Arc<HelloApp>, error: &kube::Error, _: Arc<Client>) -> Action {
    eprintln!("{error}");
    Action::requeue(Duration::from_secs(5))
}
