//! What a scrape shows after runs of several hooks.

use boathook_core::{
    fair::{Pool, Tenant},
    model::MetricValue,
};

use super::*;

fn hook(name: &str) -> HookName {
    HookName::new(name).unwrap()
}

fn record(name: &str, labels: &[(&str, &str)], group: &str, value: MetricValue) -> MetricOp {
    let labels = labels.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    let group = Some(group).filter(|group| !group.is_empty());
    MetricOp::Record(MetricSample::new(name, labels, group, value).unwrap())
}

fn add(name: &str, labels: &[(&str, &str)], group: &str, by: f64) -> MetricOp {
    record(name, labels, group, MetricValue::Add(by))
}

fn set(name: &str, labels: &[(&str, &str)], group: &str, to: f64) -> MetricOp {
    record(name, labels, group, MetricValue::Set(to))
}

fn observe(name: &str, value: f64, buckets: &[f64]) -> MetricOp {
    record(name, &[], "", MetricValue::Observe { value, buckets: buckets.into() })
}

fn expire(group: &str) -> MetricOp {
    MetricOp::Expire(group.into())
}

fn metrics() -> HookMetrics {
    HookMetrics::new(20)
}

fn apply(metrics: &HookMetrics, name: &str, ops: &[MetricOp]) {
    assert_eq!(metrics.apply(&hook(name), ops), Applied::default());
}

fn refusal(metrics: &HookMetrics, name: &str, op: MetricOp) -> String {
    let MetricOp::Record(sample) = &op else { panic!("{op:?}") };
    let checked = metrics.check(&hook(name), sample, sample.series()).unwrap_err();
    assert_eq!(metrics.apply(&hook(name), &[op]), Applied { refused: 1, first: Some(checked.clone()) });
    checked.to_string()
}

fn lines(metrics: &HookMetrics) -> Vec<String> {
    metrics.text().lines().filter(|line| !line.starts_with('#')).map(str::to_owned).collect()
}

#[test]
fn the_text_format() {
    let metrics = metrics();
    let ops = [
        add("copies_total", &[("to", "a\\b\"c\nd")], "", 2.0),
        add("copies_total", &[("to", "a\\b\"c\nd")], "", 0.5),
        set("free", &[], "", -1.5),
        observe("took_seconds", 0.1, &[0.1, 1.0]),
        observe("took_seconds", 0.5, &[0.1, 1.0]),
        observe("took_seconds", 7.0, &[0.1, 1.0]),
    ];
    apply(&metrics, "copy", &ops);
    let expected = r##"# HELP copies_total Reported by hooks.
# TYPE copies_total counter
copies_total{hook="copy",to="a\\b\"c\nd"} 2.5
# HELP free Reported by hooks.
# TYPE free gauge
free{hook="copy"} -1.5
# HELP took_seconds Reported by hooks.
# TYPE took_seconds histogram
took_seconds_bucket{hook="copy",le="0.1"} 1
took_seconds_bucket{hook="copy",le="1"} 2
took_seconds_bucket{hook="copy",le="+Inf"} 3
took_seconds_sum{hook="copy"} 7.6
took_seconds_count{hook="copy"} 3
"##;
    assert_eq!(metrics.text(), expected);
}

