//! The example operator in its four languages: each component, as `boathook build` makes it, does the same.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::process::Command;
use tokio::sync::OnceCell;

use crate::harness::{
    Backend, Cluster, Operator, Test, boathook, cache_home, eventually, hook_file, run_dir, workspace,
};
use crate::reconcile::{apply, apply_file, get, gone, has, told};

const DEFINITION: &str = "hooks-wasm/hello-app/crd.yaml";
const SIZE: usize = 2;
/// A debug build compiles the interpreters in minutes, if no other test has done it.
const COMPILED: Duration = Duration::from_secs(900);

/// The components by their languages. They are built once for both backends.
async fn components() -> &'static [(&'static str, PathBuf)] {
    static BUILT: OnceCell<Vec<(&str, PathBuf)>> = OnceCell::const_new();
    let built = BUILT.get_or_init(|| async {
        let mut components = vec![("rust", hook_file("hello-app"))];
        if has_go() {
            components.push(("go", built("go").await));
        } else {
            println!("Go is left out: it is not on this machine");
        }
        for language in ["js", "python"] {
            components.push((language, built(language).await));
        }
        components
    });
    built.await
}

fn has_go() -> bool {
    std::process::Command::new("go").arg("version").output().is_ok_and(|output| output.status.success())
}

async fn built(language: &str) -> PathBuf {
    let folder = workspace().join("hooks-wasm").join(language).join("hello-app");
    let out = run_dir().join(language).join("hello-app.wasm");
    std::fs::create_dir_all(out.parent().expect("a folder")).expect("make a folder");
    let mut command = Command::new(boathook());
    command.arg("build").arg(&folder).arg("--out").arg(&out).env("XDG_CACHE_HOME", cache_home());
    command.env("BOATHOOK_INTERPRETERS", interpreters());
    let output = command.output().await.expect("start boathook");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "build {}: {said}\nrun `make interpreters scripts` first", folder.display());
    out
}

fn interpreters() -> PathBuf {
    workspace().join("interpreters/dist")
}

async fn serve(test: &Test, cluster: &Cluster, language: &str, component: &Path) -> Operator {
    let dir = test.dir().join(language);
    let hooks = dir.join("hooks");
    std::fs::create_dir_all(&hooks).expect("make a directory of hooks");
    std::fs::copy(component, hooks.join("hello-app.wasm")).expect("copy a component");
    let interpreters = interpreters();
    let flags = ["--interpreters", interpreters.to_str().expect("the path is text")];
    let operator = Operator::start_with(&dir, &cluster.kubeconfig, &[], &flags).await;
    operator.ready_within(COMPILED).await;
    operator
}

/// No kubelet says that Pods are ready. On the real API server, controllers count the Pods for the Deployment, and on the
/// local cluster nobody does.
async fn replicas_become_ready(cluster: &Cluster, name: &str) {
    let patch = async |kind: &str, name: &str, status: Value| {
        let patch = json!({"status": status}).to_string();
        cluster.kubectl(&["patch", kind, name, "--subresource=status", "--type=merge", "--patch", &patch]).await;
    };
    if cluster.backend == Backend::Local {
        let progressing = json!({"type": "Progressing", "status": "True", "reason": "NewReplicaSetAvailable"});
        let generation = get(cluster, "deployment", name).await.expect("it is there")["metadata"]["generation"].clone();
        let status = json!({
            "observedGeneration": generation, "replicas": SIZE, "updatedReplicas": SIZE, "readyReplicas": SIZE,
            "availableReplicas": SIZE, "conditions": [{"type": "Available", "status": "True"}, progressing],
        });
        return patch("deployment", name, status).await;
    }
    let selector = format!("app.kubernetes.io/name={name}");
    let pods = eventually("each replica has a Pod", async || {
        let names = ["get", "pods", "--selector", &selector, "--output=jsonpath={.items[*].metadata.name}"];
        let found = cluster.try_kubectl(&names).await?;
        let names: Vec<_> = found.split_whitespace().map(str::to_owned).collect();
        if names.len() == SIZE { Ok(names) } else { Err(found) }
    })
    .await;
    for pod in pods {
        let ready = json!({"type": "Ready", "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z"});
        patch("pod", &pod, json!({"phase": "Running", "conditions": [ready]})).await;
    }
}

/// What the hook wrote of an object.
fn lasting(mut object: Value) -> Value {
    let mut spec = object["spec"].take();
    for address in ["clusterIP", "clusterIPs"] {
        spec.as_object_mut().expect("a spec").remove(address);
    }
    let mut labels = object["metadata"]["labels"].take();
    // The operator's, which has the app's name in it.
    labels.as_object_mut().expect("labels").remove("applyset.kubernetes.io/part-of");
    json!({"labels": labels, "spec": spec})
}

/// An app becomes objects, is ready when they are, and goes. Returns what the hook wrote.
async fn lives(test: &Test, cluster: &Cluster, language: &str) -> Value {
    // Pods of the one before may still be there.
    let name = &format!("hello-{language}");
    let metadata = json!({"name": name, "namespace": "default"});
    let spec = json!({"image": "registry.example.com/web:1", "size": SIZE});
    let app = json!({"apiVersion": "example.com/v1alpha1", "kind": "HelloApp", "metadata": metadata, "spec": spec});
    apply(test, cluster, &app).await;
    let deployment = has(cluster, "deployment", name, "/spec/replicas", json!(SIZE)).await;
    let service = has(cluster, "service", name, "/spec/ports/0/port", json!(80)).await;
    has(cluster, "helloapp", name, "/status/readyReplicas", json!(0)).await;
    // The messages are about the children, as the operator knows them.
    told(cluster, "helloapp", name, "Ready", "False").await;
    replicas_become_ready(cluster, name).await;
    has(cluster, "helloapp", name, "/status/readyReplicas", json!(SIZE)).await;
    told(cluster, "helloapp", name, "Ready", "True").await;
    cluster.kubectl(&["delete", "helloapp", name]).await;
    gone(cluster, "deployment", name).await;
    gone(cluster, "service", name).await;
    let wrote = json!([lasting(deployment), lasting(service)]).to_string();
    serde_json::from_str(&wrote.replace(name, "hello")).expect("it was JSON before")
}

pub async fn the_example_is_the_same_operator_in_each_language(test: Arc<Test>) {
    let cluster = test.own_cluster().await;
    apply_file(&cluster, &workspace().join(DEFINITION)).await;
    let mut first = None;
    for (language, component) in components().await {
        let operator = serve(&test, &cluster, language, component).await;
        let wrote = lives(&test, &cluster, language).await;
        assert_eq!(first.get_or_insert_with(|| wrote.clone()), &wrote, "{language}");
        operator.stop().await;
    }
}
