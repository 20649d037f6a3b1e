//! `boathook run` on the real binary.

use std::{
    ffi::OsStr,
    fs,
    path::{Path, PathBuf},
};

use serde_json::{Value, json};
use tempfile::TempDir;

use super::revision;
use crate::{
    pipeline::{
        tell::tell,
        written::{Deed, hook},
    },
    support::{
        cluster::TestCluster,
        guests::{cache_dir, guest_file},
        process::{Ended, Process, boathook, run, terminate},
    },
};

const STATE: &str = "apiVersion: v1
kind: Secret
metadata: {name: registry-credentials, namespace: default}
type: Opaque
data: {password: aHVudGVyMg==}
---
apiVersion: v1
kind: Namespace
metadata: {name: team-a}
";

const MAPS: &str = r#"{configVersion: v1, kubernetes: [
  {name: maps, apiVersion: v1, kind: ConfigMap, namespace: {nameSelector: {matchNames: [web]}}, jqFilter: .data,
   previousObject: true, includeSnapshotsFrom: [spaces]},
  {name: spaces, apiVersion: v1, kind: Namespace, jqFilter: .metadata.labels, executeHookOnEvent: []}]}"#;

struct Files(TempDir);

impl Files {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn write(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.0.path().join(name);
        fs::write(&path, content).unwrap();
        path
    }
}

fn command<S: AsRef<OsStr>>(component: &Path, more: &[S]) -> tokio::process::Command {
    let mut command = boathook(["run"]);
    command.arg(component).arg("--cache-dir").arg(cache_dir()).args(more);
    command
}

async fn once<S: AsRef<OsStr>>(component: &Path, more: &[S]) -> Ended {
    run(command(component, more)).await
}

fn arguments<'a>(words: &'a [&'a str], paths: &[(&'a str, &'a Path)]) -> Vec<&'a OsStr> {
    let paths = paths.iter().flat_map(|(flag, path)| [OsStr::new(*flag), path.as_os_str()]);
    words.iter().map(OsStr::new).chain(paths).collect()
}

/// The triggers that the guest `tell` received.
fn told(ended: &Ended) -> Vec<Value> {
    let line = |line: &str| {
        let (_, rest) = line.split_once(" told ")?;
        serde_json::Deserializer::from_str(rest).into_iter().next()?.ok()
    };
    assert_eq!(ended.code, Some(0), "{ended:?}");
    ended.stderr.lines().filter_map(line).collect()
}

#[track_caller]
fn refused(ended: &Ended, parts: &[&str]) {
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(2), ""), "{ended:?}");
    for part in parts {
        assert!(ended.stderr.contains(part), "no {part:?} in: {}", ended.stderr);
    }
}

#[tokio::test]
async fn a_run_shows_what_it_writes() {
    let (files, component) = (Files::new(), guest_file("registry-secret"));
    let state = files.write("state.yaml", STATE);
    let flags =
        arguments(&["--binding", "namespaces", "--event", "added", "--object", "team-a"], &[("--state", &state)]);
    let ended = once(&component, &flags).await;
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let copy = "+ create v1 Secret team-a/registry-credentials\n  + metadata:\n  +   labels:\n";
    assert!(ended.stdout.starts_with(copy), "{}", ended.stdout);
    assert!(ended.stdout.contains("password: (sensitive)") && !ended.stdout.contains("aHVudGVyMg"), "{}", ended.stdout);
    let last = ended.stdout.lines().last().unwrap();
    assert!(last.starts_with("succeeded in ") && last.contains(" host calls, 1 writes"), "{last}");

    let flags =
        arguments(&["--binding", "namespaces", "--plan", "--show-secrets", "-o", "json"], &[("--state", &state)]);
    let ended = once(&component, &flags).await;
    let data: Value = serde_json::from_str(&ended.stdout).unwrap();
    assert_eq!((&data["result"], &data["plan"]), (&json!("succeeded"), &json!(true)));
    let writes = data["writes"].as_array().unwrap();
    assert!(writes.len() >= 2 && writes.iter().all(|write| write["dryRun"] == true), "{data:#}");
    assert!(ended.stdout.contains("aHVudGVyMg=="), "as it was asked for");
}

const WISH: &str =
    "{apiVersion: example.com/v1, kind: Wish, metadata: {name: web, namespace: default}, spec: {children: [
  {apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {value: '1'}}], status: {color: blue}}}";

