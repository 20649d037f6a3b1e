//! `boathook import`: a directory of shell-operator's hooks is reported, gets its permissions, and runs with exactly these.

use std::{
    fs,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
};

use serde_json::{Value, json};

use super::{boathook, examples, left_out, sandbox};
use crate::bundle::registry::Registry;

const SECRET: &str = r#"#!/usr/bin/env bash
# Copies a Secret into each new namespace.
source /shell_lib.sh
SECRET=registry

function __config__() {
  cat <<EOF
configVersion: v1
kubernetes:
- name: namespaces
  apiVersion: v1
  kind: Namespace
  executeHookOnEvent: [Added]
  executeHookOnSynchronization: false
EOF
}

function __on_kubernetes::namespaces::added() {
  local namespace
  namespace=$(context::jq -r .object.metadata.name)
  kubectl get secret "$SECRET" -n default -o json |
    jq --arg namespace "$namespace" '{apiVersion, kind, type, data, metadata: {name: .metadata.name, namespace: $namespace}}' |
    kubectl apply -f -
}

hook::run "$@"
"#;

const NAMESPACES: &str = r#"#!/bin/bash
# Keeps a list of all namespaces, and a label on each.
if [[ $1 == --config ]]; then
  cat <<EOF
configVersion: v1
kubernetes:
- {name: namespaces, apiVersion: v1, kind: Namespace, jqFilter: .metadata.name, includeSnapshotsFrom: [namespaces]}
EOF
  exit
fi
set -e
names=$(jq -c '[.[0].snapshots.namespaces[].filterResult]' "$BINDING_CONTEXT_PATH")
kubectl label namespace default seen=yes --overwrite
cat <<EOF >> "$KUBERNETES_PATCH_PATH"
operation: CreateOrUpdate
object:
  apiVersion: v1
  kind: ConfigMap
  metadata: {name: namespaces, namespace: default}
  data: {names: '$names'}
EOF
"#;

const BROKEN: &str = r#"#!/bin/bash
if [[ $1 == --config ]]; then echo '{configVersion: v1, onStartup: 1}'; exit; fi
kubectl get cm settings
helm upgrade web ./web
"#;

/// Hooks as an image of shell-operator has them.
fn hooks() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (file, content) in [
        ("hooks/copy-secret.sh", SECRET),
        ("hooks/ops/namespaces.sh", NAMESPACES),
        ("hooks/broken.sh", BROKEN),
        ("hooks/old.py", "#!/usr/bin/env python3\nprint('configVersion: v1')\n"),
    ] {
        let path = folder.path().join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, content).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }
    folder
}

fn permissions(file: &Path) -> Value {
    yaml_serde::from_str(&fs::read_to_string(file).unwrap()).unwrap()
}

