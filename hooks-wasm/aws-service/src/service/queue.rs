//! A queue of SQS, by SQS' JSON protocol.

use super::problem::Problem;
use super::{OWNER, Outside, Place, Tags};
use boathook_sdk::http::Request;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

const TIMEOUT: &str = "VisibilityTimeout";
const RETENTION: &str = "MessageRetentionPeriod";
const ARN: &str = "QueueArn";

/// The part of the custom resource's `spec` that is about the queue itself. Without a value, that is SQS' own.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Spec {
    #[serde(default = "visibility_timeout")]
    visibility_timeout_seconds: u32,
    #[serde(default = "message_retention")]
    message_retention_seconds: u32,
}

fn visibility_timeout() -> u32 {
    30
}

fn message_retention() -> u32 {
    4 * 24 * 60 * 60
}

pub struct Queue<'a> {
    place: &'a Place,
    name: &'a str,
    spec: Spec,
    /// As SQS says.
    url: String,
    arn: String,
}

#[derive(Deserialize)]
struct Failure {
    #[serde(rename = "__type", default)]
    code: String,
    #[serde(default)]
    message: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Url {
    queue_url: String,
}

#[derive(Deserialize)]
struct Tagged {
    #[serde(rename = "Tags", default)]
    tags: Tags,
}

#[derive(Deserialize)]
struct Attributes {
    #[serde(rename = "Attributes", default)]
    attributes: BTreeMap<String, String>,
}

/// An answer that says nothing.
#[derive(Deserialize)]
struct Nothing {}

impl<'a> Queue<'a> {
    pub fn new(place: &'a Place, name: &'a str, spec: Spec) -> Self {
        Self { place, name, spec, url: String::new(), arn: String::new() }
    }

    fn call<T: DeserializeOwned>(&self, action: &str, body: &Value) -> Result<T, Problem> {
        let request = Request::post(&format!("{}/", self.place.sqs))
            .header("x-amz-target", format!("AmazonSQS.{action}"))
            .header("content-type", "application/x-amz-json-1.0")
            .body(body.to_string());
        let response = request.send().map_err(|error| Problem::unsent(&self.shown(), &error))?;
        if !(200..300).contains(&response.status) {
            let failure = serde_json::from_slice(&response.body);
            let Failure { code, message } = failure.unwrap_or(Failure { code: String::new(), message: String::new() });
            return Err(Problem::answered(&self.shown(), response.status, &code, &message));
        }
        // Some actions answer with an empty body.
        let text = if response.body.is_empty() { b"{}".as_slice() } else { &response.body };
        serde_json::from_slice(text)
            .map_err(|error| Problem::new("Failed", format!("{}: the answer to {action}: {error}", self.shown())))
    }

    fn wanted(&self) -> [(&'static str, String); 2] {
        [
            (TIMEOUT, self.spec.visibility_timeout_seconds.to_string()),
            (RETENTION, self.spec.message_retention_seconds.to_string()),
        ]
    }
}

fn is_missing(problem: &Problem) -> bool {
    problem.is("QueueDoesNotExist") || problem.is("NonExistentQueue")
}

impl Outside for Queue<'_> {
    const BORN_MARKED: bool = true;

    fn shown(&self) -> String {
        format!("queue {}", self.name)
    }

    fn tags(&mut self) -> Result<Option<Tags>, Problem> {
        let found = self.call::<Url>("GetQueueUrl", &json!({"QueueName": self.name})).and_then(|found| {
            let tagged = self.call::<Tagged>("ListQueueTags", &json!({"QueueUrl": found.queue_url}))?;
            Ok((found.queue_url, tagged.tags))
        });
        match found {
            Ok((url, tags)) => {
                self.url = url;
                Ok(Some(tags))
            }
            Err(problem) if is_missing(&problem) => Ok(None),
            Err(problem) => Err(problem),
        }
    }

    fn create(&mut self, owner: &str) -> Result<(), Problem> {
        let attributes: Map<_, _> =
            self.wanted().into_iter().map(|(key, value)| (key.to_owned(), value.into())).collect();
        let body = json!({"QueueName": self.name, "Attributes": attributes, "tags": {OWNER: owner}});
        self.url = self.call::<Url>("CreateQueue", &body)?.queue_url;
        Ok(())
    }

    fn mark(&self, _: Tags, owner: Option<&str>) -> Result<(), Problem> {
        let Nothing {} = match owner {
            Some(owner) => self.call("TagQueue", &json!({"QueueUrl": self.url, "Tags": {OWNER: owner}}))?,
            None => self.call("UntagQueue", &json!({"QueueUrl": self.url, "TagKeys": [OWNER]}))?,
        };
        Ok(())
    }

    fn align(&mut self) -> Result<Vec<&'static str>, Problem> {
        let names = json!({"QueueUrl": self.url, "AttributeNames": [TIMEOUT, RETENTION, ARN]});
        let Attributes { mut attributes } = self.call("GetQueueAttributes", &names)?;
        self.arn = attributes.remove(ARN).unwrap_or_default();
        let different: Vec<_> =
            self.wanted().into_iter().filter(|(key, value)| attributes.get(*key) != Some(value)).collect();
        if different.is_empty() {
            return Ok(Vec::new());
        }
        let changes: Map<_, _> =
            different.iter().map(|(key, value)| ((*key).to_owned(), value.clone().into())).collect();
        let body = json!({"QueueUrl": self.url, "Attributes": changes});
        let Nothing {} = self.call("SetQueueAttributes", &body)?;
        Ok(different.into_iter().map(|(key, _)| key).collect())
    }

    fn delete(&self) -> Result<(), Problem> {
        match self.call::<Nothing>("DeleteQueue", &json!({"QueueUrl": self.url})) {
            Err(problem) if !is_missing(&problem) => Err(problem),
            _ => Ok(()),
        }
    }

    fn place(&self) -> (String, String) {
        (self.arn.clone(), self.url.clone())
    }
}
