//! Modules: many charts from nothing to applied, a round that changes nothing, drift, one that is broken, and a rendering
//! alone.

use std::{
    ffi::OsString,
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, Instant, SystemTime},
};

use anyhow::{Context as _, Result, bail, ensure};
use boathook_core::fair::Tenant;
use boathook_modules::chart::of_directory;
use boathook_sandbox::{
    Capabilities, Chart, ChartFile, KubeVersion, NoCluster, Operation, Release, RenderRequest, Sandbox, SandboxConfig,
    Secret,
};
use futures::{StreamExt as _, TryStreamExt as _};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::{
    Api,
    api::{Patch, PatchParams, WatchEvent, WatchParams},
};
use serde_json::{Value, json};
use tokio::time::sleep;

use crate::{
    Paths,
    backend::{Backend, CONTENDER},
    contender::{self, Contender, get},
    operators::audit::{Mark, list},
    report::Report,
    stats::{Percentiles, Spread, ms},
};

const RELEASES: usize = 1_000;
const SOME: usize = 100;
const DRIFTS: usize = 200;
const RENDERS: usize = 300;
const EVERY: Duration = Duration::from_millis(100);
const PATIENCE: Duration = Duration::from_secs(900);

/// Four objects that are ready as soon as they are there, because no controller runs.
const CHART: &str = r#"{{- $m := index .Values .Release.Name }}
apiVersion: v1
kind: ConfigMap
metadata: {name: {{ .Release.Name }}, labels: {app: {{ .Release.Name }}}}
data: {port: {{ $m.port | quote }}, name: {{ .Release.Name }}}
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: {{ .Release.Name }}, labels: {app: {{ .Release.Name }}}}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: {{ .Release.Name }}, labels: {app: {{ .Release.Name }}}}
rules:
- {apiGroups: [""], resources: [configmaps], resourceNames: [{{ .Release.Name }}], verbs: [get, watch]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: {{ .Release.Name }}, labels: {app: {{ .Release.Name }}}}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: {{ .Release.Name }}}
subjects: [{kind: ServiceAccount, name: {{ .Release.Name }}, namespace: {{ .Release.Namespace }}}]
"#;

/// What was measured.
#[derive(Default)]
pub struct Figures {
    rounds: Vec<Round>,
    /// A rendering of the chart above, and of cert-manager's if it was given.
    renders: Vec<(&'static str, &'static str, Vec<Percentiles>)>,
}

struct Round {
    applied: Duration,
    resident: f64,
    peak: f64,
    touched: Duration,
    restarted: Duration,
    drift: Percentiles,
    some: Duration,
    others: Duration,
}

