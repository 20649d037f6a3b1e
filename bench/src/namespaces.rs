//! Namespace created → Secret exists there: one at a time, and a thousand at once.

use std::{collections::HashMap, time::Duration};

use anyhow::{Context as _, Result};
use futures::{StreamExt as _, TryStreamExt as _, stream};
use k8s_openapi::{
    ByteString,
    api::core::v1::{Namespace, Secret},
};
use kube::{
    Api, ResourceExt as _,
    api::PostParams,
    runtime::{
        WatchStreamExt as _,
        watcher::{self, watcher},
    },
};
use tokio::{
    sync::mpsc,
    task::JoinSet,
    time::{Instant, sleep, timeout},
};

use crate::{
    Paths,
    backend::Backend,
    contender::{Contender, Job, Kind},
    report::{Report, Rounds},
    stats::{Percentiles, Spread, ms},
};

/// The Secret.
pub const NAME: &str = "registry-credentials";
/// Hooks that Boathook holds: the one that works, and idle ones.
const HOOKS: usize = 10;
/// Namespaces before those that are measured.
pub const WARM_UP: usize = 10;
const ONE_AT_A_TIME: usize = 300;
const BURST: usize = 1000;
/// Namespaces are created so many at once.
const CREATED_AT_ONCE: usize = 16;
const QUIET: Duration = Duration::from_secs(3);
const PATIENCE: Duration = Duration::from_secs(120);

/// What was measured of one contender.
pub struct Figures {
    /// Resident memory when idle, in MB.
    idle: f64,
    /// Of that, what is no page of a file, in MB.
    idle_anonymous: f64,
    /// Create request sent → Secret seen by a watch, one namespace at a time.
    one: Percentiles,
    /// First create request sent → last of the Secrets seen.
    burst: Duration,
    /// How long creating the burst's namespaces took by itself.
    burst_created: Duration,
    /// CPU time of the contender during the burst.
    burst_cpu: Duration,
}

/// Adds the table's rows. `compiled` is what was resident after a start that compiled the hooks.
pub fn report(report: &mut Report, rounds: &Rounds<Figures>, compiled: f64) {
    report.compare("idle, resident (10 hooks)", "MB", "≤ 40 MB", rounds, |figures| figures.idle);
    report.compare("– of that, no pages of files", "MB", "", rounds, |figures| figures.idle_anonymous);
    report.row("– after a start that compiled them", "MB", "", Spread::of([compiled]), None);
    report.compare("namespace → secret, p50", "ms", "≤ 1.3 ×", rounds, |figures| ms(figures.one.p50));
    report.compare("namespace → secret, p99", "ms", "", rounds, |figures| ms(figures.one.p99));
    report.compare("1 000 namespaces → 1 000 secrets", "ms", "≤ 1.3 ×", rounds, |figures| ms(figures.burst));
    report.compare("– until the namespaces were created", "ms", "", rounds, |figures| ms(figures.burst_created));
    report.compare("– CPU time of the contender", "ms", "", rounds, |figures| ms(figures.burst_cpu));
}

/// Boathook's first start, which compiles the hooks for the later ones: resident when idle, in MB.
pub async fn first_start(paths: &Paths) -> Result<f64> {
    let backend = Backend::start(paths).await?;
    create_source(&backend).await?;
    let contender = Contender::start(Kind::Boathook, paths, &backend, &job()).await?;
    sleep(QUIET).await;
    contender.process.resident_megabytes()
}

fn job() -> Job<'static> {
    let idle = (1..HOOKS).map(|i| (format!("noop-{i}"), "test/noop.wasm"));
    let hooks = idle.chain([("registry-secret".to_owned(), "registry-secret.wasm")]).collect();
    Job { hooks, bare: "bare-secrets", ..Job::default() }
}

