//! From a project to a component, by the project's own esbuild.

use std::{
    fs,
    path::{Path, PathBuf},
};

use boathook_author::author::{ScriptBuildError, Scripts};
use tempfile::TempDir;

use super::{interpreters, js, sandbox};
use crate::{
    sandbox::support::{load, plenty, run},
    support::process,
};

/// The folder of the examples, where their tools are.
pub(super) fn examples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("hooks-wasm/js")
}

/// A project beside the examples' tools.
pub fn project(text: &str) -> TempDir {
    let tools = examples().join("node_modules");
    assert!(tools.join(".bin/esbuild").exists(), "hooks-wasm/js has no node_modules: run make scripts");
    let folder = tempfile::tempdir().unwrap();
    std::os::unix::fs::symlink(tools, folder.path().join("node_modules")).unwrap();
    fs::create_dir(folder.path().join("src")).unwrap();
    fs::write(folder.path().join("src/hook.ts"), text).unwrap();
    fs::write(folder.path().join("package.json"), r#"{"name": "mine", "type": "module"}"#).unwrap();
    folder
}

pub fn built(folder: &Path) -> Result<PathBuf, ScriptBuildError> {
    let scripts = Scripts::new(&[js()]);
    scripts.build(&scripts.package(folder)?)
}

#[tokio::test]
async fn a_trace_names_the_authors_own_lines() {
    let text = "import { hook } from \"@boathook/sdk\";\n\ninterface Pod {\n  name?: string;\n}\n\nfunction deep(pod: Pod): string {\n  return pod.name!.trim();\n}\n\nexport default hook({\n  config: { onStartup: 1 },\n  run() {\n    deep({});\n  },\n});\n";
    let folder = project(text);
    let bytes = fs::read(built(folder.path()).unwrap()).unwrap();
    assert!(bytes.len() < 50_000, "{} bytes", bytes.len());
    let sandbox = sandbox();
    let hook = load(&sandbox, "mine", &bytes).await;
    let failure = run(&sandbox, &hook, plenty()).await.outcome.unwrap_err();
    assert!(failure.message.starts_with("TypeError: "), "{failure}");
    assert!(failure.message.contains("(deep src/hook.ts:8:"), "{failure}");
    assert!(failure.message.contains("src/hook.ts:14:"), "{failure}");
}

#[tokio::test]
async fn what_hooks_lack_is_reported_by_the_build() {
    let text = "export default {\n  config: {},\n  run() {\n    setTimeout(() => {}, 1);\n    const process = { env: 1 };\n    return process.env;\n  },\n};\n";
    let error = built(project(text).path()).unwrap_err();
    let ScriptBuildError::Lacks(problems) = error else { panic!("{error}") };
    assert_eq!(problems.len(), 1, "{problems:?}");
    assert!(problems[0].starts_with("src/hook.ts:4:5: hooks have no `setTimeout`: "), "{problems:?}");
    let error = built(project("import fs from \"node:fs\";\nexport default { config: fs, run() {} };\n").path());
    assert!(matches!(error, Err(ScriptBuildError::Failed(_))), "{error:?}");
}

#[tokio::test]
async fn the_command_builds_and_inspects() {
    let folder = project(
        "import { hook } from \"@boathook/sdk\";\nexport default hook({ config: { onStartup: 1 }, run() {} });\n",
    );
    let path = std::env::var_os("PATH").unwrap();
    let mut command = process::boathook(["build", "-o", "json"]);
    command.arg(folder.path()).env("PATH", path).env("BOATHOOK_INTERPRETERS", interpreters());
    let ended = process::run(command).await;
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let facts: serde_json::Value = serde_json::from_str(&ended.stdout).unwrap();
    assert_eq!(facts["script"]["interpreter"]["digest"], js().digest);
    assert_eq!(facts["document"]["onStartup"], 1);
    assert!(facts["path"].as_str().unwrap().ends_with("target/boathook/mine.wasm"), "{facts}");
}
