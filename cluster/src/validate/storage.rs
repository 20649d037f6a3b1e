//! Rules of claims and storage classes.

use serde_json::Value;

use super::pods;
use super::quantity::Quantity;
use crate::json::{at, list, text};
use crate::status::Cause;

const MODES: [&str; 4] = ["ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"];

pub(super) fn claim(object: &Value, old: Option<&Value>) -> Vec<Cause> {
    let mut causes = Vec::new();
    let modes = list(object, &["spec", "accessModes"]);
    if modes.is_empty() {
        causes.push(Cause::required("spec.accessModes", "at least 1 access mode is required"));
    }
    let unknown = modes.iter().filter(|mode| !mode.as_str().is_some_and(|mode| MODES.contains(&mode)));
    causes.extend(unknown.map(|mode| Cause::unsupported("spec.accessModes", mode, &MODES)));
    match at(object, &["spec", "resources", "requests", "storage"]) {
        None => causes.push(Cause::required("spec.resources[storage]", "")),
        Some(size) => {
            let nothing = |q: Quantity| q.is_negative() || Some(q) == Quantity::parse("0");
            if size.as_str().and_then(Quantity::parse).is_some_and(nothing) {
                causes.push(Cause::invalid("spec.resources[storage]", size, "must be greater than zero"));
            }
        }
    }
    causes.extend(old.and_then(|old| changed(old, object)));
    causes
}

/// A bound claim may grow and be assigned to a volume. Nothing else can change.
fn changed(old: &Value, new: &Value) -> Option<Cause> {
    let fixed = |claim: &Value, bound: bool| {
        let mut spec = claim.get("spec").cloned().unwrap_or_default();
        let map = crate::json::object(&mut spec);
        map.shift_remove("volumeAttributesClassName");
        if text(old, &["spec", "volumeName"]).is_empty() {
            map.shift_remove("volumeName");
        }
        if bound {
            map.shift_remove("resources");
        }
        spec
    };
    let bound = text(new, &["status", "phase"]) == "Bound";
    if fixed(old, bound) == fixed(new, bound) {
        return None;
    }
    let why =
        "spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims";
    Some(Cause::forbidden("spec", why))
}

pub(super) fn class(object: &Value) -> Vec<Cause> {
    let mut causes = Vec::new();
    if text(object, &["provisioner"]).is_empty() {
        causes.push(Cause::required("provisioner", ""));
    }
    let policy = text(object, &["reclaimPolicy"]);
    if !matches!(policy, "" | "Delete" | "Retain") {
        causes.push(Cause::unsupported("reclaimPolicy", &policy.into(), &["Delete", "Retain"]));
    }
    causes
}

/// Rules of runtime classes.
pub(super) fn runtime(object: &Value) -> Vec<Cause> {
    let missing = text(object, &["handler"]).is_empty();
    missing.then(|| Cause::required("handler", "")).into_iter().collect()
}

pub(super) fn volume(object: &Value) -> Vec<Cause> {
    let mut causes = Vec::new();
    if at(object, &["spec", "capacity", "storage"]).is_none() {
        causes.push(Cause::required("spec.capacity", ""));
    }
    if list(object, &["spec", "accessModes"]).is_empty() {
        causes.push(Cause::required("spec.accessModes", ""));
    }
    if let Some(spec) = at(object, &["spec"]) {
        let policies = ["Delete", "Recycle", "Retain"];
        pods::one_of(spec, "persistentVolumeReclaimPolicy", "spec", &policies, &mut causes);
    }
    causes
}
