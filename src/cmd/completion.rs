//! `boathook completion`: prints a completion script for a shell.

use std::{io, process::ExitCode};

use crate::cli::author::Completion;

pub(super) fn run(args: &Completion) -> anyhow::Result<ExitCode> {
    match args.write(&mut io::stdout().lock()) {
        // The reader has closed the pipe.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {}
        done => done?,
    }
    Ok(ExitCode::SUCCESS)
}
