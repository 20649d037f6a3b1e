//! `boathook filter-worker`: the hidden subcommand in which filters run that may not end.
//!
//! Never typed by a person; it reads frames that the host sends.

use std::process::ExitCode;

/// Serves one program on the standard streams, until they end.
pub fn run() -> ExitCode {
    crate::filter::worker::serve()
}
