//! A component out of a source, in a process group of its own, which ends when nobody waits for it any more. Never
//! interprets what the tool chain says.

use std::path::PathBuf;

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::process::Command;

use super::source::{Origin, Source};
use crate::author::{BuildError, Cargo, Package};

/// Where the component is; that of others is there already.
pub(super) async fn build(source: &Source, cargo: &Cargo) -> Result<PathBuf, BuildError> {
    match &source.origin {
        Origin::Component(path) => Ok(path.clone()),
        Origin::Project(package) => build_project(cargo, package).await,
    }
}

async fn build_project(cargo: &Cargo, package: &Package) -> Result<PathBuf, BuildError> {
    let mut command = Command::from(cargo.building(package));
    // Ctrl-C is for us; we end the compilers that it has started.
    let child = match command.process_group(0).kill_on_drop(true).spawn() {
        Ok(child) => child,
        Err(error) => return cargo.built(package, Err(error)),
    };
    let mut group = Group(child.id().and_then(|id| Pid::from_raw(i32::try_from(id).ok()?)));
    let output = child.wait_with_output().await;
    group.0 = None;
    cargo.built(package, output)
}

/// Killed when it is dropped, if it has not ended.
struct Group(Option<Pid>);

impl Drop for Group {
    fn drop(&mut self) {
        if let Some(leader) = self.0 {
            // All of it may have ended by now.
            let _ = kill_process_group(leader, Signal::KILL);
        }
    }
}
