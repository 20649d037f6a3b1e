//! `boathook completion`: a script for a shell. Writes nothing but that, to stdout.

use std::{io, process::ExitCode};

use crate::cli::author::Completion;

pub(super) fn run(args: &Completion) -> anyhow::Result<ExitCode> {
    match args.write(&mut io::stdout().lock()) {
        // Whoever reads has seen enough.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {}
        done => done?,
    }
    Ok(ExitCode::SUCCESS)
}
