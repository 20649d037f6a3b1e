//! The scenarios of the example hooks, each on the real pipeline: a local cluster of its own, and the
//! real binary with that one hook. hooks-wasm/README.md says what a scenario may hold.
//!
//! Never knows a hook beyond its name.

mod document;
mod matcher;
mod operator;
mod play;

use std::{
    fs,
    path::{Path, PathBuf},
};

use futures::{StreamExt, stream};

use crate::support::guests::{guest, hooks_dir};
use document::Scenario;

/// Each has a cluster, an operator and a hook: enough to keep two cores busy.
const AT_ONCE: usize = 4;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn registry_secret() {
    play_all("registry-secret").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn internet_access() {
    play_all("internet-access").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn node_taint() {
    play_all("node-taint").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn startup() {
    play_all("startup").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn schedule() {
    play_all("schedule").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pods_monitor() {
    play_all("pods-monitor").await;
}

async fn play_all(hook: &str) {
    play_folder(hook, guest(hook), &Path::new("hooks-wasm").join(hook).join("scenarios")).await;
}

/// Plays every scenario in a folder with this component.
pub async fn play_folder(hook: &str, component: Vec<u8>, folder: &Path) {
    let files = files(folder);
    assert!(!files.is_empty(), "{} holds no scenario", folder.display());
    let hooks = hooks_dir(&[(hook, component)]).await;
    let played = stream::iter(&files).map(|file| play_file(hook, file, hooks.path())).buffer_unordered(AT_ONCE);
    let failures: Vec<String> = played.filter_map(async |outcome| outcome.err()).collect().await;
    assert!(failures.is_empty(), "{} of {} scenarios failed\n\n{}", failures.len(), files.len(), failures.join("\n"));
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut files: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files
}

async fn play_file(hook: &str, file: &Path, hooks: &Path) -> Result<(), String> {
    let scenario = read(file)?;
    let about = format!("{}: {}", file.display(), scenario.name);
    play::play(hook, hooks, &scenario).await.map_err(|failure| format!("{about}\n{failure}"))
}

fn read(file: &Path) -> Result<Scenario, String> {
    let text = fs::read_to_string(file).map_err(|error| format!("{}: {error}", file.display()))?;
    Scenario::parse(&text).map_err(|error| format!("{}: {error}", file.display()))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_does_not_hold_is_told_with_file_step_and_difference() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("wrong.yaml");
    let node = "apiVersion: v1, kind: Node, metadata: {name: n1}";
    let text = format!(
        "name: a taint that nobody asks for
given:
  - {{apiVersion: v1, kind: Node, metadata: {{name: n1, labels: {{taint.boathook.dev/gpu: NoSchedule}}}}}}
steps:
  - expect:
      present: [{{{node}, spec: {{taints: [{{key: taint.boathook.dev/gpu, effect: NoSchedule}}]}}}}]
  - expect:
      present: [{{{node}, spec: {{taints: [{{key: taint.boathook.dev/gpu, effect: NoExecute}}]}}}}]
      absent: [{{{node}}}]
      logged: [a line that no hook writes]
"
    );
    fs::write(&file, text).unwrap();
    let hooks = hooks_dir(&[("node-taint", guest("node-taint"))]).await;
    let failure = play_file("node-taint", &file, hooks.path()).await.unwrap_err();
    let file = file.display();
    for part in [
        format!("{file}: a taint that nobody asks for\n").as_str(),
        "steps[2] does not hold after 10s",
        r#"present Node n1: .spec.taints[0].effect: expected "NoExecute", found "NoSchedule""#,
        "absent Node n1: is there",
        r#"logged: no line contains "a line that no hook writes""#,
        "hook loaded",
    ] {
        assert!(failure.contains(part), "no {part:?} in:\n{failure}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_refused_write_ends_the_scenario() {
    let folder = tempfile::tempdir().unwrap();
    let hooks = hooks_dir(&[("node-taint", guest("node-taint"))]).await;
    for (steps, expected) in [
        ("delete: {apiVersion: v1, kind: Node, metadata: {name: n9}}", "steps[1], delete Node n9: "),
        ("apply: {apiVersion: v1, kind: Teapot, metadata: {name: t}}", "steps[1], apply Teapot t: "),
        ("apply: {apiVersion: v1, kind: Secret, metadata: {name: t}}", "Secret needs metadata.namespace"),
    ] {
        let file = folder.path().join("refused.yaml");
        fs::write(&file, format!("name: refused\nsteps:\n  - {steps}\n")).unwrap();
        let failure = play_file("node-taint", &file, hooks.path()).await.unwrap_err();
        assert!(failure.contains(expected), "no {expected:?} in:\n{failure}");
    }
}
