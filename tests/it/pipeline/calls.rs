//! Every operation of the interface `kube` on the real way, as the WIT says: the guest `allkube` makes
//! them all and logs the answers.

use serde_json::{Value, json};

use super::fixture::{Operator, Pipeline, config_map};

/// What is expected of an answer.
enum Answer {
    /// The ConfigMap's data.
    Data(Value),
    /// The whole answer.
    Is(Value),
    /// Fields of it.
    Has(Value),
    /// A list, in any order.
    Lists(&'static [&'static str]),
    /// The reason, the server's code, a part of the message.
    Fails(&'static str, Option<u16>, &'static str),
}
use Answer::{Data, Fails, Has, Is, Lists};

const NOTHING: Answer = Is(Value::Null);

#[tokio::test]
async fn every_operation_answers_as_the_interface_says() {
    let pipeline = Pipeline::start(["allkube"]).await;
    pipeline.create(config_map("start", ("test", "allkube"), json!({}))).await;
    let all = |operator: &Operator| {
        let lines = operator.log.said_json("allkube");
        lines.last().is_some_and(|line| line["call"] == "end").then_some(lines)
    };
    let answers = pipeline.operator.until("all calls were made", all).await;
    let expected: Vec<_> = [reads_and_creates(), updates_and_patches(), deployment(), deletes(), batch(), others()]
        .into_iter()
        .flatten()
        .collect();
    let calls: Vec<_> = answers.iter().map(|answer| answer["call"].as_str().unwrap()).collect();
    assert_eq!(calls, expected.iter().map(|(call, _)| *call).collect::<Vec<_>>());
    for ((_, expected), answer) in expected.iter().zip(&answers) {
        check(expected, answer);
    }
    // The order of a batch's answers is that of the calls; this is what came of it.
    let left = ["a", "applied", "b", "c"].map(|name| config_map(name, ("made-by", "allkube"), json!({})));
    for object in left {
        let is_there = pipeline.get(object.clone()).await.is_some();
        assert_eq!(is_there, object["metadata"]["name"] == "c", "{object}");
    }
    assert_eq!(emitted(&pipeline).await, [("Tested".to_owned(), "start".to_owned())]);
    assert_eq!(pipeline.operator.told("run succeeded", "allkube", 1).await.len(), 1);
}

fn check(expected: &Answer, answer: &Value) {
    let (ok, error) = (answer.get("ok"), &answer["error"]);
    match expected {
        Data(data) => assert_eq!(ok.map(|ok| &ok["data"]), Some(data), "{answer}"),
        Is(value) => assert_eq!(ok, Some(value), "{answer}"),
        Has(fields) => {
            for (key, field) in fields.as_object().unwrap() {
                assert_eq!(ok.map(|ok| &ok[key]), Some(field), "{key} of {answer}");
            }
        }
        Lists(names) => {
            let list = ok.and_then(Value::as_array).unwrap_or_else(|| panic!("{answer}"));
            assert_eq!(list.len(), names.len(), "{answer}");
            // A generated name is known by how it begins.
            let listed = |name: &&str| list.iter().any(|item| item.as_str().is_some_and(|item| item.starts_with(name)));
            assert!(names.iter().all(listed), "{answer}");
        }
        Fails(reason, code, text) => {
            assert_eq!((&error["reason"], &error["code"]), (&json!(reason), &json!(code)), "{answer}");
            assert!(error["message"].as_str().unwrap().contains(text), "no {text:?} in {answer}");
        }
    }
}

fn key(value: &str) -> Answer {
    Data(json!({"key": value}))
}

