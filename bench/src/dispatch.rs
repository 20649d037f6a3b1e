//! A no-op hook's run, in this process: a real queue, whose action is a real sandbox. One trigger at
//! a time, and under a steady load.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result, ensure};
use boathook_core::{
    model::{
        BindingName, CallError, CallReason, Caller, Cause, EmitEvent, HookName, Item, Job, Limits, ListQuery,
        ObjectEvent, ObjectKey, ObjectRef, Operation, Page, QueueName, Resource, RetryPolicy, RunId, SnapshotSet,
        Trigger, WatchEventKind,
    },
    queue::{Finished, HookQueueConfig, Observer, Pushed, QueueConfig, Runner, Verdict},
    tasks::Tasks,
};
use boathook_sandbox::{Host, LoadedHook, RunRequest, Sandbox, SandboxConfig, Written};
use futures::{FutureExt as _, future::BoxFuture};
use tokio::{sync::mpsc, time::timeout};

use crate::{
    Paths, alone,
    report::Report,
    stats::{Percentiles, Spread, us},
};

const WARM_UP: usize = 2_000;
const RUNS: usize = 20_000;
/// Between two triggers of the steady load.
const EVERY: Duration = Duration::from_millis(1);
const STEADY_RUNS: usize = 10_000;
const PATIENCE: Duration = Duration::from_secs(10);

/// What one round gave.
pub struct Figures {
    alone: Percentiles,
    one: Latencies,
    steady: Latencies,
}

struct Latencies {
    /// Within the action, as the sandbox runs it.
    run: Percentiles,
    /// From the job being taken out of the queue to its outcome being known to the queue.
    taken: Percentiles,
    /// From the trigger being made to the same.
    pushed: Percentiles,
}

/// Adds the table's rows.
pub fn report(report: &mut Report, rounds: &[Figures]) {
    type Pick = fn(&Figures) -> Duration;
    let rows: [(&'static str, &'static str, Pick, Option<Pick>); 10] = [
        ("no-op run, trigger taken → run finished, p50", "≤ 100 µs", |f| f.one.taken.p50, Some(|f| f.alone.p50)),
        ("no-op run, trigger taken → run finished, p99", "≤ 250 µs", |f| f.one.taken.p99, Some(|f| f.alone.p99)),
        ("– of that, within the action, p50", "", |f| f.one.run.p50, None),
        ("– of that, within the action, p99", "", |f| f.one.run.p99, None),
        ("– pushed → finished, p50", "", |f| f.one.pushed.p50, None),
        ("– pushed → finished, p99", "", |f| f.one.pushed.p99, None),
        ("no-op run at 1 000/s, taken → finished, p50", "", |f| f.steady.taken.p50, None),
        ("no-op run at 1 000/s, taken → finished, p99", "", |f| f.steady.taken.p99, None),
        ("– pushed → finished, p50", "", |f| f.steady.pushed.p50, None),
        ("– pushed → finished, p99", "", |f| f.steady.pushed.p99, None),
    ];
    for (what, hold, boathook, bare) in rows {
        let spread = |pick: Pick| Spread::of(rounds.iter().map(|figures| us(pick(figures))));
        report.row(what, "µs", hold, spread(boathook), bare.map(spread));
    }
}

/// Measures one round.
pub async fn measure(paths: &Paths) -> Result<Figures> {
    let component = paths.guest("test/noop.wasm")?;
    let alone = alone::measure(&component, RUNS).await.map_err(|error| anyhow::anyhow!("{error:?}"))?;
    let mut stage = Stage::new(&component).await?;
    stage.one_at_a_time(WARM_UP).await?;
    stage.forget();
    stage.one_at_a_time(RUNS).await?;
    let one = stage.forget();
    stage.steady(STEADY_RUNS).await?;
    Ok(Figures { alone, one, steady: stage.forget() })
}

struct Stage {
    runner: Runner,
    hook: HookName,
    ended: mpsc::UnboundedReceiver<Finished>,
    ran: mpsc::UnboundedReceiver<Duration>,
    finished: Vec<Finished>,
}

impl Stage {
    async fn new(component: &[u8]) -> Result<Self> {
        let hook = HookName::new("noop")?;
        let sandbox = Arc::new(Sandbox::new(SandboxConfig::default())?);
        let loaded = Arc::new(sandbox.load(&hook, component).await?);
        let (end, ended) = mpsc::unbounded_channel();
        let (run, ran) = mpsc::unbounded_channel();
        let action = Arc::new(move |job: Job| {
            let (sandbox, loaded, run) = (sandbox.clone(), loaded.clone(), run.clone());
            async move {
                let started = Instant::now();
                let outcome = sandbox.run(&loaded, request(&loaded, job), Arc::new(Nothing)).await.outcome;
                let _ = run.send(started.elapsed());
                outcome
            }
            .boxed()
        });
        let runner = Runner::new(QueueConfig::default(), action, Arc::new(Told(end)), &Tasks::default());
        runner.handle().add_hook(hook.clone(), HookQueueConfig::default());
        Ok(Self { runner, hook, ended, ran, finished: Vec::new() })
    }

