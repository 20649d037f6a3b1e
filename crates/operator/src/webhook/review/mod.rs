//! AdmissionReviews as they arrive. Only the parts that the server needs are parsed. Objects stay text.

mod answer;
mod patch;
mod warnings;

use std::sync::Arc;

use serde::Deserialize;
use serde_json::value::RawValue;

pub(super) use answer::{answer, unusable};
pub use patch::PatchError;

use super::{
    AdmissionRequest,
    envelope::{Envelope, ReviewError, ReviewVersion},
};

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

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
    use serde_json::json;

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
    fn what_is_no_review_is_told_apart() {
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
}
