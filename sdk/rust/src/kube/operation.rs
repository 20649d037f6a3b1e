//! Writes: one at a time, or many in a batch that the host executes concurrently.
//!
//! An operation is only a description until it is run.

use super::head::{target, text, typed_text};
use super::{Error, Kind, ObjectRef, Reason};
use crate::bindings::boathook::hook::kube as wire;
use crate::data::Json;
use crate::host;
use serde::Serialize;
use std::time::Duration;

/// What `create` does when the object is there already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IfExists {
    /// It fails; [`Error::is_already_exists`] tells. The default.
    Fail,
    /// Nothing; the operation succeeds without an object.
    Keep,
    /// It replaces the object.
    Replace,
}

/// What happens to the objects that a deleted one owns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Propagation {
    /// They are deleted afterwards. The default.
    Background,
    /// They are deleted first.
    Foreground,
    /// They stay.
    Orphan,
}

/// One write.
///
/// ```no_run
/// use boathook_sdk::prelude::*;
/// use boathook_sdk::kube::Operation;
///
/// # fn run(stale: Vec<ObjectRef>) -> Result<()> {
/// let deletions = stale.into_iter().map(|target| Operation::delete(target).ignore_missing());
/// for result in kube::batch(deletions) {
///     result?;
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
#[must_use = "an operation does nothing until it is run, alone or in a batch"]
pub struct Operation {
    /// The description, or what is wrong with the object or patch.
    inner: Result<wire::Operation, String>,
}

impl Operation {
    /// Creates an object.
    pub fn create<T: Kind + Serialize>(object: &T) -> Self {
        Self::from_text(typed_text(object), create)
    }

    /// Creates an object of any kind, with `apiVersion` and `kind` in it.
    pub fn create_object<T: Serialize>(object: &T) -> Self {
        Self::from_text(text(object), create)
    }

    /// Creates a subresource of an object: an `eviction` of a Pod, a `token` of a ServiceAccount.
    pub fn create_subresource<T: Serialize>(target: ObjectRef, subresource: &str, body: &T) -> Self {
        let of = (subresource.to_owned(), target.to_wire());
        Self::from_text(text(body), |object| {
            let if_exists = wire::IfExists::Fail;
            Ok(wire::Operation::Create(wire::CreateOp { object, if_exists, subresource: Some(of) }))
        })
    }

    /// Replaces an object. With `metadata.resourceVersion`, it does so only if that version is still current.
    pub fn update<T: Kind + Serialize>(object: &T) -> Self {
        Self::from_text(typed_text(object), update)
    }

    /// Replaces an object of any kind.
    pub fn update_object<T: Serialize>(object: &T) -> Self {
        Self::from_text(text(object), update)
    }

    /// Makes an object have these fields by server-side apply; creates it when it is missing.
    /// The fields must not belong to others, unless [`force`](Self::force) is given.
    pub fn apply<T: Kind + Serialize>(object: &T) -> Self {
        Self::from_text(typed_text(object), apply)
    }

    /// Server-side apply of an object of any kind.
    pub fn apply_object<T: Serialize>(object: &T) -> Self {
        Self::from_text(text(object), apply)
    }

    /// Changes an object by a JSON Patch (RFC 6902).
    pub fn json_patch<T: Serialize>(target: ObjectRef, patch: &T) -> Self {
        Self::from_text(text(patch), |patch| Ok(patch_of(&target, wire::Patch::Json(patch))))
    }

    /// Changes an object by a JSON Merge Patch (RFC 7386).
    pub fn merge_patch<T: Serialize>(target: ObjectRef, patch: &T) -> Self {
        Self::from_text(text(patch), |patch| Ok(patch_of(&target, wire::Patch::Merge(patch))))
    }

    /// Changes an object of a built-in kind by a strategic merge patch.
    pub fn strategic_patch<T: Serialize>(target: ObjectRef, patch: &T) -> Self {
        Self::from_text(text(patch), |patch| Ok(patch_of(&target, wire::Patch::Strategic(patch))))
    }

    /// Reads an object, runs this jq program on it and writes it back if that changed it;
    /// repeats on conflict.
    pub fn jq_patch(target: ObjectRef, program: &str) -> Self {
        Self { inner: Ok(patch_of(&target, wire::Patch::Jq(program.to_owned()))) }
    }

    /// Deletes an object.
    pub fn delete(target: ObjectRef) -> Self {
        let options = wire::DeleteOptions {
            propagation: wire::Propagation::Background,
            ignore_missing: false,
            uid: None,
            resource_version: None,
            wait: None,
        };
        Self { inner: Ok(wire::Operation::Delete(wire::DeleteOp { target: target.to_wire(), options })) }
    }

    /// For `create`: what to do when the object is there already.
    pub fn if_exists(self, then: IfExists) -> Self {
        self.change(|operation| {
            if let wire::Operation::Create(create) = operation {
                create.if_exists = match then {
                    IfExists::Fail => wire::IfExists::Fail,
                    IfExists::Keep => wire::IfExists::Keep,
                    IfExists::Replace => wire::IfExists::Replace,
                };
            }
        })
    }

