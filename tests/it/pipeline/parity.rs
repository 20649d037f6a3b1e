//! What shell-operator promises and no other test of the pipeline shows: rows of docs/parity.md.
//!
//! Never looks at what depends on the API server: tests/e2e does, on the real one too.

use boathook_core::model::{HookName, QueueName};
use serde_json::{Value, json};

use super::{
    fixture::{Operator, Pipeline, config_map},
    tell::{change, tell, telling, told, told_of},
    written::{Deed, hook},
};
use crate::support::{cluster::TestCluster, until};

const LABEL: (&str, &str) = ("parity", "true");

async fn start(hooks: &[(&str, Vec<u8>)]) -> Pipeline {
    let pipeline = Pipeline::on(TestCluster::start().await, hooks, |_| ()).await;
    pipeline.operator.ready().await;
    pipeline
}

fn binding(more: &str) -> String {
    format!("{{name: maps, apiVersion: v1, kind: ConfigMap, labelSelector: {{matchLabels: {{parity: 'true'}}}}{more}}}")
}

/// One `kubernetes` binding of labelled ConfigMaps.
fn maps(more: &str) -> String {
    format!("configVersion: v1\nkubernetes: [{}]\n", binding(more))
}

fn names(lines: &[Value]) -> Vec<String> {
    lines.iter().map(change).collect()
}

#[tokio::test]
async fn hooks_start_in_the_order_of_their_numbers() {
    let document = |order: i32| tell(&format!("configVersion: v1\nonStartup: {order}\n"));
    let hooks = [("a-third", document(30)), ("b-first", document(-1)), ("c-second", document(2))];
    let pipeline = start(&hooks).await;
    let lines = pipeline.operator.log.lines();
    let told = lines.iter().filter(|line| line["target"] == "hook");
    let order: Vec<_> = told.map(|line| line["hook"].as_str().unwrap()).collect();
    assert_eq!(order, ["b-first", "c-second", "a-third"]);
}

#[tokio::test]
async fn a_startup_that_fails_holds_up_later_ones_and_nobody_else() {
    let spins = "configVersion: v1\nonStartup: 1\nlimits: {time: 100ms}\nretry: {initial: 1h, max: 1h}\n";
    let later = tell("configVersion: v1\nonStartup: 2\n");
    let hooks = [("fails", hook(spins, &Deed::Spins)), ("later", later), ("other", tell(&maps("")))];
    let pipeline = Pipeline::on(TestCluster::start().await, &hooks, |_| ()).await;
    let operator = &pipeline.operator;
    operator.told("run will be retried", "fails", 1).await;
    told_of(operator, "other", "Synchronization", 1).await;
    pipeline.create(config_map("a", LABEL, json!({}))).await;
    told_of(operator, "other", "Event", 1).await;
    assert_eq!(told(operator, "later"), Vec::<Value>::new());
}

#[tokio::test]
async fn crontabs_of_other_forms_tick() {
    let document = "
configVersion: v1
schedule:
- {name: every, crontab: '@every 1s'}
- {name: zoned, crontab: 'TZ=Asia/Tokyo * * * * * *'}
- {name: zone, crontab: '*/1 * * * * *', timeZone: Europe/Berlin}
";
    let pipeline = telling(document).await;
    for name in ["every", "zoned", "zone"] {
        let ticks = |operator: &Operator| {
            let told = told(operator, "tell");
            (told.iter().filter(|line| line["binding"] == name && line["type"] == "Schedule").count() >= 2)
                .then_some(())
        };
        pipeline.operator.until(&format!("{name} ticks twice"), ticks).await;
    }
}

#[tokio::test]
async fn ticks_that_come_during_a_run_wait_and_are_reported_together() {
    let document = "
configVersion: v1
limits: {time: 120s, hostCalls: 1000000}
permissions: {kubernetes: [{apiGroups: [''], resources: [configmaps], verbs: [get]}]}
schedule: [{name: tick, crontab: '* * * * * *'}]
";
    let pipeline = start(&[("waits", hook(document, &Deed::WaitsFor("gate")))]).await;
    let operator = &pipeline.operator;
    let own = QueueName::Own(HookName::new("waits").unwrap());
    let waiting = |operator: &Operator| {
        operator.app.queue().stats().queues.iter().any(|queue| queue.queue == own && queue.length >= 2).then_some(())
    };
    operator.until("two ticks wait", waiting).await;
    assert_eq!(operator.log.said("waits"), ["begin"]);
    pipeline.create(config_map("gate", ("is", "open"), json!({}))).await;
    let runs = operator.told("run succeeded", "waits", 2).await;
    assert_eq!(runs[0]["triggers"], 1);
    assert!(runs[1]["triggers"].as_u64().unwrap() >= 2, "{runs:?}");
}

