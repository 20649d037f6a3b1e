//! Changes of one kind that a hundred bindings listen to: through filter and queue, and on into no-op
//! runs, in this process. No API server: what a watch has read from the wire comes in.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result, ensure};
use boathook_core::{
    fair::Tenant,
    filter::{self, Binding, Driver, Filter, Input, Output, Room, Snapshots, SourceId},
    hooks,
    model::{Change, HookName, Job, Object, Resource},
    queue::{Action, Finished, HookQueueConfig, Observer, QueueConfig, Runner, Verdict},
    tasks::Tasks,
};
use boathook_sandbox::{Filters, Sandbox, SandboxConfig};
use futures::{FutureExt as _, StreamExt as _, stream};
use tokio::{
    sync::{Semaphore, mpsc},
    time::timeout,
};

use crate::{
    Paths,
    dispatch::{Nothing, request},
    report::{Report, Rounds},
};

/// Each of a hook of its own.
pub const BINDINGS: usize = 100;
/// Objects that change in turns.
const OBJECTS: usize = 500;
const WARM_UP: usize = 200;
const CHANGES: usize = 2_000;
/// Changes on their way at the same time: enough to keep all cores busy, and far below every bound.
pub const WINDOW: usize = 64;
/// The one stream that feeds a binding.
const SOURCE: SourceId = 0;
const PATIENCE: Duration = Duration::from_secs(120);

const DOCUMENT: &str = r#"{"configVersion": "v1", "kubernetes": [{
    "name": "configmaps", "apiVersion": "v1", "kind": "ConfigMap", "jqFilter": ".data",
    "executeHookOnSynchronization": false}]}"#;

/// What one round gave. An event is a change as one binding sees it.
pub struct Figures {
    /// Thousands of events a second, until the queue has seen them done.
    pub queue: f64,
    /// The same, with runs of the no-op hook in between.
    pub runs: f64,
    /// Events that one of these runs took.
    pub together: f64,
}

/// Adds the table's rows.
pub fn report(report: &mut Report, rounds: &Rounds<Figures>) {
    report.compare("100 bindings on one kind: events through filter and queue", "k/s", "", rounds, |f| f.queue);
    report.compare("– and through runs of a no-op hook", "k/s", "", rounds, |f| f.runs);
    report.compare("– events that a run took together", "", "", rounds, |f| f.together);
}

/// Measures one round.
pub async fn measure(paths: &Paths) -> Result<Figures> {
    let changes = Changes::new()?;
    let sandbox = Arc::new(Sandbox::new(SandboxConfig::default())?);
    let filters = sandbox.filters().clone();
    let (queue, _) = through(Arc::new(|_| std::future::ready(Ok(())).boxed()), &filters, &changes).await?;

    let hook = HookName::new("noop")?;
    let loaded = Arc::new(sandbox.load(&hook, &paths.guest("test/noop.wasm")?).await?);
    let action = move |job: Job| {
        let (sandbox, loaded) = (sandbox.clone(), loaded.clone());
        async move { sandbox.run(&loaded, request(&loaded, job), Arc::new(Nothing)).await.outcome }.boxed()
    };
    let (runs, together) = through(Arc::new(action), &filters, &changes).await?;
    Ok(Figures { queue, runs, together })
}

/// Thousands of events a second, and events a run.
async fn through(action: Action, filters: &Filters, changes: &Changes) -> Result<(f64, f64)> {
    let stage = Stage::new(action, filters).await?;
    stage.pass(&changes.warm_up).await?;
    let (started, runs) = (Instant::now(), stage.ended.runs.load(Ordering::Relaxed));
    stage.pass(&changes.measured).await?;
    let took = started.elapsed();
    let runs = stage.ended.runs.load(Ordering::Relaxed) - runs;
    ensure!(stage.ended.failed.load(Ordering::Relaxed) == 0, "runs failed");
    Ok((thousands_a_second(took), (CHANGES * BINDINGS) as f64 / runs as f64))
}

/// All of the measured events in this time.
pub fn thousands_a_second(took: Duration) -> f64 {
    (CHANGES * BINDINGS) as f64 / took.as_secs_f64() / 1e3
}

/// Made beforehand: reading them from the wire is not what is measured.
pub struct Changes {
    /// To fill the caches, and so that all objects are known.
    pub warm_up: Vec<Arc<Object>>,
    /// Those that count.
    pub measured: Vec<Arc<Object>>,
}

impl Changes {
    /// Every change changes what the bindings' filter gives.
    pub fn new() -> Result<Self> {
        let of = |range: std::ops::Range<usize>| range.map(object).collect::<Result<Vec<_>>>();
        let warm_up = OBJECTS + WARM_UP;
        Ok(Self { warm_up: of(0..warm_up)?, measured: of(warm_up..warm_up + CHANGES)? })
    }
}

