//! Stores prepared objects, and triggers the effects on other objects. It changes nothing in an object except its
//! resourceVersion.

pub(crate) mod delete;

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Value, json};

use crate::context::Context;
use crate::json;
use crate::kinds::crd::set_condition;
use crate::kinds::{Resource, crd};
use crate::lifecycle::admit::{PV_PROTECTION, PVC_PROTECTION};
use crate::patch::managed;
use crate::shared::Shared;
use crate::status::Failure;
use crate::store::{Inner, Stored, key};

/// The object changed between reading and writing.
pub(crate) struct Lost;

fn stored(resource: &Resource, object: &mut Value, revision: u64) -> Stored {
    json::metadata(object).insert("resourceVersion".into(), revision.to_string().into());
    Stored::build(object, revision, resource.index(object))
}

/// Refuses new objects in a namespace that is missing or being deleted.
fn check_namespace(inner: &Inner, resource: &Resource, namespace: &str, name: &str) -> Result<(), Failure> {
    if !resource.namespaced {
        return Ok(());
    }
    let namespaces = crate::status::GroupResource { group: "", resource: "namespaces" };
    match inner.get("namespaces", namespace) {
        None => Err(Failure::not_found(namespaces, namespace)),
        Some(found) if found.terminating => Err(Failure::terminating(resource.gr(), name, namespace)),
        Some(_) => Ok(()),
    }
}

/// The problem with the namespace of a new object. It is checked before any webhook is called.
pub(crate) fn namespace_ready(
    shared: &Shared,
    resource: &Resource,
    namespace: &str,
    name: &str,
) -> Result<(), Failure> {
    check_namespace(&shared.store.write(), resource, namespace, name)
}

/// Stores a new object.
pub(crate) fn insert(
    shared: &Shared,
    resource: &Resource,
    mut object: Value,
    context: &Context,
) -> Result<Arc<Stored>, Failure> {
    let namespace = json::text(&object, &["metadata", "namespace"]).to_owned();
    let name = json::text(&object, &["metadata", "name"]).to_owned();
    let added = {
        let mut inner = shared.store.write();
        check_namespace(&inner, resource, &namespace, &name)?;
        if inner.get(&resource.storage, &key(&namespace, &name)).is_some() {
            return Err(Failure::already_exists(resource.gr(), &name));
        }
        if context.dry_run {
            return Ok(Arc::new(Stored::build(&object, 0, resource.index(&object))));
        }
        let revision = inner.next_revision();
        inner.put(&resource.storage, stored(resource, &mut object, revision))
    };
    after_write(shared, resource, &name, context);
    Ok(added)
}

/// Stores the next version of `current`, or removes it if nothing keeps it any longer.
pub(crate) fn replace(
    shared: &Shared,
    resource: &Resource,
    current: &Arc<Stored>,
    mut object: Value,
    context: &Context,
) -> Result<Arc<Stored>, Lost> {
    let ends = is_released(resource, &object);
    let namespace = current.namespace().to_owned();
    let result = {
        let mut inner = shared.store.write();
        if inner.get(&resource.storage, &current.key).is_none_or(|now| now.revision != current.revision) {
            return Err(Lost);
        }
        if context.dry_run {
            return Ok(Arc::new(Stored::build(&object, current.revision, resource.index(&object))));
        }
        let revision = inner.next_revision();
        if ends {
            // Watchers receive the last stored state with the revision of the removal. The response has the previous
            // revision.
            let mut last = current.value();
            inner.remove(&resource.storage, stored(resource, &mut last, revision));
            Arc::new(stored(resource, &mut object, current.revision))
        } else {
            let next = stored(resource, &mut object, revision);
            inner.put(&resource.storage, next)
        }
    };
    if ends {
        delete::after_release(shared, resource, &namespace, context);
    }
    after_write(shared, resource, current.name(), context);
    Ok(result)
}

/// Removes `current`. Its last state, `object`, has the revision of the removal.
pub(crate) fn remove(
    shared: &Shared,
    resource: &Resource,
    current: &Arc<Stored>,
    mut object: Value,
    context: &Context,
) -> Result<Arc<Stored>, Lost> {
    let removed = {
        let mut inner = shared.store.write();
        if inner.get(&resource.storage, &current.key).is_none_or(|now| now.revision != current.revision) {
            return Err(Lost);
        }
        if object != current.value() {
            // Watchers see a graceful deletion before the removal.
            let revision = inner.next_revision();
            inner.put(&resource.storage, stored(resource, &mut object, revision));
        }
        let revision = inner.next_revision();
        let last = stored(resource, &mut object, revision);
        inner.remove(&resource.storage, last)
    };
    delete::after_removal(shared, resource, removed.namespace(), context);
    after_write(shared, resource, current.name(), context);
    Ok(removed)
}

/// The object is marked for deletion, no finalizer is left, and it is not a pod that is still ending.
fn is_released(resource: &Resource, object: &Value) -> bool {
    json::at(object, &["metadata", "deletionTimestamp"]).is_some()
        && json::int(object, &["metadata", "deletionGracePeriodSeconds"]).is_none_or(|s| s == 0)
        && json::is_empty(json::at(object, &["metadata", "finalizers"]))
        && (&*resource.storage != "namespaces" || json::is_empty(json::at(object, &["spec", "finalizers"])))
}

