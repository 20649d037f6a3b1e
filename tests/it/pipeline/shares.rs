//! Run slots: what a greedy hook leaves for others.

use std::{collections::BTreeSet, fmt::Write as _};

use boathook_core::{
    memory::{SERIES, WATCH},
    model::HookName,
};
use serde_json::json;

use super::{
    fixture::{Operator, Pipeline, config_map, guests},
    swap::put,
    tell::{change, tell, told, told_of},
    written::{Deed, hook},
};
use crate::support::{cluster::TestCluster, until};

/// Runs of this hook begin for each ConfigMap labelled `wakes=greedy`, and end when there is one named `gate`.
fn greedy() -> Vec<u8> {
    let mut document = "configVersion: v1\nconcurrency: 1000\nlimits: {time: 120s, hostCalls: 1000000}\n".to_owned();
    document += "permissions: {kubernetes: [{apiGroups: [''], resources: [configmaps], verbs: [get]}]}\n";
    document += "kubernetes:\n- {name: maps, apiVersion: v1, kind: ConfigMap, executeHookOnSynchronization: false";
    let _ = writeln!(document, ", labelSelector: {{matchLabels: {{wakes: greedy}}}}}}");
    hook(&document, &Deed::WaitsFor("gate"))
}

fn begun(operator: &Operator) -> usize {
    operator.log.said("greedy").iter().filter(|line| *line == "begin").count()
}

#[tokio::test]
// mutant: crates/core/src/queue/shares.rs: `may_take(used as u64, 1, self.slots.saturating_sub(self.running) as u64)` => `used < usize::MAX`
async fn a_hook_with_a_thousand_long_runs_leaves_slots_for_others() {
    let mut hooks = guests(["echo"]);
    hooks.push(("greedy", greedy()));
    let pipeline = Pipeline::on(TestCluster::start().await, &hooks, |_| ()).await;
    let operator = &pipeline.operator;
    operator.ready().await;
    for n in 0..20 {
        pipeline.create(config_map(&format!("g{n}"), ("wakes", "greedy"), json!({}))).await;
    }
    // Of eight slots.
    operator.until("it has its share", |operator| (begun(operator) == 6).then_some(())).await;
    for n in 0..3 {
        pipeline.create(config_map(&format!("e{n}"), ("echo", "true"), json!({"n": "1"}))).await;
        let told = |operator: &Operator| {
            let lines = operator.log.said_json("echo");
            (lines.iter().filter(|line| line["type"] == "Event").count() == n + 1).then_some(())
        };
        operator.until("the other hook runs meanwhile", told).await;
    }
    assert_eq!(begun(operator), 6);
    pipeline.create(config_map("gate", ("is", "open"), json!({}))).await;
    operator.until("all of it runs in the end", |operator| (begun(operator) == 20).then_some(())).await;
}

/// A document of so many bindings, the last one of what the hook is woken with.
fn bindings(count: usize, wakes: &str) -> Vec<u8> {
    let mut document = "configVersion: v1\nkubernetes:\n".to_owned();
    for n in 1..count {
        let _ = writeln!(
            document,
            "- {{name: b{n}, apiVersion: v1, kind: ConfigMap, labelSelector: {{matchLabels: {{n: '{n}'}}}}}}"
        );
    }
    let _ = write!(
        document,
        "- {{name: maps, apiVersion: v1, kind: ConfigMap, labelSelector: {{matchLabels: {{wakes: {wakes}}}}}}}"
    );
    tell(&document)
}

#[tokio::test]
// mutant: crates/operator/src/app/bindings/mod.rs: `let units = watches.saturating_mul(WATCH / UNIT);` => `let units = watches * 0;`
async fn a_hook_with_many_bindings_leaves_watches_for_others() {
    let cluster = TestCluster::start().await;
    let wide = "configVersion: v1\nkubernetes:\n- {name: maps, apiVersion: v1, kind: ConfigMap, labelSelector: {matchLabels: \
                {wakes: wide}}}\n- {name: wide, apiVersion: v1, kind: ConfigMap, nameSelector: {matchNames: [NAMES]}}";
    let names: Vec<_> = (0..160).map(|n| format!("m{n}")).collect();
    let wide = wide.replace("NAMES", &names.join(", "));
    let greedy = ["greedy", "greedy-too"].map(|name| (name, bindings(60, name)));
    let mut hooks = vec![("other", bindings(2, "other")), ("wide", tell(&wide))];
    hooks.extend(greedy);
    let operator = Operator::start(cluster.admin.client.clone(), &hooks, |options| options.kept = 200 * WATCH).await;
    let message = "binding pending: there is no memory for it";
    // A binding and its watch are four of them, and a tenant has three quarters of them at most.
    let pending = operator.told(message, "greedy", 60 - 37).await;
    operator.told(message, "greedy-too", 60 - 37).await;
    let reason = pending[0]["reason"].as_str().unwrap();
    assert!(
        reason.contains("the bindings of hook/greedy have used up their share") && reason.contains("KiB of 6400"),
        "{reason}"
    );
    let never = operator.told(message, "wide", 1).await;
    let reason = never[0]["reason"].as_str().unwrap();
    assert!(
        reason.contains("it takes as much as 163 watches") && reason.contains("one tenant has 150 of them at most"),
        "{reason}"
    );
    assert!(reason.contains("--memory-limit"), "{reason}");
    for (hook, synchronizations) in [("other", 2), ("wide", 1)] {
        told_of(&operator, hook, "Synchronization", synchronizations).await;
        cluster.admin.create(&config_map(hook, ("wakes", hook), json!({}))).await.unwrap();
        told_of(&operator, hook, "Event", 1).await;
    }
    // What one gives back, another takes.
    let enabled = |hook: &str| {
        let lines = operator.log.told("binding enabled");
        lines.iter().filter(|line| line["hook"] == hook).count()
    };
    let (more, less) =
        if enabled("greedy") > enabled("greedy-too") { ("greedy", "greedy-too") } else { ("greedy-too", "greedy") };
    assert!(enabled(less) < 25, "{}", enabled(less));
    assert!(operator.app.quarantine(&HookName::new(more).unwrap(), "the test wants its watches"));
    operator.told("binding enabled", less, 30).await;
}

