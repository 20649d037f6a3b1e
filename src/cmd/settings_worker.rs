//! `boathook settings-worker`: the hidden subcommand in which settings are checked against a bundle's schema.
//!
//! Never typed by a person; the host gives it both, and takes the verdict.

use std::process::ExitCode;

use boathook_core::child::Bounds;

/// Checks once.
pub(super) fn run(bounds: Bounds) -> ExitCode {
    boathook_operator::app::serve_settings(bounds)
}
