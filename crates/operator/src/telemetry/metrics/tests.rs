//! What a scrape shows after something was recorded.

use std::collections::BTreeSet;

use boathook_core::model::Failure;

use super::{names::TABLE, *};

fn hook(name: &str) -> HookName {
    HookName::new(name).unwrap()
}

struct Labels(HookName, BindingName, QueueName);

impl Labels {
    fn new(name: &str) -> Self {
        Self(hook(name), BindingName::new("pods"), QueueName::Own(hook(name)))
    }

    fn get(&self) -> RunLabels<'_> {
        RunLabels { hook: &self.0, binding: &self.1, queue: &self.2 }
    }
}

fn sample(queue: QueueName, length: usize) -> QueueStats {
    let oldest = Some(Duration::from_millis(1_500));
    QueueStats { queue, length, bytes: 7, oldest, running: 1, retrying: 2, folded: 0, beyond: 0 }
}

fn report(failure: Option<FailureKind>) -> RunReport {
    let failure = failure.map(|kind| Failure { kind, message: String::new(), backtrace: None });
    RunReport {
        outcome: failure.map_or(Ok(()), Err),
        cpu: Duration::from_micros(60),
        memory_peak: 1 << 20,
        host_calls: 3,
        ..RunReport::interrupted(String::new(), Duration::from_micros(80))
    }
}

/// Records everything once.
fn record_all(metrics: &Metrics, name: &str) {
    let labels = Labels::new(name);
    metrics.live_tick();
    metrics.set_hooks(HookCounts { ready: 1, ..HookCounts::default() });
    metrics.hook_compiled(false, Duration::from_secs(1));
    metrics.hook_swapped(true);
    metrics.run_finished(labels.get(), &report(None), false);
    metrics.run_finished(labels.get(), &report(Some(FailureKind::Trap)), false);
    metrics.run_finished(labels.get(), &report(Some(FailureKind::Permanent)), true);
    metrics.run_finished(labels.get(), &report(Some(FailureKind::Interrupted)), false);
    metrics.host_call("get", Ok(()));
    metrics.host_call("get", Err(CallReason::ForbiddenByGrant));
    metrics.grant_refused(&labels.0, "get");
    metrics.sent(&labels.0, 5);
    metrics.received(&labels.0, 7);
    metrics.loop_turned(&labels.0);
    metrics.set_loops(1);
    metrics.record(&labels.0, "written", 77);
    metrics.shadow_run(&labels.0, "equal");
    metrics.task_waited(labels.get(), Duration::from_millis(250));
    metrics.task_folded(&labels.2);
    metrics.task_beyond_bound(&labels.2);
    metrics.task_given_up(labels.get());
    metrics.set_queues(&[sample(labels.2.clone(), 5)]);
    metrics.set_snapshot(labels.get(), 12, 3_400, 2);
    let timings = metrics.binding_timings(labels.get());
    timings.filtered(Duration::from_micros(5));
    timings.handled(Duration::from_micros(9));
    metrics.enable_failed(&labels.0);
    metrics.set_enabled(&labels.0, Some(Duration::from_millis(1_500)));
    metrics.set_dead_letters(2, 900);
    let ages = [("pods.v1.", "", 3), ("pods.v1.", "", 2), ("things.v1.g.io", "a", 1)];
    metrics.set_watch_ages(ages.map(|(gvr, namespace, age)| (gvr, namespace, Duration::from_secs(age))));
    metrics.watch_rebuilt("pods.v1.", "");
    metrics.api_request("GET", "/api/v1/namespaces/a/secrets/b", Some(404), Duration::from_millis(2));
    metrics.api_request("GET", "/api/v1/pods", None, Duration::from_millis(2));
    metrics.set_hook_metric_series(&labels.0, 4);
    metrics.hook_metrics_refused(&labels.0, 3);
    metrics.filter_errors_reached(&labels.0, &labels.1, 1);
    // A total that has not grown counts nothing.
    metrics.filter_errors_reached(&labels.0, &labels.1, 1);
    metrics.watch_failed(WatchErrorKind::UnexpectedEof);
    drop(metrics.answer_begun(&labels.0));
    let answer = AnswerLabels { hook: &labels.0, binding: &labels.1, kind: "validating" };
    metrics.answer_ended(answer, "allowed", Duration::from_millis(1));
    metrics.set_certificate_expiry(1_900_000_000);
    metrics.set_module(ModuleInfo {
        name: "web",
        enabled: None,
        critical: false,
        ready: false,
        maintenance: "Managed",
    });
    metrics.module_step("web", "Chart", Duration::from_millis(1), true, false);
    metrics.module_step("web", "Delete", Duration::from_millis(1), true, true);
    metrics.module_drifted("web");
    metrics.converged(Duration::from_millis(1));
}

