//! `boathook compile-worker`: the hidden subcommand that compiles components. The operator starts it, writes a
//! component to it and reads native code from it.

use std::process::ExitCode;

use crate::cli::worker::CompileWorker;

/// Compiles one component from stdin to stdout.
pub(super) fn run(args: &CompileWorker) -> ExitCode {
    boathook_sandbox::compiler::serve(args.bounds.into(), args.engine.pooled, args.keep.as_deref())
}
