//! `boathook serve --plan` on the real binary: text for people, records for programs, nothing written.

use std::{ffi::OsString, fs};

use serde_json::{Value, json};

use super::revision;
use crate::support::{
    cluster::TestCluster,
    guests::{cache_dir, guest, hooks_dir},
    process::{Ended, Process, boathook, terminate},
};

async fn planned(cluster: &TestCluster, format: &str) -> Ended {
    planned_of(cluster, "registry-secret", format).await
}

async fn planned_of(cluster: &TestCluster, hook: &str, format: &str) -> Ended {
    let files = tempfile::tempdir().unwrap();
    fs::write(files.path().join("kubeconfig"), cluster.cluster.kubeconfig()).unwrap();
    let hooks = hooks_dir(&[(hook, guest(hook))]).await;
    let mut arguments: Vec<OsString> = vec!["serve".into(), "--plan".into(), "--hooks".into(), hooks.path().into()];
    arguments.extend(["--kubeconfig".into(), files.path().join("kubeconfig").into()]);
    arguments.extend(["--cache-dir".into(), cache_dir().into()]);
    arguments.extend(["--listen", "127.0.0.1:0", "--log-format", format].map(Into::into));
    let mut process = Process::start(boathook(arguments));
    let of_object = |line: &str| line.contains("run succeeded") && (hook != "wish" || line.contains("default/web"));
    process.logged("a run succeeded", |line| of_object(line).then_some(())).await.unwrap();
    terminate(&process);
    process.ended().await
}

#[tokio::test]
async fn serve_shows_its_plan_and_writes_nothing() {
    let cluster = TestCluster::start().await;
    let metadata = json!({"namespace": "default", "name": "registry-credentials"});
    let secret =
        json!({"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "data": {"password": "aHVudGVyMg=="}});
    cluster.admin.create(&secret).await.unwrap();
    let before = revision(&cluster).await;

    let text = planned(&cluster, "text").await;
    assert_eq!(text.code, Some(0), "{text:?}");
    let head = "+ create v1 Secret kube-public/registry-credentials (dry run)\n";
    assert!(text.stdout.contains(head) && text.stdout.contains("(sensitive)"), "{text:?}");
    assert!(text.stderr.contains("a plan: nothing is written"), "{}", text.stderr);

    let records = planned(&cluster, "json").await;
    assert_eq!(records.stdout, "", "{records:?}");
    let lines: Vec<Value> = records.stderr.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let plan: Vec<_> = lines.iter().filter(|line| line["target"] == "plan").collect();
    let copy = plan.iter().find(|line| line["object"] == "v1 Secret kube-public/registry-credentials").unwrap();
    assert_eq!((&copy["verb"], &copy["action"]), (&json!("create"), &json!("create")));
    assert!(copy["changes"].to_string().contains("(sensitive)"), "{copy}");
    for text in [text.stdout, text.stderr, records.stderr] {
        assert!(!text.contains("aHVudGVyMg"), "{text}");
    }
    assert_eq!(revision(&cluster).await, before, "nothing was written");
}

/// Nothing of the answer is stored, so no watch shows it.
#[tokio::test]
async fn serve_shows_what_becomes_of_a_custom_resource() {
    let cluster = TestCluster::start().await;
    for kind in ["wishes", "clusterwishes"] {
        let path = format!("{}/hooks-wasm/test/wish/{kind}.yaml", env!("CARGO_MANIFEST_DIR"));
        cluster.admin.create(&yaml_serde::from_str(&fs::read_to_string(path).unwrap()).unwrap()).await.unwrap();
    }
    let child = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"value": "1"}});
    let parent = json!({"apiVersion": "example.com/v1", "kind": "Wish", "metadata": {"name": "web", "namespace": "default"},
        "spec": {"children": [child]}});
    cluster.admin.create(&parent).await.unwrap();
    let before = revision(&cluster).await;
    let text = planned_of(&cluster, "wish", "text").await;
    assert_eq!(text.code, Some(0), "{text:?}");
    let head = "+ patch v1 ConfigMap default/a (dry run)\n";
    assert_eq!(text.stdout.matches(head).count(), 1, "{text:?}");
    assert!(text.stdout.contains("example.com/v1 Wish default/web"), "{text:?}");
    assert_eq!(revision(&cluster).await, before, "nothing was written");
}
