//! ConversionReviews and the answers to them. [`problems`] says what is wrong with a hook's objects.

mod check;

pub use check::{ConversionProblem, problems};

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::{
    ConversionRequest, Converted, Versioned,
    envelope::{Envelope, ReviewError, ReviewVersion, object},
};

const REVIEW: Envelope = Envelope {
    group: "apiextensions.k8s.io",
    kind: "ConversionReview",
    wanted: "ConversionReview of apiextensions.k8s.io/v1 or v1beta1",
};

/// A request of the API server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConversionReview {
    /// The version that the answer must have.
    pub version: ReviewVersion,
    pub request: ConversionRequest,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Request<'a> {
    #[serde(default)]
    uid: String,
    #[serde(default, rename = "desiredAPIVersion")]
    desired: String,
    #[serde(borrow, default)]
    objects: Vec<&'a RawValue>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Head {
    #[serde(default)]
    api_version: String,
}

impl ConversionReview {
    /// Parses a body that was sent for the definition `crd`.
    pub fn parse(body: &[u8], crd: &str) -> Result<Self, ReviewError> {
        let shape = |source| REVIEW.shape(source);
        let (version, request) = REVIEW.open(body)?;
        let Request { uid, desired, objects } = serde_json::from_str(request).map_err(shape)?;
        if uid.is_empty() {
            return Err(REVIEW.missing("request.uid"));
        }
        if desired.is_empty() {
            return Err(REVIEW.missing("request.desiredAPIVersion"));
        }
        let versioned = |(at, json): (usize, &RawValue)| {
            let json = object(json, || format!("request.objects[{at}]"))?;
            let Head { api_version } = serde_json::from_str(json).map_err(shape)?;
            if api_version.is_empty() {
                return Err(REVIEW.missing(format!("request.objects[{at}].apiVersion")));
            }
            Ok(Versioned { api_version, json: json.to_owned() })
        };
        let objects = objects.into_iter().enumerate().map(versioned).collect::<Result<_, _>>()?;
        Ok(Self { version, request: ConversionRequest { crd: crd.to_owned(), uid, desired, objects } })
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Answer<'a> {
    kind: &'static str,
    api_version: String,
    response: Response<'a>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Response<'a> {
    uid: &'a str,
    result: Status<'a>,
    converted_objects: Vec<Box<RawValue>>,
}

#[derive(Serialize)]
struct Status<'a> {
    status: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<&'a str>,
}

/// Makes the body of the answer. The objects are inserted unchanged, so they must already have been checked.
pub(super) fn answer(review: &ConversionReview, converted: Converted) -> Result<Vec<u8>, serde_json::Error> {
    let (objects, failure) = match converted {
        Converted::Objects(objects) => (objects, None),
        Converted::Failed(message) => (Vec::new(), Some(message)),
    };
    let message = failure.as_deref();
    let result = Status { status: if message.is_some() { "Failure" } else { "Success" }, message };
    let converted_objects = objects.into_iter().map(RawValue::from_string).collect::<Result<_, _>>()?;
    let response = Response { uid: &review.request.uid, result, converted_objects };
    let api_version = REVIEW.api_version(review.version);
    serde_json::to_vec(&Answer { kind: REVIEW.kind, api_version, response })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
    use serde_json::{Value, json};

    use super::*;

    fn review(request: Value) -> Result<ConversionReview, ReviewError> {
        let body = json!({"kind": "ConversionReview", "apiVersion": "apiextensions.k8s.io/v1", "request": request});
        ConversionReview::parse(body.to_string().as_bytes(), "crontabs.example.com")
    }

    #[test]
    fn reads_objects_as_they_came() {
        let object = r#"{"z": 1.0, "apiVersion":"example.com/v1"}"#;
        let body = format!(
            r#"{{"apiVersion":"apiextensions.k8s.io/v1beta1","kind":"ConversionReview","request":{{"uid":"u",
                "desiredAPIVersion":"example.com/v2","objects":[{object}]}}}}"#
        );
        let review = ConversionReview::parse(body.as_bytes(), "crontabs.example.com").unwrap();
        assert_eq!(review.version, ReviewVersion::V1Beta1);
        assert_eq!(review.request.crd, "crontabs.example.com");
        assert_eq!(review.request.desired, "example.com/v2");
        let expected = Versioned { api_version: "example.com/v1".into(), json: object.into() };
        assert_eq!(review.request.objects, [expected]);
    }

    #[test]
    fn what_is_no_review_is_told_apart() {
        let good = json!({"uid": "u", "desiredAPIVersion": "a/v1", "objects": []});
        assert!(review(good.clone()).is_ok());
        let with = |key: &str, value: Value| {
            let mut request = good.clone();
            request[key] = value;
            review(request).unwrap_err().to_string()
        };
        for (key, value, expected) in [
            ("uid", json!(""), "no request.uid"),
            ("desiredAPIVersion", json!(""), "no request.desiredAPIVersion"),
            ("objects", json!([{"apiVersion": "a/v1"}, {}]), "no request.objects[1].apiVersion"),
            ("objects", json!([{"apiVersion": "a/v1"}, ["a/v1"]]), "request.objects[1] is not a JSON object"),
            ("objects", json!({}), "is not a ConversionReview"),
        ] {
            let error = with(key, value);
            assert!(error.contains(expected), "{key}: {error}");
        }
        let other = json!({"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", "request": {}});
        let error = ConversionReview::parse(other.to_string().as_bytes(), "x").unwrap_err().to_string();
        assert!(error.contains("admission.k8s.io/v1, Kind=AdmissionReview"), "{error}");
    }

    #[test]
    fn answers_in_the_words_of_the_question() {
        let review = review(json!({"uid": "u", "desiredAPIVersion": "a/v1", "objects": []})).unwrap();
        let answered = |converted| serde_json::from_slice::<Value>(&answer(&review, converted).unwrap()).unwrap();
        let good = answered(Converted::Objects(vec![r#"{"a":1}"#.into()]));
        let response = json!({"uid": "u", "result": {"status": "Success"}, "convertedObjects": [{"a": 1}]});
        let expected =
            json!({"kind": "ConversionReview", "apiVersion": "apiextensions.k8s.io/v1", "response": response});
        assert_eq!(good, expected);
        let bad = answered(Converted::Failed("no way".into()));
        let result = json!({"status": "Failure", "message": "no way"});
        assert_eq!(bad["response"], json!({"uid": "u", "result": result, "convertedObjects": []}));
    }
}
