//! `emit-event`.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use boathook_core::model::{CallReason, EmitEvent, EventType, ObjectRef};
use serde_json::{Value, json};

use super::fixture::{Fixture, anyone};

async fn events(fixture: &Fixture, namespace: &str) -> Vec<Value> {
    let path = format!("/apis/events.k8s.io/v1/namespaces/{namespace}/events");
    let list = fixture.raw("GET", &path, None).await.unwrap();
    list["items"].as_array().unwrap().iter().filter(|event| event["reason"] == "Probed").cloned().collect()
}

#[tokio::test]
async fn an_event_says_what_where_and_by_whom() {
    let fixture = Fixture::start("event").await;
    let regarding = fixture.object("ConfigMap", "Odd_name:1");
    let note = "ü".repeat(600);
    let event = EmitEvent { regarding, event_type: EventType::Warning, reason: "Probed".into(), note };
    fixture.access.emit_event(&anyone(), &event).await.unwrap();
    fixture.access.emit_event(&anyone(), &event).await.unwrap();

    let events = events(&fixture, &fixture.namespace).await;
    assert_eq!(events.len(), 1, "said twice in one run, it is one event: {events:?}");
    let event = &events[0];
    let about = json!({"apiVersion": "v1", "kind": "ConfigMap", "namespace": fixture.namespace, "name": "Odd_name:1"});
    assert_eq!(event["regarding"], about);
    assert_eq!((&event["type"], &event["action"]), (&json!("Warning"), &json!("Probed")));
    assert_eq!(
        (&event["reportingController"], &event["reportingInstance"]),
        (&json!("boathook.dev/probe"), &json!("boathook"))
    );
    assert_eq!(event["note"], "ü".repeat(512));
    assert!(event["eventTime"].is_string());
    let records = fixture.records.take();
    let first = format!("create events.k8s.io/v1 Event {}/", fixture.namespace);
    assert!(records[0].starts_with(&first) && records[0].ends_with(": ok 201 1"), "{records:?}");
}

#[tokio::test]
async fn the_events_of_cluster_scoped_objects_are_in_default() {
    let fixture = Fixture::start("event-default").await;
    let regarding = ObjectRef { kind: "Namespace".into(), namespace: None, ..fixture.object("", &fixture.namespace) };
    let name = regarding.name.clone();
    let event = EmitEvent { regarding, event_type: EventType::Normal, reason: "Probed".into(), note: String::new() };
    fixture.access.emit_event(&anyone(), &event).await.unwrap();
    let events = events(&fixture, "default").await;
    assert!(events.iter().any(|event| event["regarding"]["name"] == name.as_str()), "{events:?}");
}

#[tokio::test]
async fn a_reason_is_one_short_word() {
    let fixture = Fixture::start("event-reason").await;
    for reason in [String::new(), "x".repeat(129), "a\nb".into()] {
        let regarding = fixture.object("ConfigMap", "a");
        let event = EmitEvent { regarding, event_type: EventType::Normal, reason, note: String::new() };
        let error = fixture.access.emit_event(&anyone(), &event).await.unwrap_err();
        assert_eq!((error.reason, error.code), (CallReason::Invalid, None));
    }
}
