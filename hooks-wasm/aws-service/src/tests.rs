#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use super::{config, finalize, reconcile};
use boathook_sdk::http::{self, Response};
use boathook_sdk::kube::ObjectRef;
use boathook_sdk::testing::{Kit, Reconciled};
use serde_json::{Value, json};

const BUCKET: &str = "https://s3.eu-central-1.amazonaws.com/logs";
const TAGS: &str = "https://s3.eu-central-1.amazonaws.com/logs?tagging";
const VERSIONING: &str = "https://s3.eu-central-1.amazonaws.com/logs?versioning";
const QUEUES: &str = "https://sqs.eu-central-1.amazonaws.com/";

/// A custom resource in a kit.
struct Case {
    kit: Kit,
    target: ObjectRef,
    binding: &'static str,
    uid: String,
}

impl Case {
    fn new(binding: &'static str, kind: &str, spec: Value, status: Value) -> Self {
        let mut kit = Kit::answering(config);
        let metadata = json!({"namespace": "default", "name": "mine"});
        let object = kit.given(&json!({
            "apiVersion": "example.com/v1alpha1", "kind": kind, "metadata": metadata, "spec": spec, "status": status,
        }));
        Self { target: object.object_ref(), uid: object.uid().unwrap().to_owned(), kit, binding }
    }

    fn bucket(spec: Value, status: Value) -> Self {
        Self::new("buckets", "Bucket", spec, status)
    }

    fn queue(spec: Value, status: Value) -> Self {
        Self::new("queues", "Queue", spec, status)
    }

    fn answers(&mut self, method: &str, url: &str, status: u16, body: impl Into<Vec<u8>>) -> &mut Self {
        self.kit.http(method, url, Ok(Response::new(status, body)));
        self
    }

    fn owner(&self) -> String {
        format!("{} default/mine", self.uid)
    }

    /// Returns the answer and the requests.
    fn reconcile(&mut self) -> (Reconciled, Vec<String>) {
        let ran = self.kit.reconcile(reconcile, self.binding, &self.target);
        (ran.answer().clone(), shown(&ran.sent))
    }

    fn finalize(&mut self) -> (Reconciled, Vec<String>) {
        let ran = self.kit.finalize(finalize, self.binding, &self.target);
        (ran.answer().clone(), shown(&ran.sent))
    }
}

/// The method and what comes behind the host, and for SQS the action.
fn shown(sent: &[http::Request]) -> Vec<String> {
    let show = |request: &http::Request| match request.header_value("x-amz-target") {
        Some(action) => action.trim_start_matches("AmazonSQS.").to_owned(),
        None => format!("{} {}", request.method(), request.url().trim_start_matches(BUCKET)),
    };
    sent.iter().map(show).collect()
}

fn tagging(tags: &[(&str, &str)]) -> String {
    let tag = |(key, value): &(&str, &str)| format!("<Tag><Key>{key}</Key><Value>{value}</Value></Tag>");
    let tags: String = tags.iter().map(tag).collect();
    format!(
        r#"<?xml version="1.0"?><Tagging xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><TagSet>{tags}</TagSet></Tagging>"#
    )
}

fn failure(code: &str) -> String {
    format!("<?xml version=\"1.0\"?>\n<Error><Code>{code}</Code><Message>it is so</Message></Error>")
}

fn spec() -> Value {
    json!({"name": "logs", "versioning": true})
}

#[test]
fn a_bucket_is_announced_created_and_marked() {
    let mut case = Case::bucket(spec(), json!({}));
    case.answers("GET", TAGS, 404, failure("NoSuchBucket"));
    let (answer, sent) = case.reconcile();
    assert_eq!((answer.status, sent), (json!({"name": "logs"}), vec!["GET ?tagging".to_owned()]));
    assert_eq!(answer.conditions[0].reason, "Creating");

    let mut case = Case::bucket(spec(), json!({"name": "logs"}));
    case.answers("GET", TAGS, 404, failure("NoSuchBucket"));
    case.answers("GET", TAGS, 404, failure("NoSuchTagSet"));
    case.answers("GET", VERSIONING, 200, "<VersioningConfiguration/>");
    for url in [BUCKET, TAGS, VERSIONING] {
        case.answers("PUT", url, 200, "");
    }
    let ran = case.kit.reconcile(reconcile, "buckets", &case.target);
    let sent = ["GET ?tagging", "PUT ", "GET ?tagging", "PUT ?tagging", "GET ?versioning", "PUT ?versioning"];
    assert_eq!(shown(&ran.sent), sent);
    let body = |at: usize| String::from_utf8_lossy(ran.sent[at].content()).into_owned();
    assert!(body(1).contains("<LocationConstraint>eu-central-1</LocationConstraint>"), "{}", body(1));
    assert!(body(3).contains(&format!("<Value>{}</Value>", case.owner())), "{}", body(3));
    assert!(ran.sent[3].header_value("x-amz-checksum-sha256").is_some_and(|sum| sum.len() == 44));
    assert!(body(5).contains("<Status>Enabled</Status>"), "{}", body(5));
    let answer = ran.answer();
    let data = json!({
        "BUCKET_NAME": "logs", "BUCKET_ARN": "arn:aws:s3:::logs", "BUCKET_URL": BUCKET, "AWS_REGION": "eu-central-1",
    });
    assert_eq!((&answer.children[0]["metadata"]["name"], &answer.children[0]["data"]), (&json!("mine-bucket"), &data));
    assert_eq!(answer.status, json!({"name": "logs", "arn": "arn:aws:s3:::logs", "url": BUCKET}));
    assert_eq!((answer.conditions[0].holds, answer.conditions[0].reason.as_str()), (Some(true), "Available"));
}