#[tokio::test]
// mutant: crates/core/src/filter/drive.rs: `self.driver.relist.notify_one();` => `let _ = &self.driver.relist;`
async fn a_hook_that_sees_many_objects_leaves_room_for_what_others_see() {
    let cluster = TestCluster::start().await;
    let hooks = ["greedy", "other"].map(|name| (name, bindings(1, name)));
    let operator = Operator::start(cluster.admin.client.clone(), &hooks, |options| options.kept = 18 * WATCH).await;
    operator.ready().await;
    let create = async |name: &str, wakes: &str, bytes: usize| {
        let data = json!({"text": "x".repeat(bytes)});
        cluster.admin.create(&config_map(name, ("wakes", wakes), data)).await.unwrap();
    };
    for n in 0..60 {
        create(&format!("g{n}"), "greedy", 8 << 10).await;
    }
    let message = "no memory for an object: runs that include this snapshot wait";
    let line = &operator.told(message, "greedy", 1).await[0];
    let why = line["error"].as_str().unwrap();
    assert!(why.contains("the bindings of hook/greedy have used up their share"), "{why}");
    // Of 432 KiB, the hook itself takes 128. Its events about the objects that fit wait for the others.
    let first: usize = line["object"].as_str().and_then(|object| object.split("/g").nth(1)?.parse().ok()).unwrap();
    assert!((20..40).contains(&first), "{first}");
    create("o", "other", 8 << 10).await;
    told_of(&operator, "other", "Event", 1).await;
    // With room for all of it, a list brings what was not kept.
    for n in 0..40 {
        cluster.admin.delete(&config_map(&format!("g{n}"), ("wakes", "greedy"), json!({}))).await.unwrap();
    }
    for n in 40..60 {
        let named = format!("Added default/g{n}");
        let is_reported =
            |operator: &Operator| told(operator, "greedy").iter().any(|line| change(line) == named).then_some(());
        operator.until(&named, is_reported).await;
    }
}

#[tokio::test]
async fn an_event_without_room_in_the_queues_is_reported_as_its_snapshot_has_it() {
    let cluster = TestCluster::start().await;
    let hooks = [("tell", bindings(1, "tell"))];
    let operator =
        Operator::start(cluster.admin.client.clone(), &hooks, |options| options.queue.max_held_bytes = 8 << 10).await;
    operator.ready().await;
    // There is room for events, and not for what they say.
    let pad = "x".repeat(8_000);
    let map = |n: &str| config_map("a", ("wakes", "tell"), json!({"n": n, "pad": &pad}));
    cluster.admin.create(&map("1")).await.unwrap();
    told_of(&operator, "tell", "Event", 1).await;
    cluster.admin.apply(&map("2")).await.unwrap();
    told_of(&operator, "tell", "Event", 2).await;
    cluster.admin.delete(&map("2")).await.unwrap();
    let events = told_of(&operator, "tell", "Event", 3).await;
    let changes: Vec<_> = events.iter().map(change).collect();
    assert_eq!(changes, ["Added default/a", "Modified default/a", "Deleted default/a"]);
    assert_eq!([&events[0], &events[1]].map(|event| event["object"]["data"]["n"].as_str()), [Some("1"), Some("2")]);
    let beyond: u64 = operator.app.queue().stats().queues.iter().map(|queue| queue.beyond).sum();
    assert_eq!(beyond, 3);
}

/// The names after `key` in the lines of a page that have all of these words.
fn labels(page: &str, key: &str, words: &[&str]) -> BTreeSet<String> {
    let lines = page.lines().filter(|line| words.iter().all(|word| line.contains(word)));
    lines.filter_map(|line| Some(line.split_once(key)?.1.split_once('"')?.0.to_owned())).collect()
}

