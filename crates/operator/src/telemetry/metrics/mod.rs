//! The operator's own metrics: a registry, and one method for each thing that can be recorded. There is no global
//! registry: every process, and every test, creates its own.

mod modules;
pub mod names;
mod series;

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    sync::{
        Mutex, OnceLock, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use boathook_core::{
    fair::Share,
    filter::Timings,
    model::{BindingName, CallReason, FailureKind, HookName, HookSpec, QueueName},
    queue::QueueStats,
};
use boathook_kube::watch::WatchErrorKind;
use boathook_sandbox::RunReport;
use prometheus::{Encoder as _, Histogram, IntCounterVec, IntGauge, Registry, TextEncoder};

pub use modules::ModuleInfo;
pub use names::MetricsError;
use names::Vecs;
pub use series::OVERFLOW;
use series::Series;

const NONE: &[&str] = &[];

/// All metrics of one process.
#[derive(Debug)]
pub struct Metrics {
    registry: Registry,
    vecs: Vecs,
    /// Which bindings have series.
    series: Series,
    /// The labels of queues that have gauges now.
    known_queues: Mutex<BTreeSet<String>>,
    refresh: OnceLock<Refresh>,
    /// The bytes that the next page starts with.
    page_bytes: AtomicUsize,
}

/// Sets values that are measured only when somebody reads them.
struct Refresh(Box<dyn Fn(&Metrics) + Send + Sync>);

impl fmt::Debug for Refresh {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Refresh")
    }
}

impl Metrics {
    /// The prefix of names, unless the admin chooses another one.
    pub const DEFAULT_PREFIX: &'static str = "boathook_";

    /// Creates a registry with all metrics. Their names begin with `prefix`.
    pub fn new(prefix: &str) -> Result<Self, MetricsError> {
        let registry = Registry::new();
        let metrics = Self {
            vecs: Vecs::new(&registry, prefix)?,
            registry,
            series: Series::default(),
            known_queues: Mutex::default(),
            refresh: OnceLock::new(),
            page_bytes: AtomicUsize::default(),
        };
        metrics.vecs.build_info.with_label_values(&[env!("CARGO_PKG_VERSION")]).set(1);
        // Creates the series, so that they exist from the start.
        metrics.vecs.live_ticks.with_label_values(NONE).reset();
        metrics.vecs.leader_transitions.with_label_values(NONE).reset();
        metrics.does_not_lead();
        metrics.set_certificate_expiry(0);
        metrics.set_hooks(HookCounts::default());
        Ok(metrics)
    }

    /// From now on, `refresh` sets the gauges before they are shown. It must not block, and must not own this value.
    /// Only the first call has an effect.
    pub fn refresh_with(&self, refresh: impl Fn(&Self) + Send + Sync + 'static) {
        // Later calls have no effect.
        let _ = self.refresh.set(Refresh(Box::new(refresh)));
    }

    /// All values in Prometheus's text format.
    pub fn text(&self) -> Result<String, MetricsError> {
        if let Some(Refresh(refresh)) = self.refresh.get() {
            refresh(self);
        }
        // A page that grows by doubling would take three times its size.
        let mut out = Vec::with_capacity(self.page_bytes.load(Ordering::Relaxed));
        TextEncoder::new().encode(&self.registry.gather(), &mut out).map_err(MetricsError::Encode)?;
        self.page_bytes.store(out.len() + out.len() / 16, Ordering::Relaxed);
        Ok(String::from_utf8(out).unwrap_or_else(|bad| String::from_utf8_lossy(bad.as_bytes()).into_owned()))
    }

    /// Sets the number of hooks in each state.
    pub fn set_hooks(&self, counts: HookCounts) {
        let HookCounts { loading, pending, ready, quarantined } = counts;
        for (state, count) in
            [("loading", loading), ("pending", pending), ("ready", ready), ("quarantined", quarantined)]
        {
            self.vecs.hooks.with_label_values(&[state]).set(gauge(count));
        }
    }

    /// The kind of a kubernetes binding was not found.
    pub fn enable_failed(&self, hook: &HookName) {
        self.vecs.enable_errors.with_label_values(&[hook.as_str()]).inc();
    }

