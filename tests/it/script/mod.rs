//! Script hooks: joined with their interpreter, bounded like any hook, and the examples in TypeScript.
//!
//! Never builds an interpreter: `make interpreters` does.

pub mod book;
pub mod build;
mod bundles;
mod directories;
mod hostile;
pub mod http;
mod interpreters;
mod joined;
mod parents;
pub mod python;
mod reconcile;
mod revisions;
mod scenarios;
pub mod shell;

use std::path::{Path, PathBuf};

use boathook_core::model::{InterpreterRef, Script, ScriptFile};
use boathook_sandbox::{LoadError, LoadedHook, Sandbox, SandboxConfig, interpreters_in};

use crate::{
    sandbox::support::{name, small},
    support::guests::cache_dir,
};

/// Where the interpreters are.
pub fn interpreters() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("interpreters/dist")
}

/// The interpreter for JavaScript.
fn js() -> InterpreterRef {
    let found = interpreters_in(&[interpreters()]).into_iter().find(|interpreter| interpreter.name == "js");
    found.expect("interpreters/dist has no js-VERSION.wasm: run make interpreters")
}

/// A component of these files; the first one is the entry.
fn packed(files: &[(&str, &str)]) -> Vec<u8> {
    let file = |(path, content): &(&str, &str)| ScriptFile { path: (*path).into(), content: (*content).into() };
    let script = Script { interpreter: js(), entry: files[0].0.into(), files: files.iter().map(file).collect() };
    script.pack().unwrap()
}

/// A hook that starts with the operator, with this `run`.
fn running(run: &str) -> Vec<u8> {
    let text = format!(
        "import * as host from 'boathook:host';\nexport default {{ config: {{configVersion: 'v1', onStartup: 1}},\n{run} }};\n"
    );
    packed(&[("hook.js", &text)])
}

fn config() -> SandboxConfig {
    SandboxConfig { interpreters: vec![interpreters()], cache_dir: Some(cache_dir()), ..small() }
}

fn sandbox() -> Sandbox {
    Sandbox::new(config()).unwrap()
}

/// Its code is another.
fn unpooled_sandbox() -> Sandbox {
    Sandbox::new(SandboxConfig { pooling: false, ..config() }).unwrap()
}

async fn refused(files: &[(&str, &str)]) -> String {
    let error: LoadError = sandbox().load(&name("h"), &packed(files)).await.unwrap_err();
    boathook_core::model::error_chain(&error)
}

async fn loaded(sandbox: &Sandbox, bytes: &[u8]) -> LoadedHook {
    crate::sandbox::support::load(sandbox, "h", bytes).await
}