/// What a page counts in all lines that have all of these words.
fn sum(page: &str, words: &[&str]) -> f64 {
    let lines = page.lines().filter(|line| words.iter().all(|word| line.contains(word)));
    lines.filter_map(|line| line.rsplit_once(' ')?.1.parse::<f64>().ok()).sum()
}

/// A hook with so many schedules, each with a queue of its own.
fn schedules(count: usize, name: &str) -> Vec<u8> {
    let mut document = "configVersion: v1\nschedule:\n".to_owned();
    for n in 0..count {
        let _ = writeln!(document, "- {{name: {name}{n}, crontab: '* * * * * *', queue: {name}{n}}}");
    }
    hook(&document, &Deed::Says("ticked"))
}

#[tokio::test]
// mutant: crates/operator/src/telemetry/metrics/series.rs: `let shown = room.grow(each);` => `let shown = room.units() < u64::MAX;`
// mutant: crates/operator/src/telemetry/metrics/mod.rs: `binding.is_some_and(|binding| gone.contains(binding))` => `binding.is_some() && gone.is_empty()`
async fn a_hook_with_many_schedules_leaves_metrics_for_others() {
    let cluster = TestCluster::start().await;
    let hooks = [("greedy", schedules(200, "g")), ("other", schedules(1, "o"))];
    let operator = Operator::start(cluster.admin.client.clone(), &hooks, |options| options.kept = 40 * SERIES).await;
    let count = "hook_run_success_total{";
    let page = until("all have run", async || {
        let page = operator.page("/metrics").await;
        (sum(&page, &[count, "hook=\"greedy\""]) >= 200.0 && sum(&page, &[count, "\"o0\""]) >= 1.0).then_some(page)
    })
    .await;
    // A tenant has three quarters at most, and all others are one.
    let bindings = labels(&page, "binding=\"", &[count, "hook=\"greedy\""]);
    assert!(bindings.contains("_overflow") && (20..=31).contains(&bindings.len()), "{bindings:?}");
    assert!(sum(&page, &[count, "binding=\"_overflow\"", "queue=\"_overflow\""]) >= 100.0, "{page}");
    for family in ["hook_run_seconds_bucket{", "task_wait_in_queue_seconds_total{", "tasks_queue_length{"] {
        let queues = labels(&page, "queue=\"", &[family]);
        assert!(queues.contains("_overflow") && queues.contains("o0") && queues.len() <= 32, "{family} {queues:?}");
    }
    // A hook that loads other documents again and again leaves nothing behind.
    operator.app.swap(put(&operator, "greedy", &schedules(1, "new"))).await.unwrap();
    let page = until("its new version has run", async || {
        let page = operator.page("/metrics").await;
        page.contains("binding=\"new0\",hook=\"greedy\"").then_some(page)
    })
    .await;
    let bindings = labels(&page, "binding=\"", &[count, "hook=\"greedy\""]);
    assert!(bindings.iter().all(|name| ["new0", "_overflow"].contains(&name.as_str())), "{bindings:?}");
    assert!(!page.contains("queue=\"g"), "{page}");
}

/// Reports a metric with as long labels as it may. Its tenant's share ends long before its number of series does.
#[tokio::test]
// mutant: crates/operator/src/telemetry/hook_metrics/mod.rs: `if more == 0 || room.grow(more) {` => `if more == 0 || room.units() < u64::MAX {`
async fn a_hook_that_reports_long_labels_leaves_room_for_others() {
    let cluster = TestCluster::start().await;
    let mut hooks = vec![("greedy", guests(["metrics"])[0].1.clone())];
    hooks.push(("other", bindings(1, "other")));
    let operator = Operator::start(cluster.admin.client.clone(), &hooks, |options| options.kept = 100 * WATCH).await;
    operator.ready().await;
    let long = "x".repeat(1000);
    let report = |at: usize| {
        let each = |n: usize| {
            let labels: serde_json::Map<_, _> =
                (0..16).map(|label| (format!("l{at}_{n}_{label}"), json!(long))).collect();
            json!({"set": "wide", "value": n, "labels": labels})
        };
        let ops: Vec<_> = (0..8).map(each).collect();
        config_map(&format!("r{at}"), ("metrics", "report"), json!({"ops": json!(ops).to_string()}))
    };
    for at in 0..8 {
        cluster.admin.create(&report(at)).await.unwrap();
    }
    let left_out = &operator.told("metrics of the run left out", "greedy", 1).await[0];
    let why = left_out["error"].as_str().unwrap();
    assert!(
        why.contains("the bindings and metrics of hook/greedy have used up their share of the memory")
            && why.contains("--memory-limit"),
        "{why}"
    );
    let page = operator.page("/metrics/hooks").await;
    assert!(page.contains("wide{") && page.len() < 100 * 32 * 1024 / 4, "{} bytes", page.len());
    // A binding of another has room.
    cluster.admin.create(&config_map("o", ("wakes", "other"), json!({}))).await.unwrap();
    told_of(&operator, "other", "Event", 1).await;
}
