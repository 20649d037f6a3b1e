//! Writes what the services report as log lines and metrics.

use std::{sync::Arc, time::Duration};

use boathook_core::{
    model::HookName,
    queue::{self, DeadLetter, Emptied, Enqueued, Finished, Pushed, Verdict},
};
use boathook_kube::watch::{self, Selection, WatchErrorKind};
use tracing::{debug, error, info, warn};

use super::{Services, events, hooks::HookRegistry, ms};
use crate::{
    record::RecordObserver,
    telemetry::{Metrics, metrics::RunLabels},
};

/// An observer of all services.
pub(super) struct Report {
    metrics: Arc<Metrics>,
    hook_registry: Arc<HookRegistry>,
    failures: events::Outlet,
}

impl Report {
    pub fn new(metrics: Arc<Metrics>, hook_registry: Arc<HookRegistry>, failures: events::Outlet) -> Self {
        Self { metrics, hook_registry, failures }
    }
}

impl watch::Observer for Report {
    fn on_list(&self, selection: &Selection, objects: u64, took: Duration) {
        debug!(%selection, objects, ms = ms(took), "listed");
    }

    fn on_watch_error(&self, selection: &Selection, kind: WatchErrorKind, text: &str, retry_in: Duration) {
        self.metrics.watch_failed(kind);
        let retry_ms = ms(retry_in);
        warn!(%selection, kind = kind.as_str(), error = text, retry_ms, "watch failed: retrying until it succeeds");
    }

    fn on_rebuilt(&self, selection: &Selection, silent_for: Duration) {
        let (gvr, namespace) = place(selection);
        self.metrics.watch_rebuilt(&gvr, namespace);
        warn!(%selection, silent_s = silent_for.as_secs(), "watch was silent for too long: rebuilding it");
    }

    fn on_unserved(&self, selection: &Selection) {
        info!(%selection, "kind is not served: retrying until it is");
    }

    fn on_died(&self, selection: &Selection, text: &str) {
        error!(%selection, error = text, "a watch ended because of a defect: it restarts with a list");
    }

    fn on_invalid_object(&self, selection: &Selection, text: &str) {
        error!(%selection, error = text, "an object could not be read and is left out");
    }

    fn on_lagging(&self, selection: &Selection) {
        warn!(%selection, "a binding is too slow for its changes: it gets a new list when it has caught up");
    }
}

impl queue::Observer for Report {
    fn enqueued(&self, enqueued: &Enqueued) {
        match enqueued.pushed {
            Pushed::Queued => {}
            Pushed::Folded => self.metrics.task_folded(&enqueued.queue),
            Pushed::Beyond => self.metrics.task_beyond_bound(&enqueued.queue),
            Pushed::Refused => {
                debug!(hook = %enqueued.hook, binding = %enqueued.binding, "trigger refused: its hook is gone, the queues are closed, or its tenant has no room for it");
            }
        }
    }

    fn emptied(&self, emptied: &Emptied) {
        let Emptied { hook, binding, queue, events, synchronizes, first } = emptied;
        let labels = RunLabels { hook, binding, queue };
        for _ in 0..*events {
            if *synchronizes { self.metrics.task_folded(queue) } else { self.metrics.task_given_up(labels) }
        }
        if !first {
            return;
        }
        if *synchronizes {
            warn!(%hook, %binding, %queue, events, "too many events wait, and there is no room for more: the binding synchronizes again instead");
        } else {
            warn!(
                %hook, %binding, %queue, events,
                "too many events wait, and there is no room for more: the hook never receives them, because the binding has executeHookOnSynchronization: false"
            );
        }
    }

