//! Converts core events to events.k8s.io/v1, and back. No field is lost, because events.k8s.io/v1 has the older core
//! fields under `deprecated` names.

use serde_json::{Map, Value};

use crate::json;

/// The name in events.k8s.io, and the name in the core group.
const RENAMED: &[(&str, &str)] = &[
    ("regarding", "involvedObject"),
    ("note", "message"),
    ("deprecatedSource", "source"),
    ("deprecatedFirstTimestamp", "firstTimestamp"),
    ("deprecatedLastTimestamp", "lastTimestamp"),
    ("deprecatedCount", "count"),
    ("reportingController", "reportingComponent"),
];

fn rename(map: &mut Map<String, Value>, pairs: impl Iterator<Item = (&'static str, &'static str)>) {
    for (from, to) in pairs {
        if let Some(value) = map.shift_remove(from) {
            map.insert(to.to_owned(), value);
        }
    }
}

/// events.k8s.io/v1 to v1.
pub(crate) fn to_core(event: &mut Value) {
    let map = json::object(event);
    map.insert("apiVersion".into(), "v1".into());
    rename(map, RENAMED.iter().copied());
}

/// v1 to events.k8s.io/v1.
pub(crate) fn from_core(event: &mut Value) {
    let map = json::object(event);
    map.insert("apiVersion".into(), "events.k8s.io/v1".into());
    rename(map, RENAMED.iter().map(|(new, old)| (*old, *new)));
    for optional in ["reportingController", "reportingInstance"] {
        if map.get(optional).is_some_and(|v| v == "") {
            map.shift_remove(optional);
        }
    }
}