    /// Sets how long it took until all kubernetes bindings of a hook had listed their objects, or `None` until they
    /// have.
    pub fn set_enabled(&self, hook: &HookName, took: Option<Duration>) {
        // Creates the series, so that it exists from the first lookup on.
        self.vecs.enable_errors.with_label_values(&[hook.as_str()]);
        self.vecs.enable_success.with_label_values(&[hook.as_str()]).set(i64::from(took.is_some()));
        if let Some(took) = took {
            self.vecs.enable_seconds.with_label_values(&[hook.as_str()]).set(took.as_secs_f64());
        }
    }

    /// A component is ready to run.
    pub fn hook_compiled(&self, from_cache: bool, took: Duration) {
        let source = if from_cache { "cached" } else { "compiled" };
        self.vecs.hook_compile.with_label_values(&[source]).observe(took.as_secs_f64());
    }

    /// A new version of a hook took over, or was refused.
    pub fn hook_swapped(&self, swapped: bool) {
        self.vecs.hook_swaps.with_label_values(&[if swapped { "swapped" } else { "refused" }]).inc();
    }

    /// A run ended. All three counters of results exist from then on.
    pub fn run_finished(&self, run: RunLabels<'_>, report: &RunReport, allow_failure: bool) {
        let labels = self.series.labels(run);
        self.vecs.hook_run.with_label_values(&labels).observe(report.duration.as_secs_f64());
        self.vecs.hook_run_cpu.with_label_values(&labels).observe(report.cpu.as_secs_f64());
        self.vecs.hook_run_rss.with_label_values(&labels).set(i64::try_from(report.memory_peak).unwrap_or(i64::MAX));
        let failure = report.outcome.as_ref().err().map(|failure| failure.kind);
        let (success, error, allowed) = match failure {
            None => (1, 0, 0),
            // The shutdown caused this, so it is neither a success nor the hook's error.
            Some(FailureKind::Interrupted) => (0, 0, 0),
            Some(_) if allow_failure => (0, 0, 1),
            Some(_) => (0, 1, 0),
        };
        self.vecs.hook_run_success.with_label_values(&labels).inc_by(success);
        self.vecs.hook_run_errors.with_label_values(&labels).inc_by(error);
        self.vecs.hook_run_allowed_errors.with_label_values(&labels).inc_by(allowed);
        let hook = run.hook.as_str();
        if let Some(kind) = failure {
            self.vecs.hook_run_failures.with_label_values(&[hook, kind.label()]).inc();
        }
        // Sizes and counts are far below 2^52.
        self.vecs.hook_run_memory.with_label_values(&[hook]).observe(report.memory_peak as f64);
        self.vecs.hook_run_host_calls.with_label_values(&[hook]).observe(report.host_calls as f64);
    }

    /// A hook called Kubernetes. `verb` is a word from the code, not from the call.
    pub fn host_call(&self, verb: &'static str, outcome: Result<(), CallReason>) {
        self.vecs.host_calls.with_label_values(&[verb, outcome_label(outcome)]).inc();
    }

    /// A hook's call was refused because of a missing permission.
    pub fn grant_refused(&self, hook: &HookName, verb: &'static str) {
        self.vecs.grant_refusals.with_label_values(&[hook.as_str(), verb]).inc();
    }

    /// A request for a call of the hook, with so many bytes in its body.
    pub fn sent(&self, hook: &HookName, bytes: u64) {
        self.vecs.hook_requests.with_label_values(&[hook.as_str()]).inc();
        self.vecs.hook_sent.with_label_values(&[hook.as_str()]).inc_by(bytes);
    }

    /// So many bytes of a response.
    pub fn received(&self, hook: &HookName, bytes: u64) {
        self.vecs.hook_received.with_label_values(&[hook.as_str()]).inc_by(bytes);
    }

    /// The requests of the hook, the bytes that were sent, and those that were received.
    pub fn exchanged(&self, hook: &HookName) -> (u64, u64, u64) {
        let of = |vec: &IntCounterVec| vec.with_label_values(&[hook.as_str()]).get();
        (of(&self.vecs.hook_requests), of(&self.vecs.hook_sent), of(&self.vecs.hook_received))
    }

    /// A loop that the hook is a part of has made another turn.
    pub fn loop_turned(&self, hook: &HookName) {
        self.vecs.loop_turns.with_label_values(&[hook.as_str()]).inc();
    }

    pub fn set_loops(&self, count: usize) {
        self.vecs.loops.with_label_values(NONE).set(i64::try_from(count).unwrap_or(i64::MAX));
    }