fn after_write(shared: &Shared, resource: &Resource, name: &str, context: &Context) {
    if resource.is("apiextensions.k8s.io", "customresourcedefinitions") {
        establish(shared, resource, name, context);
    }
    if resource.is("", "persistentvolumes") {
        unprotect(shared, resource, name, context);
    }
}

/// Changes the object at `key`. `change` returns its new version, or None if it stays as it is, and is called again if
/// another client wrote the object in the meantime.
pub(crate) fn edit(
    shared: &Shared,
    resource: &Resource,
    key: &str,
    context: &Context,
    change: impl Fn(&Stored) -> Option<Value>,
) -> Option<Arc<Stored>> {
    loop {
        let current = shared.store.get(&resource.storage, key)?;
        let new = change(&current).filter(|new| *new != current.value())?;
        if let Ok(stored) = replace(shared, resource, &current, new, context) {
            return Some(stored);
        }
    }
}

/// Removes the matching items of a list in the metadata, and the list if it becomes empty.
pub(super) fn drop_from(object: &mut Value, list: &str, matches: impl Fn(&Value) -> bool) {
    let meta = json::metadata(object);
    if let Some(Value::Array(items)) = meta.get_mut(list) {
        items.retain(|item| !matches(item));
        if items.is_empty() {
            meta.shift_remove(list);
        }
    }
}

/// The controllers of the real server write in the server's own name.
const MANAGER: &str = "kube-apiserver";

/// Establishes the definition of this name, and serves what is established.
fn establish(shared: &Shared, resource: &Resource, name: &str, context: &Context) {
    let context = Context { manager: MANAGER.to_owned(), ..context.clone() };
    let settled = edit(shared, resource, name, &context, |current| {
        let before = current.value();
        let group = json::text(&before, &["spec", "group"]);
        let all = shared.store.all(&resource.storage, "");
        let others = all.iter().filter(|other| other.name() != name && other.name().ends_with(group));
        let others: Vec<_> = others.map(|other| other.value()).collect();
        let mut settled = before.clone();
        crd::establish(&mut settled, &others, &context.stamp());
        managed::on_update(resource, Some(&before), &mut settled, "status", &context);
        (!current.terminating).then_some(settled)
    });
    // A write of the definition comes here again.
    if settled.is_none() {
        shared.rebuild_registry();
    }
}

const CLAIMS: &str = "persistentvolumeclaims";
const VOLUMES: &str = "persistentvolumes";

/// After an object was marked for deletion, or changed after that.
fn unprotect(shared: &Shared, resource: &Resource, key: &str, context: &Context) {
    if !shared.options.garbage_collection {
        return;
    }
    let (finalizer, free): (_, fn(&Shared, &Stored) -> bool) = match &*resource.storage {
        CLAIMS => (PVC_PROTECTION, |shared, claim| !is_used(shared, claim)),
        VOLUMES => (PV_PROTECTION, |_, volume| json::text(&volume.value(), &["status", "phase"]) != "Bound"),
        _ => return,
    };
    edit(shared, resource, key, context, |current| {
        let mut object = current.value();
        drop_from(&mut object, "finalizers", |f| f == finalizer);
        (current.terminating && free(shared, current)).then_some(object)
    });
}

/// After a pod was removed. Claims that waited for it may now be removed.
fn unprotect_claims(shared: &Shared, resource: &Resource, namespace: &str, context: &Context) {
    if &*resource.storage != "pods" {
        return;
    }
    let registry = shared.registry();
    let Some(claims) = registry.find("", "v1", CLAIMS) else { return };
    for claim in in_namespace(shared, CLAIMS, namespace, &|claim| claim.terminating) {
        unprotect(shared, claims, &claim, context);
    }
}

fn is_used(shared: &Shared, claim: &Stored) -> bool {
    let uses = |pod: &Stored| {
        let pod = pod.value();
        let volumes = json::list(&pod, &["spec", "volumes"]);
        volumes.iter().any(|v| json::text(v, &["persistentVolumeClaim", "claimName"]) == claim.name())
    };
    !in_namespace(shared, "pods", claim.namespace(), &uses).is_empty()
}

/// The keys of the matching objects in a namespace.
fn in_namespace(shared: &Shared, storage: &str, namespace: &str, matches: &dyn Fn(&Stored) -> bool) -> Vec<String> {
    let found = shared.store.all(storage, &format!("{namespace}/"));
    found.iter().filter(|object| matches(object)).map(|object| object.key.to_string()).collect()
}

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
fn note_remaining(shared: &Shared, name: &str, context: &Context) {
    let registry = shared.registry();
    let Some(resource) = registry.find("", "v1", "namespaces") else { return };
    let context = Context { manager: "kube-controller-manager".into(), dry_run: false, ..context.clone() };
    edit(shared, resource, name, &context, |current| {
        let remaining = count_remaining(shared, name);
        let old = current.value();
        let mut object = old.clone();
        conditions(&mut object, &remaining, &context.stamp());
        managed::on_update(resource, Some(&old), &mut object, "status", &context);
        (current.terminating && !remaining.resources.is_empty()).then_some(object)
    });
}

fn count_remaining(shared: &Shared, namespace: &str) -> RemainingContent {
    let prefix = format!("{namespace}/");
    let mut remaining = RemainingContent::default();
    for collection in shared.registry().collections().filter(|c| c.namespaced) {
        let found = shared.store.all(&collection.storage, &prefix);
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