#[tokio::test]
async fn a_directory_is_reported_with_places_and_gets_its_permissions() {
    if left_out() {
        return;
    }
    sandbox().await;
    let folder = hooks();
    let text = boathook(folder.path(), &["import", "hooks", "--dry-run"]).await;
    assert_eq!(text.code, Some(1), "{}", text.stderr);
    for line in [
        "broken.sh: does not run",
        "  broken.sh:4: helm: there is no such command in a hook; render the chart when you build the bundle",
        "copy-secret.sh: runs as it is",
        "copy-secret.sh:23: review: the namespace is the name of a watched object",
        "old.py: does not run",
        "  old.py: it is a script for python3, and hooks that run as they are are bash scripts; write it again with",
        "ops/namespaces.sh: runs as it is",
        "2 of 4 hooks run as they are",
    ] {
        assert!(text.stdout.contains(line), "{line}: {}", text.stdout);
    }
    let at = |file: &str| folder.path().join("hooks").join(file);
    assert!(!at("copy-secret.boathook.yaml").exists(), "a dry run writes nothing");

    let data = boathook(folder.path(), &["import", "hooks", "-o", "json"]).await;
    assert_eq!(data.code, Some(1), "{}", data.stderr);
    let data: Value = serde_json::from_str(&data.stdout).unwrap();
    let runs: Vec<_> = data["hooks"].as_array().unwrap().iter().map(|hook| (&hook["name"], &hook["runs"])).collect();
    let expected = [("broken", false), ("copy-secret", true), ("old.py", false), ("ops-namespaces", true)];
    assert_eq!(json!(runs), json!(expected));
    let problem = &data["hooks"][0]["problems"][0];
    assert_eq!(
        (&problem["file"], &problem["line"], &problem["refused"]),
        (&json!("broken.sh"), &json!(4), &json!(true))
    );
    let copied = json!([
        {"apiGroups": [""], "resources": ["secrets"], "verbs": ["create", "get", "patch"], "resourceNames": ["registry"]},
    ]);
    assert_eq!(permissions(&at("copy-secret.boathook.yaml"))["permissions"]["kubernetes"], copied);
    let listed = json!([
        {"apiGroups": [""], "resources": ["namespaces"], "verbs": ["get", "patch"], "resourceNames": ["default"]},
        {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["create", "get", "update"],
         "resourceNames": ["namespaces"], "namespaces": ["default"]},
    ]);
    assert_eq!(permissions(&at("ops/namespaces.boathook.yaml"))["permissions"]["kubernetes"], listed);

    fs::write(at("copy-secret.boathook.yaml"), "permissions: {}\nlimits: {time: 20s}\n").unwrap();
    let kept = boathook(folder.path(), &["import", "hooks"]).await;
    assert!(kept.stdout.contains("copy-secret.boathook.yaml is there and was not changed"), "{}", kept.stdout);
    assert!(kept.stdout.contains("    -permissions: {}"), "{}", kept.stdout);
    assert_eq!(permissions(&at("copy-secret.boathook.yaml"))["permissions"], json!({}));
    let forced = boathook(folder.path(), &["import", "hooks", "--force"]).await;
    assert!(forced.stdout.contains("replaced the permissions in copy-secret.boathook.yaml"), "{}", forced.stdout);
    let now = permissions(&at("copy-secret.boathook.yaml"));
    assert_eq!((&now["permissions"]["kubernetes"], &now["limits"]), (&copied, &json!({"time": "20s"})));

    let queued = boathook(folder.path(), &["import", "hooks", "--queue", "ops", "--force"]).await;
    assert!(queued.stdout.contains("2 of 4 hooks run as they are"), "{}", queued.stdout);
    let now = permissions(&at("copy-secret.boathook.yaml"));
    assert_eq!((&now["permissions"]["kubernetes"], &now["queue"]), (&copied, &json!("ops")));
    assert_eq!(now["limits"], json!({"time": "20s"}));
}

/// Builds a hook and runs it once, on a cluster with the Secret and the namespace.
async fn ran(folder: &Path, script: &str, arguments: &[&str]) -> (Option<i32>, String, String) {
    let state = "\
apiVersion: v1
kind: Namespace
metadata: {name: web}
---
apiVersion: v1
kind: Secret
metadata: {name: registry, namespace: default}
data: {token: YQ==}
";
    fs::write(folder.join("state.yaml"), state).unwrap();
    let component = folder.join("hook.wasm").display().to_string();
    let built = boathook(folder, &["build", script, "--out", &component]).await;
    assert_eq!(built.code, Some(0), "{}", built.stderr);
    let run =
        boathook(folder, &[&["run", &component, "--state", "state.yaml", "-o", "json"], arguments].concat()).await;
    (run.code, run.stdout, run.stderr)
}

#[tokio::test]
async fn hooks_of_modules_run_as_they_are_and_their_place_is_named() {
    if left_out() {
        return;
    }
    sandbox().await;
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("hooks")).unwrap();
    for (name, key) in [("all", "afterAll"), ("module", "beforeHelm")] {
        let path = folder.path().join(format!("hooks/{name}.sh"));
        let document = format!("{{configVersion: v1, onStartup: 1, {key}: 1}}");
        fs::write(&path, format!("#!/bin/bash\nif [[ $1 == --config ]]; then echo '{document}'; exit; fi\n")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }
    let text = boathook(folder.path(), &["import", "hooks", "--dry-run"]).await;
    assert_eq!(text.code, Some(0), "{}{}", text.stdout, text.stderr);
    for line in [
        "all.sh: runs as it is",
        "  all.sh: review: its document has afterAll, which only global hooks of modules have; put it into the directory",
        "module.sh: runs as it is",
        "  module.sh: review: its document has beforeHelm, which only hooks of a module have; put it into the folder `hooks`",
        "2 of 2 hooks run as they are",
    ] {
        assert!(text.stdout.contains(line), "{line}: {}", text.stdout);
    }
}

