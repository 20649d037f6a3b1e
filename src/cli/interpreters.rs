//! `boathook interpreters`. Never looks for one.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::{
    Output,
    bundle::{Registry, Trust},
};

/// `boathook interpreters`
#[derive(Debug, Args)]
pub struct Interpreters {
    /// What to do.
    #[command(subcommand)]
    pub command: InterpretersCommand,
}

/// The subcommands of `boathook interpreters`.
#[derive(Debug, Subcommand)]
pub enum InterpretersCommand {
    /// Show the interpreters that are installed
    List(List),
    /// Compile the interpreters that are installed, so that no host does it when it starts
    Compile(Compile),
    /// Bring an interpreter from a registry, if it is trusted
    Pull(Pull),
    /// Send an interpreter to a registry
    Push(Push),
}

/// Where interpreters are.
#[derive(Debug, Args)]
pub struct Places {
    /// Directory with interpreters, NAME-VERSION.wasm; several are allowed [default: share/boathook/interpreters
    /// beside this program's bin]
    #[arg(long, value_name = "DIR", env = "BOATHOOK_INTERPRETERS", value_delimiter = ':')]
    pub interpreters: Vec<PathBuf>,
}

/// `boathook interpreters list`
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  boathook interpreters list
  boathook interpreters list -o json | jq -r '.[].digest'

A script hook names its interpreter by digest (boathook inspect FILE shows it), and runs on no other.")]
pub struct List {
    /// Where they are.
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

The code goes to a folder `compiled` beside each interpreter, for every machine of this architecture. Hosts of this
version take it when it belongs to them or to root, and nobody else may write it.

Exit codes: 0 when all are compiled, 1 when one is not, or there is none.")]
pub struct Compile {
    /// Where they are.
    #[command(flatten)]
    pub places: Places,
}

/// `boathook interpreters pull`
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  boathook interpreters pull registry.example.com/boathook/js:0.1.0 -o interpreters/ --key boathook.pub
  boathook interpreters pull registry.example.com/boathook/js@sha256:… -o interpreters/ --digest sha256:…

The artifact is a single component, as the CNCF's layout of WebAssembly has it. Interpreters that are there stay: hooks run
on the one that they were built for.

Exit codes: 0 when it is there, 1 when not.")]
pub struct Pull {
    /// The interpreter: HOST/REPOSITORY with :TAG, @DIGEST or both, or a layout
    #[arg(value_name = "REF|LAYOUT")]
    pub from: String,
    /// Directory to put it into
    #[arg(short, long, value_name = "DIR")]
    pub output: PathBuf,
    /// Trust.
    #[command(flatten)]
    pub trust: Trust,
    /// Take it without any check of who made it
    #[arg(long, conflicts_with_all = ["key", "digest", "policy"])]
    pub unverified: bool,
    /// The registry.
    #[command(flatten)]
    pub registry: Registry,
}

/// `boathook interpreters push`
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  boathook interpreters push interpreters/dist/js-0.1.0.wasm registry.example.com/boathook/js:0.1.0
  boathook bundle sign registry.example.com/boathook/js:0.1.0 --key team.key

Prints the pinned reference. Exit codes: 0 when it was pushed, 1 when not.")]
pub struct Push {
    /// The interpreter: NAME-VERSION.wasm
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Where to: HOST/REPOSITORY:TAG
    #[arg(value_name = "REF")]
    pub to: String,
    /// The registry.
    #[command(flatten)]
    pub registry: Registry,
}
