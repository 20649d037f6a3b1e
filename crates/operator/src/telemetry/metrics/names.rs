//! The table of all metrics of the operator itself: names, types, labels, help. They are created from it.
//!
//! Labels are `hook`, `binding`, `queue`, `module`, or a word from a closed set. They are never the name of another object.

use std::collections::HashMap;

use boathook_core::model::HookName;
use prometheus::{
    CounterVec, GaugeVec, HistogramVec, IntCounterVec, IntGaugeVec, Registry,
    core::{Collector, MetricVec, MetricVecBuilder},
    histogram_opts, opts,
};

/// The type of a metric.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Only increases.
    Counter,
    /// Increases and decreases.
    Gauge,
    /// Counts values in buckets with these upper bounds.
    Histogram(Buckets),
}

/// Upper bounds of a histogram's buckets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Buckets {
    /// Seconds, from 10 µs to a minute.
    Seconds,
    /// Bytes, from 64 KiB to 1 GiB.
    Bytes,
    /// A count, from 1 to 10 000.
    Count,
}

impl Buckets {
    /// The bounds in ascending order.
    pub fn bounds(self) -> &'static [f64] {
        const MIB: f64 = 1024.0 * 1024.0;
        match self {
            Self::Seconds => &[
                0.000_01, 0.000_025, 0.000_05, 0.000_1, 0.000_25, 0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05,
                0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0,
            ],
            Self::Bytes => &[
                MIB / 16.0,
                MIB / 4.0,
                MIB,
                2.0 * MIB,
                4.0 * MIB,
                8.0 * MIB,
                16.0 * MIB,
                32.0 * MIB,
                64.0 * MIB,
                128.0 * MIB,
                256.0 * MIB,
                1024.0 * MIB,
            ],
            Self::Count => &[1.0, 2.0, 5.0, 10.0, 25.0, 50.0, 100.0, 250.0, 500.0, 1_000.0, 2_500.0, 10_000.0],
        }
    }
}

/// One metric.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Def {
    /// The name without the prefix.
    pub name: &'static str,
    pub kind: Kind,
    /// The names of the labels.
    pub labels: &'static [&'static str],
    /// One line for people.
    pub help: &'static str,
}

