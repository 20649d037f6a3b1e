//! The sandbox of the commands for authors. All of them use the same configuration, so that each finds what another has
//! compiled. `serve` does not use it: its pool of instances needs different code.

use std::path::PathBuf;

use anyhow::Context as _;
use boathook_author::author::Programs;
use boathook_sandbox::{CompilerConfig, SandboxConfig, interpreters_in};

use super::directories;

/// Memory limit of the process that compiles.
const MEMORY: u64 = 4 << 30;

/// With this cache directory, or the user's.
pub(super) fn config(cache: Option<PathBuf>) -> anyhow::Result<SandboxConfig> {
    let program = std::env::current_exe().context("cannot find this program's own file")?;
    // The component is the author's own, or an interpreter, which takes more memory than any hook.
    let compiler = CompilerConfig { memory: MEMORY, ..CompilerConfig::new(program) };
    Ok(SandboxConfig {
        cache_dir: cache.or_else(directories::cache),
        pooling: false,
        compiler: Some(compiler),
        interpreters: directories::interpreters(Vec::new()),
        compiles_interpreter: Some(|| {
            eprintln!("compiling the interpreter for this machine: it takes up to a minute, once, and is kept");
        }),
        ..SandboxConfig::default()
    })
}

/// Replacements for the usual programs, and the interpreters for scripts.
pub(super) fn programs() -> Programs {
    let named = |variable: &str| std::env::var_os(variable);
    Programs {
        cargo: named("CARGO"),
        go: named("GO"),
        interpreters: interpreters_in(&directories::interpreters(Vec::new())),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use boathook_sandbox::MAX_MEMORY_MIB;
    use clap::CommandFactory as _;

    use crate::cli::Cli;

    /// `cli` imports nothing, so it has its own copy of the number.
    #[test]
    fn serve_allows_as_much_memory_as_the_commands_of_authors() {
        let cli = Cli::command();
        let serve = cli.find_subcommand("serve").unwrap();
        let max_memory = serve.get_arguments().find(|argument| argument.get_id() == "max_memory").unwrap();
        assert_eq!(max_memory.get_default_values(), [MAX_MEMORY_MIB.to_string().as_str()]);
    }
}
