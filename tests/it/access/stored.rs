//! Which version each write is reported to have made, or that it is not known.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use boathook_core::model::{
    Caller, Create, Delete, EmitEvent, EventType, IfExists, Operation, PatchBody, Propagation, Update,
};
use serde_json::{Value, json};

use super::{
    fixture::{Fixture, anyone, patch, written},
    script::{Script, Step},
};

const OBJECT: &str =
    r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","namespace":"n","uid":"u","resourceVersion":"7"}}"#;

fn version(object: &Value) -> String {
    format!(
        "{} {}",
        object["metadata"]["uid"].as_str().unwrap(),
        object["metadata"]["resourceVersion"].as_str().unwrap()
    )
}

#[tokio::test]
async fn each_write_makes_the_version_of_its_response() {
    let fixture = Fixture::start("stored").await;
    let caller = anyone();
    let object = |name: &str| fixture.object("ConfigMap", name);
    let mut expected = Vec::new();
    let mut write = async |operation: Operation| {
        let made = written(fixture.access.write(&caller, &operation).await);
        expected.push(version(&made));
        made
    };
    let create = fixture.config_map("a", json!({"k": "1"}));
    write(Operation::Create(Create { object: create, if_exists: IfExists::Fail, subresource: None })).await;
    let update = fixture.config_map("a", json!({"k": "2"}));
    write(Operation::Update(Update { object: update, subresource: None })).await;
    write(patch(object("a"), PatchBody::Merge(json!({"data": {"k": "3"}}).to_string()))).await;
    write(patch(object("a"), PatchBody::Json(json!([{"op": "add", "path": "/data/l", "value": "4"}]).to_string())))
        .await;
    write(patch(object("a"), PatchBody::Jq(".data.k = \"5\"".to_owned()))).await;
    write(fixture.apply("b", json!({"k": "6"}))).await;
    let replace = fixture.config_map("a", json!({"k": "7"}));
    write(Operation::Create(Create { object: replace, if_exists: IfExists::Replace, subresource: None })).await;
    let metadata = json!({"generateName": "c-", "namespace": fixture.namespace});
    let generated = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}).to_string();
    let named =
        write(Operation::Create(Create { object: generated, if_exists: IfExists::Fail, subresource: None })).await;

    let told = fixture.records.stored();
    let versions: Vec<_> = told.iter().map(|line| line.split(": ").nth(1).unwrap().to_owned()).collect();
    assert_eq!(versions, expected, "{told:?}");
    assert!(told.last().unwrap().contains(named["metadata"]["name"].as_str().unwrap()), "{told:?}");
    assert!(told[2].ends_with("certain .data.k"), "{told:?}");
}

#[tokio::test]
async fn what_changes_nothing_makes_nothing() {
    let fixture = Fixture::start("unchanged").await;
    fixture.create("a", json!({"k": "1"})).await;
    let caller = anyone();
    // Somebody else made the version in the response.
    let same = patch(fixture.object("ConfigMap", "a"), PatchBody::Merge(json!({"data": {"k": "1"}}).to_string()));
    written(fixture.access.write(&caller, &same).await);
    let jq = patch(fixture.object("ConfigMap", "a"), PatchBody::Jq(".".to_owned()));
    written(fixture.access.write(&caller, &jq).await);
    let keep = fixture.config_map("a", json!({"k": "2"}));
    let keep = Operation::Create(Create { object: keep, if_exists: IfExists::Keep, subresource: None });
    assert_eq!(fixture.access.write(&caller, &keep).await.unwrap(), None);
    // A dry run stores nothing.
    let dry = Caller { dry_run: true, ..anyone() };
    let change = patch(fixture.object("ConfigMap", "a"), PatchBody::Merge(json!({"data": {"k": "3"}}).to_string()));
    written(fixture.access.write(&dry, &change).await);
    assert_eq!(fixture.records.stored(), Vec::<String>::new());
}

#[tokio::test]
async fn deletions_and_events_are_told() {
    let fixture = Fixture::start("deleted").await;
    let (caller, uid) = (anyone(), |object: &Value| object["metadata"]["uid"].as_str().unwrap().to_owned());
    let plain = uid(&fixture.create("plain", json!({})).await);
    let held = fixture.create("held", json!({})).await;
    let path = format!("/api/v1/namespaces/{}/configmaps/held", fixture.namespace);
    fixture.raw("PATCH", &path, Some(json!({"metadata": {"finalizers": ["example.com/held"]}}))).await.unwrap();
    for name in ["plain", "held"] {
        let delete = Delete {
            target: fixture.object("ConfigMap", name),
            propagation: Propagation::Background,
            ignore_missing: false,
            uid: None,
            resource_version: None,
            wait: None,
        };
        fixture.access.write(&caller, &Operation::Delete(delete)).await.unwrap();
    }
    let marked = fixture.live("held").await.unwrap();
    let event = EmitEvent {
        regarding: fixture.object("ConfigMap", "held"),
        event_type: EventType::Normal,
        reason: "Held".to_owned(),
        note: "it is".to_owned(),
    };
    fixture.access.emit_event(&caller, &event).await.unwrap();
    let told = fixture.records.stored();
    assert!(told[0].ends_with(&format!("plain: deletion {plain} -")), "{told:?}");
    let version = marked["metadata"]["resourceVersion"].as_str().unwrap();
    assert!(told[1].ends_with(&format!("held: deletion {} {version}", uid(&held))), "{told:?}");
    assert!(told[2].starts_with("create events.k8s.io/v1 Event "), "{told:?}");
    assert_eq!(told.len(), 3);
}

#[tokio::test]
async fn without_a_response_nobody_knows() {
    let merge = || patch(Script::object(), PatchBody::Merge("{}".into()));
    for fault in [Step::Cut, Step::Stall, Step::CutAnswer, Step::Flood, Step::Answer(504, "", "")] {
        let script = Script::start(vec![fault]).await;
        script.access.write(&anyone(), &merge()).await.unwrap_err();
        assert_eq!(script.records.stored(), ["patch v1 ConfigMap n/a: unknown"]);
    }
    // What the server turned away did not happen, and what it then did is known.
    let forbidden = Step::Answer(403, "", r#"{"kind":"Status","reason":"Forbidden","code":403}"#);
    let script = Script::start(vec![forbidden]).await;
    script.access.write(&anyone(), &merge()).await.unwrap_err();
    assert_eq!(script.records.stored(), Vec::<String>::new());
    let script = Script::start(vec![Step::Cut, Step::Answer(200, "", OBJECT)]).await;
    script.access.write(&anyone(), &merge()).await.unwrap();
    // The kind of this server is not tracked by field managers.
    assert_eq!(script.records.stored(), ["patch v1 ConfigMap n/a: u 7: possible"]);
    // The run ends before the response.
    let script = Script::start(vec![Step::Stall]).await;
    let (caller, operation) = (anyone(), merge());
    {
        let write = script.access.write(&caller, &operation);
        tokio::pin!(write);
        while script.requests().is_empty() {
            tokio::select! {
                biased;
                _ = &mut write => panic!("there is no response"),
                () = tokio::task::yield_now() => {}
            }
        }
    }
    assert_eq!(script.records.stored(), ["patch v1 ConfigMap n/a: unknown"]);
}
