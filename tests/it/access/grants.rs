//! What is not granted is not sent.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::time::Duration;

use boathook_core::model::{
    CallError, CallReason, Caller, Create, Delete, EmitEvent, EventType, IfExists, ListQuery, Operation, PatchBody,
    Propagation, Update,
};
use serde_json::json;

use super::{
    fixture::{Fixture, caller, patch, permission},
    script::{Script, Step},
};

fn only(verbs: &[&str]) -> Caller {
    caller(vec![permission(&[""], &["configmaps"], verbs, &["n"])])
}

fn body() -> String {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "n"}}).to_string()
}

fn delete(wait: Option<Duration>) -> Operation {
    Operation::Delete(Delete {
        target: Script::object(),
        propagation: Propagation::Background,
        ignore_missing: true,
        uid: None,
        resource_version: None,
        wait,
    })
}

fn create(if_exists: IfExists) -> Operation {
    Operation::Create(Create { object: body(), if_exists, subresource: None })
}

fn refused(error: &CallError, verbs: &str) {
    assert_eq!((error.reason, error.code), (CallReason::ForbiddenByGrant, None), "{}", error.message);
    assert_eq!(
        error.message,
        format!(
            "hook \"probe\" may not {verbs} configmaps \"a\" in namespace \"n\": add {{apiGroups: [\"\"], \
             resources: [configmaps], verbs: [{verbs}], namespaces: [n]}} to permissions.kubernetes"
        )
    );
}

// mutant: crates/kube/src/access/request/mod.rs: `verbs.iter().copied().filter(|verb| !grants::allows(&caller.permissions, verb, subject)).collect();` => `Vec::new();`
// mutant: crates/kube/src/access/update.rs: `place.require(audit.caller, &["patch"])?;` => ``
// mutant: crates/kube/src/access/delete.rs: `&["delete", "get"]` => `&["delete"]`
#[tokio::test]
async fn each_operation_needs_its_verbs_and_sends_nothing_without_them() {
    let script = Script::start(vec![Step::Answer(500, "", "{}")]).await;
    let apply = PatchBody::Apply { object: body(), force: false, field_manager: None };
    let update = Operation::Update(Update { object: body(), subresource: None });
    // The operation, what is granted, what is missing.
    let table: Vec<(Operation, &[&str], &str)> = vec![
        (create(IfExists::Fail), &["get", "list", "update", "patch", "delete"], "create"),
        (create(IfExists::Keep), &[], "create"),
        (create(IfExists::Replace), &["create"], "get, update"),
        (create(IfExists::Replace), &["create", "get"], "update"),
        (create(IfExists::Replace), &["get", "update"], "create"),
        (update, &["get", "create", "patch"], "update"),
        (patch(Script::object(), PatchBody::Merge("{}".into())), &["get", "update"], "patch"),
        (patch(Script::object(), PatchBody::Json("[]".into())), &["get", "update"], "patch"),
        (patch(Script::object(), PatchBody::Strategic("{}".into())), &["get", "update"], "patch"),
        (patch(Script::object(), apply), &["get", "update", "create"], "patch"),
        (patch(Script::object(), PatchBody::Jq(".".into())), &["patch", "get"], "update"),
        (patch(Script::object(), PatchBody::Jq(".".into())), &["patch", "update"], "get"),
        (delete(None), &["get", "deletecollection"], "delete"),
        (delete(Some(Duration::from_secs(1))), &["delete"], "get"),
    ];
    for (operation, granted, missing) in &table {
        let error = script.access.write(&only(granted), operation).await.unwrap_err();
        refused(&error, missing);
        let records = script.records.take();
        assert_eq!(records.len(), 1, "{records:?}");
        assert!(records[0].ends_with(": forbidden-by-grant - 0"), "{records:?}");
    }
    refused(&script.access.get(&only(&["list"]), &Script::object(), None).await.unwrap_err(), "get");
    assert_eq!(script.requests(), Vec::<String>::new(), "nothing but discovery was asked");
}

#[tokio::test]
async fn a_list_of_all_namespaces_needs_a_permission_for_all() {
    let script = Script::start(vec![Step::Answer(500, "", "{}")]).await;
    let query = ListQuery {
        api_version: "v1".into(),
        kind: "ConfigMap".into(),
        namespace: None,
        label_selector: None,
        field_selector: None,
        limit: None,
        continue_token: None,
    };
    let error = script.access.list(&only(&["*"]), &query).await.unwrap_err();
    assert_eq!(error.reason, CallReason::ForbiddenByGrant);
    assert!(error.message.contains("may not list configmaps in all namespaces"), "{}", error.message);
    assert_eq!(script.requests(), Vec::<String>::new());
}

// mutant: crates/kube/src/access/grants/mod.rs: `Reach::Namespace(namespace) => rules.iter().any(|rule| rule == namespace),` => `Reach::Namespace(_) => true,`
// mutant: crates/kube/src/access/update.rs: `head.agree(&patch.target)?;` => ``
#[tokio::test]
async fn the_body_is_what_is_checked() {
    let script = Script::start(vec![Step::Answer(500, "", "{}")]).await;
    let elsewhere = body().replace("\"n\"", "\"kube-system\"");
    let create = Operation::Create(Create { object: elsewhere.clone(), if_exists: IfExists::Fail, subresource: None });
    let error = script.access.write(&only(&["*"]), &create).await.unwrap_err();
    assert_eq!(error.reason, CallReason::ForbiddenByGrant);
    let apply = PatchBody::Apply { object: elsewhere, force: false, field_manager: None };
    let error = script.access.write(&only(&["*"]), &patch(Script::object(), apply)).await.unwrap_err();
    assert_eq!(error.reason, CallReason::Invalid, "{}", error.message);
    assert!(error.message.contains("kube-system") && error.message.contains("n/a"), "{}", error.message);
    assert_eq!(script.requests(), Vec::<String>::new());
}

#[tokio::test]
async fn events_are_granted_under_both_of_their_groups() {
    let fixture = Fixture::start("event-grants").await;
    let event = |reason: &str| EmitEvent {
        regarding: fixture.object("ConfigMap", "a"),
        event_type: EventType::Normal,
        reason: reason.to_owned(),
        note: "text".to_owned(),
    };
    let within = |group| caller(vec![permission(&[group], &["events"], &["create"], &[&fixture.namespace])]);
    for group in ["", "events.k8s.io"] {
        fixture.access.emit_event(&within(group), &event("Granted")).await.unwrap();
    }
    let error = fixture.access.emit_event(&within("apps"), &event("Refused")).await.unwrap_err();
    assert_eq!(error.reason, CallReason::ForbiddenByGrant);
    assert!(error.message.contains("add {apiGroups: [events.k8s.io], resources: [events]"), "{}", error.message);
}