    /// A run's record was `written`, `dropped` or `failed`.
    pub fn record(&self, hook: &HookName, result: &'static str, bytes: u64) {
        self.vecs.records.with_label_values(&[hook.as_str(), result]).inc();
        self.vecs.record_bytes.with_label_values(NONE).inc_by(bytes);
    }

    /// A run in the shadow of another one was `equal`, `different` or `skipped`.
    pub fn shadow_run(&self, hook: &HookName, result: &'static str) {
        self.vecs.shadow_runs.with_label_values(&[hook.as_str(), result]).inc();
    }

    /// A trigger is about to run for the first time, after this time in its queue.
    pub fn task_waited(&self, run: RunLabels<'_>, waited: Duration) {
        self.vecs.task_wait.with_label_values(&self.series.labels(run)).inc_by(waited.as_secs_f64());
    }

    /// A trigger was merged into another.
    pub fn task_folded(&self, queue: &QueueName) {
        self.vecs.tasks_folded.with_label_values(&[self.series.queue(queue)]).inc();
    }

    /// A trigger was accepted although its queue was full.
    pub fn task_beyond_bound(&self, queue: &QueueName) {
        self.vecs.tasks_beyond.with_label_values(&[self.series.queue(queue)]).inc();
    }

    /// A trigger failed permanently.
    pub fn task_given_up(&self, run: RunLabels<'_>) {
        self.vecs.tasks_given_up.with_label_values(&self.series.labels(run)).inc();
    }

    /// Sets the number of dead letters, and their bytes.
    pub fn set_dead_letters(&self, letters: usize, bytes: usize) {
        self.vecs.dead_letters.with_label_values(NONE).set(gauge(letters));
        self.vecs.dead_letter_bytes.with_label_values(NONE).set(gauge(bytes));
    }

    /// Sets the gauges of the queues. Queues that are not in the list lose their gauges.
    pub fn set_queues(&self, queues: &[QueueStats]) {
        let mut now = BTreeMap::<String, QueueStats>::new();
        for queue in queues {
            let of_label = now.entry(self.series.queue(&queue.queue));
            of_label.and_modify(|sum| add(sum, queue)).or_insert_with(|| queue.clone());
        }
        let mut known = self.known_queues.lock().unwrap_or_else(PoisonError::into_inner);
        for gone in known.iter().filter(|name| !now.contains_key(*name)) {
            for vec in
                [&self.vecs.queue_length, &self.vecs.queue_bytes, &self.vecs.queue_running, &self.vecs.queue_retrying]
            {
                // The gauge may never have been set. Then there is nothing to remove.
                let _ = vec.remove_label_values(&[gone]);
            }
            let _ = self.vecs.queue_oldest.remove_label_values(&[gone]);
        }
        for (name, queue) in &now {
            self.vecs.queue_length.with_label_values(&[name]).set(gauge(queue.length));
            self.vecs.queue_bytes.with_label_values(&[name]).set(gauge(queue.bytes));
            self.vecs.queue_running.with_label_values(&[name]).set(gauge(queue.running));
            self.vecs.queue_retrying.with_label_values(&[name]).set(gauge(queue.retrying));
            let oldest = queue.oldest.unwrap_or_default().as_secs_f64();
            self.vecs.queue_oldest.with_label_values(&[name]).set(oldest);
        }
        *known = now.into_keys().collect();
    }

    /// Sets how many objects a binding matches now, what its snapshot holds, and how many objects' newest states are
    /// missing in it.
    pub fn set_snapshot(&self, run: RunLabels<'_>, objects: usize, bytes: usize, late: usize) {
        let labels = self.series.labels(run);
        self.vecs.snapshot_objects.with_label_values(&labels).set(gauge(objects));
        self.vecs.snapshot_bytes.with_label_values(&labels).set(gauge(bytes));
        self.vecs.snapshot_late.with_label_values(&labels).set(gauge(late));
    }

    /// Returns the recorder of a binding's times.
    pub fn binding_timings(&self, run: RunLabels<'_>) -> BindingTimings {
        let labels = self.series.labels(run);
        BindingTimings {
            filter: self.vecs.jq_filter.with_label_values(&labels),
            event: self.vecs.event.with_label_values(&labels),
        }
    }

