//! Patches of all kinds, and who owns which field.
//!
//! Never stores anything.

pub(crate) mod apply;
pub(crate) mod compare;
mod fields;
pub(crate) mod json;
pub(crate) mod managed;
pub(crate) mod merge;
pub(crate) mod strategic;

use serde_json::Value;

use crate::status::Failure;

/// Objects nest no deeper than this: what is stored must be readable again.
const MAX_DEPTH: usize = 100;

/// Refuses a patched object that nests too deeply.
pub(crate) fn check_depth(value: &Value) -> Result<(), Failure> {
    if fits(value, MAX_DEPTH) {
        return Ok(());
    }
    Err(Failure::bad_request(format!("the object nests deeper than {MAX_DEPTH} levels")))
}

fn fits(value: &Value, depth: usize) -> bool {
    let Some(below) = depth.checked_sub(1) else {
        return false;
    };
    match value {
        Value::Array(items) => items.iter().all(|v| fits(v, below)),
        Value::Object(map) => map.values().all(|v| fits(v, below)),
        _ => true,
    }
}
