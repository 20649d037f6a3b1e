//! Measures Boathook beside hand-written programs that do the same job, in one run and in turns, and
//! prints medians and ratios. `tools/bench` builds what it needs and starts it.
//!
//! `boathook-bench [PART…]` measures all parts, or the named ones; `boathook-bench bare-…` are the
//! hand-written programs.

mod alone;
mod backend;
mod bare;
mod bound;
mod bundles;
mod contender;
mod dispatch;
mod filters;
mod flow;
mod flow_bare;
mod languages;
mod modules;
mod namespaces;
mod operators;
mod pods;
mod process;
mod record;
mod report;
mod scripts;
mod shell;
mod start;
mod stats;
mod webhook;

use std::path::PathBuf;

use anyhow::{Context as _, Result, bail, ensure};
use tokio::signal::unix::{SignalKind, signal};

use backend::Backend;
use contender::{KINDS, Kind};
use report::{Report, Rounds};

/// The operator's. Parts that measure in this process, and the hand-written programs, have it, too.
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

const PARTS: [&str; 12] = [
    "dispatch",
    "record",
    "filters",
    "flow",
    "namespaces",
    "start",
    "pods",
    "webhook",
    "bundles",
    "languages",
    "scripts",
    "shell",
];
/// Measured when they are named: each takes longer than all others together.
const OPERATORS: &str = "operators";
const MODULES: &str = "modules";
const DENSITY: &str = "density";
const USAGE: &str = "usage: boathook-bench [dispatch|record|filters|flow|namespaces|start|pods|webhook|bundles|languages|scripts|shell|modules|density|operators]…";

/// Where the parts are; `tools/bench` sets what differs from the defaults.
pub struct Paths {
    /// The release binary.
    pub boathook: PathBuf,
    /// Built guests.
    pub hooks: PathBuf,
    /// Built interpreters of scripts.
    pub interpreters: PathBuf,
    /// Starts a registry.
    pub registry: PathBuf,
    /// The real control plane; without it the local cluster is used.
    pub apiserver: Option<PathBuf>,
    /// Boathook's compile cache, shared by all starts.
    pub cache: PathBuf,
}

impl Paths {
    fn from_environment(scratch: &tempfile::TempDir) -> Self {
        let path = |name, default: &str| std::env::var_os(name).map_or_else(|| default.into(), PathBuf::from);
        Self {
            boathook: path("BOATHOOK_BIN", "target/release/boathook"),
            hooks: path("BOATHOOK_HOOKS", "hooks-wasm/dist"),
            interpreters: path("BOATHOOK_INTERPRETERS", "interpreters/dist"),
            registry: path("BOATHOOK_REGISTRY", "tools/docker-registry"),
            apiserver: std::env::var_os("BOATHOOK_APISERVER").filter(|path| !path.is_empty()).map(PathBuf::from),
            cache: scratch.path().join("cache"),
        }
    }

    /// A built guest.
    pub fn guest(&self, name: &str) -> Result<Vec<u8>> {
        let path = self.hooks.join(name);
        std::fs::read(&path).with_context(|| format!("cannot read {}; `make guests` builds it", path.display()))
    }
}