/// Adds the table's rows.
pub fn report(report: &mut Report, figures: &Figures) {
    type Pick = fn(&Round) -> f64;
    let rows: [(&'static str, &'static str, &'static str, Pick); 9] = [
        ("1 000 releases of four objects: from nothing to applied", "s", "≤ 45 s", |r| r.applied.as_secs_f64()),
        ("– resident then", "MB", "≤ 126 MB (120 MiB)", |r| r.resident),
        ("– the most at a time", "MB", "", |r| r.peak),
        ("– a global value that no chart uses changes: all are rendered again, 0 writes", "ms", "≤ 2 s", |r| {
            ms(r.touched)
        }),
        ("– the next operator: all are rendered again and compared, 0 writes", "ms", "", |r| ms(r.restarted)),
        ("a field is changed by somebody else → repaired, p50", "ms", "", |r| ms(r.drift.p50)),
        ("– p99", "ms", "≤ 1 s", |r| ms(r.drift.p99)),
        ("100 releases: from nothing to applied", "ms", "", |r| ms(r.some)),
        ("– one of them does not render: the other 99", "ms", "as long", |r| ms(r.others)),
    ];
    for (what, unit, hold, pick) in rows {
        report.row(what, unit, hold, Spread::of(figures.rounds.iter().map(pick)), None);
    }
    for (what, hold, times) in &figures.renders {
        let spread = |pick: fn(&Percentiles) -> Duration| Spread::of(times.iter().map(|one| ms(pick(one))));
        report.row(format!("a rendering of {what} in a fresh instance, p50"), "ms", hold, spread(|one| one.p50), None);
        report.row("– p99", "ms", "", spread(|one| one.p99), None);
    }
}

/// Measures all of it. `None` without the real API server or the chart engine.
pub async fn measure(paths: &Paths, rounds: usize) -> Result<Option<Figures>> {
    if paths.apiserver.is_none() {
        return Ok(None);
    }
    let mut figures = Figures::default();
    figures.renders.push(("a chart of four objects", "≤ 5 ms", Vec::new()));
    let chart = std::env::var_os("BENCH_CERT_MANAGER").map(PathBuf::from);
    if chart.is_some() {
        figures.renders.push(("cert-manager's chart", "≤ 70 ms", Vec::new()));
    } else {
        eprintln!("bench: cert-manager's chart is left out: BENCH_CERT_MANAGER names no directory");
    }
    let small = tempfile::tempdir()?;
    write(small.path(), &[("Chart.yaml", "{apiVersion: v2, name: m, version: 0.1.0}"), ("templates/all.yaml", CHART)])?;
    for _ in 0..rounds {
        // What was rendered before is remembered, so the values differ.
        let of_small: fn(usize) -> Value = |i| json!({"m": {"port": i}});
        let of_other: fn(usize) -> Value = |i| json!({"replicaCount": i + 1});
        let charts = [Some((small.path(), of_small)), chart.as_deref().map(|chart| (chart, of_other))];
        for ((chart, values), (_, _, times)) in charts.into_iter().flatten().zip(&mut figures.renders) {
            times.push(renders(paths, chart, values).await?);
        }
        figures.rounds.push(round(paths).await?);
    }
    Ok(Some(figures))
}

async fn renders(paths: &Paths, chart: &Path, values: fn(usize) -> Value) -> Result<Percentiles> {
    let config = SandboxConfig {
        cache_dir: Some(paths.cache.clone()),
        interpreters: vec![paths.interpreters.clone()],
        ..SandboxConfig::default()
    };
    let sandbox = Sandbox::new(config)?;
    let files = of_directory(chart)?.into_iter().map(|(path, content)| ChartFile { path, content }).collect();
    let chart = Arc::new(Chart::of_directory(files));
    let kube = KubeVersion::parse("1.36").context("a version")?;
    let capabilities = Arc::new(Capabilities::assumed(kube));
    let mut times = Vec::with_capacity(RENDERS);
    // The first ones compile the engine and read it in.
    for i in 0..RENDERS + 10 {
        let request = RenderRequest {
            chart: chart.clone(),
            values: values(i),
            release: Release {
                name: "m".to_owned(),
                namespace: "default".to_owned(),
                revision: 1,
                operation: Operation::Install,
            },
            capabilities: capabilities.clone(),
            skip_schema: false,
            now: SystemTime::UNIX_EPOCH,
            secret: Secret([0; 32]),
        };
        let began = Instant::now();
        let rendered = sandbox.charts().render(&Tenant::hook("bench"), request, Arc::new(NoCluster)).await?;
        times.push(began.elapsed());
        ensure!(!rendered.manifests.is_empty(), "the chart gives nothing");
    }
    Ok(Percentiles::of(times.split_off(10)))
}

async fn round(paths: &Paths) -> Result<Round> {
    let (backend, modules) = (Backend::audited(paths).await?, tempfile::tempdir()?);
    lay_out(modules.path(), RELEASES, false)?;
    let began = Instant::now();
    let operator = start(paths, &backend, modules.path()).await?;
    until(&operator, "ready modules", RELEASES, ready).await?;
    let applied = began.elapsed();
    let (resident, peak) = (operator.process.resident_megabytes()?, operator.process.peak_megabytes()?);

    let audit = backend.audit.as_deref().context("no audit log")?;
    let mark = Mark::now(audit)?;
    let before = steps(&metrics(&operator).await?);
    let began = Instant::now();
    configure(&backend, &json!({"global": "touched: 1\n"})).await?;
    until(&operator, "renderings", before + RELEASES, steps).await?;
    let touched = began.elapsed();
    no_writes(&mark)?;

    let drift = drifts(&backend).await?;

    drop(operator);
    let mark = Mark::now(audit)?;
    let began = Instant::now();
    let operator = start(paths, &backend, modules.path()).await?;
    until(&operator, "ready modules", RELEASES, ready).await?;
    let restarted = began.elapsed();
    no_writes(&mark)?;
    drop((operator, backend));

    let (some, others) = (few(paths, false).await?, few(paths, true).await?);
    Ok(Round { applied, resident, peak, touched, restarted, drift, some, others })
}

async fn few(paths: &Paths, broken: bool) -> Result<Duration> {
    let (backend, modules) = (Backend::audited(paths).await?, tempfile::tempdir()?);
    lay_out(modules.path(), SOME, broken)?;
    let began = Instant::now();
    let operator = start(paths, &backend, modules.path()).await?;
    until(&operator, "ready modules", SOME - usize::from(broken), ready).await?;
    Ok(began.elapsed())
}

/// One that is broken is the first one, on which no other depends.
fn lay_out(directory: &Path, count: usize, broken: bool) -> Result<()> {
    let mut values = String::new();
    for i in 0..count {
        values += &format!("m{i}Enabled: true\nm{i}: {{port: 80}}\n");
        let chart = if broken && i == 0 { "{{ fail \"broken\" }}" } else { CHART };
        write(&directory.join(format!("010-m{i}")), &[("templates/all.yaml", chart)])?;
    }
    write(directory, &[("values.yaml", &values)])
}

fn write(directory: &Path, files: &[(&str, &str)]) -> Result<()> {
    for (name, text) in files {
        let path = directory.join(name);
        std::fs::create_dir_all(path.parent().context("a parent")?)?;
        std::fs::write(path, text)?;
    }
    Ok(())
}

async fn start(paths: &Paths, backend: &Backend, modules: &Path) -> Result<Contender> {
    let directory = tempfile::tempdir()?;
    std::fs::create_dir(directory.path().join("hooks"))?;
    let flags: [OsString; 4] =
        ["--modules".into(), modules.into(), "--interpreters".into(), paths.interpreters.clone().into()];
    contender::boathook(paths, backend, &flags, directory).await
}

async fn metrics(operator: &Contender) -> Result<String> {
    let address = operator.address.as_deref().context("no address")?;
    get(address, "/metrics").await.context("no metrics")
}

async fn until(operator: &Contender, what: &str, count: usize, counted: fn(&str) -> usize) -> Result<()> {
    let began = Instant::now();
    loop {
        let has = counted(&metrics(operator).await?);
        if has >= count {
            return Ok(());
        }
        if began.elapsed() > PATIENCE {
            bail!("{has} of {count} {what} after {PATIENCE:?}; its log:\n{}", operator.process.log());
        }
        sleep(EVERY).await;
    }
}

fn ready(metrics: &str) -> usize {
    metrics.lines().filter(|line| line.starts_with("boathook_module_ready{") && line.ends_with(" 1")).count()
}

fn steps(metrics: &str) -> usize {
    let of_charts = |line: &&str| line.starts_with("boathook_module_step_seconds_count{") && line.contains("\"Chart\"");
    let count = |line: &str| line.rsplit_once(' ')?.1.parse::<usize>().ok();
    metrics.lines().filter(of_charts).filter_map(count).sum()
}

async fn configure(backend: &Backend, data: &Value) -> Result<()> {
    let api: Api<ConfigMap> = Api::default_namespaced(backend.client.clone());
    let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "addon-operator"}, "data": data});
    api.patch("addon-operator", &PatchParams::apply("bench").force(), &Patch::Apply(map)).await?;
    Ok(())
}