#[tokio::test]
async fn only_the_events_that_are_asked_for_wake_the_hook() {
    let bindings = [("added", "[Added]"), ("modified", "[Modified]"), ("deleted", "[Deleted]"), ("none", "[]")];
    let mut document = "configVersion: v1\nkubernetes:\n".to_owned();
    for (name, events) in bindings {
        let more = format!(", executeHookOnEvent: {events}, executeHookOnSynchronization: false");
        document += &format!("- {}\n", binding(&more).replace("name: maps", &format!("name: {name}")));
    }
    document += &format!("- {}\n", binding(", includeSnapshotsFrom: [none]"));
    let pipeline = telling(&document).await;
    pipeline.create(config_map("a", LABEL, json!({"n": "1"}))).await;
    pipeline.apply(config_map("a", LABEL, json!({"n": "2"}))).await;
    pipeline.delete(config_map("a", LABEL, json!({}))).await;
    pipeline.create(config_map("last", LABEL, json!({}))).await;
    let operator = &pipeline.operator;
    let all = told_of(operator, "tell", "Event", 4 + 4).await;
    let of = |name: &str| -> Vec<_> { all.iter().filter(|line| line["binding"] == name).map(change).collect() };
    assert_eq!(of("added"), ["Added default/a", "Added default/last"]);
    assert_eq!(of("modified"), ["Modified default/a"]);
    assert_eq!(of("deleted"), ["Deleted default/a"]);
    assert_eq!(of("none"), Vec::<String>::new());
    // A binding without events still has its snapshot. Bindings do not wait for each other, so an event of another one may
    // come a moment earlier.
    let mut times = 0;
    until("the snapshot of a binding without events", async || {
        times += 1;
        pipeline.apply(config_map("last", LABEL, json!({"n": times.to_string()}))).await;
        let all = told(operator, "tell");
        let last = all.iter().rfind(|line| line["binding"] == "maps")?;
        (last["snapshots"]["none"] == json!({"default/last": null})).then_some(())
    })
    .await;
    // Only the fifth binding received the objects that existed: the others have `executeHookOnSynchronization: false`.
    let synchronized = told_of(operator, "tell", "Synchronization", 1).await;
    assert_eq!(synchronized.iter().map(|line| &line["binding"]).collect::<Vec<_>>(), ["maps"]);
}

#[tokio::test]
async fn content_decides_what_is_reported() {
    let full = binding(", jqFilter: .data");
    let metadata = binding(", jqFilter: .data, content: metadata").replace("name: maps", "name: metadata");
    let none = binding(", jqFilter: .data, keepFullObjectsInMemory: false").replace("name: maps", "name: none");
    let pipeline = telling(&format!("configVersion: v1\nkubernetes: [{full}, {metadata}, {none}]\n")).await;
    pipeline.create(config_map("a", LABEL, json!({"n": "1"}))).await;
    let events = told_of(&pipeline.operator, "tell", "Event", 3).await;
    for event in &events {
        let object = &event["object"];
        assert_eq!(event["result"], json!({"n": "1"}), "{event}");
        let name = (&object["kind"], &object["metadata"]["name"], &object["data"]);
        match event["binding"].as_str().unwrap() {
            "maps" => assert_eq!(name, (&json!("ConfigMap"), &json!("a"), &json!({"n": "1"}))),
            "metadata" => assert_eq!(name, (&json!("ConfigMap"), &json!("a"), &Value::Null)),
            _ => assert_eq!(object, &Value::Null),
        }
    }
}

