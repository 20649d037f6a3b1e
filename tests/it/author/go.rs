//! Projects in Go: new ones build and pass their scenarios, and an error about a project that does not become a
//! component names the remedy. The SDK's bindings are those of the WIT package.
//!
//! Left out where there is no Go.

use std::{fs, path::Path};

use serde_json::Value;
use tokio::process::Command;

use super::{build::run, command, edit, fresh, repository, typed};
use crate::support::{
    guests::{cache_dir, has_go},
    process::Ended,
};

fn sdk() -> String {
    repository().join("sdk/go").display().to_string()
}

async fn project(folder: &Path, name: &str, template: &str) {
    let made = typed(folder, ["new", name, "--lang", "go", "--from", template, "--sdk-path", &sdk()]).await;
    assert_eq!(made.code, Some(0), "{}", made.stderr);
}

fn build(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = command(folder, ["build"].iter().chain(arguments));
    let names = ["PATH", "HOME", "GOPATH", "GOCACHE", "GOMODCACHE", "GOPROXY"];
    command.envs(names.into_iter().filter_map(|name| Some((name, std::env::var_os(name)?))));
    command
}

async fn new_builds_and_passes(template: &str) {
    if !has_go() {
        return;
    }
    let (folder, name) = (fresh(&format!("go-{template}")), format!("my-{template}"));
    project(&folder, &name, template).await;
    let ended = run(build(&folder, &[&name, "-o", "json"])).await;
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let facts: Value = serde_json::from_str(&ended.stdout).unwrap();
    let component = folder.join(&name).join("target/boathook").join(format!("{name}.wasm"));
    assert_eq!(Path::new(facts["path"].as_str().unwrap()), component.canonicalize().unwrap());
    assert_eq!((&facts["language"], &facts["script"]), (&"Go".into(), &Value::Null));
    let answers = facts["exports"].to_string().contains("boathook:hook/validating@0.1.0");
    assert_eq!(answers, template == "validating", "only what is imported is exported: {}", facts["exports"]);
    // `boathook test` finds it where it was built.
    let test = command(&folder.join(&name), ["test", "--cache-dir", &cache_dir().display().to_string()]);
    let tested = run(test).await;
    assert_eq!(tested.code, Some(0), "{}{}", tested.stdout, tested.stderr);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_label_watcher_in_go_builds_and_passes_its_scenarios() {
    new_builds_and_passes("label-watcher").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_operator_in_go_builds_and_passes_its_scenarios() {
    new_builds_and_passes("operator").await;
}

/// Its `crd.yaml` is compared, and written on request.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_definition_in_go_is_made_of_types_and_compared_with_the_projects() {
    if !has_go() {
        return;
    }
    let folder = fresh("go-defines");
    project(&folder, "web", "operator").await;
    let (source, file) = (folder.join("web/main.go"), folder.join("web/crd.yaml"));
    edit(&source, "minLength:\"1\"", "minLength:\"2\"");
    let place =
        "webapps.example.com: versions.v1alpha1.schema.openAPIV3Schema.properties.spec.properties.image.minLength";
    let told = format!("{place} is 1: the types make 2");
    let ended = run(build(&folder, &["web"])).await;
    refused(&ended, &["crd.yaml does not match the hook's types", "boathook build --write-crd", &told]);
    let ended = run(build(&folder, &["web", "--write-crd"])).await;
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert!(fs::read_to_string(&file).unwrap().contains("minLength: 2"));
    edit(&source, "type spec struct {", "type spec struct {\n\tBad chan int `json:\"bad\"`");
    let ended = run(build(&folder, &["web"])).await;
    assert_eq!(ended.code, Some(3), "{}", ended.stderr);
    let told = "its types define no custom resource: WebApp.spec.bad: a definition cannot express chan int";
    assert!(ended.stderr.contains(told), "{}", ended.stderr);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_schedule_in_go_builds_and_passes_its_scenarios() {
    new_builds_and_passes("schedule").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_startup_in_go_builds_and_passes_its_scenarios() {
    new_builds_and_passes("startup").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_validating_hook_in_go_builds_and_passes_its_scenarios() {
    new_builds_and_passes("validating").await;
}

#[track_caller]
fn refused(ended: &Ended, parts: &[&str]) {
    assert_eq!(ended.code, Some(1), "{}", ended.stderr);
    for part in parts {
        assert!(ended.stderr.contains(part), "no {part:?} in {}", ended.stderr);
    }
}

#[tokio::test]
async fn what_is_no_hook_is_reported_with_its_mend() {
    let folder = fresh("go-broken");
    project(&folder, "web", "startup").await;
    let mut without_go = build(&folder, &["web"]);
    without_go.env("GO", "no-such-go");
    refused(&run(without_go).await, &["cannot run no-such-go: install Go 1.24 or newer, https://go.dev/dl"]);

    let old = folder.join("old-go");
    fs::write(&old, "#!/bin/sh\necho go1.20.3\n").unwrap();
    fs::set_permissions(&old, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let mut with_old_go = build(&folder, &["web"]);
    with_old_go.env("GO", &old);
    refused(&run(with_old_go).await, &["old-go is go1.20.3, and hooks need go1.24 or newer: install Go"]);
    if !has_go() {
        return;
    }

    let main = folder.join("web/main.go");
    let text = fs::read_to_string(&main).unwrap();
    fs::write(&main, text.replace("boathook.Order(10)", "\"first\"")).unwrap();
    refused(&run(build(&folder, &["web"])).await, &["main.go:", "error: go did not build web"]);

    fs::write(&main, "package main\n\nfunc main() {}\n").unwrap();
    let ended = run(build(&folder, &["web"])).await;
    refused(&ended, &["web was built, but cannot become a component", "it exports no `config`: import the SDK"]);

    fs::write(&main, "package web\n").unwrap();
    refused(&run(build(&folder, &["web"])).await, &["a hook is `package main`, and here is package web"]);
}
