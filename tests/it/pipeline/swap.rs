//! One version of a hook takes the place of another while the operator runs.

use std::{collections::BTreeMap, path::PathBuf, sync::Arc, time::Duration};

use boathook_core::model::HookName;
use boathook_operator::app::{SwapError, Swapped};
use serde_json::{Value, json};

use super::{
    fixture::{Operator, Pipeline, config_map},
    tell::tell,
    written::{Deed, hook},
};
use crate::support::{cluster::TestCluster, guests::guest};

/// The same component with another digest: a custom section at its end.
pub fn marked(mut bytes: Vec<u8>, mark: u8) -> Vec<u8> {
    bytes.extend([0, 3, 1, b'v', mark]);
    bytes
}

pub fn put(operator: &Operator, name: &str, bytes: &[u8]) -> PathBuf {
    let path = operator.hooks().join(format!("{name}.wasm"));
    std::fs::write(&path, bytes).unwrap();
    path
}

async fn swap(operator: &Operator, name: &str, bytes: &[u8]) -> Result<Swapped, SwapError> {
    operator.app.swap(put(operator, name, bytes)).await
}

fn runs(operator: &Operator, hook: &str) -> Vec<Value> {
    let mut runs = operator.log.told("run succeeded");
    runs.retain(|line| line["hook"] == hook);
    runs
}

const WORDS: &str = "{configVersion: v1, kubernetes: [{name: maps, apiVersion: v1, kind: ConfigMap, \
    namespace: {nameSelector: {matchNames: [default]}}, labelSelector: {matchLabels: {w: x}}}]}";

/// What `ledger` noted of each object, in order.
fn noted(operator: &Operator) -> BTreeMap<String, Vec<String>> {
    let mut noted: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for line in operator.log.said_json("ledger") {
        let text = |key: &str| line[key].as_str().unwrap_or_default().to_owned();
        if ["Added", "Modified", "Deleted"].contains(&text("ledger").as_str()) {
            noted.entry(text("name")).or_default().push(format!("{} {}", text("ledger"), text("value")));
        }
    }
    noted
}

#[tokio::test]
async fn a_hundred_swaps_under_load_lose_no_event_and_run_none_twice() {
    const OBJECTS: usize = 6;
    const SWAPS: usize = 100;
    let versions = [1, 2].map(|mark| marked(guest("ledger"), mark));
    let hooks = [("ledger", versions[0].clone()), ("other", versions[1].clone())];
    let pipeline = Pipeline::on(TestCluster::start().await, &hooks, |_| ()).await;
    let operator = &pipeline.operator;
    operator.ready().await;
    let object =
        |n: usize, round: usize| config_map(&format!("o{n}"), ("e2e", "ledger"), json!({"value": round.to_string()}));

    // As many rounds as there is time for while the hook is swapped.
    let stop = Arc::new(tokio::sync::Notify::new());
    let load = async {
        let mut round = 0;
        loop {
            for n in 0..OBJECTS {
                pipeline.apply(object(n, round)).await;
            }
            round += 1;
            tokio::select! {
                biased;
                () = stop.notified() => return round,
                () = tokio::task::yield_now() => {}
            }
        }
    };
    let swaps = async {
        for n in 0..SWAPS {
            let swapped = swap(operator, "ledger", &versions[(n + 1) % 2]).await.unwrap();
            assert_eq!((swapped.kept, swapped.begun, swapped.dropped, swapped.interrupted), (2, 0, 0, false));
            assert_ne!(swapped.from.as_ref(), Some(&swapped.to));
        }
        stop.notify_one();
    };
    let (rounds, ()) = tokio::join!(load, swaps);
    assert!(rounds > 5, "the load was no load: {rounds} rounds");

    let expected: Vec<String> =
        (0..rounds).map(|round| format!("{} {round}", if round == 0 { "Added" } else { "Modified" })).collect();
    let expected: BTreeMap<_, _> = (0..OBJECTS).map(|n| (format!("o{n}"), expected.clone())).collect();
    let count = OBJECTS * rounds;
    operator
        .until("all events are noted", |operator| {
            (noted(operator).values().map(Vec::len).sum::<usize>() >= count).then_some(())
        })
        .await;
    operator.app.queue().idle().await;
    assert!(noted(operator) == expected, "{:#?}", noted(operator));
    let synchronizations = operator.log.said_json("ledger");
    assert_eq!(synchronizations.iter().filter(|line| line["ledger"] == "Synchronization").count(), 1);
    assert_eq!(operator.told("hook swapped", "ledger", SWAPS).await.len(), SWAPS);
    let entry = config_map("ledger.o0", ("x", "x"), Value::Null);
    let last = pipeline.get(entry).await.unwrap();
    assert_eq!(last["data"]["value"], (rounds - 1).to_string());
}

