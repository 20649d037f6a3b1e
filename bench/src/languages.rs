//! The same hook in each language, in this process: it reads a Pod of 5 kB and writes one object to a host that answers
//! at once. Beside it, a process of `bash` and `jq` that makes the same object and calls nobody.
//!
//! A language whose guest was not built is left out, and said so.

use std::{
    path::Path,
    process::{Command, Stdio},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result, ensure};
use boathook_core::model::{
    CallError, Caller, EmitEvent, HookName, Limits, ListQuery, ObjectRef, Operation, Page, RunId, SnapshotSet,
};
use boathook_sandbox::{Host, LoadedHook, RunRequest, Sandbox, SandboxConfig, Written};
use futures::{FutureExt as _, future::BoxFuture};
use serde_json::json;

use crate::{
    Paths,
    dispatch::{Nothing, modified},
    report::Report,
    stats::{Percentiles, Spread, ms},
};

/// Languages, the guest of each, and the p50 to hold.
const LANGUAGES: [(&str, &str, &str); 4] = [
    ("Rust", "test/pod-images.wasm", ""),
    ("TypeScript", "js/pod-images.wasm", "≤ 0.6 ms"),
    ("Go", "go/pod-images.wasm", "≤ 1.2 ms"),
    ("Python", "python/pod-images.wasm", "≤ 2 ms"),
];
const WARM_UP: usize = 200;
/// In each language, unless `BENCH_RUNS` says otherwise.
const RUNS: usize = 3_000;
/// A process takes a hundred times as long.
const PROCESSES: usize = 100;
/// Bytes of the Pod.
const BYTES: usize = 5_000;

/// One language, or the process.
pub struct Figures {
    name: &'static str,
    hold: &'static str,
    run: Percentiles,
    /// Runs in a second, as many at a time as there are cores.
    throughput: f64,
    guest: Option<Guest>,
}

struct Guest {
    bytes: u64,
    /// From the file to a hook that can run, compiled in this process.
    compiled: Duration,
    /// The same out of the compile cache.
    loaded: Duration,
    memory: u64,
}

/// Adds the table's rows.
pub fn report(report: &mut Report, rounds: &[Vec<Figures>]) {
    let Some(first) = rounds.first() else { return };
    for one in first {
        let all = || rounds.iter().flatten().filter(|figures| figures.name == one.name);
        let spread = |pick: &dyn Fn(&Figures) -> f64| Spread::of(all().map(pick));
        let mut row = |what: String, unit, hold, pick: &dyn Fn(&Figures) -> f64| {
            report.row(what, unit, hold, spread(pick), None);
        };
        let name = one.name;
        row(format!("{name}: a run, 5 kB and one call, p50"), "ms", one.hold, &|f| ms(f.run.p50));
        row("– p99".to_owned(), "ms", "", &|f| ms(f.run.p99));
        row("– runs on all cores".to_owned(), "/s", "", &|f| f.throughput);
        if one.guest.is_some() {
            let of = |pick: fn(&Guest) -> f64| move |f: &Figures| f.guest.as_ref().map_or(f64::NAN, pick);
            row("– bundle".to_owned(), "kB", "", &of(|guest| guest.bytes as f64 / 1e3));
            row("– loaded, compiled before".to_owned(), "ms", "", &of(|guest| ms(guest.loaded)));
            row("– loaded for the first time".to_owned(), "ms", "", &of(|guest| ms(guest.compiled)));
            row("– memory of a run".to_owned(), "MB", "", &of(|guest| guest.memory as f64 / 1e6));
        }
    }
}

/// How many runs are measured of each.
pub fn runs() -> Result<usize> {
    match std::env::var("BENCH_RUNS") {
        Ok(runs) => runs.parse().context("BENCH_RUNS is not a number"),
        Err(_) => Ok(RUNS),
    }
}

/// Measures all languages once, and the process.
pub async fn measure(paths: &Paths) -> Result<Vec<Figures>> {
    let runs = runs()?;
    let mut figures = Vec::new();
    for (name, guest, hold) in LANGUAGES {
        match std::fs::read(paths.hooks.join(guest)) {
            Ok(component) => figures.push(language(paths, runs, (name, hold), &component, 1).await?),
            Err(error) => eprintln!("bench: {name} is left out: {guest}: {error}"),
        }
    }
    match process().await {
        Ok(process) => figures.push(process),
        Err(error) => eprintln!("bench: bash and jq are left out: {error:#}"),
    }
    Ok(figures)
}

