//! Metrics that hooks report, and the operator's own, as a scrape sees them.

use std::{collections::BTreeSet, time::Duration};

use boathook_operator::{
    app::LoopPolicy,
    record::RecordConfig,
    telemetry::metrics::names::{Def, TABLE},
    webhook::{ConversionRequest, Versioned},
};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

use super::{
    bundles::Shelf,
    fixture::{Operator, Pipeline, config_map, guests},
    modules_charts::{self, Bench},
    swap::put,
    written::{Deed, hook},
};
use crate::support::{cluster::TestCluster, guests::guest, until};

impl Operator {
    /// The body of a page.
    pub async fn page(&self, path: &str) -> String {
        let mut stream = TcpStream::connect(self.app.address()).await.unwrap();
        let request = format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut text = String::new();
        stream.read_to_string(&mut text).await.unwrap();
        text.split_once("\r\n\r\n").unwrap().1.to_owned()
    }

    /// Lines of a page without comments.
    async fn series(&self, path: &str) -> Vec<String> {
        self.page(path).await.lines().filter(|line| !line.starts_with('#')).map(str::to_owned).collect()
    }

    /// Waits until the hooks' metrics are these.
    async fn reported(&self, expected: &[&str]) {
        until(&format!("hooks report {expected:#?}"), async || {
            (self.series("/metrics/hooks").await == expected).then_some(())
        })
        .await;
    }
}

fn order(name: &str, ops: Value, more: Value) -> Value {
    let mut data = json!({ "ops": ops.to_string() });
    data.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    config_map(name, ("metrics", "report"), data)
}

