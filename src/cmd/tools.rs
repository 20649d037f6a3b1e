//! What builds hooks, as the environment has it.

use boathook_author::author::Programs;
use boathook_sandbox::interpreters_in;

use super::directories;

/// Stand-ins for the usual programs, and the interpreters that scripts can be made for.
pub(super) fn programs() -> Programs {
    let named = |variable: &str| std::env::var_os(variable);
    Programs {
        cargo: named("CARGO"),
        go: named("GO"),
        interpreters: interpreters_in(&directories::interpreters(Vec::new())),
    }
}