type Expected = Vec<(&'static str, Answer)>;

fn reads_and_creates() -> Expected {
    vec![
        ("create", key("1")),
        ("create-again", Fails("AlreadyExists", Some(409), "create v1 ConfigMap default/a: ")),
        ("create-keep", NOTHING),
        ("create-replace", key("4")),
        ("create-generate-name", key("5")),
        ("create-invalid", Fails("Invalid", Some(422), "metadata.name")),
        ("create-no-json-object", Fails("Invalid", None, "not a JSON object")),
        ("get", key("4")),
        ("get-missing", Fails("NotFound", Some(404), "get v1 ConfigMap default/missing: ")),
        ("list", Lists(&["a", "gen-"])),
        ("list-pages", Lists(&["a", "gen-"])),
        ("list-field", Is(json!(["a"]))),
        ("list-bad-selector", Fails("Invalid", Some(400), "list v1 ConfigMap in namespace default: ")),
        ("list-unknown-kind", Fails("Invalid", None, "Teapot")),
    ]
}

fn updates_and_patches() -> Expected {
    let merged = json!({"key": "u", "merge": "1", "jq": "1"});
    vec![
        ("update", key("u")),
        ("update-stale", Fails("Conflict", Some(409), "update v1 ConfigMap default/a: ")),
        ("update-missing", Fails("NotFound", Some(404), "update v1 ConfigMap default/missing: ")),
        ("patch-json", Data(json!({"key": "u", "json": "1"}))),
        ("patch-json-test-fails", Fails("Invalid", Some(422), "patch v1 ConfigMap default/a: ")),
        ("patch-merge", Data(json!({"key": "u", "merge": "1"}))),
        ("patch-jq", Data(merged.clone())),
        ("patch-jq-same", Data(merged)),
        ("patch-jq-bad", Fails("Invalid", None, "patch v1 ConfigMap default/a by jq: ")),
        ("patch-missing", Fails("NotFound", Some(404), "patch v1 ConfigMap default/missing: ")),
        ("patch-ignore-missing", NOTHING),
        ("apply-creates", key("1")),
        ("apply-conflict", Fails("Conflict", Some(409), "boathook.dev/allkube")),
        ("apply-force", key("3")),
    ]
}

fn deployment() -> Expected {
    vec![
        ("deployment-create", Has(json!({"kind": "Deployment", "generation": 1, "replicas": 1}))),
        ("patch-strategic", Lists(&["side", "web"])),
        ("patch-status", Has(json!({"generation": 2, "status": {"observedGeneration": 1, "replicas": 1}}))),
        ("get-scale", Has(json!({"kind": "Scale", "replicas": 1}))),
        ("patch-scale", Has(json!({"kind": "Scale", "replicas": 2}))),
    ]
}

fn deletes() -> Expected {
    vec![
        ("delete-missing", Fails("NotFound", Some(404), "delete v1 ConfigMap default/missing: ")),
        ("delete-ignore-missing", NOTHING),
        ("delete-other-uid", Fails("Conflict", Some(409), "no-such-uid")),
        ("delete-other-version", Fails("Conflict", Some(409), "delete v1 ConfigMap default/a: ")),
        ("delete", NOTHING),
        ("delete-wait", Data(json!({"key": "3"}))),
        ("delete-orphan", Has(json!({"name": "web", "replicas": 2}))),
    ]
}

fn batch() -> Expected {
    vec![
        ("batch-1-create", key("1")),
        ("batch-2-patch", key("2")),
        ("batch-3-other", key("1")),
        ("batch-4-malformed", Fails("Invalid", None, "apiVersion")),
        ("batch-5-delete", NOTHING),
        ("batch-6-patch-deleted", Fails("NotFound", Some(404), "patch v1 ConfigMap default/b: ")),
        ("batch-empty", Is(json!(0))),
    ]
}

fn others() -> Expected {
    vec![
        ("emit-event", NOTHING),
        ("get-forbidden", Fails("ForbiddenByGrant", None, "may not get secrets \"any\"")),
        ("delete-forbidden", Fails("ForbiddenByGrant", None, "may not delete secrets \"any\"")),
        ("end", NOTHING),
    ]
}

/// Reason and object of each Event in the cluster.
async fn emitted(pipeline: &Pipeline) -> Vec<(String, String)> {
    let request = http::Request::get("/apis/events.k8s.io/v1/namespaces/default/events").body(Vec::new()).unwrap();
    let list: Value = pipeline.cluster.admin.client.request(request).await.unwrap();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let events = list["items"].as_array().unwrap();
    events.iter().map(|event| (text(&event["reason"]), text(&event["regarding"]["name"]))).collect()
}