    /// Sets the times since the API server last sent something, for each kind (`pods.v1.apps`) and namespace. Those
    /// that are not in the list lose their gauge.
    pub fn set_watch_ages<'a>(&self, ages: impl IntoIterator<Item = (&'a str, &'a str, Duration)>) {
        self.vecs.watch_age.reset();
        for (gvr, namespace, age) in ages {
            let gauge = self.vecs.watch_age.with_label_values(&[gvr, namespace]);
            gauge.set(gauge.get().max(age.as_secs_f64()));
        }
    }

    /// A watch was silent for too long and is rebuilt.
    pub fn watch_rebuilt(&self, gvr: &str, namespace: &str) {
        self.vecs.watch_dead.with_label_values(&[gvr, namespace]).inc();
    }

    /// A request to the API server was answered with this status, or not at all.
    pub fn api_request(&self, method: &str, path: &str, code: Option<u16>, took: Duration) {
        self.vecs.request_latency.with_label_values(&[method, &template(path)]).observe(took.as_secs_f64());
        let code = code.map_or_else(|| "<error>".to_owned(), |code| code.to_string());
        self.vecs.request_result.with_label_values(&[code.as_str(), method]).inc();
    }

    /// Sets the number of series that a hook reports now.
    pub fn set_hook_metric_series(&self, hook: &HookName, series: usize) {
        self.vecs.hook_metric_series.with_label_values(&[hook.as_str()]).set(gauge(series));
    }

    /// Counts the metric operations of a run that were left out.
    pub fn hook_metrics_refused(&self, hook: &HookName, count: usize) {
        self.vecs.hook_metric_refusals.with_label_values(&[hook.as_str()]).inc_by(count as u64);
    }

    /// Sets how often a binding's `jqFilter` has failed so far. Totals that are smaller than before are ignored.
    pub fn filter_errors_reached(&self, hook: &HookName, binding: &BindingName, total: u64) {
        let errors = self.vecs.filter_errors.with_label_values(&[hook.as_str(), binding.unique()]);
        errors.inc_by(total.saturating_sub(errors.get()));
    }

    /// A watch stream ended with an error.
    pub fn watch_failed(&self, kind: WatchErrorKind) {
        let label = match kind {
            WatchErrorKind::Expired | WatchErrorKind::Eof | WatchErrorKind::UnexpectedEof => kind.as_str(),
            _ => "fail",
        };
        self.vecs.watch_errors.with_label_values(&[label]).inc();
    }

    /// Counts the hook as being called by the API server, until the guard is dropped.
    pub fn answer_begun(&self, hook: &HookName) -> impl Drop + Send + use<> {
        let running = self.vecs.answers_running.with_label_values(&[hook.as_str()]);
        running.inc();
        Asked(running)
    }

    /// Records that a hook answered the API server, or did not. `outcome` is a word from the code: `allowed`, `denied`,
    /// `mutated`, `converted`, `refused`, `failed`, `not-ready`. Requests for which no hook is called are not counted.
    pub fn answer_ended(&self, labels: AnswerLabels<'_>, outcome: &'static str, took: Duration) {
        let AnswerLabels { hook, binding, kind } = labels;
        let binding = self.series.binding(hook, binding);
        self.vecs.answers.with_label_values(&[hook.as_str(), binding, kind, outcome]).inc();
        self.vecs.answer_seconds.with_label_values(&[hook.as_str(), binding, kind]).observe(took.as_secs_f64());
    }

    /// Sets when the serving certificate expires, in seconds since 1970.
    pub fn set_certificate_expiry(&self, seconds: i64) {
        self.vecs.certificate_expiry.with_label_values(NONE).set(seconds);
    }

    /// Counts a tick. Call it every ten seconds.
    pub fn live_tick(&self) {
        self.vecs.live_ticks.with_label_values(NONE).inc();
    }

    /// This replica runs the hooks from now on. Without other replicas, it does so from its start.
    pub fn leads(&self) {
        self.vecs.leader.with_label_values(NONE).set(1);
        self.vecs.leader_transitions.with_label_values(NONE).inc();
    }

    /// The leader's time may have run out before it knows.
    pub fn does_not_lead(&self) {
        self.vecs.leader.with_label_values(NONE).set(0);
    }

    /// This replica led, and has lost the lead.
    pub fn leads_no_more(&self) {
        self.does_not_lead();
        self.vecs.leader_transitions.with_label_values(NONE).inc();
    }

    /// A hook has this document. Each of its bindings that is not a `kubernetes` one takes `each` units of `room` for
    /// its series. Without room, the binding has no series of its own.
    pub fn hook_described(&self, spec: &HookSpec, room: Share, each: u64) {
        let gone = self.series.replace(spec, room, each);
        self.forget_queues(&gone.queues);
        if !gone.bindings.is_empty() {
            let gone: BTreeSet<&str> = gone.bindings.iter().map(BindingName::unique).collect();
            self.vecs.forget(&spec.name, &|binding| binding.is_some_and(|binding| gone.contains(binding)));
        }
    }

    /// Drops all series of a hook that was removed.
    pub fn forget_hook(&self, hook: &HookName) {
        self.forget_queues(&self.series.forget(hook));
        self.vecs.forget(hook, &|_| true);
    }

    fn forget_queues(&self, gone: &BTreeSet<QueueName>) {
        for queue in gone {
            for vec in [&self.vecs.tasks_folded, &self.vecs.tasks_beyond] {
                // The queue may never have been counted.
                let _ = vec.remove_label_values(&[queue.to_string()]);
            }
        }
    }
}