#[tokio::test]
async fn what_a_hook_reports_is_served() {
    let pipeline = Pipeline::start(["metrics"]).await;
    let ops = json!([
        {"add": "copies_total", "value": 2, "labels": {"to": "a \"b\"", "hook": "forged"}},
        {"set": "free", "value": -1.5},
        {"observe": "took_seconds", "value": 0.5, "buckets": [0.1, 1]},
    ]);
    pipeline.create(order("one", ops.clone(), json!({}))).await;
    let once = [
        r#"copies_total{hook="metrics",to="a \"b\""} 2"#,
        r#"free{hook="metrics"} -1.5"#,
        r#"took_seconds_bucket{hook="metrics",le="0.1"} 0"#,
        r#"took_seconds_bucket{hook="metrics",le="1"} 1"#,
        r#"took_seconds_bucket{hook="metrics",le="+Inf"} 1"#,
        r#"took_seconds_sum{hook="metrics"} 0.5"#,
        r#"took_seconds_count{hook="metrics"} 1"#,
    ];
    pipeline.operator.reported(&once).await;
    let text = pipeline.operator.page("/metrics/hooks").await;
    assert!(text.contains("# TYPE took_seconds histogram\n"), "{text}");
    assert!(!pipeline.operator.page("/metrics").await.contains("copies_total"));

    // Without a group, a counter counts on; a series has its own labels.
    pipeline
        .create(order("two", json!([{"add": "copies_total", "value": 1, "labels": {"by": "x"}}, ops[0]]), json!({})))
        .await;
    let series = until("the second order", async || {
        let series = pipeline.operator.series("/metrics/hooks").await;
        series.iter().any(|line| line.ends_with(" 4")).then_some(series)
    })
    .await;
    assert_eq!(
        series[..2],
        [r#"copies_total{hook="metrics",by="x"} 1"#, r#"copies_total{hook="metrics",to="a \"b\""} 4"#]
    );
}

#[tokio::test]
async fn a_failed_run_reports_nothing() {
    let pipeline = Pipeline::on(TestCluster::start().await, &guests(["metrics"]), |_| ()).await;
    pipeline.operator.ready().await;
    pipeline.create(order("one", json!([{"add": "n", "value": 1}]), json!({"fail": "first"}))).await;
    let failed = pipeline.operator.told("run failed", "metrics", 1).await;
    assert_eq!(failed[0]["attempt"], 1);
    pipeline.operator.told("run succeeded", "metrics", 1).await;
    pipeline.operator.reported(&[r#"n{hook="metrics"} 1"#]).await;
}

#[tokio::test]
async fn groups_replace_and_expire() {
    let pipeline = Pipeline::start(["metrics"]).await;
    let pod = |name: &str| json!({"set": "pods", "value": 1, "labels": {"pod": name}, "group": "pods"});
    let other = json!({"add": "other", "value": 1, "group": "nodes"});
    pipeline.create(order("one", json!([pod("a"), pod("b"), other]), json!({}))).await;
    let expected =
        [r#"other{hook="metrics"} 1"#, r#"pods{hook="metrics",pod="a"} 1"#, r#"pods{hook="metrics",pod="b"} 1"#];
    pipeline.operator.reported(&expected).await;
    pipeline.create(order("two", json!([pod("c")]), json!({}))).await;
    pipeline.operator.reported(&[r#"other{hook="metrics"} 1"#, r#"pods{hook="metrics",pod="c"} 1"#]).await;
    pipeline.create(order("three", json!([{"expire": "pods"}]), json!({}))).await;
    pipeline.operator.reported(&[r#"other{hook="metrics"} 1"#]).await;
}

// mutant: crates/operator/src/telemetry/hook_metrics/mod.rs: `let own = hooks.entry(hook.clone()).or_insert_with(|| HookSeries::of(hook));` => `let own = hooks.entry(HookName::new("one").unwrap_or(hook.clone())).or_insert_with(|| HookSeries::of(hook));`
#[tokio::test]
async fn hooks_can_not_touch_each_other() {
    let hooks = [("one", guests(["metrics"])[0].1.clone()), ("two", guests(["metrics"])[0].1.clone())];
    let pipeline = Pipeline::on(TestCluster::start().await, &hooks, |options| options.hook_metrics_series = 5).await;
    pipeline.operator.ready().await;
    let many: Vec<_> = (0..7).map(|n| json!({"set": "many", "value": n, "labels": {"n": n.to_string()}})).collect();
    pipeline.create(order("one", json!([{"add": "n", "value": 1, "group": "g"}]), json!({}))).await;
    let both = [r#"n{hook="one"} 1"#, r#"n{hook="two"} 1"#];
    pipeline.operator.reported(&both).await;
    // Both are asked, and each answers for itself.
    pipeline.create(order("two", json!([{"set": "n", "value": 7}]), json!({}))).await;
    for hook in ["one", "two"] {
        let refusal = "refused: metric n of this hook is a counter, so it cannot also be a gauge: choose another name";
        pipeline.operator.said(hook, refusal).await;
    }
    pipeline.create(order("three", json!(many), json!({}))).await;
    for hook in ["one", "two"] {
        let what = format!("{hook} is told of its bound");
        pipeline
            .operator
            .until(&what, |operator| {
                let said = operator.log.said(hook);
                said.iter().any(|line| line.contains("would have more than 5 series")).then_some(())
            })
            .await;
    }
    let series = pipeline.operator.series("/metrics/hooks").await;
    assert_eq!(series.iter().filter(|line| line.contains(r#"hook="one""#)).count(), 5, "{series:#?}");
    assert_eq!(series[8..], both, "{series:#?}");

    // The series of a hook that is quarantined vanish.
    assert!(pipeline.operator.app.quarantine(&boathook_core::model::HookName::new("one").unwrap(), "as a test"));
    let series = pipeline.operator.series("/metrics/hooks").await;
    assert!(series.iter().all(|line| line.contains(r#"hook="two""#)) && series.len() == 5, "{series:#?}");
    assert!(!pipeline.operator.page("/metrics").await.contains(r#"hook="one""#));
    assert!(pipeline.operator.page("/readyz").await.contains("[!]one is quarantined: as a test\n"));
}

#[tokio::test]
async fn bad_operations_say_what_is_allowed() {
    let pipeline = Pipeline::start(["metrics"]).await;
    let table = [
        (json!({"add": "no-name", "value": 1}), "metric name \"no-name\" is not valid: use 1 to 200 characters"),
        (json!({"add": "n", "value": -1}), "metric n: a counter cannot grow by -1"),
        (json!({"set": "n"}), "metric n: NaN is not a value: it must be a finite number"),
        (json!({"set": "n", "value": 1, "labels": {"a-b": "x"}}), "metric n: label name \"a-b\" is not valid"),
        (json!({"observe": "n", "value": 1, "buckets": [2, 1]}), "metric n: give 1 to 64 finite upper bounds"),
        (json!({"expire": ""}), "metric group \"\" is not valid"),
        (json!({"add": "both", "value": 1}), ""),
        (json!({"set": "both", "value": 1}), "metric both was reported as a counter in this run"),
    ];
    let ops: Vec<_> = table.iter().map(|(op, _)| op.clone()).collect();
    pipeline.create(order("bad", json!(ops), json!({}))).await;
    pipeline.operator.said("metrics", "reported 8 of bad").await;
    let said = pipeline.operator.log.said("metrics");
    let refusals: Vec<_> = said.iter().filter_map(|line| line.strip_prefix("refused: ")).collect();
    let expected: Vec<_> = table.iter().map(|(_, text)| *text).filter(|text| !text.is_empty()).collect();
    assert_eq!(refusals.len(), expected.len(), "{refusals:#?}");
    for (refusal, expected) in refusals.iter().zip(expected) {
        assert!(refusal.starts_with(expected), "{refusal}");
    }
    pipeline.operator.reported(&[r#"both{hook="metrics"} 1"#]).await;
}

/// Names of the operator's metrics that have a value, and nothing else.
async fn recorded(operator: &Operator) -> BTreeSet<&'static str> {
    let lines = operator.series("/metrics").await;
    let shown = |name: &str, line: &str| {
        let rest = line.strip_prefix("boathook_").and_then(|line| line.strip_prefix(name));
        rest.is_some_and(|rest| rest.starts_with(['{', ' ']) || rest.starts_with("_bucket"))
    };
    let names = TABLE.iter().map(|def| def.name);
    names.filter(|name| lines.iter().any(|line| shown(name, line))).collect()
}

fn is_of_modules(def: &Def) -> bool {
    def.labels.contains(&"module") || def.name.starts_with("convergence")
}

#[tokio::test]
async fn every_metric_of_modules_is_recorded() {
    let bench = Bench::web().await;
    bench.put("010-web/templates/last.yaml", &modules_charts::hook("last", "pre-delete", ""));
    bench.put("values.yaml", "webEnabled: true\nweb: {port: 80, more: 0}\nbadEnabled: true\n");
    bench.put("020-bad/templates/bad.yaml", "{{ fail \"no such thing\" }}");
    let operator = bench.start().await;
    modules_charts::at(&operator, "web", "ready").await;
    let edited = json!({"apiVersion": "v1", "kind": "ConfigMap", "data": {"port": "1"},
        "metadata": {"name": "web", "namespace": "default"}});
    bench.cluster.admin.apply(&edited).await.unwrap();
    bench.port("80").await;
    let mut seen = recorded(&operator).await;
    bench.configure(json!({"webEnabled": "false"})).await;
    bench.end("last", "Failed").await;
    until("all metrics of modules are recorded", async || {
        seen.extend(recorded(&operator).await);
        TABLE.iter().filter(|def| is_of_modules(def)).all(|def| seen.contains(def.name)).then_some(())
    })
    .await;
}

#[tokio::test]
async fn every_metric_of_the_operator_is_recorded() {
    let maps = |more: &str| {
        format!(
            "configVersion: v1\nlimits: {{time: 60s, hostCalls: 1000000}}\npermissions: {{kubernetes: [{{apiGroups: [''], \
             resources: [configmaps], verbs: [get]}}]}}\nkubernetes: [{{name: maps, apiVersion: v1, kind: ConfigMap, {more}, \
             executeHookOnSynchronization: false}}]\n"
        )
    };
    let mut hooks = guests(["fail", "forbidden", "metrics", "reviewer"]);
    hooks.extend(["relay-1", "relay-2"].map(|name| (name, guest("relay"))));
    hooks.push(("waits", hook(&maps("labelSelector: {matchLabels: {wakes: waits}}"), &Deed::WaitsFor("gate"))));
    hooks.push(("filters", hook(&maps("jqFilter: 'error(\"no\")'"), &Deed::Says("woken"))));
    hooks.push(("lost", hook("configVersion: v1\nkubernetes: [{apiVersion: g.io/v1, kind: Lost}]", &Deed::Says("x"))));
    let records = tempfile::tempdir().unwrap();
    let pipeline = Pipeline::on(TestCluster::start().await, &hooks, |options| {
        options.record = Some(RecordConfig::new(records.path().join("records"), options.hooks.clone().unwrap()));
        options.hook_metrics_series = 2;
        options.queue.max_pending = 1;
        options.loops = LoopPolicy::Stop;
        options.streams.silence = Duration::from_secs(1);
    })
    .await;
    let operator = &pipeline.operator;
    for hook in ["waits", "relay-1", "relay-2"] {
        operator.told("binding enabled", hook, 1).await;
    }
    // Else an object is a part of the synchronization, in which nothing fails.
    for hook in ["fail", "forbidden"] {
        operator.told("run succeeded", hook, 1).await;
    }
    pipeline.create(config_map("fails", ("test", "fail"), json!({"mode": "permanent"}))).await;
    pipeline.create(config_map("forbidden", ("e2e", "forbidden"), json!({}))).await;
    // Each of them gives it to the other one, until the operator pauses both.
    let ball = json!({"holder": "relay-1", "order": "relay-1 relay-2"});
    pipeline.create(config_map("ball", ("test", "relay"), ball)).await;
    let newer = hook(&maps("jqFilter: 'error(\"no\")'"), &Deed::Says("swapped"));
    operator.app.swap(put(operator, "filters", &newer)).await.unwrap();
    // The first run fills what the hook may report; that the second has no room shows at its end.
    let set = |name: &str, group: Value| json!({"set": name, "value": 1, "group": group});
    pipeline.create(order("fill", json!([set("a", Value::Null), set("b", Value::Null)]), json!({}))).await;
    operator.reported(&[r#"a{hook="metrics"} 1"#, r#"b{hook="metrics"} 1"#]).await;
    pipeline.create(order("more", json!([set("c", "g".into())]), json!({}))).await;
    let left_out = &operator.told("metrics of the run left out", "metrics", 1).await[0];
    assert!(left_out["error"].as_str().unwrap().starts_with("metric c: this hook would have more than 2 series"));
    let (shelf, installer) = (Shelf::new(), operator.app.installer());
    let version = |word| hook(&maps("labelSelector: {matchLabels: {wakes: shadowed}}"), &Deed::Says(word));
    installer.install(shelf.bundle(&[("shadowed", &version("old"))])).await.unwrap();
    operator.told("binding enabled", "shadowed.team.prod", 1).await;
    installer.shadow(shelf.bundle(&[("shadowed", &version("new"))])).await.unwrap();
    pipeline.create(config_map("shadowed", ("wakes", "shadowed"), json!({}))).await;
    // One runs, one waits, and the queue holds no more than that.
    let wake = |name: &str, n: &str| config_map(name, ("wakes", "waits"), json!({ "n": n }));
    pipeline.create(wake("a", "1")).await;
    operator.said("waits", "begin").await;
    for n in ["2", "3"] {
        pipeline.apply(wake("a", n)).await;
    }
    pipeline.create(wake("b", "1")).await;
    pipeline.cluster.cluster.disconnect_watches();
    let widget = json!({"apiVersion": "reviewer.test/v1", "kind": "Widget", "metadata": {"name": "w"}, "spec": {}});
    let question = ConversionRequest {
        crd: "widgets.reviewer.test".to_owned(),
        uid: "u".to_owned(),
        desired: "reviewer.test/v2".to_owned(),
        objects: vec![Versioned { api_version: "reviewer.test/v1".to_owned(), json: widget.to_string() }],
    };
    operator.app.answerer().convert(question, Duration::from_secs(30)).await.unwrap();

    let all: BTreeSet<_> = TABLE.iter().filter(|def| !is_of_modules(def)).map(|def| def.name).collect();
    let mut seen = BTreeSet::new();
    let complete = async {
        while seen != all {
            seen.extend(recorded(operator).await);
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    let ended = tokio::time::timeout(Duration::from_secs(60), complete).await;
    let missing: Vec<_> = all.difference(&seen).collect();
    assert!(ended.is_ok(), "not recorded: {missing:?}\n{}", operator.page("/metrics").await);

    // A letter is written after its run was counted.
    let lines = until("both failures are dead letters", async || {
        let lines = operator.series("/metrics").await;
        lines.contains(&"boathook_dead_letters 2".to_owned()).then_some(lines)
    })
    .await;
    let value = |series: &str| -> f64 {
        let line = lines.iter().find_map(|line| line.strip_prefix(series));
        line.unwrap_or_else(|| panic!("{series} is not in {lines:#?}")).trim().parse().unwrap()
    };
    let of_run = r#"{binding="configmaps",hook="fail",queue="hook/fail"}"#;
    assert_eq!(value(&format!("boathook_hook_run_errors_total{of_run}")), 1.0);
    assert_eq!(value(&format!("boathook_hook_run_success_total{of_run}")), 1.0);
    assert!(value(&format!("boathook_hook_run_user_cpu_seconds_sum{of_run}")) > 0.0);
    assert!(value(&format!("boathook_hook_run_max_rss_bytes{of_run}")) > 65_536.0);
    assert_eq!(value(r#"boathook_kube_snapshot_objects{binding="configmaps",hook="fail",queue="hook/fail"}"#), 1.0);
    assert!(value(r#"boathook_kube_snapshot_bytes{binding="configmaps",hook="fail",queue="hook/fail"}"#) > 10.0);
    assert_eq!(value(r#"boathook_hook_run_failures_total{hook="fail",kind="permanent"}"#), 1.0);
    assert_eq!(value(r#"boathook_grant_refusals_total{hook="forbidden",verb="delete"}"#), 1.0);
    assert_eq!(value(r#"boathook_host_calls_total{outcome="forbidden-by-grant",verb="delete"}"#), 1.0);
    assert_eq!(value(r#"boathook_hooks{state="pending"}"#), 1.0);
    assert_eq!(value(r#"boathook_hook_enable_kubernetes_bindings_success{hook="lost"}"#), 0.0);
    assert!(value(r#"boathook_hook_enable_kubernetes_bindings_errors_total{hook="lost"}"#) >= 1.0);
    assert_eq!(value(r#"boathook_hook_enable_kubernetes_bindings_success{hook="fail"}"#), 1.0);
    assert_eq!(value(r#"boathook_tasks_queue_length{queue="hook/waits"}"#), 2.0);
    assert!(
        lines.iter().any(|line| line.contains(r#"request_latency_seconds_count{url="/api/v1/configmaps",verb="GET"}"#))
    );
}
