//! What an update of a built-in object may not change, and values that are invalid together with the rest of the
//! object.

use serde_json::Value;

use super::resize;
use crate::json;
use crate::kinds::{Resource, Sub};
use crate::status::Cause;

/// Fields of a StatefulSet's spec that may change.
const STATEFUL_SET: &[&str] = &[
    "replicas",
    "ordinals",
    "template",
    "updateStrategy",
    "revisionHistoryLimit",
    "persistentVolumeClaimRetentionPolicy",
    "minReadySeconds",
];

/// The problem of `new`, which replaces `old`. Both are complete.
pub(super) fn problem(resource: &Resource, old: &Value, new: &Value, sub: Option<Sub>) -> Option<Cause> {
    match (&*resource.storage, sub) {
        ("services", Some(Sub::Status)) => load_balancer(new),
        ("pods", Some(Sub::Resize)) => resize::problem(old, new),
        ("statefulsets.apps", None) => stateful_set(old, new),
        _ => None,
    }
}

fn load_balancer(service: &Value) -> Option<Cause> {
    let balanced = !json::list(service, &["status", "loadBalancer", "ingress"]).is_empty();
    let why = "may only be used when `spec.type` is 'LoadBalancer'";
    let wrong = balanced && json::text(service, &["spec", "type"]) != "LoadBalancer";
    wrong.then(|| Cause::forbidden("status.loadBalancer.ingress", why))
}

fn stateful_set(old: &Value, new: &Value) -> Option<Cause> {
    let fixed = |set: &Value| {
        let mut spec = set.get("spec").cloned().unwrap_or_default();
        json::object(&mut spec).retain(|key, value| !STATEFUL_SET.contains(&key.as_str()) && !value.is_null());
        spec
    };
    let why = "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', 'updateStrategy', \
        'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden";
    (fixed(old) != fixed(new)).then(|| Cause::forbidden("spec", why))
}
