//! Hooks that write to each other's objects without end, and hooks that fight with somebody else, on the local cluster.

use std::time::Duration;

use boathook_core::{
    model::{HookName, ObjectKey},
    queue::{Place, Unfinished},
};
use boathook_operator::{
    admin::{Client, Socket},
    app::LoopPolicy,
};
use k8s_openapi::api::{core::v1::ConfigMap, events::v1::Event};
use kube::api::{Api, ListParams};
use serde_json::{Value, json};

use super::{
    fixture::{Operator, Pipeline, config_map},
    swap::{marked, put},
};
use crate::support::{cluster::TestCluster, guests::guest, until};

async fn relays(names: &[&str], policy: LoopPolicy) -> Pipeline {
    let hooks: Vec<_> = names.iter().map(|name| (*name, guest("relay"))).collect();
    let pipeline = Pipeline::on(TestCluster::start().await, &hooks, |options| options.loops = policy).await;
    pipeline.operator.ready().await;
    pipeline
}

/// An object that goes around without end. With a serial number, each content is another one.
fn endless(name: &str, order: &[&str], serial: bool) -> Value {
    let mut data = json!({"holder": order[0], "order": order.join(" ")});
    if serial {
        data["serial"] = json!("0");
    }
    config_map(name, ("test", "relay"), data)
}

/// The lines that name a loop.
fn told(operator: &Operator) -> Vec<String> {
    let lines = operator.log.lines();
    let messages = lines.iter().filter_map(|line| line["message"].as_str());
    let names = |message: &&str| message.starts_with("a loop: ") || message.starts_with("a fight: ");
    messages.filter(names).map(str::to_owned).collect()
}

/// Whether each hook is paused, and runs nothing.
fn all_paused(operator: &Operator) -> bool {
    operator.app.queue().stats().hooks.iter().all(|hook| hook.paused && hook.running == 0)
}

fn none_paused(operator: &Operator) -> bool {
    operator.app.queue().stats().hooks.iter().all(|hook| !hook.paused)
}