#[test]
fn without_a_group_counters_live_on() {
    let metrics = metrics();
    for _ in 0..3 {
        apply(&metrics, "a", &[add("n", &[], "", 1.0), set("g", &[("x", "1")], "", 1.0)]);
    }
    apply(&metrics, "a", &[set("g", &[("x", "2")], "", 2.0)]);
    assert_eq!(lines(&metrics), [r#"g{hook="a",x="1"} 1"#, r#"g{hook="a",x="2"} 2"#, r#"n{hook="a"} 3"#]);
}

#[test]
fn a_run_replaces_the_groups_that_it_reports() {
    let metrics = metrics();
    let pod = |name| set("pods", &[("pod", name)], "pods", 1.0);
    apply(&metrics, "a", &[pod("one"), pod("two"), add("n", &[], "pods", 5.0), set("other", &[], "nodes", 1.0)]);
    apply(&metrics, "b", &[pod("of-b")]);
    apply(&metrics, "a", &[pod("two"), pod("three"), add("n", &[], "pods", 1.0), add("n", &[], "pods", 1.0)]);
    let expected = [
        r#"n{hook="a"} 2"#,
        r#"other{hook="a"} 1"#,
        r#"pods{hook="a",pod="three"} 1"#,
        r#"pods{hook="a",pod="two"} 1"#,
        r#"pods{hook="b",pod="of-b"} 1"#,
    ];
    assert_eq!(lines(&metrics), expected);
}

#[test]
fn expire_removes_the_hooks_own_group_in_order() {
    let metrics = metrics();
    let pod = |name| set("pods", &[("pod", name)], "pods", 1.0);
    apply(&metrics, "a", &[pod("one"), set("up", &[], "", 1.0)]);
    apply(&metrics, "b", &[pod("of-b")]);
    apply(&metrics, "a", &[pod("lost"), expire("pods"), pod("kept")]);
    assert_eq!(
        lines(&metrics),
        [r#"pods{hook="a",pod="kept"} 1"#, r#"pods{hook="b",pod="of-b"} 1"#, r#"up{hook="a"} 1"#]
    );
    apply(&metrics, "a", &[expire("pods")]);
    assert_eq!(lines(&metrics), [r#"pods{hook="b",pod="of-b"} 1"#, r#"up{hook="a"} 1"#]);
}

#[test]
fn no_series_is_shown_twice() {
    let metrics = metrics();
    apply(&metrics, "a", &[set("g", &[("x", "")], "one", 1.0), set("g", &[], "two", 2.0), add("n", &[], "", 3.0)]);
    assert_eq!(lines(&metrics), [r#"g{hook="a"} 2"#, r#"n{hook="a"} 3"#]);
    // A counter that moves into a group starts over, and is removed with the group.
    apply(&metrics, "a", &[add("n", &[], "two", 1.0)]);
    assert_eq!(lines(&metrics), [r#"n{hook="a"} 1"#]);
}

#[test]
fn each_series_has_its_own_labels() {
    let metrics = metrics();
    apply(&metrics, "a", &[set("g", &[("x", "1")], "", 1.0), set("g", &[("z", "1")], "", 3.0)]);
    apply(&metrics, "b", &[set("g", &[("y", "2"), ("hook", "a")], "", 2.0)]);
    assert_eq!(lines(&metrics), [r#"g{hook="a",x="1"} 1"#, r#"g{hook="a",z="1"} 3"#, r#"g{hook="b",y="2"} 2"#]);
}

#[test]
fn series_take_room_and_give_it_back() {
    let metrics = HookMetrics::new(1_000);
    let (pool, a) = (Pool::new(40), Tenant::namespace("a"));
    metrics.settle(&hook("a"), pool.nothing(&a));
    let long = "x".repeat(1_000);
    let wide = |n: usize, group| set("wide", &[("n", &n.to_string()), ("text", &long)], group, 1.0);
    // Each series takes 2 KiB with its label escaped, and four times that in total.
    let applied = metrics.apply(&hook("a"), &(0..9).map(|n| wide(n, "g")).collect::<Vec<_>>());
    assert_eq!(applied.refused, 6);
    let text = applied.first.unwrap().to_string();
    assert!(
        text.starts_with(
            "metric wide: the bindings and metrics of a have used up their share of the memory: use fewer"
        ),
        "{text}"
    );
    assert_eq!((lines(&metrics).len(), pool.used(&a)), (3, 25));
    // A known series can change, and a removed one makes room.
    apply(&metrics, "a", &[wide(0, "g")]);
    assert_eq!((lines(&metrics).len(), pool.used(&a)), (1, 9));
    apply(&metrics, "a", &[wide(3, ""), wide(4, "")]);
    // A new version of the hook keeps what the first one had.
    metrics.settle(&hook("a"), pool.nothing(&a));
    assert_eq!((lines(&metrics).len(), pool.used(&a)), (3, 25));
    metrics.forget(&hook("a"));
    assert_eq!(pool.used(&a), 0);
}

#[test]
fn a_name_of_a_hook_has_one_type() {
    let metrics = metrics();
    apply(&metrics, "a", &[add("n", &[], "", 1.0), observe("h", 1.0, &[1.0])]);
    let text = refusal(&metrics, "a", set("n", &[], "", 1.0));
    assert_eq!(text, "metric n of this hook is a counter, so it cannot also be a gauge: choose another name");
    let text = refusal(&metrics, "a", add("h_sum", &[], "", 1.0));
    assert_eq!(text, "metric h_sum and histogram h would share the line h_sum: choose another name");
    apply(&metrics, "a", &[add("k_count", &[], "", 1.0)]);
    let text = refusal(&metrics, "a", observe("k", 1.0, &[1.0]));
    assert_eq!(text, "metric k_count and histogram k would share the line k_count: choose another name");
    let text = refusal(&metrics, "a", observe("h", 1.0, &[2.0]));
    assert!(text.contains("histogram h of this hook has the buckets \"1\""), "{text}");
}

/// A tenant that uses all names of another one first cannot keep it from reporting, and does not learn who reports
/// what.
// mutant: crates/operator/src/telemetry/hook_metrics/mod.rs: `families.contains(name) || lines(name).iter().any(taken)` => `false`
// mutant: crates/operator/src/telemetry/hook_metrics/mod.rs: `let own = hooks.entry(hook.clone()).or_insert_with(|| HookSeries::of(hook));` => `let own = hooks.entry(HookName::new("one").unwrap_or(hook.clone())).or_insert_with(|| HookSeries::of(hook));`
#[test]
fn hooks_need_not_agree_about_types() {
    let metrics = metrics();
    apply(&metrics, "a", &[add("n", &[], "", 1.0), observe("h", 1.0, &[1.0]), set("same", &[], "", 1.0)]);
    apply(&metrics, "b", &[set("n", &[], "", 2.0), add("h_sum", &[], "", 7.0), set("same", &[], "", 2.0)]);
    let expected = r##"# HELP h_bucket Reported by hooks.
# TYPE h_bucket untyped
h_bucket{hook="a",le="1"} 1
h_bucket{hook="a",le="+Inf"} 1
# HELP h_count Reported by hooks.
# TYPE h_count untyped
h_count{hook="a"} 1
# HELP h_sum Reported by hooks.
# TYPE h_sum untyped
h_sum{hook="a"} 1
h_sum{hook="b"} 7
# HELP n Reported by hooks.
# TYPE n untyped
n{hook="a"} 1
n{hook="b"} 2
# HELP same Reported by hooks.
# TYPE same gauge
same{hook="a"} 1
same{hook="b"} 2
"##;
    assert_eq!(metrics.text(), expected);
    metrics.forget(&hook("b"));
    assert!(metrics.text().contains("# TYPE h histogram\n"), "{}", metrics.text());
}

/// Checks the text as Prometheus's parser does: each family occurs once, with one type, and each line is below its
/// family.
fn check_text(text: &str) {
    let (mut families, mut series) = (std::collections::BTreeSet::new(), std::collections::BTreeSet::new());
    let (mut family, mut kind) = (String::new(), String::new());
    for line in text.lines() {
        if let Some(declared) = line.strip_prefix("# TYPE ") {
            let (name, its) = declared.split_once(' ').unwrap();
            assert!(families.insert(name.to_owned()), "{name} is declared twice\n{text}");
            (family, kind) = (name.to_owned(), its.to_owned());
        } else if !line.starts_with('#') {
            let (name, rest) = line.split_once('{').unwrap();
            let own = match kind.as_str() {
                "histogram" => ["_bucket", "_sum", "_count"].iter().any(|suffix| *name == format!("{family}{suffix}")),
                _ => name == family,
            };
            assert!(own, "{line} is no line of {kind} {family}\n{text}");
            assert!(rest.matches("le=").count() < 2, "{line}");
            assert!(
                series.insert((name.to_owned(), rest.split_once('}').unwrap().0.to_owned())),
                "{line} twice\n{text}"
            );
        }
    }
    let histogram = |name: &String| text.contains(&format!("# TYPE {name} histogram\n"));
    for name in families.iter().filter(|name| histogram(name)) {
        let lines = ["_bucket", "_sum", "_count"].map(|suffix| format!("{name}{suffix}"));
        assert!(lines.iter().all(|line| !families.contains(line)), "{name} shares a line\n{text}");
    }
}

proptest::proptest! {
    #[test]
    fn whatever_hooks_report_is_a_valid_text(
        ops in proptest::collection::vec((0..4_usize, "h(_sum|_bucket|_count){0,3}", 0..3_usize, 0..3_usize), 1..40)
    ) {
        let metrics = metrics();
        for (of, name, kind, label) in ops {
            let labels: &[(&str, &str)] = [&[][..], &[("x", "y")], &[("le", "1")]][if kind == 2 { label % 2 } else { label }];
            let op = match kind {
                0 => add(&name, labels, "", 1.0),
                1 => set(&name, labels, "", 1.0),
                _ => observe(&name, 1.0, &[1.0]),
            };
            metrics.apply(&hook(["a", "b", "c", "d"][of]), &[op]);
        }
        check_text(&metrics.text());
    }
}

#[test]
fn a_group_that_is_gone_frees_its_names() {
    let metrics = metrics();
    apply(&metrics, "a", &[add("n", &[], "g", 1.0)]);
    apply(&metrics, "a", &[expire("g")]);
    apply(&metrics, "a", &[set("n", &[], "", 1.0)]);
}

#[test]
fn series_are_bounded_for_each_hook() {
    let metrics = metrics();
    let pod = |n: usize, group| set("pods", &[("pod", &n.to_string())], group, 1.0);
    // Three series for the histogram, and one for each of its buckets.
    apply(&metrics, "a", &[observe("h", 1.0, &[1.0, 2.0])]);
    apply(&metrics, "a", &(0..15).map(|n| pod(n, "")).collect::<Vec<_>>());
    let text = refusal(&metrics, "a", pod(15, ""));
    assert!(text.starts_with("metric pods: this hook would have more than 20 series"), "{text}");
    // Known series can still change, other hooks have their own limit, and a group makes room for itself.
    apply(&metrics, "a", &[pod(3, ""), observe("h", 1.0, &[1.0, 2.0])]);
    for _ in 0..3 {
        apply(&metrics, "b", &(0..20).map(|n| pod(n, "all")).collect::<Vec<_>>());
    }
    let applied = metrics.apply(&hook("b"), &(0..25).map(|n| pod(n, "all")).collect::<Vec<_>>());
    assert_eq!(applied.refused, 5);
    // Samples over the limit are refused while the run is still running.
    let MetricOp::Record(sample) = pod(0, "all") else { unreachable!() };
    assert_eq!(metrics.check(&hook("c"), &sample, 20), Ok(()));
    assert_eq!(metrics.check(&hook("c"), &sample, 21), Err(HookMetricError::Full { name: "pods".into(), max: 20 }));
    metrics.forget(&hook("a"));
    apply(&metrics, "a", &(0..20).map(|n| pod(n, "")).collect::<Vec<_>>());
}

#[test]
fn an_endless_sum_can_be_read() {
    let metrics = metrics();
    apply(&metrics, "a", &[add("n", &[], "", f64::MAX), add("n", &[], "", f64::MAX)]);
    assert_eq!(lines(&metrics), [r#"n{hook="a"} +Inf"#]);
}
