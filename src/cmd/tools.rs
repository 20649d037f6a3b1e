//! Finds the programs that build hooks, from the environment.

use boathook_author::author::Programs;
use boathook_sandbox::interpreters_in;

use super::directories;

/// Replacements for the usual programs, and the interpreters for scripts.
pub(super) fn programs() -> Programs {
    let named = |variable: &str| std::env::var_os(variable);
    Programs {
        cargo: named("CARGO"),
        go: named("GO"),
        interpreters: interpreters_in(&directories::interpreters(Vec::new())),
    }
}