/// Measures one contender on an API server of its own.
pub async fn measure(kind: Kind, paths: &Paths) -> Result<Figures> {
    let backend = Backend::start(paths).await?;
    create_source(&backend).await?;
    let mut copies = Copies::watch(&backend);
    let contender = Contender::start(kind, paths, &backend, &job()).await?;
    // The first namespaces show that the contender works, and warm every connection.
    for i in 0..WARM_UP {
        let name = format!("warm-{i}");
        create(&backend, &name).await?;
        copies.wait_for(&name).await?;
    }
    sleep(QUIET).await;
    let idle = contender.process.resident_megabytes()?;
    let idle_anonymous = contender.process.anonymous_megabytes()?;
    let one = one_at_a_time(&backend, &mut copies).await?;
    sleep(QUIET).await;
    let cpu = contender.process.cpu()?;
    let (burst_created, burst) = burst(&backend, &mut copies).await?;
    let burst_cpu = contender.process.cpu()?.saturating_sub(cpu);
    Ok(Figures { idle, idle_anonymous, one, burst, burst_created, burst_cpu })
}

/// The Secret that is copied.
pub async fn create_source(backend: &Backend) -> Result<()> {
    let mut source = Secret { type_: Some("kubernetes.io/dockerconfigjson".into()), ..Secret::default() };
    source.metadata.name = Some(NAME.to_owned());
    let config = br#"{"auths":{"registry.example.com":{"auth":"dXNlcjpwYXNz"}}}"#.to_vec();
    source.data = Some([(".dockerconfigjson".to_owned(), ByteString(config))].into());
    Api::namespaced(backend.client.clone(), "default").create(&PostParams::default(), &source).await?;
    Ok(())
}

/// Creates namespaces, each after the copy in the one before.
pub async fn one_at_a_time(backend: &Backend, copies: &mut Copies) -> Result<Percentiles> {
    let mut times = Vec::with_capacity(ONE_AT_A_TIME);
    for i in 0..ONE_AT_A_TIME {
        let name = format!("one-{i}");
        let started = Instant::now();
        create(backend, &name).await?;
        times.push(copies.wait_for(&name).await? - started);
    }
    Ok(Percentiles::of(times))
}

/// Creates namespaces at once. Returns how long that took, and how long the copies took.
pub async fn burst(backend: &Backend, copies: &mut Copies) -> Result<(Duration, Duration)> {
    let started = Instant::now();
    let names: Vec<_> = (0..BURST).map(|i| format!("burst-{i}")).collect();
    stream::iter(&names).map(Ok).try_for_each_concurrent(CREATED_AT_ONCE, |name| create(backend, name)).await?;
    let created = started.elapsed();
    let mut last = started;
    for name in &names {
        last = last.max(copies.wait_for(name).await?);
    }
    Ok((created, last - started))
}

/// Creates a namespace.
pub async fn create(backend: &Backend, name: &str) -> Result<()> {
    let mut namespace = Namespace::default();
    namespace.metadata.name = Some(name.to_owned());
    let created = Api::all(backend.client.clone()).create(&PostParams::default(), &namespace).await;
    created.with_context(|| format!("cannot create the namespace {name}"))?;
    Ok(())
}

/// When each namespace's copy was first seen.
pub struct Copies {
    seen: HashMap<String, Instant>,
    arriving: mpsc::UnboundedReceiver<(String, Instant)>,
    /// Ends the watch when dropped.
    _watch: JoinSet<()>,
}

impl Copies {
    /// Sees the copies from now on.
    pub fn watch(backend: &Backend) -> Self {
        let (sender, arriving) = mpsc::unbounded_channel();
        let secrets: Api<Secret> = Api::all(backend.client.clone());
        let only = watcher::Config::default().fields(&format!("metadata.name={NAME}"));
        let mut watch = JoinSet::new();
        watch.spawn(async move {
            // An error is followed by another try.
            let mut changes = std::pin::pin!(watcher(secrets, only).default_backoff().applied_objects());
            while let Some(change) = changes.next().await {
                if let Ok(secret) = change {
                    // Nobody listens any more when the measurement is over.
                    let _ = sender.send((secret.namespace().unwrap_or_default(), Instant::now()));
                }
            }
        });
        Self { seen: HashMap::new(), arriving, _watch: watch }
    }

    /// Waits for the copy in a namespace, and returns when it was seen.
    pub async fn wait_for(&mut self, namespace: &str) -> Result<Instant> {
        loop {
            if let Some(at) = self.seen.get(namespace) {
                return Ok(*at);
            }
            let next = timeout(PATIENCE, self.arriving.recv()).await;
            let (name, at) = next.with_context(|| format!("no copy in {namespace}"))?.context("the watch ended")?;
            self.seen.entry(name).or_insert(at);
        }
    }
}
