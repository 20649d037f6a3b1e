//! A replacement for nodes: pods run as soon as they exist, but no process starts. It ignores pods that have scheduling
//! gates, and pods that another client has started.

use rand::Rng;
use serde_json::{Value, json};

use super::act::Actor;
use crate::json;
use crate::status::Failure;

pub(super) async fn reconcile(actor: &Actor<'_>, key: &str) -> Result<(), Failure> {
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
