//! ReplicaSets: keeps the number of pods, and a status that counts them. It never adopts a pod that it did not create.

use rand::Rng;
use serde_json::{Map, Value, json};

use super::act;
use super::act::Actor;
use crate::json;
use crate::status::Failure;

const STORAGE: &str = "replicasets.apps";
/// The condition of a set that cannot create or delete pods.
pub(super) const FAILURE: &str = "ReplicaFailure";

pub(super) async fn reconcile(actor: &Actor<'_>, key: &str) -> Result<(), Failure> {
    let Some(set) = actor.living(STORAGE, key) else {
        return Ok(());
    };
    let namespace = json::text(&set, &["metadata", "namespace"]);
    let pods = || actor.controlled("pods", namespace, &set).into_iter().partition(is_active);
    let wanted = usize::try_from(json::int(&set, &["spec", "replicas"]).unwrap_or(1)).unwrap_or_default();
    let (found, _): (Vec<Value>, Vec<Value>) = pods();
    let made = make_pods(actor, &set, wanted.saturating_sub(found.len()).min(act::BURST)).await;
    let mut removed = Ok(());
    for pod in surplus(found, wanted) {
        removed = actor.remove("pods", &pod).await;
        if removed.is_err() {
            break;
        }
    }
    let (active, rest): (Vec<Value>, Vec<Value>) = pods();
    let going = rest.iter().filter(|pod| json::at(pod, &["metadata", "deletionTimestamp"]).is_some()).count();
    let failed = match (&made, &removed) {
        (Err(failure), _) => Some(("FailedCreate", failure.message())),
        (_, Err(failure)) => Some(("FailedDelete", failure.message())),
        _ => None,
    };
    let status = status(&set, &active, going, failed);
    actor.set_status(STORAGE, &set, &status).await?;
    made.and(removed)
}

/// Creates pods from an owner's template. It stops at the first failure, with an Event about the owner.
pub(super) async fn make_pods(actor: &Actor<'_>, owner: &Value, count: usize) -> Result<(), Failure> {
    for _ in 0..count {
        let made = actor.make("pods", json::text(owner, &["metadata", "namespace"]), act::pod_of(owner)).await;
        if let Err(failure) = made {
            actor.warn(owner, "FailedCreate", &format!("Error creating: {}", failure.message())).await;
            return Err(failure);
        }
    }
    Ok(())
}

/// Neither completed nor being deleted.
pub(super) fn is_active(pod: &Value) -> bool {
    json::at(pod, &["metadata", "deletionTimestamp"]).is_none()
        && !matches!(json::text(pod, &["status", "phase"]), "Succeeded" | "Failed")
}

pub(super) fn is_ready(pod: &Value) -> bool {
    let mut conditions = json::list(pod, &["status", "conditions"]).iter();
    conditions.any(|c| json::text(c, &["type"]) == "Ready" && json::text(c, &["status"]) == "True")
}

/// The pods to delete: first those that are not ready, then the newest.
fn surplus(mut pods: Vec<Value>, wanted: usize) -> Vec<Value> {
    let created = |pod: &Value| json::text(pod, &["metadata", "creationTimestamp"]).to_owned();
    pods.sort_by(|a, b| is_ready(b).cmp(&is_ready(a)).then_with(|| created(a).cmp(&created(b))));
    pods.into_iter().skip(wanted).collect()
}

fn status(set: &Value, pods: &[Value], going: usize, failed: Option<(&str, &str)>) -> Value {
    let labels = json::at(set, &["spec", "template", "metadata", "labels"]).and_then(Value::as_object);
    let labelled = |pod: &&Value| {
        let given = json::at(pod, &["metadata", "labels"]);
        labels.into_iter().flatten().all(|(key, value)| given.and_then(|g| g.get(key)) == Some(value))
    };
    let ready = pods.iter().filter(|pod| is_ready(pod)).count();
    let mut status = set.get("status").and_then(Value::as_object).cloned().unwrap_or_default();
    status.insert("replicas".into(), pods.len().into());
    count(&mut status, "fullyLabeledReplicas", pods.iter().filter(labelled).count());
    count(&mut status, "readyReplicas", ready);
    // Pods do not fail here, so `minReadySeconds` has no effect.
    count(&mut status, "availableReplicas", ready);
    status.insert("terminatingReplicas".into(), going.into());
    status.insert("observedGeneration".into(), json!(json::int(set, &["metadata", "generation"])));
    note_failure(&mut status, failed);
    status.into()
}

