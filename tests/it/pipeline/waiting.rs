//! What waits for what: groups, synchronizations that fail, the rate of runs, dead letters.
//!
//! The order inside queues is tested on its own, with random interleavings.

use boathook_core::{
    model::{HookName, QueueName},
    queue::{Letters, QueueState},
};
use serde_json::{Value, json};

use super::{
    fixture::{Operator, Pipeline, config_map},
    tell::{change, tell, telling, told, told_of},
};
use crate::support::cluster::TestCluster;

/// Bindings of ConfigMaps labelled `is=NAME`, with their data.
fn binding(name: &str, more: &str) -> String {
    format!(
        "{{name: {name}, apiVersion: v1, kind: ConfigMap, jqFilter: .data, \
         labelSelector: {{matchLabels: {{is: {name}}}}}{more}}}"
    )
}

fn map(name: &str, is: &str, data: Value) -> Value {
    config_map(name, ("is", is), data)
}

fn of_type(operator: &Operator, kind: &str) -> Vec<Value> {
    told(operator, "tell").into_iter().filter(|line| line["type"] == kind).collect()
}

#[tokio::test]
async fn a_group_is_reported_once_with_the_snapshots_of_all_its_bindings() {
    let document = format!(
        "configVersion: v1\nkubernetes: [{}, {}, {}]\n",
        binding("a", ", group: both"),
        binding("b", ", group: both"),
        binding("alone", "")
    );
    let pipeline = telling(&document).await;
    let operator = &pipeline.operator;
    // Both synchronizations are one; that of the third binding is its own.
    let told = told(operator, "tell");
    let shapes: Vec<_> = told.iter().map(|line| (&line["type"], &line["group"], &line["binding"])).collect();
    assert_eq!(
        shapes,
        [(&json!("Group"), &json!("both"), &json!("b")), (&json!("Synchronization"), &Value::Null, &json!("alone"))]
    );
    pipeline.create(map("one", "a", json!({"n": "1"}))).await;
    let groups = told_of(operator, "tell", "Group", 2).await;
    assert_eq!((&groups[1]["binding"], &groups[1]["object"]), (&json!("a"), &Value::Null));
    assert_eq!(groups[1]["snapshots"], json!({"a": {"default/one": {"n": "1"}}, "b": {}}));
    pipeline.create(map("two", "b", json!({"n": "2"}))).await;
    let groups = told_of(operator, "tell", "Group", 3).await;
    assert_eq!(groups[2]["snapshots"], json!({"a": {"default/one": {"n": "1"}}, "b": {"default/two": {"n": "2"}}}));
    assert_eq!(of_type(operator, "Event"), Vec::<Value>::new());
}

#[tokio::test]
async fn neighbours_of_a_group_are_reported_as_one() {
    let pipeline = telling(&format!("configVersion: v1\nkubernetes: [{}]\n", binding("a", ", group: g"))).await;
    let operator = &pipeline.operator;
    let hook = HookName::new("tell").unwrap();
    assert!(operator.app.queue().pause(&hook));
    for n in 0..10 {
        pipeline.create(map(&format!("o{n}"), "a", json!({}))).await;
    }
    assert!(operator.app.queue().resume(&hook));
    let all = |operator: &Operator| {
        let groups = of_type(operator, "Group");
        let last = groups.last()?;
        (last["snapshots"]["a"].as_object()?.len() == 10).then_some(groups.len())
    };
    let told = operator.until("the snapshot has all objects", all).await;
    assert!(told < 10, "{told} groups were told of ten objects");
}