    async fn one_at_a_time(&mut self, runs: usize) -> Result<()> {
        for i in 0..runs {
            self.push(i)?;
            self.next_end().await?;
        }
        Ok(())
    }

    /// At fixed times, whether the runs before have ended or not; neighbours may go into one run.
    async fn steady(&mut self, triggers: usize) -> Result<()> {
        let mut ticks = tokio::time::interval(EVERY);
        for i in 0..triggers {
            ticks.tick().await;
            self.push(i)?;
        }
        let mut ended: usize = 0;
        while ended < triggers {
            ended += self.next_end().await?;
        }
        Ok(())
    }

    fn push(&self, i: usize) -> Result<()> {
        let pushed = self.runner.handle().push(trigger(&self.hook, i));
        ensure!(pushed == Pushed::Queued, "a trigger was not queued: {pushed:?}");
        Ok(())
    }

    /// How many triggers the run had that ended.
    async fn next_end(&mut self) -> Result<usize> {
        let finished = timeout(PATIENCE, self.ended.recv()).await?.context("the queue is gone")?;
        ensure!(finished.verdict == Verdict::Done, "a run failed: {:?}", finished.verdict);
        let triggers = finished.triggers;
        self.finished.push(finished);
        Ok(triggers)
    }

    /// Returns the latencies of all runs up to now, and starts over.
    fn forget(&mut self) -> Latencies {
        let finished = std::mem::take(&mut self.finished);
        Latencies {
            run: Percentiles::of(std::iter::from_fn(|| self.ran.try_recv().ok()).collect()),
            taken: Percentiles::of(finished.iter().map(|finished| finished.took).collect()),
            pushed: Percentiles::of(finished.iter().map(|finished| finished.waited + finished.took).collect()),
        }
    }
}

/// An event of a small object.
pub fn trigger(hook: &HookName, i: usize) -> Trigger {
    modified(hook, ("ConfigMap", "configmaps"), OBJECT.to_owned(), i)
}

/// An event of one of a hundred objects, for a binding that is called as their resource.
pub fn modified(hook: &HookName, (kind, plural): (&'static str, &'static str), object: String, i: usize) -> Trigger {
    let resource = Resource::of("v1", kind, plural, true);
    let item = Item {
        key: ObjectKey { namespace: Some("default".into()), name: format!("object-{}", i % 100).into() },
        uid: "2a5b7f3e-0000-4000-8000-000000000000".into(),
        resource_version: i.to_string().into(),
        object: Some(object.into()),
        filter_result: None,
    };
    let event = ObjectEvent {
        kind: WatchEventKind::Modified,
        resource: Arc::new(resource),
        item: Arc::new(item),
        previous_filter_result: None,
        previous_object: None,
        managers: None,
    };
    Trigger {
        hook: hook.clone(),
        binding: BindingName::new(plural),
        queue: QueueName::Own(hook.clone()),
        cause: Cause::Event(event),
        group: None,
        snapshots: Arc::new([]),
        allow_failure: false,
        retry: RetryPolicy::default(),
        debounce: std::time::Duration::ZERO,
        created: Instant::now(),
    }
}

const OBJECT: &str = r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"c","namespace":"default","labels":{"bench":"true"}},"data":{"key":"value"}}"#;

pub fn request(loaded: &LoadedHook, job: Job) -> RunRequest {
    let run = RunId::new("bench", job.id.0);
    let caller = Caller::new(loaded.name().clone(), run, Arc::new([]), false);
    RunRequest { caller, attempt: job.attempt, triggers: job.triggers, limits: Limits::default() }
}

/// Passes on how runs ended.
struct Told(mpsc::UnboundedSender<Finished>);

impl Observer for Told {
    fn finished(&self, finished: &Finished) {
        // Nobody listens any more when the measurement is over.
        let _ = self.0.send(finished.clone());
    }
}

/// A host without a cluster; the no-op hook calls nothing.
pub struct Nothing;

fn nothing<'a, T: Send + 'a>() -> BoxFuture<'a, Result<T, CallError>> {
    let message = "there is no cluster".to_owned();
    std::future::ready(Err(CallError { reason: CallReason::NotFound, message, code: None, status: None })).boxed()
}

impl Host for Nothing {
    fn get<'a>(&'a self, _: &'a Caller, _: ObjectRef, _: Option<String>) -> BoxFuture<'a, Result<String, CallError>> {
        nothing()
    }

    fn list<'a>(&'a self, _: &'a Caller, _: ListQuery) -> BoxFuture<'a, Result<Page, CallError>> {
        nothing()
    }

    fn write<'a>(&'a self, _: &'a Caller, _: Operation) -> BoxFuture<'a, Written> {
        nothing()
    }

    fn batch<'a>(&'a self, _: &'a Caller, _: Vec<Operation>) -> BoxFuture<'a, Vec<Written>> {
        std::future::ready(Vec::new()).boxed()
    }

    fn emit_event<'a>(&'a self, _: &'a Caller, _: EmitEvent) -> BoxFuture<'a, Result<(), CallError>> {
        nothing()
    }

    fn snapshot_set(&self, _: &HookName) -> SnapshotSet {
        SnapshotSet::default()
    }
}
