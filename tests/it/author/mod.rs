//! `boathook new`, `build` and `completion`, as an author types them.
//!
//! Never looks into a component but by its scenarios and by what the commands print of it.

mod build;
mod completion;
mod dev;
mod go;
mod go_bindings;
mod new;
mod pages;
pub mod script;

pub use build::{BUILDING, edit, fresh, with_tools};

use std::{
    ffi::OsStr,
    path::{Path, PathBuf},
};

use tokio::process::Command;

use crate::support::process::{Ended, boathook, run};

fn repository() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// In this folder.
async fn typed<S: AsRef<OsStr>>(folder: &Path, arguments: impl IntoIterator<Item = S>) -> Ended {
    run(command(folder, arguments)).await
}

fn command<S: AsRef<OsStr>>(folder: &Path, arguments: impl IntoIterator<Item = S>) -> Command {
    let mut command = boathook(arguments);
    command.current_dir(folder);
    command
}

/// A new project in this folder, with the SDK of the repository and the versions that its guests use, which
/// are on this machine.
pub async fn project(folder: &Path, name: &str, template: &str) -> PathBuf {
    let sdk = repository().join("sdk/rust");
    let made = typed(folder, ["new", name, "--from", template, "--sdk-path", sdk.to_str().unwrap()]).await;
    assert_eq!(made.code, Some(0), "{}", made.stderr);
    let project = folder.join(name);
    std::fs::copy(repository().join("hooks-wasm/Cargo.lock"), project.join("Cargo.lock")).unwrap();
    project
}
