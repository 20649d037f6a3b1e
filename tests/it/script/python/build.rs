//! From a project to a component, by the command, without any Python.

use std::{
    fs,
    path::{Path, PathBuf},
};

use serde_json::Value;

use super::{interpreters, python, sandbox};
use crate::support::{guests::cache_dir, process};

async fn boathook(folder: &Path, arguments: &[&str]) -> process::Ended {
    sandbox().await;
    let mut command = process::boathook(arguments);
    command.current_dir(folder).env("BOATHOOK_INTERPRETERS", interpreters()).env("XDG_CACHE_HOME", cache_home());
    process::run(command).await
}

/// Where `build` looks for what other tests have compiled.
fn cache_home() -> PathBuf {
    let home = cache_dir().with_file_name("cache-home");
    fs::create_dir_all(&home).unwrap();
    // Another test may have made it.
    let _ = std::os::unix::fs::symlink(cache_dir(), home.join("boathook"));
    home
}

async fn new_builds_and_passes(template: &str) {
    let folder = tempfile::tempdir().unwrap();
    let sdk = Path::new(env!("CARGO_MANIFEST_DIR")).join("sdk/python");
    let arguments = ["new", "mine", "--lang", "python", "--from", template, "--sdk-path", sdk.to_str().unwrap()];
    let made = boathook(folder.path(), &arguments).await;
    assert_eq!(made.code, Some(0), "{}", made.stderr);
    let project = folder.path().join("mine");
    let built = boathook(&project, &["build", "-o", "json"]).await;
    assert_eq!(built.code, Some(0), "{}", built.stderr);
    let facts: Value = serde_json::from_str(&built.stdout).unwrap();
    assert_eq!(facts["script"]["interpreter"]["digest"], python().digest);
    assert_eq!(facts["script"]["files"][0]["path"], "hook.py");
    assert!(facts["path"].as_str().unwrap().ends_with("target/boathook/mine.wasm"), "{facts}");
    let tested = boathook(&project, &["test", "--cache-dir", cache_dir().to_str().unwrap()]).await;
    assert_eq!(tested.code, Some(0), "{}{}", tested.stdout, tested.stderr);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_label_watcher_builds_and_passes_its_scenarios() {
    new_builds_and_passes("label-watcher").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_operator_builds_and_passes_its_scenarios() {
    new_builds_and_passes("operator").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_schedule_builds_and_passes_its_scenarios() {
    new_builds_and_passes("schedule").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_startup_builds_and_passes_its_scenarios() {
    new_builds_and_passes("startup").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_validating_hook_builds_and_passes_its_scenarios() {
    new_builds_and_passes("validating").await;
}

#[tokio::test]
async fn what_is_no_hook_is_reported_with_its_place() {
    let folder = tempfile::tempdir().unwrap();
    let write = |file: &str, text: &str| fs::write(folder.path().join(file), text).unwrap();
    write("pyproject.toml", "[project]\nname = \"mine\"\n");
    let told = async || boathook(folder.path(), &["build"]).await;
    let ended = told().await;
    assert_eq!(ended.code, Some(1));
    assert!(ended.stderr.contains("does not say which file is the hook"), "{}", ended.stderr);
    write("hook.py", "import boathook\n\ndef f(:\n    pass\n");
    let ended = told().await;
    assert_eq!(ended.code, Some(3), "{}", ended.stderr);
    assert!(ended.stderr.contains("hook.py:3:7: SyntaxError: invalid syntax"), "{}", ended.stderr);
    write("hook.py", "import boathook\nimport fast\n");
    fs::create_dir(folder.path().join("vendor")).unwrap();
    write("vendor/fast.cpython-314-x86_64-linux-gnu.so", "");
    let ended = told().await;
    assert_eq!(ended.code, Some(3), "{}", ended.stderr);
    for part in [
        "vendor/fast.cpython-314-x86_64-linux-gnu.so is native code",
        "hook.py:2:1: no module 'fast': ",
        "made by componentize-py",
    ] {
        assert!(ended.stderr.contains(part), "no {part:?} in {}", ended.stderr);
    }
}
