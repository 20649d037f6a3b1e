//! `boathook run` of questions that the API server asks.

use std::process::Stdio;

use serde_json::{Value, json};
use tokio::io::AsyncWriteExt as _;

use crate::support::{
    guests::{cache_dir, guest_file},
    process::{Ended, boathook},
};

const VALIDATE: &str = "validate.reviewer.test";

/// The reviewer, with this context on stdin.
async fn asked(context: &Value, more: &[&str]) -> Ended {
    told("reviewer", &context.to_string(), &[&["--context", "-"], more].concat()).await
}

/// With this on stdin.
async fn told(hook: &str, text: &str, more: &[&str]) -> Ended {
    let mut command = boathook(["run"]);
    command.arg(guest_file(hook)).arg("--cache-dir").arg(cache_dir()).args(more);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
    let mut child = command.spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    input.write_all(text.as_bytes()).await.unwrap();
    drop(input);
    let output = child.wait_with_output().await.unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    Ended { code: output.status.code(), stdout: text(output.stdout), stderr: text(output.stderr) }
}

fn review(kind: &str, binding: &str, wishes: Value) -> Value {
    let metadata = json!({"namespace": "default", "name": "m", "annotations": wishes});
    let object = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata});
    let request = json!({
        "uid": "u", "operation": "CREATE", "namespace": "default", "name": "m", "object": object,
        "kind": {"group": "", "version": "v1", "kind": "ConfigMap"},
        "resource": {"group": "", "version": "v1", "resource": "configmaps"},
        "userInfo": {"username": "jane"}, "dryRun": false,
    });
    json!([{"binding": binding, "type": kind, "review": {"request": request}}])
}

#[tokio::test]
async fn a_review_is_answered_yes_or_no_and_a_failure_is_neither() {
    let allowed = asked(&review("Validating", VALIDATE, json!({"validate.reviewer.test/warn": "old"})), &[]).await;
    assert_eq!(allowed.code, Some(0), "{allowed:?}");
    assert!(allowed.stdout.starts_with("allowed in ") && allowed.stdout.contains("\n  warning: old\n"), "{allowed:?}");

    let no = json!({"validate.reviewer.test/deny": "not here", "validate.reviewer.test/code": "422"});
    let denied = asked(&review("Validating", VALIDATE, no.clone()), &[]).await;
    assert_eq!(denied.code, Some(0), "{denied:?}");
    assert!(denied.stdout.contains("\n  422 Forbidden: not here\n"), "{denied:?}");
    let denied = asked(&review("Validating", VALIDATE, no), &["-o", "json"]).await;
    let told: Value = serde_json::from_str(&denied.stdout).unwrap();
    assert_eq!((&told["result"], &told["denied"]["code"]), (&json!("denied"), &json!(422)));

    let failed = asked(&review("Validating", VALIDATE, json!({"validate.reviewer.test/trap": "oh no"})), &[]).await;
    assert_eq!(failed.code, Some(1), "{failed:?}");
    assert!(failed.stdout.contains("no answer") && failed.stdout.contains("oh no"), "{failed:?}");
}

#[tokio::test]
async fn what_a_mutation_and_a_conversion_change_is_shown() {
    let wishes = json!({"mutate.reviewer.test/label": "yes"});
    let mutated = asked(&review("Mutating", "mutate.reviewer.test", wishes), &[]).await;
    assert_eq!(mutated.code, Some(0), "{mutated:?}");
    let expected = "~ mutate v1 ConfigMap default/m\n  + metadata.labels:";
    assert!(mutated.stdout.starts_with(expected) && mutated.stdout.contains("\nallowed in "), "{mutated:?}");

    let widget =
        json!({"apiVersion": "reviewer.test/v1", "kind": "Widget", "metadata": {"name": "w"}, "spec": {"size": 7}});
    let request = json!({"uid": "u", "desiredAPIVersion": "reviewer.test/v3", "objects": [widget]});
    let context = json!([{"binding": "convert.reviewer.test", "type": "Conversion", "review": {"request": request}}]);
    let converted = asked(&context, &["-o", "json"]).await;
    let told: Value = serde_json::from_str(&converted.stdout).unwrap();
    assert_eq!((converted.code, &told["result"]), (Some(0), &json!("converted")));
    assert_eq!(told["objects"][0]["spec"], json!({"dimensions": {"sizes": [7]}}), "over two steps");
}

#[tokio::test]
async fn a_question_to_a_binding_that_is_not_there_names_those_that_are() {
    let ended = asked(&review("Mutating", VALIDATE, json!({})), &[]).await;
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(2), ""));
    let expected = "stdin:1:2: hook reviewer has no binding \"validate.reviewer.test\" for a mutating review; it has mutate.reviewer.test";
    assert!(ended.stderr.contains(expected), "{}", ended.stderr);
}

#[tokio::test]
async fn an_object_comes_from_stdin() {
    let event = ["--binding", "namespaces", "--event", "Added", "--object", "-"];
    let namespace = "apiVersion: v1\nkind: Namespace\nmetadata:\n  name: team-a\n";
    let ended = told("registry-secret", namespace, &event).await;
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(ended.stdout.starts_with("succeeded in "), "{ended:?}");
    let ended = told("registry-secret", "kind: Namespace", &event).await;
    assert_eq!(ended.code, Some(2), "{ended:?}");
    assert!(ended.stderr.contains("stdin is not an object: it needs apiVersion, a text"), "{}", ended.stderr);
}