fn definitions() -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("hooks-wasm/test/wish");
    let texts = ["wishes.yaml", "clusterwishes.yaml"].map(|name| fs::read_to_string(folder.join(name)).unwrap());
    texts.join("\n---\n")
}

#[tokio::test]
async fn an_object_is_reconciled_once() {
    let (files, component) = (Files::new(), guest_file("wish"));
    let (state, wish) = (files.write("state.yaml", definitions()), files.write("wish.yaml", WISH));
    let of = |words: &[&'static str]| {
        let mut all: Vec<_> = words.iter().map(|word| OsStr::new(*word).to_owned()).collect();
        all.extend([OsStr::new("--state").to_owned(), state.clone().into()]);
        all
    };
    let event = ["--binding", "wishes", "--event", "Added", "--object", wish.to_str().unwrap()].map(OsStr::new);
    let with =
        |words: &[&'static str]| event.iter().map(|word| word.to_os_string()).chain(of(words)).collect::<Vec<_>>();
    let ended = once(&component, &with(&[])).await;
    assert_eq!(ended.code, Some(0), "{ended:?}");
    for part in ["v1 ConfigMap default/a", "example.com/v1 Wish default/web", "color: blue"] {
        assert!(ended.stdout.contains(part), "no {part}: {}", ended.stdout);
    }
    let ended = once(&component, &with(&["--plan", "-o", "json"])).await;
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let data: Value = serde_json::from_str(&ended.stdout).unwrap();
    let writes = data["writes"].as_array().unwrap();
    let of_child = writes.iter().filter(|write| write["object"]["kind"] == "ConfigMap").count();
    assert!(of_child == 1 && writes.iter().all(|write| write["dryRun"] == true), "{data:#}");

    let ended = once(&component, &of(&["--binding", "wishes"])).await;
    refused(&ended, &["hook wish reconciles one object at a time: give it with the event Added or Modified of wishes"]);
}

#[tokio::test]
async fn an_object_is_decorated_once() {
    let (files, component) = (Files::new(), guest_file("attach"));
    let says =
        r#"{"children": [{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}], "labels": {"x": "y"}}"#;
    let account = format!(
        "{{apiVersion: v1, kind: ServiceAccount, metadata: {{name: web, namespace: default, annotations: {{more: '{says}'}}}}}}"
    );
    let account = files.write("account.yaml", account);
    let flags =
        arguments(&["--binding", "more", "--event", "Added", "--plan", "-o", "json"], &[("--object", &account)]);
    let ended = once(&component, &flags).await;
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let data: Value = serde_json::from_str(&ended.stdout).unwrap();
    let kinds: Vec<_> =
        data["writes"].as_array().unwrap().iter().map(|write| write["object"]["kind"].clone()).collect();
    assert_eq!(kinds, ["ConfigMap", "ServiceAccount"], "{data:#}");
    assert!(data["writes"].as_array().unwrap().iter().all(|write| write["dryRun"] == true), "{data:#}");
}

#[tokio::test]
async fn the_hook_is_reported_what_its_bindings_make_of_the_state() {
    let files = Files::new();
    let component = files.write("tell.wasm", tell(MAPS));
    let state = "{apiVersion: v1, kind: Namespace, metadata: {name: web, labels: {tier: x}}}\n---\n\
                 {apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: web}, data: {k: old}}\n---\n\
                 {apiVersion: v1, kind: ConfigMap, metadata: {name: b, namespace: default}, data: {k: other}}\n";
    let state = files.write("state.yaml", state);
    let changed = "{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: web}, data: {k: new}}";
    let changed = files.write("changed.yaml", changed);
    let with = |words: &[&'static str], object: Option<&Path>| {
        let mut all: Vec<_> = words.iter().map(|word| OsStr::new(*word).to_owned()).collect();
        let paths = [("--state", Some(state.as_path())), ("--object", object)];
        all.extend(
            paths.iter().filter_map(|(flag, path)| Some([OsStr::new(*flag).to_owned(), (*path)?.into()])).flatten(),
        );
        all
    };

    let ended = once(&component, &with(&["--binding", "maps"], None)).await;
    let all = told(&ended);
    assert_eq!((all.len(), &all[0]["type"]), (1, &json!("Synchronization")), "{ended:?}");
    assert_eq!(all[0]["snapshots"]["maps"], json!({"web/a": {"k": "old"}}), "only those of its namespace");
    assert_eq!(all[0]["snapshots"]["spaces"]["/web"]["tier"], "x");

    let ended = once(&component, &with(&["--binding", "maps", "--event", "Modified"], Some(&changed))).await;
    let event = &told(&ended)[0];
    assert_eq!((&event["type"], &event["change"]), (&json!("Event"), &json!("Modified")));
    assert_eq!((&event["result"], &event["previous"]), (&json!({"k": "new"}), &json!({"k": "old"})));
    assert_eq!(event["before"]["data"], json!({"k": "old"}));
    assert_eq!(event["snapshots"]["maps"], json!({"web/a": {"k": "new"}}), "the cluster is as the event says");

    let ended = once(&component, &with(&["--binding", "maps", "--event", "Deleted", "--object", "web/a"], None)).await;
    let event = &told(&ended)[0];
    assert_eq!(
        (&event["change"], &event["name"], &event["result"]),
        (&json!("Deleted"), &json!("a"), &json!({"k": "old"}))
    );
    assert_eq!(event["snapshots"]["maps"], json!({}));
}

#[tokio::test]
async fn a_context_of_shell_operator_is_run_as_it_stands() {
    let files = Files::new();
    let component = files.write("tell.wasm", tell(MAPS));
    let object = |name: &str| json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "web"}, "data": {"n": name}});
    let event = json!({"binding": "maps", "type": "Event", "watchEvent": "Added", "object": object("a"), "filterResult": {"of": "the file"},
        "snapshots": {"maps": [{"object": object("a"), "filterResult": {}}, {"object": object("b"), "filterResult": {}}]}});
    let synchronization = json!({"binding": "maps", "type": "Synchronization", "objects": []});
    let context = files.write("context.json", json!([synchronization, event]).to_string());
    let ended = once(&component, &arguments(&[], &[("--context", &context)])).await;
    let all = told(&ended);
    assert_eq!(all.iter().map(|line| line["type"].clone()).collect::<Vec<_>>(), ["Synchronization", "Event"]);
    assert_eq!(all[1]["result"], json!({"of": "the file"}));
    assert_eq!(all[1]["snapshots"]["maps"], json!({"web/a": {"n": "a"}, "web/b": {"n": "b"}}));
    assert_eq!(all[0]["run"], all[1]["run"], "one run");
}

