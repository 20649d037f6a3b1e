//! Creates the services that triggers go through, and gives each stage what it calls.

use std::sync::Arc;

use boathook_core::{
    fair::Pool,
    filter::{Evaluator, Snapshots},
    memory::UNIT,
    model::Job,
    queue::Runner,
};
use boathook_kube::{access::Access, discovery::Discovery, watch::Streams};
use boathook_sandbox::Sandbox;
use futures::FutureExt as _;
use tokio::sync::watch;

use super::{
    Services,
    health::Health,
    history::History,
    hook_registry::HookRegistry,
    host::Operator,
    last::LastRuns,
    observers::Report,
    options::Options,
    patches::PatchPrograms,
    plan,
    runs::{self, Runs},
};
use crate::{record::Recorder, telemetry::server::Shown};

pub(super) fn connect(
    options: &Options,
    hook_registry: &Arc<HookRegistry>,
    sandbox: Arc<Sandbox>,
    report: Arc<Report>,
    shown: &Shown,
    health: &Arc<Health>,
    recorder: Option<Arc<Recorder>>,
) -> (Runner, Arc<Runs>, Arc<Services>) {
    let (leadership, tasks) = (health.leadership(), health.tasks());
    let evaluator = Arc::new(Evaluator::new(options.filter.clone()));
    let snapshots = Arc::new(Snapshots::default());
    let discovery = Arc::new(Discovery::new(options.client.clone()));
    let programs = Arc::new(PatchPrograms::new(evaluator.clone(), hook_registry.clone()));
    let effects = Arc::new(plan::Effects(options.effects.clone()));
    let access = Access::new(options.client.clone(), discovery.clone(), programs, options.access.clone(), effects);
    let operator = Arc::new(Operator {
        access: access.fenced(leadership.clone()),
        snapshots: snapshots.clone(),
        metrics: shown.metrics.clone(),
        hook_metrics: shown.hook_metrics.clone(),
    });
    // Each request of the API server reaches only one replica, so answers are not fenced.
    let answering = Arc::new(Operator { access, ..operator.as_ref().clone() });
    let history = Arc::new(History::new(options.run_ended.clone()));
    let last = Arc::new(LastRuns::new(options.keep_last_run));
    let runs = Arc::new(Runs::new(runs::Parts {
        hook_registry: hook_registry.clone(),
        sandbox,
        operator: operator.clone(),
        metrics: shown.metrics.clone(),
        history: history.clone(),
        last: last.clone(),
        recorder,
        plan: options.plan,
        leadership: leadership.clone(),
    }));
    let acting = runs.clone();
    let action = Arc::new(move |job: Job| {
        let runs = acting.clone();
        async move { runs.run(job).await }.boxed()
    });
    let runner = Runner::new(options.queue, action, report.clone(), tasks);
    if !leadership.is_alone() {
        runner.handle().stand_by();
    }
    let streams = Streams::new(options.client.clone(), options.streams.clone(), report);
    let (queue, health, server) = (runner.handle(), health.clone(), options.server.clone());
    let (schedules_tick, hold) = (options.schedules_tick, options.hold);
    let services = Services {
        server,
        discovery,
        streams,
        kept: Pool::new(options.kept / UNIT),
        evaluator,
        snapshots,
        queue,
        operator,
        answering,
        leadership: leadership.clone(),
        health,
        history,
        schedules_tick,
        last,
        hold,
        tasks: tasks.clone(),
        jumps: watch::Sender::default(),
    };
    (runner, runs, Arc::new(services))
}
