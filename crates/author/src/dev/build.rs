//! Builds a component from a source, in its own process group. The group is killed when the build is dropped.

use std::path::PathBuf;

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::process::Command;

use super::source::{Origin, Source};
use crate::author::{BuildError, Project, Tools, nothing};

/// The path of the component. A component that other tools build is already there.
pub(super) async fn build(source: &Source, tools: &Tools) -> Result<PathBuf, BuildError> {
    match &source.origin {
        Origin::Component(path) => Ok(path.clone()),
        Origin::Project(project) => build_project(tools, project).await,
    }
}

async fn build_project(tools: &Tools, project: &Project) -> Result<PathBuf, BuildError> {
    let Some(command) = tools.building(project) else {
        return tools.built(project, Ok(nothing()));
    };
    let mut command = Command::from(command);
    // Ctrl-C is for this process, which ends the compilers that it has started.
    let child = match command.process_group(0).kill_on_drop(true).spawn() {
        Ok(child) => child,
        Err(error) => return tools.built(project, Err(error)),
    };
    let mut group = Group(child.id().and_then(|id| Pid::from_raw(i32::try_from(id).ok()?)));
    let output = child.wait_with_output().await;
    group.0 = None;
    tools.built(project, output)
}

/// Killed when it is dropped, if it has not ended.
struct Group(Option<Pid>);

impl Drop for Group {
    fn drop(&mut self) {
        if let Some(leader) = self.0 {
            // The whole group may have ended already.
            let _ = kill_process_group(leader, Signal::KILL);
        }
    }
}