#[test]
fn only_what_differs_is_changed() {
    let mut case = Case::bucket(spec(), json!({}));
    let tags = tagging(&[("boathook.dev/owner", &case.owner()), ("team", "a &amp; b")]);
    case.answers("GET", TAGS, 200, tags);
    case.answers("GET", VERSIONING, 200, "<VersioningConfiguration><Status>Enabled</Status></VersioningConfiguration>");
    assert_eq!(case.reconcile().1, ["GET ?tagging", "GET ?versioning"]);
}

#[test]
fn a_mark_that_somebody_removed_comes_back_and_other_tags_stay() {
    let mut case = Case::bucket(json!({"name": "logs"}), json!({"name": "logs", "arn": "arn:aws:s3:::logs"}));
    case.answers("GET", TAGS, 200, tagging(&[("team", "a &amp; b")]));
    case.answers("PUT", TAGS, 204, "");
    case.answers("GET", VERSIONING, 200, "<VersioningConfiguration/>");
    let ran = case.kit.reconcile(reconcile, "buckets", &case.target);
    let body = String::from_utf8_lossy(ran.sent[1].content()).into_owned();
    assert!(body.contains("<Key>team</Key><Value>a &amp; b</Value>") && body.contains(&case.uid), "{body}");
}

#[test]
fn what_is_not_its_own_is_neither_changed_nor_deleted() {
    for (tags, reason, named) in [
        (vec![], "Exists", "spec.adopt"),
        (vec![("boathook.dev/owner", "0e6e other/theirs")], "OwnedByAnother", "other/theirs"),
    ] {
        let mut case = Case::bucket(spec(), json!({}));
        case.answers("GET", TAGS, 200, tagging(&tags));
        let (answer, sent) = case.reconcile();
        assert_eq!(sent, ["GET ?tagging"]);
        let condition = &answer.conditions[0];
        assert_eq!((condition.holds, condition.reason.as_str()), (Some(false), reason));
        assert!(condition.message.contains(named), "{}", condition.message);
        assert_eq!((answer.status, answer.none_wanted), (json!({}), true));
        let (answer, sent) = case.finalize();
        assert!(answer.done && sent == ["GET ?tagging"], "{sent:?}");
    }
}

#[test]
fn a_bucket_without_an_owner_is_adopted_on_request() {
    let mut case = Case::bucket(json!({"name": "logs", "adopt": true}), json!({}));
    case.answers("GET", TAGS, 404, failure("NoSuchTagSet")).answers("PUT", TAGS, 204, "");
    case.answers("GET", VERSIONING, 200, "<VersioningConfiguration/>");
    assert_eq!(case.reconcile().1, ["GET ?tagging", "PUT ?tagging", "GET ?versioning"]);
}

#[test]
fn a_failure_is_told_and_the_status_stays() {
    let known = json!({"name": "logs", "arn": "arn:aws:s3:::logs", "url": BUCKET});
    let lost = http::Error::new(http::ErrorKind::Connection, "there is no connection");
    for (response, reason, message) in [
        (Ok(Response::new(403, failure("AccessDenied"))), "AccessDenied", "bucket logs: AccessDenied: it is so"),
        (Ok(Response::new(502, "<html>")), "Failed", "the status 502"),
        (Err(lost), "Unreachable", "there is no connection"),
    ] {
        let mut case = Case::bucket(spec(), known.clone());
        case.kit.http("GET", TAGS, response);
        let (answer, _) = case.reconcile();
        assert_eq!(answer.status, known);
        assert_eq!(answer.children.len(), 1, "Pods go on with what they know");
        assert_eq!(answer.conditions[0].reason, reason);
        assert!(answer.conditions[0].message.contains(message), "{}", answer.conditions[0].message);
        assert!(answer.requeue_after.is_some());
        let (answer, _) = case.finalize();
        assert!(!answer.done && answer.conditions[0].reason == reason);
    }
}

