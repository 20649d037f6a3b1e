//! Bad hooks: those that cannot be loaded, and those that misbehave when they run. Neither harms others.

use std::time::Duration;

use boathook_core::model::HookName;
use serde_json::Value;

use super::{
    fixture::{Operator, Pipeline, config_map, guests, missing},
    written::{Deed, hook},
};
use crate::support::{cluster::TestCluster, guests::guest};

// mutant: crates/operator/src/app/hook_manager.rs: `error!(file, reason, "hook quarantined: it does not run, others do");` => `panic!("{file}: {reason}");`
#[tokio::test]
async fn a_hook_that_can_not_be_loaded_is_quarantined_and_the_others_run() {
    let echo = guest("echo");
    let mut hooks =
        guests(["hostile-bad-config", "hostile-huge-config", "hostile-panic-config", "hostile-spin-config", "noop"]);
    hooks.extend([
        ("text", b"#!/bin/sh\necho configVersion: v1\n".to_vec()),
        ("truncated", echo[..echo.len() / 2].to_vec()),
        ("empty", Vec::new()),
        ("core-module", wat::parse_str("(module)").unwrap()),
        ("other-world", wat::parse_str("(component)").unwrap()),
        ("no-document", hook("", &Deed::Says("never"))),
        ("not-yaml", hook("{configVersion: v1", &Deed::Says("never"))),
        ("not-yet", hook("configVersion: v1\npermissions: {files: []}\n", &Deed::Says("never"))),
    ]);
    let pipeline = Pipeline::on(TestCluster::start().await, &hooks, |options| {
        options.sandbox.config_limits.time = Duration::from_millis(500);
    })
    .await;
    let operator = &pipeline.operator;
    operator.ready().await;
    let live: Vec<_> = operator.app.readiness().hooks.into_iter().map(|hook| hook.hook).collect();
    assert_eq!(live, ["noop"]);

    let quarantined = operator.log.told("hook quarantined: it does not run, others do");
    let reason = |hook: &str| {
        let file = format!("{hook}.wasm");
        let line = quarantined.iter().find(|line| line["file"] == file.as_str());
        line.unwrap_or_else(|| panic!("{file} is not quarantined: {quarantined:?}"))["reason"].as_str().unwrap()
    };
    for (hook, part) in [
        ("hostile-bad-config", "the configuration document has 8 errors"),
        ("hostile-bad-config", "kubernetes[0].executeHookOnEvent[0]"),
        ("hostile-bad-config", "kubernetes[0].colour"),
        ("hostile-bad-config", "schedule[0].crontab"),
        ("hostile-bad-config", "limits.time"),
        ("hostile-huge-config", "its config function failed: "),
        ("hostile-panic-config", "no configuration today"),
        ("hostile-spin-config", "limits.time of 500ms reached"),
        ("text", "hook text: "),
        ("truncated", "hook truncated: "),
        ("empty", "hook empty: "),
        ("core-module", "hook core-module: "),
        ("other-world", "config and run"),
        ("no-document", "is empty"),
        ("not-yaml", "neither YAML nor JSON"),
        ("not-yet", "permissions.files"),
    ] {
        assert!(reason(hook).contains(part), "no {part:?} in the reason of {hook}: {}", reason(hook));
    }
    assert_eq!(quarantined.len(), hooks.len() - 1);

    let before = runs_of_noop(operator);
    pipeline.create(config_map("a", ("bench", "true"), Value::Null)).await;
    operator.until("the good hook is woken", |operator| (runs_of_noop(operator) > before).then_some(())).await;
}

#[tokio::test]
async fn a_run_that_never_ends_is_ended_and_tried_again() {
    let pipeline = Pipeline::on(TestCluster::start().await, &guests(["hostile-spin-run"]), |options| {
        options.sandbox.maxima.time = Duration::from_millis(300);
    })
    .await;
    let failed = &pipeline.operator.told("run failed", "hostile-spin-run", 1).await[0];
    assert_eq!(failed["kind"], "limit-time");
    assert!(failed["error"].as_str().unwrap().starts_with("limits.time of 300ms reached"), "{failed}");
    assert!(failed["backtrace"].as_str().unwrap().contains("run"), "{failed}");
    pipeline.operator.told("run will be retried", "hostile-spin-run", 1).await;
    let why = missing(&pipeline.operator.app.readiness(), "hostile-spin-run");
    assert_eq!(why, "synchronization of binding configmaps has not succeeded");
}

fn runs_of_noop(operator: &Operator) -> usize {
    operator.log.told("run succeeded").iter().filter(|line| line["hook"] == "noop").count()
}

