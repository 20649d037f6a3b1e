//! What each kind of write makes of the cluster.
//!
//! Grants are checked before this, and nothing is recorded here.

use super::answer::{failure, invalid, refused, terminating, unable};
use super::cluster::{Cluster, key, set, timestamp};
use super::kinds::has_status;
use super::patch;
use crate::bindings::boathook::hook::kube::{
    CreateOp, DeleteOp, DeleteOptions, Failure, IfExists, Operation, Patch, PatchOp, UpdateOp,
};
use crate::kube::{Object, ObjectRef, Reason};
use serde_json::{Value, json};

type Answer = Result<Option<Object>, Failure>;

impl Cluster {
    /// Does a write; `what` names it in errors, `manager` owns the fields that are applied.
    pub fn write(&mut self, what: &str, operation: &Operation, manager: &str) -> Answer {
        match operation {
            Operation::Create(create) => self.create(what, create),
            Operation::Update(update) => self.update(what, update),
            Operation::Patch(patch) => self.patch(what, patch, manager),
            Operation::Delete(delete) => self.delete(what, delete),
        }
    }

    fn create(&mut self, what: &str, create: &CreateOp) -> Answer {
        let mut object = parse(what, &create.object)?;
        if let Some((subresource, target)) = &create.subresource {
            let target = ObjectRef::from_wire(target.clone());
            return match subresource.as_str() {
                "eviction" => self.remove(&target).map(|_| Some(object)).ok_or_else(|| self.missing(what, &target)),
                other => Err(unable(&format!("the creation of the subresource {other}"))),
            };
        }
        if object.name().is_empty() {
            let prefix = object.pointer("/metadata/generateName").and_then(Value::as_str).unwrap_or_default();
            if prefix.is_empty() {
                return Err(invalid(format!("{what}: set metadata.name or metadata.generateName")));
            }
            let name = format!("{prefix}{}", self.suffix());
            set(&mut object, "name", json!(name));
        }
        let target = object.object_ref();
        self.check_place(what, &target)?;
        self.check_namespace(what, &object)?;
        if self.get(&target).is_none() {
            return Ok(Some(self.put(object)));
        }
        match create.if_exists {
            IfExists::Fail => {
                let message = format!("{what}: {} {:?} already exists", target.kind, target.name);
                Err(failure(Reason::AlreadyExists, message))
            }
            IfExists::Keep => Ok(None),
            IfExists::Replace => {
                set(&mut object, "resourceVersion", Value::Null);
                self.replace(object).map(Some)
            }
        }
    }

    fn check_namespace(&self, what: &str, object: &Object) -> Result<(), Failure> {
        let Some(namespace) = object.namespace() else { return Ok(()) };
        if !self.has_namespace(namespace) {
            return Err(failure(Reason::NotFound, format!("{what}: namespaces {namespace:?} not found")));
        }
        let phase = self.namespace_of(object).and_then(|namespace| namespace.pointer("/status/phase"));
        if phase.and_then(Value::as_str) == Some("Terminating") { Err(terminating(namespace)) } else { Ok(()) }
    }

    fn update(&mut self, what: &str, update: &UpdateOp) -> Answer {
        let object = parse(what, &update.object)?;
        let target = object.object_ref();
        self.check_place(what, &target)?;
        let live = self.get(&target).cloned().ok_or_else(|| self.missing(what, &target))?;
        check_version(what, &live, object.resource_version())?;
        self.store(what, &live, object, update.subresource.as_deref()).map(Some)
    }

    fn patch(&mut self, what: &str, op: &PatchOp, manager: &str) -> Answer {
        let target = ObjectRef::from_wire(op.target.clone());
        self.check_place(what, &target)?;
        if let Patch::Apply((object, options)) = &op.patch {
            let manager = options.field_manager.as_deref().unwrap_or(manager);
            return self.apply(what, &target, object, manager, options.force, op.subresource.as_deref());
        }
        let Some(live) = self.get(&target).cloned() else {
            return if op.ignore_missing { Ok(None) } else { Err(self.missing(what, &target)) };
        };
        let mut object = live.clone();
        match &op.patch {
            Patch::Json(text) => {
                patch::json(&mut object, &json_text(what, text)?).map_err(|error| refused(what, error))?;
            }
            Patch::Merge(text) => patch::merge(&mut object, &object_text(what, text)?),
            Patch::Strategic(text) => {
                patch::strategic(&mut object, &object_text(what, text)?).map_err(|error| refused(what, error))?;
            }
            Patch::Jq(_) => return Err(unable("a jq patch")),
            Patch::Apply(_) => {}
        }
        check_version(what, &live, object.resource_version())?;
        self.store(what, &live, object, op.subresource.as_deref()).map(Some)
    }

