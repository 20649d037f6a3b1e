//! `write`: every operation, on an API server.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::time::Duration;

use boathook_core::model::{
    CallReason, Caller, Create, Delete, IfExists, ObjectRef, Operation, Patch, PatchBody, Propagation, Update,
};
use serde_json::{Value, json};

use super::fixture::{Fixture, anyone, parsed, patch, written};

fn create(object: String, if_exists: IfExists) -> Operation {
    Operation::Create(Create { object, if_exists, subresource: None })
}

fn delete(target: ObjectRef) -> Delete {
    Delete {
        target,
        propagation: Propagation::Background,
        ignore_missing: false,
        uid: None,
        resource_version: None,
        wait: None,
    }
}

fn managers(object: &Value) -> Vec<&str> {
    object["metadata"]["managedFields"].as_array().unwrap().iter().map(|f| f["manager"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn create_and_what_it_does_when_the_object_is_there() {
    let fixture = Fixture::start("create").await;
    let write = async |data: Value, if_exists| {
        let object = fixture.config_map("a", data);
        fixture.access.write(&anyone(), &create(object, if_exists)).await
    };
    let made = written(write(json!({"k": "1"}), IfExists::Fail).await);
    assert!(made["metadata"]["uid"].is_string() && made["metadata"].get("managedFields").is_none());
    assert_eq!(managers(&fixture.live("a").await.unwrap()), ["boathook.dev/probe"]);

    let error = write(json!({"k": "2"}), IfExists::Fail).await.unwrap_err();
    assert_eq!((error.reason, error.code), (CallReason::AlreadyExists, Some(409)));
    assert_eq!(write(json!({"k": "3"}), IfExists::Keep).await.unwrap(), None);
    assert_eq!(fixture.live("a").await.unwrap()["data"]["k"], "1");

    let replaced = written(write(json!({"other": "4"}), IfExists::Replace).await);
    assert_eq!((&replaced["data"], &replaced["metadata"]["uid"]), (&json!({"other": "4"}), &made["metadata"]["uid"]));

    let place = format!("v1 ConfigMap {}/a", fixture.namespace);
    assert_eq!(
        fixture.records.take(),
        [
            format!("create {place}: ok 201 1"),
            format!("create {place}: already-exists 409 1"),
            format!("create {place}: ok 409 1"),
            format!("update {place}: ok 200 3"),
        ]
    );
}

#[tokio::test]
async fn replacing_what_is_not_there_creates_it() {
    let fixture = Fixture::start("replace").await;
    let object = fixture.config_map("a", json!({"k": "1"}));
    written(fixture.access.write(&anyone(), &create(object, IfExists::Replace)).await);
    assert_eq!(fixture.live("a").await.unwrap()["data"]["k"], "1");
}

#[tokio::test]
async fn a_name_can_be_the_servers_choice() {
    let fixture = Fixture::start("generate").await;
    let metadata = json!({"generateName": "job-", "namespace": fixture.namespace});
    let object = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}).to_string();
    let made = written(fixture.access.write(&anyone(), &create(object.clone(), IfExists::Fail)).await);
    let name = made["metadata"]["name"].as_str().unwrap();
    assert!(name.starts_with("job-") && name.len() > 4, "{name}");
    assert_eq!(fixture.records.take(), [format!("create v1 ConfigMap {}/{name}: ok 201 1", fixture.namespace)]);
    let error = fixture.access.write(&anyone(), &create(object, IfExists::Keep)).await.unwrap_err();
    assert_eq!(error.reason, CallReason::Invalid);
}

#[tokio::test]
async fn bodies_that_say_too_little_or_are_no_objects_are_refused() {
    let fixture = Fixture::start("bodies").await;
    for object in [
        r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"}}"#,
        r#"{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"a","namespace":"b"}}"#,
        r#"{"apiVersion":"v1","kind":"Namespace","metadata":{}}"#,
        r#"{"apiVersion":"v1","kind":"Namespace"}"#,
        r#"{"kind":"Namespace","metadata":{"name":"a"}}"#,
        r#"{"apiVersion":"v1","metadata":{"name":"a"}}"#,
        r#"{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"a","name":"b"}}"#,
        "kind: Namespace",
    ] {
        let error = fixture.access.write(&anyone(), &create(object.into(), IfExists::Fail)).await.unwrap_err();
        assert_eq!((error.reason, error.code), (CallReason::Invalid, None), "{object}: {}", error.message);
    }
    let records = fixture.records.take();
    assert!(records.len() == 8 && records.iter().all(|record| record.ends_with(": invalid - 0")), "{records:?}");
}

#[tokio::test]
async fn update_replaces_the_version_that_was_read() {
    let fixture = Fixture::start("update").await;
    let mut object = fixture.create("a", json!({"k": "1"})).await;
    object["data"] = json!({"k": "2"});
    object["metadata"].as_object_mut().unwrap().remove("managedFields");
    let update = Operation::Update(Update { object: object.to_string(), subresource: None });
    let stored = written(fixture.access.write(&anyone(), &update).await);
    assert_eq!(stored["data"]["k"], "2");
    let error = fixture.access.write(&anyone(), &update).await.unwrap_err();
    assert_eq!((error.reason, error.code), (CallReason::Conflict, Some(409)));

    let missing = Operation::Update(Update { object: fixture.config_map("b", json!({})), subresource: None });
    assert_eq!(fixture.access.write(&anyone(), &missing).await.unwrap_err().reason, CallReason::NotFound);
}

#[tokio::test]
async fn every_kind_of_patch_changes_the_object() {
    let fixture = Fixture::start("patch").await;
    fixture.create("a", json!({"k": "0"})).await;
    let bodies = [
        (PatchBody::Json(r#"[{"op":"replace","path":"/data/k","value":"1"}]"#.into()), "1"),
        (PatchBody::Merge(r#"{"data":{"k":"2"}}"#.into()), "2"),
        (PatchBody::Strategic(r#"{"data":{"k":"3"}}"#.into()), "3"),
        (PatchBody::Jq(".data.k = \"4\"".into()), "4"),
        (PatchBody::Jq(".data.k |= (tonumber + 1 | tostring) | del(.metadata.resourceVersion)".into()), "5"),
    ];
    for (body, expected) in bodies {
        let object = written(fixture.access.write(&anyone(), &patch(fixture.object("ConfigMap", "a"), body)).await);
        assert_eq!(object["data"]["k"], expected);
        assert_eq!(fixture.live("a").await.unwrap()["data"]["k"], expected);
    }
}

#[tokio::test]
async fn an_object_that_is_missing_can_be_ignored() {
    let fixture = Fixture::start("ignore").await;
    let bodies = || {
        [
            PatchBody::Json(r#"[{"op":"add","path":"/data/k","value":"1"}]"#.into()),
            PatchBody::Merge("{}".into()),
            PatchBody::Strategic("{}".into()),
            PatchBody::Jq(".".into()),
        ]
    };
    for (body, ignored) in bodies().into_iter().zip(bodies()) {
        let error = fixture.access.write(&anyone(), &patch(fixture.object("ConfigMap", "a"), body)).await.unwrap_err();
        assert_eq!(error.reason, CallReason::NotFound);
        let target = fixture.object("ConfigMap", "a");
        let ignored = Operation::Patch(Patch { target, body: ignored, subresource: None, ignore_missing: true });
        assert_eq!(fixture.access.write(&anyone(), &ignored).await.unwrap(), None);
    }
}

#[tokio::test]
async fn jq_writes_only_what_changed_and_only_the_same_object() {
    let fixture = Fixture::start("jq").await;
    let before = fixture.create("a", json!({"k": "1"})).await;
    let jq = async |program: &str| {
        let operation = patch(fixture.object("ConfigMap", "a"), PatchBody::Jq(program.to_owned()));
        fixture.access.write(&anyone(), &operation).await
    };
    assert_eq!(written(jq(".").await)["metadata"]["uid"], before["metadata"]["uid"]);
    assert_eq!(fixture.records.take(), [format!("update v1 ConfigMap {}/a: ok 200 1", fixture.namespace)]);
    for program in [".metadata.name = \"b\"", ".kind = \"Secret\"", "empty", ".data", ".[", "error(\"no\")"] {
        assert_eq!(jq(program).await.unwrap_err().reason, CallReason::Invalid, "{program}");
    }
    let after = fixture.live("a").await.unwrap();
    assert_eq!(after["metadata"]["resourceVersion"], before["metadata"]["resourceVersion"]);
}

#[tokio::test]
async fn jq_begins_anew_when_the_object_changed_meanwhile() {
    let fixture = Fixture::start("race").await;
    fixture.create("a", json!({"n": "0"})).await;
    let add = patch(fixture.object("ConfigMap", "a"), PatchBody::Jq(".data.n |= (tonumber + 1 | tostring)".into()));
    let caller = anyone();
    let results = futures::future::join_all((0..4).map(|_| fixture.access.write(&caller, &add))).await;
    let written = results.iter().filter(|result| result.is_ok()).count();
    assert_eq!(fixture.live("a").await.unwrap()["data"]["n"], written.to_string());
    assert!(results.iter().flat_map(|result| result.as_ref().err()).all(|error| error.reason == CallReason::Conflict));
}

#[tokio::test]
async fn apply_creates_owns_and_takes_over() {
    let fixture = Fixture::start("apply").await;
    let apply = async |data: Value, force, manager: Option<&str>| {
        let object = fixture.config_map("a", data);
        let body = PatchBody::Apply { object, force, field_manager: manager.map(str::to_owned) };
        fixture.access.write(&anyone(), &patch(fixture.object("ConfigMap", "a"), body)).await
    };
    written(apply(json!({"k": "1", "gone": "1"}), false, None).await);
    assert_eq!(managers(&fixture.live("a").await.unwrap()), ["boathook.dev/probe"]);
    assert_eq!(written(apply(json!({"k": "1"}), false, None).await)["data"], json!({"k": "1"}));

    let error = apply(json!({"k": "2"}), false, Some("other")).await.unwrap_err();
    assert_eq!((error.reason, error.code), (CallReason::Conflict, Some(409)));
    assert_eq!(written(apply(json!({"k": "2"}), true, Some("other")).await)["data"]["k"], "2");
}

#[tokio::test]
async fn an_apply_may_hold_escaped_characters() {
    let fixture = Fixture::start("escapes").await;
    let object = fixture.config_map("a", json!({"k": "X"})).replace('X', r"\ud83d\ude00\/\u00e4");
    let body = PatchBody::Apply { object, force: false, field_manager: None };
    written(fixture.access.write(&anyone(), &patch(fixture.object("ConfigMap", "a"), body)).await);
    assert_eq!(fixture.live("a").await.unwrap()["data"]["k"], "😀/ä");
}

#[tokio::test]
async fn an_apply_into_a_missing_namespace_is_not_found_even_when_missing_objects_are_ignored() {
    let fixture = Fixture::start("nons").await;
    let target = ObjectRef { namespace: Some("it-none".into()), ..fixture.object("ConfigMap", "a") };
    let object = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}).to_string();
    let body = PatchBody::Apply { object, force: false, field_manager: None };
    let operation = Operation::Patch(Patch { target, body, subresource: None, ignore_missing: true });
    assert_eq!(fixture.access.write(&anyone(), &operation).await.unwrap_err().reason, CallReason::NotFound);
}

#[tokio::test]
async fn subresources_are_written_at_their_own_place() {
    let fixture = Fixture::start("sub").await;
    let container = json!({"name": "c", "image": "i"});
    let template = json!({"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [container]}});
    let spec = json!({"replicas": 1, "selector": {"matchLabels": {"a": "b"}}, "template": template});
    let metadata = json!({"name": "d", "namespace": fixture.namespace});
    let object = json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": spec});
    written(fixture.access.write(&anyone(), &create(object.to_string(), IfExists::Fail)).await);
    let target = ObjectRef { api_version: "apps/v1".into(), ..fixture.object("Deployment", "d") };

    let scale = Operation::Patch(Patch {
        target: target.clone(),
        body: PatchBody::Merge(r#"{"spec":{"replicas":3}}"#.into()),
        subresource: Some("scale".into()),
        ignore_missing: false,
    });
    assert_eq!(written(fixture.access.write(&anyone(), &scale).await)["kind"], "Scale");
    let read = parsed(&fixture.access.get(&anyone(), &target, Some("scale")).await.unwrap());
    assert_eq!(read["spec"]["replicas"], 3);

    let update = Operation::Update(Update { object: read.to_string(), subresource: Some("scale".into()) });
    let error = fixture.access.write(&anyone(), &update).await.unwrap_err();
    assert!(error.reason == CallReason::Invalid && error.message.contains("patch the object"), "{error}");
    let jq = Operation::Patch(Patch {
        target: target.clone(),
        body: PatchBody::Jq(".spec.replicas += 1".into()),
        subresource: Some("scale".into()),
        ignore_missing: false,
    });
    assert_eq!(written(fixture.access.write(&anyone(), &jq).await)["spec"]["replicas"], 4);

    let status = Operation::Patch(Patch {
        target: target.clone(),
        body: PatchBody::Jq(".status.replicas = 7 | .spec.replicas = 9".into()),
        subresource: Some("status".into()),
        ignore_missing: false,
    });
    let object = written(fixture.access.write(&anyone(), &status).await);
    assert_eq!((&object["status"]["replicas"], &object["spec"]["replicas"]), (&json!(7), &json!(4)));
    let records = fixture.records.take();
    assert!(records[1].contains("Deployment") && records[1].contains("(scale): ok 200 1"), "{records:?}");
}

#[tokio::test]
async fn a_pod_is_evicted_through_its_subresource() {
    let fixture = Fixture::start("evict").await;
    let metadata = json!({"name": "p", "namespace": fixture.namespace});
    let spec = json!({"containers": [{"name": "c", "image": "i"}], "automountServiceAccountToken": false, "serviceAccountName": "it"});
    let path = format!("/api/v1/namespaces/{}/serviceaccounts", fixture.namespace);
    fixture.raw("POST", &path, Some(json!({"metadata": {"name": "it"}}))).await.unwrap();
    let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}).to_string();
    written(fixture.access.write(&anyone(), &create(pod, IfExists::Fail)).await);
    let body = |name: &str| {
        let metadata = json!({"name": name, "namespace": fixture.namespace});
        json!({"apiVersion": "policy/v1", "kind": "Eviction", "metadata": metadata}).to_string()
    };
    let evict = |object, if_exists| {
        let subresource = Some(("eviction".to_owned(), fixture.object("Pod", "p")));
        Operation::Create(Create { object, if_exists, subresource })
    };
    for (object, if_exists) in [(body("other"), IfExists::Fail), (body("p"), IfExists::Replace)] {
        let error = fixture.access.write(&anyone(), &evict(object, if_exists)).await.unwrap_err();
        assert_eq!((error.reason, error.code), (CallReason::Invalid, None), "{}", error.message);
    }
    fixture.access.write(&anyone(), &evict(body("p"), IfExists::Fail)).await.unwrap();
    let gone = fixture.access.get(&anyone(), &fixture.object("Pod", "p"), None).await;
    assert_eq!(gone.unwrap_err().reason, CallReason::NotFound);
}

#[tokio::test]
async fn delete_with_its_conditions() {
    let fixture = Fixture::start("delete").await;
    let uid = fixture.create("a", json!({})).await["metadata"]["uid"].as_str().unwrap().to_owned();
    let target = || fixture.object("ConfigMap", "a");
    let run = async |delete: Delete| fixture.access.write(&anyone(), &Operation::Delete(delete)).await;

    for wrong in [
        Delete { uid: Some("other".into()), ..delete(target()) },
        Delete { resource_version: Some("1".into()), ..delete(target()) },
    ] {
        assert_eq!(run(wrong).await.unwrap_err().reason, CallReason::Conflict);
    }
    assert!(fixture.live("a").await.is_some());
    run(Delete { uid: Some(uid), ..delete(target()) }).await.unwrap();
    assert!(fixture.live("a").await.is_none());
    assert_eq!(run(delete(target())).await.unwrap_err().reason, CallReason::NotFound);
    assert_eq!(run(Delete { ignore_missing: true, ..delete(target()) }).await.unwrap(), None);
}

#[tokio::test]
async fn a_deletion_waits_for_finalizers_or_says_which_are_left() {
    let fixture = Fixture::start("wait").await;
    fixture.create("a", json!({})).await;
    let path = format!("/api/v1/namespaces/{}/configmaps/a", fixture.namespace);
    let held = json!({"metadata": {"finalizers": ["example.com/hold"]}});
    fixture.raw("PATCH", &path, Some(held)).await.unwrap();
    let caller = anyone();
    let gone = |wait| Operation::Delete(Delete { wait: Some(wait), ..delete(fixture.object("ConfigMap", "a")) });

    let error = fixture.access.write(&caller, &gone(Duration::from_millis(100))).await.unwrap_err();
    assert_eq!(error.reason, CallReason::Timeout);
    assert!(error.message.contains("example.com/hold"), "{}", error.message);

    let operation = gone(Duration::from_secs(30));
    let release = async {
        fixture.raw("PATCH", &path, Some(json!({"metadata": {"finalizers": null}}))).await.unwrap();
    };
    let (deleted, ()) = futures::join!(fixture.access.write(&caller, &operation), release);
    // Gone either way; the deletion may have come after the release.
    if let Err(error) = deleted {
        assert_eq!(error.reason, CallReason::NotFound);
    }
    assert!(fixture.live("a").await.is_none());
}

#[tokio::test]
async fn a_dry_run_changes_nothing() {
    let fixture = Fixture::start("dry").await;
    fixture.create("a", json!({"k": "1"})).await;
    let caller = Caller { dry_run: true, ..anyone() };
    let target = || fixture.object("ConfigMap", "a");
    let other = |name: &str| fixture.config_map(name, json!({"k": "2"}));
    let apply = PatchBody::Apply { object: other("a"), force: true, field_manager: None };
    let operations = [
        create(other("b"), IfExists::Fail),
        create(other("a"), IfExists::Replace),
        Operation::Update(Update { object: other("a"), subresource: None }),
        patch(target(), PatchBody::Merge(r#"{"data":{"k":"2"}}"#.into())),
        patch(target(), PatchBody::Jq(".data.k = \"2\"".into())),
        patch(target(), apply),
        Operation::Delete(Delete { wait: Some(Duration::from_secs(30)), ..delete(target()) }),
    ];
    for operation in &operations {
        let object = fixture.access.write(&caller, operation).await.unwrap();
        if !matches!(operation, Operation::Delete(_)) {
            assert_eq!(parsed(&object.unwrap())["data"]["k"], "2", "{operation:?}");
        }
        assert_eq!(fixture.live("a").await.unwrap()["data"]["k"], "1", "{operation:?}");
    }
    assert!(fixture.live("b").await.is_none());
    let records = fixture.records.take();
    assert!(records.iter().all(|record| record.contains(" dry-run ")), "{records:?}");
}
