//! Calls of `reconcile` and `finalize` are recorded and replayed as runs are.

use std::path::Path;

use boathook_operator::record::{Asks, Record, RecordConfig, RecordedAnswer};
use serde_json::{Value, json};

use super::{Recorded, of_hook, records, replay, replayed};
use crate::{
    pipeline::{
        fixture::{Operator, Pipeline},
        reconcile::cluster,
    },
    support::{guests::guest, until},
};

const PASSWORD: &str = "correct horse battery staple";

/// The guest `farewell` in place of `wish`, on a cluster that serves its kinds.
pub(super) async fn start(adjust: impl FnOnce(&mut RecordConfig)) -> Recorded {
    let records = tempfile::tempdir().unwrap();
    let directory = records.path().join("records");
    let hooks = [("wish", guest("farewell"))];
    let pipeline = Pipeline::on(cluster().await, &hooks, |options| {
        let mut config = RecordConfig::new(directory, options.hooks.clone().unwrap());
        adjust(&mut config);
        options.record = Some(config);
    })
    .await;
    pipeline.operator.ready().await;
    Recorded { pipeline, records }
}

fn wish(spec: Value) -> Value {
    let metadata = json!({"name": "web", "namespace": "default"});
    json!({"apiVersion": "example.com/v1", "kind": "Wish", "metadata": metadata, "spec": spec})
}

pub(super) fn child(value: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"value": value}})
}

/// A parent becomes a child, and then it ends.
pub(super) async fn lives(recorded: &Recorded, spec: Value) {
    let (pipeline, parent) = (&recorded.pipeline, wish(spec));
    pipeline.create(parent.clone()).await;
    until("the hook was asked about its child", async || {
        let said =
            |operator: &Operator| operator.log.said("wish").iter().filter(|said| *said == "reconcile web").count();
        (said(recorded.operator()) >= 2).then_some(())
    })
    .await;
    pipeline.delete(parent.clone()).await;
    until("the parent is gone", async || pipeline.get(parent.clone()).await.is_none().then_some(())).await;
}

/// Whether a question is to `finalize`, and the names of the children and of the related objects in it.
fn asked(record: &Record) -> (bool, Vec<&str>, Vec<&str>) {
    let Asks::Reconcile { finalizes, children, related, .. } = &record.question.as_ref().unwrap().asks else {
        panic!("{record:?}")
    };
    let children = children.iter().map(|child| child.target.name.as_str()).collect();
    (*finalizes, children, related.iter().map(|one| &*one.entry).collect())
}

#[tokio::test]
async fn answers_about_parents_are_the_same_again_and_other_ones_are_found() {
    let recorded = start(|_| ()).await;
    lives(&recorded, json!({"children": [child("1")], "end": {"done": true, "status": {"left": 0}}})).await;
    let (_records, path) = recorded.stop().await;
    let all = records(&path);
    let questions: Vec<_> = all.iter().map(asked).collect();
    assert_eq!(questions.first(), Some(&(false, vec![], vec![])));
    assert!(questions.contains(&(false, vec!["a"], vec![])), "{questions:?}");
    assert!(questions.iter().any(|(finalizes, ..)| *finalizes), "{questions:?}");
    for record in &all {
        let Some(RecordedAnswer::Reconciled { children, done, .. }) = &record.end.answer else { panic!("{record:?}") };
        assert_eq!((*done, children.len()), if asked(record).0 { (true, 0) } else { (false, 1) });
        assert_eq!((&*record.header.binding, &*record.header.queue), ("wishes", "hook/wish"));
    }

    let directory = path.to_str().unwrap();
    let ended = replay(&[directory]).await;
    let summary = format!("{0} runs: {0} same, 0 differ", all.len());
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(0), summary.as_str()), "{}", ended.stderr);

    // Another hook has another status, and undoes nothing at the end.
    let file = path.join("other.wasm");
    std::fs::write(&file, guest("wish")).unwrap();
    let (code, told) = replayed(&[directory, "--with", file.to_str().unwrap()]).await;
    assert_eq!((code, &told["same"], &told["differ"]), (Some(1), &json!(0), &json!(all.len())), "{told:#}");
    for (run, record) in told["runs"].as_array().unwrap().iter().zip(&all) {
        let [difference] = &run["differences"].as_array().unwrap()[..] else { panic!("{run:#}") };
        if asked(record).0 {
            assert_eq!((&difference["difference"], &difference["recorded"]), (&json!("outcome"), &json!("success")));
        } else {
            let fields = difference["fields"].as_array().unwrap().iter().map(|field| field["path"].as_str().unwrap());
            assert_eq!(fields.collect::<Vec<_>>(), ["/status/related", "/status/seen"], "{run:#}");
        }
    }
}