async fn named(names: &[&str], serial: bool) {
    let pipeline = relays(names, LoopPolicy::Stop).await;
    pipeline.create(endless("round", names, serial)).await;
    let operator = &pipeline.operator;
    let told =
        operator.until("the loop is named", |operator| Some(told(operator)).filter(|told| !told.is_empty())).await;
    let [text] = told.as_slice() else { panic!("{told:?}") };
    for name in names {
        let part = format!("hook {name} writes ConfigMap default/round (.data.holder");
        assert!(text.contains(&part), "no {part:?} in {text}");
    }
    assert_eq!(text.contains("with the same content again"), !serial, "{text}");
    let page = until("the loop is counted", async || {
        let page = operator.page("/metrics").await;
        page.contains("boathook_loops 1\n").then_some(page)
    })
    .await;
    for name in names {
        assert!(page.contains(&format!(r#"boathook_hook_loop_turns_total{{hook="{name}"}}"#)), "{name}");
    }
    let health = operator.page("/readyz").await;
    assert!(health.contains("[!]a loop: hook relay-") && health.ends_with("ready\n"), "{health}");
    // Each hook is paused, and the loop stands still.
    operator.until("the hooks are paused", |operator| all_paused(operator).then_some(())).await;
    let events: Api<Event> = Api::namespaced(pipeline.cluster.admin.client.clone(), "default");
    until("an Event names the loop", async || {
        let found = events.list(&ListParams::default()).await.unwrap();
        found.items.iter().any(|event| event.reason.as_deref() == Some("HooksLoop")).then_some(())
    })
    .await;
}

#[tokio::test]
async fn two_hooks_that_undo_each_other_are_named_and_stopped() {
    named(&["relay-1", "relay-2"], false).await;
}

#[tokio::test]
async fn five_hooks_that_go_on_and_on_are_named_and_stopped() {
    named(&["relay-1", "relay-2", "relay-3", "relay-4", "relay-5"], true).await;
}

#[tokio::test]
async fn a_new_version_of_one_hook_ends_the_loop_and_the_others_run_again() {
    let names = ["relay-1", "relay-2"];
    let pipeline = relays(&names, LoopPolicy::Stop).await;
    pipeline.create(endless("round", &names, false)).await;
    let operator = &pipeline.operator;
    operator.until("the hooks are paused", |operator| all_paused(operator).then_some(())).await;
    // The new version passes nothing on: no object is its.
    let fixed = put(operator, "relay-1", &marked(guest("noop"), 1));
    operator.app.swap(fixed).await.unwrap();
    operator.until("the hooks run again", |operator| none_paused(operator).then_some(())).await;
    let page = until("the loop is over", async || {
        let page = operator.page("/metrics").await;
        page.contains("boathook_loops 0\n").then_some(page)
    })
    .await;
    assert!(page.contains(r#"boathook_hook_loop_turns_total{hook="relay-2"}"#), "what was counted stays");
    until("the loop is not named any more", async || {
        (!operator.page("/readyz").await.contains("a loop")).then_some(())
    })
    .await;
    // The other hook does what it did before.
    pipeline
        .create(config_map("once", ("test", "relay"), json!({"holder": "relay-2", "order": "relay-2 nobody"})))
        .await;
    passed(&pipeline, "once").await;
}

#[tokio::test]
async fn an_admin_ends_the_pause_and_a_loop_that_goes_on_is_stopped_again() {
    let names = ["relay-1", "relay-2"];
    let place = tempfile::tempdir().unwrap();
    let socket = place.path().join("private/admin.sock");
    let hooks: Vec<_> = names.iter().map(|name| (*name, guest("relay"))).collect();
    let pipeline = Pipeline::on(TestCluster::start().await, &hooks, |options| {
        options.loops = LoopPolicy::Stop;
        options.admin_socket = Some(Socket::At(socket.clone()));
    })
    .await;
    let operator = &pipeline.operator;
    operator.ready().await;
    pipeline.create(endless("round", &names, false)).await;
    operator.until("the hooks are paused", |operator| all_paused(operator).then_some(())).await;
    let client = Client::new(vec![socket]);
    let view = client.hooks().await.unwrap();
    for hook in &view.hooks {
        let warnings = hook.warnings.join("\n");
        assert!(warnings.contains("a loop: hook relay-1 writes ConfigMap default/round"), "{warnings}");
    }
    client.command("relay-1", "resume").await.unwrap();
    // It goes on, and is named and stopped again.
    operator.until("it is told again", |operator| (told(operator).len() == 2).then_some(())).await;
    operator.until("the hooks are paused again", |operator| all_paused(operator).then_some(())).await;
}

/// Waits until `relay-2` or `relay-1` has passed an object on to nobody.
async fn passed(pipeline: &Pipeline, name: &str) {
    let object = config_map(name, ("test", "relay"), json!({}));
    until("the object is passed on", async || {
        let found = pipeline.cluster.admin.get(&object).await.unwrap()?;
        (found["data"]["holder"] == "nobody").then_some(())
    })
    .await;
}

#[tokio::test]
async fn a_fight_with_another_manager_names_it() {
    let pipeline = relays(&["relay-1"], LoopPolicy::Stop).await;
    let wanted = config_map("torn", ("test", "relay"), json!({"holder": "relay-1", "order": "relay-1 nobody"}));
    pipeline.create(wanted.clone()).await;
    let operator = &pipeline.operator;
    // The hook writes `nobody`, and somebody else writes `relay-1` again.
    for _ in 0..4 {
        passed(&pipeline, "torn").await;
        assert_eq!(told(operator), Vec::<String>::new(), "a few times are no fight");
        pipeline.apply(wanted.clone()).await;
    }
    let told = operator.until("the fight is named", |operator| told(operator).pop()).await;
    let expected = "a fight: hook relay-1 writes ConfigMap default/torn (.data.holder), and field manager scenario changes it \
                    back each time; the hook is paused";
    assert!(told.starts_with(expected), "{told}");
    operator.until("the hook is paused", |operator| all_paused(operator).then_some(())).await;
    let fixed = put(operator, "relay-1", &marked(guest("relay"), 1));
    operator.app.swap(fixed).await.unwrap();
    operator.until("the hook runs again", |operator| none_paused(operator).then_some(())).await;
}

#[tokio::test]
async fn a_loop_is_slowed_and_other_objects_are_not() {
    let names = ["relay-1", "relay-2"];
    let pipeline = relays(&names, LoopPolicy::Slow).await;
    pipeline.create(endless("round", &names, false)).await;
    let operator = &pipeline.operator;
    operator.until("the loop is named", |operator| (!told(operator).is_empty()).then_some(())).await;
    // Its events wait for their object, as with `debounce`.
    let key = ObjectKey { namespace: Some("default".into()), name: "round".into() };
    let waits = |operator: &Operator| {
        let about = |hook: &str| {
            let hook = HookName::new(hook).unwrap();
            operator.app.queue().about(&hook, ("", "ConfigMap"), &key)
        };
        let debounced = |unfinished: &Unfinished| matches!(unfinished.place, Place::Debounce(left) if left > Duration::from_secs(1));
        names.iter().flat_map(|name| about(name)).any(|unfinished| debounced(&unfinished)).then_some(())
    };
    operator.until("an event waits for more than a second", waits).await;
    let finite = json!({"holder": "relay-1", "order": "relay-1 relay-2", "left": "2"});
    pipeline.create(config_map("other", ("test", "relay"), finite.clone())).await;
    let other = config_map("other", ("test", "relay"), finite);
    until("another object goes its way", async || {
        let found = pipeline.cluster.admin.get(&other).await.unwrap()?;
        (found["data"]["left"] == "0").then_some(())
    })
    .await;
    assert_eq!(told(operator).len(), 1, "it is told once");
}

#[tokio::test]
async fn a_start_with_many_objects_raises_no_alarm() {
    let names = ["relay-1", "relay-2", "relay-3"];
    let pipeline = relays(&names, LoopPolicy::Warn).await;
    for number in 0..100 {
        let data = json!({"holder": "relay-1", "order": names.join(" "), "left": "6"});
        pipeline.create(config_map(&format!("o-{number}"), ("test", "relay"), data)).await;
    }
    let all: Api<ConfigMap> = Api::namespaced(pipeline.cluster.admin.client.clone(), "default");
    until("all went around twice", async || {
        let found = all.list(&ListParams::default()).await.unwrap();
        let left = |map: &ConfigMap| map.data.as_ref().and_then(|data| data.get("left").cloned());
        let done = found.items.iter().filter(|map| left(map).as_deref() == Some("0")).count();
        (done == 100).then_some(())
    })
    .await;
    assert_eq!(told(&pipeline.operator), Vec::<String>::new());
}
