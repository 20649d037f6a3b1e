//! How many records are kept, and for whom.

use std::os::unix::fs::PermissionsExt;

use boathook_core::tasks::Tasks;
use boathook_operator::record::{RecordConfig, Recorder};
use serde_json::{Value, json};

use super::{Recorded, names};
use crate::{
    pipeline::{fixture::config_map, tell::tell},
    support::{cluster::TestCluster, guests::hooks_dir},
};

const DOCUMENT: &str = "
configVersion: v1
retry: {initial: 10ms, max: 10ms}
kubernetes:
- name: maps
  apiVersion: v1
  kind: ConfigMap
  labelSelector: {matchLabels: {ring: 'true'}}
  executeHookOnSynchronization: false
  jqFilter: .data
";

fn map(name: &str, data: Value) -> Value {
    config_map(name, ("ring", "true"), data)
}

#[tokio::test]
async fn failures_are_kept_apart_and_the_oldest_go() {
    let recorded = Recorded::start(&[("tell", tell(DOCUMENT))], |config| config.keep = 3).await;
    let failing = json!({"fail": "retry", "attempts": "2"});
    recorded.pipeline.create(map("fails", failing)).await;
    recorded.operator().told("run succeeded", "tell", 1).await;
    for number in 0..6 {
        recorded.pipeline.create(map(&format!("m-{number}"), json!({}))).await;
        recorded.operator().told("run succeeded", "tell", number + 2).await;
    }
    let (_records, path) = recorded.stop().await;
    let kept = names(&path);
    let failed: Vec<_> = kept.iter().filter(|name| name.failed).collect();
    assert_eq!((kept.len(), failed.len()), (5, 2), "{kept:?}");
    // The newest of those that succeeded are left.
    let of_last = super::records(&path);
    let last =
        of_last.iter().filter(|record| record.end.failure.is_none()).map(|record| format!("{:?}", record.triggers));
    let last: Vec<_> = last.collect();
    for (record, name) in last.iter().zip(["m-3", "m-4", "m-5"]) {
        assert!(record.contains(name), "{name}: {record}");
    }
    for entry in std::fs::read_dir(&path).unwrap().chain(std::fs::read_dir(path.join("components")).unwrap()) {
        let entry = entry.unwrap();
        let (mode, is_dir) = (entry.metadata().unwrap().permissions().mode() & 0o777, entry.path().is_dir());
        assert_eq!(mode, if is_dir { 0o700 } else { 0o600 }, "{:?}", entry.path());
    }
    // A ring goes on after a restart.
    struct Nobody;
    impl boathook_operator::record::RecordObserver for Nobody {
        fn written(&self, _: &boathook_core::model::HookName, _: u64) {}
        fn dropped(&self, _: &boathook_core::model::HookName) {}
        fn failed(&self, _: &boathook_core::model::HookName, _: &str) {}
    }
    let mut config = RecordConfig::new(&path, &path);
    config.keep = 1;
    Recorder::start(vec![config], std::sync::Arc::new(Nobody), &Tasks::default()).unwrap().close();
    let kept = names(&path);
    assert_eq!(kept.iter().map(|name| name.failed).collect::<Vec<_>>(), [true, false]);
}

#[tokio::test]
async fn an_operator_does_not_start_with_a_directory_that_others_can_read() {
    let directory = tempfile::tempdir().unwrap();
    std::fs::set_permissions(directory.path(), PermissionsExt::from_mode(0o755)).unwrap();
    let cluster = TestCluster::start().await;
    let hooks = hooks_dir(&[]).await;
    let mut options = boathook_operator::app::Options::new(cluster.admin.client.clone(), hooks.path()).unwrap();
    options.record = Some(RecordConfig::new(directory.path(), hooks.path()));
    let error = boathook_operator::app::App::start(options).await.err().unwrap();
    let chain = boathook_core::model::error_chain(&error);
    assert!(chain.contains("its mode 755 lets others in"), "{chain}");
}

#[tokio::test]
async fn a_run_that_is_too_large_is_marked() {
    let recorded = Recorded::start(&[("tell", tell(DOCUMENT))], |config| config.max_bytes = 2000).await;
    recorded.pipeline.create(map("small", json!({}))).await;
    recorded.until("tell", 1).await;
    recorded.pipeline.create(map("large", json!({"x": "x".repeat(3000)}))).await;
    recorded.until("tell", 2).await;
    let (_records, path) = recorded.stop().await;
    let incomplete: Vec<_> = super::records(&path).iter().map(|record| record.header.incomplete.is_some()).collect();
    assert_eq!(incomplete, [false, true]);
    let ended = super::replay(&[path.to_str().unwrap()]).await;
    assert_eq!(ended.code, Some(0));
    assert!(ended.stdout.contains("left out, the record is incomplete: it would have more than 2000 bytes"));
    assert!(ended.stdout.ends_with("2 runs: 1 same, 0 differ, 1 incomplete"), "{}", ended.stdout);
}
