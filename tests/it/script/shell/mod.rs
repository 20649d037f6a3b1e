//! Shell hooks: the examples, directories of scripts as they lie there, and what is refused.
//!
//! Left out where there is no Go, because the interpreter is not built there.

mod hostile;
mod imported;
mod joined;
mod modules;
mod projects;
mod scenarios;
mod served;

use std::{
    fs,
    path::{Path, PathBuf},
};

use boathook_core::model::{InterpreterRef, Script, ScriptFile};
use boathook_sandbox::{LoadError, LoadedHook, Sandbox, interpreters_in};
use tokio::sync::OnceCell;

use super::interpreters;
use crate::{
    sandbox::support::name,
    support::{
        guests::{cache_dir, has_go},
        process::{self, Ended},
    },
};

/// The interpreter for shell scripts.
fn shell() -> InterpreterRef {
    let found = interpreters_in(&[interpreters()]).into_iter().find(|interpreter| interpreter.name == "shell");
    found.expect("interpreters/dist has no shell-VERSION.wasm: run make interpreters")
}

/// Whether the interpreter is not there, because nothing could build it.
pub(crate) fn left_out() -> bool {
    !has_go()
}

/// A component of these files; the first one is the entry.
pub(crate) fn packed(files: &[(&str, &str)]) -> Vec<u8> {
    let file = |(path, content): &(&str, &str)| ScriptFile { path: (*path).into(), content: (*content).into() };
    let script = Script { interpreter: shell(), entry: files[0].0.into(), files: files.iter().map(file).collect() };
    script.pack().unwrap()
}

/// A hook that starts with the operator; the body's first line is line 3 of `hook.sh`.
fn running(body: &str) -> Vec<u8> {
    packed(&[("hook.sh", &format!("{HEAD}{body}\n"))])
}

const HEAD: &str = "#!/bin/bash
if [[ $1 == --config ]]; then echo '{configVersion: v1, onStartup: 1}'; exit; fi
";

/// A sandbox; the interpreter is compiled once for all tests, and for the commands that they run, which have no pool.
pub async fn sandbox() -> Sandbox {
    static COMPILED: OnceCell<()> = OnceCell::const_new();
    let compiled = COMPILED.get_or_init(|| async {
        for sandbox in [super::sandbox(), super::unpooled_sandbox()] {
            sandbox.load(&name("first"), &running("true")).await.unwrap();
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

async fn boathook(folder: &Path, arguments: &[&str]) -> Ended {
    sandbox().await;
    let mut command = process::boathook(arguments);
    command.current_dir(folder).env("BOATHOOK_INTERPRETERS", interpreters()).env("XDG_CACHE_HOME", cache_home());
    process::run(command).await
}

/// Where commands look for what other tests have compiled.
pub(crate) fn cache_home() -> PathBuf {
    let home = cache_dir().with_file_name("cache-home");
    fs::create_dir_all(&home).unwrap();
    // Another test may have made it.
    let _ = std::os::unix::fs::symlink(cache_dir(), home.join("boathook"));
    home
}

/// The examples in bash.
fn examples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("hooks-wasm/shell")
}
