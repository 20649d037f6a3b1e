//! A component that somebody else builds.

use std::fs;

use serde_json::Value;

use super::{Dev, command, put};
use crate::{
    pipeline::{
        fixture::config_map,
        written::{Deed, hook},
    },
    support::process::run,
};

const DOCUMENT: &str = "{configVersion: v1, kubernetes: [{name: maps, apiVersion: v1, kind: ConfigMap, \
    labelSelector: {matchLabels: {w: x}}}]}";

#[tokio::test]
async fn a_new_component_takes_over_and_runs_the_last_run_again() {
    let folder = tempfile::tempdir().unwrap();
    let component = folder.path().join("words.wasm");
    put(&component, &hook(DOCUMENT, &Deed::Says("old")));
    let flags = ["words.wasm", "--rerun", "--write-kubeconfig", "kubeconfig", "--save", "state.yaml"];
    let mut dev = Dev::start(command(folder.path(), flags));
    let admin = dev.admin().await;
    assert!(fs::read_to_string(folder.path().join("kubeconfig")).unwrap().contains("127.0.0.1"));
    let first = dev.line("swapped").await;
    assert_eq!((&first["hook"], &first["from"]), (&"words".into(), &Value::Null));
    assert_eq!(dev.said("old").await["triggers"][0]["cause"], "Synchronization");

    admin.create(&config_map("a", ("w", "x"), Value::Null)).await.unwrap();
    let run = dev.said("old").await;
    let trigger = &run["triggers"][0];
    assert_eq!(
        (&trigger["binding"], &trigger["cause"], &trigger["object"]),
        (&"maps".into(), &"Added".into(), &"default/a".into())
    );
    assert_eq!(run["outcome"]["result"], "succeeded");

    // What cannot be used leaves the old one at work.
    put(&component, b"no component");
    assert!(dev.line("failed").await["error"].as_str().unwrap().contains("cannot be used"));
    admin.create(&config_map("b", ("w", "x"), Value::Null)).await.unwrap();
    assert_eq!(dev.said("old").await["triggers"][0]["object"], "default/b");

    put(&component, &hook(DOCUMENT, &Deed::Says("new")));
    let swapped = dev.line("swapped").await;
    assert_eq!((&swapped["from"], &swapped["kept"], &swapped["begun"]), (&first["to"], &1.into(), &0.into()));
    assert_eq!(dev.line("again").await["triggers"], 1);
    let again = dev.said("new").await;
    assert_eq!(
        (&again["triggers"][0]["cause"], &again["triggers"][0]["object"]),
        (&"Added".into(), &"default/b".into())
    );

    let ended = dev.ended().await;
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""));
    assert!(fs::read_to_string(folder.path().join("state.yaml")).unwrap().contains("name: b"));
}

#[tokio::test]
async fn a_run_that_fails_is_shown_with_its_reason_and_place() {
    let folder = tempfile::tempdir().unwrap();
    let document = DOCUMENT.replacen("{", "{limits: {time: 1s}, ", 1);
    put(&folder.path().join("spins.wasm"), &hook(&document, &Deed::Spins));
    let mut dev = Dev::start(command(folder.path(), ["spins.wasm"]));
    let run = dev.line("run").await;
    let outcome = &run["outcome"];
    assert_eq!((&outcome["result"], &outcome["kind"]), (&"failed".into(), &"limit-time".into()));
    // A hook that is written as text has no names.
    assert!(outcome["backtrace"].as_str().unwrap().contains("wasm function"), "{outcome}");
    assert_eq!(dev.ended().await.code, Some(0));
}

#[tokio::test]
async fn what_can_not_be_worked_on_is_reported_with_the_mend() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("kubeconfig"), "").unwrap();
    let unreachable =
        "{apiVersion: v1, kind: Config, current-context: c, contexts: [{name: c, context: {cluster: c, user: u}}],
        clusters: [{name: c, cluster: {server: 'http://127.0.0.1:1'}}], users: [{name: u, user: {}}]}";
    fs::write(folder.path().join("nobody"), unreachable).unwrap();
    put(&folder.path().join("words.wasm"), &hook(DOCUMENT, &Deed::Says("never")));
    for (arguments, code, part) in [
        (&["."] as &[&str], 1, "boathook new NAME"),
        (&["missing.wasm"], 1, "cannot find missing.wasm"),
        (&["words.wasm", "./words.wasm"], 1, "two sources of the hook words"),
        (&["words.wasm", "--kubeconfig", "missing"], 1, "cannot use the kubeconfig missing"),
        (&["words.wasm", "--kubeconfig", "nobody"], 1, "no cluster answers at http://127.0.0.1:1"),
        (&["words.wasm", "--state", "missing.yaml"], 1, "missing.yaml"),
        (&["words.wasm", "--kubeconfig", "nobody", "--save", "x"], 2, "--save"),
    ] {
        let ended = run(command(folder.path(), arguments.iter().copied())).await;
        assert_eq!(ended.code, Some(code), "{arguments:?}: {}", ended.stderr);
        assert!(ended.stderr.contains(part), "{arguments:?}: {}", ended.stderr);
    }
}

/// A run that failed waits for its next try, but not if the hook changes in the meantime. That this run is also the last
/// one makes no difference.
#[tokio::test]
async fn a_run_that_failed_is_tried_at_once_by_the_new_version() {
    for flags in [&["words.wasm"][..], &["words.wasm", "--rerun"]] {
        tried_at_once(flags).await;
    }
}

async fn tried_at_once(flags: &[&str]) {
    let document = "{configVersion: v1, onStartup: 1, limits: {time: 100ms}, retry: {initial: 1h, max: 1h}}";
    let folder = tempfile::tempdir().unwrap();
    let component = folder.path().join("words.wasm");
    put(&component, &hook(document, &Deed::Spins));
    let mut dev = Dev::start(command(folder.path(), flags.iter().copied()));
    assert_eq!(dev.line("run").await["outcome"]["kind"], "limit-time");
    let told = dev.next("log", |line| (line["message"] == "run will be retried").then(|| line.clone())).await;
    assert!(told["retry_ms"].as_f64().unwrap() >= 3_600_000.0, "{told}");

    put(&component, &hook(document, &Deed::Says("new")));
    let run = dev.said("new").await;
    assert_eq!((&run["triggers"][0]["cause"], &run["attempt"]), (&"Startup".into(), &1.into()));
    if flags.contains(&"--rerun") {
        assert_eq!(dev.line("again").await["triggers"], 1);
    }
    assert_eq!(dev.ended().await.code, Some(0));
}
