//! Projects in TypeScript and JavaScript: new ones build, have no wrong types, and pass their scenarios. An error about
//! one that does not build names the remedy.
//!
//! Packages are those of the repository's examples: no registry is asked.

use std::{fs, os::unix::fs::symlink, path::Path};

use serde_json::Value;
use tokio::process::Command;

use super::{command, edit, fresh, repository, typed};
use crate::support::{
    guests::cache_dir,
    process::{Ended, run},
};

const LANGUAGES: [&str; 2] = ["ts", "js"];

/// With the packages that `npm install` would bring.
pub async fn project(folder: &Path, name: &str, language: &str, template: &str) {
    bare(folder, name, language, template).await;
    let packages = repository().join("hooks-wasm/js/node_modules");
    assert!(packages.join(".bin/esbuild").exists(), "hooks-wasm/js has no node_modules: run make scripts");
    symlink(packages, folder.join(name).join("node_modules")).unwrap();
}

async fn bare(folder: &Path, name: &str, language: &str, template: &str) {
    let sdk = repository().join("sdk/js").display().to_string();
    let made = typed(folder, ["new", name, "--lang", language, "--from", template, "--sdk-path", &sdk]).await;
    assert_eq!(made.code, Some(0), "{}", made.stderr);
    assert!(made.stderr.contains("npm install && boathook build"), "{}", made.stderr);
}

/// Scripts of Node's say where it is by PATH.
fn with_path(mut command: Command) -> Command {
    command.env("PATH", std::env::var_os("PATH").unwrap());
    command
}

async fn build(folder: &Path, project: &str) -> Ended {
    run(with_path(command(folder, ["build", project, "-o", "json"]))).await
}

async fn has_no_wrong_types(project: &Path) {
    let manifest: Value = serde_json::from_slice(&fs::read(project.join("package.json")).unwrap()).unwrap();
    let check = manifest["scripts"]["check"].as_str().unwrap().strip_prefix("tsc ").unwrap();
    let mut command = Command::new(project.join("node_modules/.bin/tsc"));
    command.current_dir(project).args(check.split(' '));
    let ended = run(with_path(command)).await;
    assert_eq!(ended.code, Some(0), "{}{}", ended.stdout, ended.stderr);
}

