//! Deletes one object: preconditions, finalizers, removal. It does not wait: an object with finalizers stays, with a
//! deletionTimestamp.

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::{Lost, drop_from, edit, remove, replace};
use crate::context::Context;
use crate::json;
use crate::kinds::{Resource, builtin_storage, crd};
use crate::shared::Shared;
use crate::status::{Failure, GroupResource};
use crate::store::{FOREGROUND, ORPHAN, Stored};

/// The preconditions of a deletion.
#[derive(Debug, Default)]
pub(crate) struct Preconditions {
    pub uid: Option<String>,
    pub resource_version: Option<String>,
}

/// What happens to the dependents of a deleted object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Propagation {
    Background,
    Foreground,
    Orphan,
}

/// The options of a deletion.
#[derive(Debug, Default)]
pub(crate) struct DeleteOptions {
    pub preconditions: Preconditions,
    /// None for the default of the kind or of the object's finalizers.
    pub propagation: Option<Propagation>,
    /// In seconds. None for the object's own grace period.
    pub grace: Option<i64>,
}

/// The result of a deletion.
pub(crate) enum Outcome {
    /// The object is removed. Contains its last state.
    Gone(Arc<Stored>),
    /// Finalizers or its content keep the object.
    Held(Arc<Stored>),
}

/// Namespaces that cannot be deleted.
const PROTECTED: &[&str] = &["default", "kube-system", "kube-public"];

pub(crate) fn delete(
    shared: &Shared,
    resource: &Resource,
    key: &str,
    options: &DeleteOptions,
    context: &Context,
) -> Result<Outcome, Failure> {
    let name = key.rsplit('/').next().unwrap_or(key);
    if &*resource.storage == "namespaces" && PROTECTED.contains(&name) {
        return Err(Failure::forbidden(resource.gr(), name, "this namespace may not be deleted"));
    }
    loop {
        let current = shared.store.get(&resource.storage, key);
        let current = current.ok_or_else(|| Failure::not_found(resource.gr(), name))?;
        check(resource, &current, &options.preconditions)?;
        // If the write is lost, another client changed the object in the meantime.
        if let Ok(outcome) = step(shared, resource, &current, options, context) {
            return Ok(outcome);
        }
    }
}

/// Whether the object meets the preconditions.
pub(crate) fn check(resource: &Resource, current: &Stored, preconditions: &Preconditions) -> Result<(), Failure> {
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
    options: &DeleteOptions,
    context: &Context,
) -> Result<Outcome, Lost> {
    let before = current.value();
    let mut object = before.clone();
    let is_pod = &*resource.storage == "pods";
    let is_namespace = &*resource.storage == "namespaces";
    let is_definition = resource.is("apiextensions.k8s.io", "customresourcedefinitions");
    if is_pod && current.terminating && !shorten(&mut object, options.grace) {
        return Ok(Outcome::Held(current.clone()));
    }
    let mut finalizers = propagate(resource, &before, options.propagation);
    if is_definition && !current.terminating {
        finalizers.push(CLEANUP.into());
    }
    set_finalizers(&mut object, finalizers);
    let held = !json::is_empty(json::at(&object, &["metadata", "finalizers"]))
        || (is_namespace && !json::is_empty(json::at(&object, &["spec", "finalizers"])));
    if !current.terminating && (held || is_pod) {
        // Pods always get a grace period, even if it is zero seconds.
        let seconds = if is_pod { grace(&object, options.grace) } else { 0 };
        let generation = json::at(&object, &["metadata", "generation"]).cloned();
        mark(&mut object, seconds, is_namespace, context);
        if let Some(generation) = generation.filter(|_| is_definition) {
            let meta = json::metadata(&mut object);
            meta.insert("generation".into(), generation);
            meta.shift_remove("deletionGracePeriodSeconds");
            let message = "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon";
            let now = context.stamp();
            crd::set_condition(&mut object, "Terminating", "True", "InstanceDeletionPending", message, &now);
        }
    }
    let waits = is_pod && json::int(&object, &["metadata", "deletionGracePeriodSeconds"]).is_some_and(|s| s > 0);
    if held || waits {
        if object == before {
            return Ok(Outcome::Held(current.clone()));
        }
        let marked = replace(shared, resource, current, object, context)?;
        if !context.dry_run && !current.terminating {
            after_mark(shared, resource, &marked, context);
        }
        return Ok(Outcome::Held(marked));
    }
    if context.dry_run {
        return Ok(Outcome::Gone(current.clone()));
    }
    let last = if is_pod { object } else { before };
    remove(shared, resource, current, last, context).map(Outcome::Gone)
}

/// The finalizers for the requested propagation.
fn propagate(resource: &Resource, object: &Value, asked: Option<Propagation>) -> Vec<Value> {
    let given = json::list(object, &["metadata", "finalizers"]);
    let found = given.iter().find_map(|f| match f.as_str() {
        Some(ORPHAN) => Some(Propagation::Orphan),
        Some(FOREGROUND) => Some(Propagation::Foreground),
        _ => None,
    });
    let usual = resource.orphans_by_default().then_some(Propagation::Orphan);
    let mut finalizers: Vec<Value> = given.iter().filter(|f| *f != ORPHAN && *f != FOREGROUND).cloned().collect();
    match asked.or(found).or(usual) {
        _ if &*resource.storage == "events" => {}
        Some(Propagation::Orphan) => finalizers.push(ORPHAN.into()),
        Some(Propagation::Foreground) => finalizers.push(FOREGROUND.into()),
        Some(Propagation::Background) | None => {}
    }
    finalizers
}

