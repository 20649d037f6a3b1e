//! The initial roles and bindings of a cluster with RBAC. Do not edit `roles.jsonl`: `schema/roles.py` records it from
//! a kube-apiserver.

use serde_json::Value;

use crate::kinds::Registry;
use crate::lifecycle::seed;
use crate::store::Store;

const ROLES: &str = include_str!("roles.jsonl");

pub(super) fn put(store: &Store, registry: &Registry) {
    for object in ROLES.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok()) {
        seed::put(store, registry, object);
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn every_line_is_an_object() {
        let kinds = ROLES.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        assert!(kinds.clone().all(|o| o.get("kind").is_some()));
        let name = |o: &Value| o.pointer("/metadata/name").and_then(Value::as_str).map(str::to_owned);
        let names: Vec<String> = kinds.filter_map(|o| name(&o)).collect();
        for wanted in ["cluster-admin", "admin", "edit", "view", "system:basic-user", "system:discovery"] {
            assert!(names.iter().any(|n| n == wanted), "{wanted}");
        }
    }
}