#[test]
fn every_line_of_the_table_can_be_recorded_and_has_its_help_and_type() {
    let metrics = Metrics::new("op_").unwrap();
    record_all(&metrics, "h");
    let text = metrics.text().unwrap();
    for def in TABLE {
        let kind = match def.kind {
            names::Kind::Counter => "counter",
            names::Kind::Gauge => "gauge",
            names::Kind::Histogram(_) => "histogram",
        };
        assert!(text.contains(&format!("# HELP op_{} {}\n", def.name, def.help)), "{}", def.name);
        assert!(text.contains(&format!("# TYPE op_{} {kind}\n", def.name)), "{}", def.name);
    }
    let shown = text.lines().filter(|line| line.starts_with("# TYPE")).count();
    assert_eq!(shown, TABLE.len(), "something is recorded that the table does not have");
    let names: BTreeSet<_> = TABLE.iter().map(|def| def.name).collect();
    assert_eq!(names.len(), TABLE.len());
}

#[test]
fn values_arrive_under_their_labels() {
    let metrics = Metrics::new(Metrics::DEFAULT_PREFIX).unwrap();
    record_all(&metrics, "h");
    let text = metrics.text().unwrap();
    for line in [
        r#"boathook_hook_run_success_total{binding="pods",hook="h",queue="hook/h"} 1"#,
        r#"boathook_hook_run_errors_total{binding="pods",hook="h",queue="hook/h"} 1"#,
        r#"boathook_hook_run_allowed_errors_total{binding="pods",hook="h",queue="hook/h"} 1"#,
        r#"boathook_hook_run_failures_total{hook="h",kind="interrupted"} 1"#,
        r#"boathook_hook_run_seconds_bucket{binding="pods",hook="h",queue="hook/h",le="0.0001"} 4"#,
        r#"boathook_hook_run_seconds_bucket{binding="pods",hook="h",queue="hook/h",le="0.00005"} 0"#,
        r#"boathook_hook_run_memory_peak_bytes_sum{hook="h"} 4194304"#,
        r#"boathook_host_calls_total{outcome="forbidden-by-grant",verb="get"} 1"#,
        r#"boathook_task_wait_in_queue_seconds_total{binding="pods",hook="h",queue="hook/h"} 0.25"#,
        r#"boathook_tasks_queue_length{queue="hook/h"} 5"#,
        r#"boathook_tasks_queue_oldest_seconds{queue="hook/h"} 1.5"#,
        r#"boathook_kube_snapshot_objects{binding="pods",hook="h",queue="hook/h"} 12"#,
        r#"boathook_kube_snapshot_bytes{binding="pods",hook="h",queue="hook/h"} 3400"#,
        r#"boathook_kube_snapshot_late_objects{binding="pods",hook="h",queue="hook/h"} 2"#,
        r#"boathook_hook_run_max_rss_bytes{binding="pods",hook="h",queue="hook/h"} 1048576"#,
        r#"boathook_hook_run_user_cpu_seconds_count{binding="pods",hook="h",queue="hook/h"} 4"#,
        r#"boathook_kube_jq_filter_duration_seconds_count{binding="pods",hook="h",queue="hook/h"} 1"#,
        r#"boathook_kube_event_duration_seconds_count{binding="pods",hook="h",queue="hook/h"} 1"#,
        r#"boathook_hook_enable_kubernetes_bindings_seconds{hook="h"} 1.5"#,
        r#"boathook_hook_enable_kubernetes_bindings_success{hook="h"} 1"#,
        r#"boathook_hook_enable_kubernetes_bindings_errors_total{hook="h"} 1"#,
        r#"boathook_records_total{hook="h",result="written"} 1"#,
        "boathook_records_bytes_total 77",
        r#"boathook_hook_shadow_runs_total{hook="h",result="equal"} 1"#,
        "boathook_dead_letters 2",
        "boathook_dead_letters_bytes 900",
        r#"boathook_kubernetes_client_watch_age_seconds{gvr="pods.v1.",namespace=""} 3"#,
        r#"boathook_factory_informer_dead_total{gvr="pods.v1.",namespace=""} 1"#,
        r#"boathook_kubernetes_client_request_result_total{code="404",method="GET"} 1"#,
        r#"boathook_kubernetes_client_request_result_total{code="<error>",method="GET"} 1"#,
        r#"boathook_kubernetes_client_request_latency_seconds_count{url="/api/v1/namespaces/{namespace}/secrets/{name}",verb="GET"} 1"#,
        r#"boathook_hook_metrics_series{hook="h"} 4"#,
        r#"boathook_hook_metrics_refused_total{hook="h"} 3"#,
        r#"boathook_filter_errors_total{binding="pods",hook="h"} 1"#,
        r#"boathook_kubernetes_client_watch_errors_total{error_type="unexpected-eof"} 1"#,
        r#"boathook_hooks{state="quarantined"} 0"#,
        "boathook_live_ticks 1",
    ] {
        assert!(text.lines().any(|got| got == line), "{line} is not in:\n{text}");
    }
}

