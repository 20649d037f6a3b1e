//! The operator's own metrics: a registry, and one method for each thing that can be recorded. There is no global
//! registry: every process, and every test, creates its own.

mod answers;
mod forget;
pub mod names;
mod process;
mod register;
mod samples;
mod series;
mod sources;
#[cfg(test)]
mod tests;
mod url;

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use prometheus::{CounterVec, Encoder as _, GaugeVec, HistogramVec, IntCounterVec, IntGaugeVec, Registry, TextEncoder};

pub use answers::{AnswerLabels, AnswerMetrics};
use boathook_core::model::{BindingName, CallReason, FailureKind, HookName, QueueName};
pub use register::MetricsError;
use register::Register;
pub use samples::{CompileSource, HookCounts, QueueSample, RunLabels, RunResult, RunUsage, WatchError, outcome_label};
pub use series::OVERFLOW;
use series::Series;
pub use sources::BindingTimings;
use sources::Refresh;

/// All metrics of one process.
#[derive(Debug)]
pub struct Metrics {
    registry: Registry,
    live_ticks: IntCounterVec,
    hooks: IntGaugeVec,
    enable_seconds: GaugeVec,
    enable_success: IntGaugeVec,
    enable_errors: IntCounterVec,
    hook_compile: HistogramVec,
    hook_swaps: IntCounterVec,
    hook_run: HistogramVec,
    hook_run_cpu: HistogramVec,
    hook_run_rss: IntGaugeVec,
    hook_run_success: IntCounterVec,
    hook_run_errors: IntCounterVec,
    hook_run_allowed_errors: IntCounterVec,
    hook_run_failures: IntCounterVec,
    hook_run_memory: HistogramVec,
    hook_run_host_calls: HistogramVec,
    host_calls: IntCounterVec,
    grant_refusals: IntCounterVec,
    records: IntCounterVec,
    record_bytes: IntCounterVec,
    task_wait: CounterVec,
    tasks_folded: IntCounterVec,
    tasks_beyond: IntCounterVec,
    tasks_given_up: IntCounterVec,
    dead_letters: IntGaugeVec,
    dead_letter_bytes: IntGaugeVec,
    queue_length: IntGaugeVec,
    queue_bytes: IntGaugeVec,
    queue_oldest: GaugeVec,
    queue_running: IntGaugeVec,
    queue_retrying: IntGaugeVec,
    snapshot_objects: IntGaugeVec,
    snapshot_bytes: IntGaugeVec,
    snapshot_late: IntGaugeVec,
    jq_filter: HistogramVec,
    event: HistogramVec,
    filter_errors: IntCounterVec,
    watch_age: GaugeVec,
    watch_dead: IntCounterVec,
    request_latency: HistogramVec,
    request_result: IntCounterVec,
    hook_metric_series: IntGaugeVec,
    hook_metric_refusals: IntCounterVec,
    watch_errors: IntCounterVec,
    answers: AnswerMetrics,
    leader: IntGaugeVec,
    leader_transitions: IntCounterVec,
    /// Which bindings have series.
    series: Arc<Series>,
    /// The labels of queues that have gauges now.
    known_queues: Mutex<BTreeSet<String>>,
    refresh: Refresh,
    /// The bytes that the next page starts with.
    page_bytes: AtomicUsize,
}

impl Metrics {
    /// The prefix of names, unless the admin chooses another one.
    pub const DEFAULT_PREFIX: &'static str = "boathook_";

