//! AdmissionReviews as they come in.
//!
//! Reads only what the server needs: objects stay text, and are never looked into here.

mod answer;
mod warnings;

use std::sync::Arc;

use serde::Deserialize;
use serde_json::value::RawValue;

pub(super) use answer::{answer, unusable};

use super::AdmissionRequest;

const GROUP: &str = "admission.k8s.io";

/// A text that is no review which can be answered. The texts are for whoever sent it.
#[derive(Debug, thiserror::Error)]
pub enum ReviewError {
    /// Not JSON, or of another shape.
    #[error("the body is not a {kind}: {source}")]
    Shape {
        /// What was wanted.
        kind: &'static str,
        /// Why it is none.
        source: serde_json::Error,
    },
    /// JSON of another kind.
    #[error("the body is {found:?}, not a {wanted}")]
    Kind {
        /// `v1, Kind=Pod`
        found: String,
        /// `AdmissionReview of admission.k8s.io/v1 or v1beta1`
        wanted: &'static str,
    },
    /// Something in it is of another shape.
    #[error("{0} is not a JSON object")]
    NoObject(String),
    /// Something isn't there.
    #[error("the {kind} has no {missing}")]
    Missing {
        /// What it is.
        kind: &'static str,
        /// `request.uid`
        missing: String,
    },
}

/// Versions of reviews; an answer is of its question's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReviewVersion {
    /// `v1`
    V1,
    /// `v1beta1`
    V1Beta1,
}

impl ReviewVersion {
    /// The version of `apiVersion`, when it is one of `group`.
    pub(super) fn of(api_version: &str, group: &str) -> Option<Self> {
        match api_version.split_once('/')? {
            (found, "v1") if found == group => Some(Self::V1),
            (found, "v1beta1") if found == group => Some(Self::V1Beta1),
            _ => None,
        }
    }

    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::V1 => "v1",
            Self::V1Beta1 => "v1beta1",
        }
    }
}

/// A question of the API server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AdmissionReview {
    /// Which version the answer is to have.
    pub version: ReviewVersion,
    /// What is asked.
    pub request: AdmissionRequest,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Body<'a> {
    #[serde(default)]
    api_version: String,
    #[serde(default)]
    kind: String,
    #[serde(borrow, default)]
    request: Option<&'a RawValue>,
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
    /// Reads a body.
    pub fn parse(body: &[u8]) -> Result<Self, ReviewError> {
        const KIND: &str = "AdmissionReview";
        let shape = |source| ReviewError::Shape { kind: KIND, source };
        let missing = |missing: &str| ReviewError::Missing { kind: KIND, missing: missing.to_owned() };
        let body: &RawValue = serde_json::from_slice(body).map_err(shape)?;
        let body: Body<'_> = serde_json::from_str(object(body, || "the body".to_owned())?).map_err(shape)?;
        let version = ReviewVersion::of(&body.api_version, GROUP).filter(|_| body.kind == KIND);
        let version = version.ok_or_else(|| ReviewError::Kind {
            found: found(&body.api_version, &body.kind),
            wanted: "AdmissionReview of admission.k8s.io/v1 or v1beta1",
        })?;
        let json = body.request.ok_or_else(|| missing("request"))?;
        let json = object(json, || "request".to_owned())?;
        let Request { uid, operation, dry_run, object } = serde_json::from_str(json).map_err(shape)?;
        if uid.is_empty() {
            return Err(missing("request.uid"));
        }
        if operation.is_empty() {
            return Err(missing("request.operation"));
        }
        let request = AdmissionRequest {
            uid,
            dry_run: dry_run.unwrap_or_default(),
            operation,
            has_object: object.is_some(),
            json: Arc::from(json),
        };
        Ok(Self { version, request })
    }
}

/// The text of an object; serde would take a list of its values as well.
pub(super) fn object(json: &RawValue, what: impl FnOnce() -> String) -> Result<&str, ReviewError> {
    if json.get().starts_with('{') { Ok(json.get()) } else { Err(ReviewError::NoObject(what())) }
}

/// What a body says of itself, in a length for an error's text.
pub(super) fn found(api_version: &str, kind: &str) -> String {
    const LONGEST: usize = 120;
    format!("{api_version}, Kind={kind}").chars().take(LONGEST).collect()
}

/// The object of an AdmissionRequest's JSON.
pub(super) fn object_of(request: &str) -> Result<Option<&RawValue>, serde_json::Error> {
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
        let AdmissionRequest { uid, dry_run, operation, has_object, json } = review.request;
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
