//! The exports that only some components have.
//!
//! It only carries texts and decisions over; what they are is in `admission`, `conversion` and `reconcile`.

use super::bindings::boathook::hook::types::{Failure, RunInfo};
use super::bindings::reconcile::exports::boathook::hook::reconciling::{Condition as WireCondition, ConditionStatus};
use super::bindings::validate::boathook::hook::admission::Denial;
use crate::admission::{Change, Mutation, Review, Verdict};
use crate::conversion::{Converted, Request};
use crate::error::{Error, Result};
use crate::kube::ObjectRef;
use crate::logger;
use crate::reconcile::{Child, Desired, Parent};

pub use super::bindings::convert::export_convert;
pub use super::bindings::convert::exports::boathook::hook::conversion::Guest as Convert;
pub use super::bindings::mutate::export_mutate;
pub use super::bindings::mutate::exports::boathook::hook::mutating::{Guest as Mutate, Mutation as WireMutation};
pub use super::bindings::reconcile::export_reconcile;
pub use super::bindings::reconcile::exports::boathook::hook::reconciling::{
    Desired as WireDesired, Guest as Reconcile, Parent as WireParent,
};
pub use super::bindings::validate::boathook::hook::admission::Verdict as WireVerdict;
pub use super::bindings::validate::export_validate;
pub use super::bindings::validate::exports::boathook::hook::validating::Guest as Validate;

type Answer<T> = std::result::Result<T, Failure>;

/// The export `validate`.
pub fn validate(
    validate: fn(Review) -> Result<Verdict>,
    info: RunInfo,
    binding: String,
    request: String,
) -> Answer<WireVerdict> {
    logger::install();
    let answer = Review::new(info, binding, request).map_err(Error::from).and_then(validate);
    answer.map(Verdict::into_wire).map_err(Error::into_wire)
}

/// The export `mutate`.
pub fn mutate(
    mutate: fn(Review) -> Result<Mutation>,
    info: RunInfo,
    binding: String,
    request: String,
) -> Answer<(WireVerdict, WireMutation)> {
    logger::install();
    let answer = Review::new(info, binding, request).map_err(Error::from).and_then(mutate);
    answer.map(into_wire).map_err(Error::into_wire)
}

/// The export `convert`.
pub fn convert(
    convert: fn(Request) -> Result<Converted>,
    binding: String,
    from: String,
    to: String,
    objects: Vec<String>,
) -> std::result::Result<Vec<String>, String> {
    logger::install();
    convert(Request::new(binding, from, to, objects)).map(Converted::into_texts).map_err(|error| error.to_string())
}

/// The export `reconcile`.
pub fn reconcile(
    reconcile: fn(Parent) -> Result<Desired>,
    info: RunInfo,
    binding: String,
    parent: WireParent,
) -> Answer<WireDesired> {
    logger::install();
    let children = parent.children.into_iter().map(|child| Child {
        target: ObjectRef::new(&child.api_version, &child.kind, child.namespace.as_deref(), &child.name),
        json: crate::data::Json::new(child.object),
    });
    let parent = Parent::new(binding, info.run_id, info.dry_run, parent.object, children.collect());
    parent.and_then(reconcile).and_then(into_desired).map_err(Error::into_wire)
}

fn into_desired(desired: Desired) -> Result<WireDesired> {
    let Desired { children, none_wanted, status, conditions, requeue_after, unwritable } = desired;
    if let Some(what) = unwritable {
        return Err(Error::permanent(format!("cannot be written as JSON: {what}")));
    }
    let condition = |condition: crate::reconcile::Condition| WireCondition {
        type_: condition.name,
        status: match condition.holds {
            Some(true) => ConditionStatus::True,
            Some(false) => ConditionStatus::False,
            None => ConditionStatus::Unknown,
        },
        reason: condition.reason,
        message: condition.message,
    };
    Ok(WireDesired {
        children,
        none_wanted,
        status,
        conditions: conditions.into_iter().map(condition).collect(),
        requeue_after: requeue_after.map(|time| u64::try_from(time.as_millis()).unwrap_or(u64::MAX)),
    })
}

fn into_wire(mutation: Mutation) -> (WireVerdict, WireMutation) {
    let (verdict, change) = mutation.into_parts();
    let change = match change {
        Change::Unchanged => WireMutation::Unchanged,
        Change::Patch(patch) => WireMutation::JsonPatch(patch),
        Change::Object(object) => WireMutation::Object(object),
    };
    (verdict.into_wire(), change)
}

impl Verdict {
    fn into_wire(self) -> WireVerdict {
        let denied = self.denied;
        let denied = denied.map(|denied| Denial { message: denied.message, code: denied.code, reason: denied.reason });
        WireVerdict { denied, warnings: self.warnings, audit_annotations: self.audit_annotations }
    }
}
