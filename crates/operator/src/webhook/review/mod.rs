//! AdmissionReviews as they arrive. Only the parts that the server needs are parsed. Objects stay text.

mod patch;

use std::sync::Arc;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use boathook_core::model::{AdmissionKind, Denial, Mutation, Reviewed};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::{
    AdmissionRequest,
    envelope::{Envelope, ReviewError, ReviewVersion},
};
use patch::patch_of;

pub use patch::PatchError;

const REVIEW: Envelope = Envelope {
    group: "admission.k8s.io",
    kind: "AdmissionReview",
    wanted: "AdmissionReview of admission.k8s.io/v1 or v1beta1",
};

/// A request of the API server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AdmissionReview {
    /// The version that the answer must have.
    pub version: ReviewVersion,
    pub request: AdmissionRequest,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Request<'a> {
    #[serde(default)]
    uid: String,
    #[serde(default)]
    operation: String,
    #[serde(default)]
    dry_run: Option<bool>,
    #[serde(borrow, default)]
    object: Option<&'a RawValue>,
}

impl AdmissionReview {
    pub fn parse(body: &[u8]) -> Result<Self, ReviewError> {
        let (version, json) = REVIEW.open(body)?;
        let Request { uid, operation, dry_run, object } =
            serde_json::from_str(json).map_err(|source| REVIEW.shape(source))?;
        if uid.is_empty() {
            return Err(REVIEW.missing("request.uid"));
        }
        if operation.is_empty() {
            return Err(REVIEW.missing("request.operation"));
        }
        let request = AdmissionRequest {
            uid,
            dry_run: dry_run.unwrap_or_default(),
            operation,
            has_object: object.is_some(),
            by_hand: false,
            json: Arc::from(json),
        };
        Ok(Self { version, request })
    }
}

/// The object of an AdmissionRequest's JSON.
fn object_of(request: &str) -> Result<Option<&RawValue>, serde_json::Error> {
    serde_json::from_str::<Request<'_>>(request).map(|request| request.object)
}

/// The code of a denial if the hook gives none, or one that is not an error.
const FORBIDDEN: u16 = 403;

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

/// Makes the body of the answer. A failure never becomes a denial, and a validating hook never changes anything. Fails if the hook's change of the object cannot be used.
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
    REVIEW.answer(review.version, response).map_err(PatchError::Answer)
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

/// The maximum length of all warnings of one request in characters. If there are more, each is truncated.
const TOTAL: usize = 4096;
/// The length in characters that each warning is then truncated to.
const EACH: usize = 256;

/// The warnings that can be shown: each on one line, and all together within the API server's limit.
fn showable(warnings: &[String]) -> Vec<String> {
    let clean: Vec<_> = warnings.iter().map(|text| one_line(text)).filter(|text| !text.is_empty()).collect();
    if clean.iter().map(|text| text.chars().count()).sum::<usize>() <= TOTAL {
        return clean;
    }
    let mut left = TOTAL;
    let cut = clean.iter().map(|text| text.chars().take(EACH).collect::<String>());
    cut.take_while(|text| {
        let length = text.chars().count();
        let fits = length <= left;
        left = left.saturating_sub(length);
        fits
    })
    .collect()
}

fn one_line(text: &str) -> String {
    let text: String = text.trim().chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    text
}

#[cfg(test)]
mod tests {
    use boathook_core::model::Verdict;
    use serde_json::{Value, json};

    use super::*;

    fn parse(body: serde_json::Value) -> Result<AdmissionReview, ReviewError> {
        AdmissionReview::parse(body.to_string().as_bytes())
    }