/// Sets the condition while pods cannot be created or deleted.
fn note_failure(status: &mut Map<String, Value>, failed: Option<(&str, &str)>) {
    let is_failure = |condition: &Value| json::text(condition, &["type"]) == FAILURE;
    let mut conditions = status.get("conditions").and_then(Value::as_array).cloned().unwrap_or_default();
    match failed {
        None => conditions.retain(|condition| !is_failure(condition)),
        // The first reason stays, as on the real server.
        Some(_) if conditions.iter().any(is_failure) => {}
        Some((reason, message)) => conditions.push(json!({
            "type": FAILURE, "status": "True", "lastTransitionTime": crate::time::seconds(crate::time::now()),
            "reason": reason, "message": message,
        })),
    }
    if conditions.is_empty() {
        status.shift_remove("conditions");
    } else {
        status.insert("conditions".into(), conditions.into());
    }
}

/// A count of zero is left out.
pub(super) fn count(status: &mut Map<String, Value>, key: &str, number: usize) {
    if number == 0 {
        status.shift_remove(key);
    } else {
        status.insert(key.to_owned(), number.into());
    }
}

pub(super) async fn reconcile_pod(actor: &Actor<'_>, key: &str) -> Result<(), Failure> {
    let Some(pod) = actor.living("pods", key) else {
        return Ok(());
    };
    let gated = !json::list(&pod, &["spec", "schedulingGates"]).is_empty();
    if gated || !matches!(json::text(&pod, &["status", "phase"]), "" | "Pending") {
        return Ok(());
    }
    let now = crate::time::seconds(crate::time::now());
    let (a, b) = rand::rng().random::<(u8, u8)>();
    let status = started(&pod, &now, &format!("10.244.{a}.{b}"));
    actor.set_status("pods", &pod, &status).await
}

/// The status of a running pod, or of a completed one if it belongs to a job.
fn started(pod: &Value, now: &str, address: &str) -> Value {
    let owners = json::list(pod, &["metadata", "ownerReferences"]);
    let done = owners.iter().any(|o| json::text(o, &["kind"]) == "Job");
    let mut status = pod.get("status").cloned().unwrap_or_default();
    let map = json::object(&mut status);
    let condition = |kind: &str| {
        let ends = done && kind.ends_with("Ready");
        let mut condition = json!({
            "type": kind, "status": if ends { "False" } else { "True" }, "lastProbeTime": null, "lastTransitionTime": now,
        });
        if done && kind != "PodScheduled" {
            json::object(&mut condition).insert("reason".into(), "PodCompleted".into());
        }
        condition
    };
    let conditions = ["PodScheduled", "Initialized", "ContainersReady", "Ready"].map(condition);
    let state = |container: &Value| {
        let state = if done {
            json!({ "terminated": { "exitCode": 0, "reason": "Completed", "startedAt": now, "finishedAt": now } })
        } else {
            json!({ "running": { "startedAt": now } })
        };
        let image = json::text(container, &["image"]);
        json!({
            "name": json::text(container, &["name"]), "image": image, "imageID": image, "ready": !done, "started": !done,
            "restartCount": 0, "lastState": {}, "state": state,
        })
    };
    let containers: Vec<Value> = json::list(pod, &["spec", "containers"]).iter().map(state).collect();
    map.insert("phase".into(), if done { "Succeeded" } else { "Running" }.into());
    map.insert("conditions".into(), conditions.into_iter().collect());
    map.insert("containerStatuses".into(), containers.into());
    map.insert("startTime".into(), now.into());
    map.insert("podIP".into(), address.into());
    map.insert("podIPs".into(), json!([{ "ip": address }]));
    status
}
