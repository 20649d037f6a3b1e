//! JSON patch (RFC 6902), bounded in what copies may add up to.
//!
//! Never leaves a half-patched object behind: the caller gives a copy.

use json_patch::{Patch, PatchOperation};
use serde_json::Value;

use crate::status::Failure;

/// The real server's bound on one patch.
const MAX_OPERATIONS: usize = 10_000;
/// Bytes that copy operations may add in one patch.
const MAX_COPIED: usize = 3 << 20;

/// Applies the operations of a webhook.
///
/// # Errors
/// Why one cannot be applied.
pub(crate) fn apply_each(target: &mut Value, operations: Vec<Value>) -> Result<(), String> {
    for operation in operations {
        let parsed: PatchOperation = serde_json::from_value(operation).map_err(|error| error.to_string())?;
        let why = misfit(target, &parsed);
        json_patch::patch(target, &[parsed]).map_err(|_| why)?;
    }
    super::check_depth(target).map_err(|failure| failure.message().to_owned())
}

/// What the real server's library says of an operation that does not fit.
fn misfit(target: &Value, operation: &PatchOperation) -> String {
    let path = operation.path().to_string();
    let (parent, key) = path.rsplit_once('/').unwrap_or_default();
    let has_parent = target.pointer(parent).is_some();
    match operation {
        PatchOperation::Test(_) => format!("testing value {path} failed: test failed"),
        PatchOperation::Add(_) => format!("add operation does not apply: doc is missing path: {path:?}: missing value"),
        PatchOperation::Remove(_) if has_parent => {
            format!("error in remove for path: '{path}': Unable to remove nonexistent key: {key}: missing value")
        }
        PatchOperation::Remove(_) => {
            format!("remove operation does not apply: doc is missing path: {path:?}: missing value")
        }
        PatchOperation::Replace(_) if has_parent => {
            format!("replace operation does not apply: doc is missing key: {path}: missing value")
        }
        PatchOperation::Replace(_) => {
            format!("replace operation does not apply: doc is missing path: {path}: missing value")
        }
        PatchOperation::Move(_) => format!("move operation does not apply: doc is missing path: {path}: missing value"),
        PatchOperation::Copy(_) => format!("copy operation does not apply: doc is missing path: {path}: missing value"),
    }
}

/// Applies the operations in `patch` to `target`.
pub(crate) fn apply(target: &mut Value, patch: &Value) -> Result<(), Failure> {
    let count = patch.as_array().map_or(0, Vec::len);
    if count > MAX_OPERATIONS {
        let message = format!("The allowed maximum operations in a JSON patch is {MAX_OPERATIONS}, got {count}");
        return Err(Failure::new(413, "RequestEntityTooLarge", message));
    }
    let patch: Patch = serde_json::from_value(patch.clone()).map_err(|_| Failure::unfit_patch())?;
    let mut copied = 0;
    for operation in patch.0 {
        if let PatchOperation::Copy(copy) = &operation {
            copied += target.pointer(copy.from.as_str()).map_or(0, |v| v.to_string().len());
            if copied > MAX_COPIED {
                return Err(Failure::bad_request("the copy operations of the patch add up to more than 3 MiB"));
            }
            super::check_depth(target)?;
        }
        json_patch::patch(target, &[operation]).map_err(|_| Failure::unfit_patch())?;
    }
    Ok(())
}
