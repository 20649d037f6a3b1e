//! `boathook cluster`: the local cluster alone, in the foreground.

use std::{
    io::Write as _,
    path::{Path, PathBuf},
    process::ExitCode,
};

use anyhow::Context as _;
use boathook_cluster::{Cluster, Options};

use super::runtime::{Stop, block_on};
use crate::cli;

pub(super) fn run(args: cli::Cluster) -> anyhow::Result<ExitCode> {
    block_on(async {
        let mut stop = Stop::new()?;
        let cluster = Cluster::start(Options { listen: args.listen, ..Options::default() }).await?;
        if let Some(file) = &args.write_kubeconfig {
            write_kubeconfig(file, &cluster.kubeconfig())?;
        }
        announce(&cluster, args.write_kubeconfig)?;
        stop.requested().await;
        cluster.shutdown().await;
        Ok(ExitCode::SUCCESS)
    })
}

/// Other programs wait for the line `ready`.
fn announce(cluster: &Cluster, kubeconfig: Option<PathBuf>) -> anyhow::Result<()> {
    match kubeconfig {
        Some(file) => {
            eprintln!("serving on {}; try: kubectl --kubeconfig {} get namespaces", cluster.url(), file.display())
        }
        None => eprintln!("serving on {}; --write-kubeconfig FILE makes a kubeconfig for it", cluster.url()),
    }
    let mut stdout = std::io::stdout().lock();
    writeln!(stdout, "ready").and_then(|()| stdout.flush()).context("can't write to stdout")
}

/// Writes the file for its owner only.
pub(super) fn write_kubeconfig(file: &Path, text: &str) -> anyhow::Result<()> {
    use std::os::unix::fs::OpenOptionsExt as _;
    let mut options = std::fs::OpenOptions::new();
    options
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(file)
        .and_then(|mut opened| opened.write_all(text.as_bytes()))
        .with_context(|| format!("can't write the kubeconfig to {}", file.display()))
}