    /// Creates a registry with all metrics. Their names begin with `prefix`.
    pub fn new(prefix: &str) -> Result<Self, MetricsError> {
        let registry = Registry::new();
        let make = Register { registry: &registry, prefix };
        let build_info: IntGaugeVec = make.vec(&names::BUILD_INFO)?;
        build_info.with_label_values(&[env!("CARGO_PKG_VERSION")]).set(1);
        let series = Arc::<Series>::default();
        let metrics = Self {
            live_ticks: make.vec(&names::LIVE_TICKS)?,
            hooks: make.vec(&names::HOOKS)?,
            enable_seconds: make.vec(&names::ENABLE_SECONDS)?,
            enable_success: make.vec(&names::ENABLE_SUCCESS)?,
            enable_errors: make.vec(&names::ENABLE_ERRORS)?,
            hook_compile: make.vec(&names::HOOK_COMPILE)?,
            hook_swaps: make.vec(&names::HOOK_SWAPS)?,
            hook_run: make.vec(&names::HOOK_RUN)?,
            hook_run_cpu: make.vec(&names::HOOK_RUN_CPU)?,
            hook_run_rss: make.vec(&names::HOOK_RUN_RSS)?,
            hook_run_success: make.vec(&names::HOOK_RUN_SUCCESS)?,
            hook_run_errors: make.vec(&names::HOOK_RUN_ERRORS)?,
            hook_run_allowed_errors: make.vec(&names::HOOK_RUN_ALLOWED_ERRORS)?,
            hook_run_failures: make.vec(&names::HOOK_RUN_FAILURES)?,
            hook_run_memory: make.vec(&names::HOOK_RUN_MEMORY)?,
            hook_run_host_calls: make.vec(&names::HOOK_RUN_HOST_CALLS)?,
            host_calls: make.vec(&names::HOST_CALLS)?,
            grant_refusals: make.vec(&names::GRANT_REFUSALS)?,
            records: make.vec(&names::RECORDS)?,
            record_bytes: make.vec(&names::RECORD_BYTES)?,
            task_wait: make.vec(&names::TASK_WAIT)?,
            tasks_folded: make.vec(&names::TASKS_FOLDED)?,
            tasks_beyond: make.vec(&names::TASKS_BEYOND)?,
            tasks_given_up: make.vec(&names::TASKS_GIVEN_UP)?,
            dead_letters: make.vec(&names::DEAD_LETTERS)?,
            dead_letter_bytes: make.vec(&names::DEAD_LETTER_BYTES)?,
            queue_length: make.vec(&names::QUEUE_LENGTH)?,
            queue_bytes: make.vec(&names::QUEUE_BYTES)?,
            queue_oldest: make.vec(&names::QUEUE_OLDEST)?,
            queue_running: make.vec(&names::QUEUE_RUNNING)?,
            queue_retrying: make.vec(&names::QUEUE_RETRYING)?,
            snapshot_objects: make.vec(&names::SNAPSHOT_OBJECTS)?,
            snapshot_bytes: make.vec(&names::SNAPSHOT_BYTES)?,
            snapshot_late: make.vec(&names::SNAPSHOT_LATE)?,
            jq_filter: make.vec(&names::JQ_FILTER)?,
            event: make.vec(&names::EVENT)?,
            filter_errors: make.vec(&names::FILTER_ERRORS)?,
            watch_age: make.vec(&names::WATCH_AGE)?,
            watch_dead: make.vec(&names::WATCH_DEAD)?,
            request_latency: make.vec(&names::REQUEST_LATENCY)?,
            request_result: make.vec(&names::REQUEST_RESULT)?,
            hook_metric_series: make.vec(&names::HOOK_METRIC_SERIES)?,
            hook_metric_refusals: make.vec(&names::HOOK_METRIC_REFUSALS)?,
            watch_errors: make.vec(&names::WATCH_ERRORS)?,
            answers: AnswerMetrics::new(&make, series.clone())?,
            leader: make.vec(&names::LEADER)?,
            leader_transitions: make.vec(&names::LEADER_TRANSITIONS)?,
            series,
            known_queues: Mutex::default(),
            refresh: Refresh::default(),
            page_bytes: AtomicUsize::default(),
            registry,
        };
        metrics.begin_process();
        metrics.set_hooks(HookCounts::default());
        Ok(metrics)
    }

    /// From now on, `refresh` sets the gauges before they are shown. It must not block, and must not own this value.
    /// Only the first call has an effect.
    pub fn refresh_with(&self, refresh: impl Fn(&Self) + Send + Sync + 'static) {
        self.refresh.set(refresh);
    }