async fn new_builds_and_passes(template: &str) {
    for language in LANGUAGES {
        let (folder, name) = (fresh(&format!("{language}-{template}")), format!("my-{template}"));
        project(&folder, &name, language, template).await;
        let ended = build(&folder, &name).await;
        assert_eq!(ended.code, Some(0), "{}", ended.stderr);
        let facts: Value = serde_json::from_str(&ended.stdout).unwrap();
        assert_eq!(facts["script"]["interpreter"]["name"], "js");
        assert_eq!(facts["language"], if language == "ts" { "TypeScript" } else { "JavaScript" });
        assert!(facts["bytes"].as_u64().unwrap() < 50_000, "{}", facts["bytes"]);
        let answers = facts["exports"].to_string().contains("boathook:hook/validating@0.1.0");
        assert_eq!(answers, template == "validating", "only what it answers is exported: {}", facts["exports"]);
        // `boathook test` finds it where it was built.
        let tested = typed(&folder.join(&name), ["test", "--cache-dir", &cache_dir().display().to_string()]).await;
        assert_eq!(tested.code, Some(0), "{}{}", tested.stdout, tested.stderr);
        has_no_wrong_types(&folder.join(&name)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_label_watcher_in_a_script_builds_and_passes_its_scenarios() {
    new_builds_and_passes("label-watcher").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_operator_in_a_script_builds_and_passes_its_scenarios() {
    new_builds_and_passes("operator").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_schedule_in_a_script_builds_and_passes_its_scenarios() {
    new_builds_and_passes("schedule").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_startup_in_a_script_builds_and_passes_its_scenarios() {
    new_builds_and_passes("startup").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_validating_hook_in_a_script_builds_and_passes_its_scenarios() {
    new_builds_and_passes("validating").await;
}

/// By the first command that needs it, which says so, and kept for all others.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_interpreter_is_compiled_once_for_all_commands_of_authors() {
    let folder = fresh("script-once");
    project(&folder, "web", "ts", "startup").await;
    let cache = tempfile::tempdir().unwrap();
    let typed = async |arguments: &[&str]| {
        let mut command = with_path(command(&folder, arguments));
        command.env("XDG_CACHE_HOME", cache.path());
        let ended = run(command).await;
        assert_eq!(ended.code, Some(0), "{arguments:?}: {}{}", ended.stdout, ended.stderr);
        ended.stderr
    };
    for (arguments, code) in [(&["rbac", "web"][..], 2), (&["bundle", "pack", "web", "--output", "packed"], 1)] {
        let ended = run(with_path(command(&folder, arguments))).await;
        refused(&ended, code, &["web is a project without a component", "run `boathook build web`"]);
    }
    let said = "compiling the interpreter for this machine";
    let first = typed(&["build", "web"]).await;
    assert_eq!(first.matches(said).count(), 1, "{first}");
    let component = "web/target/boathook/web.wasm";
    for arguments in [
        &["build", "web"][..],
        &["test", "web"],
        &["inspect", component],
        &["run", component],
        // A project stands for what was built of it.
        &["rbac", "web"],
        &["bundle", "pack", "web", "--output", "packed"],
    ] {
        let told = typed(arguments).await;
        assert!(!told.contains(said) && !told.contains("is newer than"), "{arguments:?}: {told}");
    }
    // What is used is the component.
    edit(&folder.join("web/src/hook.ts"), "export default", "// Another one.\nexport default");
    for arguments in [
        &["test", "web"][..],
        &["inspect", component],
        &["run", component],
        &["rbac", "web"],
        &["rbac", component],
        &["bundle", "pack", "web", "--output", "stale"],
    ] {
        let stale = typed(arguments).await;
        assert!(stale.contains("web/src/hook.ts is newer than "), "{arguments:?}: {stale}");
        assert_eq!(stale.matches("`boathook build` first").count(), 1, "{arguments:?}: {stale}");
    }
    // Named in the project.
    let mut inspect = with_path(command(&folder.join("web"), ["inspect", "target/boathook/web.wasm"]));
    inspect.env("XDG_CACHE_HOME", cache.path());
    let stale = run(inspect).await.stderr;
    assert!(stale.contains("src/hook.ts is newer than target/boathook/web.wasm"), "{stale}");
}

/// A project's other files are for its tools.
#[tokio::test]
async fn a_bundle_of_a_project_has_its_schema_and_its_readme() {
    let folder = fresh("script-packed");
    project(&folder, "web", "js", "startup").await;
    let web = folder.join("web");
    fs::write(web.join("settings.schema.json"), r#"{"type": "object"}"#).unwrap();
    assert_eq!(build(&folder, "web").await.code, Some(0));
    for arguments in [
        &["bundle", "pack", "web", "--output", "packed"][..],
        &["bundle", "pull", "packed", "--output", "pulled", "--unverified", "--store", "store"],
    ] {
        let mut command = command(&folder, arguments);
        command.env("XDG_CACHE_HOME", cache_dir().parent().unwrap());
        let ended = run(command).await;
        assert_eq!(ended.code, Some(0), "{arguments:?}: {}", ended.stderr);
    }
    let pulled = folder.join("pulled");
    for name in ["settings.schema.json", "README.md"] {
        assert_eq!(fs::read(pulled.join(name)).unwrap(), fs::read(web.join(name)).unwrap(), "{name}");
    }
    let mut names: Vec<_> = fs::read_dir(&pulled).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    names.sort();
    assert_eq!(names, ["README.md", "bundle.json", "settings.schema.json", "web.wasm"]);
}

/// No error, because the cluster may know more kinds.
#[tokio::test]
async fn a_misspelt_kind_is_warned_of_when_it_is_built() {
    let folder = fresh("script-misspelt");
    project(&folder, "web", "js", "label-watcher").await;
    edit(&folder.join("web/src/hook.js"), "kind: \"Namespace\"", "kind: \"Namespce\"");
    let built = run(with_path(command(&folder, ["build", "web"]))).await;
    assert_eq!(built.code, Some(0), "{}", built.stderr);
    let warning =
        "Warning:  kubernetes binding \"namespaces\": no kind \"Namespce\" is known in v1: did you mean \"Namespace\"?";
    assert!(built.stdout.contains(warning), "{}", built.stdout);
}

#[track_caller]
fn refused(ended: &Ended, code: i32, parts: &[&str]) {
    assert_eq!(ended.code, Some(code), "{}", ended.stderr);
    for part in parts {
        assert!(ended.stderr.contains(part), "no {part:?} in {}", ended.stderr);
    }
}

#[tokio::test]
async fn what_stands_in_the_way_of_a_script_is_reported_with_its_mend() {
    let folder = fresh("script-broken");
    bare(&folder, "web", "ts", "startup").await;
    refused(&build(&folder, "web").await, 1, &["esbuild is not installed for ", "web: run `npm install` there"]);

    project(&folder, "broken", "ts", "startup").await;
    let hook = folder.join("broken/src/hook.ts");
    edit(&hook, "  run() {\n", "  run() {\n    const = 1;\n");
    refused(&build(&folder, "broken").await, 1, &["src/hook.ts:16:10", "esbuild cannot bundle broken"]);
    edit(&hook, "const = 1;", "setTimeout(() => {}, 1);");
    refused(&build(&folder, "broken").await, 1, &["src/hook.ts:16:5: hooks have no `setTimeout`: "]);
    edit(&hook, "setTimeout(() => {}, 1);", "");
    edit(&hook, "onStartup: 10", "onStart: 10");
    refused(&build(&folder, "broken").await, 3, &["is not a hook that Boathook can use", "onStart"]);

    let mut without = with_path(command(&folder, ["build", "broken"]));
    without.env("BOATHOOK_INTERPRETERS", &folder);
    refused(&run(without).await, 1, &["no interpreter for JavaScript is installed", "BOATHOOK_INTERPRETERS"]);

    fs::create_dir(folder.join("sdk")).unwrap();
    fs::write(folder.join("sdk/package.json"), "{}").unwrap();
    let made = typed(&folder, ["new", "other", "--lang", "js", "--sdk-path", "sdk"]).await;
    refused(&made, 1, &["the SDK in sdk is not compiled: run `npm install && npm run build` there"]);
}
