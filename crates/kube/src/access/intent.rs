//! What a write is about before it is checked: the operation, its target and its verb.

use std::borrow::Cow;

use boathook_core::model::{CallError, HookName, ObjectRef, Operation, Patch, PatchBody};

use super::request::{Head, Named};

/// An operation, and the identity in its body if it has one.
pub(super) struct Intent<'a> {
    pub operation: &'a Operation,
    pub head: Result<Head, CallError>,
}

impl<'a> Intent<'a> {
    pub fn read(operation: &'a Operation) -> Self {
        let head = match operation {
            Operation::Create(create) => Head::read(&create.object),
            Operation::Update(update) => Head::read(&update.object),
            Operation::Patch(Patch { body: PatchBody::Apply { object, .. }, .. }) => Head::read(object),
            Operation::Patch(_) | Operation::Delete(_) => Ok(Head::default()),
        };
        Self { operation, head }
    }

    /// The target that is named outside of the body.
    pub fn target(&self) -> Option<&'a ObjectRef> {
        match self.operation {
            Operation::Create(create) => create.subresource.as_ref().map(|(_, target)| target),
            Operation::Patch(patch) => Some(&patch.target),
            Operation::Delete(delete) => Some(&delete.target),
            Operation::Update(_) => None,
        }
    }

    /// The field manager of the write.
    pub fn manager(&self, hook: &HookName) -> Cow<'a, str> {
        match self.operation {
            Operation::Patch(Patch { body: PatchBody::Apply { field_manager: Some(manager), .. }, .. }) => {
                manager.as_str().into()
            }
            _ => field_manager(hook).into(),
        }
    }

    pub fn object(&self) -> String {
        match (self.target(), &self.head) {
            (Some(target), _) => Named::object(target, None).to_string(),
            (None, Ok(head)) => head.describe(),
            (None, Err(_)) => "? ?".to_owned(),
        }
    }

    pub fn subresource(&self) -> Option<&'a str> {
        match self.operation {
            Operation::Create(create) => create.subresource.as_ref().map(|(name, _)| name.as_str()),
            Operation::Update(update) => update.subresource.as_deref(),
            Operation::Patch(patch) => patch.subresource.as_deref(),
            Operation::Delete(_) => None,
        }
    }

    /// The object, with `?` for the parts that are not known.
    pub fn reference(&self) -> ObjectRef {
        match (self.target(), &self.head) {
            (Some(target), _) => target.clone(),
            (None, Ok(head)) => head.reference(),
            (None, Err(_)) => {
                let unknown = || "?".to_owned();
                ObjectRef { api_version: unknown(), kind: unknown(), namespace: None, name: unknown() }
            }
        }
    }
}

/// The name under which the API server tracks the fields that a hook has set.
pub(super) fn field_manager(hook: &HookName) -> String {
    format!("boathook.dev/{hook}")
}
