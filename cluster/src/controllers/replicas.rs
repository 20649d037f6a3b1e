//! ReplicaSets: as many pods as are wanted, and a status that counts them.
//!
//! Never adopts a pod that it did not make.

use serde_json::{Map, Value, json};

use super::act;
use crate::json;
use crate::shared::Shared;

const STORAGE: &str = "replicasets.apps";

pub(super) fn reconcile(shared: &Shared, key: &str) {
    let Some(set) = act::living(shared, STORAGE, key) else {
        return;
    };
    let namespace = json::text(&set, &["metadata", "namespace"]);
    let pods = || act::controlled(shared, "pods", namespace, &set).into_iter().partition(is_active);
    let wanted = usize::try_from(json::int(&set, &["spec", "replicas"]).unwrap_or(1)).unwrap_or_default();
    let (found, _): (Vec<Value>, Vec<Value>) = pods();
    for _ in 0..wanted.saturating_sub(found.len()).min(act::BURST) {
        if !act::make(shared, "pods", namespace, act::pod_of(&set)) {
            break;
        }
    }
    for pod in surplus(found, wanted) {
        act::remove(shared, "pods", &pod);
    }
    let (active, rest): (Vec<Value>, Vec<Value>) = pods();
    let going = rest.iter().filter(|pod| json::at(pod, &["metadata", "deletionTimestamp"]).is_some()).count();
    let status = status(&set, &active, going);
    act::set_status(shared, STORAGE, &set, &status);
}

/// Not over and not going.
pub(super) fn is_active(pod: &Value) -> bool {
    json::at(pod, &["metadata", "deletionTimestamp"]).is_none()
        && !matches!(json::text(pod, &["status", "phase"]), "Succeeded" | "Failed")
}

pub(super) fn is_ready(pod: &Value) -> bool {
    let mut conditions = json::list(pod, &["status", "conditions"]).iter();
    conditions.any(|c| json::text(c, &["type"]) == "Ready" && json::text(c, &["status"]) == "True")
}

/// Those that go first: pods that are not ready, then the newest.
fn surplus(mut pods: Vec<Value>, wanted: usize) -> Vec<Value> {
    let created = |pod: &Value| json::text(pod, &["metadata", "creationTimestamp"]).to_owned();
    pods.sort_by(|a, b| is_ready(b).cmp(&is_ready(a)).then_with(|| created(a).cmp(&created(b))));
    pods.into_iter().skip(wanted).collect()
}

fn status(set: &Value, pods: &[Value], going: usize) -> Value {
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
    // Pods do not fail here, so that nobody waits for minReadySeconds to pass.
    count(&mut status, "availableReplicas", ready);
    status.insert("terminatingReplicas".into(), going.into());
    status.insert("observedGeneration".into(), json!(json::int(set, &["metadata", "generation"])));
    status.into()
}

/// Counts are left out when they are nothing.
pub(super) fn count(status: &mut Map<String, Value>, key: &str, number: usize) {
    if number == 0 {
        status.shift_remove(key);
    } else {
        status.insert(key.to_owned(), number.into());
    }
}
