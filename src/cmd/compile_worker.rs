//! `boathook compile-worker`: the hidden subcommand in which components are compiled.
//!
//! Never typed by a person; the host gives it a component and takes native code.

use std::process::ExitCode;

use crate::cli::worker::CompileWorker;

/// Compiles one component from stdin to stdout.
pub(super) fn run(args: &CompileWorker) -> ExitCode {
    boathook_sandbox::compiler::serve(args.bounds.into(), args.engine.pooled, args.keep.as_deref())
}
