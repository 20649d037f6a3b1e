//! The examples in bash pass their scenarios, straight from their folders.

use std::fs;

use serde_json::Value;

use super::{examples, interpreters, left_out, sandbox};
use crate::support::{guests::cache_dir, process};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn monitor_pods() {
    play_all("monitor-pods").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn startup() {
    play_all("startup").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn copy_secret() {
    play_all("copy-secret").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn patches() {
    play_all("patches").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn kubectl() {
    play_all("kubectl").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn review() {
    play_all("review").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn convert() {
    play_all("convert").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn failing() {
    play_all("failing").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn legacy() {
    play_all("legacy").await;
}

async fn play_all(hook: &str) {
    if left_out() {
        return;
    }
    sandbox().await;
    let mut command = process::boathook(["test", "-o", "json", "--cache-dir"]);
    command.arg(cache_dir()).arg(examples().join(hook)).env("BOATHOOK_INTERPRETERS", interpreters());
    let ended = process::run(command).await;
    assert_eq!(ended.code, Some(0), "{}\n{}", ended.stdout, ended.stderr);
    let told: Value = serde_json::from_str(&ended.stdout).unwrap();
    let files = fs::read_dir(examples().join(hook).join("scenarios")).unwrap().count();
    assert!(files > 0 && told["passed"] == files && told["failed"] == 0, "{files} files: {told:#}");
    let component = examples().join(hook).join(format!("target/boathook/{hook}.wasm"));
    assert!(fs::metadata(&component).unwrap().len() < 10_000, "{hook} has more than 10 kB");
}
