//! Rules for writes to the status of built-in kinds.

use serde_json::Value;

use super::common::{NOT_NEGATIVE, counts};
use super::network;
use crate::json::int;
use crate::status::Cause;

/// Problems of the status of `object`, which replaces `old`.
pub(crate) fn problems(storage: &str, old: &Value, object: &Value) -> Vec<Cause> {
    let keys: &[&str] = match storage {
        "ingresses.networking.k8s.io" => return network::balanced(object),
        "jobs.batch" => return job(old, object),
        "daemonsets.apps" => &[
            "currentNumberScheduled",
            "numberMisscheduled",
            "desiredNumberScheduled",
            "numberReady",
            "observedGeneration",
            "updatedNumberScheduled",
            "numberAvailable",
            "numberUnavailable",
        ],
        "deployments.apps" => &[
            "observedGeneration",
            "replicas",
            "updatedReplicas",
            "readyReplicas",
            "availableReplicas",
            "unavailableReplicas",
        ],
        "replicasets.apps" | "replicationcontrollers" => {
            &["replicas", "fullyLabeledReplicas", "readyReplicas", "availableReplicas", "observedGeneration"]
        }
        "statefulsets.apps" => {
            &["replicas", "readyReplicas", "currentReplicas", "updatedReplicas", "availableReplicas"]
        }
        "poddisruptionbudgets.policy" => {
            &["disruptionsAllowed", "currentHealthy", "desiredHealthy", "expectedPods", "observedGeneration"]
        }
        "horizontalpodautoscalers.autoscaling" => &["currentReplicas", "desiredReplicas"],
        _ => return Vec::new(),
    };
    counts(object.get("status"), "status", keys)
}

/// The counts of succeeded and failed pods of a job cannot decrease.
fn job(old: &Value, object: &Value) -> Vec<Cause> {
    let count = |object: &Value, key: &str| int(object, &["status", key]).unwrap_or_default();
    let mut causes = Vec::new();
    for key in ["active", "succeeded", "failed"] {
        let field = format!("status.{key}");
        let now = count(object, key);
        if now < 0 {
            causes.push(Cause::invalid(&field, &now.into(), NOT_NEGATIVE));
        }
        if key != "active" && now < count(old, key) {
            causes.push(Cause::invalid(&field, &now.into(), format!("cannot decrease the {key} counter")));
        }
    }
    causes
}
