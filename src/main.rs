//! The binary: parses what was typed, runs the subcommand, prints what went wrong.

use std::process::ExitCode;

use boathook::{cli::Cli, cmd};
use clap::Parser as _;

fn main() -> ExitCode {
    match cmd::run(Cli::parse().command) {
        Ok(code) => code,
        Err(error) => {
            // The alternate form prints the chain of sources on one line.
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}
