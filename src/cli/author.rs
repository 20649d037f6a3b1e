//! The commands of authors of hooks, and completion. Never runs one.

use std::{io, path::PathBuf};

use clap::{Args, Command, CommandFactory as _, Subcommand, ValueEnum};

use super::{Cli, Output};

/// From nothing to a component.
#[derive(Debug, Subcommand)]
pub enum Author {
    /// Make a project for a hook, that builds and passes its scenarios
    New(New),
    /// Build a component from a project, and check that it is a hook
    Build(Build),
    /// Print a completion script for a shell
    Completion(Completion),
}

/// `boathook new`
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  boathook new copy-secrets                         # in ./copy-secrets
  boathook new nightly --from schedule --dir hooks/nightly
  boathook new copy-secrets --lang go
  boathook new copy-secrets --lang python
  boathook new copy-secrets --lang ts

Exit codes: 0 when the project is there, 1 when it can't be made, 2 when the command line is wrong.")]
pub struct New {
    /// Name of the project and of the hook: lower-case letters, digits and `-`
    #[arg(value_name = "NAME")]
    pub name: String,
    /// Language of the hook
    #[arg(long, value_enum, default_value_t = Language::Rust)]
    pub lang: Language,
    /// Folder of the project, which is made, or is empty [default: NAME]
    #[arg(long, value_name = "DIR")]
    pub dir: Option<PathBuf>,
    /// What to begin with
    #[arg(long, value_name = "TEMPLATE", value_enum, default_value_t = Template::LabelWatcher)]
    pub from: Template,
    /// Use the SDK in this folder, in place of the one that `boathook` puts into the project
    #[arg(long, value_name = "DIR")]
    pub sdk_path: Option<PathBuf>,
    /// Use the SDK of the language's registry, in this program's version
    #[arg(long, conflicts_with = "sdk_path")]
    pub published_sdk: bool,
}

/// Languages that there is an SDK for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Language {
    /// Rust, built by Cargo.
    Rust,
    /// Go, built by its own tool chain.
    Go,
    /// TypeScript, for the shared interpreter
    #[value(name = "ts", alias = "typescript")]
    TypeScript,
    /// JavaScript, for the shared interpreter
    #[value(name = "js", alias = "javascript")]
    JavaScript,
    /// Python, run by the shared interpreter.
    Python,
}

/// What a project begins with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Template {
    /// Namespaces with a label have a ConfigMap
    LabelWatcher,
    /// Pods are counted by the clock
    Schedule,
    /// A namespace is made when the operator starts
    Startup,
    /// Namespaces need a label to be made
    Validating,
}

/// `boathook build`
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  boathook build                                    # the project in this folder
  boathook build hooks/nightly --out hooks-dir/     # hooks-dir/nightly.wasm
  boathook build -o json | jq -r .path

A project's language is known by its files. Cargo builds Rust, with the target wasm32-wasip2; Go 1.24 or
newer builds Go, and boathook makes a component of it. The esbuild that a project in TypeScript or JavaScript has
installed makes one script of it. The modules of a project in Python are packed as they are, which needs no Python. CARGO
and GO name other programs to do it.

Exit codes: 0 when the component is there, 1 when it can't be built (why is on stderr), 2 when the command line is
wrong, 3 when it was built and is no hook that can be used.")]
pub struct Build {
    /// Folder of the project
    #[arg(value_name = "PATH", default_value = ".")]
    pub path: PathBuf,
    /// Where to put the component: a file, or a folder that is there [default: target/boathook/NAME.wasm in
    /// the project]
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// Output format
    #[arg(short, long, value_enum, default_value_t = Output::Text)]
    pub output: Output,
}

/// `boathook completion`
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  boathook completion bash > ~/.local/share/bash-completion/completions/boathook
  boathook completion fish > ~/.config/fish/completions/boathook.fish
  source <(boathook completion zsh)                 # for this shell only")]
pub struct Completion {
    /// The shell
    #[arg(value_name = "SHELL", value_enum)]
    pub shell: clap_complete::Shell,
}

impl Completion {
    /// Writes the script.
    pub fn write(&self, out: &mut impl io::Write) -> io::Result<()> {
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut typed_by_people(), "boathook", &mut script);
        out.write_all(&script)
    }
}

/// The whole command line without the subcommands that only programs use.
fn typed_by_people() -> Command {
    let all = Cli::command();
    let shown = all.get_subcommands().filter(|subcommand| !subcommand.is_hide_set()).cloned();
    let empty = Command::new("boathook").version(env!("CARGO_PKG_VERSION")).propagate_version(true);
    empty.args(all.get_arguments().cloned()).subcommands(shown)
}
