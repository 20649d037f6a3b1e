//! The examples in Python pass the same scenarios as those in Rust.

use std::{
    fs,
    path::{Path, PathBuf},
};

use boathook_author::author::PythonScripts;
use serde_json::Value;

use super::{python, sandbox};
use crate::support::{guests::cache_dir, process};

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
async fn image_policy() {
    play_all("image-policy").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pod_defaults() {
    play_all("pod-defaults").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn service_per_pod() {
    play_all("service-per-pod").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn hello_app() {
    play_all("hello-app").await;
}

pub(in crate::script) fn example(hook: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("hooks-wasm/python").join(hook)
}

async fn play_all(hook: &str) {
    sandbox().await;
    let scripts = PythonScripts::new(&[python()]);
    let component = scripts.build(&scripts.package(&example(hook)).unwrap()).unwrap();
    assert!(fs::metadata(&component).unwrap().len() < 50_000, "{hook} has more than 50 kB");
    let folder = Path::new("hooks-wasm").join(hook);
    let mut command = process::boathook(["test", "-o", "json", "--cache-dir"]);
    command.arg(cache_dir()).arg(&folder).arg("--hooks").arg(component.parent().unwrap());
    let ended = process::run(command).await;
    assert_eq!(ended.code, Some(0), "{}\n{}", ended.stdout, ended.stderr);
    let told: Value = serde_json::from_str(&ended.stdout).unwrap();
    let files = fs::read_dir(folder.join("scenarios")).unwrap().count();
    assert!(files > 0 && told["passed"] == files && told["failed"] == 0, "{files} files: {told:#}");
}
