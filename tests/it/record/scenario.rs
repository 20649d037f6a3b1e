//! A recorded run becomes a scenario, which `boathook test` plays with the same component.

use std::{fs, path::Path};

use boathook_core::model::{AdmissionKind, Cause, WatchEventKind};
use boathook_operator::record::{Asks, Record, read};
use serde_json::{Value, json};

use super::{Recorded, answers, labelled, names, of_hook, reconciled, replay};
use crate::{
    pipeline::{
        fixture::guests,
        http::{Server, fetch},
    },
    support::{
        guests::{cache_dir, guest, hooks_dir},
        process::{Ended, boathook, run},
    },
};

/// The scenario of the first record that is wanted, and what `boathook test` says about it.
async fn becomes(records: &Path, hook: &str, component: Vec<u8>, wanted: impl Fn(&Record) -> bool) -> (String, Ended) {
    let files = names(records).into_iter().map(|name| records.join(name.to_string()));
    let mut files = files.filter(|file| {
        let record = read(file).unwrap();
        record.header.hook == hook && wanted(&record)
    });
    let file = files.next().unwrap_or_else(|| panic!("there is no such record of {hook}"));
    let hooks = hooks_dir(&[(hook, component)]).await;
    let scenarios = hooks.path().join(hook).join("scenarios");
    fs::create_dir_all(&scenarios).unwrap();
    let to = scenarios.join("a.yaml");
    let arguments = [file.to_str().unwrap(), "--to-scenario", to.to_str().unwrap()];
    let ended = replay(&arguments).await;
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert_eq!(replay(&arguments).await.code, Some(2), "a file is never overwritten");
    let mut test = boathook(["test", "--cache-dir"]);
    test.arg(cache_dir()).arg(hooks.path());
    (fs::read_to_string(to).unwrap(), run(test).await)
}

async fn passes(records: &Path, hook: &str, component: Vec<u8>, wanted: impl Fn(&Record) -> bool) -> String {
    let (text, ended) = becomes(records, hook, component, wanted).await;
    assert_eq!(ended.code, Some(0), "{text}\n{}{}", ended.stdout, ended.stderr);
    text
}

fn is(record: &Record, wanted: impl Fn(&Cause) -> bool) -> bool {
    record.triggers.iter().any(|trigger| wanted(&trigger.cause))
}

fn written(record: &Record) -> usize {
    record.calls.iter().map(|call| call.request.operations().len()).sum()
}

fn writes(record: &Record) -> bool {
    written(record) > 0
}

fn event(record: &Record, wanted: WatchEventKind) -> bool {
    is(record, |cause| matches!(cause, Cause::Event(event) if event.kind == wanted))
}

