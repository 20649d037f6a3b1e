//! Script hooks in Python: joined with their interpreter, bounded like any hook, and the examples.

mod build;
mod hostile;
pub mod http;
mod joined;
pub(super) mod scenarios;

use boathook_core::model::{InterpreterRef, Script, ScriptFile};
use boathook_sandbox::{LoadError, LoadedHook, Sandbox, interpreters_in};
use tokio::sync::OnceCell;

use super::interpreters;
use crate::sandbox::support::name;

/// The interpreter for Python.
pub(super) fn python() -> InterpreterRef {
    let found = interpreters_in(&[interpreters()]).into_iter().find(|interpreter| interpreter.name == "python");
    found.expect("interpreters/dist has no python-VERSION.wasm: run make interpreters")
}

/// A component of these files; the first one is the entry.
pub fn packed(files: &[(&str, &str)]) -> Vec<u8> {
    let file = |(path, content): &(&str, &str)| ScriptFile { path: (*path).into(), content: (*content).into() };
    let script = Script { interpreter: python(), entry: files[0].0.into(), files: files.iter().map(file).collect() };
    script.pack().unwrap()
}

/// A hook that starts with the operator; the body's first line is line 9 of `hook.py`.
fn running(body: &str) -> Vec<u8> {
    let body = body.lines().map(|line| format!("    {line}\n")).collect::<String>();
    packed(&[("hook.py", &format!("{HEAD}{body}"))])
}

const HEAD: &str = "import builtins, json, logging, random
import boathook
from boathook import Permanent, Retry, kube, log, metrics, settings, snapshots
from boathook.kube import Create, ObjectRef, Patch
boathook.configure({\"onStartup\": 1})

@boathook.on_run
def run(ctx):
";

/// A sandbox; the interpreter is compiled once for all tests, and for the commands that they run, which have no pool.
pub async fn sandbox() -> Sandbox {
    static COMPILED: OnceCell<()> = OnceCell::const_new();
    let compiled = COMPILED.get_or_init(|| async {
        for sandbox in [super::sandbox(), super::unpooled_sandbox()] {
            sandbox.load(&name("first"), &running("pass")).await.unwrap();
        }
    });
    compiled.await;
    super::sandbox()
}

async fn refused(files: &[(&str, &str)]) -> String {
    let error: LoadError = sandbox().await.load(&name("h"), &packed(files)).await.unwrap_err();
    boathook_core::model::error_chain(&error)
}

async fn loaded(sandbox: &Sandbox, bytes: &[u8]) -> LoadedHook {
    crate::sandbox::support::load(sandbox, "h", bytes).await
}
