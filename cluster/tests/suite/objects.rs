//! Create, read, update and delete one object.

use boathook_cluster::Options;
use http::Method;
use serde_json::json;

use super::support::{CONFIG_MAPS, message, start, start_with};

#[tokio::test]
async fn a_new_object_gets_its_system_metadata() {
    let f = start().await;
    let made = f.config_map("x", json!({ "l": "v" })).await;
    let meta = &made["metadata"];
    assert_eq!(meta["namespace"], "default");
    assert_eq!(meta["uid"].as_str().map(str::len), Some(36));
    assert!(meta["resourceVersion"].as_str().unwrap().parse::<u64>().unwrap() > 0);
    assert_eq!(meta["managedFields"][0]["operation"], "Update");
    assert_eq!((&made["kind"], &made["apiVersion"]), (&json!("ConfigMap"), &json!("v1")));
    let again = f.post(CONFIG_MAPS, json!({ "metadata": { "name": "x" } })).await;
    assert_eq!((again.0, message(&again)), (409, "configmaps \"x\" already exists"));
    assert_eq!(again.1["details"], json!({ "name": "x", "kind": "configmaps" }));
}

#[tokio::test]
async fn generated_names_differ() {
    let f = start().await;
    let body = json!({ "metadata": { "generateName": "job-" } });
    let (_, one) = f.post(CONFIG_MAPS, body.clone()).await;
    let (_, two) = f.post(CONFIG_MAPS, body).await;
    assert!(one["metadata"]["name"].as_str().unwrap().starts_with("job-"));
    assert_ne!(one["metadata"]["name"], two["metadata"]["name"]);
}

#[tokio::test]
async fn updates_check_the_version_they_replace() {
    let f = start().await;
    let mut object = f.config_map("x", json!({})).await;
    let path = format!("{CONFIG_MAPS}/x");
    object["data"]["b"] = "2".into();
    let (code, newer) = f.put(&path, object.clone()).await;
    assert_eq!(code, 200, "{newer}");
    object["data"]["c"] = "3".into();
    let stale = f.put(&path, object.clone()).await;
    assert_eq!(stale.0, 409);
    assert_eq!(
        message(&stale),
        "Operation cannot be fulfilled on configmaps \"x\": the object has been modified; please apply your changes to the \
         latest version and try again"
    );
    // Nothing changes, so nothing is written.
    let same = f.put(&path, newer.clone()).await;
    assert_eq!(same.1["metadata"]["resourceVersion"], newer["metadata"]["resourceVersion"]);
    // Without a version the update is unconditional, and system metadata stays.
    object["metadata"] = json!({ "name": "x" });
    let (_, last) = f.put(&path, object).await;
    assert_eq!(last["metadata"]["uid"], newer["metadata"]["uid"]);
    assert_eq!(last["metadata"]["creationTimestamp"], newer["metadata"]["creationTimestamp"]);
}

#[tokio::test]
async fn spec_and_status_are_written_apart() {
    let f = start().await;
    let pods = "/api/v1/namespaces/default/pods";
    let pod = json!({
        "metadata": { "name": "p" }, "spec": { "containers": [{ "name": "c", "image": "i" }] },
        "status": { "phase": "Running" },
    });
    let (_, made) = f.post(pods, pod).await;
    assert_eq!(made["status"]["phase"], "Pending");
    assert_eq!(made["spec"]["restartPolicy"], "Always");
    let path = format!("{pods}/p");
    let patch = json!({ "status": { "phase": "Running" }, "spec": { "activeDeadlineSeconds": 7 } });
    let (_, ignored) = f.patch(&path, "merge", patch).await;
    assert_eq!(
        (&ignored["status"]["phase"], &ignored["spec"]["activeDeadlineSeconds"]),
        (&json!("Pending"), &json!(7))
    );
    let patch = json!({ "status": { "phase": "Running" }, "spec": { "activeDeadlineSeconds": 8 } });
    let (_, status) = f.patch(&format!("{path}/status"), "merge", patch).await;
    assert_eq!((&status["status"]["phase"], &status["spec"]["activeDeadlineSeconds"]), (&json!("Running"), &json!(7)));
    let moved = f.patch(&path, "merge", json!({ "spec": { "nodeName": "other" } })).await;
    assert_eq!((moved.0, &moved.1["details"]["causes"][0]["field"]), (422, &json!("spec")));
}

#[tokio::test]
async fn generation_counts_the_desired_state_only() {
    let f = start().await;
    let deployments = "/apis/apps/v1/namespaces/default/deployments";
    let labels = json!({ "app": "d" });
    let body = json!({
        "metadata": { "name": "d" },
        "spec": { "selector": { "matchLabels": labels }, "template": { "metadata": { "labels": labels },
            "spec": { "containers": [{ "name": "c", "image": "i" }] } } },
    });
    let (code, made) = f.post(deployments, body).await;
    assert_eq!((code, &made["metadata"]["generation"], &made["spec"]["replicas"]), (201, &json!(1), &json!(1)));
    let path = format!("{deployments}/d");
    let (_, labelled) = f.patch(&path, "merge", json!({ "metadata": { "labels": { "a": "b" } } })).await;
    assert_eq!(labelled["metadata"]["generation"], 1);
    let scale = format!("{path}/scale");
    let (_, scaled) = f.patch(&scale, "merge", json!({ "spec": { "replicas": 3 } })).await;
    assert_eq!((&scaled["kind"], &scaled["spec"]["replicas"]), (&json!("Scale"), &json!(3)));
    assert_eq!(scaled["status"]["selector"], "app=d");
    let (_, after) = f.get(&path).await;
    assert_eq!((&after["metadata"]["generation"], &after["spec"]["replicas"]), (&json!(2), &json!(3)));
}

