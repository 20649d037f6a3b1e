//! CustomResourceDefinitions: served at once, gone with their objects.

use futures::StreamExt;
use kube::api::{ApiResource, GroupVersionKind};
use kube::discovery::Discovery;
use serde_json::{Value, json};

use super::support::{Fixture, message, soon, start};
use super::watches::{next, watch_at};

const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const WIDGETS: &str = "/apis/example.com/v1/namespaces/default/widgets";

fn version(name: &str, storage: bool) -> Value {
    json!({
        "name": name, "served": true, "storage": storage,
        "subresources": { "status": {}, "scale": { "specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas" } },
        "additionalPrinterColumns": [{ "name": "Color", "type": "string", "jsonPath": ".spec.color" }],
        "selectableFields": [{ "jsonPath": ".spec.color" }],
        "schema": { "openAPIV3Schema": { "type": "object", "properties": {
            "spec": { "type": "object", "properties": {
                "color": { "type": "string", "enum": ["red", "blue"], "default": "red" },
                "replicas": { "type": "integer" },
            } },
            "status": { "type": "object", "x-kubernetes-preserve-unknown-fields": true },
        } } },
    })
}

async fn defined() -> Fixture {
    let f = start().await;
    let body = json!({
        "metadata": { "name": "widgets.example.com" },
        "spec": {
            "group": "example.com", "scope": "Namespaced", "names": { "plural": "widgets", "kind": "Widget", "shortNames": ["wd"] },
            "versions": [version("v1", true), version("v1beta1", false)],
        },
    });
    let (code, made) = f.post(DEFINITIONS, body).await;
    assert_eq!(code, 201, "{made}");
    // The answer shows the definition before it was looked at.
    let (_, made) = f.get(&format!("{DEFINITIONS}/widgets.example.com")).await;
    let established = made["status"]["conditions"].as_array().unwrap().iter().any(|c| c["type"] == "Established");
    assert!(established, "{made}");
    f
}

fn widget(spec: Value) -> Value {
    json!({ "apiVersion": "example.com/v1", "kind": "Widget", "metadata": { "name": "w" }, "spec": spec })
}

#[tokio::test]
async fn a_definition_is_served_in_all_versions() {
    let f = defined().await;
    let discovery = Discovery::new(f.client.clone()).run().await.unwrap();
    let gvk = GroupVersionKind::gvk("example.com", "v1", "Widget");
    let (resource, _) = discovery.resolve_gvk(&gvk).unwrap();
    assert_eq!(resource, ApiResource::from_gvk_with_plural(&gvk, "widgets"));
    assert_eq!(f.post(WIDGETS, widget(json!({}))).await.0, 201);
    let (_, older) = f.get("/apis/example.com/v1beta1/namespaces/default/widgets/w").await;
    assert_eq!((&older["apiVersion"], &older["spec"]["color"]), (&json!("example.com/v1beta1"), &json!("red")));
    let (_, found) = f.get(&format!("{WIDGETS}?fieldSelector=spec.color%3Dred")).await;
    assert_eq!(found["items"].as_array().unwrap().len(), 1);
    let unconditional = f.put(&format!("{WIDGETS}/w"), widget(json!({}))).await;
    assert_eq!(unconditional.0, 422);
    assert_eq!(f.patch(&format!("{WIDGETS}/w"), "strategic-merge", json!({})).await.0, 415);
}

#[tokio::test]
async fn objects_follow_their_schema() {
    let f = defined().await;
    let refused = f.post(WIDGETS, widget(json!({ "color": "green" }))).await;
    assert_eq!(refused.0, 422);
    assert_eq!(
        message(&refused),
        "Widget.example.com \"w\" is invalid: spec.color: Unsupported value: \"green\": supported values: \"red\", \"blue\""
    );
    let strict = f.post(&format!("{WIDGETS}?fieldValidation=Strict"), widget(json!({ "colour": "red" }))).await;
    assert_eq!(strict.0, 400);
    let (_, made) = f.post(WIDGETS, widget(json!({ "colour": "red" }))).await;
    assert_eq!(made["spec"], json!({ "color": "red" }));
}

