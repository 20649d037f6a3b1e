//! Shell hooks: scripts of shell-operator run as they lie in a directory, with kubectl among their commands.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use serde::Deserialize as _;
use serde_json::{Value, json};

use crate::harness::{Cluster, Operator, Test, eventually, eventually_within, workspace};

/// A debug build compiles the interpreter in minutes, and keeps it for the rest of the run.
const COMPILED: Duration = Duration::from_secs(400);
/// Ten hooks on a busy machine.
const SETTLED: Duration = Duration::from_secs(120);

/// An operator with an example in bash, whose folder is copied.
async fn begin(test: &Test, example: &str) -> (Arc<Cluster>, Operator) {
    let cluster = test.own_cluster().await;
    let from = workspace().join("hooks-wasm/shell").join(example);
    let operator = serve(test, &cluster, &from, &test.dir().join("hooks").join(example)).await;
    (cluster, operator)
}

/// An operator with a copy of a folder of scripts.
async fn serve(test: &Test, cluster: &Cluster, from: &Path, to: &Path) -> Operator {
    let interpreters = workspace().join("interpreters/dist");
    let built = fs::read_dir(&interpreters).into_iter().flatten().flatten();
    let has_shell = built.map(|entry| entry.file_name()).any(|name| name.to_string_lossy().starts_with("shell-"));
    assert!(has_shell, "interpreters/dist has no shell-VERSION.wasm: run `make interpreters`, which needs Go");
    copy(from, to);
    let flags = ["--interpreters", interpreters.to_str().expect("the path is text")];
    let operator = Operator::start_with(test.dir(), &cluster.kubeconfig, &[], &flags).await;
    operator.ready_within(COMPILED).await;
    operator
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

/// Documents of a file of the corpus.
fn documents(file: &str) -> Vec<Value> {
    let path = workspace().join("tests/e2e/shell").join(file);
    let text = fs::read_to_string(&path).expect("read a file of the corpus");
    let documents = yaml_serde::Deserializer::from_str(&text);
    documents.map(|document| Value::deserialize(document).expect("a document")).collect()
}

/// The words of `kubectl get` for an object.
fn named(object: &Value) -> Vec<String> {
    let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned();
    let (version, kind) = (text("/apiVersion"), text("/kind"));
    let group = version.split_once('/').map(|(group, version)| format!(".{version}.{group}")).unwrap_or_default();
    let mut words = vec![format!("{kind}{group}"), text("/metadata/name")];
    if object["metadata"]["namespace"].is_string() {
        words.extend(["--namespace".to_owned(), text("/metadata/namespace")]);
    }
    words
}

/// The first place where an object is not what is wanted. `data` and labels have nothing else; other mappings may.
fn differs(at: &str, wanted: &Value, found: &Value) -> Option<String> {
    let complete = at.ends_with("/data") || at.ends_with("/labels");
    match (wanted, found) {
        (Value::Object(wanted), Value::Object(found)) => {
            let ours = |key: &&String| !key.starts_with("kubernetes.io/");
            if let Some(other) = found.keys().filter(ours).find(|key| complete && !wanted.contains_key(*key)) {
                return Some(format!("{at} has {other}"));
            }
            let inner = |(key, value)| differs(&format!("{at}/{key}"), value, found.get(key).unwrap_or(&Value::Null));
            wanted.iter().find_map(inner)
        }
        (Value::Array(wanted), Value::Array(found)) if wanted.len() == found.len() => {
            let inner = |(index, (wanted, found))| differs(&format!("{at}/{index}"), wanted, found);
            wanted.iter().zip(found).enumerate().find_map(inner)
        }
        (wanted, found) => (wanted != found).then(|| format!("{at} is {found} and not {wanted}")),
    }
}

/// Each construct of bash, of the commands, of kubectl and of shell-operator, in hooks that could be somebody's.
pub async fn the_corpus_comes_to_its_states(test: Arc<Test>) {
    let cluster = test.own_cluster().await;
    let corpus = workspace().join("tests/e2e/shell");
    let file = |name: &str| corpus.join(name).display().to_string();
    // A kind is served some time after its definition is there.
    eventually("the objects before", async || {
        cluster.try_kubectl(&["apply", "--filename", &file("before.yaml")]).await
    })
    .await;
    let operator = serve(&test, &cluster, &corpus.join("hooks"), &test.dir().join("hooks")).await;
    eventually("the changes", async || cluster.try_kubectl(&["apply", "--filename", &file("changes.yaml")]).await)
        .await;
    cluster.kubectl(&["delete", "crontab", "leaving", "--namespace=results", "--wait=false"]).await;
    for wanted in documents("expected.yaml") {
        let words = named(&wanted);
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        eventually_within(SETTLED, &format!("{} is as expected", words.join(" ")), async || {
            let found = get(&cluster, &words).await?;
            differs("", &wanted, &found).map_or(Ok(()), Err)
        })
        .await;
    }
    for gone in documents("gone.yaml") {
        let words = named(&gone);
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        eventually_within(SETTLED, &format!("{} is gone", words.join(" ")), async || {
            match get(&cluster, &words).await {
                Err(error) if error.contains("NotFound") => Ok(()),
                other => Err(format!("{other:?}")),
            }
        })
        .await;
    }
    let (_, metrics) = operator.get("/metrics/hooks").await.expect("the metrics of hooks");
    let counted = metrics.lines().any(|line| line.starts_with("corpus_inputs{") && line.ends_with(" 2"));
    assert!(counted, "{metrics}");
    operator.stop().await;
}
