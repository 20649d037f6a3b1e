//! `boathook settings-worker`: the hidden subcommand that checks settings against a bundle's schema. The operator
//! starts it, writes both to it and reads the result.

use std::process::ExitCode;

use boathook_core::child::Bounds;

/// Runs one check.
pub(super) fn run(bounds: Bounds) -> ExitCode {
    boathook_operator::app::serve_settings(bounds)
}
