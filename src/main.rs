//! The boathook binary.

use std::process::ExitCode;

fn main() -> ExitCode {
    match std::env::args().nth(1).as_deref() {
        Some("filter-worker") => boathook::cmd::filter_worker::run(),
        _ => ExitCode::SUCCESS,
    }
}