#[tokio::test]
async fn imported_hooks_run_with_exactly_what_was_proposed() {
    if left_out() {
        return;
    }
    sandbox().await;
    let folder = hooks();
    for other in ["broken.sh", "old.py"] {
        fs::remove_file(folder.path().join("hooks").join(other)).unwrap();
    }
    let bundle = ["import", "hooks", "--bundle", "team.bundle"];
    let imported = boathook(folder.path(), &bundle).await;
    assert_eq!(imported.code, Some(0), "{}{}", imported.stdout, imported.stderr);
    assert!(imported.stdout.contains("boathook bundle push team.bundle REGISTRY/TEAM/hooks:v1"), "{}", imported.stdout);
    let inspected = boathook(folder.path(), &["bundle", "inspect", "team.bundle", "-o", "json"]).await;
    let inspected: Value = serde_json::from_str(&inspected.stdout).unwrap();
    let names: Vec<_> = inspected["hooks"].as_array().unwrap().iter().map(|hook| hook["name"].clone()).collect();
    assert_eq!(names, ["copy-secret", "ops-namespaces"]);

    for (script, arguments, wrote) in [
        ("hooks/copy-secret.sh", &["--event", "Added", "--object", "web"][..], "registry"),
        ("hooks/ops/namespaces.sh", &[], "namespaces"),
    ] {
        let (code, stdout, stderr) = ran(folder.path(), script, arguments).await;
        assert!(code == Some(0) && stdout.contains(wrote), "{script}: {stdout}{stderr}");
        let beside = folder.path().join(script).with_extension("boathook.yaml");
        let text = fs::read_to_string(&beside).unwrap();
        // Each of them is needed.
        let all = permissions(&beside)["permissions"]["kubernetes"].as_array().unwrap().clone();
        for index in 0..all.len() {
            let mut fewer = all.clone();
            fewer.remove(index);
            let fewer = if fewer.is_empty() { json!({}) } else { json!({"kubernetes": fewer}) };
            fs::write(&beside, json!({"permissions": fewer}).to_string()).unwrap();
            let (code, stdout, stderr) = ran(folder.path(), script, arguments).await;
            assert_eq!(code, Some(1), "{script} without {}: {stdout}{stderr}", all[index]);
        }
        fs::write(&beside, text).unwrap();
    }
}

#[tokio::test]
async fn a_kind_that_is_not_known_is_left_to_a_person() {
    if left_out() {
        return;
    }
    sandbox().await;
    let folder = tempfile::tempdir().unwrap();
    let script = "#!/bin/bash\nif [[ $1 == --config ]]; then echo '{configVersion: v1, onStartup: 1}'; exit; fi\nkind=$(jq -r '.[0].binding' \"$BINDING_CONTEXT_PATH\" | tr a-zA-Z x)\nkubectl get \"$kind\" a\n";
    fs::create_dir(folder.path().join("hooks")).unwrap();
    let path = folder.path().join("hooks/any.sh");
    fs::write(&path, script).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    let imported = boathook(folder.path(), &["import", "hooks"]).await;
    assert!(imported.stdout.contains("any.sh:4: review: the kind is $kind"), "{}", imported.stdout);
    let text = fs::read_to_string(folder.path().join("hooks/any.boathook.yaml")).unwrap();
    assert!(text.contains("permissions: {}") && text.contains("    # - apiGroups: [\"*\"]"), "{text}");
    let missing = boathook(folder.path(), &["import", "hooks", "--records", "nothing"]).await;
    assert!(missing.code == Some(2) && missing.stderr.contains("cannot use nothing"), "{}", missing.stderr);
}

/// The lines of a page that are typed, in the section with this heading.
fn typed(page: &str, heading: &str) -> Vec<String> {
    let text = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(page)).unwrap();
    let (_, section) = text.split_once(&format!("\n## {heading}\n")).unwrap();
    let section = section.split("\n## ").next().unwrap();
    let blocks = section.split("```sh\n").skip(1).map(|rest| rest.split("```").next().unwrap());
    let lines = blocks.flat_map(str::lines).map(|line| line.split("   #").next().unwrap().trim().to_owned());
    lines.filter(|line| !line.is_empty()).collect()
}

