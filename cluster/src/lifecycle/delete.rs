//! Deleting one object: preconditions, finalizers, removal.
//!
//! Never waits: what finalizers hold stays, with a deletionTimestamp.

use std::sync::Arc;

use serde_json::Value;

use super::{Context, commit, drain};
use crate::json;
use crate::kinds::Resource;
use crate::shared::Shared;
use crate::status::{Failure, GroupResource};
use crate::store::Stored;

/// What must hold of the object for it to be deleted.
#[derive(Debug, Default)]
pub(crate) struct Preconditions {
    pub uid: Option<String>,
    pub resource_version: Option<String>,
}

/// How a deletion ended.
pub(crate) enum Outcome {
    /// The object is gone; its last state.
    Gone(Arc<Stored>),
    /// The object is held by finalizers or by its content.
    Held(Arc<Stored>),
}

/// Namespaces without which nothing works.
const PROTECTED: &[&str] = &["default", "kube-system", "kube-public"];

pub(crate) fn delete(
    shared: &Shared,
    resource: &Resource,
    key: &str,
    preconditions: &Preconditions,
    context: &Context,
) -> Result<Outcome, Failure> {
    let name = key.rsplit('/').next().unwrap_or(key);
    if &*resource.storage == "namespaces" && PROTECTED.contains(&name) {
        return Err(Failure::forbidden(resource.gr(), name, "this namespace may not be deleted"));
    }
    loop {
        let current = shared.store.get(&resource.storage, key);
        let current = current.ok_or_else(|| Failure::not_found(resource.gr(), name))?;
        check(resource, &current, preconditions)?;
        // Lost: somebody else changed it meanwhile.
        if let Ok(outcome) = step(shared, resource, &current, context) {
            return Ok(outcome);
        }
    }
}

fn check(resource: &Resource, current: &Stored, preconditions: &Preconditions) -> Result<(), Failure> {
    let kind = GroupResource { group: &resource.group, resource: &resource.kind };
    if let Some(uid) = preconditions.uid.as_ref().filter(|uid| **uid != *current.uid) {
        let why = format!(
            "the UID in the precondition ({uid}) does not match the UID in record ({}). The object might have been deleted \
             and then recreated",
            current.uid
        );
        return Err(Failure::conflict(kind, current.name(), &why));
    }
    let found = current.revision.to_string();
    if let Some(version) = preconditions.resource_version.as_ref().filter(|v| **v != found) {
        let why = format!(
            "the ResourceVersion in the precondition ({version}) does not match the ResourceVersion in record ({found}). The \
             object might have been modified"
        );
        return Err(Failure::conflict(kind, current.name(), &why));
    }
    Ok(())
}

fn step(
    shared: &Shared,
    resource: &Resource,
    current: &Arc<Stored>,
    context: &Context,
) -> Result<Outcome, commit::Lost> {
    let mut object = current.value();
    let is_namespace = &*resource.storage == "namespaces";
    let held = !json::is_empty(json::at(&object, &["metadata", "finalizers"]))
        || (is_namespace && !json::is_empty(json::at(&object, &["spec", "finalizers"])));
    if !held {
        if context.dry_run {
            return Ok(Outcome::Gone(current.clone()));
        }
        if &*resource.storage == "pods" && !current.terminating {
            // Pods always die gracefully, if only for zero seconds.
            mark(&mut object, false, context);
        }
        return commit::remove(shared, resource, current, object, context).map(Outcome::Gone);
    }
    if current.terminating {
        return Ok(Outcome::Held(current.clone()));
    }
    mark(&mut object, is_namespace, context);
    let marked = commit::replace(shared, resource, current, object, context)?;
    if !context.dry_run {
        drain::after_mark(shared, resource, &marked, context);
    }
    Ok(Outcome::Held(marked))
}

fn mark(object: &mut Value, is_namespace: bool, context: &Context) {
    let meta = json::metadata(object);
    meta.insert("deletionTimestamp".into(), context.stamp().into());
    meta.insert("deletionGracePeriodSeconds".into(), 0.into());
    if let Some(generation) = meta.get("generation").and_then(Value::as_i64) {
        meta.insert("generation".into(), (generation + 1).into());
    }
    if is_namespace {
        meta.shift_remove("deletionGracePeriodSeconds");
        json::child(json::object(object), "status").insert("phase".into(), "Terminating".into());
    }
}
