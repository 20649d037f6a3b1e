//! One job, from the queue to the sandbox, with its log line and metrics.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Instant,
};

use boathook_core::{
    effect::Sink,
    model::{
        BindingName, Failure, FailureKind, HookName, Job, MetricOp, ObjectRef, Outcome, QueueName, RunId,
        WatchEventKind,
    },
};
use boathook_kube::{access::Observer, election::Leadership};
use boathook_sandbox::{Host, RunReport, RunRequest, Sandbox};
use tracing::{
    Instrument as _, Span,
    field::{Empty, display},
    info, info_span, warn,
};

use super::{
    history::{Begun, History, LastRuns},
    hooks::{Hook, HookRegistry},
    host::Operator,
    ms,
};
use crate::{
    record::{Recorder, secrets::bindings_of_secrets},
    telemetry::{Metrics, TRACE_TARGET, metrics::RunLabels},
};

pub struct Parts {
    pub hook_registry: Arc<HookRegistry>,
    pub sandbox: Arc<Sandbox>,
    pub operator: Arc<Operator>,
    pub metrics: Arc<Metrics>,
    pub history: Arc<History>,
    pub last: Arc<LastRuns>,
    pub recorder: Option<Arc<Recorder>>,
    /// Whether writes are dry runs.
    pub plan: bool,
    /// A run ends when the leadership is lost.
    pub leadership: Leadership,
}

pub struct Runs {
    parts: Parts,
    /// Distinguishes the run IDs of this process from those of others.
    process: String,
    number: AtomicU64,
}

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
    pub fn new(parts: Parts) -> Self {
        Self { parts, process: format!("{:08x}", rand::random::<u32>()), number: AtomicU64::new(1) }
    }

    /// Runs one job to its outcome.
    pub async fn run(&self, job: Job) -> Outcome {
        let outcome = self.report(job).await?.outcome;
        if self.parts.plan { once_only(outcome) } else { outcome }
    }

    /// Runs one job, and returns a report.
    pub async fn report(&self, job: Job) -> Result<RunReport, Failure> {
        let (Some(hook), Some(first)) = (self.parts.hook_registry.hook(&job.hook), job.triggers.first()) else {
            let message = format!("hook {} is not loaded", job.hook);
            return Err(Failure { kind: FailureKind::Host, message, backtrace: None });
        };
        let run = RunId::new(&self.process, self.number.fetch_add(1, Ordering::Relaxed));
        let (allow_failure, begun) = (first.allow_failure, Begun::now(&run, &job));
        let described = Described {
            run: run.clone(),
            hook: job.hook.clone(),
            binding: first.binding.clone(),
            queue: job.queue,
            event: if job.triggers.len() == 1 { first.event() } else { None },
            triggers: job.triggers.len(),
            attempt: job.attempt,
        };
        let caller = hook.caller(run, self.parts.plan);
        self.parts.last.ran(&caller.hook, &job.triggers);
        let request = RunRequest { caller, attempt: job.attempt, triggers: job.triggers, limits: hook.spec.limits };
        let span = span(&described);
        let report = self.recorded(&hook, request).instrument(span.clone()).await;
        ended(&span, &report.outcome);
        let labels = RunLabels { hook: &described.hook, binding: &described.binding, queue: &described.queue };
        self.parts.metrics.run_finished(labels, &report, allow_failure);
        describe(&described, &report);
        self.parts.history.ended(begun, &report, allow_failure);
        if report.outcome.is_ok() {
            self.report_metrics(&described, &report.metrics);
        }
        Ok(report)
    }

    /// Runs, and records the run if there is a recorder.
    async fn recorded(&self, hook: &Hook, request: RunRequest) -> RunReport {
        let operator = self.parts.operator.clone();
        let Some(recorder) = &self.parts.recorder else { return self.interruptible(hook, request, operator).await };
        let secrets = bindings_of_secrets(&hook.spec);
        let begun = recorder.begin(operator, hook.component.digest(), secrets, request.clone());
        let report = self.interruptible(hook, request, begun.host()).await;
        begun.end(&report);
        report
    }

    async fn interruptible(&self, hook: &Hook, request: RunRequest, host: Arc<dyn Host>) -> RunReport {
        let began = Instant::now();
        tokio::select! {
            report = self.parts.sandbox.run(&hook.component, request, host) => report,
            () = hook.interrupt.cancelled() => {
                let message = "the run was interrupted because a new version of the hook takes its place";
                RunReport::interrupted(message.to_owned(), began.elapsed())
            }
            () = self.parts.leadership.lost() => {
                let message = "the run was interrupted because this replica no longer leads";
                RunReport::interrupted(message.to_owned(), began.elapsed())
            }
        }
    }

    /// A hook that was removed in the meantime reports nothing more.
    fn report_metrics(&self, described: &Described, ops: &[MetricOp]) {
        let Described { run, hook, binding, .. } = described;
        if ops.is_empty() || self.parts.hook_registry.hook(hook).is_none() {
            return;
        }
        let applied = self.parts.operator.hook_metrics.apply(hook, ops);
        if let Some(error) = applied.first {
            let refused = applied.refused;
            self.parts.metrics.hook_metrics_refused(hook, refused);
            warn!(%hook, %run, %binding, refused, %error, "metrics of the run left out");
        }
    }
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

/// Passes on the effects of writes.
pub(super) struct Effects(pub Option<Arc<dyn Sink>>);

impl Observer for Effects {
    fn effects(&self) -> Option<&dyn Sink> {
        self.0.as_deref()
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