#[tokio::test]
async fn secrets_fold_string_data() {
    let f = start().await;
    let secret = json!({ "metadata": { "name": "s" }, "stringData": { "k": "v" } });
    let (_, made) = f.post("/api/v1/namespaces/default/secrets", secret).await;
    assert_eq!((&made["data"]["k"], &made["type"]), (&json!("dg=="), &json!("Opaque")));
    assert_eq!(made.get("stringData"), None);
}

#[tokio::test]
async fn both_event_groups_show_the_same_events() {
    let f = start().await;
    let event = json!({
        "metadata": { "name": "e" }, "involvedObject": { "kind": "Pod", "name": "p" }, "message": "hello", "reason": "R",
        "type": "Normal",
    });
    f.post("/api/v1/namespaces/default/events", event).await;
    let (_, new) = f.get("/apis/events.k8s.io/v1/namespaces/default/events/e").await;
    assert_eq!((&new["note"], &new["regarding"]["name"]), (&json!("hello"), &json!("p")));
    assert_eq!(new["apiVersion"], "events.k8s.io/v1");
    let (_, found) = f.get("/api/v1/namespaces/default/events?fieldSelector=involvedObject.name%3Dp").await;
    assert_eq!(found["items"][0]["message"], "hello");
}

#[tokio::test]
async fn dry_runs_change_nothing() {
    let f = start().await;
    let body = json!({ "metadata": { "name": "x" } });
    let (code, made) = f.post(&format!("{CONFIG_MAPS}?dryRun=All"), body).await;
    assert_eq!((code, made["metadata"].get("resourceVersion")), (201, None));
    assert_eq!(f.get(&format!("{CONFIG_MAPS}/x")).await.0, 404);
    f.config_map("y", json!({})).await;
    let path = format!("{CONFIG_MAPS}/y?dryRun=All");
    let (_, patched) = f.patch(&path, "merge", json!({ "data": { "a": "2" } })).await;
    assert_eq!(patched["data"]["a"], "2");
    assert_eq!(f.delete(&path).await.0, 200);
    assert_eq!(f.get(&format!("{CONFIG_MAPS}/y")).await.1["data"]["a"], "1");
}

#[tokio::test]
async fn deletion_checks_preconditions_and_answers_as_the_kind_does() {
    let f = start().await;
    let made = f.config_map("x", json!({})).await;
    let path = format!("{CONFIG_MAPS}/x");
    let body = json!({ "preconditions": { "uid": "other" } }).to_string().into_bytes();
    let refused = f.send(Method::DELETE, &path, "application/json", body).await;
    assert_eq!(refused.0, 409);
    assert!(message(&refused).contains("the UID in the precondition (other)"), "{}", message(&refused));
    let (code, status) = f.delete(&path).await;
    assert_eq!((code, &status["status"]), (200, &json!("Success")));
    assert_eq!(status["details"]["uid"], made["metadata"]["uid"]);
    let gone = f.delete(&path).await;
    assert_eq!((gone.0, message(&gone)), (404, "configmaps \"x\" not found"));
    let pods = "/api/v1/namespaces/default/pods";
    f.post(pods, json!({ "metadata": { "name": "p" }, "spec": { "containers": [{ "name": "c", "image": "i" }] } }))
        .await;
    assert_eq!(f.delete(&format!("{pods}/p")).await.1["kind"], "Pod");
}

#[tokio::test]
async fn pods_are_evicted_and_bound() {
    let f = start_with(Options::default().pod_shutdown(None)).await;
    let pods = "/api/v1/namespaces/default/pods";
    f.post(pods, json!({ "metadata": { "name": "p" }, "spec": { "containers": [{ "name": "c", "image": "i" }] } }))
        .await;
    let binding = json!({ "metadata": { "name": "p" }, "target": { "kind": "Node", "name": "n" } });
    assert_eq!(f.post(&format!("{pods}/p/binding"), binding.clone()).await.0, 201);
    assert_eq!(f.get(&format!("{pods}/p")).await.1["spec"]["nodeName"], "n");
    assert_eq!(f.post(&format!("{pods}/p/binding"), binding).await.0, 409);
    let eviction = json!({ "apiVersion": "policy/v1", "kind": "Eviction", "metadata": { "name": "p" } });
    assert_eq!(f.post(&format!("{pods}/p/eviction"), eviction).await.0, 201);
    assert!(f.get(&format!("{pods}/p")).await.1["metadata"]["deletionTimestamp"].is_string());
}
