//! The command line for records of runs: the flags of `boathook serve` that write them, `boathook replay` and `boathook advise`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

use super::Output;

/// Commands for records of runs.
#[derive(Debug, Subcommand)]
pub enum Record {
    /// Repeat recorded runs without a cluster, and show the differences
    Replay(Replay),
    /// Show what records prove that hooks' documents may leave out: limits, permissions, selectors and filters that are
    /// wider than what runs used, each as a patch
    Advise(Advise),
}

/// Flags for records of runs.
#[derive(Debug, Args)]
pub struct Recording {
    /// Write each run to a file in this directory, for `boathook replay`; the directory is private and created if
    /// missing
    #[arg(long, value_name = "DIR", env = "BOATHOOK_RECORD")]
    pub record: Option<PathBuf>,
    /// Which runs to record
    #[arg(long, value_enum, default_value_t = Runs::All, requires = "record", env = "BOATHOOK_RECORD_RUNS")]
    pub record_runs: Runs,
    /// Number of records to keep for each hook's successful runs, and separately for its failed runs
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=100_000), requires = "record", env = "BOATHOOK_RECORD_KEEP")]
    pub record_keep: u32,
    /// Also record the values of Secrets; by default each is replaced by a placeholder
    #[arg(long, requires = "record", env = "BOATHOOK_RECORD_SECRETS")]
    pub record_secrets: bool,
}

/// Flags for post-mortems.
#[derive(Debug, Args)]
pub struct PostMortems {
    /// Write runs that trap or exceed a limit to files in this directory: the run, its back-trace, its memory, its log and
    /// what led to it; `boathook replay` opens them. The directory is private and created if missing
    #[arg(long, value_name = "DIR", env = "BOATHOOK_POST_MORTEMS")]
    pub post_mortems: Option<PathBuf>,
    /// Number of post-mortems to keep for each hook
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=10_000), requires = "post_mortems", env = "BOATHOOK_POST_MORTEMS_KEEP")]
    pub post_mortems_keep: u32,
}

/// Which runs to record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Runs {
    /// All runs.
    All,
    /// Failed runs.
    Failed,
}

/// `boathook replay`
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  boathook replay records/                          # every run, each with its recorded component
  boathook replay records/20260105T100211.403Z_node-taint_0a1b2c3d-17.failed.record
  boathook replay records/ --hook node-taint --with target/boathook/node-taint.wasm
  boathook replay FILE.record --show                # why it failed, without a replay
  boathook replay FILE.record --to-scenario web/scenarios/incident.yaml
  boathook replay records/ --with new.wasm -o json | jq '.runs[] | select(.result == \"differs\")'

With its recorded component, a run must make the same calls in the same order, and end with the same result. With
another component, reads may differ, but the writes to each object must be the same.

Exit codes: 0 when all runs were the same, 1 when one differed, 2 when a record or a component cannot be used,
or when there is none.")]
pub struct Replay {
    /// Records, or directories of them
    #[arg(value_name = "FILE|DIR", required = true)]
    pub paths: Vec<PathBuf>,
    /// Run this component instead of the recorded one
    #[arg(long, value_name = "FILE.wasm")]
    pub with: Option<PathBuf>,
    /// Write a scenario for `boathook test` to this new file, in place of a replay: the objects that the run saw, the
    /// trigger, and the effects
    #[arg(long, value_name = "FILE.yaml", conflicts_with = "output")]
    pub to_scenario: Option<PathBuf>,
    /// Show what the record says, in place of a replay: the failure with its back-trace, the memory, the log and what led to
    /// the run
    #[arg(long, conflicts_with_all = ["with", "to_scenario"])]
    pub show: bool,
    /// Replay only runs of this hook
    #[arg(long, value_name = "NAME")]
    pub hook: Option<String>,
    /// Additional directory to search for the recorded components; may be repeated [default: `components` next to the
    /// records]
    #[arg(long, value_name = "DIR")]
    pub component_dir: Vec<PathBuf>,
    /// Number of runs at the same time [default: the number of cores]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=256))]
    pub jobs: Option<u16>,
    /// Directory for compiled components [default: the user's cache directory]
    #[arg(long, value_name = "DIR", env = "BOATHOOK_CACHE_DIR")]
    pub cache_dir: Option<PathBuf>,
    /// Output format
    #[arg(short, long, value_enum, default_value_t = Output::Text)]
    pub output: Output,
}

/// `boathook advise`
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  boathook advise records/                          # all hooks
  boathook advise records/ --hook node-taint
  boathook advise records/ --crds crds/             # with permissions for kinds that these CRDs define
  boathook advise records/ --hook node-taint -o json | jq '.hooks[0].patch'   # an RFC 6902 patch

The advice is about the document of the newest recorded component of each hook, and rests on the records of that
component. A hook needs 10 of them. No cluster is contacted.

Exit codes: 0 when there is no advice, 1 when there is, 2 when a record or a component cannot be used, or when
there is none.")]
pub struct Advise {
    /// Records, or directories of them
    #[arg(value_name = "FILE|DIR", required = true)]
    pub paths: Vec<PathBuf>,
    /// Only this hook
    #[arg(long, value_name = "NAME")]
    pub hook: Option<String>,
    /// CustomResourceDefinitions of kinds that hooks call; may be repeated
    #[arg(long, value_name = "FILE|DIR")]
    pub crds: Vec<PathBuf>,
    /// Additional directory to search for the recorded components; may be repeated [default: `components` next to the
    /// records]
    #[arg(long, value_name = "DIR")]
    pub component_dir: Vec<PathBuf>,
    /// Directory for compiled components [default: the user's cache directory]
    #[arg(long, value_name = "DIR", env = "BOATHOOK_CACHE_DIR")]
    pub cache_dir: Option<PathBuf>,
    /// Output format
    #[arg(short, long, value_enum, default_value_t = Output::Text)]
    pub output: Output,
}
