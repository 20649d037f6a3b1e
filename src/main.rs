//! The binary: parses the command line, runs the subcommand, and prints errors.

use std::process::ExitCode;

use boathook::{cli::Cli, cmd};
use boathook_core::model::error_chain;
use clap::Parser as _;

fn main() -> ExitCode {
    match cmd::run(Cli::parse().command) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("error: {}", error_chain(error.as_ref()));
            ExitCode::FAILURE
        }
    }
}
