//! Records what a namespace that is being deleted still contains, as conditions in the words of the real controller.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::replace;
use crate::context::Context;
use crate::json;
use crate::kinds::crd::set_condition;
use crate::patch::managed;
use crate::shared::Shared;
use crate::store::{Query, Stored};

const FINE: [(&str, &str, &str); 5] = [
    ("NamespaceDeletionDiscoveryFailure", "ResourcesDiscovered", "All resources successfully discovered"),
    ("NamespaceDeletionGroupVersionParsingFailure", "ParsedGroupVersions", "All legacy kube types successfully parsed"),
    (
        "NamespaceDeletionContentFailure",
        "ContentDeleted",
        "All content successfully deleted, may be waiting on finalization",
    ),
    ("NamespaceContentRemaining", "ContentRemoved", "All content successfully removed"),
    ("NamespaceFinalizersRemaining", "ContentHasNoFinalizers", "All content-preserving finalizers finished"),
];

/// Objects by resource, and by the finalizers that keep them.
#[derive(Default)]
struct RemainingContent {
    resources: Vec<String>,
    finalizers: BTreeMap<String, usize>,
}

/// Writes the conditions of a namespace that cannot be emptied.
pub(super) fn note(shared: &Shared, name: &str, context: &Context) {
    let registry = shared.registry();
    let Some(resource) = registry.find("", "v1", "namespaces") else { return };
    loop {
        let Some(current) = shared.store.get("namespaces", name).filter(|n| n.terminating) else { return };
        let remaining = count(shared, name);
        if remaining.resources.is_empty() {
            return;
        }
        let old = current.value();
        let mut object = old.clone();
        conditions(&mut object, &remaining, &context.stamp());
        if object == old {
            return;
        }
        let context = Context { manager: "kube-controller-manager".into(), dry_run: false, ..context.clone() };
        managed::on_update(resource, Some(&old), &mut object, "status", &context);
        if replace(shared, resource, &current, object, &context).is_ok() {
            return;
        }
    }
}

fn count(shared: &Shared, namespace: &str) -> RemainingContent {
    let prefix = format!("{namespace}/");
    let query = Query { prefix: &prefix, after: None, at: None, limit: 0, matches: &|_| true };
    let mut remaining = RemainingContent::default();
    for collection in shared.registry().collections().filter(|c| c.namespaced) {
        let found = shared.store.list(&collection.storage, &query).map(|page| page.items).unwrap_or_default();
        if found.is_empty() {
            continue;
        }
        let (plural, group) = (&collection.plural, &collection.group);
        remaining.resources.push(format!("{plural}.{group} has {} resource instances", found.len()));
        for finalizer in found.iter().flat_map(|object| finalizers(object)) {
            *remaining.finalizers.entry(finalizer).or_default() += 1;
        }
    }
    remaining.resources.sort();
    remaining
}

fn finalizers(object: &Stored) -> Vec<String> {
    let value = object.value();
    let list = json::list(&value, &["metadata", "finalizers"]).iter();
    list.filter_map(Value::as_str).map(str::to_owned).collect()
}

fn conditions(namespace: &mut Value, remaining: &RemainingContent, now: &str) {
    json::child(json::object(namespace), "status").entry("conditions").or_insert_with(|| json!([]));
    for (kind, reason, message) in FINE {
        set_condition(namespace, kind, "False", reason, message, now);
    }
    let message = format!("Some resources are remaining: {}", remaining.resources.join(", "));
    set_condition(namespace, "NamespaceContentRemaining", "True", "SomeResourcesRemain", &message, now);
    if !remaining.finalizers.is_empty() {
        let each = remaining.finalizers.iter().map(|(name, count)| format!("{name} in {count} resource instances"));
        let all = each.collect::<Vec<_>>().join(", ");
        let message = format!("Some content in the namespace has finalizers remaining: {all}");
        set_condition(namespace, "NamespaceFinalizersRemaining", "True", "SomeFinalizersRemain", &message, now);
    }
}
