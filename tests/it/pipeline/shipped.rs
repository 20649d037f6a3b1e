//! `boathook serve` as the shipped Deployment starts it: its arguments and its environment, with nothing added.

use std::{fs, path::Path};

use serde_json::Value;

use crate::{
    rbac::roles::yaml_documents,
    support::{
        cluster::{TestCluster, client},
        guests::{guest, hooks_dir},
        process::{Process, boathook, run, terminate},
    },
};

/// The operator's container in `deploy/install.yaml`.
fn container() -> Value {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("deploy/install.yaml");
    let objects = yaml_documents(&fs::read_to_string(file).unwrap());
    let deployment = objects.iter().find(|object| object["kind"] == "Deployment").unwrap();
    deployment["spec"]["template"]["spec"]["containers"][0].clone()
}

/// A value of the container's environment for a process of this machine: its directories are below `root`, and the
/// system chooses its ports, for many tests run at a time.
fn here(value: &str, root: &Path) -> String {
    match value.strip_prefix('/') {
        Some(path) => root.join(path).to_str().unwrap().to_owned(),
        None if value.starts_with("0.0.0.0:") => "127.0.0.1:0".to_owned(),
        None => value.to_owned(),
    }
}

#[tokio::test]
async fn the_deployment_starts_and_is_ready() {
    let (cluster, root) = (TestCluster::start().await, tempfile::tempdir().unwrap());
    let kubeconfig = root.path().join("kubeconfig");
    fs::write(&kubeconfig, cluster.cluster.kubeconfig()).unwrap();
    let container = container();
    let words = |list: &Value| -> Vec<String> {
        list.as_array().unwrap().iter().map(|word| word.as_str().unwrap().to_owned()).collect()
    };
    let mut command = boathook(words(&container["args"]));
    // In the Pod it is the ServiceAccount's token that leads to the API server.
    command.env("KUBECONFIG", &kubeconfig);
    for variable in container["env"].as_array().unwrap() {
        let value = variable["value"].as_str().expect("the shipped environment has plain values");
        command.env(variable["name"].as_str().unwrap(), here(value, root.path()));
    }
    let mut process = Process::start(command);
    let field = |line: &str| serde_json::from_str::<Value>(line).ok()?["listen"].as_str().map(str::to_owned);
    let address = process.logged("it listens", field).await;
    let address = address.unwrap_or_else(|error| panic!("{error}\n{}", process.stderr.borrow().join("\n")));
    process.logged("it started", |line| line.contains("hooks started").then_some(())).await.unwrap();
    let waits = |line: &str| line.contains("hooks come from the cluster's HookBundles").then_some(());
    process.logged("it says where hooks come from", waits).await.unwrap();
    for probe in ["startupProbe", "livenessProbe", "readinessProbe"] {
        let path = container[probe]["httpGet"]["path"].as_str().unwrap();
        let request = http::Request::get(path).body(Vec::new()).unwrap();
        client(&format!("http://{address}"))
            .request_text(request)
            .await
            .unwrap_or_else(|error| panic!("{probe}: {error}"));
    }
    terminate(&process);
    let ended = process.ended().await;
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
}

#[tokio::test]
async fn an_operator_without_any_source_of_hooks_does_not_start() {
    for (arguments, remedy) in [
        (&["serve", "--hook-bundles", "off"] as &[_], "give --hooks or --bundle, or leave it out"),
        (&["serve", "--plan"], "give --hooks or --bundle"),
    ] {
        let ended = run(boathook(arguments)).await;
        assert_eq!(ended.code, Some(1), "{}", ended.stderr);
        assert!(ended.stderr.contains("there is nothing to") && ended.stderr.contains(remedy), "{}", ended.stderr);
    }
}

/// Hooks that are one directory too deep are the usual mistake with an image of hooks.
#[tokio::test]
async fn a_directory_without_hooks_is_reported_with_the_one_that_has_them() {
    let (cluster, root) = (TestCluster::start().await, tempfile::tempdir().unwrap());
    let kubeconfig = root.path().join("kubeconfig");
    fs::write(&kubeconfig, cluster.cluster.kubeconfig()).unwrap();
    let hooks = hooks_dir(&[("noop", guest("noop"))]).await;
    let deeper = root.path().join("hooks");
    fs::create_dir(&deeper).unwrap();
    fs::copy(hooks.path().join("noop.wasm"), deeper.join("noop.wasm")).unwrap();
    let mut command = boathook(["serve", "--listen", "127.0.0.1:0", "--hooks"]);
    command.arg(root.path()).env("KUBECONFIG", &kubeconfig);
    let mut process = Process::start(command);
    let told = |line: &str| line.contains("the hooks directory has no hook").then(|| line.to_owned());
    let line = process.logged("it has no hook", told).await.unwrap();
    assert!(line.contains("WARN") && line.contains(deeper.to_str().unwrap()), "{line}");
    terminate(&process);
    process.ended().await;
}
