//! One job, from the queue to the sandbox, with its log line and metrics.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use boathook_core::model::{
    BindingName, Caller, Failure, FailureKind, HookName, Job, ObjectRef, Outcome, QueueName, RunId, Stage, Trigger,
    WatchEventKind,
};
use boathook_sandbox::{Host, RunReport, RunRequest, Sandbox};
use tracing::{
    Instrument as _, Span,
    field::{Empty, display},
    info, info_span, warn,
};

use super::{Services, causes, history::Begun, hooks::Hook, ms, reconcile, shadows::Shadowed, why};
use crate::{
    record::secrets::bindings_of_secrets,
    telemetry::{TRACE_TARGET, metrics::RunLabels},
};

/// The time between two sweeps for code that no run has used.
const SWEEP: Duration = Duration::from_secs(10);

/// Code of hooks that have nothing to do takes no memory.
pub(super) async fn give_back_idle_code(sandbox: Arc<Sandbox>) {
    let mut every = tokio::time::interval(SWEEP);
    every.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        every.tick().await;
        sandbox.give_back_idle_code();
    }
}

/// Runs jobs. Cheap to clone.
#[derive(Clone)]
pub struct Runs(Arc<Services>);

/// What the reports of a run need.
struct Described {
    run: RunId,
    hook: HookName,
    binding: BindingName,
    queue: QueueName,
    /// For a run with one event: what happened, and to which object.
    event: Option<(WatchEventKind, ObjectRef)>,
    triggers: usize,
    attempt: u32,
}

impl Runs {
    pub(super) fn new(services: Arc<Services>) -> Self {
        Self(services)
    }

    /// Runs one job to its outcome.
    pub async fn run(&self, job: Job) -> Outcome {
        let outcome = self.run_with_report(job).await?.outcome;
        if self.0.plan { once_only(outcome) } else { outcome }
    }

    /// Runs one job to its outcome, and returns how it went.
    pub async fn run_with_report(&self, job: Job) -> Result<RunReport, Failure> {
        let (Some(hook), Some(first)) = (self.0.hook_registry.hook(&job.hook), job.triggers.first()) else {
            let message = format!("hook {} is not loaded", job.hook);
            return Err(Failure { kind: FailureKind::Host, message, backtrace: None });
        };
        let run = self.0.run_ids.next();
        let (allow_failure, begun) = (first.allow_failure, Begun::now(&run, &job));
        let described = Described {
            run: run.clone(),
            hook: job.hook.clone(),
            binding: first.binding.clone(),
            queue: job.queue.clone(),
            event: if job.triggers.len() == 1 { first.event() } else { None },
            triggers: job.triggers.len(),
            attempt: job.attempt,
        };
        let caller = hook.caller(run, self.0.plan);
        self.0.last.ran(&caller.hook, &job.triggers);
        let span = span(&described);
        let _live = self.0.causes.begin(causes::of_job(&described.run, &job, &span));
        let report = match reconcile::task(&hook, &job.triggers) {
            Some(task) => self.reconciled(&hook, caller, job.attempt, task).instrument(span.clone()).await,
            None => match self.with_values(&hook, caller) {
                Ok(caller) => {
                    let (attempt, limits, stage) = (job.attempt, hook.spec.limits, stage(&job.triggers));
                    let request = RunRequest { caller, attempt, triggers: job.triggers, limits };
                    let report = self.recorded(&hook, request).instrument(span.clone()).await;
                    self.patched(&hook, stage, report).await
                }
                Err(failure) => RunReport::without_guest(Err(failure)),
            },
        };
        causes::link(&self.0.causes, &described.run, &span);
        ended(&span, &report.outcome);
        let labels = RunLabels { hook: &described.hook, binding: &described.binding, queue: &described.queue };
        self.0.metrics.run_finished(labels, &report, allow_failure);
        describe(&described, &report);
        self.0.history.ended(begun, &report, allow_failure);
        if report.outcome.is_ok() {
            self.0.apply_metrics(&described.hook, &described.run, &described.binding, &report.metrics);
        }
        Ok(report)
    }

    /// Reconciles. The hook's answers are recorded where it is asked.
    async fn reconciled(&self, hook: &Hook, caller: Caller, attempt: u32, task: reconcile::Task<'_>) -> RunReport {
        let services = &self.0;
        let pass = async {
            match task {
                reconcile::Task::All(binding, trigger) => {
                    RunReport::without_guest(reconcile::all(services, hook, binding, trigger).await)
                }
                reconcile::Task::One(binding, trigger, event) => {
                    let caller = match services.reading_values(hook, caller).await {
                        Ok(caller) => caller,
                        Err(failure) => return RunReport::without_guest(Err(failure)),
                    };
                    reconcile::Pass::new(services, hook, binding, caller, trigger, attempt).run(event).await
                }
                reconcile::Task::Listed(binding) => {
                    reconcile::listed(services, &hook.spec.name, &binding);
                    RunReport::without_guest(Ok(()))
                }
                reconcile::Task::Related(binding, informer) => {
                    reconcile::related(services, &hook.spec.name, &binding, &informer);
                    RunReport::without_guest(Ok(()))
                }
            }
        };
        self.until_interrupted(hook, pass).await
    }

