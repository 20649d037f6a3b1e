//! The exports that only some components have.
//!
//! It only carries texts and decisions over; what they are is in `admission`, `conversion` and `reconcile`.

use super::bindings::boathook::hook::types::{Failure, RunInfo};
use super::bindings::reconcile::boathook::hook::reconciliation::{
    Condition as WireCondition, ConditionStatus, Event as WireEvent, EventType,
};
use super::bindings::validate::boathook::hook::admission::Denial;
use crate::admission::{Change, Mutation, Review, Verdict};
use crate::conversion::{Converted, Request};
use crate::error::{Error, Result};
use crate::kube::ObjectRef;
use crate::logger;
use crate::reconcile::{Child, Desired, Event, Finalized, Parent, Related, Shown};

pub use super::bindings::convert::export_convert;
pub use super::bindings::convert::exports::boathook::hook::conversion::Guest as Convert;
#[cfg(feature = "crd")]
pub use super::bindings::define::export_define;
#[cfg(feature = "crd")]
pub use super::bindings::define::exports::boathook::hook::defining::Guest as Define;
pub use super::bindings::finalize::export_finalize;
pub use super::bindings::finalize::exports::boathook::hook::finalizing::{
    Finalized as WireFinalized, Guest as Finalize,
};
pub use super::bindings::mutate::export_mutate;
pub use super::bindings::mutate::exports::boathook::hook::mutating::{Guest as Mutate, Mutation as WireMutation};
pub use super::bindings::reconcile::boathook::hook::reconciliation::Parent as WireParent;
pub use super::bindings::reconcile::export_reconcile;
pub use super::bindings::reconcile::exports::boathook::hook::reconciling::{
    Desired as WireDesired, Guest as Reconcile,
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
    let parent = Parent::new(binding, info.run_id, info.dry_run, shown(parent));
    parent.and_then(reconcile).and_then(into_desired).map_err(Error::into_wire)
}

/// The export `finalize`.
pub fn finalize(
    finalize: fn(Parent) -> Result<Finalized>,
    info: RunInfo,
    binding: String,
    parent: WireParent,
) -> Answer<WireFinalized> {
    logger::install();
    let parent = Parent::new(binding, info.run_id, info.dry_run, shown(parent));
    parent.and_then(finalize).and_then(into_finalized).map_err(Error::into_wire)
}

/// The export `definitions`.
#[cfg(feature = "crd")]
pub fn define<D: crate::crd::IntoDefinitions>(define: fn() -> D) -> std::result::Result<Vec<String>, String> {
    logger::install();
    crate::crd::texts(define().into_definitions())
}

fn shown(parent: WireParent) -> Shown {
    let children = parent.children.into_iter().map(|child| Child {
        target: ObjectRef::new(&child.api_version, &child.kind, child.namespace.as_deref(), &child.name),
        json: crate::data::Json::new(child.object),
    });
    let related = parent.related.into_iter();
    let related = related.map(|one| Related { entry: one.name, json: crate::data::Json::new(one.object) });
    Shown { json: parent.object, children: children.collect(), related: related.collect() }
}

fn into_finalized(finalized: Finalized) -> Result<WireFinalized> {
    let Finalized { done, desired } = finalized;
    let WireDesired { children, none_wanted: _, status, conditions, requeue_after, events } = into_desired(desired)?;
    Ok(WireFinalized { done, children, status, conditions, requeue_after, events })
}

fn into_desired(desired: Desired) -> Result<WireDesired> {
    let Desired { children, none_wanted, status, conditions, requeue_after, events, unwritable } = desired;
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
    let event = |Event { warns, reason, message }| {
        let type_ = if warns { EventType::Warning } else { EventType::Normal };
        WireEvent { type_, reason, message }
    };
    Ok(WireDesired {
        children,
        none_wanted,
        status,
        conditions: conditions.into_iter().map(condition).collect(),
        requeue_after: requeue_after.map(|time| u64::try_from(time.as_millis()).unwrap_or(u64::MAX)),
        events: events.into_iter().map(event).collect(),
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
