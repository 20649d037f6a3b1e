//! `boathook schema`: prints the JSON Schema of configuration documents.

use std::{
    io::{self, Write as _},
    process::ExitCode,
};

use boathook_core::hooks::SCHEMA;

pub(super) fn run() -> anyhow::Result<ExitCode> {
    let mut out = io::stdout().lock();
    match out.write_all(SCHEMA.as_bytes()) {
        // The reader has closed the pipe.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {}
        done => done?,
    }
    Ok(ExitCode::SUCCESS)
}