fn object(version: usize) -> Result<Arc<Object>> {
    let number = version % OBJECTS;
    let json = serde_json::json!({
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {
            "name": format!("c-{number}"),
            "namespace": "default",
            "uid": format!("00000000-0000-4000-8000-{number:012}"),
            "resourceVersion": (version + 1).to_string(),
            "labels": {"app": "web", "tier": "backend"},
        },
        "data": {"version": version.to_string(), "log-level": "info", "url": "https://db.example.com:5432/app"},
    });
    Ok(Arc::new(Object::from_json(&json.to_string(), &"v1".into(), &"ConfigMap".into())?))
}

/// A hundred bindings, fed as watches feed them, and the queue behind them.
struct Stage {
    inlets: Vec<mpsc::Sender<Change>>,
    ended: Arc<Ended>,
    _runner: Runner,
    _drivers: tokio::task::JoinSet<()>,
}

impl Stage {
    async fn new(action: Action, filters: &Filters) -> Result<Self> {
        let ended = Arc::new(Ended::default());
        ended.room.add_permits(WINDOW * BINDINGS);
        let runner = Runner::new(QueueConfig::default(), action, ended.clone(), &Tasks::default());
        let snapshots = Snapshots::default();
        let (mut inlets, mut drivers) = (Vec::new(), tokio::task::JoinSet::new());
        for i in 0..BINDINGS {
            let hook = HookName::new(&format!("noop-{i}"))?;
            runner.handle().add_hook(hook.clone(), HookQueueConfig::default());
            let (inlet, changes) = mpsc::channel(1024);
            inlets.push(inlet);
            let queue = runner.handle();
            let out = move |output| {
                if let Output::Trigger(trigger) = output {
                    queue.push(trigger);
                }
            };
            drivers.spawn(bind(hook, changes, filters, &snapshots, out).await?);
        }
        Ok(Self { inlets, ended, _runner: runner, _drivers: drivers })
    }

    /// Gives all bindings these states, and waits until all of them were dealt with.
    async fn pass(&self, objects: &[Arc<Object>]) -> Result<()> {
        let all = async {
            for object in objects {
                self.ended.room.acquire_many(u32::try_from(BINDINGS)?).await?.forget();
                self.tell(object).await?;
            }
            // What was forgotten comes back as runs end.
            drop(self.ended.room.acquire_many(u32::try_from(WINDOW * BINDINGS)?).await?);
            anyhow::Ok(())
        };
        timeout(PATIENCE, all).await.context("events got lost")?
    }

    async fn tell(&self, object: &Arc<Object>) -> Result<()> {
        for inlet in &self.inlets {
            inlet.send(Change::Upsert(object.clone())).await.context("a binding is gone")?;
        }
        Ok(())
    }
}

/// One binding, as `app` makes it.
async fn bind(
    hook: HookName,
    changes: mpsc::Receiver<Change>,
    filters: &Filters,
    snapshots: &Snapshots,
    out: impl Fn(Output) + Send + Sync + 'static,
) -> Result<impl Future<Output = ()> + Send + 'static> {
    let spec = hooks::parse(&hook, DOCUMENT, &|_| Ok(()))?.kubernetes.pop().context("no binding")?;
    let resource = Resource::of("v1", "ConfigMap", "configmaps", true);
    // Each hook is a tenant of its own, as in an operator.
    let program = spec.jq_filter.as_deref().context("no filter")?;
    let filter = filters.compile(&Tenant::hook(hook.as_str()), program).await?;
    let driver = Driver {
        filter: Some(Arc::new(filter) as Arc<dyn Filter>),
        publisher: snapshots.publisher(&hook, &spec.name),
        status: Arc::default(),
        binding: Binding::new(hook, spec),
        own: None,
        room: Room::unbounded(),
        relist: Arc::default(),
        timings: None,
        out,
    };
    // What a binding receives from an empty cluster.
    let start = [
        Input::Served(Arc::new(resource)),
        Input::SourceAdded(SOURCE),
        Input::SourcesComplete,
        Input::Admitted,
        Input::Change(SOURCE, Change::ListStarted),
        Input::Change(SOURCE, Change::ListDone),
    ];
    let changes = stream::unfold(changes, async |mut changes| {
        let change = changes.recv().await?;
        Some((Input::Change(SOURCE, change), changes))
    });
    Ok(filter::drive(driver, stream::iter(start).chain(changes).boxed()))
}

/// Counts what ended, and lets in as much.
struct Ended {
    room: Semaphore,
    runs: AtomicUsize,
    failed: AtomicUsize,
}

impl Default for Ended {
    fn default() -> Self {
        Self { room: Semaphore::new(0), runs: AtomicUsize::new(0), failed: AtomicUsize::new(0) }
    }
}

impl Observer for Ended {
    fn finished(&self, finished: &Finished) {
        self.runs.fetch_add(1, Ordering::Relaxed);
        self.failed.fetch_add(usize::from(finished.verdict != Verdict::Done), Ordering::Relaxed);
        self.room.add_permits(finished.triggers);
    }
}