    fn finished(&self, finished: &Finished) {
        let Finished { hook, binding, queue, attempt, .. } = finished;
        let labels = RunLabels { hook, binding, queue };
        self.metrics.task_waited(labels, finished.waited);
        let failed = matches!(finished.verdict, Verdict::Retry { .. } | Verdict::GivenUp { .. });
        if let Some(live) = failed.then(|| self.hook_registry.hook(hook)).flatten() {
            self.failures.finished(&live.tenant(), finished);
        }
        match &finished.verdict {
            Verdict::Done | Verdict::Removed => {}
            Verdict::AllowedFailure(failure) => {
                info!(%hook, %binding, %queue, attempt, error = %failure, "failure allowed: the triggers count as done");
            }
            Verdict::Retry { after, given_up, .. } => {
                given_up.iter().for_each(|_| self.metrics.task_given_up(labels));
                info!(%hook, %binding, %queue, attempt, retry_ms = ms(*after), given_up = given_up.len(), "run will be retried");
            }
            Verdict::GivenUp { failure, triggers } => {
                triggers.iter().for_each(|_| self.metrics.task_given_up(labels));
                error!(%hook, %binding, %queue, attempt, triggers = triggers.len(), error = %failure, "triggers given up");
            }
            Verdict::Interrupted => info!(%hook, %binding, %queue, "run interrupted"),
        }
    }

    fn dead_letter_lost(&self, letter: &DeadLetter) {
        let DeadLetter { id, hook, binding, queue, triggers, failure, .. } = letter;
        error!(%hook, %binding, %queue, id, triggers = triggers.len(), error = %failure, "too many dead letters: the oldest was dropped");
    }
}

impl RecordObserver for Report {
    fn written(&self, hook: &HookName, bytes: u64) {
        self.metrics.record(hook, "written", bytes);
    }

    fn dropped(&self, hook: &HookName) {
        self.metrics.record(hook, "dropped", 0);
        debug!(%hook, "a run is not recorded: the writer is behind");
    }

    fn failed(&self, hook: &HookName, error: &str) {
        self.metrics.record(hook, "failed", 0);
        warn!(%hook, error, "record");
    }
}

const LIVE_TICK: Duration = Duration::from_secs(10);

/// Updates the metric of the process's liveness, until it is dropped.
pub(super) async fn tick(metrics: Arc<Metrics>) {
    let mut every = tokio::time::interval(LIVE_TICK);
    every.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Skip);
    loop {
        every.tick().await;
        metrics.live_tick();
    }
}

/// Sets the gauges whenever the metrics are read.
pub(super) fn refresh(services: &Arc<Services>) {
    // A weak reference, because the services own the metrics.
    let weak = Arc::downgrade(services);
    services.metrics.refresh_with(move |metrics| {
        if let Some(services) = weak.upgrade() {
            set_gauges(metrics, &services);
        }
    });
}

fn set_gauges(metrics: &Metrics, services: &Services) {
    // Check this here and not only when leadership is lost: a process that was stopped for a while may answer this
    // request before it has checked its clock.
    if !services.leadership.leads() {
        metrics.does_not_lead();
    }
    let stats = services.queue.stats();
    metrics.set_dead_letters(stats.dead_letters, stats.dead_letter_bytes);
    metrics.set_loops(services.causes.loops(std::time::SystemTime::now()).len());
    metrics.set_queues(&stats.queues);
    metrics.set_hooks(super::count(&services.health.readiness(), services.hook_registry.quarantined().len()));
    for (hook, binding, queue, status) in services.health.statuses() {
        let labels = RunLabels { hook: &hook, binding: &binding, queue: &queue };
        metrics.set_snapshot(labels, status.objects(), status.bytes(), status.late());
        metrics.filter_errors_reached(&hook, &binding, status.filter_errors());
    }
    for hook in services.hook_registry.live() {
        metrics.set_hook_metric_series(&hook.spec.name, services.operator.hook_metrics.series(&hook.spec.name));
    }
    let ages: Vec<_> = services.streams.stats().iter().filter_map(watch_age).collect();
    metrics.set_watch_ages(ages.iter().map(|(gvr, namespace, age)| (gvr.as_str(), namespace.as_str(), *age)));
}

fn watch_age(stats: &watch::StreamStats) -> Option<(String, String, Duration)> {
    let (gvr, namespace) = place(&stats.selection);
    Some((gvr, namespace.to_owned(), stats.last_activity?.elapsed()))
}

/// A kind as `pods.v1.` or `deployments.v1.apps`, and the namespace, which is empty for all namespaces.
fn place(selection: &Selection) -> (String, &str) {
    let resource = &selection.resource;
    let gvr = format!("{}.{}.{}", resource.plural, resource.version, resource.group);
    (gvr, selection.namespace.as_deref().unwrap_or_default())
}