fn gauge(value: usize) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

/// A path of the Kubernetes API without the names of objects, as a label's value. Their number is limited by the number of
/// kinds. `/api/v1/namespaces/a/secrets/b` becomes `/api/v1/namespaces/{namespace}/secrets/{name}`.
fn template(path: &str) -> String {
    let mut segments: Vec<&str> = path.split('/').skip(1).collect();
    let root = match segments.first() {
        Some(&"api") => 2,
        Some(&"apis") => 3,
        // For example `/version` or `/healthz`.
        _ => return segments.first().map_or_else(String::new, |first| format!("/{first}")),
    };
    let namespaced = segments.get(root) == Some(&"namespaces") && segments.len() > root + 2;
    let name = if namespaced { root + 3 } else { root + 1 };
    if let Some(namespace) = segments.get_mut(root + 1).filter(|_| namespaced) {
        *namespace = "{namespace}";
    }
    if let Some(name) = segments.get_mut(name) {
        *name = "{name}";
    }
    segments.truncate(name + 2);
    format!("/{}", segments.join("/"))
}

/// The labels of a run's series.
#[derive(Debug, Clone, Copy)]
pub struct RunLabels<'a> {
    pub hook: &'a HookName,
    /// The binding of the run's oldest trigger.
    pub binding: &'a BindingName,
    /// The queue that the run's triggers came from.
    pub queue: &'a QueueName,
}

/// The number of hooks in each state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct HookCounts {
    /// Hooks that are being compiled or configured.
    pub loading: usize,
    /// Hooks that wait for a kind or a synchronization.
    pub pending: usize,
    /// Hooks that run.
    pub ready: usize,
    /// Hooks that were refused, with a reason in the log.
    pub quarantined: usize,
}

/// Adds the figures of another queue, as if both were one.
fn add(sum: &mut QueueStats, other: &QueueStats) {
    sum.length += other.length;
    sum.bytes += other.bytes;
    sum.oldest = sum.oldest.max(other.oldest);
    sum.running += other.running;
    sum.retrying += other.retrying;
}

/// The outcome of a host call as a label.
pub fn outcome_label(outcome: Result<(), CallReason>) -> &'static str {
    outcome.map_or_else(CallReason::label, |()| "ok")
}

/// The labels of an answer.
#[derive(Debug, Clone, Copy)]
pub struct AnswerLabels<'a> {
    pub hook: &'a HookName,
    pub binding: &'a BindingName,
    /// `validating`, `mutating` or `conversion`.
    pub kind: &'static str,
}

struct Asked(IntGauge);

impl Drop for Asked {
    fn drop(&mut self) {
        self.0.dec();
    }
}

/// Records the times of one binding.
#[derive(Debug, Clone)]
pub struct BindingTimings {
    filter: Histogram,
    event: Histogram,
}

impl Timings for BindingTimings {
    fn filtered(&self, took: Duration) {
        self.filter.observe(took.as_secs_f64());
    }

    fn handled(&self, took: Duration) {
        self.event.observe(took.as_secs_f64());
    }
}

#[cfg(test)]
mod tests;