const fn counter(name: &'static str, labels: &'static [&'static str], help: &'static str) -> Def {
    Def { name, kind: Kind::Counter, labels, help }
}

const fn gauge(name: &'static str, labels: &'static [&'static str], help: &'static str) -> Def {
    Def { name, kind: Kind::Gauge, labels, help }
}

const fn histogram(name: &'static str, buckets: Buckets, labels: &'static [&'static str], help: &'static str) -> Def {
    Def { name, kind: Kind::Histogram(buckets), labels, help }
}

const RUN: &[&str] = &["hook", "binding", "queue"];

/// Defines, from the same lines, the table and the metrics.
macro_rules! table {
    ($($name:ident: $vec:ident = $def:expr;)*) => {
        /// Every metric, in the order of the documentation.
        pub const TABLE: &[Def] = &[$($def),*];

        /// The metrics of the table.
        #[derive(Debug)]
        pub(super) struct Vecs {
            $(pub $name: $vec,)*
        }

        impl Vecs {
            /// Creates and registers all metrics. Their names begin with `prefix`.
            pub fn new(registry: &Registry, prefix: &str) -> Result<Self, MetricsError> {
                Ok(Self { $($name: vec(registry, prefix, &$def)?,)* })
            }

            /// Drops all series of a module.
            pub fn forget_module(&self, module: &str) {
                $(if $def.labels.contains(&"module") {
                    forget_module(&self.$name, module);
                })*
            }

            /// Drops those of the hook's series whose label `binding`, if any, is `gone`.
            pub fn forget(&self, hook: &HookName, gone: &dyn Fn(Option<&str>) -> bool) {
                $(if $def.labels.contains(&"hook") {
                    forget(&self.$name, hook, gone);
                })*
            }
        }
    };
}

table! {
    build_info: IntGaugeVec = gauge("build_info", &["version"], "1, with the version of the operator.");
    live_ticks: IntCounterVec = counter("live_ticks", &[], "Grows by 1 every 10 seconds while the process lives.");
    leader: IntGaugeVec = gauge("leader", &[], "1 when hooks run in this process, 0 when it is a standby; always 1 without other replicas.");
    leader_transitions: IntCounterVec = counter("leader_transitions_total", &[], "Times that this process began to lead, or ended.");
    hooks: IntGaugeVec = gauge("hooks", &["state"], "Hooks by state: loading, pending, ready, quarantined.");
    enable_seconds: GaugeVec = gauge("hook_enable_kubernetes_bindings_seconds", &["hook"], "Time from the hook's start until all its kubernetes bindings had listed their objects.");
    enable_success: IntGaugeVec = gauge("hook_enable_kubernetes_bindings_success", &["hook"], "1 when all kubernetes bindings of the hook have listed their objects, else 0.");
    enable_errors: IntCounterVec = counter("hook_enable_kubernetes_bindings_errors_total", &["hook"], "Lookups of a kubernetes binding's kind that did not find it.");
    hook_compile: HistogramVec = histogram("hook_compile_seconds", Buckets::Seconds, &["source"], "Time to get a component ready to run; source is compiled or cached.");
    hook_swaps: IntCounterVec = counter("hook_swaps_total", &["result"], "New versions of hooks, by result: swapped or refused.");
    module_step: HistogramVec = histogram("module_step_seconds", Buckets::Seconds, &["module", "step"], "Duration of a step in the life of a module, whether it succeeded or not.");
    module_helm: HistogramVec = histogram("module_helm_seconds", Buckets::Seconds, &["module"], "Duration of the step Chart: a module's chart is rendered and applied, and its objects become ready.");
    module_run_errors: IntCounterVec = counter("module_run_errors_total", &["module"], "Steps of a module that failed, except those of its deletion.");
    module_delete_errors: IntCounterVec = counter("module_delete_errors_total", &["module"], "Steps of a module's deletion that failed.");
    modules_drifted: IntCounterVec = counter("modules_drifted_total", &["module"], "Times that objects of a module no longer were as they were applied.");
    module_info: IntGaugeVec = gauge("mm_module_info", &["module", "enabled", "critical"], "1 for each module; enabled and critical are true or false, and enabled is unknown before that is decided.");
    module_ready: IntGaugeVec = gauge("module_ready", &["module"], "1 when all steps of the module are done, else 0.");
    module_maintenance: IntGaugeVec = gauge("mm_module_maintenance", &["module", "state"], "1 for each module, with its maintenance: Managed, NoResourceReconciliation or Paused.");
    convergences: IntCounterVec = counter("convergence_total", &[], "Rounds in which each module was tried.");
    convergence_seconds: CounterVec = counter("convergence_seconds", &[], "Time of these rounds, from their beginning until each module was tried.");
    hook_run: HistogramVec = histogram("hook_run_seconds", Buckets::Seconds, RUN, "Duration of a run, host calls included.");
    hook_run_cpu: HistogramVec = histogram("hook_run_user_cpu_seconds", Buckets::Seconds, RUN, "CPU time of a run: the guest's code, and what the operator does for it in the same thread.");
    hook_run_rss: IntGaugeVec = gauge("hook_run_max_rss_bytes", RUN, "Most memory that the last run had, linear memories and tables together.");
    hook_run_success: IntCounterVec = counter("hook_run_success_total", RUN, "Runs that succeeded.");
    hook_run_errors: IntCounterVec = counter("hook_run_errors_total", RUN, "Runs that failed, without those that allowFailure counts as done.");
    hook_run_allowed_errors: IntCounterVec = counter("hook_run_allowed_errors_total", RUN, "Runs that failed and that allowFailure counts as done.");
    hook_run_failures: IntCounterVec = counter("hook_run_failures_total", &["hook", "kind"], "Runs that failed or were interrupted, by kind: retry, retry-after, permanent, trap, limit-time, limit-memory, limit-stack, limit-host-calls, limit-host-bytes, interrupted, host.");
    hook_run_memory: HistogramVec = histogram("hook_run_memory_peak_bytes", Buckets::Bytes, &["hook"], "Most memory that a run had, linear memories and tables together.");
    hook_run_host_calls: HistogramVec = histogram("hook_run_host_calls", Buckets::Count, &["hook"], "Calls of imported functions in a run.");
    loops: IntGaugeVec = gauge("loops", &[], "Loops of hooks that cause each other's writes again and again.");
    loop_turns: IntCounterVec = counter("hook_loop_turns_total", &["hook"], "Writes of such loops that the hook had a part in.");
    host_calls: IntCounterVec = counter("host_calls_total", &["verb", "outcome"], "Calls of hooks to Kubernetes, by verb and outcome: ok or the reason of the error.");
    hook_requests: IntCounterVec = counter("hook_requests_total", &["hook"], "Requests to the API server for calls of the hook, each try counted.");
    hook_sent: IntCounterVec = counter("hook_sent_bytes_total", &["hook"], "Bytes in the bodies of these requests.");
    hook_received: IntCounterVec = counter("hook_received_bytes_total", &["hook"], "Bytes in the bodies of their responses.");
    grant_refusals: IntCounterVec = counter("grant_refusals_total", &["hook", "verb"], "Calls that were refused because the hook has no permission for them.");
    records: IntCounterVec = counter("records_total", &["hook", "result"], "Records of runs, by what became of them: written, dropped (the writer was behind), failed.");
    record_bytes: IntCounterVec = counter("records_bytes_total", &[], "Bytes of records that were written.");
    shadow_runs: IntCounterVec = counter("hook_shadow_runs_total", &["hook", "result"], "Runs that the new version of a HookBundle did again in the shadow of the running one: equal, different, skipped (there was no slot, or too much to note).");
    task_wait: CounterVec = counter("task_wait_in_queue_seconds_total", RUN, "Time that triggers waited before their first run.");
    tasks_folded: IntCounterVec = counter("tasks_folded_total", &["queue"], "Triggers that were merged into another of the same object because the queue was over its bound, or dropped for a synchronization because their tenant had no room.");
    tasks_beyond: IntCounterVec = counter("tasks_beyond_bound_total", &["queue"], "Triggers that a queue took beyond its bound because no other of their object waited.");
    tasks_given_up: IntCounterVec = counter("tasks_given_up_total", RUN, "Triggers that failed for good, or were dropped without a synchronization because their tenant had no room.");
    dead_letters: IntGaugeVec = gauge("dead_letters", &[], "Failed runs that are kept to be looked at, retried or dropped.");
    dead_letter_bytes: IntGaugeVec = gauge("dead_letters_bytes", &[], "Bytes of objects and filter results of those.");
    queue_length: IntGaugeVec = gauge("tasks_queue_length", &["queue"], "Triggers that wait, for their first run or for the next try.");
    queue_bytes: IntGaugeVec = gauge("tasks_queue_bytes", &["queue"], "Bytes of objects and filter results of the triggers that wait.");
    queue_oldest: GaugeVec = gauge("tasks_queue_oldest_seconds", &["queue"], "Age of the oldest trigger that is not done; 0 for an empty queue.");
    queue_running: IntGaugeVec = gauge("tasks_queue_running", &["queue"], "Runs in progress.");
    queue_retrying: IntGaugeVec = gauge("tasks_queue_retrying", &["queue"], "Failed runs that wait for the next try.");
    snapshot_objects: IntGaugeVec = gauge("kube_snapshot_objects", RUN, "Objects that a binding matches.");
    snapshot_late: IntGaugeVec = gauge("kube_snapshot_late_objects", RUN, "Objects whose newest state is missing in a binding's snapshot, because the jqFilter could not run on it yet or because there is no memory for it; runs that include the snapshot wait.");
    snapshot_bytes: IntGaugeVec = gauge("kube_snapshot_bytes", RUN, "Bytes that a binding's snapshot holds; what several objects share is counted for each.");
    jq_filter: HistogramVec = histogram("kube_jq_filter_duration_seconds", Buckets::Seconds, RUN, "Time to run a jqFilter on one object.");
    event: HistogramVec = histogram("kube_event_duration_seconds", Buckets::Seconds, RUN, "Time to handle one change of an object: filter, snapshot, trigger.");
    filter_errors: IntCounterVec = counter("filter_errors_total", &["hook", "binding"], "Times that a jqFilter failed on an object.");
    watch_age: GaugeVec = gauge("kubernetes_client_watch_age_seconds", &["gvr", "namespace"], "Time since the API server last sent something on a watch; the oldest of those on one kind and namespace.");
    watch_dead: IntCounterVec = counter("factory_informer_dead_total", &["gvr", "namespace"], "Watches that were silent for too long and were rebuilt.");
    request_latency: HistogramVec = histogram("kubernetes_client_request_latency_seconds", Buckets::Seconds, &["verb", "url"], "Time from a request to the API server to the head of its answer, by method and by path without names.");
    request_result: IntCounterVec = counter("kubernetes_client_request_result_total", &["code", "method"], "Answers of the API server by status; code is <error> where there was none.");
    hook_metric_series: IntGaugeVec = gauge("hook_metrics_series", &["hook"], "Series that the hook reports at /metrics/hooks.");
    hook_metric_refusals: IntCounterVec = counter("hook_metrics_refused_total", &["hook"], "Metric operations of runs that succeeded that could not be applied.");
    watch_errors: IntCounterVec = counter("kubernetes_client_watch_errors_total", &["error_type"], "Watch streams that ended in an error: expired, eof, unexpected-eof, fail.");
    answers: IntCounterVec = counter("webhook_answers_total", &["hook", "binding", "kind", "outcome"], "Answers to the API server, by kind (validating, mutating, conversion) and outcome: allowed, denied, mutated, converted, refused (a conversion that the hook said is not possible), failed, not-ready.");
    answer_seconds: HistogramVec = histogram("webhook_answer_seconds", Buckets::Seconds, &["hook", "binding", "kind"], "Time from the question, read whole, to the hook's answer.");
    answers_running: IntGaugeVec = gauge("webhook_answers_running", &["hook"], "Questions of the API server that the hook is busy with.");
    certificate_expiry: IntGaugeVec = gauge("webhook_certificate_expiry_timestamp_seconds", &[], "When the certificate for the API server expires, in seconds since 1970; 0 without one.");
}

/// Why metrics cannot be created or shown.
#[derive(Debug, thiserror::Error)]
pub enum MetricsError {
    #[error("metric {name} cannot be registered: use letters, digits and '_' in the metrics prefix")]
    Register {
        /// The full name.
        name: String,
        /// The error of the library.
        #[source]
        source: prometheus::Error,
    },
    #[error("the metrics cannot be written as text")]
    Encode(#[source] prometheus::Error),
}

fn vec<V: FromDef + Collector + Clone + 'static>(
    registry: &Registry,
    prefix: &str,
    def: &Def,
) -> Result<V, MetricsError> {
    let name = format!("{prefix}{}", def.name);
    let made = V::from_def(&name, def).and_then(|vec| {
        registry.register(Box::new(vec.clone()))?;
        Ok(vec)
    });
    made.map_err(|source| MetricsError::Register { name, source })
}

/// Creates a metric from its line in the table.
trait FromDef: Sized {
    fn from_def(name: &str, def: &Def) -> prometheus::Result<Self>;
}

macro_rules! from_def {
    ($($vec:ty),*) => {$(
        impl FromDef for $vec {
            fn from_def(name: &str, def: &Def) -> prometheus::Result<Self> {
                Self::new(opts!(name, def.help), def.labels)
            }
        }
    )*};
}

from_def!(IntCounterVec, CounterVec, IntGaugeVec, GaugeVec);

impl FromDef for HistogramVec {
    fn from_def(name: &str, def: &Def) -> prometheus::Result<Self> {
        let bounds = match def.kind {
            Kind::Histogram(buckets) => buckets.bounds().to_vec(),
            Kind::Counter | Kind::Gauge => Vec::new(),
        };
        Self::new(histogram_opts!(name, def.help, bounds), def.labels)
    }
}

/// Drops the series of a module.
fn forget_module<B: MetricVecBuilder>(vec: &MetricVec<B>, module: &str) {
    for family in vec.collect() {
        for metric in family.get_metric() {
            let labels: HashMap<&str, &str> =
                metric.get_label().iter().map(|label| (label.name(), label.value())).collect();
            if labels.get("module") == Some(&module) {
                // If it is gone now, that is fine.
                let _ = vec.remove(&labels);
            }
        }
    }
}

/// Drops those series of a hook whose label `binding`, if any, is `gone`.
fn forget<B: MetricVecBuilder>(vec: &MetricVec<B>, hook: &HookName, gone: &dyn Fn(Option<&str>) -> bool) {
    for family in vec.collect() {
        for metric in family.get_metric() {
            let labels: HashMap<&str, &str> =
                metric.get_label().iter().map(|label| (label.name(), label.value())).collect();
            if labels.get("hook") == Some(&hook.as_str()) && gone(labels.get("binding").copied()) {
                // The series existed a moment ago. If it is gone now, that is fine.
                let _ = vec.remove(&labels);
            }
        }
    }
}

/// The documentation of all metrics, as Markdown.
pub fn markdown(prefix: &str) -> String {
    use std::fmt::Write as _;
    let mut out = HEAD.to_owned();
    for def in TABLE {
        let kind = match def.kind {
            Kind::Counter => "counter",
            Kind::Gauge => "gauge",
            Kind::Histogram(_) => "histogram",
        };
        let labels = if def.labels.is_empty() { "–".to_owned() } else { def.labels.join(", ") };
        // Writing to a String cannot fail.
        let _ = writeln!(out, "| `{prefix}{}` | {kind} | {labels} | {} |", def.name, def.help);
    }
    out
}

const HEAD: &str = "# Metrics

<!-- Generated; `BOATHOOK_UPDATE_DOCS=1 cargo test --lib the_documentation` regenerates it. -->

The operator serves its own metrics at `/metrics`, and those that hooks report at `/metrics/hooks`, both in Prometheus's
text format. `--metrics-prefix` changes what the operator's names begin with: with `shell_operator_`, dashboards made for
shell-operator find those that both have.

`binding` is the binding's name, `NAME#2` for the second of that name; `queue` is `hook/NAME` for a hook's own queue.
Gauges are measured when they are asked for.

A binding's series take memory, which [tenants share](../admin/sizing.md). A schedule or a webhook whose tenant has no room
left for them is counted under `binding=\"_overflow\"` and `queue=\"_overflow\"`, with all others of its hook that have none.

## Metrics of hooks

A hook reports counters, gauges and histograms with labels of its own choice (`metrics` in [wit/](../../wit/metrics.wit),
`boathook_sdk::metrics` in Rust). Each series has the label `hook`. They are applied when the run has succeeded. A hook may
have 1 000 series (`--hook-metrics-series`); a histogram counts as its buckets and three more. All are gone when the hook is.
Their lines take memory, four times their length, of what [tenants share](../admin/sizing.md); what has no room is left out, and
the log says so.

Hooks need not agree about the type of a metric: what one tenant reports never depends on what another does. A metric that hooks
report as different types has the type `untyped`, and so have the lines of a histogram whose name another hook's metric needs.

## Metrics of the operator

| metric | type | labels | meaning |
| --- | --- | --- | --- |
";