#[tokio::test]
async fn other_code_for_the_same_document_takes_over_without_a_synchronization() {
    let hooks = [("words", hook(WORDS, &Deed::Says("old")))];
    let pipeline = Pipeline::on(TestCluster::start().await, &hooks, |_| ()).await;
    let operator = &pipeline.operator;
    operator.said("words", "old").await;
    operator.app.queue().idle().await;

    let new = hook(WORDS, &Deed::Says("new"));
    let swapped = swap(operator, "words", &new).await.unwrap();
    assert_eq!((swapped.kept, swapped.begun), (1, 0));
    operator.ready().await;
    assert_eq!(runs(operator, "words").len(), 1, "nothing happened that it should be told of");
    pipeline.create(config_map("a", ("w", "x"), Value::Null)).await;
    operator.said("words", "new").await;
    assert_eq!(operator.log.said("words"), ["old", "new"]);

    // The same bytes once more.
    let again = swap(operator, "words", &new).await.unwrap();
    assert_eq!(again.from, Some(again.to));
}

#[tokio::test]
async fn bindings_that_changed_begin_anew_and_the_others_go_on() {
    let document = |second: &str| {
        format!(
            "configVersion: v1
kubernetes:
- {{name: stays, apiVersion: v1, kind: ConfigMap, labelSelector: {{matchLabels: {{w: stays}}}}}}
{second}"
        )
    };
    let gone = document("- {name: gone, apiVersion: v1, kind: ConfigMap, labelSelector: {matchLabels: {w: gone}}}");
    let hooks = [("tell", tell(&gone))];
    let pipeline = Pipeline::on(TestCluster::start().await, &hooks, |_| ()).await;
    let operator = &pipeline.operator;
    for name in ["stays", "gone", "comes"] {
        pipeline.create(config_map(name, ("w", name), Value::Null)).await;
    }
    operator.ready().await;
    operator.app.queue().idle().await;
    let of = |binding: &'static str| {
        move |operator: &Operator| {
            let told = super::tell::told(operator, "tell");
            told.into_iter().filter(|line| line["binding"] == binding).collect::<Vec<_>>()
        }
    };
    let before = of("stays")(operator).len();

    let comes = document("- {name: comes, apiVersion: v1, kind: ConfigMap, labelSelector: {matchLabels: {w: comes}}}");
    let swapped = swap(operator, "tell", &tell(&comes)).await.unwrap();
    assert_eq!((swapped.kept, swapped.begun), (1, 1));
    operator.ready().await;
    let synchronized = |operator: &Operator| {
        let told = of("comes")(operator);
        told.iter().any(|line| line["type"] == "Synchronization").then_some(())
    };
    operator.until("the new binding is synchronised", synchronized).await;
    assert_eq!(of("stays")(operator).len(), before, "the old binding was told again");

    let told_gone = of("gone")(operator).len();
    for name in ["gone", "comes", "stays"] {
        pipeline.apply(config_map(name, ("w", name), json!({"a": "b"}))).await;
    }
    let changed = |operator: &Operator| {
        let both =
            ["comes", "stays"].map(|binding| of(binding)(operator).iter().any(|line| line["change"] == "Modified"));
        (both == [true, true]).then_some(())
    };
    operator.until("both bindings hear of changes", changed).await;
    operator.app.queue().idle().await;
    assert_eq!(of("gone")(operator).len(), told_gone, "a binding that is gone was told");
}

#[tokio::test]
async fn what_can_not_be_used_changes_nothing() {
    let hooks = [("words", hook(WORDS, &Deed::Says("old")))];
    let pipeline = Pipeline::on(TestCluster::start().await, &hooks, |_| ()).await;
    let operator = &pipeline.operator;
    operator.ready().await;
    let digest = |operator: &Operator| operator.log.told("hook loaded").last().unwrap()["digest"].clone();
    let before = digest(operator);
    for (bytes, part) in [
        (b"no component".to_vec(), "hook words: "),
        (hook("{configVersion: v1, kubernets: []}", &Deed::Says("never")), "kubernets"),
        (guest("hostile-panic-config"), "its config function failed"),
    ] {
        let error = swap(operator, "words", &bytes).await.unwrap_err();
        let text = boathook_core::model::error_chain(&error);
        assert!(text.starts_with("the new version of hook words cannot be used: ") && text.contains(part), "{text}");
    }
    let nameless = operator.app.swap(operator.hooks().join("-x.wasm")).await.unwrap_err();
    assert!(matches!(nameless, SwapError::Name(_)), "{nameless}");
    assert_eq!(digest(operator), before);
    let old = |operator: &Operator| runs(operator, "words").len();
    let count = old(operator);
    pipeline.create(config_map("a", ("w", "x"), Value::Null)).await;
    operator.until("the old version goes on", |operator| (old(operator) > count).then_some(())).await;
}

