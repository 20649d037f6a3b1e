//! The command line of `boathook interpreters`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::{
    Output,
    bundle::{Registry, Trust},
};

/// `boathook interpreters`
#[derive(Debug, Args)]
pub struct Interpreters {
    /// The subcommand.
    #[command(subcommand)]
    pub command: InterpretersCommand,
}

/// The subcommands of `boathook interpreters`.
#[derive(Debug, Subcommand)]
pub enum InterpretersCommand {
    /// List the installed interpreters
    List(List),
    /// Compile the installed interpreters, so that the operator does not compile them at start-up
    Compile(Compile),
    /// Pull an interpreter from a registry, if it is trusted
    Pull(Pull),
    /// Push an interpreter to a registry
    Push(Push),
}

/// Where interpreters are installed.
#[derive(Debug, Args)]
pub struct Places {
    /// Directory with interpreters, NAME-VERSION.wasm; several are allowed [default: share/boathook/interpreters next
    /// to this program's bin]
    #[arg(long, value_name = "DIR", env = "BOATHOOK_INTERPRETERS", value_delimiter = ':')]
    pub interpreters: Vec<PathBuf>,
}

/// `boathook interpreters list`
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  boathook interpreters list
  boathook interpreters list -o json | jq -r '.[].digest'

A script hook names its interpreter by digest (`boathook inspect FILE` shows it), and runs only on that one.")]
pub struct List {
    /// Where interpreters are installed.
    #[command(flatten)]
    pub places: Places,
    /// Output format
    #[arg(short, long, value_enum, default_value_t = Output::Text)]
    pub output: Output,
}

/// `boathook interpreters compile`
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  boathook interpreters compile
  boathook interpreters compile --interpreters /rootfs/usr/local/share/boathook/interpreters

The code is stored in a folder `compiled` next to each interpreter, for all machines of this architecture. An
operator of this version uses the code only if its own user or root owns the files and no other user can write
to them.

Exit codes: 0 when all were compiled, 1 when an interpreter was not compiled, or none is installed.")]
pub struct Compile {
    /// Where interpreters are installed.
    #[command(flatten)]
    pub places: Places,
}

/// `boathook interpreters pull`
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  boathook interpreters pull registry.example.com/boathook/js:0.1.0 -o interpreters/ --key boathook.pub
  boathook interpreters pull registry.example.com/boathook/js@sha256:… -o interpreters/ --digest sha256:…

The artifact is a single component in the CNCF's artifact layout for WebAssembly. Installed interpreters are
kept, because hooks run on the interpreter that they were built for.

Exit codes: 0 when the interpreter was pulled, 1 when it was not.")]
pub struct Pull {
    /// The interpreter: HOST/REPOSITORY with :TAG, @DIGEST or both, or a layout
    #[arg(value_name = "REF|LAYOUT")]
    pub from: String,
    /// Directory for the interpreter
    #[arg(short, long, value_name = "DIR")]
    pub output: PathBuf,
    /// Flags for trust.
    #[command(flatten)]
    pub trust: Trust,
    /// Accept the interpreter without checking who made it
    #[arg(long, conflicts_with_all = ["key", "digest", "policy"])]
    pub unverified: bool,
    /// Flags for the registry.
    #[command(flatten)]
    pub registry: Registry,
}

/// `boathook interpreters push`
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  boathook interpreters push interpreters/dist/js-0.1.0.wasm registry.example.com/boathook/js:0.1.0
  boathook bundle sign registry.example.com/boathook/js:0.1.0 --key team.key

Prints the pinned reference. Exit codes: 0 when the interpreter was pushed, 1 when it was not.")]
pub struct Push {
    /// The interpreter: NAME-VERSION.wasm
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Destination: HOST/REPOSITORY:TAG
    #[arg(value_name = "REF")]
    pub to: String,
    /// Flags for the registry.
    #[command(flatten)]
    pub registry: Registry,
}
