//! JSON patch (RFC 6902), with a limit on the size of copies. After an error the target may be half patched, so the
//! caller passes a copy.

use json_patch::{Patch, PatchOperation};
use serde_json::Value;

use crate::status::Failure;

/// The real server's limit for one patch.
const MAX_OPERATIONS: usize = 10_000;
/// Maximum number of bytes that copy operations may add in one patch.
const MAX_COPIED: usize = 3 << 20;

/// Applies the operations of a webhook.
///
/// # Errors
/// Why an operation cannot be applied.
pub(crate) fn apply_each(target: &mut Value, operations: Vec<Value>) -> Result<(), String> {
    for operation in operations {
        let parsed: PatchOperation = serde_json::from_value(operation).map_err(|error| error.to_string())?;
        if tests_absence(target, &parsed) {
            continue;
        }
        let why = misfit(target, &parsed);
        json_patch::patch(target, &[parsed]).map_err(|_| why)?;
    }
    super::check_depth(target).map_err(|failure| failure.message().to_owned())
}

/// The real server's library treats a missing key of an existing object as null.
fn tests_absence(target: &Value, operation: &PatchOperation) -> bool {
    let PatchOperation::Test(test) = operation else { return false };
    let Some((parent, key)) = test.path.split_back() else { return false };
    let parent = target.pointer(parent.as_str()).and_then(Value::as_object);
    test.value.is_null() && parent.is_some_and(|parent| !parent.contains_key(key.decoded().as_ref()))
}

/// The error of the real server's library for an operation that does not fit.
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
        if !tests_absence(target, &operation) {
            json_patch::patch(target, &[operation]).map_err(|_| Failure::unfit_patch())?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use serde_json::json;

    /// As kube-apiserver responds.
    #[test]
    fn what_is_not_there_is_null_where_its_object_is() {
        let tests = |path: &str, value: Value| {
            let mut target = json!({"a": {"b": 1}, "list": [1]});
            let operations =
                json!([{"op": "test", "path": path, "value": value}, {"op": "add", "path": "/c", "value": 2}]);
            let done = apply(&mut target, &operations).is_ok();
            assert_eq!(done, target.get("c").is_some());
            assert_eq!(apply_each(&mut target, operations.as_array().unwrap().clone()).is_ok(), done);
            done
        };
        assert!(tests("/a/none", Value::Null));
        assert!(tests("/a/no~1ne", Value::Null));
        assert!(!tests("/a/none", json!(1)));
        assert!(!tests("/a/b", Value::Null));
        assert!(!tests("/none/deeper", Value::Null));
        assert!(!tests("/list/3", Value::Null));
    }
}
