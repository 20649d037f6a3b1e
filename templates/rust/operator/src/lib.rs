//! Turns a WebApp into a Deployment and a Service, and shows in its status how many replicas are ready.
//!
//! It writes nothing itself: the operator applies what `reconcile` returns, repairs it, and deletes it with the WebApp.

use boathook_sdk::crd::{Column, Definition};
use boathook_sdk::prelude::*;
use boathook_sdk::serde_json::json;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Deserialize, JsonSchema)]
struct Spec {
    #[schemars(length(min = 1))]
    image: String,
    #[serde(default = "one")]
    size: u32,
}

fn one() -> u32 {
    1
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Status {
    ready_replicas: u32,
}

/// The custom resource. After a change of these types, `boathook build --write-crd` writes `crd.yaml`.
fn define() -> Definition {
    Definition::new::<Spec>("example.com/v1alpha1", "WebApp")
        .status::<Status>()
        .column(Column::string("Image", ".spec.image"))
        .column(Column::integer("Size", ".spec.size"))
        .column(Column::string("Ready", ".status.conditions[?(@.type==\"Ready\")].status"))
}

/// The kind of the custom resource, and the kinds that `reconcile` may return.
fn config() -> Config {
    let apps = Reconcile::new("apps", "example.com/v1alpha1", "WebApp");
    Config::new().reconcile(apps.owns("apps/v1", "Deployment").owns("v1", "Service"))
}

/// Runs when a WebApp or one of its children changes. It returns all children, each with the fields that it decides.
fn reconcile(app: reconcile::Parent) -> Result<Desired> {
    let (name, Spec { image, size }) = (app.name(), app.spec()?);
    let labels = json!({"app.kubernetes.io/name": name});
    let web = json!({"name": "web", "image": image, "ports": [{"containerPort": 8080}]});
    let deployment = json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name, "labels": labels},
        "spec": {
            "replicas": size,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": {"containers": [web]}},
        },
    });
    let service = json!({
        "apiVersion": "v1", "kind": "Service", "metadata": {"name": name, "labels": labels},
        "spec": {"selector": labels, "ports": [{"port": 80, "targetPort": 8080}]},
    });
    let ready: u32 = app.child_status("Deployment", name, "readyReplicas").unwrap_or(0);
    let message = format!("{ready} of {size} replicas are ready");
    let desired = Desired::new().child(&deployment).child(&service).status(&Status { ready_replicas: ready });
    Ok(desired.condition("Ready", ready == size, "Replicas", message))
}

boathook_sdk::hook!(config, reconcile = reconcile, define = define);

#[cfg(test)]
mod tests {
    use super::*;
    use boathook_sdk::serde_json::Value;
    use boathook_sdk::testing::Kit;

    #[test]
    fn replicas_that_are_ready_are_in_the_status() {
        let mut kit = Kit::answering(config);
        let (metadata, spec) = (json!({"namespace": "default", "name": "web"}), json!({"image": "nginx:1", "size": 2}));
        let app = json!({"apiVersion": "example.com/v1alpha1", "kind": "WebApp", "metadata": metadata, "spec": spec});
        let app = kit.given(&app).object_ref();
        let first = kit.reconcile(reconcile, "apps", &app);
        assert_eq!(first.answer().status, json!({"readyReplicas": 0}));
        // The kit has applied the children, like the operator.
        let mut deployment: Value = kit.find(&ObjectRef::new("apps/v1", "Deployment", "default", "web")).unwrap();
        assert_eq!(deployment["spec"]["replicas"], 2);
        deployment["status"] = json!({"readyReplicas": 2});
        kit.given(&deployment);
        let second = kit.reconcile(reconcile, "apps", &app);
        assert_eq!(second.answer().conditions[0].message, "2 of 2 replicas are ready");
    }
}
