//! Filters that never end or grow without bound: the operator reports their binding's error, and other bindings go on.

use std::{sync::Arc, time::Duration};

use boathook_core::{
    fair::Pool,
    model::{AdmissionKind, HookName, QueueName},
    queue::QueueState,
};
use boathook_operator::webhook::{AdmissionRequest, Unanswered};
use serde_json::json;

use super::{
    fixture::{Operator, Pipeline, config_map, missing},
    validating::validating,
    written::{Deed, hook},
};
use crate::support::{
    cluster::TestCluster,
    filters::{HUNGRY, crowded},
    guests::guest,
};

fn filtering(program: &str) -> Vec<u8> {
    let binding = json!({
        "name": "maps", "apiVersion": "v1", "kind": "ConfigMap", "labelSelector": {"matchLabels": {"echo": "true"}},
        "jqFilter": program,
    });
    hook(&json!({"configVersion": "v1", "kubernetes": [binding]}).to_string(), &Deed::Says("woken"))
}

#[tokio::test]
async fn a_filter_without_end_is_an_error_of_its_binding_alone() {
    let cluster = TestCluster::start().await;
    cluster.admin.create(&config_map("there", ("echo", "true"), json!({"n": "0"}))).await.unwrap();
    let hostile = [
        ("endless", "def f: f; f"),
        ("range", "range(1e12)"),
        ("repeat", "[limit(1e9; repeat(1))]"),
        ("partly", r#"def f: f; if .data.n == "0" then f else .data end"#),
    ];
    let mut hooks: Vec<_> = hostile.iter().map(|(name, program)| (*name, filtering(program))).collect();
    hooks.push(("echo", guest("echo")));
    let pipeline = Pipeline::on(cluster, &hooks, |options| {
        options.sandbox.filters.values = 64 * 1024 * 1024;
    })
    .await;
    let operator = &pipeline.operator;
    for (name, _) in hostile {
        let failed = &operator.told("filter failed", name, 1).await[0];
        let told = [&failed["binding"], &failed["object"], &failed["level"]].map(|value| value.as_str().unwrap());
        assert_eq!(told, ["maps", "v1 ConfigMap default/there", "WARN"]);
        let error = failed["error"].as_str().unwrap();
        assert!(["did not end within 1s", "memory", "larger"].iter().any(|part| error.contains(part)), "{error}");
    }
    // The object is missing in their snapshots; that is no reason to wait for ever.
    operator.ready().await;
    // Neither the neighbour nor the same binding's other objects have to wait.
    pipeline.create(config_map("fine", ("echo", "true"), json!({"n": "1"}))).await;
    let told = |operator: &Operator| {
        let mut lines = operator.log.said_json("echo");
        lines.retain(|line| line["type"] == "Event");
        lines.pop()
    };
    let event = operator.until("the neighbour hears of it", told).await;
    assert_eq!((&event["change"], &event["target"]["name"]), (&json!("Added"), &json!("fine")));
    assert_eq!(event["filterResult"], json!({"n": "1"}));
    let partly = |operator: &Operator| (operator.log.said("partly").len() >= 2).then_some(());
    operator.until("the filter gives a result where it ends", partly).await;
    for name in ["endless", "range", "repeat"] {
        // Woken once, for the synchronization.
        assert_eq!(operator.log.said(name), ["woken"]);
    }
}

/// Other filters have all the memory at first, and again later. The hook runs when its filter has, and never with a
/// snapshot that lacks objects.
#[tokio::test]
async fn a_filter_that_can_not_run_holds_its_hook_until_it_can() {
    let memory = Pool::new(512 << 20);
    let others = crowded(&memory);
    let cluster = TestCluster::start().await;
    cluster.admin.create(&config_map("there", ("echo", "true"), json!({"n": "0"}))).await.unwrap();
    let hooks = [("late", filtering(HUNGRY)), ("plain", filtering(".data"))];
    let pipeline = Pipeline::on(cluster, &hooks, |options| {
        options.sandbox.filters.memory = memory.clone();
    })
    .await;
    let operator = &pipeline.operator;
    operator.said("plain", "woken").await;
    operator.told("filter cannot run: runs that include this snapshot wait", "late", 1).await;
    let waits = missing(&operator.app.readiness(), "late");
    assert!(waits.starts_with("binding maps: 1 object is missing or old: "), "{waits}");
    assert!(waits.contains("the memory that all filters share is used up"), "{waits}");
    drop(others);
    operator.ready().await;
    assert_eq!(operator.log.said("late"), ["woken"]);
    // A change that the filter cannot be run on: the run that it is for waits, and so does nothing else.
    let others = crowded(&memory);
    pipeline.create(config_map("second", ("echo", "true"), json!({"n": "1"}))).await;
    operator.until("the neighbour hears of it", |operator| (operator.log.said("plain").len() == 2).then_some(())).await;
    operator.told("filter cannot run: runs that include this snapshot wait", "late", 2).await;
    // With a filter that is late, the deletion of another object is an event that waits for the snapshot.
    pipeline.delete(config_map("there", ("echo", "true"), json!({}))).await;
    let own = QueueName::Own(HookName::new("late").unwrap());
    let waits = |operator: &Operator| {
        let dump = operator.app.queue().dump(9).into_iter().find(|dump| dump.queue == own)?;
        matches!(dump.state, QueueState::WaitingForSnapshot(..)).then_some(())
    };
    operator.until("the event waits", waits).await;
    assert_eq!(operator.log.said("late"), ["woken"]);
    drop(others);
    operator.until("both are told", |operator| (operator.log.said("late").len() >= 2).then_some(())).await;
    operator.told("no object is waiting: the snapshot is complete", "late", 2).await;
}

/// A hook that is asked traps, so a failure shows that it was asked.
// mutant: crates/operator/src/app/answers/mod.rs: `let Some(first) = incomplete.first() else { return Ok(()) };` => `let Some(first) = incomplete.first().filter(|_| false) else { return Ok(()) };`
#[tokio::test]
async fn a_review_gets_no_answer_from_a_snapshot_that_lacks_objects() {
    const REVIEW: &str = "validate.late.test";
    let memory = Pool::new(512 << 20);
    let others = crowded(&memory);
    let cluster = TestCluster::start().await;
    cluster.admin.create(&config_map("there", ("echo", "true"), json!({"n": "0"}))).await.unwrap();
    let binding = json!({
        "name": "maps", "apiVersion": "v1", "kind": "ConfigMap", "labelSelector": {"matchLabels": {"echo": "true"}},
        "jqFilter": HUNGRY, "executeHookOnSynchronization": false, "executeHookOnEvent": [],
    });
    let rule = json!({"apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"], "operations": ["CREATE"]});
    let review = json!({"name": REVIEW, "rules": [rule], "includeSnapshotsFrom": ["maps"]});
    let document = json!({"configVersion": "v1", "kubernetes": [binding], "kubernetesValidating": [review]});
    let hooks = [("late", validating(&document.to_string()))];
    let pipeline = Pipeline::on(cluster, &hooks, |options| {
        options.sandbox.filters.memory = memory.clone();
    })
    .await;
    let answerer = pipeline.operator.app.answerer();
    let ask = async |patience| {
        let request = json!({"uid": "u", "operation": "CREATE", "namespace": "default", "name": "x",
            "kind": {"group": "", "version": "v1", "kind": "ConfigMap"},
            "resource": {"group": "", "version": "v1", "resource": "configmaps"}, "userInfo": {"username": "jane"},
            "object": config_map("x", ("a", "b"), json!({})), "dryRun": false});
        let request = AdmissionRequest {
            uid: "u".to_owned(),
            dry_run: false,
            operation: "CREATE".to_owned(),
            has_object: true,
            by_hand: false,
            json: Arc::from(request.to_string()),
        };
        let answer = answerer.review(AdmissionKind::Validating, "late", REVIEW, request, Duration::from_secs(patience));
        answer.await.unwrap_err()
    };
    let text = format!("hook late cannot answer for {REVIEW} yet: its binding maps does not know all of its objects");
    let not_ready = Unanswered::NotReady(text);
    let late = "filter cannot run: runs that include this snapshot wait";
    pipeline.operator.told(late, "late", 1).await;
    assert_eq!(ask(1).await, not_ready);
    // A review that has the time waits until the snapshot is complete.
    let (answer, ()) = tokio::join!(ask(120), async { drop(others) });
    assert!(matches!(answer, Unanswered::Failed(_)), "{answer:?}");
    // The snapshot was complete, and is so no longer.
    let others = crowded(&memory);
    pipeline.create(config_map("second", ("echo", "true"), json!({"n": "1"}))).await;
    pipeline.operator.told(late, "late", 2).await;
    assert_eq!(ask(1).await, not_ready);
    drop(others);
    let answer = ask(120).await;
    assert!(matches!(answer, Unanswered::Failed(_)), "{answer:?}");
}