#[tokio::test]
async fn a_failed_run_says_so_by_its_code() {
    let files = Files::new();
    let wish = "{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: web}, data: {fail: permanent}}";
    let object = files.write("wish.yaml", wish);
    let component = files.write("tell.wasm", tell(MAPS));
    let flags = arguments(&["--binding", "maps", "--event", "Added"], &[("--object", &object)]);
    let ended = once(&component, &flags).await;
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert!(ended.stdout.starts_with("failed (permanent) in "), "{}", ended.stdout);
    assert!(ended.stdout.contains("\n  asked to fail for good"), "{}", ended.stdout);
    let ended = once(&guest_file("hostile-memory-bomb"), &["-o", "json"]).await;
    let data: Value = serde_json::from_str(&ended.stdout).unwrap();
    assert_eq!((ended.code, &data["failure"]["kind"]), (Some(1), &json!("limit-memory")), "{data:#}");
}

#[tokio::test]
async fn bad_input_is_reported_with_its_place_and_its_mend() {
    let (files, component) = (Files::new(), guest_file("registry-secret"));
    let bindings = ["namespaces (kubernetes, Namespace)", "source (kubernetes, Secret)", "copies"];
    let none: [&str; 0] = [];
    refused(&once(&component, &none).await, &[&bindings[..], &["several bindings", "name one"]].concat());
    let other = files.write("other.json", r#"[{"binding": "nodes", "type": "Synchronization"}]"#);
    let ended = once(&component, &arguments(&[], &[("--context", &other)])).await;
    refused(&ended, &[&bindings[..], &["other.json:1:2: hook registry-secret has no binding \"nodes\""]].concat());
    let broken = files.write("broken.yaml", "- binding: namespaces\n  type: [\n");
    refused(&once(&component, &arguments(&[], &[("--context", &broken)])).await, &["broken.yaml:3:1: "]);
    let unknown = files.write("unknown.yaml", "- binding: namespaces\n  type: Sync\n  objets: []\n");
    let ended = once(&component, &arguments(&[], &[("--context", &unknown)])).await;
    refused(
        &ended,
        &["unknown.yaml:2:9: [0].type: is \"Sync\"; allowed: Schedule, Synch", "unknown.yaml:3:3: [0].objets"],
    );
    let empty = files.write("empty.json", "[]");
    refused(&once(&component, &arguments(&[], &[("--context", &empty)])).await, &["the context is an empty list"]);

    let state = files.write("state.yaml", "apiVersion: v1\nkind: Secret\nmetadata:\n  name: [\n");
    let ended = once(&component, &arguments(&["--binding", "namespaces"], &[("--state", &state)])).await;
    refused(&ended, &["state.yaml, document 1, line "]);
    let missing = files.0.path().join("missing.yaml");
    let ended = once(&component, &arguments(&["--binding", "namespaces"], &[("--state", &missing)])).await;
    refused(&ended, &["missing.yaml", "No such file"]);

    let flags = ["--binding", "source", "--event", "Modified"];
    refused(&once(&component, &flags).await, &["--event Modified needs --object"]);
    let ended = once(&component, &[&flags[..], &["--object", "default/none"]].concat()).await;
    refused(&ended, &["v1 Secret default/none does not exist"]);
    let pod = files.write("pod.yaml", "{apiVersion: v1, kind: Pod, metadata: {name: p}}");
    let ended = once(&component, &arguments(&flags, &[("--object", &pod)])).await;
    refused(&ended, &["binding source is for v1 Secret, but the object is a v1 Pod"]);
    let ended = once(&files.write("text.wasm", "#!/bin/sh\n"), &none).await;
    refused(&ended, &["hook text"]);
}

#[tokio::test]
async fn a_plan_on_another_cluster_leaves_it_as_it_is() {
    let (files, cluster) = (Files::new(), TestCluster::start().await);
    for object in STATE.split("---\n") {
        cluster.admin.create(&yaml_serde::from_str(object).unwrap()).await.unwrap();
    }
    let before = revision(&cluster).await;
    let kubeconfig = files.write("kubeconfig", cluster.cluster.kubeconfig());
    let component = guest_file("registry-secret");
    let flags = arguments(&["--binding", "namespaces", "--plan"], &[("--kubeconfig", &kubeconfig)]);
    let ended = once(&component, &flags).await;
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(ended.stdout.contains("+ create v1 Secret team-a/registry-credentials (dry run)\n"), "{}", ended.stdout);
    assert_eq!(revision(&cluster).await, before);

    // An event about an object that the cluster does not have: the hook receives it, and the object is not created.
    let new = files.write("new.yaml", "{apiVersion: v1, kind: Namespace, metadata: {name: new}}");
    let flags = ["--binding", "namespaces", "--plan", "--event", "Added"];
    let ended = once(&component, &arguments(&flags, &[("--kubeconfig", &kubeconfig), ("--object", &new)])).await;
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let flags = ["--binding", "namespaces", "--plan", "--event", "Deleted", "--object", "team-a"];
    assert_eq!(once(&component, &arguments(&flags, &[("--kubeconfig", &kubeconfig)])).await.code, Some(0));
    assert_eq!(revision(&cluster).await, before);

    let flags = arguments(&["--binding", "namespaces"], &[("--kubeconfig", &kubeconfig)]);
    assert_eq!(once(&component, &flags).await.code, Some(0));
    assert_ne!(revision(&cluster).await, before, "without a plan it writes");
}

#[tokio::test]
async fn a_run_can_be_interrupted() {
    let files = Files::new();
    let document = r#"{configVersion: v1, onStartup: 1, limits: {time: 300s, hostCalls: 1000000},
      permissions: {kubernetes: [{apiGroups: [""], resources: [configmaps], verbs: [get]}]}}"#;
    let component = files.write("waits.wasm", hook(document, &Deed::WaitsFor("nothing")));
    let none: [&str; 0] = [];
    let mut process = Process::start(command(&component, &none));
    process.logged("the hook runs", |line| line.contains("begin").then_some(())).await.unwrap();
    terminate(&process);
    let ended = process.ended().await;
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(130), ""), "{ended:?}");
    assert!(ended.stderr.contains("interrupted"), "{}", ended.stderr);
}