#[tokio::test]
async fn status_and_scale_are_subresources() {
    let f = defined().await;
    let mut body = widget(json!({ "replicas": 1 }));
    body["status"] = json!({ "replicas": 9 });
    let (_, made) = f.post(WIDGETS, body).await;
    assert_eq!((made.get("status"), &made["metadata"]["generation"]), (None, &json!(1)));
    let path = format!("{WIDGETS}/w");
    let (_, status) = f
        .patch(&format!("{path}/status"), "merge", json!({ "status": { "replicas": 2 }, "spec": { "replicas": 5 } }))
        .await;
    assert_eq!((&status["status"]["replicas"], &status["spec"]["replicas"]), (&json!(2), &json!(1)));
    assert_eq!(status["metadata"]["generation"], 1);
    let (_, scale) = f.patch(&format!("{path}/scale"), "merge", json!({ "spec": { "replicas": 4 } })).await;
    assert_eq!((&scale["spec"]["replicas"], &scale["status"]["replicas"]), (&json!(4), &json!(2)));
    assert_eq!(f.get(&path).await.1["metadata"]["generation"], 2);
}

#[tokio::test]
async fn a_definition_goes_with_its_objects() {
    let f = defined().await;
    let mut body = widget(json!({}));
    body["metadata"]["finalizers"] = json!(["example.com/hold"]);
    f.post(WIDGETS, body).await;
    f.delete(&format!("{DEFINITIONS}/widgets.example.com")).await;
    let (_, held) = f.get(&format!("{WIDGETS}/w")).await;
    assert!(held["metadata"]["deletionTimestamp"].is_string());
    f.patch(&format!("{WIDGETS}/w"), "merge", json!({ "metadata": { "finalizers": null } })).await;
    assert_eq!(f.get(&format!("{DEFINITIONS}/widgets.example.com")).await.0, 404);
    assert_eq!(f.get(WIDGETS).await.0, 404);
}

#[tokio::test]
async fn watches_see_the_end_of_a_definition() {
    let f = defined().await;
    let (_, made) = f.post(WIDGETS, widget(json!({}))).await;
    let from = format!("resourceVersion={}", made["metadata"]["resourceVersion"].as_str().unwrap());
    let mut running = watch_at(&f.client, WIDGETS, &from).await;
    let definition = format!("{DEFINITIONS}/widgets.example.com");
    let (_, definition_before) = f.get(&definition).await;
    f.delete(&definition).await;
    let deleted = next(&mut running).await;
    assert_eq!((&deleted["type"], &deleted["object"]["metadata"]["name"]), (&json!("DELETED"), &json!("w")));
    assert!(soon("the end", running.next()).await.is_none());
    // The history of a namesake is not continued.
    let spec = definition_before["spec"].clone();
    let (code, again) =
        f.post(DEFINITIONS, json!({ "metadata": { "name": "widgets.example.com" }, "spec": spec })).await;
    assert_eq!(code, 201, "{again}");
    f.post(WIDGETS, widget(json!({}))).await;
    let mut late = watch_at(&f.client, WIDGETS, &from).await;
    assert_eq!(next(&mut late).await["object"]["code"], 410);
}

#[tokio::test]
async fn watches_end_when_a_version_is_no_longer_served() {
    let f = defined().await;
    let beta = WIDGETS.replace("v1", "v1beta1");
    let (_, list) = f.get(&beta).await;
    let from = format!("resourceVersion={}", list["metadata"]["resourceVersion"].as_str().unwrap());
    let mut running = watch_at(&f.client, &beta, &from).await;
    let patch = json!([{ "op": "replace", "path": "/spec/versions/1/served", "value": false }]);
    let (code, _) = f.patch(&format!("{DEFINITIONS}/widgets.example.com"), "json", patch).await;
    assert_eq!(code, 200);
    assert!(soon("the end", running.next()).await.is_none());
    assert_eq!((f.get(&beta).await.0, f.get(WIDGETS).await.0), (404, 200));
}