// mutant: crates/sandbox/src/output.rs: `if state.used.saturating_add(cost) > self.limit {` => `if false {`
// mutant: crates/sandbox/src/limits.rs: `host_calls: asked.host_calls.min(maxima.host_calls),` => `host_calls: asked.host_calls,`
#[tokio::test]
async fn each_hostile_run_ends_in_its_own_error() {
    let hooks = guests([
        "hostile-deep-recursion",
        "hostile-huge-log",
        "hostile-many-calls",
        "hostile-many-logs",
        "hostile-memory-bomb",
        "hostile-stdout-flood",
    ]);
    let pipeline = Pipeline::on(TestCluster::start().await, &hooks, |options| {
        let maxima = &mut options.sandbox.maxima;
        maxima.memory = 16 * 1024 * 1024;
        maxima.host_calls = 50;
    })
    .await;
    for (hook, kind, part) in [
        ("hostile-deep-recursion", "limit-stack", "stack"),
        ("hostile-huge-log", "trap", ""),
        ("hostile-many-calls", "limit-host-calls", "limits.hostCalls of 50 calls reached"),
        ("hostile-many-logs", "limit-host-calls", "limits.hostCalls of 50 calls reached"),
        ("hostile-memory-bomb", "limit-memory", "limits.memory of 16Mi reached"),
    ] {
        let failed = &pipeline.operator.told("run failed", hook, 1).await[0];
        let error = failed["error"].as_str().unwrap();
        assert!(failed["kind"] == kind && error.contains(part), "{hook}: {failed}");
    }
    // What it writes is cut; it does nobody harm.
    pipeline.operator.told("run succeeded", "hostile-stdout-flood", 1).await;
    let mut said = pipeline.operator.log.said("hostile-stdout-flood");
    let note = said.pop().unwrap();
    assert!(note.starts_with("limits.logBytes of 1Mi reached"), "{note}");
    let written: usize = said.iter().map(String::len).sum();
    assert!((512 * 1024..=1024 * 1024).contains(&written), "{written}");
}

#[tokio::test]
async fn a_neighbour_is_served_while_a_run_never_ends() {
    let spins = r#"{configVersion: v1, onStartup: 1, limits: {time: 300s}}"#;
    let hooks = [("spins", hook(spins, &Deed::Spins)), ("noop", guest("noop"))];
    let pipeline = Pipeline::on(TestCluster::start().await, &hooks, |options| {
        options.grace_period = Duration::ZERO;
    })
    .await;
    let operator = &pipeline.operator;
    let spins = |operator: &Operator| {
        let hooks = operator.app.queue().stats().hooks;
        hooks.iter().any(|hook| hook.hook.as_str() == "spins" && hook.running == 1).then_some(())
    };
    operator.until("the hook spins", spins).await;
    for n in 0..5 {
        let before = runs_of_noop(operator);
        pipeline.create(config_map(&format!("n{n}"), ("bench", "true"), Value::Null)).await;
        operator.until("the neighbour is served", |operator| (runs_of_noop(operator) > before).then_some(())).await;
    }
    assert!(operator.log.told("run failed").is_empty(), "the hook should still spin");
}

#[tokio::test]
async fn a_hook_is_taken_out_and_brought_back() {
    const DOCUMENT: &str = "{configVersion: v1, kubernetes: [{apiVersion: v1, kind: ConfigMap, \
        namespace: {nameSelector: {matchNames: [default]}}, labelSelector: {matchLabels: {w: x}}}]}";
    let hooks = [("words", hook(DOCUMENT, &Deed::Says("ran")))];
    let pipeline = Pipeline::on(TestCluster::start().await, &hooks, |_| ()).await;
    let operator = &pipeline.operator;
    operator.ready().await;
    let runs = |operator: &Operator| operator.log.told("run succeeded").len();
    operator.until("the first run", |operator| (runs(operator) == 1).then_some(())).await;
    let name = HookName::new("words").unwrap();

    assert!(operator.app.quarantine(&name, "an admin wants it so"));
    assert!(!operator.app.quarantine(&name, "again"), "it is out already");
    assert_eq!(operator.app.readiness().hooks, []);
    pipeline.create(config_map("a", ("w", "x"), Value::Null)).await;
    assert!(operator.app.queue().stats().hooks.is_empty());

    operator.app.release("words").await.unwrap();
    operator.until("it runs again", |operator| (runs(operator) == 2).then_some(())).await;
    operator.ready().await;
    pipeline.create(config_map("b", ("w", "x"), Value::Null)).await;
    operator.until("it hears of changes", |operator| (runs(operator) == 3).then_some(())).await;
    assert!(operator.app.release("words").await.unwrap_err().to_string().contains("not quarantined"));
}

#[tokio::test]
async fn what_is_still_bad_stays_quarantined_until_it_is_mended() {
    let hooks = [("late", b"no component".to_vec())];
    let pipeline = Pipeline::on(TestCluster::start().await, &hooks, |_| ()).await;
    let operator = &pipeline.operator;
    let error = operator.app.release("late").await.unwrap_err();
    assert_eq!(error.to_string(), "hook late stays quarantined");
    let good = hook("{configVersion: v1, onStartup: 1}", &Deed::Says("ran"));
    std::fs::write(operator.hooks().join("late.wasm"), good).unwrap();
    operator.app.release("late").await.unwrap();
    operator.until("it runs", |operator| (!operator.log.told("run succeeded").is_empty()).then_some(())).await;
    assert!(operator.app.release("unknown").await.is_err());
}
