//! The answer to a review. A failure never becomes a denial, and a validating hook never changes anything.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use boathook_core::model::{AdmissionKind, Denial, Mutation, Reviewed};
use serde::Serialize;

use super::patch::{PatchError, patch_of};
use super::{AdmissionReview, REVIEW, warnings::showable};

/// The code of a denial if the hook gives none, or one that is not an error.
const FORBIDDEN: u16 = 403;

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Body<'a> {
    kind: &'static str,
    api_version: String,
    response: Response<'a>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Response<'a> {
    uid: &'a str,
    allowed: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<Status<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    patch_type: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    patch: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<String>,
    #[serde(skip_serializing_if = "serde_json::Map::is_empty")]
    audit_annotations: serde_json::Map<String, serde_json::Value>,
}

#[derive(Serialize)]
struct Status<'a> {
    status: &'static str,
    message: &'a str,
    reason: &'a str,
    code: u16,
}

/// Makes the body of the answer. Fails if the hook's change of the object cannot be used.
pub fn answer(review: &AdmissionReview, kind: AdmissionKind, reviewed: &Reviewed) -> Result<Vec<u8>, PatchError> {
    let verdict = &reviewed.verdict;
    let changes = kind == AdmissionKind::Mutating && verdict.denied.is_none();
    let mutation = if changes { &reviewed.mutation } else { &Mutation::Unchanged };
    let patch = patch_of(mutation, &review.request)?;
    let annotations = verdict.audit_annotations.iter();
    let response = Response {
        uid: &review.request.uid,
        allowed: verdict.denied.is_none(),
        status: verdict.denied.as_ref().map(status),
        patch_type: patch.as_ref().map(|_| "JSONPatch"),
        patch: patch.map(|patch| STANDARD.encode(&*patch)),
        warnings: showable(&verdict.warnings),
        audit_annotations: annotations.map(|(key, value)| (key.clone(), value.as_str().into())).collect(),
    };
    let api_version = REVIEW.api_version(review.version);
    let body = Body { kind: REVIEW.kind, api_version, response };
    serde_json::to_vec(&body).map_err(PatchError::Answer)
}

/// The text for a hook's answer that cannot be used.
pub fn unusable(hook: &str, binding: &str, error: &PatchError) -> String {
    format!("hook {hook}, binding {binding}: {}", boathook_core::model::error_chain(error))
}

fn status(denial: &Denial) -> Status<'_> {
    Status {
        status: "Failure",
        message: &denial.message,
        reason: denial.reason.as_deref().filter(|reason| !reason.is_empty()).unwrap_or("Forbidden"),
        // The API server changes other codes to 400, and cannot send codes above 999 at all.
        code: denial.code.filter(|code| (400..=599).contains(code)).unwrap_or(FORBIDDEN),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
    use boathook_core::model::Verdict;
    use serde_json::{Value, json};

    use super::*;

    fn review(version: &str) -> AdmissionReview {
        let request = json!({"uid": "u-1", "operation": "CREATE", "object": {"kind": "X", "apiVersion": "v1"}});
        let body =
            json!({"kind": "AdmissionReview", "apiVersion": format!("admission.k8s.io/{version}"), "request": request});
        AdmissionReview::parse(body.to_string().as_bytes()).unwrap()
    }

    fn answered(kind: AdmissionKind, reviewed: &Reviewed) -> Value {
        serde_json::from_slice(&answer(&review("v1"), kind, reviewed).unwrap()).unwrap()
    }

    fn denied(denial: Denial) -> Reviewed {
        let verdict = Verdict { denied: Some(denial), ..Verdict::default() };
        Reviewed { verdict, mutation: Mutation::JsonPatch("[]".into()) }
    }

    #[test]
    fn allows_with_nothing_more() {
        let body = answer(&review("v1beta1"), AdmissionKind::Validating, &Reviewed::default()).unwrap();
        let expected = json!({
            "kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1beta1",
            "response": {"uid": "u-1", "allowed": true},
        });
        assert_eq!(serde_json::from_slice::<Value>(&body).unwrap(), expected);
    }

    #[test]
    fn denies_with_a_status_and_never_with_a_patch() {
        let denial = Denial { message: "no".into(), code: Some(422), reason: Some("Invalid".into()) };
        let answer = answered(AdmissionKind::Mutating, &denied(denial));
        let status = json!({"status": "Failure", "message": "no", "reason": "Invalid", "code": 422});
        assert_eq!(answer["response"], json!({"uid": "u-1", "allowed": false, "status": status}));
        for code in [None, Some(0), Some(200), Some(399), Some(600), Some(1000), Some(65535)] {
            let denial = Denial { message: String::new(), code, reason: None };
            let answer = answered(AdmissionKind::Validating, &denied(denial));
            assert_eq!(answer["response"]["status"]["code"], 403, "{code:?}");
            assert_eq!(answer["response"]["status"]["reason"], "Forbidden");
        }
    }

    #[test]
    fn passes_on_warnings_annotations_and_a_patch() {
        let patch = r#"[{"op":"add","path":"/metadata","value":{}}]"#;
        let verdict = Verdict {
            denied: None,
            warnings: vec!["old\nkind".into()],
            audit_annotations: vec![("why".into(), "because".into()), ("why".into(), "in the end".into())],
        };
        let reviewed = Reviewed { verdict, mutation: Mutation::JsonPatch(patch.into()) };
        let response = &answered(AdmissionKind::Mutating, &reviewed)["response"];
        assert_eq!(response["patchType"], "JSONPatch");
        assert_eq!(STANDARD.decode(response["patch"].as_str().unwrap()).unwrap(), patch.as_bytes());
        assert_eq!(response["warnings"], json!(["old kind"]));
        assert_eq!(response["auditAnnotations"], json!({"why": "in the end"}));

        let response = &answered(AdmissionKind::Validating, &reviewed)["response"];
        assert_eq!((response.get("patch"), response.get("patchType")), (None, None));
    }
}