/// An image as `docker save` writes it: a base, and a layer with the hooks.
fn saved(folder: &Path) -> PathBuf {
    let layer = folder.join("layer");
    let put = |file: &str, from: &Path| {
        let to = layer.join(file);
        fs::create_dir_all(to.parent().unwrap()).unwrap();
        fs::copy(from, to).unwrap();
    };
    put("hooks/copy-secret.sh", &examples().join("copy-secret/copy-secret.sh"));
    put("hooks/lib/names.sh", &examples().join("copy-secret/lib/names.sh"));
    put("hooks/monitor-pods.sh", &examples().join("monitor-pods/hook.sh"));
    fs::write(folder.join("manifest.json"), r#"[{"Config": "c.json", "Layers": ["1/layer.tar"]}]"#).unwrap();
    fs::create_dir(folder.join("1")).unwrap();
    let tar = |to: &str, at: &Path, what: &[&str]| {
        let done =
            std::process::Command::new("tar").arg("-cf").arg(folder.join(to)).arg("-C").arg(at).args(what).status();
        assert!(done.unwrap().success());
    };
    tar("1/layer.tar", &layer, &["hooks"]);
    tar("image.tar", folder, &["manifest.json", "1"]);
    folder.join("image.tar")
}

/// The layers of an image: a base, one with hooks, and one that takes a hook away.
fn layers(folder: &Path) -> Vec<(&'static str, Vec<u8>)> {
    let layer = |name: &str, files: &[(&str, &str)]| {
        let root = folder.join(name);
        for (file, content) in files {
            let path = root.join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, content).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        }
        let tar = std::process::Command::new("tar").args(["-czf", "-", "-C"]).arg(&root).arg(".").output().unwrap();
        assert!(tar.status.success());
        ("application/vnd.oci.image.layer.v1.tar+gzip", tar.stdout)
    };
    vec![
        layer("base", &[("etc/os-release", "ID=alpine\n"), ("shell-operator", "\u{7f}ELF")]),
        layer("hooks", &[("hooks/copy-secret.sh", SECRET), ("hooks/old.sh", BROKEN)]),
        layer("fixed", &[("hooks/.wh.old.sh", ""), ("hooks/ops/namespaces.sh", NAMESPACES)]),
    ]
}

#[tokio::test]
async fn an_image_is_pulled_from_its_registry() {
    if left_out() {
        return;
    }
    sandbox().await;
    let registry = Registry::start();
    let folder = tempfile::tempdir().unwrap();
    registry.push_image("team/hooks", "v1", &layers(folder.path())).await;
    let image = format!("{}/team/hooks:v1", registry.host);
    let imported = boathook(folder.path(), &["import", &image, "--out", "mine", "--plain-http"]).await;
    assert_eq!(imported.code, Some(0), "{}{}", imported.stdout, imported.stderr);
    assert!(imported.stdout.contains("2 of 2 hooks run as they are"), "{}", imported.stdout);
    let at = |file: &str| folder.path().join("mine").join(file);
    assert_eq!(fs::read_to_string(at("copy-secret.sh")).unwrap(), SECRET);
    assert!(at("copy-secret.boathook.yaml").exists() && at("ops/namespaces.boathook.yaml").exists());
    assert!(!at("old.sh").exists() && !folder.path().join("mine/shell-operator").exists());

    let again = boathook(folder.path(), &["import", &image, "--out", "mine", "--plain-http"]).await;
    assert!(again.code == Some(2) && again.stderr.contains("mine is not empty"), "{}", again.stderr);
    let missing = format!("{}/team/hooks:v2", registry.host);
    let missing = boathook(folder.path(), &["import", &missing, "--out", "other", "--plain-http"]).await;
    assert!(missing.code == Some(2) && missing.stderr.contains("team/hooks:v2"), "{}", missing.stderr);
    let elsewhere = ["import", &image, "--out", "other", "--plain-http", "--hooks-dir", "/opt"];
    let elsewhere = boathook(folder.path(), &elsewhere).await;
    assert!(elsewhere.stderr.contains("has no folder /opt"), "{}", elsewhere.stderr);
}