    /// Adds the values of the hook's module, which the run may change.
    fn with_values(&self, hook: &Hook, caller: Caller) -> Result<Caller, Failure> {
        match (&hook.module, &self.0.module_values) {
            (Some(of), Some(values)) => Ok(Caller { values: Some(values.of(of)?.into()), ..caller }),
            _ => Ok(caller),
        }
    }

    /// Takes what a run changed in the values of its module. If that is refused, the run has failed.
    async fn patched(&self, hook: &Hook, stage: Option<Stage>, report: RunReport) -> RunReport {
        let (Some(of), Some(values)) = (&hook.module, &self.0.module_values) else { return report };
        if report.outcome.is_err() || report.patch.is_empty() {
            return report;
        }
        match values.commit(&hook.spec.name, of, stage, &report.patch).await {
            Ok(()) => report,
            Err(failure) => RunReport { outcome: Err(failure), ..report },
        }
    }

    /// Runs, and notes the run if another version is compared with this one.
    async fn recorded(&self, hook: &Hook, request: RunRequest) -> RunReport {
        let operator = self.0.operator.clone();
        let Some(shadowed) = Shadowed::begin(&self.0, hook, operator.clone(), || request.clone().into()) else {
            return self.recorded_by(hook, request, operator).await;
        };
        let report = self.recorded_by(hook, request, shadowed.host()).await;
        shadowed.end(&report);
        report
    }

    /// Records the run if there is a recorder.
    async fn recorded_by(&self, hook: &Hook, request: RunRequest, operator: Arc<dyn Host>) -> RunReport {
        let Some(recorder) = &self.0.recorder else { return self.interruptible(hook, request, operator).await };
        let secrets = bindings_of_secrets(&hook.spec);
        let run = request.caller.run.clone();
        let begun = recorder.begin(operator, hook.component.digest(), secrets, request.clone());
        let report = self.interruptible(hook, request, begun.host()).await;
        begun.end(&report, || why::recorded(&self.0.causes, &run));
        report
    }

    async fn interruptible(&self, hook: &Hook, request: RunRequest, host: Arc<dyn Host>) -> RunReport {
        self.until_interrupted(hook, self.0.sandbox.run(&hook.component, request, host)).await
    }

    async fn until_interrupted(&self, hook: &Hook, run: impl Future<Output = RunReport>) -> RunReport {
        let began = Instant::now();
        tokio::select! {
            report = run => report,
            () = hook.interrupt.cancelled() => {
                let message = "the run was interrupted because a new version of the hook takes its place";
                RunReport::interrupted(message.to_owned(), began.elapsed())
            }
            () = self.0.leadership.lost() => {
                let message = "the run was interrupted because this replica no longer leads";
                RunReport::interrupted(message.to_owned(), began.elapsed())
            }
        }
    }
}

/// The stage in the life of a module that a run is for.
fn stage(triggers: &[Trigger]) -> Option<Stage> {
    let [trigger] = triggers else { return None };
    trigger.stage()
}

/// The span of one run in a trace.
fn span(described: &Described) -> Span {
    let Described { run, hook, binding, queue, event, triggers, attempt } = described;
    let (event, object) = event.as_ref().map(|(kind, object)| (kind.as_str(), display(object))).unzip();
    info_span!(
        target: TRACE_TARGET, "run", %hook, %run, %binding, %queue, attempt, event, object, triggers,
        outcome = Empty, otel.status_code = Empty, otel.status_description = Empty
    )
}

fn ended(span: &Span, outcome: &Outcome) {
    if span.is_disabled() {
        return;
    }
    span.record("outcome", outcome.as_ref().map_or_else(|failure| failure.kind.label(), |()| "success"));
    if let Err(failure) = outcome {
        span.record("otel.status_code", "ERROR");
        span.record("otel.status_description", failure.message.as_str());
    }
}

fn describe(described: &Described, report: &RunReport) {
    let Described { run, hook, binding, queue, event, triggers, attempt } = described;
    let (event, object) = event.as_ref().map(|(kind, object)| (kind.as_str(), display(object))).unzip();
    let ms = ms(report.duration);
    let RunReport { memory_peak, host_calls, .. } = report;
    match &report.outcome {
        Ok(()) => {
            info!(%hook, %run, %binding, %queue, attempt, event, object, triggers, ms, memory_peak, host_calls, "run succeeded");
        }
        Err(failure) => {
            let (kind, error, backtrace) = (failure.kind.label(), &failure.message, failure.backtrace.as_deref());
            warn!(%hook, %run, %binding, %queue, attempt, event, object, triggers, ms, memory_peak, host_calls, kind, error, backtrace, "run failed");
        }
    }
}

/// A planned run that failed would fail again for the same reason, because nothing that it wrote is stored. It becomes
/// a dead letter at once.
fn once_only(outcome: Outcome) -> Outcome {
    outcome.map_err(|failure| match failure.kind {
        FailureKind::Permanent | FailureKind::Interrupted => failure,
        _ => {
            let message = format!("{} (a plan tries no run again)", failure.message);
            Failure { kind: FailureKind::Permanent, message, ..failure }
        }
    })
}
