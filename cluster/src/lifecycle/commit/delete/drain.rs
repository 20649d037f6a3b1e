//! Empties namespaces and CustomResourceDefinitions that are being deleted, and then removes them. Objects with
//! finalizers stay. Each later removal tries again.

use std::sync::Arc;

use super::super::{namespace_content, protect, replace};
use super::{DeleteOptions, Propagation, delete};
use crate::context::Context;
use crate::json;
use crate::kinds::{Resource, builtin_storage};
use crate::shared::Shared;
use crate::store::{Query, Stored};

/// The finalizer that keeps a definition until its objects are gone.
pub(crate) const CLEANUP: &str = "customresourcecleanup.apiextensions.k8s.io";

/// After an object was marked for deletion. A namespace or definition starts to empty itself.
pub(crate) fn after_mark(shared: &Shared, resource: &Resource, marked: &Arc<Stored>, context: &Context) {
    if &*resource.storage == "namespaces" {
        let prefix = format!("{}/", marked.name());
        for collection in shared.registry().collections().filter(|c| c.namespaced) {
            empty(shared, collection, &prefix, context);
        }
        finish_namespace(shared, marked.name(), context);
        namespace_content::note(shared, marked.name(), context);
    } else if let Some((group, plural)) = definition_of(resource, marked) {
        if let Some(custom) = shared.registry().any_version(&group, &plural) {
            empty(shared, custom, "", context);
        }
        finish_definition(shared, &group, &plural, context);
    } else {
        protect::after_mark(shared, resource, &marked.key, context);
    }
}

/// After an object that had a finalizer was removed.
pub(crate) fn after_release(shared: &Shared, resource: &Resource, namespace: &str, context: &Context) {
    after_removal(shared, resource, namespace, context);
    if resource.namespaced {
        namespace_content::note(shared, namespace, context);
    }
}

/// After an object was removed. Objects that waited for this may now be removed.
pub(crate) fn after_removal(shared: &Shared, resource: &Resource, namespace: &str, context: &Context) {
    if resource.namespaced && shared.store.get("namespaces", namespace).is_some_and(|n| n.terminating) {
        finish_namespace(shared, namespace, context);
    }
    protect::after_removal(shared, resource, namespace, context);
    if resource.custom.is_some() {
        finish_definition(shared, &resource.group, &resource.plural, context);
    }
}

fn definition_of(resource: &Resource, stored: &Stored) -> Option<(String, String)> {
    if !resource.is("apiextensions.k8s.io", "customresourcedefinitions") {
        return None;
    }
    let (plural, group) = stored.name().split_once('.')?;
    Some((group.to_owned(), plural.to_owned()))
}

fn empty(shared: &Shared, resource: &Resource, prefix: &str, context: &Context) {
    let query = Query { prefix, after: None, at: None, limit: 0, matches: &|_| true };
    let Ok(page) = shared.store.list(&resource.storage, &query) else {
        return;
    };
    let options = DeleteOptions { propagation: Some(Propagation::Background), ..DeleteOptions::default() };
    for object in page.items {
        // Another client may have deleted it in the meantime, which has the same result.
        let _gone_or_held = delete(shared, resource, &object.key, &options, context);
    }
}

fn finish_namespace(shared: &Shared, name: &str, context: &Context) {
    let registry = shared.registry();
    let Some(resource) = registry.find("", "v1", "namespaces") else {
        return;
    };
    let prefix = format!("{name}/");
    loop {
        let Some(current) = shared.store.get("namespaces", name).filter(|n| n.terminating) else {
            return;
        };
        let full = {
            let inner = shared.store.write();
            registry.collections().any(|c| c.namespaced && inner.has_prefix(&c.storage, &prefix))
        };
        if full {
            return;
        }
        let mut object = current.value();
        let finalizers = json::list(&object, &["spec", "finalizers"]);
        let left: Vec<_> = finalizers.iter().filter(|f| f.as_str() != Some("kubernetes")).cloned().collect();
        if left.len() == finalizers.len() && !left.is_empty() {
            return;
        }
        if left.is_empty() {
            json::object(&mut object).insert("spec".into(), serde_json::json!({}));
        } else {
            json::child(json::object(&mut object), "spec").insert("finalizers".into(), left.into());
        }
        if object == current.value() {
            return;
        }
        if replace(shared, resource, &current, object, context).is_ok() {
            return;
        }
    }
}

fn finish_definition(shared: &Shared, group: &str, plural: &str, context: &Context) {
    let registry = shared.registry();
    let Some(resource) = registry.find("apiextensions.k8s.io", "v1", "customresourcedefinitions") else {
        return;
    };
    let storage = builtin_storage(group, plural);
    let name = format!("{plural}.{group}");
    loop {
        let Some(current) = shared.store.get(&resource.storage, &name).filter(|c| c.terminating) else {
            return;
        };
        if shared.store.write().has_prefix(&storage, "") {
            return;
        }
        let mut object = current.value();
        let finalizers = json::list(&object, &["metadata", "finalizers"]);
        let left: Vec<_> = finalizers.iter().filter(|f| f.as_str() != Some(CLEANUP)).cloned().collect();
        if left.len() == finalizers.len() {
            return;
        }
        let done = left.is_empty();
        json::metadata(&mut object).insert("finalizers".into(), left.into());
        if replace(shared, resource, &current, object, context).is_ok() {
            if done {
                shared.store.end(&storage);
            }
            return;
        }
    }
}
