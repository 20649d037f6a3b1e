//! Answers to the API server, and what is interrupted, are recorded and replayed as runs are.

use std::{sync::Arc, time::Duration};

use boathook_core::model::{AdmissionKind, FailureKind, Reviewed};
use boathook_operator::{
    app::Options,
    record::{Asks, Record, RecordConfig, RecordedAnswer},
    webhook::{AdmissionRequest, ConversionRequest, Converted, Unanswered, Versioned},
};
use serde_json::{Value, json};

use super::{Recorded, altered, records, replay, replayed};
use crate::{
    pipeline::{
        fixture::{Operator, Pipeline, guests},
        written::{Deed, hook},
    },
    support::{cluster::TestCluster, guests::guest},
};

pub(super) const VALIDATE: &str = "validate.reviewer.test";
pub(super) const MUTATE: &str = "mutate.reviewer.test";

pub(super) fn config_map(wishes: &[(&str, &str, &str)]) -> Value {
    let annotations: serde_json::Map<String, Value> =
        wishes.iter().map(|(binding, key, value)| (format!("{binding}/{key}"), json!(value))).collect();
    let metadata = json!({"namespace": "default", "name": "x", "annotations": annotations});
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata})
}

pub(super) async fn ask(
    recorded: &Recorded,
    kind: AdmissionKind,
    object: Value,
    patience: u64,
) -> Result<Reviewed, Unanswered> {
    let request = json!({"uid": "u", "operation": "CREATE", "namespace": "default", "name": "x",
        "kind": {"group": "", "version": "v1", "kind": object["kind"]}, "resource": {"group": "", "version": "v1", "resource": "configmaps"},
        "userInfo": {"username": "jane"}, "object": object, "dryRun": false});
    let request = AdmissionRequest {
        uid: "u".to_owned(),
        dry_run: false,
        operation: "CREATE".to_owned(),
        has_object: true,
        by_hand: false,
        json: Arc::from(request.to_string()),
    };
    let binding = if kind == AdmissionKind::Validating { VALIDATE } else { MUTATE };
    let patience = Duration::from_millis(patience);
    recorded.operator().app.answerer().review(kind, "reviewer", binding, request, patience).await
}

pub(super) async fn convert(recorded: &Recorded) -> Vec<String> {
    let object = json!({"apiVersion": "reviewer.test/v1", "kind": "Widget", "spec": {"size": 7},
        "metadata": {"namespace": "default", "name": "w"}});
    let request = ConversionRequest {
        crd: "widgets.reviewer.test".to_owned(),
        uid: "u".to_owned(),
        desired: "reviewer.test/v3".to_owned(),
        objects: vec![Versioned { api_version: "reviewer.test/v1".to_owned(), json: object.to_string() }],
    };
    let converted = recorded.operator().app.answerer().convert(request, Duration::from_secs(30)).await.unwrap();
    let Converted::Objects(objects) = converted else { panic!("{converted:?}") };
    objects
}

fn answers(all: &[Record]) -> Vec<(&'static str, &RecordedAnswer)> {
    let word = |record: &Record| match record.question.as_ref().unwrap().asks {
        Asks::Validating { .. } => "validating",
        Asks::Mutating { .. } => "mutating",
        Asks::Conversion { .. } => "conversion",
        Asks::Reconcile { .. } => "reconcile",
    };
    all.iter().filter_map(|record| Some((word(record), record.end.answer.as_ref()?))).collect()
}

#[tokio::test]
async fn answers_are_the_same_again_and_altered_ones_are_found() {
    let recorded = Recorded::start(&guests(["reviewer"]), |_| ()).await;
    let (long, validating) = (30_000, AdmissionKind::Validating);
    ask(&recorded, validating, config_map(&[]), long).await.unwrap();
    ask(&recorded, validating, config_map(&[(VALIDATE, "deny", "not here")]), long).await.unwrap();
    ask(&recorded, validating, config_map(&[(VALIDATE, "trap", "oh no")]), long).await.unwrap_err();
    ask(&recorded, validating, config_map(&[(VALIDATE, "write", "made")]), long).await.unwrap();
    ask(&recorded, AdmissionKind::Mutating, config_map(&[(MUTATE, "label", "yes")]), long).await.unwrap();
    assert_eq!(convert(&recorded).await.len(), 1);
    recorded.until("reviewer", 7).await;
    let (_records, path) = recorded.stop().await;
    let all = records(&path);
    let kinds: Vec<_> = answers(&all).into_iter().map(|(kind, _)| kind).collect();
    let mut sorted = kinds.clone();
    sorted.sort_unstable();
    assert_eq!(sorted, ["conversion", "conversion", "mutating", "validating", "validating", "validating"]);
    let directory = path.to_str().unwrap();
    let ended = replay(&[directory]).await;
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(0), "7 runs: 7 same, 0 differ"), "{}", ended.stderr);

    let file = path.join("altered.wasm");
    std::fs::write(&file, altered(&guest("reviewer"), "reviewed", "rewieved")).unwrap();
    let (code, told) = replayed(&[directory, "--with", file.to_str().unwrap()]).await;
    assert_eq!((code, &told["differ"]), (Some(1), &json!(1)), "{told:#}");
    let run = told["runs"].as_array().unwrap().iter().find(|run| run["result"] == "differs").unwrap();
    assert_eq!(run["differences"][0]["difference"], "answer");
    let paths: Vec<_> =
        run["differences"][0]["fields"].as_array().unwrap().iter().map(|field| field["path"].clone()).collect();
    assert_eq!(paths, ["/object/metadata/labels/reviewed", "/object/metadata/labels/rewieved"]);
}