#[test]
fn the_deletion_policy_decides() {
    let mut case = Case::bucket(spec(), json!({}));
    let tags = tagging(&[("boathook.dev/owner", &case.owner()), ("team", "a")]);
    case.answers("GET", TAGS, 200, tags.clone());
    case.answers("DELETE", BUCKET, 409, failure("BucketNotEmpty")).answers("DELETE", BUCKET, 204, "");
    let (answer, _) = case.finalize();
    assert!(!answer.done && answer.conditions[0].message.contains("deletionPolicy"), "{:?}", answer.conditions);
    let (answer, sent) = case.finalize();
    assert!(answer.done && sent == ["GET ?tagging", "DELETE "], "{sent:?}");

    let mut case = Case::bucket(json!({"name": "logs", "deletionPolicy": "Orphan"}), json!({}));
    let tags = tagging(&[("boathook.dev/owner", &case.owner()), ("team", "a")]);
    case.answers("GET", TAGS, 200, tags).answers("PUT", TAGS, 204, "");
    let ran = case.kit.finalize(finalize, "buckets", &case.target);
    let body = String::from_utf8_lossy(ran.sent[1].content()).into_owned();
    assert!(ran.answer().done && body.contains("team") && !body.contains("owner"), "{body}");

    let mut case = Case::bucket(spec(), json!({"name": "logs"}));
    case.answers("GET", TAGS, 404, failure("NoSuchBucket"));
    assert!(case.finalize().0.done);

    // What has lost its mark is deleted only if it had one.
    for (status, last) in [
        (json!({"name": "logs"}), vec!["GET ?tagging"]),
        (json!({"name": "logs", "arn": "arn:aws:s3:::logs"}), vec!["GET ?tagging", "DELETE "]),
    ] {
        let mut case = Case::bucket(spec(), status);
        case.answers("GET", TAGS, 404, failure("NoSuchTagSet")).answers("DELETE", BUCKET, 204, "");
        let (answer, sent) = case.finalize();
        assert!(answer.done && sent == last, "{sent:?}");
    }
}

/// What SQS answers to every action of an existing queue.
fn queue(owner: Option<&str>, timeout: &str) -> String {
    let tags = owner.map_or(json!({}), |owner| json!({"boathook.dev/owner": owner}));
    let attributes = json!({
        "QueueArn": "arn:aws:sqs:eu-central-1:1:jobs", "VisibilityTimeout": timeout, "MessageRetentionPeriod": "345600",
    });
    let url = format!("{QUEUES}1/jobs");
    json!({"QueueUrl": url, "Tags": tags, "Attributes": attributes}).to_string()
}

fn missing() -> String {
    // moto says it twice.
    json!({"__type": "com.amazonaws.sqs#QueueDoesNotExist", "message": "no such queue", "Message": "no such queue"})
        .to_string()
}

#[test]
fn a_queue_is_created_with_its_mark() {
    let mut case = Case::queue(json!({"name": "jobs"}), json!({}));
    let exists = queue(Some(&case.owner()), "30");
    case.answers("POST", QUEUES, 400, missing()).answers("POST", QUEUES, 200, exists);
    let ran = case.kit.reconcile(reconcile, "queues", &case.target);
    let sent = ["GetQueueUrl", "CreateQueue", "GetQueueUrl", "ListQueueTags", "GetQueueAttributes"];
    assert_eq!(shown(&ran.sent), sent);
    let body: Value = serde_json::from_slice(ran.sent[1].content()).unwrap();
    assert_eq!(body["tags"], json!({"boathook.dev/owner": case.owner()}));
    assert_eq!(body["Attributes"], json!({"VisibilityTimeout": "30", "MessageRetentionPeriod": "345600"}));
    let status = json!({"name": "jobs", "arn": "arn:aws:sqs:eu-central-1:1:jobs", "url": format!("{QUEUES}1/jobs")});
    assert_eq!(ran.answer().status, status);
}

#[test]
fn a_queue_gets_its_attributes_back() {
    let mut case = Case::queue(json!({"name": "jobs", "visibilityTimeoutSeconds": 60}), json!({}));
    let exists = queue(Some(&case.owner()), "30");
    case.answers("POST", QUEUES, 200, exists);
    let ran = case.kit.reconcile(reconcile, "queues", &case.target);
    let sent = ["GetQueueUrl", "ListQueueTags", "GetQueueAttributes", "SetQueueAttributes"];
    assert_eq!(shown(&ran.sent), sent);
    let body: Value = serde_json::from_slice(ran.sent[3].content()).unwrap();
    assert_eq!(body["Attributes"], json!({"VisibilityTimeout": "60"}));
}

/// A queue has its mark from the beginning, so one without a mark is somebody's.
#[test]
fn a_queue_without_a_mark_is_not_its_own() {
    let mut case = Case::queue(json!({"name": "jobs"}), json!({"name": "jobs"}));
    case.answers("POST", QUEUES, 200, queue(None, "30"));
    assert_eq!(case.reconcile().0.conditions[0].reason, "Exists");
    assert_eq!(case.finalize().1, ["GetQueueUrl", "ListQueueTags"]);

    for (policy, last) in [("Delete", "DeleteQueue"), ("Orphan", "UntagQueue")] {
        let mut case = Case::queue(json!({"name": "jobs", "deletionPolicy": policy}), json!({}));
        let exists = queue(Some(&case.owner()), "30");
        case.answers("POST", QUEUES, 200, exists);
        assert_eq!(case.finalize().1, ["GetQueueUrl", "ListQueueTags", last]);
    }
}
