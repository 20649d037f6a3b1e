//! `boathook crd`: prints the definition of the HookBundle resource.

use std::{
    io::{self, Write as _},
    process::ExitCode,
};

use boathook_operator::hookbundle::definition;

use crate::cli::{Crd, Output};

pub(super) fn run(args: &Crd) -> anyhow::Result<ExitCode> {
    let text = match args.output {
        Output::Json => format!("{:#}\n", definition()),
        Output::Text | Output::Yaml => yaml_serde::to_string(&definition())?,
    };
    match io::stdout().lock().write_all(text.as_bytes()) {
        // The reader has closed the pipe.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {}
        done => done?,
    }
    Ok(ExitCode::SUCCESS)
}