/// What the hook would answer to another value of the child is known from a changed record.
#[tokio::test]
async fn a_child_that_differs_is_named() {
    let recorded = start(|_| ()).await;
    lives(&recorded, json!({"children": [child("1")]})).await;
    let (_records, path) = recorded.stop().await;
    let all = of_hook(&path, "wish").into_iter().map(|name| name.to_string());
    let mut all = all.map(|name| (boathook_operator::record::read(&path.join(&name)).unwrap(), name));
    let (mut record, name) = all.find(|(record, _)| !asked(record).0).unwrap();
    let Some(RecordedAnswer::Reconciled { children, .. }) = &mut record.end.answer else { panic!("{record:?}") };
    children[0] = child("2").to_string();
    std::fs::write(path.join(&name), boathook_operator::record::encode(&record).unwrap()).unwrap();
    let (code, told) = replayed(&[path.join(&name).to_str().unwrap()]).await;
    let [difference] = &told["runs"][0]["differences"].as_array().unwrap()[..] else { panic!("{told:#}") };
    assert_eq!((code, &difference["difference"]), (Some(1), &json!("answer")));
    let path = "/children/v1 ConfigMap a/data/value";
    assert_eq!(difference["fields"], json!([{"path": path, "recorded": "2", "now": "1"}]));
}

fn texts(directory: &Path) -> Vec<String> {
    records(directory).iter().map(|record| serde_json::to_string(record).unwrap()).collect()
}

/// A Secret is what the parent refers to, and what the parent itself wants as a child.
// mutant: crates/operator/src/record/secrets.rs: `related.iter_mut().for_each(|one| pass.json(&mut one.object));` => `let _ = related;`
//     with: crates/operator/src/record/secrets.rs: `Some(scrubber) => scrubbed(record, &scrubber),` => `Some(_) => Ok(record),`
// mutant: crates/operator/src/record/secrets.rs: `children.iter_mut().chain(status).for_each(|object| pass.json(object));` => `let _ = (children, status);`
//     with: crates/operator/src/record/secrets.rs: `Some(scrubber) => scrubbed(record, &scrubber),` => `Some(_) => Ok(record),`
#[tokio::test]
async fn no_secret_of_a_parent_is_recorded() {
    let recorded = start(|_| ()).await;
    let secret = |name: &str, password: &str| {
        json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name, "namespace": "default"},
            "stringData": {"password": password}})
    };
    recorded.pipeline.create(secret("pull", PASSWORD)).await;
    lives(&recorded, json!({"secret": "pull", "children": [child("1")]})).await;
    let owned = secret("made", "another correct horse");
    recorded.pipeline.create(wish(json!({"secret": "pull", "children": [owned]}))).await;
    until("the answer is refused", async || {
        let found = recorded.pipeline.get(wish(json!({}))).await?;
        found["status"]["conditions"].as_array()?.iter().find(|one| one["reason"] == "InvalidAnswer").map(drop)
    })
    .await;
    let (_records, path) = recorded.stop().await;
    assert!(records(&path).iter().any(|record| asked(record).2 == ["secret"]));
    let encoded = base64::Engine::encode(&base64::engine::general_purpose::STANDARD, PASSWORD);
    for text in texts(&path) {
        for value in [PASSWORD, &encoded, "another correct horse"] {
            assert!(!text.contains(value), "{value} in {text}");
        }
    }
    let (code, told) = replayed(&[path.to_str().unwrap()]).await;
    assert_eq!((code, &told["differ"], &told["incomplete"]), (Some(0), &json!(0), &json!(0)), "{told:#}");
}

// mutant: crates/operator/src/record/recorder.rs: `question.iter_mut().for_each(RecordedQuestion::clear);` => `let _ = &mut question;`
// mutant: crates/operator/src/record/recorder.rs: `end.answer = None;` => `let _ = &mut end;`
#[tokio::test]
async fn what_is_too_large_for_a_record_is_left_out_of_it() {
    let recorded = start(|config| config.max_bytes = 10_000).await;
    let large = "large ".repeat(5_000);
    lives(&recorded, json!({"children": [child(&large)]})).await;
    let (_records, path) = recorded.stop().await;
    for (record, text) in records(&path).iter().zip(texts(&path)) {
        let reason = record.header.incomplete.as_deref();
        assert_eq!(reason, Some("it would have more than 10000 bytes"), "{text}");
        assert!(!text.contains("large large") && text.len() < 10_000, "{text}");
    }
    let (_, told) = replayed(&[path.to_str().unwrap()]).await;
    assert_eq!(told["incomplete"], json!(records(&path).len()), "{told:#}");
}