#[tokio::test]
async fn events_and_a_synchronization() {
    let recorded = Recorded::start(&guests(["node-taint", "registry-secret"]), |_| ()).await;
    let pipeline = &recorded.pipeline;
    let metadata = json!({"namespace": "default", "name": "registry-credentials"});
    let secret = json!({"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "type": "Opaque", "data": {"a": "c2VjcmV0LXNlY3JldC1zZWNyZXQ="}});
    let label = "taint.boathook.dev/gpu";
    pipeline.create(labelled("Node", "n1", json!({label: "NoSchedule"}))).await;
    recorded.until("node-taint", 2).await;
    pipeline.apply(labelled("Node", "n1", json!({label: "NoExecute"}))).await;
    recorded.until("node-taint", 4).await;
    pipeline.create(secret).await;
    recorded.until("registry-secret", 2).await;
    pipeline.create(labelled("Namespace", "web", json!({}))).await;
    recorded.until("registry-secret", 3).await;
    let (_records, path) = recorded.stop().await;

    let taint = || guest("node-taint");
    let text = passes(&path, "node-taint", taint(), |record| event(record, WatchEventKind::Added)).await;
    assert!(text.contains("create:") && text.contains("verb: patch") && text.contains("effect: NoSchedule"), "{text}");
    let changed = |record: &Record| event(record, WatchEventKind::Modified) && writes(record);
    let text = passes(&path, "node-taint", taint(), changed).await;
    assert!(text.contains("given:") && text.contains("patch:") && text.contains("effect: NoExecute"), "{text}");
    let synchronization = |record: &Record| is(record, |cause| matches!(cause, Cause::Synchronization));
    passes(&path, "node-taint", taint(), synchronization).await;
    // The hook writes several copies in an order of its own, so this is the run with one.
    let copies = |record: &Record| event(record, WatchEventKind::Added) && written(record) == 1;
    let text = passes(&path, "registry-secret", guest("registry-secret"), copies).await;
    assert!(text.contains("# Values of Secrets are placeholders.") && !text.contains("c2VjcmV0"), "{text}");
}

#[tokio::test]
async fn a_schedule() {
    let recorded = Recorded::start(&guests(["schedule"]), |_| ()).await;
    recorded.until("schedule", 1).await;
    let (_records, path) = recorded.stop().await;
    let text = passes(&path, "schedule", guest("schedule"), |_| true).await;
    assert!(text.contains("- tick: every"), "{text}");
}

#[tokio::test]
async fn answers_to_the_api_server() {
    let recorded = Recorded::start(&guests(["reviewer"]), |_| ()).await;
    let (validate, mutate) = (answers::VALIDATE, answers::MUTATE);
    let ask = async |kind, wishes: &[(&str, &str, &str)]| {
        answers::ask(&recorded, kind, answers::config_map(wishes), 30_000).await.unwrap()
    };
    ask(AdmissionKind::Validating, &[(validate, "deny", "not here")]).await;
    ask(AdmissionKind::Mutating, &[(mutate, "label", "yes")]).await;
    answers::convert(&recorded).await;
    let (_records, path) = recorded.stop().await;
    let asks = |record: &Record| record.question.as_ref().map(|question| question.asks.clone());
    for (wanted, word) in
        [("validating", "allowed: false"), ("mutating", "allowed: true"), ("conversion", "conversion:")]
    {
        let is = |record: &Record| match asks(record) {
            Some(Asks::Validating { .. }) => wanted == "validating",
            Some(Asks::Mutating { .. }) => wanted == "mutating",
            Some(Asks::Conversion { .. }) => wanted == "conversion",
            _ => false,
        };
        let text = passes(&path, "reviewer", guest("reviewer"), is).await;
        assert!(text.contains(word), "{text}");
    }
}

#[tokio::test]
async fn a_parent() {
    let recorded = reconciled::start(|_| ()).await;
    reconciled::lives(&recorded, json!({"children": [reconciled::child("1")]})).await;
    let (_records, path) = recorded.stop().await;
    let text = passes(&path, "wish", guest("farewell"), |_| true).await;
    assert!(text.contains("kind: CustomResourceDefinition") && text.contains("value: '1'"), "{text}");

    let finalizes = |record: &Record| {
        let question = record.question.as_ref().map(|question| &question.asks);
        matches!(question, Some(Asks::Reconcile { finalizes: true, .. }))
    };
    let name = of_hook(&path, "wish").into_iter().find(|name| finalizes(&read(&path.join(name.to_string())).unwrap()));
    let (file, to) = (path.join(name.unwrap().to_string()), path.join("to.yaml"));
    let ended = replay(&[file.to_str().unwrap(), "--to-scenario", to.to_str().unwrap()]).await;
    assert_eq!(ended.code, Some(2));
    assert!(ended.stderr.contains("does not become a scenario: the run was a call of `finalize`"), "{}", ended.stderr);
    let ended = replay(&[path.to_str().unwrap(), "--to-scenario", to.to_str().unwrap()]).await;
    assert!(ended.code == Some(2) && ended.stderr.contains("--to-scenario takes one record"), "{}", ended.stderr);
    assert!(!to.exists());
}

#[tokio::test]
async fn http_requests_and_their_responses() {
    let server = Server::start().await;
    let client = server.client();
    let recorded = Recorded::start_with(&[("fetch", server.hook())], |options| options.http = client).await;
    let data: Value = json!({"url": server.url("/v1/echo"), "method": "POST", "body": "ping"});
    recorded.pipeline.create(fetch("a", data)).await;
    recorded.until("fetch", 2).await;
    let (_records, path) = recorded.stop().await;
    let sends = |record: &Record| !record.calls.is_empty();
    let text = passes(&path, "fetch", server.hook(), sends).await;
    assert!(text.contains("body: ping") && text.contains("method: POST"), "{text}");
}
