//! Bundles, from a registry to a hook that runs: the command as one types it, and the exchange of a version in a running
//! operator.
//!
//! The registry is on the same machine, so these costs do not include the network's.

use std::{
    fs,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result, ensure};
use boathook_operator::app::{App, Options};
use boathook_sandbox::SandboxConfig;
use tokio::process::Command;

use crate::{
    Paths,
    backend::Backend,
    bound,
    process::Process,
    report::Report,
    stats::{Percentiles, Spread, ms},
};

const HOOKS: [&str; 6] =
    ["registry-secret", "internet-access", "node-taint", "image-policy", "pod-defaults", "crontab-conversion"];
const SWAPS: usize = 100;

/// What one round gave.
pub struct Figures {
    push: Duration,
    first: Duration,
    again: Duration,
    next: Duration,
    swap: Percentiles,
    /// Bytes of the hooks in the bundle.
    bytes: u64,
    binary: u64,
}

/// Adds the table's rows.
pub fn report(report: &mut Report, rounds: &[Figures]) {
    let mut row = |what: &str, unit, pick: &dyn Fn(&Figures) -> f64| {
        report.row(what, unit, "", Spread::of(rounds.iter().map(pick)), None);
    };
    row("a bundle of six hooks: all of its files", "MB", &|f| f.bytes as f64 / 1e6);
    row("– `bundle push`, packed before", "ms", &|f| ms(f.push));
    row("– `bundle pull`, nothing there yet", "ms", &|f| ms(f.first));
    row("– `bundle pull`, everything there", "ms", &|f| ms(f.again));
    row("– `bundle pull` of a version with one other hook", "ms", &|f| ms(f.next));
    row("a new version of a hook takes over, compiled before, p50", "ms", &|f| ms(f.swap.p50));
    row("– p99", "ms", &|f| ms(f.swap.p99));
    row("the program `boathook`", "MB", &|f| f.binary as f64 / 1e6);
}

/// Measures all of it once.
pub async fn measure(paths: &Paths) -> Result<Figures> {
    let scratch = tempfile::tempdir()?;
    let (registry, host) = registry(paths, scratch.path()).await?;
    let bench = Bench { boathook: &paths.boathook, scratch: scratch.path(), host };
    let bytes = bench.lay_out(paths)?;
    bench.run(&["bundle", "pack", "hooks", "-o", "first.bundle", "--tag", "v1"]).await?;
    let push = bench.run(&["bundle", "push", "first.bundle", &bench.reference("v1"), "--plain-http"]).await?;
    let (first, again) = (bench.pull("v1", "first").await?, bench.pull("v1", "again").await?);
    let changed = scratch.path().join("hooks").join("node-taint.wasm");
    fs::write(&changed, other(&fs::read(&changed)?, 1))?;
    bench.run(&["bundle", "push", "hooks", &bench.reference("v2"), "--plain-http"]).await?;
    let next = bench.pull("v2", "next").await?;
    drop(registry);
    let binary = fs::metadata(&paths.boathook)?.len();
    Ok(Figures { push, first, again, next, swap: swaps(paths).await?, bytes, binary })
}

struct Bench<'a> {
    boathook: &'a Path,
    scratch: &'a Path,
    host: String,
}

impl Bench<'_> {
    fn lay_out(&self, paths: &Paths) -> Result<u64> {
        let hooks = self.scratch.join("hooks");
        fs::create_dir(&hooks)?;
        let mut bytes = 0;
        for name in HOOKS {
            let file = format!("{name}.wasm");
            let component = paths.guest(&file)?;
            bytes += component.len() as u64;
            fs::write(hooks.join(file), component)?;
        }
        Ok(bytes)
    }

    fn reference(&self, tag: &str) -> String {
        format!("{}/bench/hooks:{tag}", self.host)
    }

    async fn pull(&self, tag: &str, output: &str) -> Result<Duration> {
        let reference = self.reference(tag);
        let flags = ["--output", output, "--store", "store", "--unverified", "--plain-http"];
        let took = self.run(&[&["bundle", "pull", &reference], &flags[..]].concat()).await?;
        // What brought nothing is not measured.
        ensure!(self.scratch.join(output).join("node-taint.wasm").is_file(), "a pull brought no hooks");
        Ok(took)
    }

    async fn run(&self, arguments: &[&str]) -> Result<Duration> {
        let boathook = fs::canonicalize(self.boathook)?;
        let began = Instant::now();
        let ended =
            Command::new(boathook).args(arguments).current_dir(self.scratch).kill_on_drop(true).output().await?;
        let took = began.elapsed();
        ensure!(ended.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&ended.stderr));
        Ok(took)
    }
}

async fn registry(paths: &Paths, scratch: &Path) -> Result<(Process, String)> {
    let (file, data) = (scratch.join("registry.yml"), scratch.join("registry"));
    let config = format!(
        "version: 0.1\nlog: {{level: info}}\nstorage: {{filesystem: {{rootdirectory: {}}}}}\nhttp: {{addr: '127.0.0.1:0'}}\n",
        data.display()
    );
    fs::write(&file, config)?;
    let mut command = bound::command(&paths.registry)?;
    command.arg("serve").arg(&file).env("OTEL_TRACES_EXPORTER", "none");
    let mut process = Process::start(&mut command, &scratch.join("registry.log"))?;
    let listening = async |log: &str| {
        let (_, rest) = log.split_once("listening on ")?;
        Some(rest.split(['"', ' ', ',']).next()?.to_owned())
    };
    let host = process.wait_for("the registry's address", listening).await?;
    Ok((process, host))
}

/// Two versions of a hook with a binding, in turns.
async fn swaps(paths: &Paths) -> Result<Percentiles> {
    let backend = Backend::start(paths).await?;
    let scratch = tempfile::tempdir()?;
    let versions = {
        let component = paths.guest("registry-secret.wasm")?;
        [other(&component, 1), other(&component, 2)]
    };
    let place = scratch.path().join("hooks").join("registry-secret.wasm");
    fs::create_dir(scratch.path().join("hooks"))?;
    let mut options = Options::new(backend.client.clone(), scratch.path().join("hooks"))?;
    options.sandbox = SandboxConfig { cache_dir: Some(scratch.path().join("cache")), ..SandboxConfig::default() };
    let app = App::start(options).await.context("the operator does not start")?;
    for version in &versions {
        swap(&app, &place, version).await?;
    }
    let mut times = Vec::new();
    for version in versions.iter().cycle().take(SWAPS) {
        times.push(swap(&app, &place, version).await?);
    }
    app.shutdown().await;
    Ok(Percentiles::of(times))
}

async fn swap(app: &App, place: &PathBuf, version: &[u8]) -> Result<Duration> {
    fs::write(place, version)?;
    let swapped = app.swap(place).await?;
    ensure!(swapped.from.as_ref() != Some(&swapped.to), "a swap changed nothing");
    Ok(swapped.took)
}

/// The same hook with a digest of its own: a custom section more.
fn other(component: &[u8], number: u8) -> Vec<u8> {
    [component, &[0, 3, 1, b'n', number]].concat()
}
