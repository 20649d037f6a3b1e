//! The hidden subcommands: what the operator tells the processes that it starts.

use std::path::PathBuf;

use clap::Args;

/// What a worker process may use.
#[derive(Debug, Clone, Copy, Args)]
pub struct WorkerBounds {
    /// Bytes of memory
    #[arg(long, value_name = "BYTES")]
    pub memory: u64,
    /// Seconds of CPU [default: as its parent says later]
    #[arg(long, value_name = "SECONDS")]
    pub cpu: Option<u64>,
    /// Seconds until it ends itself [default: it ends with its input]
    #[arg(long, value_name = "SECONDS")]
    pub time: Option<u64>,
}

/// `boathook compile-worker`
#[derive(Debug, Args)]
pub struct CompileWorker {
    /// What it may use.
    #[command(flatten)]
    pub bounds: WorkerBounds,
    /// Pooled or not.
    #[command(flatten)]
    pub engine: CompileFor,
    /// Write the code to this file of the cache, too
    #[arg(long, value_name = "FILE")]
    pub keep: Option<PathBuf>,
}

/// Which engine a component is compiled for.
#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
pub struct CompileFor {
    /// For an engine with a pool of instances
    #[arg(long)]
    pub pooled: bool,
    /// For an engine without one
    #[arg(long)]
    pub on_demand: bool,
}
