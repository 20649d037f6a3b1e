//! The hook on the SDK's in-memory host.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use super::*;
use boathook_sdk::testing::{Asked, Kit};
use serde_json::{Value, json};

const WEBHOOK: &str = "image-policy.boathook.dev";

fn kit() -> Kit {
    let mut kit = Kit::answering(config);
    kit.filter("policies", |map| json!({"registries": map["data"]["registries"], "mode": map.label(MODE_LABEL)}));
    kit
}

fn policy(namespace: &str, registries: &str, mode: &str) -> Value {
    let metadata = json!({"namespace": namespace, "name": NAME, "labels": {MODE_LABEL: mode}});
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"registries": registries}})
}

fn pod(images: &[&str]) -> Value {
    let containers: Vec<Value> = images.iter().map(|image| json!({"name": "c", "image": image})).collect();
    let metadata = json!({"namespace": "web", "name": "p"});
    json!({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {"containers": containers}})
}

fn verdict(kit: &mut Kit, asked: Asked) -> Verdict {
    kit.validate(validate, asked).answer().clone()
}

#[test]
fn without_a_policy_all_is_allowed() {
    assert_eq!(verdict(&mut kit(), Asked::create(WEBHOOK, &pod(&["nginx"]))), Verdict::allow());
}

#[test]
fn every_container_counts_and_the_message_names_what_is_refused() {
    let mut kit = kit();
    kit.given(&policy("web", "registry.example.com", "enforce"));
    let mut pod = pod(&["registry.example.com/a", "nginx"]);
    pod["spec"]["initContainers"] = json!([{"name": "i", "image": "busybox"}]);
    pod["spec"]["ephemeralContainers"] = json!([{"name": "e", "image": "registry.example.com/debug"}]);
    let denied = verdict(&mut kit, Asked::create(WEBHOOK, &pod)).denied.unwrap();
    assert!(denied.message.contains("image nginx") && denied.message.contains("image busybox"), "{}", denied.message);
    assert!(!denied.message.contains("image registry.example.com"), "{}", denied.message);
}

#[test]
fn a_namespaces_own_policy_goes_before_the_one_for_all() {
    let mut kit = kit();
    kit.given(&policy("default", "*", "enforce"));
    assert!(verdict(&mut kit, Asked::create(WEBHOOK, &pod(&["nginx"]))).is_allowed());
    kit.given(&policy("web", "", "enforce"));
    assert!(!verdict(&mut kit, Asked::create(WEBHOOK, &pod(&["nginx"]))).is_allowed());
}

#[test]
fn a_policy_can_only_warn() {
    let mut kit = kit();
    kit.given(&policy("web", "registry.example.com", "warn"));
    let verdict = verdict(&mut kit, Asked::create(WEBHOOK, &pod(&["nginx", "registry.example.com/a"])));
    assert_eq!((verdict.is_allowed(), verdict.warnings.len()), (true, 1));
    assert!(verdict.warnings[0].contains("image nginx"), "{:?}", verdict.warnings);
}

#[test]
fn only_new_images_of_a_pod_that_is_there_count() {
    let mut kit = kit();
    kit.given(&policy("web", "registry.example.com", "enforce"));
    let old = pod(&["nginx"]);
    assert!(verdict(&mut kit, Asked::update(WEBHOOK, &old, &old)).is_allowed());
    assert!(!verdict(&mut kit, Asked::update(WEBHOOK, &old, &pod(&["nginx:2"]))).is_allowed());
}
