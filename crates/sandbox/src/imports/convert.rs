//! Converts calls and their failures between the types of the WIT and of `model`. Nothing is checked here: `access`
//! reports what is wrong with a call.

use std::time::Duration;

use boathook_core::model::{
    CallError, CallReason, Create, Delete, EventType, IfExists, ListQuery, ObjectRef, Operation, Page, Patch,
    PatchBody, Propagation, Update,
};

use crate::wit::boathook::hook::kube;

pub(super) fn object_ref(target: kube::ObjectRef) -> ObjectRef {
    ObjectRef { api_version: target.api_version, kind: target.kind, namespace: target.namespace, name: target.name }
}

pub(super) fn list_query(query: kube::ListQuery) -> ListQuery {
    ListQuery {
        api_version: query.api_version,
        kind: query.kind,
        namespace: query.namespace,
        label_selector: query.label_selector,
        field_selector: query.field_selector,
        limit: query.limit,
        continue_token: query.continue_,
    }
}

pub(super) fn page(page: Page) -> kube::Page {
    kube::Page { items: page.items, continue_: page.continue_token, resource_version: page.resource_version }
}

pub(super) fn operation(operation: kube::Operation) -> Operation {
    match operation {
        kube::Operation::Create(op) => Operation::Create(Create {
            object: op.object,
            if_exists: if_exists(op.if_exists),
            subresource: op.subresource.map(|(name, target)| (name, object_ref(target))),
        }),
        kube::Operation::Update(op) => Operation::Update(Update { object: op.object, subresource: op.subresource }),
        kube::Operation::Patch(op) => Operation::Patch(Patch {
            target: object_ref(op.target),
            body: patch_body(op.patch),
            subresource: op.subresource,
            ignore_missing: op.ignore_missing,
        }),
        kube::Operation::Delete(op) => Operation::Delete(Delete {
            target: object_ref(op.target),
            propagation: propagation(op.options.propagation),
            ignore_missing: op.options.ignore_missing,
            uid: op.options.uid,
            resource_version: op.options.resource_version,
            wait: op.options.wait.map(Duration::from_millis),
        }),
    }
}

fn if_exists(choice: kube::IfExists) -> IfExists {
    match choice {
        kube::IfExists::Fail => IfExists::Fail,
        kube::IfExists::Keep => IfExists::Keep,
        kube::IfExists::Replace => IfExists::Replace,
    }
}

fn patch_body(patch: kube::Patch) -> PatchBody {
    match patch {
        kube::Patch::Json(patch) => PatchBody::Json(patch),
        kube::Patch::Merge(patch) => PatchBody::Merge(patch),
        kube::Patch::Strategic(patch) => PatchBody::Strategic(patch),
        kube::Patch::Jq(program) => PatchBody::Jq(program),
        kube::Patch::Apply((object, options)) => {
            PatchBody::Apply { object, force: options.force, field_manager: options.field_manager }
        }
    }
}

fn propagation(choice: kube::Propagation) -> Propagation {
    match choice {
        kube::Propagation::Background => Propagation::Background,
        kube::Propagation::Foreground => Propagation::Foreground,
        kube::Propagation::Orphan => Propagation::Orphan,
    }
}

pub(super) fn event_type(event_type: kube::EventType) -> EventType {
    match event_type {
        kube::EventType::Normal => EventType::Normal,
        kube::EventType::Warning => EventType::Warning,
    }
}

pub(super) fn call_error(error: CallError) -> kube::Failure {
    kube::Failure { reason: reason(error.reason), message: error.message, code: error.code, status: error.status }
}

fn reason(reason: CallReason) -> kube::Reason {
    match reason {
        CallReason::NotFound => kube::Reason::NotFound,
        CallReason::AlreadyExists => kube::Reason::AlreadyExists,
        CallReason::Conflict => kube::Reason::Conflict,
        CallReason::Invalid => kube::Reason::Invalid,
        CallReason::ForbiddenByGrant => kube::Reason::ForbiddenByGrant,
        CallReason::ForbiddenByCluster => kube::Reason::ForbiddenByCluster,
        CallReason::TooLarge => kube::Reason::TooLarge,
        CallReason::Timeout => kube::Reason::Timeout,
        CallReason::BudgetExceeded => kube::Reason::BudgetExceeded,
        CallReason::Unavailable => kube::Reason::Unavailable,
        CallReason::Other => kube::Reason::Other,
    }
}

/// The bytes of a reference's texts.
pub(super) fn ref_bytes(target: &ObjectRef) -> usize {
    target.api_version.len() + target.kind.len() + target.name.len() + len(&target.namespace)
}

/// The bytes of an operation's texts.
pub(super) fn operation_bytes(operation: &Operation) -> usize {
    match operation {
        Operation::Create(op) => {
            op.object.len() + op.subresource.as_ref().map_or(0, |(name, target)| name.len() + ref_bytes(target))
        }
        Operation::Update(op) => op.object.len() + len(&op.subresource),
        Operation::Patch(op) => ref_bytes(&op.target) + body_bytes(&op.body) + len(&op.subresource),
        Operation::Delete(op) => ref_bytes(&op.target) + len(&op.uid) + len(&op.resource_version),
    }
}

fn body_bytes(body: &PatchBody) -> usize {
    match body {
        PatchBody::Json(text) | PatchBody::Merge(text) | PatchBody::Strategic(text) | PatchBody::Jq(text) => text.len(),
        PatchBody::Apply { object, field_manager, .. } => object.len() + len(field_manager),
    }
}

fn len(text: &Option<String>) -> usize {
    text.as_ref().map_or(0, String::len)
}
