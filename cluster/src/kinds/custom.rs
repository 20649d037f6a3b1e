//! Validates custom objects: first their schema, then its rules. Values that did not change are accepted.

use serde_json::Value;

use super::crd::Custom;
use super::rules::Findings;
use super::{Sub, scale, structural};
use crate::json;
use crate::status::Cause;

/// After these problems, rules are not evaluated, because values may have the wrong type.
const BLOCKING: &[&str] = &[
    "FieldValueNotSupported",
    "FieldValueRequired",
    "FieldValueTooLong",
    "FieldValueTooMany",
    "FieldValueTypeInvalid",
];

/// The problems of `object`, which replaces `old`. For a change of the status, only the status is checked.
pub(crate) fn check(custom: &Custom, object: &Value, old: Option<&Value>, sub: Option<Sub>) -> Findings {
    let mut causes = match &custom.schema {
        Some(schema) if sub == Some(Sub::Status) => status(object, old, schema),
        Some(schema) => structural::changes(object, old, schema),
        None => Vec::new(),
    };
    causes.extend(scale::problems(custom, object));
    let Some(schema) = custom.schema.as_ref().filter(|_| !custom.rules().is_empty()) else {
        return Findings { causes, warnings: Vec::new() };
    };
    if causes.iter().any(|cause| BLOCKING.contains(&cause.reason)) {
        let why = "some validation rules were not checked because the object was invalid; correct the existing errors to \
            complete validation";
        causes.push(Cause::invalid("<nil>", &Value::Null, why));
        return Findings { causes, warnings: Vec::new() };
    }
    let found = custom.rules().check(schema, object, old);
    causes.extend(found.causes);
    Findings { causes, warnings: found.warnings }
}

/// The real server checks the status as if it was a separate object, and its texts reflect that.
fn status(object: &Value, old: Option<&Value>, schema: &Value) -> Vec<Cause> {
    let (Some(status), Some(schema)) = (object.get("status"), json::at(schema, &["properties", "status"])) else {
        return Vec::new();
    };
    let mut causes = structural::changes(status, old.and_then(|old| old.get("status")), schema);
    for cause in &mut causes {
        if cause.field != "<nil>" {
            let dot = if cause.field.is_empty() { "" } else { "." };
            cause.field = format!("status{dot}{}", cause.field);
        }
    }
    causes
}
