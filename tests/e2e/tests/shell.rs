//! Shell hooks: scripts of shell-operator run as they lie in a directory, with kubectl among their commands.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};

use crate::harness::{Cluster, Operator, Test, eventually, workspace};

/// A debug build compiles the interpreter in minutes, and keeps it for the rest of the run.
const COMPILED: Duration = Duration::from_secs(400);

/// An operator with an example in bash, whose folder is copied.
async fn begin(test: &Test, example: &str) -> (Arc<Cluster>, Operator) {
    let interpreters = workspace().join("interpreters/dist");
    let built = fs::read_dir(&interpreters).into_iter().flatten().flatten();
    let has_shell = built.map(|entry| entry.file_name()).any(|name| name.to_string_lossy().starts_with("shell-"));
    assert!(has_shell, "interpreters/dist has no shell-VERSION.wasm: run `make interpreters`, which needs Go");
    let cluster = test.own_cluster().await;
    let hooks = test.dir().join("hooks").join(example);
    copy(&workspace().join("hooks-wasm/shell").join(example), &hooks);
    let flags = ["--interpreters", interpreters.to_str().expect("the path is text")];
    let operator = Operator::start_with(test.dir(), &cluster.kubeconfig, &[], &flags).await;
    operator.ready_within(COMPILED).await;
    (cluster, operator)
}

/// Copies the files of a folder with their rights. What was built there stays.
fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("make a folder");
    for entry in fs::read_dir(from).expect("read the example").map(|entry| entry.expect("an entry")) {
        let (path, to) = (entry.path(), to.join(entry.file_name()));
        match path.is_dir() {
            true if entry.file_name() == "target" => {}
            true => copy(&path, &to),
            false => _ = fs::copy(&path, &to).expect("copy a file"),
        }
    }
}

async fn get(cluster: &Cluster, arguments: &[&str]) -> Result<Value, String> {
    let text = cluster.try_kubectl(&[&["get", "--output", "json"], arguments].concat()).await?;
    serde_json::from_str(&text).map_err(|error| error.to_string())
}

pub async fn a_secret_is_copied(test: Arc<Test>) {
    let (cluster, operator) = begin(&test, "copy-secret").await;
    cluster.kubectl(&["create", "secret", "generic", "registry", "--from-literal=a=one"]).await;
    cluster.kubectl(&["create", "namespace", "web"]).await;
    cluster.kubectl(&["label", "namespace", "web", "copy=yes"]).await;
    let copied = async |data: &str| {
        eventually(&format!("the copy has {data}"), async || {
            let copy = get(&cluster, &["secret", "registry", "--namespace=web"]).await?;
            if copy["data"] == json!({"a": data}) { Ok(()) } else { Err(copy.to_string()) }
        })
        .await;
    };
    copied("b25l").await;
    cluster.kubectl(&["patch", "secret", "registry", "--patch", r#"{"data":{"a":"dHdv"}}"#]).await;
    copied("dHdv").await;
    cluster.kubectl(&["label", "namespace", "web", "copy-"]).await;
    eventually("the copy is gone", async || match get(&cluster, &["secret", "registry", "--namespace=web"]).await {
        Err(error) if error.contains("NotFound") => Ok(()),
        other => Err(format!("{other:?}")),
    })
    .await;
    operator.stop().await;
}

pub async fn kubectl_changes_the_cluster(test: Arc<Test>) {
    let (cluster, operator) = begin(&test, "kubectl").await;
    cluster.kubectl(&["create", "namespace", "web"]).await;
    operator.logs("the last line of the script", |line| line["message"] == "done").await;
    let settings = get(&cluster, &["configmap", "settings", "--namespace=web"]).await.expect("the ConfigMap is there");
    assert_eq!(settings["data"], json!({"b": "2", "c": "3"}));
    assert_eq!(settings["metadata"]["labels"], json!({"team": "web"}));
    assert_eq!(settings["metadata"]["annotations"], json!({"note": "made by a hook"}));
    let applied = get(&cluster, &["configmap", "applied", "--namespace=web"]).await.expect("it was applied");
    assert_eq!(applied["data"], json!({"kept": "1", "changed": "3"}));
    // kubectl goes on where the hook's kubectl was.
    let file = test.dir().join("applied.yaml");
    let changed = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: applied, namespace: web}\ndata: {kept: \"1\"}\n";
    fs::write(&file, changed).expect("write a manifest");
    let said = cluster.kubectl(&["apply", "--filename", &file.display().to_string()]).await;
    assert_eq!(said.trim(), "configmap/applied configured");
    let applied = get(&cluster, &["configmap", "applied", "--namespace=web"]).await.expect("it was applied");
    assert_eq!(applied["data"], json!({"kept": "1"}));
    let missing = get(&cluster, &["secret", "token", "--namespace=web"]).await.expect_err("the script deleted it");
    assert!(missing.contains("NotFound"), "{missing}");
    operator.stop().await;
}