/// Measures one hook that makes so many writes in each run.
pub async fn language(
    paths: &Paths,
    runs: usize,
    (name, hold): (&'static str, &'static str),
    component: &[u8],
    writes: u64,
) -> Result<Figures> {
    let cache = tempfile::tempdir()?;
    let config = || SandboxConfig {
        cache_dir: Some(cache.path().to_owned()),
        interpreters: vec![paths.interpreters.clone()],
        ..SandboxConfig::default()
    };
    let hook = HookName::new("pod-images")?;
    let load = async || {
        let sandbox = Sandbox::new(config())?;
        let began = Instant::now();
        let loaded = sandbox.load(&hook, component).await?;
        anyhow::Ok((sandbox, loaded, began.elapsed()))
    };
    let (_, _, compiled) = load().await?;
    let (sandbox, hook, loaded) = load().await?;
    let stage = Arc::new(Stage { sandbox, hook, host: Arc::new(Answers::default()), runs, writes });
    let (run, memory) = stage.one_at_a_time().await.with_context(|| format!("the hook in {name}"))?;
    let throughput = stage.clone().all_at_once().await?;
    let bytes = component.len() as u64;
    Ok(Figures { name, hold, run, throughput, guest: Some(Guest { bytes, compiled, loaded, memory }) })
}

struct Stage {
    sandbox: Sandbox,
    hook: LoadedHook,
    host: Arc<Answers>,
    runs: usize,
    writes: u64,
}

impl Stage {
    async fn one_at_a_time(&self) -> Result<(Percentiles, u64)> {
        let (mut times, mut memory) = (Vec::new(), 0);
        for i in 0..WARM_UP.min(self.runs) + self.runs {
            let written = self.host.written.load(Ordering::Relaxed);
            let (took, peak) = self.run(i).await?;
            // What did not do its work is not measured.
            ensure!(self.host.written.load(Ordering::Relaxed) == written + self.writes, "a run wrote something else");
            memory = memory.max(peak);
            if i >= WARM_UP.min(self.runs) {
                times.push(took);
            }
        }
        Ok((Percentiles::of(times), memory))
    }

    async fn all_at_once(self: Arc<Self>) -> Result<f64> {
        let cores = std::thread::available_parallelism().map_or(2, usize::from);
        let began = Instant::now();
        let each = (0..cores).map(|_| {
            let stage = self.clone();
            tokio::spawn(async move {
                for i in 0..stage.runs {
                    stage.run(i).await?;
                }
                anyhow::Ok(())
            })
        });
        for ended in futures::future::join_all(each).await {
            ended??;
        }
        Ok((cores * self.runs) as f64 / began.elapsed().as_secs_f64())
    }

    async fn run(&self, i: usize) -> Result<(Duration, u64)> {
        let run = RunId::new("bench", i as u64);
        let caller = Caller::new(self.hook.name().clone(), run, Arc::new([]), false);
        let triggers = vec![modified(self.hook.name(), ("Pod", "pods"), pod(i), i)];
        let request = RunRequest { caller, attempt: 1, triggers, limits: Limits::default() };
        let began = Instant::now();
        let report = self.sandbox.run(&self.hook, request, self.host.clone()).await;
        let took = began.elapsed();
        report.outcome.map_err(|failure| anyhow::anyhow!("a run failed: {failure}"))?;
        Ok((took, report.memory_peak))
    }
}

/// A Pod as the API server has it, of about the size that Pods have.
fn pod(i: usize) -> String {
    let env: Vec<_> = (0..20).map(|i| json!({"name": format!("SETTING_{i}"), "value": format!("value-{i}")})).collect();
    let of = |filler: usize| {
        json!({
            "apiVersion": "v1", "kind": "Pod",
            "metadata": {
                "name": format!("pod-{}", i % 100), "namespace": "default",
                "labels": {"app": "shop", "tier": "backend", "pod-template-hash": format!("{i:010x}")},
                "annotations": {"example.com/filler": "x".repeat(filler)},
            },
            "spec": {"containers": [
                {"name": "main", "image": "registry.example.com/team/app:1.0.0", "env": env},
                {"name": "sidecar", "image": "registry.example.com/team/sidecar:1.0.0"},
            ]},
        })
        .to_string()
    };
    of(BYTES.saturating_sub(of(0).len()))
}