    #[test]
    fn reads_what_the_server_needs_and_keeps_the_rest_as_it_came() {
        let text = r#"{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1beta1","request":{"uid":"u1",
            "operation":"UPDATE", "dryRun":true,"object":{"z":1.50,"a":18446744073709551616},"later":[]}}"#;
        let review = AdmissionReview::parse(text.as_bytes()).unwrap();
        assert_eq!(review.version, ReviewVersion::V1Beta1);
        let AdmissionRequest { uid, dry_run, operation, has_object, json, .. } = review.request;
        assert_eq!((uid.as_str(), dry_run, operation.as_str(), has_object), ("u1", true, "UPDATE", true));
        assert!(text.contains(&*json) && json.contains("1.50") && json.contains("18446744073709551616"), "{json}");
        assert_eq!(object_of(&json).unwrap().unwrap().get(), r#"{"z":1.50,"a":18446744073709551616}"#);
    }

    #[test]
    fn a_deletion_has_no_object() {
        for request in [
            json!({"uid": "u", "operation": "DELETE", "object": null, "dryRun": null}),
            json!({"uid": "u", "operation": "DELETE"}),
        ] {
            let body = json!({"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", "request": request});
            let request = parse(body).unwrap().request;
            assert!(!request.has_object && !request.dry_run);
        }
    }

    #[test]
    fn what_is_no_review_is_distinguished() {
        let review =
            |request| json!({"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", "request": request});
        let table = [
            (json!({}), "\", Kind=\", not a AdmissionReview"),
            (json!([]), "the body is not a JSON object"),
            (json!(["admission.k8s.io/v1", "AdmissionReview", {}]), "the body is not a JSON object"),
            (json!({"kind": "Pod", "apiVersion": "v1", "request": {}}), "\"v1, Kind=Pod\""),
            (json!({"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v2"}), "admission.k8s.io/v2"),
            (json!({"kind": "AdmissionReview", "apiVersion": "v1"}), "\"v1, Kind=AdmissionReview\""),
            (json!({"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1"}), "no request"),
            (review(json!(null)), "no request"),
            (review(json!("text")), "request is not a JSON object"),
            (review(json!(["u", "CREATE", null, null])), "request is not a JSON object"),
            (review(json!({"operation": "CREATE"})), "no request.uid"),
            (review(json!({"uid": "u"})), "no request.operation"),
            (review(json!({"uid": 7, "operation": "CREATE"})), "invalid type"),
            (review(json!({"uid": "u", "operation": "CREATE", "dryRun": "yes"})), "invalid type"),
        ];
        for (body, expected) in table {
            let error = parse(body.clone()).unwrap_err().to_string();
            assert!(error.contains(expected), "{body}: {error}");
        }
        let twice = br#"{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{"uid":"a","uid":"b"}}"#;
        assert!(AdmissionReview::parse(twice).unwrap_err().to_string().contains("duplicate"));
        assert!(AdmissionReview::parse(b"\xff\xfe").is_err());
        let long = json!({"kind": "x".repeat(10_000), "apiVersion": "v1"});
        assert!(parse(long).unwrap_err().to_string().len() < 300);
    }

    #[test]
    fn depth_costs_no_stack() {
        let deep = format!("{}{}", "[".repeat(200_000), "]".repeat(200_000));
        let body = format!(
            r#"{{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{{"uid":"u","operation":"CREATE","object":{deep}}}}}"#
        );
        assert!(AdmissionReview::parse(body.as_bytes()).unwrap().request.has_object);
        assert!(AdmissionReview::parse(deep.as_bytes()).is_err());
    }

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

    #[test]
    fn short_ones_stay_and_become_one_line() {
        let warnings = ["a\nb", "", " \r\n", "ü\u{1b}[1m"].map(str::to_owned);
        assert_eq!(showable(&warnings), ["a b", "ü [1m"]);
        let long = vec!["x".repeat(4096)];
        assert_eq!(showable(&long), long);
    }

    #[test]
    fn too_much_is_cut_and_bounded() {
        assert_eq!(showable(&["ü".repeat(4097)]), ["ü".repeat(256)]);
        let many = showable(&vec!["y".repeat(300); 100]);
        assert_eq!((many.len(), many[0].len()), (16, 256));
    }
}
