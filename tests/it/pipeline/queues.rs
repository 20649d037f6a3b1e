//! Which runs wait for each other: hooks that begin, and end when the test opens a gate.
//!
//! The order inside queues is tested on its own, with random interleavings.

use std::fmt::Write as _;

use boathook_core::model::{HookName, QueueName};
use serde_json::json;

use super::{
    fixture::{Operator, Pipeline, config_map},
    written::{Deed, hook},
};
use crate::support::cluster::TestCluster;

/// A hook that runs for each ConfigMap labelled `wakes=NAME`.
fn waiting(wakes: &str, more: &str, queue: &str) -> Vec<u8> {
    let mut document = "configVersion: v1\nlimits: {time: 120s, hostCalls: 1000000}\n".to_owned();
    document += "permissions: {kubernetes: [{apiGroups: [''], resources: [configmaps], verbs: [get]}]}\n";
    let _ = writeln!(document, "{more}");
    document += "kubernetes:\n- {name: maps, apiVersion: v1, kind: ConfigMap, executeHookOnSynchronization: false";
    let _ = writeln!(document, ", labelSelector: {{matchLabels: {{wakes: {wakes}}}}}{queue}}}");
    hook(&document, &Deed::WaitsFor("gate"))
}

fn begun(operator: &Operator, hook: &str) -> usize {
    operator.log.said(hook).iter().filter(|line| *line == "begin").count()
}

/// Waits for triggers that have come so far that they could run.
async fn until_queued(operator: &Operator, queue: &QueueName, length: usize) {
    let queued = |operator: &Operator| {
        let queues = operator.app.queue().stats().queues;
        queues.iter().any(|stats| stats.queue == *queue && stats.length == length).then_some(())
    };
    operator.until(&format!("{length} triggers wait in {queue}"), queued).await;
}

async fn open_the_gate(pipeline: &Pipeline) {
    pipeline.create(config_map("gate", ("is", "open"), json!({}))).await;
}

#[tokio::test]
async fn objects_run_side_by_side_as_the_document_allows() {
    let hooks = [("wide", waiting("wide", "concurrency: 2", ""))];
    let pipeline = Pipeline::on(TestCluster::start().await, &hooks, |_| ()).await;
    let operator = &pipeline.operator;
    operator.ready().await;
    let change = |name, n: &str| pipeline.apply(config_map(name, ("wakes", "wide"), json!({"n": n})));
    change("a", "1").await;
    operator.until("a runs", |operator| (begun(operator, "wide") == 1).then_some(())).await;
    change("b", "1").await;
    operator.until("b runs beside it", |operator| (begun(operator, "wide") == 2).then_some(())).await;
    // A third is one too many, and a change of `a` waits for the run about `a`.
    change("c", "1").await;
    change("a", "2").await;
    let queue = QueueName::Own(HookName::new("wide").unwrap());
    until_queued(operator, &queue, 2).await;
    assert_eq!(begun(operator, "wide"), 2);
    open_the_gate(&pipeline).await;
    let done = |operator: &Operator| {
        let lines = operator.log.told("run succeeded");
        let triggers: u64 = lines.iter().map(|line| line["triggers"].as_u64().unwrap()).sum();
        (triggers == 4).then_some(())
    };
    operator.until("all four changes are done", done).await;
}

#[tokio::test]
async fn without_concurrency_a_hook_runs_once_at_a_time() {
    let hooks = [("narrow", waiting("narrow", "", ""))];
    let pipeline = Pipeline::on(TestCluster::start().await, &hooks, |_| ()).await;
    let operator = &pipeline.operator;
    operator.ready().await;
    for name in ["a", "b", "c"] {
        pipeline.create(config_map(name, ("wakes", "narrow"), json!({}))).await;
        operator.until("a runs", |operator| (begun(operator, "narrow") == 1).then_some(())).await;
    }
    until_queued(operator, &QueueName::Own(HookName::new("narrow").unwrap()), 2).await;
    open_the_gate(&pipeline).await;
    let runs = operator.told("run succeeded", "narrow", 2).await;
    // Those that had to wait run together.
    assert_eq!(runs.iter().map(|run| &run["triggers"]).collect::<Vec<_>>(), [1, 2]);
    assert_eq!(operator.log.said("narrow"), ["begin", "end", "begin", "end"]);
}

#[tokio::test]
async fn hooks_that_share_a_queue_take_turns_and_others_do_not_wait() {
    let shared = ", queue: shared";
    let hooks = [
        ("first", waiting("first", "", shared)),
        ("second", waiting("second", "", shared)),
        ("other", waiting("other", "", "")),
    ];
    let pipeline = Pipeline::on(TestCluster::start().await, &hooks, |_| ()).await;
    let operator = &pipeline.operator;
    operator.ready().await;
    pipeline.create(config_map("a", ("wakes", "first"), json!({}))).await;
    operator.until("the first runs", |operator| (begun(operator, "first") == 1).then_some(())).await;
    pipeline.create(config_map("b", ("wakes", "second"), json!({}))).await;
    until_queued(operator, &QueueName::Shared("shared".into()), 1).await;
    pipeline.create(config_map("c", ("wakes", "other"), json!({}))).await;
    operator.until("the other runs", |operator| (begun(operator, "other") == 1).then_some(())).await;
    assert_eq!(begun(operator, "second"), 0, "two hooks ran at once in one queue");
    open_the_gate(&pipeline).await;
    operator.told("run succeeded", "second", 1).await;
    let lines = operator.log.lines();
    let of_shared = lines.iter().filter(|line| line["target"] == "hook" && line["hook"] != "other");
    let order: Vec<_> =
        of_shared.map(|line| format!("{} {}", line["hook"], line["message"]).replace('"', "")).collect();
    assert_eq!(order, ["first begin", "first end", "second begin", "second end"]);
}
