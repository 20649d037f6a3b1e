//! A HelloApp becomes a Deployment and a Service.

use boathook_sdk::crd::{Column, Definition};
use boathook_sdk::prelude::*;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

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

/// `boathook build` compares it with `crd.yaml`.
fn define() -> Definition {
    Definition::new::<Spec>("example.com/v1alpha1", "HelloApp")
        .status::<Status>()
        .column(Column::string("Image", ".spec.image"))
        .column(Column::integer("Size", ".spec.size"))
        .column(Column::string("Ready", ".status.conditions[?(@.type==\"Ready\")].status"))
}

fn config() -> Config {
    let apps = Reconcile::new("hello", "example.com/v1alpha1", "HelloApp");
    Config::new().reconcile(apps.owns("apps/v1", "Deployment").owns("v1", "Service"))
}

fn reconcile(app: reconcile::Parent) -> Result<Desired> {
    let Spec { image, size } = app.spec()?;
    let labels = app.labels();
    let web = json!({"name": "web", "image": image, "ports": [{"containerPort": 8080}]});
    let template = json!({"metadata": {"labels": labels}, "spec": {"containers": [web]}});
    let pods = json!({"replicas": size, "selector": {"matchLabels": labels}, "template": template});
    let port = json!({"selector": labels, "ports": [{"port": 80, "targetPort": 8080}]});
    let ready = app.child_status("Deployment", app.name(), "readyReplicas").unwrap_or(0);
    Ok(Desired::new()
        .child(&app.new_child("apps/v1", "Deployment", pods))
        .child(&app.new_child("v1", "Service", port))
        .status(&Status { ready_replicas: ready })
        .ready(ready, size, "replicas"))
}

boathook_sdk::hook!(config, reconcile = reconcile, define = define);

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
mod tests {
    use super::{config, reconcile};
    use boathook_sdk::kube::ObjectRef;
    use boathook_sdk::testing::Kit;
    use serde_json::{Value, json};

    #[test]
    fn replicas_that_are_ready_are_in_the_status() {
        let mut kit = Kit::answering(config);
        let (api_version, metadata) = ("example.com/v1alpha1", json!({"namespace": "default", "name": "web"}));
        let spec = json!({"image": "nginx:1", "size": 2});
        let app = json!({"apiVersion": api_version, "kind": "HelloApp", "metadata": metadata, "spec": spec});
        let app = kit.given(&app).object_ref();
        let first = kit.reconcile(reconcile, "hello", &app);
        assert_eq!(first.answer().status, json!({"readyReplicas": 0}));
        assert_eq!(first.answer().conditions[0].holds, Some(false));
        let deployment = ObjectRef::new("apps/v1", "Deployment", "default", "web");
        let mut found: Value = kit.find(&deployment).unwrap();
        assert_eq!(found["spec"]["replicas"], 2);
        found["status"] = json!({"readyReplicas": 2});
        kit.given(&found);
        let second = kit.reconcile(reconcile, "hello", &app);
        assert_eq!(second.answer().status, json!({"readyReplicas": 2}));
        assert_eq!(second.answer().conditions[0].message, "2 of 2 replicas are ready");
    }
}
