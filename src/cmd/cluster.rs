//! `boathook cluster`: the local cluster alone, in the foreground.

use std::{collections::BTreeSet, io::Write as _, path::Path, process::ExitCode};

use anyhow::Context as _;
use boathook_cluster::{Cluster, Controller, Options, State};

use super::runtime::{Stop, block_on};
use crate::cli;

pub(super) fn run(args: cli::Cluster) -> anyhow::Result<ExitCode> {
    block_on(async {
        let mut stop = Stop::new()?;
        let cluster = Cluster::start(options(&args)?).await?;
        if let Some(file) = &args.write_kubeconfig {
            write_kubeconfig(file, &cluster.kubeconfig())?;
        }
        announce(&cluster, args.write_kubeconfig.as_deref())?;
        stop.requested().await;
        if let Some(file) = &args.save {
            write_private(file, &cluster.save())
                .with_context(|| format!("can't write the cluster's state to {}", file.display()))?;
        }
        cluster.shutdown().await;
        Ok(ExitCode::SUCCESS)
    })
}

fn options(args: &cli::Cluster) -> anyhow::Result<Options> {
    let mut state = State::default();
    for path in &args.load {
        state.append(State::read(path)?);
    }
    let options = Options::default().listen(args.listen).state(state).garbage_collection(!args.no_garbage_collection);
    let options = args
        .services
        .iter()
        .fold(options, |options, service| options.service(&service.namespace, &service.name, service.address));
    Ok(options.rbac(args.rbac).controllers(controllers(&args.controllers)?))
}

/// The controllers of these names, each once; `all` stands for all of them.
fn controllers(names: &[String]) -> anyhow::Result<BTreeSet<Controller>> {
    let mut wanted = BTreeSet::new();
    for name in names {
        match name.as_str() {
            "all" => wanted.extend(Controller::ALL),
            name => wanted.extend([name.parse::<Controller>().context("--controllers")?]),
        }
    }
    Ok(wanted)
}

/// Other programs wait for the line `ready`.
fn announce(cluster: &Cluster, kubeconfig: Option<&Path>) -> anyhow::Result<()> {
    match kubeconfig {
        Some(file) => {
            eprintln!("serving on {}; try: kubectl --kubeconfig {} get namespaces", cluster.url(), file.display())
        }
        None => eprintln!("serving on {}; --write-kubeconfig FILE makes a kubeconfig for it", cluster.url()),
    }
    let mut stdout = std::io::stdout().lock();
    writeln!(stdout, "ready").and_then(|()| stdout.flush()).context("can't write to stdout")
}

/// Writes a kubeconfig that only its owner may read.
pub(super) fn write_kubeconfig(file: &Path, text: &str) -> anyhow::Result<()> {
    write_private(file, text).with_context(|| format!("can't write the kubeconfig to {}", file.display()))
}

/// Writes a file that only its owner may read.
pub(super) fn write_private(file: &Path, text: &str) -> std::io::Result<()> {
    use std::os::unix::fs::OpenOptionsExt as _;
    let mut options = std::fs::OpenOptions::new();
    let mut opened = options.write(true).create(true).truncate(true).mode(0o600).open(file)?;
    opened.write_all(text.as_bytes())
}
