//! A hook that tries what it has no permission for.
//! It never checks the grants' logic case by case: that is the host's own tests' matter.

use std::sync::Arc;

use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Api, ListParams};
use kube::{Client, ResourceExt};
use serde_json::Value;

use crate::harness::Test;
use crate::objects::create_namespace;
use crate::registry_secret::{copied, ensure_source};

/// The hook, the call that it makes without a permission for it, and the object.
const HOOK: &str = "forbidden";
const VERB: &str = "create";
const RESOURCE: &str = "configmaps";
const OBJECT: &str = "default/forbidden";

pub async fn a_write_without_permission_is_refused(test: Arc<Test>) {
    let cluster = test.own_cluster().await;
    let client = &cluster.client;
    ensure_source(client).await;
    let before = config_maps(client).await;
    // Not waited for to be ready: this hook's start may well count as failed.
    let hooks = ["registry-secret", "test/forbidden"];
    let operator = test.operator_with(&cluster.kubeconfig, &hooks).await;

    let line = operator
        .logs("the call that it refused", is_refusal)
        .await
        .to_string();
    for part in [VERB, RESOURCE, OBJECT, "permissions.kubernetes"] {
        assert!(line.contains(part), "the line names {part:?}: {line}");
    }

    // The neighbour works, and goes on to work while the other one fails.
    copied(client, "kube-system").await;
    let name = test.name("x");
    create_namespace(client, &name, &[]).await;
    copied(client, &name).await;

    assert_eq!(config_maps(client).await, before, "nothing was written");
    let written = operator.log().into_iter().find(is_write);
    assert_eq!(written, None, "the audit log shows a write of the hook");
    operator.stop().await;
}

fn is_refusal(line: &Value) -> bool {
    of_hook(line) && line.to_string().contains("forbidden-by-grant")
}

fn is_write(line: &Value) -> bool {
    of_hook(line) && line["message"] == "audit" && line["outcome"] == "ok"
}

fn of_hook(line: &Value) -> bool {
    line["hook"] == HOOK
}

/// Kubernetes puts one of its own into every namespace, at a time of its choosing.
async fn config_maps(client: &Client) -> Vec<String> {
    let all = Api::<ConfigMap>::all(client.clone())
        .list(&ListParams::default())
        .await
        .expect("list ConfigMaps");
    let names = all
        .iter()
        .map(|map| format!("{}/{}", map.namespace().unwrap_or_default(), map.name_any()));
    names
        .filter(|name| !name.ends_with("/kube-root-ca.crt") && !name.starts_with("kube-system/"))
        .collect()
}
