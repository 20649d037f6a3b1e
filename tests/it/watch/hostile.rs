//! Objects as no API server should send them, and as a broken aggregated one might.

use boathook_kube::watch::{StreamConfig, Streams};
use serde_json::{Map, Value, json};

use super::{
    follower::{Follower, config_maps},
    recorder::Recorder,
    scripted::Scripted,
};

/// What may stand where something else is expected.
fn values() -> Vec<Value> {
    let deep = (0..1000).fold(json!("x"), |inner, _| json!([inner]));
    vec![
        Value::Null,
        json!(true),
        json!(-1),
        json!(u64::MAX),
        json!(1e300),
        json!(""),
        json!("/"),
        json!(",,,"),
        json!("a\u{0}b\r\n\u{202e}ä🦀"),
        json!("x".repeat(100_000)),
        json!([]),
        json!([null, {}, []]),
        json!({}),
        json!({"": ""}),
        json!({"a": {"a": null}}),
        deep,
    ]
}

/// Every field that something reads, wrong in every way, and left out.
fn objects() -> Vec<Value> {
    let good = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {
        "name": "hostile", "namespace": "n", "uid": "u", "resourceVersion": "7", "generation": 1,
        "creationTimestamp": "2026-01-01T00:00:00Z", "deletionTimestamp": "2026-01-01T00:00:00Z",
        "labels": {"a": "b"}, "annotations": {"a": "b"}, "finalizers": ["a"],
        "ownerReferences": [{"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "u"}],
        "managedFields": [{"manager": "m", "operation": "Update", "time": "2026-01-01T00:00:00Z", "fieldsV1": {}}],
    }, "data": {"a": "b"}, "status": {"a": 1}});
    let fields = |at: &str| good.pointer(at).and_then(Value::as_object).unwrap().keys().cloned().collect::<Vec<_>>();
    let mut places: Vec<String> = fields("").into_iter().map(|key| format!("/{key}")).collect();
    for at in ["/metadata", "/metadata/managedFields/0", "/metadata/ownerReferences/0", "/metadata/annotations"] {
        places.extend(fields(at).into_iter().map(|key| format!("{at}/{key}")));
    }
    let mut all = values();
    for place in &places {
        for value in values() {
            let mut object = good.clone();
            *object.pointer_mut(place).unwrap() = value;
            all.push(object);
        }
        let (parent, key) = place.rsplit_once('/').unwrap();
        let mut object = good.clone();
        object.pointer_mut(parent).and_then(Value::as_object_mut).map(|fields: &mut Map<_, _>| fields.remove(key));
        all.push(object);
    }
    all
}

/// Argo Workflows CVE-2026-40886: one annotation that could not be split made the informer panic, again at every start.
// mutant: crates/core/src/model/object.rs: `text(&meta, "name")?.ok_or(InvalidObject::NoName)?` => `text(&meta, "name")?.unwrap()`
#[tokio::test]
async fn cve_2026_40886_no_object_stops_the_informer() {
    let mut server = Scripted::start().await;
    let config = StreamConfig { streaming_lists: false, ..StreamConfig::default() };
    let streams = Streams::new(server.client(), config, Recorder::new());
    let mut follower = Follower::new(streams.subscribe(config_maps()));
    let objects = objects();
    assert!(objects.len() > 400);
    let good = json!({"metadata": {"name": "good", "namespace": "n", "resourceVersion": "9"}});
    // All of them in a list, and then each as a change of every kind.
    let mut items = objects.clone();
    items.push(good.clone());
    let first = server.next().await;
    first.text(json!({"metadata": {"resourceVersion": "5"}, "items": items}).to_string());
    follower.until(|follower| follower.names().contains(&"good")).await;
    let mut lines: String = objects
        .iter()
        .flat_map(|object| ["ADDED", "MODIFIED", "DELETED"].map(|kind| json!({"type": kind, "object": object})))
        .map(|line| format!("{line}\n"))
        .collect();
    let after = json!({"metadata": {"name": "after", "namespace": "n", "resourceVersion": "10"}});
    lines.push_str(&format!("{}\n", json!({"type": "ADDED", "object": after})));
    let sent = loop {
        let asked = server.next().await;
        if !asked.is_page() {
            let sent = asked.lines();
            sent.raw(&lines);
            break sent;
        }
        asked.text(json!({"metadata": {"resourceVersion": "5"}, "items": [good]}).to_string());
    };
    follower.until(|follower| follower.names().contains(&"after")).await;
    drop(sent);
}
