//! From a project to a component, by the command, without any Python.

use std::{
    fs,
    path::{Path, PathBuf},
};

use serde_json::{Value, json};

use super::{interpreters, python, sandbox};
use crate::support::{cluster::TestCluster, guests::cache_dir, process, until};

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

const DEFINES: &str = "from dataclasses import dataclass
from typing import Annotated
import boathook
from boathook import Desired
from boathook.crd import Column, Field

@dataclass
class Spec:
    image: Annotated[str, Field(min_length=1)]
    size: Annotated[int, Field(minimum=0)] = 1

boathook.define('example.com/v1', 'WebApp', spec=Spec, columns=[Column('Size', 'integer', '.spec.size')])
boathook.configure({'reconcile': [{'apiVersion': 'example.com/v1', 'kind': 'WebApp', 'owns': [{'apiVersion': 'v1', 'kind': 'ConfigMap'}]}]})

@boathook.on_reconcile('reconcile')
def reconcile(app): return Desired(none_wanted=True)
";

/// The definition is one that a cluster takes, with its defaults and its bounds.
#[tokio::test]
async fn a_definition_is_made_of_types_and_compared_with_the_projects() {
    let folder = tempfile::tempdir().unwrap();
    let write = |file: &str, text: &str| fs::write(folder.path().join(file), text).unwrap();
    write("pyproject.toml", "[project]\nname = \"mine\"\n");
    write("hook.py", DEFINES);
    let refused = async |part: &str| {
        let ended = boathook(folder.path(), &["build"]).await;
        assert_eq!(ended.code, Some(1), "{}", ended.stderr);
        assert!(ended.stderr.contains("crd.yaml does not match the hook's types"), "{}", ended.stderr);
        assert!(ended.stderr.contains("boathook build --write-crd") && ended.stderr.contains(part), "{}", ended.stderr);
    };
    refused("webapps.example.com is missing").await;
    let written = boathook(folder.path(), &["build", "--write-crd", "--out", "elsewhere.wasm"]).await;
    assert_eq!(written.code, Some(0), "{}", written.stderr);
    let text = fs::read_to_string(folder.path().join("crd.yaml")).unwrap();
    write("hook.py", &DEFINES.replace("minimum=0", "minimum=2"));
    refused("versions.v1.schema.openAPIV3Schema.properties.spec.properties.size.minimum is 0: the types make 2").await;
    write("hook.py", DEFINES);
    let built = boathook(folder.path(), &["build", "-o", "json"]).await;
    assert_eq!(built.code, Some(0), "{}", built.stderr);
    let facts: Value = serde_json::from_str(&built.stdout).unwrap();
    assert_eq!(facts["definitions"][0]["metadata"]["name"], "webapps.example.com");
    assert_eq!(fs::read_to_string(folder.path().join("crd.yaml")).unwrap(), text);

    let cluster = TestCluster::start().await;
    let definition: Value = yaml_serde::from_str(&text).unwrap();
    cluster.admin.create(&definition).await.unwrap();
    let app = |spec: Value| json!({"apiVersion": "example.com/v1", "kind": "WebApp", "metadata": {"namespace": "default", "name": "a"}, "spec": spec});
    let error = until("the kind is served", async || {
        let error = cluster.admin.create(&app(json!({"image": ""}))).await.unwrap_err().to_string();
        error.contains("spec.image").then_some(error)
    })
    .await;
    assert!(error.contains("spec.image"), "{error}");
    let created = cluster.admin.create(&app(json!({"image": "web:1"}))).await.unwrap();
    assert_eq!(created["spec"], json!({"image": "web:1", "size": 1}));
}

#[tokio::test]
async fn a_type_that_no_definition_has_is_reported_with_its_place() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("pyproject.toml"), "[project]\nname = \"mine\"\n").unwrap();
    fs::write(folder.path().join("hook.py"), DEFINES.replace("size: Annotated[int", "size: Annotated[set[int]"))
        .unwrap();
    let ended = boathook(folder.path(), &["build"]).await;
    assert_eq!(ended.code, Some(3), "{}", ended.stderr);
    assert!(
        ended.stderr.contains("WebApp.spec.size: set is not a type that a definition can have"),
        "{}",
        ended.stderr
    );
    let plain = "import boathook\nboathook.configure({'onStartup': 1})\n@boathook.on_startup\ndef f(): pass\n";
    fs::write(folder.path().join("hook.py"), plain).unwrap();
    let ended = boathook(folder.path(), &["build", "--write-crd"]).await;
    assert_eq!(ended.code, Some(1), "{}", ended.stderr);
    assert!(ended.stderr.contains("the hook defines no custom resource"), "{}", ended.stderr);
}