#[tokio::test]
async fn unusable_definitions_are_refused() {
    let f = start().await;
    let body = json!({
        "metadata": { "name": "wrong.example.com" },
        "spec": { "group": "example.com", "scope": "Everywhere", "names": { "plural": "widgets", "kind": "Widget" }, "versions": [] },
    });
    let refused = f.post(DEFINITIONS, body).await;
    assert_eq!(refused.0, 422);
    let fields: Vec<&Value> = refused.1["details"]["causes"].as_array().unwrap().iter().map(|c| &c["field"]).collect();
    assert_eq!(fields, ["metadata.name", "spec.scope", "spec.versions", "status.storedVersions"]);
}

fn ruled(plural: &str, kind: &str) -> Value {
    json!({
        "metadata": { "name": format!("{plural}.example.com") },
        "spec": {
            "group": "example.com", "scope": "Namespaced", "names": { "plural": plural, "kind": kind },
            "versions": [{ "name": "v1", "served": true, "storage": true, "schema": { "openAPIV3Schema": {
                "type": "object", "properties": { "spec": { "type": "object", "properties": {
                    "low": { "type": "integer" }, "high": { "type": "integer" },
                    "fixed": { "type": "string", "x-kubernetes-validations": [{ "rule": "self == oldSelf" }] },
                }, "x-kubernetes-validations": [
                    { "rule": "!has(self.high) || self.low <= self.high", "message": "low must not exceed high" },
                ] } },
            } } }],
        },
    })
}

#[tokio::test]
async fn rules_hold_for_new_objects_and_for_changes() {
    let f = start().await;
    assert_eq!(f.post(DEFINITIONS, ruled("widgets", "Widget")).await.0, 201);
    let refused = f.post(WIDGETS, widget(json!({ "low": 3, "high": 2 }))).await;
    assert_eq!(message(&refused), "Widget.example.com \"w\" is invalid: spec: Invalid value: low must not exceed high");
    assert_eq!(f.post(WIDGETS, widget(json!({ "low": 1, "high": 2, "fixed": "a" }))).await.0, 201);
    let path = format!("{WIDGETS}/w");
    let refused = f.patch(&path, "merge", json!({ "spec": { "fixed": "b" } })).await;
    assert_eq!(
        message(&refused),
        "Widget.example.com \"w\" is invalid: spec.fixed: Invalid value: \"b\": failed rule: self == oldSelf"
    );
    assert_eq!(f.patch(&path, "merge", json!({ "spec": { "low": 2 } })).await.0, 200);
    let mut broken = ruled("gadgets", "Gadget");
    broken["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["x-kubernetes-validations"] =
        json!([{ "rule": "self.missing == 1" }]);
    let refused = f.post(DEFINITIONS, broken).await;
    assert!(message(&refused).contains("ERROR: <input>:1:5: undefined field 'missing'"), "{refused:?}");
}

#[tokio::test]
async fn a_kind_that_is_taken_is_not_served_again() {
    let f = start().await;
    assert_eq!(f.post(DEFINITIONS, ruled("widgets", "Widget")).await.0, 201);
    assert_eq!(f.post(DEFINITIONS, ruled("gadgets", "Widget")).await.0, 201);
    let (_, second) = f.get(&format!("{DEFINITIONS}/gadgets.example.com")).await;
    let conditions = second["status"]["conditions"].as_array().unwrap();
    let reasons: Vec<&Value> = conditions.iter().map(|c| &c["reason"]).collect();
    assert_eq!(reasons, ["ListKindConflict", "NotAccepted"]);
    let (_, served) = f.get("/apis/example.com/v1").await;
    let names: Vec<&Value> = served["resources"].as_array().unwrap().iter().map(|r| &r["name"]).collect();
    assert_eq!(names, ["widgets"]);
}