#[tokio::test]
async fn events_and_ticks_wait_for_a_synchronization_that_fails() {
    // Each binding has a queue that nobody shares: what it waits for is not its neighbour.
    let document = |hook: &str, more: &str| {
        format!(
            "configVersion: v1\nretry: {{initial: 200ms, max: 200ms}}\nkubernetes: [{}, {}]\n\
             schedule: [{{name: tick, crontab: '@every 1s', queue: ticks-of-{hook}}}]\n",
            binding("fails", more),
            binding("works", &format!(", queue: works-of-{hook}"))
        )
    };
    let cluster = TestCluster::start().await;
    cluster.admin.create(&map("bad", "fails", json!({"fail": "retry"}))).await.unwrap();
    let hooks =
        [("waits", tell(&document("a", ""))), ("goes-on", tell(&document("b", ", waitForSynchronization: false")))];
    let pipeline = Pipeline::on(cluster, &hooks, |_| ()).await;
    let operator = &pipeline.operator;
    for hook in ["waits", "goes-on"] {
        told_of(operator, hook, "Synchronization", 2).await;
    }
    pipeline.create(map("a", "works", json!({}))).await;
    told_of(operator, "goes-on", "Event", 1).await;
    told_of(operator, "goes-on", "Schedule", 2).await;
    // Its synchronization failed many times in the meantime, and all other triggers of the hook wait for it.
    let kinds: Vec<_> = told(operator, "waits").iter().map(|line| line["type"].clone()).collect();
    assert!(kinds.iter().all(|kind| kind == "Synchronization"), "{kinds:?}");
    pipeline.apply(map("bad", "fails", json!({"fail": null, "now": "good"}))).await;
    told_of(operator, "waits", "Schedule", 1).await;
    let events = told_of(operator, "waits", "Event", 2).await;
    let mut changes: Vec<_> = events.iter().map(change).collect();
    changes.sort();
    assert_eq!(changes, ["Added default/a", "Modified default/bad"]);
}

#[tokio::test]
async fn a_hook_waits_for_its_turn_and_holds_up_no_other() {
    let limited = "configVersion: v1\nsettings: {executionMinInterval: 1h, executionBurst: 2}\n";
    let hooks = [
        ("limited", tell(&format!("{limited}kubernetes: [{}]\n", binding("a", "")))),
        ("free", tell(&format!("configVersion: v1\nkubernetes: [{}]\n", binding("a", "")))),
    ];
    let pipeline =
        Pipeline::on(TestCluster::start().await, &hooks, |options| options.queue.max_parallel_runs = 1).await;
    let operator = &pipeline.operator;
    operator.ready().await;
    // The synchronization has taken one token, this takes the other.
    pipeline.create(map("first", "a", json!({}))).await;
    told_of(operator, "limited", "Event", 1).await;
    for name in ["second", "third"] {
        pipeline.create(map(name, "a", json!({}))).await;
    }
    let events = told_of(operator, "free", "Event", 3).await;
    assert_eq!(
        events.iter().map(change).collect::<Vec<_>>(),
        ["default/first", "default/second", "default/third"].map(|name| format!("Added {name}"))
    );
    let own = QueueName::Own(HookName::new("limited").unwrap());
    let waits = |operator: &Operator| {
        let queue = operator.app.queue().dump(10).into_iter().find(|dump| dump.queue == own)?;
        (queue.total == 2 && matches!(queue.state, QueueState::WaitingForToken(_))).then_some(())
    };
    operator.until("two triggers wait for a token", waits).await;
    let events = told(operator, "limited").into_iter().filter(|line| line["type"] == "Event").count();
    assert_eq!(events, 1);
}

#[tokio::test]
async fn what_failed_for_good_is_kept_to_be_tried_again_or_dropped() {
    let document = format!(
        "configVersion: v1\nretry: {{attempts: 2, initial: 20ms, max: 20ms}}\nkubernetes: [{}]\n",
        binding("a", "")
    );
    let pipeline = telling(&document).await;
    let operator = &pipeline.operator;
    pipeline.create(map("bad", "a", json!({"fail": "retry"}))).await;
    operator.told("triggers given up", "tell", 1).await;
    let attempts = |operator: &Operator| -> Vec<_> {
        of_type(operator, "Event").iter().map(|line| (line["name"].clone(), line["attempt"].clone())).collect()
    };
    assert_eq!(attempts(operator), [(json!("bad"), json!(1)), (json!("bad"), json!(2))]);
    // Nothing is held up by it.
    pipeline.create(map("good", "a", json!({}))).await;
    told_of(operator, "tell", "Event", 3).await;

    let queue = operator.app.queue();
    let letters = queue.dead_letters();
    assert_eq!(letters.len(), 1);
    assert_eq!((letters[0].binding.as_str(), letters[0].attempts), ("a", 2));
    queue.retry_dead(&Letters::All);
    operator.told("triggers given up", "tell", 2).await;
    assert_eq!(attempts(operator).len(), 5);
    assert_eq!(queue.dead_letters().len(), 1);
    queue.drop_dead(&Letters::All);
    assert_eq!(queue.dead_letters().len(), 0);
}
