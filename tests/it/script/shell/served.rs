//! A directory of scripts runs as it lies there, and each command for authors takes it.

use std::{fs, os::unix::fs::PermissionsExt as _, path::Path};

use serde_json::{Value, json};

use super::{boathook, examples, interpreters, left_out, sandbox, shell};
use crate::{pipeline::fixture::Pipeline, support::cluster::TestCluster};

/// Copies a file with its rights.
fn copy(from: &str, to: &Path) {
    fs::create_dir_all(to.parent().unwrap()).unwrap();
    fs::copy(examples().join(from), to).unwrap();
}

/// Two hooks, one of them in a folder, with their permissions and what they source.
fn hooks() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let at = |path: &str| folder.path().join(path);
    copy("copy-secret/copy-secret.sh", &at("copy-secret.sh"));
    copy("copy-secret/copy-secret.boathook.yaml", &at("copy-secret.boathook.yaml"));
    copy("copy-secret/lib/names.sh", &at("lib/names.sh"));
    copy("monitor-pods/hook.sh", &at("monitor/pods.sh"));
    folder
}

#[tokio::test]
async fn a_directory_of_scripts_is_served() {
    if left_out() {
        return;
    }
    sandbox().await;
    let folder = hooks();
    let directory = folder.path().to_owned();
    let pipeline = Pipeline::on(TestCluster::start().await, &[], |options| {
        options.hooks = Some(directory);
        options.sandbox.interpreters = vec![interpreters()];
    })
    .await;
    pipeline.operator.ready().await;
    let metadata = json!({"namespace": "default", "name": "registry"});
    let secret = json!({"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "data": {"a": "YQ=="}});
    pipeline.create(secret).await;
    let labels = json!({"copy": "yes"});
    pipeline
        .create(json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "web", "labels": labels}}))
        .await;
    let copied = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"namespace": "web", "name": "registry"}});
    let found = crate::support::until("the copy", async || pipeline.get(copied.clone()).await).await;
    assert_eq!(found["data"], json!({"a": "YQ=="}));
    let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"namespace": "web", "name": "p"}, "spec": {"containers": [{"name": "c", "image": "nginx"}]}});
    pipeline.create(pod).await;
    pipeline.operator.said("monitor-pods", "Pod 'p' added").await;
}

#[tokio::test]
async fn a_script_is_built_into_a_component() {
    if left_out() {
        return;
    }
    let folder = hooks();
    let several = boathook(folder.path(), &["build", "."]).await;
    assert!(several.code == Some(1) && several.stderr.contains("has 2 hooks: name one of them"), "{}", several.stderr);
    let built = boathook(folder.path(), &["build", "copy-secret.sh", "-o", "json"]).await;
    assert_eq!(built.code, Some(0), "{}", built.stderr);
    let facts: Value = serde_json::from_str(&built.stdout).unwrap();
    assert_eq!((&facts["language"], &facts["script"]["entry"]), (&json!("Shell"), &json!("copy-secret.sh")));
    assert_eq!(facts["script"]["interpreter"]["digest"], shell().digest);
    let paths: Vec<_> = facts["script"]["files"].as_array().unwrap().iter().map(|file| file["path"].clone()).collect();
    assert_eq!(paths, ["copy-secret.boathook.yaml", "copy-secret.sh", "lib/names.sh"]);
    assert!(facts["asks"].to_string().contains("secrets"), "{facts}");
}

#[tokio::test]
async fn a_bundle_takes_all_scripts_of_a_directory() {
    if left_out() {
        return;
    }
    let folder = hooks();
    let out = tempfile::tempdir().unwrap();
    let bundle = out.path().join("team.bundle");
    let packed = boathook(folder.path(), &["bundle", "pack", ".", "-o", bundle.to_str().unwrap()]).await;
    assert_eq!(packed.code, Some(0), "{}", packed.stderr);
    let told = boathook(folder.path(), &["bundle", "inspect", bundle.to_str().unwrap(), "-o", "json"]).await;
    let told: Value = serde_json::from_str(&told.stdout).unwrap();
    let names: Vec<_> = told["hooks"].as_array().unwrap().iter().map(|hook| hook["name"].clone()).collect();
    assert_eq!(names, ["copy-secret", "monitor-pods"]);
    assert_eq!(told["hooks"][0]["interpreter"], serde_json::to_value(shell()).unwrap());
}

#[tokio::test]
async fn a_script_that_is_no_hook_is_refused_with_its_place() {
    if left_out() {
        return;
    }
    let above = tempfile::tempdir().unwrap();
    let folder = above.path().join("bad");
    fs::create_dir(&folder).unwrap();
    let path = folder.join("bad.sh");
    fs::write(&path, "#!/bin/bash\necho 'configVersion: v1'\nfrobnicate\n").unwrap();
    let plain = boathook(&folder, &["build", "."]).await;
    assert!(plain.stderr.contains("no executable NAME.sh"), "{}", plain.stderr);
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    let built = boathook(&folder, &["build", "."]).await;
    assert_eq!(built.code, Some(3), "{}", built.stderr);
    assert!(built.stderr.contains("/hooks/bad.sh:3: frobnicate: there is no such command"), "{}", built.stderr);
}