    fn apply(
        &mut self,
        what: &str,
        target: &ObjectRef,
        text: &str,
        manager: &str,
        force: bool,
        subresource: Option<&str>,
    ) -> Answer {
        let wanted = parse(what, text)?;
        let Some(live) = self.get(target).cloned() else {
            if subresource.is_some() {
                return Err(self.missing(what, target));
            }
            self.check_namespace(what, &wanted)?;
            let made = self.put(wanted.clone());
            self.applied.insert((key(target), manager.to_owned()), wanted.0);
            return Ok(Some(made));
        };
        check_version(what, &live, wanted.resource_version())?;
        let owner = (key(target), manager.to_owned());
        let before = self.applied.get(&owner).cloned().unwrap_or_default();
        let mut object = live.clone();
        patch::apply(&mut object, &before, &wanted, force, "").map_err(|error| refused(what, error))?;
        let stored = self.store(what, &live, object, subresource)?;
        self.applied.insert(owner, wanted.0);
        Ok(Some(stored))
    }

    fn delete(&mut self, what: &str, delete: &DeleteOp) -> Answer {
        let target = ObjectRef::from_wire(delete.target.clone());
        let DeleteOptions { ignore_missing, uid, resource_version, wait, .. } = &delete.options;
        self.check_place(what, &target)?;
        let Some(mut live) = self.get(&target).cloned() else {
            return if *ignore_missing { Ok(None) } else { Err(self.missing(what, &target)) };
        };
        if uid.as_deref().is_some_and(|uid| live.uid() != Some(uid)) {
            let message = format!("{what}: the uid in the precondition is not {}", live.uid().unwrap_or_default());
            return Err(failure(Reason::Conflict, message));
        }
        check_version(what, &live, resource_version.as_deref())?;
        if !has_finalizers(&live) {
            self.remove(&target);
            return Ok(Some(live));
        }
        if live.pointer("/metadata/deletionTimestamp").is_none() {
            set(&mut live, "deletionTimestamp", json!(timestamp(self.now)));
            live = self.put(live);
        }
        match wait {
            Some(wait) => {
                let message = format!("{what}: still there after {wait}ms; it has finalizers");
                Err(failure(Reason::Timeout, message))
            }
            None => Ok(Some(live)),
        }
    }

    /// Stores what a change made of an object: all of it but the status, or the status alone.
    fn store(
        &mut self,
        what: &str,
        live: &Object,
        mut object: Object,
        subresource: Option<&str>,
    ) -> Result<Object, Failure> {
        let target = live.object_ref();
        if object.object_ref() != target {
            let message = format!("{what}: apiVersion, kind, namespace and name cannot be changed");
            return Err(failure(Reason::Invalid, message));
        }
        match subresource {
            Some("status") => {
                let status = object.get("status").cloned().unwrap_or_default();
                object = live.clone();
                put_status(&mut object, status);
            }
            Some(other) => return Err(unable(&format!("a change of the subresource {other}"))),
            None if has_status(&target.api_version, &target.kind) => {
                put_status(&mut object, live.get("status").cloned().unwrap_or_default());
            }
            None => {}
        }
        self.replace(object)
    }

    /// An object that is being deleted goes with its last finalizer.
    fn replace(&mut self, object: Object) -> Result<Object, Failure> {
        let target = object.object_ref();
        let stored = self.put(object);
        if stored.pointer("/metadata/deletionTimestamp").is_some() && !has_finalizers(&stored) {
            self.remove(&target);
        }
        Ok(stored)
    }
}

fn put_status(object: &mut Object, status: Value) {
    if let Some(fields) = object.as_object_mut() {
        if status.is_null() {
            fields.remove("status")
        } else {
            fields.insert("status".to_owned(), status)
        };
    }
}

fn has_finalizers(object: &Object) -> bool {
    object.pointer("/metadata/finalizers").and_then(Value::as_array).is_some_and(|list| !list.is_empty())
}

fn check_version(what: &str, live: &Object, wanted: Option<&str>) -> Result<(), Failure> {
    match wanted.filter(|version| !version.is_empty()) {
        Some(version) if live.resource_version() != Some(version) => {
            let message =
                format!("{what}: the object has been modified; please apply your changes to the latest version");
            Err(failure(Reason::Conflict, message))
        }
        _ => Ok(()),
    }
}

fn json_text(what: &str, text: &str) -> Result<Value, Failure> {
    serde_json::from_str(text).map_err(|error| invalid(format!("{what}: it is not JSON: {error}")))
}

fn object_text(what: &str, text: &str) -> Result<Value, Failure> {
    let value = json_text(what, text)?;
    if value.is_object() { Ok(value) } else { Err(invalid(format!("{what}: the patch is no object"))) }
}

/// An object with its kind; its name may be missing.
pub(super) fn parse(what: &str, text: &str) -> Result<Object, Failure> {
    let object = Object(object_text(what, text)?);
    for (field, value) in [("apiVersion", object.api_version()), ("kind", object.kind())] {
        if value.is_empty() {
            return Err(invalid(format!("{what}: the object has no {field}")));
        }
    }
    Ok(object)
}