#[tokio::test]
async fn no_secret_that_is_under_review_is_recorded() {
    let recorded = Recorded::start(&guests(["reviewer"]), |_| ()).await;
    let mut secret = config_map(&[(MUTATE, "label", "yes")]);
    secret["kind"] = json!("Secret");
    secret["data"] = json!({"password": "Y29ycmVjdCBob3JzZSBiYXR0ZXJ5"});
    ask(&recorded, AdmissionKind::Mutating, secret.clone(), 30_000).await.unwrap();
    let patch = json!([{"op": "add", "path": "/data/password", "value": "Y29ycmVjdCBob3JzZSBiYXR0ZXJ5"}]).to_string();
    secret["metadata"]["annotations"] = json!({(format!("{MUTATE}/patch")): patch});
    ask(&recorded, AdmissionKind::Mutating, secret, 30_000).await.unwrap();
    recorded.until("reviewer", 2).await;
    let (_records, path) = recorded.stop().await;
    for record in records(&path) {
        let text = serde_json::to_string(&record).unwrap();
        assert!(!text.contains("Y29ycmVjdCBob3JzZSBiYXR0ZXJ5"), "{text}");
        assert!(text.contains("password"), "{text}");
    }
    let ended = replay(&[path.to_str().unwrap()]).await;
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(0), "2 runs: 2 same, 0 differ"), "{}", ended.stderr);
}

#[tokio::test]
async fn what_is_interrupted_is_recorded_as_far_as_it_came() {
    let spins = "configVersion: v1\nonStartup: 1\nlimits: {time: 10m}\n";
    let hooks = [("spins", hook(spins, &Deed::Spins)), ("reviewer", guest("reviewer"))];
    let records_of = tempfile::tempdir().unwrap();
    let path = records_of.path().join("records");
    let adjust = |options: &mut Options| {
        options.grace_period = Duration::from_millis(200);
        options.record = Some(RecordConfig::new(path.clone(), options.hooks.clone().unwrap()));
    };
    let pipeline = Pipeline::on(TestCluster::start().await, &hooks, adjust).await;
    let recorded = Recorded { pipeline, records: records_of };
    let running =
        |operator: &Operator| operator.app.queue().stats().queues.iter().any(|queue| queue.running > 0).then_some(());
    recorded.operator().until("the hook spins", running).await;
    let wishes = config_map(&[(VALIDATE, "write", "made"), (VALIDATE, "tell", "1"), (VALIDATE, "sleep", "600000")]);
    let asked = ask(&recorded, AdmissionKind::Validating, wishes, 600_000);
    assert!(tokio::time::timeout(Duration::from_secs(2), asked).await.is_err(), "whoever asked goes away");
    recorded.until("reviewer", 1).await;
    let (_records, path) = recorded.stop().await;
    let all = records(&path);
    let kinds: Vec<_> = all.iter().map(|record| record.end.failure.as_ref().unwrap().kind).collect();
    assert_eq!(kinds, [FailureKind::Interrupted; 2]);
    let directory = path.to_str().unwrap();
    let (code, told) = replayed(&[directory]).await;
    assert_eq!((code, &told["same"]), (Some(0), &json!(2)), "{told:#}");
    let file = path.join("reviewer.wasm");
    std::fs::write(&file, guest("reviewer")).unwrap();
    let (_, told) = replayed(&[directory, "--hook", "reviewer", "--with", file.to_str().unwrap()]).await;
    assert_eq!(told["incomplete"], json!(1), "{told:#}");
}
