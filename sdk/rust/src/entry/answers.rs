//! The exports by which a component answers the API server.
//!
//! It only carries texts and decisions over; what they are is in `admission` and `conversion`.

use super::bindings::boathook::hook::types::{Failure, RunInfo};
use super::bindings::validate::boathook::hook::admission::Denial;
use crate::admission::{Change, Mutation, Review, Verdict};
use crate::conversion::{Converted, Request};
use crate::error::{Error, Result};
use crate::logger;

pub use super::bindings::convert::export_convert;
pub use super::bindings::convert::exports::boathook::hook::conversion::Guest as Convert;
pub use super::bindings::mutate::export_mutate;
pub use super::bindings::mutate::exports::boathook::hook::mutating::{Guest as Mutate, Mutation as WireMutation};
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
