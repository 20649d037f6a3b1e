//! JSON patch (RFC 6902) with the real server's error texts.
//!
//! Never leaves a half-patched object behind: the caller gives a copy.

use serde_json::Value;

use crate::status::Failure;

/// The real server's bound on one patch.
const MAX_OPERATIONS: usize = 10_000;

/// Applies the operations in `patch` to `target`.
pub(crate) fn apply(target: &mut Value, patch: &Value) -> Result<(), Failure> {
    if patch
        .as_array()
        .is_some_and(|list| list.len() > MAX_OPERATIONS)
    {
        let count = patch.as_array().map_or(0, Vec::len);
        let message = format!(
            "The allowed maximum operations in a JSON patch is {MAX_OPERATIONS}, got {count}"
        );
        return Err(Failure::new(413, "RequestEntityTooLarge", message));
    }
    let patch: json_patch::Patch = serde_json::from_value(patch.clone())
        .map_err(|e| Failure::bad_request(format!("error decoding patch: {e}")))?;
    json_patch::patch(target, &patch).map_err(|e| {
        Failure::new(
            422,
            "Invalid",
            format!("the server rejected our request due to an error in our request: {e}"),
        )
    })
}
