//! `boathook filter-worker`: the hidden subcommand that runs filters that may not end. The operator starts it and sends
//! it frames.

use std::process::ExitCode;

use boathook_core::child::Bounds;

use crate::cli;

/// Serves one program on the standard streams until they end.
pub fn run(bounds: Bounds) -> ExitCode {
    boathook_core::filter::worker::serve(bounds)
}

impl From<cli::worker::WorkerBounds> for Bounds {
    fn from(args: cli::worker::WorkerBounds) -> Self {
        Self { memory: args.memory, cpu: args.cpu, time: args.time }
    }
}