#[tokio::main]
async fn main() -> Result<()> {
    let mut args = std::env::args().skip(1).peekable();
    let kubeconfig = |mut args: std::iter::Skip<_>| args.next().context("the kubeconfig is missing");
    let first = args.peek().cloned().unwrap_or_default();
    match first.as_str() {
        "bound" => match bound::exec(args.skip(1))? {},
        "bare-secrets" => bare::copy_secret(&kubeconfig(args.skip(1))?).await,
        "bare-pods" => bare::keep_labels(&kubeconfig(args.skip(1))?).await,
        "bare-webhook" => {
            let mut given = args.skip(1);
            let kubeconfig = given.next().context("the kubeconfig is missing")?;
            let certificates = given.next().context("the directory of the certificates is missing")?;
            webhook::serve(&kubeconfig, certificates.as_ref()).await
        }
        _ => {
            let parts: Vec<String> = args.collect();
            ensure!(
                parts.iter().all(
                    |part| [OPERATORS, MODULES, DENSITY].contains(&part.as_str()) || PARTS.contains(&part.as_str())
                ),
                USAGE
            );
            let (mut interrupt, mut terminate) = (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
            // What is dropped when a signal comes takes its children and files with it.
            tokio::select! {
                measured = measure(&parts) => measured,
                _ = interrupt.recv() => bail!("interrupted"),
                _ = terminate.recv() => bail!("terminated"),
            }
        }
    }
}

async fn measure(parts: &[String]) -> Result<()> {
    let scratch = tempfile::tempdir()?;
    let paths = &Paths::from_environment(&scratch);
    let rounds = match std::env::var("BENCH_ROUNDS") {
        Ok(rounds) => rounds.parse().context("BENCH_ROUNDS is not a number")?,
        Err(_) => 3,
    };
    let wanted = |part: &str| parts.is_empty() || parts.iter().any(|wanted| wanted == part);
    let mut report = Report::default();
    if wanted("dispatch") {
        let mut figures = Vec::new();
        for _ in 0..rounds {
            figures.push(dispatch::measure(paths).await?);
        }
        dispatch::report(&mut report, &figures);
    }
    if wanted("record") {
        let mut figures = Vec::new();
        for _ in 0..rounds {
            figures.push(record::measure(paths).await?);
        }
        record::report(&mut report, &figures);
    }
    if wanted("filters") {
        let mut figures = Rounds::default();
        for _ in 0..rounds {
            filters::measure(&mut figures).await?;
        }
        filters::report(&mut report, &figures);
    }
    if wanted("flow") {
        let mut figures = Rounds::default();
        for _ in 0..rounds {
            figures.add(Kind::Bare, flow_bare::measure(paths).await?);
            figures.add(Kind::Boathook, flow::measure(paths).await?);
        }
        flow::report(&mut report, &figures);
    }
    if wanted("namespaces") {
        let compiled = namespaces::first_start(paths).await?;
        let mut figures = Rounds::default();
        for _ in 0..rounds {
            for kind in KINDS {
                figures.add(kind, namespaces::measure(kind, paths).await?);
            }
        }
        namespaces::report(&mut report, &figures, compiled);
    }
    if wanted("start") {
        start::report(&mut report, &start::measure(paths, rounds).await?);
    }
    if wanted("pods") {
        pods::report(&mut report, &pods::measure(paths, rounds).await?);
    }
    if wanted("webhook") {
        let mut figures = Rounds::default();
        for _ in 0..rounds {
            for kind in KINDS {
                figures.add(kind, webhook::measure(kind, paths).await?);
            }
        }
        webhook::report(&mut report, &figures);
    }
    if wanted("bundles") {
        let mut figures = Vec::new();
        for _ in 0..rounds {
            figures.push(bundles::measure(paths).await?);
        }
        bundles::report(&mut report, &figures);
    }
    if wanted("languages") {
        let mut figures = Vec::new();
        for _ in 0..rounds {
            figures.push(languages::measure(paths).await?);
        }
        languages::report(&mut report, &figures);
    }
    if wanted("scripts") {
        scripts::report(&mut report, &scripts::measure(paths, rounds).await?);
    }
    if wanted("shell") {
        match shell::measure(paths, rounds).await? {
            Some(figures) => shell::report(&mut report, &figures),
            None => eprintln!(
                "bench: shell hooks are left out: there is no interpreter in {}",
                paths.interpreters.display()
            ),
        }
    }
    if parts.iter().any(|part| part == DENSITY) {
        scripts::report(&mut report, &scripts::density(paths, rounds).await?);
    }
    if parts.iter().any(|part| part == MODULES) {
        match modules::measure(paths, rounds).await? {
            Some(figures) => modules::report(&mut report, &figures),
            None => {
                eprintln!("bench: modules are left out: they need the real API server, which `make apiserver` builds")
            }
        }
    }
    let operators = match parts.iter().any(|part| part == OPERATORS) {
        true => operators::measure(paths, rounds).await?,
        false => None,
    };
    let backend = Backend::start(paths).await?.describe(paths).await?;
    println!("API server: {backend}. Medians of {rounds} rounds, in turns (least–most).\n");
    if parts.is_empty() || parts.iter().any(|part| part != OPERATORS) {
        println!("{report}");
    }
    match operators {
        Some(operators) => println!("{operators}"),
        None if parts.is_empty() => println!("Operators side by side take half an hour: tools/bench operators"),
        None => {}
    }
    Ok(())
}
