//! The same hooks in other languages, with the same scenario files as those in Rust.
//!
//! Never has a scenario of its own.

use std::path::Path;

use super::play_all_with;
use crate::support::guests::go_guest;

async fn play_all_in_go(hook: &str) {
    if let Some(component) = go_guest(hook) {
        play_all_with(&Path::new("hooks-wasm").join(hook), hook, component).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn registry_secret_in_go() {
    play_all_in_go("registry-secret").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn internet_access_in_go() {
    play_all_in_go("internet-access").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn node_taint_in_go() {
    play_all_in_go("node-taint").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn image_policy_in_go() {
    play_all_in_go("image-policy").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pod_defaults_in_go() {
    play_all_in_go("pod-defaults").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn service_per_pod_in_go() {
    play_all_in_go("service-per-pod").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn crontab_conversion_in_go() {
    play_all_in_go("crontab-conversion").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn hello_app_in_go() {
    play_all_in_go("hello-app").await;
}
