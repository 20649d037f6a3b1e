//! The hook on the SDK's in-memory host.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use super::*;
use boathook_sdk::testing::{Asked, Kit};
use serde_json::{Value, json};

fn kit(labels: Value) -> Kit {
    let mut kit = Kit::answering(config);
    kit.filter("namespaces", |namespace| json!({"labels": namespace.pointer("/metadata/labels")}));
    kit.given(&json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "web", "labels": labels}}));
    kit
}

fn pod(labels: Value, spec: Value) -> Value {
    let metadata = json!({"namespace": "web", "name": "p", "labels": labels});
    json!({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec})
}

fn mutated(kit: &mut Kit, pod: &Value) -> Value {
    let ran = kit.mutate(mutate, Asked::create("pod-defaults.boathook.dev", pod));
    assert!(ran.answer().verdict.is_allowed());
    ran.answer().object.0.clone()
}

#[test]
fn what_is_missing_is_filled_in_and_the_second_time_nothing() {
    let mut kit = kit(json!({"team": "shop", "other": "x"}));
    let once = mutated(&mut kit, &pod(Value::Null, json!({"containers": [{"name": "c", "image": "i"}]})));
    let expected = pod(
        json!({"team": "shop"}),
        json!({
            "containers": [{
                "name": "c", "image": "i", "resources": {"requests": {"cpu": "50m", "memory": "64Mi"}},
                "securityContext": {"allowPrivilegeEscalation": false},
            }],
            "securityContext": {"seccompProfile": {"type": "RuntimeDefault"}},
        }),
    );
    assert_eq!(once, expected);
    assert_eq!(mutated(&mut kit, &once), once);
}

#[test]
fn what_a_pod_says_stays() {
    let mut kit = kit(json!({"team": "shop", "cost-center": "7"}));
    let said = pod(
        json!({"team": "own", "cost-center": "8"}),
        json!({
            "securityContext": {"seccompProfile": {"type": "Unconfined"}},
            "initContainers": [{
                "name": "i", "resources": {"limits": {"memory": "1Gi"}, "requests": {"cpu": "1"}},
                "securityContext": {"allowPrivilegeEscalation": true},
            }],
            "containers": [
                {"name": "p", "resources": {"limits": {"cpu": "1", "memory": "1Gi"}}, "securityContext": {"privileged": true}},
                {
                    "name": "a", "resources": {"limits": {"cpu": "1", "memory": "1Gi"}},
                    "securityContext": {"capabilities": {"add": ["SYS_ADMIN"]}},
                },
            ],
        }),
    );
    assert_eq!(mutated(&mut kit, &said), said);
}

#[test]
fn a_pod_or_a_namespace_can_be_left_alone() {
    let plain = json!({"containers": [{"name": "c"}]});
    let skipped = pod(json!({SKIP_LABEL: "true"}), plain.clone());
    assert_eq!(mutated(&mut kit(json!({"team": "shop"})), &skipped), skipped);
    let here = pod(json!({}), plain);
    assert_eq!(mutated(&mut kit(json!({SKIP_LABEL: "true", "team": "shop"})), &here), here);
}

#[test]
fn a_windows_pod_gets_no_security_context() {
    let windows = pod(json!({}), json!({"os": {"name": "windows"}, "containers": [{"name": "c"}]}));
    let object = mutated(&mut kit(json!({})), &windows);
    assert!(object["spec"].get("securityContext").is_none());
    assert!(object["spec"]["containers"][0].get("securityContext").is_none());
    assert_eq!(object["spec"]["containers"][0]["resources"]["requests"]["cpu"], "50m");
}