fn set_finalizers(object: &mut Value, finalizers: Vec<Value>) {
    let meta = json::metadata(object);
    if finalizers.is_empty() {
        meta.shift_remove("finalizers");
    } else {
        meta.insert("finalizers".into(), finalizers.into());
    }
}

/// The grace period of a pod in seconds. Zero if it does not run anywhere.
fn grace(pod: &Value, asked: Option<i64>) -> i64 {
    let runs_nowhere = json::text(pod, &["spec", "nodeName"]).is_empty();
    if runs_nowhere || matches!(json::text(pod, &["status", "phase"]), "Succeeded" | "Failed") {
        return 0;
    }
    let usual = || json::int(pod, &["spec", "terminationGracePeriodSeconds"]).unwrap_or_default();
    let seconds = asked.unwrap_or_else(usual);
    // A negative value becomes one second, as on the real server.
    if seconds < 0 { 1 } else { seconds }
}

/// Shortens the grace period of a pod that is being deleted. False if the request does not shorten it.
fn shorten(pod: &mut Value, asked: Option<i64>) -> bool {
    let given = json::int(pod, &["metadata", "deletionGracePeriodSeconds"]).unwrap_or_default();
    let Some(seconds) = asked.map(|s| if s < 0 { 1 } else { s }).filter(|s| *s < given) else {
        return false;
    };
    let end: Result<Timestamp, _> = json::text(pod, &["metadata", "deletionTimestamp"]).parse();
    let Some(end) = end.ok().and_then(|end| end.checked_sub(SignedDuration::from_secs(given - seconds)).ok()) else {
        return false;
    };
    let meta = json::metadata(pod);
    meta.insert("deletionTimestamp".into(), crate::time::seconds(end).into());
    meta.insert("deletionGracePeriodSeconds".into(), seconds.into());
    true
}

fn mark(object: &mut Value, grace: i64, is_namespace: bool, context: &Context) {
    let end = context.now.checked_add(SignedDuration::from_secs(grace)).unwrap_or(context.now);
    let meta = json::metadata(object);
    meta.insert("deletionTimestamp".into(), crate::time::seconds(end).into());
    meta.insert("deletionGracePeriodSeconds".into(), grace.into());
    if let Some(generation) = meta.get("generation").and_then(Value::as_i64) {
        meta.insert("generation".into(), (generation + 1).into());
    }
    if is_namespace {
        meta.shift_remove("deletionGracePeriodSeconds");
        json::child(json::object(object), "status").insert("phase".into(), "Terminating".into());
    }
}

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
        super::note_remaining(shared, marked.name(), context);
    } else if let Some((group, plural)) = definition_of(resource, marked) {
        if let Some(custom) = shared.registry().any_version(&group, &plural) {
            empty(shared, custom, "", context);
        }
        finish_definition(shared, &group, &plural, context);
    } else {
        super::unprotect(shared, resource, &marked.key, context);
    }
}

/// After an object that had a finalizer was removed.
pub(crate) fn after_release(shared: &Shared, resource: &Resource, namespace: &str, context: &Context) {
    after_removal(shared, resource, namespace, context);
    if resource.namespaced {
        super::note_remaining(shared, namespace, context);
    }
}

/// After an object was removed. Objects that waited for this may now be removed.
pub(crate) fn after_removal(shared: &Shared, resource: &Resource, namespace: &str, context: &Context) {
    if resource.namespaced && shared.store.get("namespaces", namespace).is_some_and(|n| n.terminating) {
        finish_namespace(shared, namespace, context);
    }
    super::unprotect_claims(shared, resource, namespace, context);
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
    let options = DeleteOptions { propagation: Some(Propagation::Background), ..DeleteOptions::default() };
    for object in shared.store.all(&resource.storage, prefix) {
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
    edit(shared, resource, name, context, |current| {
        let inner = shared.store.write();
        let full = registry.collections().any(|c| c.namespaced && inner.has_prefix(&c.storage, &prefix));
        let mut object = current.value();
        let finalizers = json::list(&object, &["spec", "finalizers"]);
        let left: Vec<_> = finalizers.iter().filter(|f| f.as_str() != Some("kubernetes")).cloned().collect();
        let spec = if left.is_empty() { json!({}) } else { json!({ "finalizers": left }) };
        json::object(&mut object).insert("spec".into(), spec);
        (current.terminating && !full).then_some(object)
    });
}

fn finish_definition(shared: &Shared, group: &str, plural: &str, context: &Context) {
    let registry = shared.registry();
    let Some(resource) = registry.find("apiextensions.k8s.io", "v1", "customresourcedefinitions") else {
        return;
    };
    let storage = builtin_storage(group, plural);
    let name = format!("{plural}.{group}");
    let edited = edit(shared, resource, &name, context, |current| {
        let mut object = current.value();
        drop_from(&mut object, "finalizers", |f| f == CLEANUP);
        (current.terminating && !shared.store.write().has_prefix(&storage, "")).then_some(object)
    });
    if edited.is_some_and(|definition| shared.store.get(&resource.storage, &definition.key).is_none()) {
        shared.store.end(&storage);
    }
}
