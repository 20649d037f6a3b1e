//! `boathook test`: the scenarios of the example hooks, files that are wrong, scenarios that fail.
//! docs/reference/scenario.md says what a scenario may hold.
//!
//! Never knows a hook beyond its name.

mod asked;
mod bad;
mod failing;
mod files;
mod http;
mod languages;
mod modules;
mod schema;
mod sweep;

use std::{
    fs,
    path::{Path, PathBuf},
};

use serde_json::Value;
use tempfile::TempDir;

use crate::support::{
    guests::{cache_dir, guest, hooks_dir},
    process::{Ended, boathook, run},
};

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

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn image_policy() {
    play_all("image-policy").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pod_defaults() {
    play_all("pod-defaults").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn crontab_conversion() {
    play_all("crontab-conversion").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn hello_app() {
    play_all("hello-app").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn service_per_pod() {
    play_all("service-per-pod").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn authorized_key() {
    play_all("authorized-key").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn aws_service() {
    play_all("aws-service").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn test_guests() {
    for hook in ["fail", "forbidden", "metrics", "reviewer"] {
        play_all_in(&Path::new("hooks-wasm/test").join(hook), hook).await;
    }
}

#[tokio::test]
async fn one_file_is_one_scenario() {
    let good = "name: nothing happens\nsteps: []\n";
    let author = Author::of("noop", &[("a", good), ("b", good)]).await;
    let component = author.folder.path().join("noop.wasm");
    let file = author.file("b");
    for arguments in [vec![&*file], vec![&*component, Path::new("--scenarios"), &*file]] {
        let ended = test(arguments.into_iter().chain([Path::new("--list")])).await;
        assert_eq!(ended.code, Some(0), "{}", ended.stderr);
        assert!(ended.stdout.contains("b.yaml") && !ended.stdout.contains("a.yaml"), "{}", ended.stdout);
    }
}

/// Those of one hook, where its author has them.
async fn play_all(hook: &str) {
    play_all_in(&Path::new("hooks-wasm").join(hook), hook).await;
}

async fn play_all_in(folder: &Path, hook: &str) {
    play_all_with(folder, hook, guest(hook)).await;
}

async fn play_all_with(folder: &Path, hook: &str, component: Vec<u8>) {
    let hooks = hooks_dir(&[(hook, component)]).await;
    let ended = test([folder, Path::new("--hooks"), hooks.path(), Path::new("-o"), Path::new("json")]).await;
    assert_eq!(ended.code, Some(0), "{}\n{}", ended.stdout, ended.stderr);
    let told: Value = serde_json::from_str(&ended.stdout).unwrap();
    let files = fs::read_dir(folder.join("scenarios")).unwrap().count();
    assert!(files > 0 && told["passed"] == files && told["failed"] == 0, "{files} files: {told:#}");
}

async fn test<'a>(arguments: impl IntoIterator<Item = &'a Path>) -> Ended {
    let mut command = boathook(["test", "--cache-dir"]);
    command.arg(cache_dir()).args(arguments);
    run(command).await
}

/// A hook with scenarios of a test's own.
struct Author {
    folder: TempDir,
    hook: &'static str,
}

impl Author {
    async fn of(hook: &'static str, scenarios: &[(&str, &str)]) -> Self {
        let author = Self { folder: hooks_dir(&[(hook, guest(hook))]).await, hook };
        fs::create_dir_all(author.file("x").parent().unwrap()).unwrap();
        scenarios.iter().for_each(|(name, text)| fs::write(author.file(name), text).unwrap());
        author
    }

    fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(self.hook).join("scenarios").join(format!("{name}.yaml"))
    }

    async fn test(&self, arguments: &[&str]) -> Ended {
        test([self.folder.path()].into_iter().chain(arguments.iter().map(Path::new))).await
    }
}

/// What controllers and kubelets report is a part of what a cluster holds.
#[tokio::test]
async fn a_status_is_written_and_seen() {
    let meta = |kind: &str, version: &str, name: &str| {
        format!("apiVersion: {version}, kind: {kind}, metadata: {{namespace: default, name: {name}}}")
    };
    let pod = |phase: &str| format!("{{{}, status: {{phase: {phase}}}}}", meta("Pod", "v1", "p"));
    let container = "containers: [{name: c, image: busybox}]";
    let job = meta("Job", "batch/v1", "j");
    let scenario = format!(
        "name: status
given:
- {{{}, spec: {{{container}}}, status: {{phase: Running}}}}
- {{apiVersion: v1, kind: Node, metadata: {{name: n}}, status: {{conditions: [{{type: Ready, status: 'False'}}]}}}}
- {{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {{name: boats.sea.dev}}, spec: {{
    group: sea.dev, scope: Namespaced, names: {{kind: Boat, plural: boats}}, versions: [{{name: v1, served: true, storage: true,
    schema: {{openAPIV3Schema: {{type: object, x-kubernetes-preserve-unknown-fields: true}}}}}}]}}}}
steps:
- expect: {{present: [{}, {{apiVersion: v1, kind: Node, metadata: {{name: n}}, status: {{conditions: [{{type: Ready, status: 'False'}}]}}}}]}}
- patch: {}
- expect: {{present: [{}]}}
- create: {{{job}, spec: {{template: {{spec: {{restartPolicy: Never, {container}}}}}}}, status: {{active: 1}}}}
- expect: {{present: [{{{job}, status: {{active: 1}}}}]}}
- apply: {{{job}, status: {{active: null, succeeded: 1}}}}
- expect: {{present: [{{{job}, status: {{active: null, succeeded: 1}}}}]}}
- create: {{{}, status: {{afloat: true}}}}
- expect: {{present: [{{{}, status: {{afloat: true}}}}]}}
",
        meta("Pod", "v1", "p"),
        pod("Running"),
        pod("Succeeded"),
        pod("Succeeded"),
        // Its status is a field as any other.
        meta("Boat", "sea.dev/v1", "b"),
        meta("Boat", "sea.dev/v1", "b"),
    );
    let author = Author::of("noop", &[("status", &scenario)]).await;
    let ended = author.test(&[]).await;
    assert_eq!(ended.code, Some(0), "{}\n{}", ended.stdout, ended.stderr);
}
