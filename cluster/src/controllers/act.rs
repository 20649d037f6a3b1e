//! Reading and writing objects the way a client of the API would, in process.
//!
//! Never decides what to write.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::json;
use crate::kinds::{Resource, Sub};
use crate::lifecycle::delete::{DeleteOptions, Preconditions, Propagation, delete};
use crate::lifecycle::update::{self, Origin};
use crate::lifecycle::{Context, Validation, commit, create};
use crate::shared::Shared;
use crate::store::{Query, Stored};

/// More new objects than this wait for the next look.
pub(super) const BURST: usize = 500;

pub(super) fn context() -> Context {
    Context {
        now: crate::time::now(),
        manager: "kube-controller-manager".into(),
        dry_run: false,
        validation: Validation::Ignore,
    }
}

fn resource(shared: &Shared, storage: &str) -> Option<Arc<Resource>> {
    shared.registry().of_storage(storage).cloned()
}

/// The object, unless it is gone or going.
pub(super) fn living(shared: &Shared, storage: &str, key: &str) -> Option<Value> {
    shared.store.get(storage, key).filter(|object| !object.terminating).map(|object| object.value())
}

/// All objects of a collection in a namespace that `owner` controls.
pub(super) fn controlled(shared: &Shared, storage: &str, namespace: &str, owner: &Value) -> Vec<Value> {
    let uid = json::text(owner, &["metadata", "uid"]);
    let owned = |object: &Stored| object.owners.iter().any(|o| *o.uid == *uid);
    let prefix = format!("{namespace}/");
    let query = Query { prefix: &prefix, after: None, at: None, limit: 0, matches: &owned };
    let found = shared.store.list(storage, &query).map(|page| page.items).unwrap_or_default();
    let controls = |o: &Value| o.get("controller") == Some(&true.into()) && json::text(o, &["uid"]) == uid;
    let values = found.iter().map(|object| object.value());
    values.filter(|v| json::list(v, &["metadata", "ownerReferences"]).iter().any(controls)).collect()
}

/// A reference to a controlling owner.
pub(super) fn reference(owner: &Value) -> Value {
    json!({
        "apiVersion": json::text(owner, &["apiVersion"]), "kind": json::text(owner, &["kind"]),
        "name": json::text(owner, &["metadata", "name"]), "uid": json::text(owner, &["metadata", "uid"]),
        "controller": true, "blockOwnerDeletion": true,
    })
}

/// A pod as a template describes it.
pub(super) fn pod_of(owner: &Value) -> Value {
    let template = json::at(owner, &["spec", "template"]).cloned().unwrap_or_default();
    let mut meta = json::at(&template, &["metadata"]).cloned().unwrap_or_else(|| json!({}));
    let map = json::object(&mut meta);
    map.retain(|key, value| matches!(key.as_str(), "labels" | "annotations" | "finalizers") && !value.is_null());
    map.insert("generateName".into(), format!("{}-", json::text(owner, &["metadata", "name"])).into());
    map.insert("ownerReferences".into(), json!([reference(owner)]));
    json!({ "apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": template.get("spec") })
}

/// Makes an object; false when it could not be made.
pub(super) fn make(shared: &Shared, storage: &str, namespace: &str, mut object: Value) -> bool {
    let Some(resource) = resource(shared, storage) else {
        return false;
    };
    let context = context();
    let made = create::prepare(&resource, &mut object, namespace, Origin::Put, &context)
        .and_then(|_| commit::insert(shared, &resource, object, &context));
    if let Err(failure) = &made {
        tracing::debug!(storage, namespace, message = failure.message(), "a controller cannot make an object");
    }
    made.is_ok()
}

/// Changes an object as long as it is the one with this uid, and says what it is then.
pub(super) fn edit(
    shared: &Shared,
    storage: &str,
    object: &Value,
    sub: Option<Sub>,
    change: impl Fn(&mut Value),
) -> Option<Value> {
    let resource = resource(shared, storage)?;
    let context = context();
    let text = |key: &str| json::text(object, &["metadata", key]);
    let (key, uid) = (crate::store::key(text("namespace"), text("name")), text("uid"));
    loop {
        let current = shared.store.get(storage, &key).filter(|found| *found.uid == *uid)?;
        let old = current.value();
        let mut new = old.clone();
        change(&mut new);
        if new == old {
            return Some(old);
        }
        if let Err(failure) = update::prepare(&resource, &old, &mut new, sub, Origin::Put, &context) {
            tracing::debug!(storage, key, message = failure.message(), "a controller cannot change an object");
            return None;
        }
        if new == old {
            return Some(old);
        }
        // Lost: somebody else changed it meanwhile.
        if let Ok(stored) = commit::replace(shared, &resource, &current, new, &context) {
            return Some(stored.value());
        }
    }
}

pub(super) fn set_status(shared: &Shared, storage: &str, object: &Value, status: &Value) {
    let change = |new: &mut Value| {
        json::object(new).insert("status".into(), status.clone());
    };
    let _changed = edit(shared, storage, object, Some(Sub::Status), change);
}

pub(super) fn remove(shared: &Shared, storage: &str, object: &Value) {
    let Some(resource) = resource(shared, storage) else {
        return;
    };
    let text = |key: &str| json::text(object, &["metadata", key]);
    let preconditions = Preconditions { uid: Some(text("uid").to_owned()), resource_version: None };
    let options = DeleteOptions { preconditions, propagation: Some(Propagation::Background), grace: None };
    // Somebody else may have removed it meanwhile.
    let _gone = delete(shared, &resource, &crate::store::key(text("namespace"), text("name")), &options, &context());
}
