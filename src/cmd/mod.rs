//! The subcommands, one file each: from what was typed to exit code and output.

mod cluster;

mod runtime;

use std::process::ExitCode;

use crate::cli::Command;

/// Runs a subcommand to its end.
pub fn run(command: Command) -> anyhow::Result<ExitCode> {
    match command {
        Command::Cluster(args) => cluster::run(args),
        _ => anyhow::bail!("wip"),
    }
}
//! Stub.
pub mod filter_worker;