    /// For `update` and patches: change this subresource (`status`, `scale`) instead.
    pub fn subresource(self, name: &str) -> Self {
        self.change(|operation| match operation {
            wire::Operation::Update(update) => update.subresource = Some(name.to_owned()),
            wire::Operation::Patch(patch) => patch.subresource = Some(name.to_owned()),
            wire::Operation::Create(_) | wire::Operation::Delete(_) => {}
        })
    }

    /// For patches and `delete`: success when the object does not exist.
    pub fn ignore_missing(self) -> Self {
        self.change(|operation| match operation {
            wire::Operation::Patch(patch) => patch.ignore_missing = true,
            wire::Operation::Delete(delete) => delete.options.ignore_missing = true,
            wire::Operation::Create(_) | wire::Operation::Update(_) => {}
        })
    }

    /// For `apply`: take fields over from other managers.
    pub fn force(self) -> Self {
        self.change_apply(|options| options.force = true)
    }

    /// For `apply`: own the fields by this name instead of `boathook.dev/HOOK`.
    pub fn field_manager(self, name: &str) -> Self {
        self.change_apply(|options| options.field_manager = Some(name.to_owned()))
    }

    /// For `delete`: what happens to dependents.
    pub fn propagation(self, propagation: Propagation) -> Self {
        self.change_delete(|options| {
            options.propagation = match propagation {
                Propagation::Background => wire::Propagation::Background,
                Propagation::Foreground => wire::Propagation::Foreground,
                Propagation::Orphan => wire::Propagation::Orphan,
            };
        })
    }

    /// For `delete`: only if the object still has this uid.
    pub fn if_uid(self, uid: &str) -> Self {
        self.change_delete(|options| options.uid = Some(uid.to_owned()))
    }

    /// For `delete`: only if the object still has this resource version.
    pub fn if_resource_version(self, version: &str) -> Self {
        self.change_delete(|options| options.resource_version = Some(version.to_owned()))
    }

    /// For `delete`: wait this long (in whole milliseconds) for the object to be gone; a timeout
    /// if it is not.
    pub fn wait(self, time: Duration) -> Self {
        let ms = u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        self.change_delete(|options| options.wait = Some(ms))
    }

    /// Runs it: the object as the server answered it, if there was something to write.
    pub fn run(self) -> Result<Option<Json>, Error> {
        let operation = self.inner.map_err(malformed)?;
        Ok(host::write(&operation)?.map(Json::new))
    }

    fn from_text(
        text: Result<String, String>,
        operation: impl FnOnce(String) -> Result<wire::Operation, String>,
    ) -> Self {
        Self { inner: text.and_then(operation) }
    }

    fn change(mut self, change: impl FnOnce(&mut wire::Operation)) -> Self {
        if let Ok(operation) = &mut self.inner {
            change(operation);
        }
        self
    }

    fn change_delete(self, change: impl FnOnce(&mut wire::DeleteOptions)) -> Self {
        self.change(|operation| {
            if let wire::Operation::Delete(delete) = operation {
                change(&mut delete.options);
            }
        })
    }

    fn change_apply(self, change: impl FnOnce(&mut wire::ApplyOptions)) -> Self {
        self.change(|operation| {
            if let wire::Operation::Patch(wire::PatchOp { patch: wire::Patch::Apply((_, options)), .. }) = operation {
                change(options);
            }
        })
    }
}

/// Runs many writes: the host executes them concurrently, in order where they name one object.
/// One result each, in the order given.
pub fn batch(operations: impl IntoIterator<Item = Operation>) -> Vec<Result<Option<Json>, Error>> {
    let mut good = Vec::new();
    let mut results: Vec<Result<Option<Json>, Error>> = Vec::new();
    let mut bad = Vec::new();
    for (index, operation) in operations.into_iter().enumerate() {
        match operation.inner {
            Ok(operation) => good.push(operation),
            Err(text) => bad.push((index, malformed(text))),
        }
    }
    if !good.is_empty() {
        results.extend(host::batch(&good).into_iter().map(|r| Ok(r?.map(Json::new))));
    }
    // In ascending order, so that each lands where it was.
    for (index, error) in bad {
        results.insert(index.min(results.len()), Err(error));
    }
    results
}

fn malformed(text: String) -> Error {
    Error::new(Reason::Invalid, format!("the object or patch is malformed: {text}"))
}

fn create(object: String) -> Result<wire::Operation, String> {
    Ok(wire::Operation::Create(wire::CreateOp { object, if_exists: wire::IfExists::Fail, subresource: None }))
}

fn update(object: String) -> Result<wire::Operation, String> {
    Ok(wire::Operation::Update(wire::UpdateOp { object, subresource: None }))
}

fn apply(object: String) -> Result<wire::Operation, String> {
    let target = target(&object)?;
    let options = wire::ApplyOptions { force: false, field_manager: None };
    Ok(patch_of(&target, wire::Patch::Apply((object, options))))
}

fn patch_of(target: &ObjectRef, patch: wire::Patch) -> wire::Operation {
    let target = target.to_wire();
    wire::Operation::Patch(wire::PatchOp { target, patch, subresource: None, ignore_missing: false })
}
