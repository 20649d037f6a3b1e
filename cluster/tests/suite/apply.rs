//! Patches that merge lists, and server-side apply.

use serde_json::{Value, json};

use super::support::{Answer, Fixture, message, start};

const DEPLOYMENT: &str = "/apis/apps/v1/namespaces/default/deployments/d";

fn config(replicas: Option<i64>, image: &str) -> Value {
    let labels = json!({ "app": "d" });
    let mut config = json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": { "name": "d" },
        "spec": { "selector": { "matchLabels": labels }, "template": { "metadata": { "labels": labels },
            "spec": { "containers": [{ "name": "c", "image": image, "ports": [{ "containerPort": 80 }] }] } } },
    });
    if let Some(replicas) = replicas {
        config["spec"]["replicas"] = replicas.into();
    }
    config
}

async fn apply(f: &Fixture, manager: &str, force: bool, config: Value) -> Answer {
    let force = if force { "&force=true" } else { "" };
    f.patch(&format!("{DEPLOYMENT}?fieldManager={manager}{force}"), "apply", config).await
}

#[tokio::test]
async fn apply_creates_shares_and_conflicts() {
    let f = start().await;
    let (code, made) = apply(&f, "one", false, config(Some(2), "i:1")).await;
    assert_eq!(code, 201, "{made}");
    assert_eq!(made["spec"]["strategy"]["type"], "RollingUpdate");
    let owned = &made["metadata"]["managedFields"][0];
    assert_eq!((&owned["manager"], &owned["operation"]), (&json!("one"), &json!("Apply")));
    let container = &owned["fieldsV1"]["f:spec"]["f:template"]["f:spec"]["f:containers"]["k:{\"name\":\"c\"}"];
    assert_eq!(
        container["f:ports"]["k:{\"containerPort\":80,\"protocol\":\"TCP\"}"],
        json!({ ".": {}, "f:containerPort": {} })
    );
    let (_, same) = apply(&f, "one", false, config(Some(2), "i:1")).await;
    assert_eq!(same["metadata"]["resourceVersion"], made["metadata"]["resourceVersion"]);
    let conflict = apply(&f, "two", false, config(None, "i:2")).await;
    assert_eq!((conflict.0, &conflict.1["reason"]), (409, &json!("Conflict")));
    assert_eq!(
        message(&conflict),
        "Apply failed with 1 conflict: conflict with \"one\": .spec.template.spec.containers[name=\"c\"].image"
    );
    assert_eq!(conflict.1["details"]["causes"][0]["reason"], "FieldManagerConflict");
    let (_, forced) = apply(&f, "two", true, config(None, "i:2")).await;
    assert_eq!(forced["spec"]["template"]["spec"]["containers"][0]["image"], "i:2");
    // The first manager stops speaking of replicas: nobody owns it, so it falls back to its default.
    let (_, dropped) = apply(&f, "one", true, config(None, "i:2")).await;
    assert_eq!(dropped["spec"]["replicas"], 1);
}

#[tokio::test]
async fn apply_needs_a_manager_and_a_matching_name() {
    let f = start().await;
    assert_eq!(f.patch(DEPLOYMENT, "apply", config(None, "i")).await.0, 422);
    let mut other = config(None, "i");
    other["metadata"]["name"] = "e".into();
    assert_eq!(apply(&f, "m", false, other).await.0, 400);
    let mut owned = config(None, "i");
    owned["metadata"]["managedFields"] = json!([{ "manager": "x" }]);
    assert_eq!(apply(&f, "m", false, owned).await.0, 400);
    let mut unknown = config(None, "i");
    unknown["spec"]["bogus"] = 1.into();
    let refused = apply(&f, "m", false, unknown).await;
    assert_eq!(
        (refused.0, message(&refused)),
        (
            500,
            "failed to create typed patch object (/d; apps/v1, Kind=Deployment): .spec.bogus: field not declared in schema"
        )
    );
    let mut twice = config(None, "i");
    twice["spec"]["template"]["spec"]["containers"] = json!([{ "name": "a" }, { "name": "a" }]);
    assert!(message(&apply(&f, "m", false, twice).await).contains("duplicate entries for key [name=\"a\"]"));
}

#[tokio::test]
async fn items_of_different_managers_live_in_one_list() {
    let f = start().await;
    apply(&f, "one", false, config(None, "i")).await;
    let sidecar = json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": { "name": "d" },
        "spec": { "template": { "spec": { "containers": [{ "name": "side", "image": "s" }] } } },
    });
    let names = |d: &Value| -> Vec<String> {
        let list = d["spec"]["template"]["spec"]["containers"].as_array().unwrap();
        list.iter().map(|c| c["name"].as_str().unwrap().to_owned()).collect()
    };
    let (_, both) = apply(&f, "two", false, sidecar).await;
    assert_eq!(names(&both), ["c", "side"]);
    let nothing = json!({ "apiVersion": "apps/v1", "kind": "Deployment", "metadata": { "name": "d" } });
    let (_, one) = apply(&f, "two", false, nothing).await;
    assert_eq!(names(&one), ["c"]);
}

#[tokio::test]
async fn an_update_takes_fields_over() {
    let f = start().await;
    apply(&f, "one", false, config(Some(1), "i")).await;
    let (_, patched) =
        f.patch(&format!("{DEPLOYMENT}?fieldManager=editor"), "merge", json!({ "spec": { "replicas": 5 } })).await;
    assert_eq!(patched["spec"]["replicas"], 5);
    let refused = apply(&f, "one", false, config(Some(1), "i")).await;
    assert_eq!(refused.0, 409);
    assert_eq!(
        message(&refused),
        "Apply failed with 1 conflict: conflict with \"editor\" using apps/v1: .spec.replicas"
    );
}

#[tokio::test]
async fn strategic_merge_knows_the_lists() {
    let f = start().await;
    apply(&f, "one", false, config(None, "i")).await;
    let patch = json!({ "spec": { "template": { "spec": {
        "containers": [{ "name": "c", "env": [{ "name": "A", "value": "1" }] }], "tolerations": [{ "key": "k" }],
    } } } });
    let (_, one) = f.patch(DEPLOYMENT, "strategic-merge", patch).await;
    let container = &one["spec"]["template"]["spec"]["containers"][0];
    assert_eq!((&container["image"], &container["env"][0]["name"]), (&json!("i"), &json!("A")));
    let delete = json!({ "spec": { "template": { "spec": { "containers": [{ "name": "c", "env": [{ "$patch": "delete", "name": "A" }] }] } } } });
    let (_, two) = f.patch(DEPLOYMENT, "strategic-merge", delete).await;
    assert_eq!(two["spec"]["template"]["spec"]["containers"][0].get("env"), None);
}