#[tokio::test]
async fn a_run_ends_before_the_new_version_begins() {
    let document = format!(
        "{{limits: {{time: 300s, hostCalls: 1000000}}, permissions: {{kubernetes: [{{apiGroups: [\"\"], \
        resources: [configmaps], verbs: [get]}}]}}, {}",
        &WORDS[1..]
    );
    let hooks = [("waits", hook(&document, &Deed::WaitsFor("go")))];
    let pipeline = Pipeline::on(TestCluster::start().await, &hooks, |_| ()).await;
    let operator = &pipeline.operator;
    operator.said("waits", "begin").await;
    let new = hook(&document, &Deed::Says("new"));
    let swapping = operator.app.swap(put(operator, "waits", &new));
    let during = async {
        let held = |operator: &Operator| operator.app.queue().stats().hooks[0].held.then_some(());
        operator.until("the new version waits for the run to end", held).await;
        pipeline.create(config_map("a", ("w", "x"), Value::Null)).await;
        pipeline.create(config_map("go", ("no", "label"), Value::Null)).await;
    };
    let (swapped, ()) = tokio::join!(swapping, during);
    assert!(!swapped.unwrap().interrupted);
    operator.said("waits", "new").await;
    assert_eq!(operator.log.said("waits"), ["begin", "end", "new"]);
}

#[tokio::test]
async fn a_run_that_does_not_end_is_interrupted_and_its_trigger_runs_again() {
    let hooks = [("spins", hook(WORDS, &Deed::Spins))];
    let pipeline = Pipeline::on(TestCluster::start().await, &hooks, |options| {
        options.grace_period = Duration::from_millis(100);
        options.sandbox.maxima.time = Duration::from_secs(300);
    })
    .await;
    let operator = &pipeline.operator;
    let spins = |operator: &Operator| (operator.app.queue().stats().running == 1).then_some(());
    operator.until("the hook spins", spins).await;
    let document = WORDS.replacen("{", "{limits: {time: 20s}, ", 1);
    let swapped = swap(operator, "spins", &hook(&document, &Deed::Says("new"))).await.unwrap();
    assert!(swapped.interrupted);
    operator.said("spins", "new").await;
    let ended = &operator.told("run interrupted", "spins", 1).await[0];
    assert_eq!(ended["binding"], "maps");
    assert_eq!(runs(operator, "spins")[0]["attempt"], 1, "an interruption is no failed attempt");
}

#[tokio::test]
async fn a_quarantined_hook_and_one_that_is_not_there_begin() {
    let hooks = [("words", hook(WORDS, &Deed::Says("old")))];
    let pipeline = Pipeline::on(TestCluster::start().await, &hooks, |_| ()).await;
    let operator = &pipeline.operator;
    operator.ready().await;
    let name = HookName::new("words").unwrap();
    assert!(operator.app.quarantine(&name, "an admin wants it so"));
    swap(operator, "words", b"no component").await.unwrap_err();
    assert!(operator.app.readiness().quarantined[0].1.contains("cannot be used"), "{:?}", operator.app.readiness());

    let swapped = swap(operator, "words", &hook(WORDS, &Deed::Says("new"))).await.unwrap();
    assert_eq!((swapped.from, swapped.begun), (None, 1));
    operator.said("words", "new").await;
    assert_eq!(operator.app.readiness().quarantined, []);

    swap(operator, "more", &hook("{configVersion: v1, onStartup: 1}", &Deed::Says("hello"))).await.unwrap();
    operator.said("more", "hello").await;
}

#[tokio::test]
async fn an_on_startup_that_is_new_runs_and_one_that_is_old_does_not() {
    let document = |more: &str| format!("{{configVersion: v1, {more}}}");
    let hooks = [("words", hook(&document("schedule: [{crontab: '0 0 1 1 *'}]"), &Deed::Says("old")))];
    let pipeline = Pipeline::on(TestCluster::start().await, &hooks, |_| ()).await;
    let operator = &pipeline.operator;
    let with = document("onStartup: 1, limits: {time: 5s}");
    swap(operator, "words", &hook(&with, &Deed::Says("started"))).await.unwrap();
    operator.said("words", "started").await;
    swap(operator, "words", &hook(&with, &Deed::Says("again"))).await.unwrap();
    operator.app.queue().idle().await;
    assert_eq!(operator.log.said("words"), ["started"]);
}
