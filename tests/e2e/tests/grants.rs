//! A hook that tries what it has no permission for.
//! It never checks the grants' logic case by case: that is the host's own tests' matter.

use std::sync::Arc;

use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::api::{Api, PostParams};
use kube::{Client, ResourceExt};
use serde_json::Value;

use crate::copies::{copied, ensure_source};
use crate::harness::Test;
use crate::objects::{create_namespace, meta, secrets};

/// For every ConfigMap with this label it tries to delete the Secret of the same name, without a
/// permission for that.
const HOOK: &str = "forbidden";
const LABEL: (&str, &str) = ("e2e", "forbidden");
const NAME: &str = "victim";

pub async fn a_write_without_permission_is_refused(test: Arc<Test>) {
    let cluster = test.own_cluster().await;
    let client = &cluster.client;
    ensure_source(client).await;
    let namespace = test.name("x");
    create_namespace(client, &namespace, &[]).await;
    let before = create_victim(client, &namespace).await;
    let operator = test.operator_with(&cluster.kubeconfig, &["registry-secret", "test/forbidden"]).await;
    operator.ready().await;

    provoke(client, &namespace).await;
    let refused = operator.logs("the refused call", |line| is_audit(line, "forbidden-by-grant")).await;
    assert_eq!(refused["verb"], "delete", "{refused}");
    let object = refused["object"].as_str().unwrap_or_default();
    assert!(object.contains(&format!("{namespace}/{NAME}")), "the record names the object: {refused}");
    let told = operator.logs("which permission is missing", tells_the_permission).await.to_string();
    for part in ["delete", "secrets", NAME, &namespace] {
        assert!(told.contains(part), "the line names {part:?}: {told}");
    }

    // The neighbour goes on.
    let name = test.name("later");
    create_namespace(client, &name, &[]).await;
    copied(client, &name).await;

    let after = secrets(client, &namespace).get(NAME).await.expect("the Secret is there");
    assert_eq!((before.uid(), before.resource_version()), (after.uid(), after.resource_version()));
    // The host tells of the failed run by an Event, in the hook's name.
    let is_event = |line: &Value| line["object"].as_str().is_some_and(|object| object.contains(" Event "));
    let written = operator.log().into_iter().find(|line| is_audit(line, "ok") && !is_event(line));
    assert_eq!(written, None, "the audit log shows a write of the hook");
    operator.stop().await;
}

fn is_audit(line: &Value, outcome: &str) -> bool {
    line["message"] == "audit" && line["hook"] == HOOK && line["outcome"] == outcome
}

fn tells_the_permission(line: &Value) -> bool {
    let serious = matches!(line["level"].as_str(), Some("WARN" | "ERROR"));
    serious && line["hook"] == HOOK && line.to_string().contains("permissions.kubernetes")
}

async fn create_victim(client: &Client, namespace: &str) -> Secret {
    let secret = Secret { metadata: meta(NAME, &[]), ..Secret::default() };
    let created = secrets(client, namespace).create(&PostParams::default(), &secret).await;
    created.expect("create a Secret")
}

async fn provoke(client: &Client, namespace: &str) {
    let map = ConfigMap { metadata: meta(NAME, &[LABEL]), ..ConfigMap::default() };
    let maps = Api::<ConfigMap>::namespaced(client.clone(), namespace);
    maps.create(&PostParams::default(), &map).await.expect("create a ConfigMap");
}
