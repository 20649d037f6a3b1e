//! Measures Boathook beside a hand-written kube-rs loop that does the same job, in one run, on one
//! API server, and prints the figures as ratios.
//!
//! `boathook-bench` runs everything; `boathook-bench bare-loop` is the hand-written program.

mod backend;
mod bare;
mod contender;
mod dispatch;
mod namespaces;
mod process;
mod report;
mod stats;

use std::path::PathBuf;

use anyhow::{Context as _, Result};

/// Where the parts are; the Makefile sets what differs from the defaults.
pub struct Paths {
    /// The release binary.
    pub boathook: PathBuf,
    /// Built guests.
    pub hooks: PathBuf,
    /// The real control plane; without it the local cluster is used.
    pub apiserver: Option<PathBuf>,
}

impl Paths {
    fn from_environment() -> Self {
        let path = |name, default: &str| std::env::var_os(name).map_or_else(|| default.into(), PathBuf::from);
        Self {
            boathook: path("BOATHOOK_BIN", "target/release/boathook"),
            hooks: path("BOATHOOK_HOOKS", "hooks-wasm/dist"),
            apiserver: std::env::var_os("BOATHOOK_APISERVER").map(PathBuf::from),
        }
    }
}

#[tokio::main]
async fn main() -> Result<()> {
    let mut args = std::env::args().skip(1);
    match args.next().as_deref() {
        Some("bare-loop") => bare::run(&args.next().context("usage: boathook-bench bare-loop KUBECONFIG")?).await,
        Some(other) => anyhow::bail!("unknown argument {other:?}; usage: boathook-bench [bare-loop KUBECONFIG]"),
        None => measure(&Paths::from_environment()).await,
    }
}

async fn measure(paths: &Paths) -> Result<()> {
    let mut report = report::Report::default();
    report.dispatch = Some(dispatch::measure(&paths.hooks).await?);
    for kind in contender::KINDS {
        let backend = backend::Backend::start(paths).await?;
        report.backend = backend.name();
        let contender = contender::Contender::start(kind, paths, &backend).await?;
        report.add(kind, namespaces::measure(&backend, &contender).await?);
    }
    print!("{report}");
    Ok(())
}