    /// All values in Prometheus's text format.
    pub fn text(&self) -> Result<String, MetricsError> {
        self.refresh.run(self);
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
            self.hooks.with_label_values(&[state]).set(gauge(count));
        }
    }

    /// The kind of a kubernetes binding was not found.
    pub fn enable_failed(&self, hook: &HookName) {
        self.enable_errors.with_label_values(&[hook.as_str()]).inc();
    }

    /// Sets how long it took until all kubernetes bindings of a hook had listed their objects, or `None` until they
    /// have.
    pub fn set_enabled(&self, hook: &HookName, took: Option<Duration>) {
        // Creates the series, so that it exists from the first lookup on.
        self.enable_errors.with_label_values(&[hook.as_str()]);
        self.enable_success.with_label_values(&[hook.as_str()]).set(i64::from(took.is_some()));
        if let Some(took) = took {
            self.enable_seconds.with_label_values(&[hook.as_str()]).set(took.as_secs_f64());
        }
    }

    /// A component is ready to run.
    pub fn hook_compiled(&self, source: CompileSource, took: Duration) {
        self.hook_compile.with_label_values(&[source.label()]).observe(took.as_secs_f64());
    }

    /// A new version of a hook took over, or was refused.
    pub fn hook_swapped(&self, swapped: bool) {
        self.hook_swaps.with_label_values(&[if swapped { "swapped" } else { "refused" }]).inc();
    }

    /// A run ended. All three counters of results exist from then on.
    pub fn run_finished(&self, run: RunLabels<'_>, result: RunResult, usage: RunUsage) {
        let (binding, queue) = self.series.labels(run);
        let labels = [run.hook.as_str(), binding, &queue];
        self.hook_run.with_label_values(&labels).observe(usage.took.as_secs_f64());
        self.hook_run_cpu.with_label_values(&labels).observe(usage.cpu.as_secs_f64());
        self.hook_run_rss.with_label_values(&labels).set(i64::try_from(usage.memory_peak).unwrap_or(i64::MAX));
        let (success, error, allowed, failure) = match result {
            RunResult::Success => (1, 0, 0, None),
            // The shutdown caused this, so it is neither a success nor the hook's error.
            RunResult::Error(FailureKind::Interrupted) | RunResult::AllowedError(FailureKind::Interrupted) => {
                (0, 0, 0, Some(FailureKind::Interrupted))
            }
            RunResult::Error(kind) => (0, 1, 0, Some(kind)),
            RunResult::AllowedError(kind) => (0, 0, 1, Some(kind)),
        };
        self.hook_run_success.with_label_values(&labels).inc_by(success);
        self.hook_run_errors.with_label_values(&labels).inc_by(error);
        self.hook_run_allowed_errors.with_label_values(&labels).inc_by(allowed);
        let hook = run.hook.as_str();
        if let Some(kind) = failure {
            self.hook_run_failures.with_label_values(&[hook, kind.label()]).inc();
        }
        // Sizes and counts are far below 2^52.
        self.hook_run_memory.with_label_values(&[hook]).observe(usage.memory_peak as f64);
        self.hook_run_host_calls.with_label_values(&[hook]).observe(usage.host_calls as f64);
    }

    /// A hook called Kubernetes. `verb` is a word from the code, not from the call.
    pub fn host_call(&self, verb: &'static str, outcome: Result<(), CallReason>) {
        self.host_calls.with_label_values(&[verb, samples::outcome_label(outcome)]).inc();
    }

    /// A hook's call was refused because of a missing permission.
    pub fn grant_refused(&self, hook: &HookName, verb: &'static str) {
        self.grant_refusals.with_label_values(&[hook.as_str(), verb]).inc();
    }

    /// A run's record was `written`, `dropped` or `failed`.
    pub fn record(&self, hook: &HookName, result: &'static str, bytes: u64) {
        self.records.with_label_values(&[hook.as_str(), result]).inc();
        self.record_bytes.with_label_values::<&str>(&[]).inc_by(bytes);
    }

    /// A trigger is about to run for the first time, after this time in its queue.
    pub fn task_waited(&self, run: RunLabels<'_>, waited: Duration) {
        let (binding, queue) = self.series.labels(run);
        let labels = [run.hook.as_str(), binding, &queue];
        self.task_wait.with_label_values(&labels).inc_by(waited.as_secs_f64());
    }

    /// A trigger was merged into another.
    pub fn task_folded(&self, queue: &QueueName) {
        self.tasks_folded.with_label_values(&[self.series.queue(queue)]).inc();
    }

    /// A trigger was accepted although its queue was full.
    pub fn task_beyond_bound(&self, queue: &QueueName) {
        self.tasks_beyond.with_label_values(&[self.series.queue(queue)]).inc();
    }

    /// A trigger failed permanently.
    pub fn task_given_up(&self, run: RunLabels<'_>) {
        let (binding, queue) = self.series.labels(run);
        self.tasks_given_up.with_label_values(&[run.hook.as_str(), binding, &queue]).inc();
    }

    /// Sets the number of dead letters, and their bytes.
    pub fn set_dead_letters(&self, letters: usize, bytes: usize) {
        self.dead_letters.with_label_values::<&str>(&[]).set(gauge(letters));
        self.dead_letter_bytes.with_label_values::<&str>(&[]).set(gauge(bytes));
    }

    /// Sets the gauges of the queues. Queues that are not in the list lose their gauges.
    pub fn set_queues(&self, samples: &[QueueSample]) {
        let mut now = BTreeMap::<String, QueueSample>::new();
        for sample in samples {
            let of_label = now.entry(self.series.queue(&sample.queue));
            of_label.and_modify(|sum| sum.add(sample)).or_insert_with(|| sample.clone());
        }
        let mut known = self.known_queues.lock().unwrap_or_else(PoisonError::into_inner);
        for gone in known.iter().filter(|name| !now.contains_key(*name)) {
            for vec in [&self.queue_length, &self.queue_bytes, &self.queue_running, &self.queue_retrying] {
                // The gauge may never have been set. Then there is nothing to remove.
                let _ = vec.remove_label_values(&[gone]);
            }
            let _ = self.queue_oldest.remove_label_values(&[gone]);
        }
        for (name, sample) in &now {
            self.queue_length.with_label_values(&[name]).set(gauge(sample.length));
            self.queue_bytes.with_label_values(&[name]).set(gauge(sample.bytes));
            self.queue_running.with_label_values(&[name]).set(gauge(sample.running));
            self.queue_retrying.with_label_values(&[name]).set(gauge(sample.retrying));
            let oldest = sample.oldest.unwrap_or_default().as_secs_f64();
            self.queue_oldest.with_label_values(&[name]).set(oldest);
        }
        *known = now.into_keys().collect();
    }

    /// Sets how many objects a binding matches now, what its snapshot holds, and how many objects' newest states are
    /// missing in it.
    pub fn set_snapshot(&self, run: RunLabels<'_>, objects: usize, bytes: usize, late: usize) {
        let (binding, queue) = self.series.labels(run);
        let labels = [run.hook.as_str(), binding, &queue];
        self.snapshot_objects.with_label_values(&labels).set(gauge(objects));
        self.snapshot_bytes.with_label_values(&labels).set(gauge(bytes));
        self.snapshot_late.with_label_values(&labels).set(gauge(late));
    }

    /// Returns the recorder of a binding's times.
    pub fn binding_timings(&self, run: RunLabels<'_>) -> BindingTimings {
        let (binding, queue) = self.series.labels(run);
        let labels = [run.hook.as_str(), binding, &queue];
        let (filter, event) = (self.jq_filter.with_label_values(&labels), self.event.with_label_values(&labels));
        BindingTimings::new(filter, event)
    }

    /// Sets the times since the API server last sent something, for each kind (`pods.v1.apps`) and namespace. Those
    /// that are not in the list lose their gauge.
    pub fn set_watch_ages<'a>(&self, ages: impl IntoIterator<Item = (&'a str, &'a str, Duration)>) {
        self.watch_age.reset();
        for (gvr, namespace, age) in ages {
            let gauge = self.watch_age.with_label_values(&[gvr, namespace]);
            gauge.set(gauge.get().max(age.as_secs_f64()));
        }
    }

    /// A watch was silent for too long and is rebuilt.
    pub fn watch_rebuilt(&self, gvr: &str, namespace: &str) {
        self.watch_dead.with_label_values(&[gvr, namespace]).inc();
    }

    /// A request to the API server was answered with this status, or not at all.
    pub fn api_request(&self, method: &str, path: &str, code: Option<u16>, took: Duration) {
        self.request_latency.with_label_values(&[method, &url::template(path)]).observe(took.as_secs_f64());
        let code = code.map_or_else(|| "<error>".to_owned(), |code| code.to_string());
        self.request_result.with_label_values(&[code.as_str(), method]).inc();
    }

    /// Sets the number of series that a hook reports now.
    pub fn set_hook_metric_series(&self, hook: &HookName, series: usize) {
        self.hook_metric_series.with_label_values(&[hook.as_str()]).set(gauge(series));
    }

    /// Counts the metric operations of a run that were left out.
    pub fn hook_metrics_refused(&self, hook: &HookName, count: usize) {
        self.hook_metric_refusals.with_label_values(&[hook.as_str()]).inc_by(count as u64);
    }

    /// Sets how often a binding's `jqFilter` has failed so far. Totals that are smaller than before are ignored.
    pub fn filter_errors_reached(&self, hook: &HookName, binding: &BindingName, total: u64) {
        let errors = self.filter_errors.with_label_values(&[hook.as_str(), binding.unique()]);
        errors.inc_by(total.saturating_sub(errors.get()));
    }

    /// A watch stream ended with an error.
    pub fn watch_failed(&self, error: WatchError) {
        self.watch_errors.with_label_values(&[error.label()]).inc();
    }
}

fn gauge(value: usize) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}
