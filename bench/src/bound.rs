//! `boathook-bench bound PID COMMAND [ARGUMENT…]`: becomes COMMAND, which the kernel kills when
//! process PID ends, however that ends. Never runs anything beside the command.

use std::{convert::Infallible, ffi::OsStr, os::unix::process::CommandExt as _, process::Command};

use anyhow::{Context as _, Result, ensure};
use rustix::process::{Signal, getppid, set_parent_process_death_signal};

/// A command that does not outlive this process. Linux binds it to the thread that starts it, so
/// that has to be the main one.
pub fn command(program: impl AsRef<OsStr>) -> Result<Command> {
    let mut command = Command::new(std::env::current_exe()?);
    command.arg("bound").arg(std::process::id().to_string()).arg(program);
    Ok(command)
}

/// The child's side of it.
pub fn exec(mut arguments: impl Iterator<Item = String>) -> Result<Infallible> {
    let parent: i32 = arguments.next().context("the process id is missing")?.parse()?;
    let program = arguments.next().context("the command is missing")?;
    set_parent_process_death_signal(Some(Signal::KILL))?;
    // A parent that ended before the request above would not be noticed any more.
    ensure!(getppid().map(|pid| pid.as_raw_nonzero().get()) == Some(parent), "the parent is gone");
    let error = Command::new(&program).args(arguments).exec();
    Err(error).with_context(|| format!("cannot start {program}"))
}
