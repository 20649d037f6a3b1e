//! The binary: parses the command line, runs the subcommand, and prints errors.

use std::process::ExitCode;

use boathook::{cli::Cli, cmd};
use boathook_core::model::error_chain;

/// The same on every C library. That of glibc keeps a part of what each thread has freed, and an operator under load grew
/// by 10 MB a minute; that of musl, which the image has, makes all threads wait for one lock.
#[cfg(feature = "jemalloc")]
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn main() -> ExitCode {
    match cmd::run(Cli::read().command) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("error: {}", error_chain(error.as_ref()));
            ExitCode::FAILURE
        }
    }
}
