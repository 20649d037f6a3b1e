//! Many script hooks on one shared interpreter, beside few components that each bring all that they need: how long a
//! start takes, and what is resident then.

use std::{path::Path, time::Duration};

use anyhow::{Context as _, Result};
use boathook_core::model::{Script, ScriptFile};

use crate::{
    Paths,
    backend::Backend,
    contender,
    report::Report,
    stats::{Spread, ms},
};

/// As many script hooks as a large cluster has.
pub const SCRIPTS: usize = 200;
const COMPONENTS: usize = 20;
const DENSE: usize = 10_000;

/// What was measured of one set of hooks.
pub struct Figures {
    what: String,
    /// Bytes of all of them.
    bytes: u64,
    cold: Start,
    warm: Vec<Start>,
}

struct Start {
    ready: Duration,
    resident: f64,
}

/// Adds the table's rows.
pub fn report(report: &mut Report, all: &[Figures]) {
    for Figures { what, bytes, cold, warm } in all {
        let warm = |pick: fn(&Start) -> f64| Spread::of(warm.iter().map(pick));
        report.row(format!("{what} ready, compiled before"), "ms", "", warm(|start| ms(start.ready)), None);
        report.row("– resident then", "MB", "", warm(|start| start.resident), None);
        report.row("– first start, which compiles", "ms", "", Spread::of([ms(cold.ready)]), None);
        report.row("– all of their files", "MB", "", Spread::of([*bytes as f64 / 1e6]), None);
    }
}

/// Starts each set of hooks on an empty cluster.
pub async fn measure(paths: &Paths, rounds: usize) -> Result<Vec<Figures>> {
    let mut figures = Vec::new();
    for (language, guest, count) in [
        ("hooks in TypeScript", "js/pod-images.wasm", SCRIPTS),
        ("hooks in Python", "python/pod-images.wasm", SCRIPTS),
        ("components of Go", "go/pod-images.wasm", COMPONENTS),
        ("components of Rust", "test/pod-images.wasm", COMPONENTS),
    ] {
        match std::fs::read(paths.hooks.join(guest)) {
            Ok(component) => figures.push(set(paths, rounds, format!("{count} {language}"), &component, count).await?),
            Err(error) => eprintln!("bench: {language} are left out: {guest}: {error}"),
        }
    }
    Ok(figures)
}

/// Measures the start of very many, as a process has them that serves many tenants. `BENCH_HOOKS` says how many.
pub async fn density(paths: &Paths, rounds: usize) -> Result<Vec<Figures>> {
    let count = match std::env::var("BENCH_HOOKS") {
        Ok(hooks) => hooks.parse().context("BENCH_HOOKS is not a number")?,
        Err(_) => DENSE,
    };
    let mut figures = Vec::new();
    for (language, guest) in [
        ("hooks in TypeScript", "js/pod-images.wasm"),
        ("hooks in Python", "python/pod-images.wasm"),
        ("components of Rust", "test/noop.wasm"),
    ] {
        match std::fs::read(paths.hooks.join(guest)) {
            Ok(component) => figures.push(set(paths, rounds, format!("{count} {language}"), &component, count).await?),
            Err(error) => eprintln!("bench: {language} are left out: {guest}: {error}"),
        }
    }
    Ok(figures)
}

/// Measures the start of so many copies of a hook.
pub async fn set(paths: &Paths, rounds: usize, what: String, component: &[u8], count: usize) -> Result<Figures> {
    let backend = Backend::start(paths).await?;
    let directory = tempfile::tempdir()?;
    let hooks = directory.path().join("hooks");
    std::fs::create_dir(&hooks)?;
    let mut bytes = 0;
    for i in 0..count {
        let hook = distinct(component, i)?;
        std::fs::write(hooks.join(format!("hook-{i}.wasm")), &hook).context("cannot write a hook")?;
        bytes += hook.len() as u64;
    }
    let cold = start(paths, &backend, &hooks).await.with_context(|| format!("the first start of {what}"))?;
    let mut warm = Vec::new();
    for _ in 0..rounds {
        warm.push(start(paths, &backend, &hooks).await?);
    }
    Ok(Figures { what, bytes, cold, warm })
}

async fn start(paths: &Paths, backend: &Backend, hooks: &Path) -> Result<Start> {
    let directory = tempfile::tempdir()?;
    std::os::unix::fs::symlink(hooks, directory.path().join("hooks"))?;
    let flags = ["--interpreters".into(), paths.interpreters.clone().into_os_string()];
    let contender = contender::boathook(paths, backend, &flags, directory).await?;
    Ok(Start { ready: contender.ready_after, resident: contender.process.resident_megabytes()? })
}

/// The same hook with a digest of its own.
fn distinct(component: &[u8], i: usize) -> Result<Vec<u8>> {
    let Some(mut script) = Script::read(component)? else {
        // A custom section: its id, its length, the length of its name, its name.
        let [.., high, low] = i.to_be_bytes();
        return Ok([component, &[0, 4, 1, b'n', high, low]].concat());
    };
    script.files.push(ScriptFile { path: "number.txt".to_owned(), content: i.to_string().into_bytes() });
    Ok(script.pack()?)
}