/// A host that answers each write at once, and counts them.
#[derive(Default)]
struct Answers {
    written: AtomicU64,
}

impl Host for Answers {
    fn get<'a>(
        &'a self,
        caller: &'a Caller,
        target: ObjectRef,
        of: Option<String>,
    ) -> BoxFuture<'a, Result<String, CallError>> {
        Nothing.get(caller, target, of).boxed()
    }

    fn list<'a>(&'a self, caller: &'a Caller, query: ListQuery) -> BoxFuture<'a, Result<Page, CallError>> {
        Nothing.list(caller, query)
    }

    fn write<'a>(&'a self, _: &'a Caller, _: Operation) -> BoxFuture<'a, Written> {
        self.written.fetch_add(1, Ordering::Relaxed);
        let answer = r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"pod","namespace":"default"}}"#;
        std::future::ready(Ok(Some(answer.to_owned()))).boxed()
    }

    fn batch<'a>(&'a self, caller: &'a Caller, operations: Vec<Operation>) -> BoxFuture<'a, Vec<Written>> {
        Nothing.batch(caller, operations)
    }

    fn emit_event<'a>(&'a self, caller: &'a Caller, event: EmitEvent) -> BoxFuture<'a, Result<(), CallError>> {
        Nothing.emit_event(caller, event)
    }

    fn snapshot_set(&self, hook: &HookName) -> SnapshotSet {
        Nothing.snapshot_set(hook)
    }
}

/// As people write hooks for shell-operator: contexts come in a file, and patches go to another one.
const SCRIPT: &str = r#"#!/bin/bash
if [[ $1 == "--config" ]]; then exit 0; fi
jq -c '.[].object | {apiVersion: "v1", kind: "ConfigMap",
  metadata: {namespace: .metadata.namespace, name: .metadata.name},
  data: {images: ([.spec.containers[].image] | join(" "))}}' "$BINDING_CONTEXT_PATH" >>"$KUBERNETES_PATCH_PATH"
"#;

async fn process() -> Result<Figures> {
    let folder = tempfile::tempdir()?;
    let hook = folder.path().join("hook.sh");
    std::fs::write(&hook, SCRIPT)?;
    let contexts = format!(r#"[{{"binding":"pods","type":"Event","watchEvent":"Modified","object":{}}}]"#, pod(0));
    std::fs::write(folder.path().join("contexts.json"), contexts)?;
    let mut times = Vec::new();
    for _ in 0..PROCESSES {
        times.push(spawned(folder.path(), &hook)?);
    }
    let cores = std::thread::available_parallelism().map_or(2, usize::from);
    let began = Instant::now();
    std::thread::scope(|scope| {
        let each: Vec<_> = (0..cores)
            .map(|_| scope.spawn(|| (0..PROCESSES).try_for_each(|_| spawned(folder.path(), &hook).map(drop))))
            .collect();
        each.into_iter().try_for_each(|one| one.join().unwrap_or_else(|_| anyhow::bail!("a thread panicked")))
    })?;
    let throughput = (cores * PROCESSES) as f64 / began.elapsed().as_secs_f64();
    Ok(Figures { name: "bash + jq, a process", hold: "", run: Percentiles::of(times), throughput, guest: None })
}

fn spawned(folder: &Path, hook: &Path) -> Result<Duration> {
    let patches = tempfile::NamedTempFile::new_in(folder)?;
    let began = Instant::now();
    let status = Command::new("bash")
        .arg(hook)
        .env("BINDING_CONTEXT_PATH", folder.join("contexts.json"))
        .env("KUBERNETES_PATCH_PATH", patches.path())
        .stdin(Stdio::null())
        .status()
        .context("cannot start bash")?;
    let took = began.elapsed();
    ensure!(status.success() && patches.as_file().metadata()?.len() > 0, "the hook failed: {status}; is there a jq?");
    Ok(took)
}
