//! The command line of the hidden subcommands, which the operator passes to its child processes.

use std::path::PathBuf;

use clap::Args;

/// Resource limits of a worker process.
#[derive(Debug, Clone, Copy, Args)]
pub struct WorkerBounds {
    /// Memory limit in bytes
    #[arg(long, value_name = "BYTES")]
    pub memory: u64,
    /// CPU time limit in seconds [default: as the parent process sets it later]
    #[arg(long, value_name = "SECONDS")]
    pub cpu: Option<u64>,
    /// Seconds until the process ends itself [default: it ends with its input]
    #[arg(long, value_name = "SECONDS")]
    pub time: Option<u64>,
}

/// `boathook compile-worker`
#[derive(Debug, Args)]
pub struct CompileWorker {
    /// Resource limits.
    #[command(flatten)]
    pub bounds: WorkerBounds,
    /// Which engine to compile for.
    #[command(flatten)]
    pub engine: CompileFor,
    /// Also write the code to this file of the cache
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
