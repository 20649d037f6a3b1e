//! `with-parent PID COMMAND [ARGUMENT…]`: becomes COMMAND, which the kernel kills when process PID ends.
//! The suite starts its servers through it, so that none outlives a test run that was itself killed.
//! It never runs anything beside the command, and never outlives PID.

use std::error::Error;
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode};

fn main() -> ExitCode {
    match become_command() {
        Ok(never) => match never {},
        Err(error) => {
            eprintln!("with-parent: {error}");
            ExitCode::FAILURE
        }
    }
}

fn become_command() -> Result<std::convert::Infallible, Box<dyn Error>> {
    let mut arguments = std::env::args_os().skip(1);
    let parent: i32 = arguments
        .next()
        .and_then(|pid| pid.to_str()?.parse().ok())
        .ok_or("the first argument is the process id of the parent")?;
    let command = arguments.next().ok_or("the second argument is the command")?;
    die_with_parent()?;
    // A parent that ended before the request above would not be noticed any more.
    if rustix::process::getppid().map(|pid| pid.as_raw_nonzero().get()) != Some(parent) {
        return Err("the parent is gone".into());
    }
    Err(Command::new(command).args(arguments).exec().into())
}

/// Linux counts the thread that started us as the parent: the suite starts children on threads that
/// live as long as itself.
#[cfg(target_os = "linux")]
fn die_with_parent() -> std::io::Result<()> {
    let kill = rustix::process::Signal::KILL;
    Ok(rustix::process::set_parent_process_death_signal(Some(kill))?)
}

/// Elsewhere the suite's own clean-up has to do.
#[cfg(not(target_os = "linux"))]
fn die_with_parent() -> std::io::Result<()> {
    Ok(())
}
