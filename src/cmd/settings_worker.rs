//! `boathook settings-worker`: the hidden subcommand in which settings are checked against a bundle's schema.
//!
//! Never typed by a person; the host gives it both, and takes the verdict.

use std::process::ExitCode;

use crate::child::Bounds;

/// Checks once.
pub(super) fn run(bounds: Bounds) -> ExitCode {
    crate::app::serve_settings(bounds)
}
