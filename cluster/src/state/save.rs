//! Writes all objects of a running cluster as YAML documents. Writes are not blocked: each collection is saved at a
//! different moment.

use serde_json::Value;

use super::load::rank;
use crate::json;
use crate::shared::Shared;
use crate::store::Query;

/// Metadata that is meaningless in another cluster.
const TRACES: &[&str] = &[
    "uid",
    "resourceVersion",
    "creationTimestamp",
    "generation",
    "managedFields",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
];

pub(crate) fn save(shared: &Shared) -> String {
    let mut objects: Vec<Value> = Vec::new();
    let query = Query { prefix: "", after: None, at: None, limit: 0, matches: &|_| true };
    for resource in shared.registry().collections() {
        let page = shared.store.list(&resource.storage, &query);
        objects.extend(page.map(|page| page.items).unwrap_or_default().iter().map(|stored| stored.value()));
    }
    objects.sort_by_key(rank);
    let mut text = String::new();
    for object in &mut objects {
        json::metadata(object).retain(|key, _| !TRACES.contains(&key.as_str()));
        if rank(object) == 1 {
            // The status contains only this cluster's decisions about the definition.
            json::object(object).shift_remove("status");
        }
        text.push_str("---\n");
        text.push_str(&yaml_serde::to_string(object).unwrap_or_default());
    }
    text
}
