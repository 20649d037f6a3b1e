//! Stores prepared objects, and triggers the effects on other objects. It changes nothing in an object except its
//! resourceVersion.

mod definitions;
pub(crate) mod delete;
mod namespace_content;
mod protect;

use std::sync::Arc;

use serde_json::Value;

use crate::context::Context;
use crate::json;
use crate::kinds::Resource;
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
        definitions::establish(shared, resource, name, context);
    }
    if resource.is("", "persistentvolumes") {
        protect::after_mark(shared, resource, name, context);
    }
}

/// Stores the next version of `current`, without any other effect.
fn store(shared: &Shared, resource: &Resource, current: &Arc<Stored>, mut object: Value) -> Result<(), Lost> {
    let mut inner = shared.store.write();
    if inner.get(&resource.storage, &current.key).is_none_or(|now| now.revision != current.revision) {
        return Err(Lost);
    }
    let revision = inner.next_revision();
    let next = stored(resource, &mut object, revision);
    inner.put(&resource.storage, next);
    Ok(())
}
