//! New projects in bash: they build without bash, pass their scenarios, and run as they lie there.

use serde_json::Value;

use super::{boathook, left_out, shell};
use crate::support::guests::cache_dir;

async fn new_builds_and_passes(template: &str) {
    if left_out() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let made = boathook(folder.path(), &["new", "mine", "--lang", "shell", "--from", template]).await;
    assert_eq!(made.code, Some(0), "{}", made.stderr);
    assert!(made.stderr.contains("next: cd mine && boathook build"), "{}", made.stderr);
    let project = folder.path().join("mine");
    let built = boathook(&project, &["build", "-o", "json"]).await;
    assert_eq!(built.code, Some(0), "{}", built.stderr);
    let facts: Value = serde_json::from_str(&built.stdout).unwrap();
    assert_eq!((&facts["language"], &facts["script"]["entry"]), (&"Shell".into(), &"hook.sh".into()));
    assert_eq!(facts["script"]["interpreter"]["digest"], shell().digest);
    assert!(facts["path"].as_str().unwrap().ends_with("target/boathook/mine.wasm"), "{facts}");
    let answers = facts["exports"].to_string().contains("boathook:hook/validating@0.1.0");
    assert_eq!(answers, template == "validating", "only what it answers is exported: {}", facts["exports"]);
    let tested = boathook(&project, &["test", "--cache-dir", cache_dir().to_str().unwrap()]).await;
    assert_eq!(tested.code, Some(0), "{}{}", tested.stdout, tested.stderr);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_label_watcher_builds_and_passes_its_scenarios() {
    new_builds_and_passes("label-watcher").await;
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
