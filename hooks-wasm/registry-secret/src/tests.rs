//! The hook on the SDK's in-memory host. Scenarios show it on an API server.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use super::*;
use crate::secret::reference;
use boathook_sdk::kube::Reason;
use boathook_sdk::testing::{Kit, Run, Verb};
use serde_json::{Value, json};

fn kit() -> Kit {
    let mut kit = Kit::new(config, run);
    kit.filter(
        "namespaces",
        |namespace| json!({"skip": namespace.label(SKIP_LABEL), "phase": namespace.pointer("/status/phase")}),
    );
    kit.filter("source", |secret| json!({"type": secret["type"], "data": secret["data"]}));
    kit.filter(
        "copies",
        |secret| json!({"type": secret["type"], "data": secret["data"], "immutable": secret.get("immutable")}),
    );
    kit
}

fn namespace(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}, "status": {"phase": "Active"}})
}

fn secret(namespace: &str, data: &str) -> Value {
    let mut metadata = json!({"namespace": namespace, "name": NAME});
    if namespace != SOURCE {
        metadata["labels"] = json!({COPY_LABEL: "true"});
    }
    json!({"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "type": "Opaque", "data": {"a": data}})
}

fn data(kit: &Kit, namespace: &str) -> Value {
    kit.find::<Value>(&reference(namespace)).map_or(Value::Null, |secret| secret["data"]["a"].clone())
}

/// A kit with a source and two namespaces that have their copies.
fn settled() -> Kit {
    let mut kit = kit();
    kit.given(&secret(SOURCE, "MQ=="));
    kit.given(&namespace("shop"));
    kit.given(&namespace("web"));
    let ran = kit.run(Run::new().synchronization("namespaces")).ok();
    assert_eq!(ran.written(), ["create Secret shop/registry-credentials", "create Secret web/registry-credentials"]);
    kit
}

#[test]
fn all_copies_follow_the_source() {
    let mut kit = settled();
    let ran = kit.run(Run::new().modified("source", &secret(SOURCE, "Mg=="))).ok();
    assert_eq!(ran.written(), ["patch Secret shop/registry-credentials", "patch Secret web/registry-credentials"]);
    assert_eq!((data(&kit, "web"), data(&kit, "shop")), (json!("Mg=="), json!("Mg==")));
}

#[test]
fn one_copy_that_was_altered_is_mended_alone() {
    let mut kit = settled();
    let ran = kit.run(Run::new().modified("copies", &secret("web", "bWluZQ=="))).ok();
    assert_eq!(ran.written(), ["patch Secret web/registry-credentials"]);
    let ran = kit.run(Run::new().deleted("copies", &secret("shop", "MQ=="))).ok();
    assert_eq!(ran.written(), ["create Secret shop/registry-credentials"]);
}

/// Before all copies go, the API server is asked whether the source is gone.
#[test]
fn a_source_that_only_seems_gone_removes_nothing() {
    let mut kit = settled();
    let none: [Value; 0] = [];
    let ran = kit.run(Run::new().synchronization("namespaces").snapshot("source", none)).ok();
    assert!(ran.writes.is_empty());
    kit.refuse_get(&reference(SOURCE), Reason::Unavailable);
    let ran = kit.run(Run::new().deleted("source", &secret(SOURCE, "MQ==")));
    assert!(!ran.error().is_permanent() && ran.writes.is_empty(), "nobody knows: nothing is removed");
    kit.run(Run::new().synchronization("namespaces").attempt(2)).ok();
    assert_eq!((data(&kit, "web"), data(&kit, "shop")), (Value::Null, Value::Null));
}

#[test]
fn a_copy_is_removed_only_if_it_is_the_one_that_was_seen() {
    let mut kit = settled();
    let seen: Value = kit.find(&reference("web")).unwrap();
    kit.gone(&reference("web"));
    kit.given(&secret("web", "bmV3"));
    kit.gone(&reference(SOURCE));
    let ran = kit.run(Run::new().synchronization("namespaces").snapshot("copies", [seen]));
    assert_eq!(ran.written(), ["delete Secret web/registry-credentials: conflict"]);
    assert_eq!(data(&kit, "web"), json!("bmV3"));
}

#[test]
fn one_failed_write_fails_the_run_after_the_others_are_done() {
    let mut kit = settled();
    kit.refuse(Verb::Patch, &reference("shop"), Reason::ForbiddenByCluster);
    let ran = kit.run(Run::new().modified("source", &secret(SOURCE, "Mg==")));
    let text = ran.error().to_string();
    assert!(!ran.error().is_permanent() && text.starts_with("1 writes failed, such as: "), "{text}");
    assert_eq!((data(&kit, "web"), data(&kit, "shop")), (json!("Mg=="), json!("MQ==")));
}

#[test]
fn namespaces_that_go_are_no_failure() {
    let mut kit = settled();
    let mut going = namespace("going");
    going["status"]["phase"] = json!("Terminating");
    kit.given(&going);
    // The hook saw it while it was there.
    let snapshot = [namespace("going"), namespace("gone"), namespace("web")];
    let ran = kit.run(Run::new().synchronization("namespaces").snapshot("namespaces", snapshot)).ok();
    let told = ran.written();
    assert_eq!(
        told,
        [
            "create Secret going/registry-credentials: forbidden-by-cluster",
            "create Secret gone/registry-credentials: not-found"
        ]
    );
}