#[test]
fn what_is_gone_leaves_no_series() {
    let metrics = Metrics::new("").unwrap();
    record_all(&metrics, "gone");
    record_all(&metrics, "stays");
    metrics.forget_hook(&hook("gone"));
    metrics.set_queues(&[sample(QueueName::main(), 1)]);
    let text = metrics.text().unwrap();
    assert!(!text.contains(r#"hook="gone""#), "{text}");
    assert!(text.contains(r#"hook="stays""#));
    assert!(text.contains(r#"tasks_queue_length{queue="main"} 1"#));
    assert!(!text.contains(r#"tasks_queue_length{queue="hook/stays"}"#));
}

#[test]
fn a_prefix_that_makes_no_name_is_refused() {
    let error = Metrics::new("bad prefix-").unwrap_err();
    assert!(error.to_string().contains("bad prefix-build_info"), "{error}");
}

#[test]
fn registries_are_independent() {
    let (one, other) = (Metrics::new("").unwrap(), Metrics::new("").unwrap());
    one.live_tick();
    assert!(one.text().unwrap().contains("live_ticks 1"));
    assert!(other.text().unwrap().contains("live_ticks 0"));
}

#[test]
fn the_documentation_lists_every_metric_once() {
    let table = names::markdown("boathook_");
    let file = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join("docs/reference/metrics.md");
    if std::env::var_os("BOATHOOK_UPDATE_DOCS").is_some() {
        std::fs::write(&file, &table).unwrap();
    }
    let written = std::fs::read_to_string(&file).unwrap();
    assert!(written == table, "{} is out of date: run this test with BOATHOOK_UPDATE_DOCS=1", file.display());
    for def in TABLE {
        let row = format!("| `boathook_{}` |", def.name);
        assert_eq!(table.lines().filter(|line| line.starts_with(&row)).count(), 1, "{row}");
    }
    assert!(table.contains("| `boathook_hook_run_seconds` | histogram | hook, binding, queue | "), "{table}");
}

#[test]
fn names_are_left_out() {
    for (path, expected) in [
        ("/version", "/version"),
        ("/apis", "/apis"),
        ("/apis/apps/v1", "/apis/apps/v1"),
        ("/api/v1/secrets", "/api/v1/secrets"),
        ("/api/v1/namespaces", "/api/v1/namespaces"),
        ("/api/v1/namespaces/a", "/api/v1/namespaces/{name}"),
        ("/api/v1/nodes/n/status", "/api/v1/nodes/{name}/status"),
        ("/api/v1/namespaces/a/secrets", "/api/v1/namespaces/{namespace}/secrets"),
        ("/apis/g.io/v1/namespaces/a/things/b/scale", "/apis/g.io/v1/namespaces/{namespace}/things/{name}/scale"),
        ("/api/v1/namespaces/a/services/b/proxy/x/y", "/api/v1/namespaces/{namespace}/services/{name}/proxy"),
        ("", ""),
    ] {
        assert_eq!(template(path), expected, "{path}");
    }
}
