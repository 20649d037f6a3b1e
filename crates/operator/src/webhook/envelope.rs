//! The common parts of both kinds of reviews: `apiVersion`, `kind` and a `request`, which stays text.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

/// Why a text is not a review that can be answered. The messages are for its sender.
#[derive(Debug, thiserror::Error)]
pub enum ReviewError {
    #[error("the body is not a {kind}: {source}")]
    Shape {
        /// The expected kind.
        kind: &'static str,
        source: serde_json::Error,
    },
    #[error("the body is {found:?}, not a {wanted}")]
    Kind {
        /// For example `v1, Kind=Pod`.
        found: String,
        /// For example `AdmissionReview of admission.k8s.io/v1 or v1beta1`.
        wanted: &'static str,
    },
    #[error("{0} is not a JSON object")]
    NoObject(String),
    #[error("the {kind} has no {missing}")]
    Missing {
        /// The kind of the review.
        kind: &'static str,
        /// For example `request.uid`.
        missing: String,
    },
}

/// Versions of reviews. An answer has the version of its request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReviewVersion {
    V1,
    V1Beta1,
}

impl ReviewVersion {
    /// Parses `apiVersion` if it is a version of `group`.
    fn of(api_version: &str, group: &str) -> Option<Self> {
        match api_version.split_once('/')? {
            (found, "v1") if found == group => Some(Self::V1),
            (found, "v1beta1") if found == group => Some(Self::V1Beta1),
            _ => None,
        }
    }
}

/// A kind of review.
pub(super) struct Envelope {
    pub(super) group: &'static str,
    pub(super) kind: &'static str,
    /// For example `AdmissionReview of admission.k8s.io/v1 or v1beta1`.
    pub(super) wanted: &'static str,
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

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Answer<R> {
    kind: &'static str,
    api_version: String,
    response: R,
}

impl Envelope {
    /// Returns the version, and the text of the request, which is an object.
    pub(super) fn open<'a>(&self, body: &'a [u8]) -> Result<(ReviewVersion, &'a str), ReviewError> {
        let body: &RawValue = serde_json::from_slice(body).map_err(|source| self.shape(source))?;
        let body = object(body, || "the body".to_owned())?;
        let body: Body<'_> = serde_json::from_str(body).map_err(|source| self.shape(source))?;
        let version = ReviewVersion::of(&body.api_version, self.group).filter(|_| body.kind == self.kind);
        let version = version
            .ok_or_else(|| ReviewError::Kind { found: found(&body.api_version, &body.kind), wanted: self.wanted })?;
        let request = body.request.ok_or_else(|| self.missing("request"))?;
        Ok((version, object(request, || "request".to_owned())?))
    }

    /// The text of an answer, which has the version of its request.
    pub(super) fn answer(&self, version: ReviewVersion, response: impl Serialize) -> serde_json::Result<Vec<u8>> {
        let version = match version {
            ReviewVersion::V1 => "v1",
            ReviewVersion::V1Beta1 => "v1beta1",
        };
        serde_json::to_vec(&Answer { kind: self.kind, api_version: format!("{}/{version}", self.group), response })
    }

    pub(super) fn shape(&self, source: serde_json::Error) -> ReviewError {
        ReviewError::Shape { kind: self.kind, source }
    }

    pub(super) fn missing(&self, missing: impl Into<String>) -> ReviewError {
        ReviewError::Missing { kind: self.kind, missing: missing.into() }
    }
}

/// The text of an object. serde would also accept a list of its values.
pub(super) fn object(json: &RawValue, what: impl FnOnce() -> String) -> Result<&str, ReviewError> {
    if json.get().starts_with('{') { Ok(json.get()) } else { Err(ReviewError::NoObject(what())) }
}

/// What a body says about itself, short enough for an error's text.
pub(super) fn found(api_version: &str, kind: &str) -> String {
    const LONGEST: usize = 120;
    format!("{api_version}, Kind={kind}").chars().take(LONGEST).collect()
}
