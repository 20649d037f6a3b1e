//! Records of runs: the flags that make them, and the command that replays them. Never runs one.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

use super::Output;

/// What is done with records.
#[derive(Debug, Subcommand)]
pub enum Record {
    /// Run recorded runs again without a cluster, and show what is different
    Replay(Replay),
}

/// Flags of `boathook serve`.
#[derive(Debug, Args)]
pub struct Recording {
    /// Write each run to a file in this directory, for `boathook replay`; made if it is missing, and
    /// private
    #[arg(long, value_name = "DIR", env = "BOATHOOK_RECORD")]
    pub record: Option<PathBuf>,
    /// Which runs are recorded
    #[arg(long, value_enum, default_value_t = Runs::All, requires = "record", env = "BOATHOOK_RECORD_RUNS")]
    pub record_runs: Runs,
    /// Records to keep of each hook's runs that succeeded, and as many of those that failed
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=100_000), requires = "record", env = "BOATHOOK_RECORD_KEEP")]
    pub record_keep: u32,
    /// Record the values of Secrets, too; by default each is replaced by a placeholder
    #[arg(long, requires = "record", env = "BOATHOOK_RECORD_SECRETS")]
    pub record_secrets: bool,
}

/// Which runs are recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Runs {
    /// All.
    All,
    /// Those that failed.
    Failed,
}

/// `boathook replay`
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  boathook replay records/                          # every run again, each with the component that it had
  boathook replay records/20260105T100211.403Z_node-taint_0a1b2c3d-17.failed.record
  boathook replay records/ --hook node-taint --with target/boathook/node-taint.wasm
  boathook replay records/ --with new.wasm -o json | jq '.runs[] | select(.result == \"differs\")'

With its own component, a run must make the same calls in the same order and end alike. With another one, reads may
differ; what it writes must be the same for each object.

Exit codes: 0 when all runs were the same, 1 when one differed, 2 when a record or a component can't be used, or there
is none.")]
pub struct Replay {
    /// Records, or directories of them
    #[arg(value_name = "FILE|DIR", required = true)]
    pub paths: Vec<PathBuf>,
    /// Run this component instead of the recorded one
    #[arg(long, value_name = "FILE.wasm")]
    pub with: Option<PathBuf>,
    /// Only runs of this hook
    #[arg(long, value_name = "NAME")]
    pub hook: Option<String>,
    /// Where else to look for the recorded components; may be repeated [default: `components` beside the
    /// records]
    #[arg(long, value_name = "DIR")]
    pub component_dir: Vec<PathBuf>,
    /// Runs at the same time [default: the number of cores]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=256))]
    pub jobs: Option<u16>,
    /// Directory for compiled components [default: the user's cache directory]
    #[arg(long, value_name = "DIR", env = "BOATHOOK_CACHE_DIR")]
    pub cache_dir: Option<PathBuf>,
    /// Output format
    #[arg(short, long, value_enum, default_value_t = Output::Text)]
    pub output: Output,
}