#[tokio::test]
async fn a_synchronization_that_is_tried_again_sees_the_objects_as_they_are_now() {
    let cluster = TestCluster::start().await;
    let failing = json!({"fail": "retry-after"});
    cluster.admin.create(&config_map("b", LABEL, failing)).await.unwrap();
    let pipeline = Pipeline::on(cluster, &[("tell", tell(&maps(", jqFilter: .data")))], |_| ()).await;
    let operator = &pipeline.operator;
    told_of(operator, "tell", "Synchronization", 1).await;
    pipeline.create(config_map("a", LABEL, json!({"n": "1"}))).await;
    pipeline.apply(config_map("b", LABEL, json!({"fail": null, "n": "2"}))).await;
    operator.told("run succeeded", "tell", 2).await;
    let told = told(operator, "tell");
    let runs: Vec<_> = told.iter().filter(|line| line["type"] == "Synchronization").collect();
    assert_eq!(runs[0]["snapshots"]["maps"], json!({"default/b": {"fail": "retry-after"}}));
    let last = runs.last().unwrap();
    assert_eq!(last["snapshots"]["maps"], json!({"default/a": {"n": "1"}, "default/b": {"n": "2"}}));
    assert_eq!(last["attempt"], json!(runs.len()));
    // The events of changes in the meantime come afterwards, though the snapshot had these changes.
    let events: Vec<_> = told.iter().filter(|line| line["type"] == "Event").cloned().collect();
    assert_eq!(names(&events), ["Added default/a", "Modified default/b"]);
    let position = |kind: &str| told.iter().rposition(|line| line["type"] == kind).unwrap();
    assert!(position("Synchronization") < position("Event"));
}

#[tokio::test]
async fn an_allowed_failure_counts_as_done() {
    let pipeline = telling(&maps(", jqFilter: .data, allowFailure: true")).await;
    let operator = &pipeline.operator;
    pipeline.create(config_map("a", LABEL, json!({"fail": "retry"}))).await;
    operator.told("failure allowed: the triggers count as done", "tell", 1).await;
    pipeline.delete(config_map("a", LABEL, json!({}))).await;
    pipeline.create(config_map("b", LABEL, json!({}))).await;
    let events = told_of(operator, "tell", "Event", 3).await;
    assert_eq!(names(&events), ["Added default/a", "Deleted default/a", "Added default/b"]);
    assert!(events.iter().all(|event| event["attempt"] == 1), "{events:?}");
    assert_eq!(operator.log.told("run will be retried"), Vec::<Value>::new());
}

#[tokio::test]
async fn an_overfull_queue_tells_the_last_state_of_each_object() {
    let hooks = [("maps", tell(&maps(", jqFilter: .data")))];
    let pipeline = Pipeline::on(TestCluster::start().await, &hooks, |options| options.queue.max_pending = 3).await;
    let operator = &pipeline.operator;
    operator.ready().await;
    let hook = HookName::new("maps").unwrap();
    assert!(operator.app.queue().pause(&hook));
    for n in 0..10 {
        for name in ["a", "b"] {
            pipeline.apply(config_map(name, LABEL, json!({"n": n.to_string()}))).await;
        }
    }
    assert!(operator.app.queue().resume(&hook));
    let last = |operator: &Operator, name: &str| {
        let told = told(operator, "maps");
        told.iter().rfind(|line| line["name"] == name).map(|line| line["result"].clone())
    };
    let newest = Some(json!({"n": "9"}));
    let both = |operator: &Operator| (last(operator, "a") == newest && last(operator, "b") == newest).then_some(());
    operator.until("both objects are told in their last state", both).await;
    let events = told(operator, "maps").iter().filter(|line| line["type"] == "Event").count();
    assert!(events < 20, "nothing was folded: {events} events");
}

#[tokio::test]
async fn a_document_without_a_version_is_reported_changes() {
    let document = "
onStartup: 1
onKubernetesEvent:
- {name: maps, kind: configmap, event: [add, delete], selector: {matchLabels: {parity: 'true'}}, jqFilter: .data}
";
    let cluster = TestCluster::start().await;
    cluster.admin.create(&config_map("before", LABEL, json!({}))).await.unwrap();
    let pipeline = Pipeline::on(cluster, &[("tell", tell(document))], |_| ()).await;
    let operator = &pipeline.operator;
    operator.ready().await;
    pipeline.create(config_map("a", LABEL, json!({"n": "1"}))).await;
    pipeline.apply(config_map("a", LABEL, json!({"n": "2"}))).await;
    pipeline.delete(config_map("a", LABEL, json!({}))).await;
    let events = told_of(operator, "tell", "Event", 2).await;
    assert_eq!(names(&events), ["Added default/a", "Deleted default/a"]);
    assert_eq!((&events[0]["kind"], &events[0]["binding"]), (&json!("ConfigMap"), &json!("maps")));
    let kinds: Vec<_> = told(operator, "tell").iter().map(|line| line["type"].clone()).collect();
    assert_eq!(kinds, ["Startup", "Event", "Event"]);
}