/// The binding is in the file beside the hook, and only a run says which kind it needs.
#[tokio::test]
async fn scenarios_are_played_with_the_other_keys_of_the_file() {
    if left_out() {
        return;
    }
    sandbox().await;
    let folder = tempfile::tempdir().unwrap();
    let at = |file: &str| folder.path().join("hooks").join(file);
    fs::create_dir_all(at("learns/scenarios")).unwrap();
    let script = "#!/bin/bash\nif [[ $1 == --config ]]; then echo 'configVersion: v1'; exit; fi\nkind=$(jq -r '.[].objects[]?.object.data.kind' \"$BINDING_CONTEXT_PATH\")\nkubectl get \"$kind\" one -o name\n";
    fs::write(at("learns.sh"), script).unwrap();
    fs::set_permissions(at("learns.sh"), fs::Permissions::from_mode(0o755)).unwrap();
    let beside = "# Which kinds.\nkubernetes:\n  - {name: kinds, apiVersion: v1, kind: ConfigMap, labelSelector: {matchLabels: {kinds: \"yes\"}}}\n";
    fs::write(at("learns.boathook.yaml"), beside).unwrap();
    let scenario = "\
name: the kind is read
given:
  - {apiVersion: v1, kind: ConfigMap, metadata: {namespace: default, name: k, labels: {kinds: \"yes\"}}, data: {kind: serviceaccounts}}
  - {apiVersion: v1, kind: ServiceAccount, metadata: {namespace: default, name: one}}
steps:
  - expect: {logged: [serviceaccount/one]}
";
    fs::write(at("learns/scenarios/one.yaml"), scenario).unwrap();
    let imported = boathook(folder.path(), &["import", "hooks", "--force"]).await;
    let text = fs::read_to_string(at("learns.boathook.yaml")).unwrap();
    assert!(text.ends_with(beside), "{text}\n{}{}", imported.stdout, imported.stderr);
    let learned = json!({"apiGroups": [""], "resources": ["serviceaccounts"], "verbs": ["get"], "resourceNames": ["one"], "namespaces": ["default"]});
    let all = permissions(&at("learns.boathook.yaml"))["permissions"]["kubernetes"].clone();
    assert!(all.as_array().unwrap().contains(&learned), "{all}\n{}{}", imported.stdout, imported.stderr);
}

/// Without it, the script would go on, and fail at the first function of the file.
#[tokio::test]
async fn a_file_that_is_sourced_and_not_there_is_reported() {
    if left_out() {
        return;
    }
    sandbox().await;
    let folder = hooks();
    let missing = BROKEN.replace("helm upgrade web ./web", "source /antiopa/shell_lib.sh");
    fs::write(folder.path().join("hooks/broken.sh"), missing).unwrap();
    let text = boathook(folder.path(), &["import", "hooks", "--dry-run"]).await;
    assert_eq!(text.code, Some(1), "{}", text.stderr);
    let line = "broken.sh: does not run\n  broken.sh:4: source: there is no file /antiopa/shell_lib.sh: put it into the directory";
    assert!(text.stdout.contains(line), "{}", text.stdout);
}

#[tokio::test]
async fn the_migration_page_comes_to_a_bundle_by_typing_it() {
    if left_out() {
        return;
    }
    sandbox().await;
    let folder = tempfile::tempdir().unwrap();
    let home = folder.path().join("home");
    fs::create_dir(&home).unwrap();
    fs::copy(saved(folder.path()), home.join("image.tar")).unwrap();
    let lines = typed("docs/migration.md", "From an image to a bundle");
    let mut done = 0;
    for line in &lines {
        let words = shlex::split(line).unwrap();
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        // A registry, a cluster, its records and docker are not here.
        let Some((&"boathook", arguments)) = words.split_first() else { continue };
        if ["serve", "push", "--records"].iter().any(|word| arguments.contains(word)) {
            continue;
        }
        let ended = boathook(&home, arguments).await;
        assert_eq!(ended.code, Some(0), "{line}: {}{}", ended.stdout, ended.stderr);
        done += 1;
    }
    assert!(done >= 3, "{lines:?}");
    let copied = permissions(&home.join("hooks/copy-secret.boathook.yaml"));
    assert_eq!(copied["permissions"]["kubernetes"][0]["resourceNames"], json!(["registry"]));
    let bundle = boathook(&home, &["bundle", "inspect", "team.bundle"]).await;
    assert!(bundle.stdout.contains("copy-secret") && bundle.stdout.contains("monitor-pods"), "{}", bundle.stdout);
}
