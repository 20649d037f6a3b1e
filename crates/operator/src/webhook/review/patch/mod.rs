//! A mutating hook's change of an object, as the JSON Patch that the API server expects. A hook's own patch is checked
//! and passed on unchanged.

mod apply;
mod diff;

use std::borrow::Cow;

use boathook_core::model::Mutation;
use serde_json::Value;

use super::{AdmissionRequest, object_of};

/// Why a hook's answer cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum PatchError {
    /// There is nothing to change.
    #[error("the hook changes an object, but a {operation} has none: answer `unchanged`")]
    NoObject {
        /// For example `DELETE`.
        operation: String,
    },
    /// The request's object is not valid JSON.
    #[error("the object under review can't be read")]
    Reviewed(#[source] serde_json::Error),
    /// The hook's object is not JSON.
    #[error("the object that the hook answered is not JSON")]
    Object(#[source] serde_json::Error),
    /// The hook's object is of another kind.
    #[error("the hook answered {answered} for {reviewed}: it must stay of its kind and version")]
    OtherKind {
        /// For example `v1, Kind=Pod`.
        answered: String,
        /// For example `v1, Kind=ConfigMap`.
        reviewed: String,
    },
    /// The hook's patch is not a JSON Patch.
    #[error("what the hook answered is not a JSON Patch")]
    Patch(#[source] serde_json::Error),
    /// The hook's patch does not apply to the object.
    #[error("operation {number} of the hook's JSON Patch ({operation}) does not apply: {why}")]
    Operation {
        /// The index of the operation, counted from 0.
        number: usize,
        /// For example `replace /spec/replicas`.
        operation: String,
        /// Why it does not apply.
        why: String,
    },
    /// The hook's patch would cost the host too much.
    #[error("the hook's JSON Patch is more than can be checked: {0}")]
    TooMuch(String),
    /// The answer cannot be written.
    #[error("the answer can't be written as JSON")]
    Answer(#[source] serde_json::Error),
}

/// Returns the patch, or `None` if nothing changes.
pub(super) fn patch_of<'a>(
    mutation: &'a Mutation,
    request: &AdmissionRequest,
) -> Result<Option<Cow<'a, [u8]>>, PatchError> {
    match mutation {
        Mutation::Unchanged => Ok(None),
        Mutation::JsonPatch(patch) => {
            let operations: Vec<json_patch::PatchOperation> = serde_json::from_str(patch).map_err(PatchError::Patch)?;
            if operations.is_empty() {
                return Ok(None);
            }
            let changed = apply::apply(reviewed(request)?, &operations)?;
            drop(changed);
            Ok(Some(Cow::Borrowed(patch.as_bytes())))
        }
        Mutation::Object(object) => {
            let before = reviewed(request)?;
            let after: Value = serde_json::from_str(object).map_err(PatchError::Object)?;
            same_kind(&before, &after)?;
            let operations = diff::diff(&before, &after);
            if operations.is_empty() {
                return Ok(None);
            }
            serde_json::to_vec(&operations).map(|patch| Some(Cow::Owned(patch))).map_err(PatchError::Answer)
        }
    }
}

fn reviewed(request: &AdmissionRequest) -> Result<Value, PatchError> {
    let object = object_of(&request.json).map_err(PatchError::Reviewed)?;
    let object = object.ok_or_else(|| PatchError::NoObject { operation: request.operation.clone() })?;
    serde_json::from_str(object.get()).map_err(PatchError::Reviewed)
}

fn same_kind(before: &Value, after: &Value) -> Result<(), PatchError> {
    let kind = |value: &Value| {
        let text = |key| value.get(key).and_then(Value::as_str).unwrap_or_default();
        crate::webhook::envelope::found(text("apiVersion"), text("kind"))
    };
    let (reviewed, answered) = (kind(before), kind(after));
    if after.is_object() && answered == reviewed {
        return Ok(());
    }
    Err(PatchError::OtherKind { answered, reviewed })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
    use serde_json::json;

    use super::*;

    fn request(object: &str) -> AdmissionRequest {
        let json = format!(r#"{{"uid":"u","operation":"CREATE","object":{object}}}"#);
        AdmissionRequest {
            uid: "u".into(),
            dry_run: false,
            operation: "CREATE".into(),
            has_object: object != "null",
            by_hand: false,
            json: json.into(),
        }
    }

    fn patch(mutation: &Mutation, object: &str) -> Result<Option<Value>, String> {
        let patch = patch_of(mutation, &request(object)).map_err(|error| boathook_core::model::error_chain(&error))?;
        Ok(patch.map(|patch| serde_json::from_slice(&patch).unwrap()))
    }

    const POD: &str = r#"{"kind":"Pod","apiVersion":"v1","metadata":{"name":"a"},"big":18446744073709551616,"f":1.10}"#;

    #[test]
    fn a_whole_object_becomes_what_differs() {
        let after = POD.replace(r#"{"name":"a"}"#, r#"{"name":"a","labels":{"x/y":"1"}}"#);
        let made = patch(&Mutation::Object(after), POD).unwrap().unwrap();
        assert_eq!(made, json!([{"op": "add", "path": "/metadata/labels", "value": {"x/y": "1"}}]));
        assert_eq!(patch(&Mutation::Object(POD.into()), POD), Ok(None));
        assert_eq!(patch(&Mutation::Unchanged, "null"), Ok(None));
        assert_eq!(patch(&Mutation::JsonPatch(" [] ".into()), "null"), Ok(None));
    }

    #[test]
    fn a_hooks_patch_is_passed_on_only_when_it_applies() {
        let good = r#"[{"op":"test","path":"/kind","value":"Pod"},{"op":"remove","path":"/f"}]"#;
        assert_eq!(patch(&Mutation::JsonPatch(good.into()), POD).unwrap().unwrap().to_string(), good);
        let table = [
            (r#"[{"op":"remove","path":"/spec"}]"#, "operation 0 of the hook's JSON Patch (remove /spec)"),
            (r#"[{"op":"remove","path":"/f"},{"op":"test","path":"/kind","value":"X"}]"#, "operation 1"),
            (r#"{"metadata":{}}"#, "is not a JSON Patch"),
            (r#"[{"op":"join","path":"/a"}]"#, "unknown variant"),
            (r#"[{"op":"add","path":"a","value":1}]"#, "is not a JSON Patch"),
            ("no json", "is not a JSON Patch"),
            (r#"[{"op":"replace","path":"","value":[]}]"#, "must stay of its kind"),
        ];
        for (text, expected) in table {
            let error = patch(&Mutation::JsonPatch(text.into()), POD).unwrap_err();
            assert!(error.contains(expected), "{text}: {error}");
        }
    }

    #[test]
    fn an_object_that_is_another_is_refused() {
        let table = [
            (r#"{"kind":"Secret","apiVersion":"v1"}"#, POD, "v1, Kind=Secret for v1, Kind=Pod"),
            ("[]", POD, "must stay of its kind"),
            ("{", POD, "is not JSON"),
            (POD, "null", "a CREATE has none"),
        ];
        for (after, before, expected) in table {
            let error = patch(&Mutation::Object(after.into()), before).unwrap_err();
            assert!(error.contains(expected), "{after}: {error}");
        }
        let deep = format!("{}{}", "[".repeat(5000), "]".repeat(5000));
        let deep = POD.replace("1.10", &deep);
        assert!(patch(&Mutation::Object(POD.into()), &deep).unwrap_err().contains("recursion limit"));
        assert!(patch(&Mutation::Object(deep), POD).unwrap_err().contains("recursion limit"));
    }
}
