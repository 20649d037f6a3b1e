//! ConversionReviews and the answers to them. [`problems`] says what is wrong with a hook's objects.

use std::{collections::BTreeMap, fmt};

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

impl ConversionReview {
    /// Parses a body that was sent for the definition `crd`.
    pub fn parse(body: &[u8], crd: &str) -> Result<Self, ReviewError> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Head {
            #[serde(default)]
            api_version: String,
        }
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
    REVIEW.answer(review.version, Response { uid: &review.request.uid, result, converted_objects })
}

/// What is wrong with a hook's converted objects.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConversionProblem {
    /// The index of the object, counted from 0. `None` for all objects together.
    pub at: Option<usize>,
    /// `CronTab team/nightly`, as far as it is known.
    pub object: String,
    pub why: String,
}

impl fmt::Display for ConversionProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.at {
            Some(at) => write!(f, "object {at} ({}): {}", self.object, self.why),
            None => f.write_str(&self.why),
        }
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Head {
    #[serde(default)]
    api_version: String,
    #[serde(default)]
    kind: String,
    metadata: Option<Metadata>,
}

#[derive(Deserialize)]
struct Metadata {
    #[serde(default)]
    name: Option<String>,
    #[serde(default)]
    namespace: Option<String>,
    #[serde(default)]
    uid: Option<String>,
    /// Labels and annotations can only be texts.
    #[serde(default, rename = "labels")]
    _labels: Option<BTreeMap<String, String>>,
    #[serde(default, rename = "annotations")]
    _annotations: Option<BTreeMap<String, String>>,
}

/// Lists everything that is wrong with `converted`, which was made from `sources` for the version `desired`
/// (`group/version`). If it is empty, the objects may be sent.
///
/// In `metadata`, only fields are compared that the API server itself does not allow to change (name, namespace, uid).
/// It restores everything else except labels and annotations by itself.
pub fn problems<S: AsRef<str>, C: AsRef<str>>(desired: &str, sources: &[S], converted: &[C]) -> Vec<ConversionProblem> {
    if sources.len() != converted.len() {
        let why = format!("{} objects came out of the conversion of {}", converted.len(), sources.len());
        return vec![ConversionProblem { at: None, object: String::new(), why }];
    }
    let pairs = sources.iter().zip(converted).enumerate();
    let problem = |(at, (source, made)): (usize, (&S, &C))| {
        let source: Option<Head> = serde_json::from_str(source.as_ref()).ok();
        let why = problem(desired, source.as_ref(), made.as_ref())?;
        Some(ConversionProblem { at: Some(at), object: source.as_ref().map(shown).unwrap_or_default(), why })
    };
    pairs.filter_map(problem).collect()
}

fn problem(desired: &str, source: Option<&Head>, made: &str) -> Option<String> {
    if !made.trim_start().starts_with('{') {
        return Some("what came out is not a JSON object".to_owned());
    }
    let made: Head = match serde_json::from_str(made) {
        Ok(made) => made,
        Err(error) => return Some(format!("what came out is not an object of Kubernetes: {error}")),
    };
    if made.api_version != desired {
        return Some(format!("it came out as {:?}, not as {desired}", made.api_version));
    }
    let source = source?;
    if made.kind != source.kind {
        return Some(format!("its kind became {:?}", made.kind));
    }
    let Some(before) = &source.metadata else { return None };
    let Some(after) = &made.metadata else { return Some("it lost its metadata".to_owned()) };
    let fields = [
        ("name", &before.name, &after.name),
        ("namespace", &before.namespace, &after.namespace),
        ("uid", &before.uid, &after.uid),
    ];
    let changed = fields.iter().find(|(_, before, after)| text(before) != text(after));
    changed.map(|(field, before, after)| {
        format!("its metadata.{field} changed from {:?} to {:?}", text(before), text(after))
    })
}

fn text(value: &Option<String>) -> &str {
    value.as_deref().unwrap_or_default()
}

fn shown(head: &Head) -> String {
    let Some(metadata) = &head.metadata else { return head.kind.clone() };
    let (namespace, name) = (text(&metadata.namespace), text(&metadata.name));
    let slash = if namespace.is_empty() { "" } else { "/" };
    format!("{} {namespace}{slash}{name}", head.kind)
}

#[cfg(test)]
mod tests {
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
    fn what_is_no_review_is_distinguished() {
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

    fn found(made: &serde_json::Value) -> Vec<String> {
        let source = json!({
            "apiVersion": "a.b/v1", "kind": "X",
            "metadata": {"name": "n", "namespace": "s", "uid": "1", "generation": 3, "labels": {"l": "1"}},
        });
        let problems = problems("a.b/v2", &[source.to_string()], &[made.to_string()]);
        problems.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn labels_and_annotations_may_change() {
        let metadata = json!({"name": "n", "namespace": "s", "uid": "1", "annotations": {"a": ""}});
        assert!(found(&json!({"apiVersion": "a.b/v2", "kind": "X", "metadata": metadata})).is_empty());
    }

    #[test]
    fn what_must_stay_is_held_against_the_source() {
        let metadata = json!({"name": "n", "namespace": "s", "uid": "1"});
        let with = |key: &str, value: serde_json::Value| {
            let mut made = json!({"apiVersion": "a.b/v2", "kind": "X", "metadata": metadata.clone()});
            match key.strip_prefix("metadata.") {
                Some(key) => made["metadata"][key] = value,
                None => made[key] = value,
            }
            found(&made)
        };
        for (key, value, expected) in [
            ("apiVersion", json!("a.b/v1"), "object 0 (X s/n): it came out as \"a.b/v1\", not as a.b/v2"),
            ("kind", json!("Y"), "its kind became \"Y\""),
            ("metadata", json!(null), "lost its metadata"),
            ("metadata.name", json!("other"), "metadata.name changed from \"n\" to \"other\""),
            ("metadata.namespace", json!(null), "metadata.namespace changed"),
            ("metadata.uid", json!("2"), "metadata.uid changed"),
            ("metadata.labels", json!({"l": 1}), "is not an object of Kubernetes"),
            ("metadata.annotations", json!({"l": {}}), "is not an object of Kubernetes"),
        ] {
            let problems = with(key, value);
            assert!(problems.len() == 1 && problems[0].contains(expected), "{key}: {problems:?}");
        }
    }

    #[test]
    fn counts_and_reports_each_object() {
        let problems_of = |made: &[&str]| problems("v2", &["{}", "{}"], made);
        let none: [&str; 0] = [];
        assert_eq!(problems_of(&none)[0].to_string(), "0 objects came out of the conversion of 2");
        let found = problems_of(&["[]", "{\"apiVersion\":\"v2\"}"]);
        assert_eq!(found.iter().map(|problem| problem.at).collect::<Vec<_>>(), [Some(0)]);
        assert_eq!(problems_of(&["1", "{no}"]).len(), 2);
        assert_eq!(problems_of(&["[\"v2\",\"\",null]", "{\"apiVersion\":\"v2\"}"]).len(), 1);
    }
}