fn no_writes(mark: &Mark) -> Result<()> {
    let mut requests = mark.requests_of(CONTENDER)?;
    requests.retain(|what, _| !["get ", "list "].iter().any(|verb| what.starts_with(verb)) && !what.contains("review"));
    ensure!(requests.is_empty(), "it wrote: {}", list(&requests));
    Ok(())
}

/// Changes one field at a time, each in another release, and waits until it is as before.
async fn drifts(backend: &Backend) -> Result<Percentiles> {
    let api: Api<ConfigMap> = Api::default_namespaced(backend.client.clone());
    let port = |map: &ConfigMap| map.data.as_ref().and_then(|data| data.get("port")).cloned();
    let mut times = Vec::with_capacity(DRIFTS);
    for i in 0..DRIFTS {
        let name = format!("m{}", i * (RELEASES / DRIFTS));
        let began = Instant::now();
        let changed = json!({"data": {"port": "1"}});
        let map = api.patch(&name, &PatchParams::default(), &Patch::Merge(changed)).await?;
        let version = map.metadata.resource_version.context("no version")?;
        let only = WatchParams::default().fields(&format!("metadata.name={name}")).timeout(60);
        let mut events = api.watch(&only, &version).await?.boxed();
        loop {
            match events.try_next().await?.with_context(|| format!("the ConfigMap {name} is not repaired"))? {
                WatchEvent::Modified(map) if port(&map).as_deref() == Some("80") => break,
                _ => {}
            }
        }
        times.push(began.elapsed());
    }
    Ok(Percentiles::of(times))
}
