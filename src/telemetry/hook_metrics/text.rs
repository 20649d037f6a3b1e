//! Writes hooks' series in Prometheus's text format 0.0.4. Never changes one.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write as _,
    sync::Arc,
};

use super::series::{HookSeries, Series, Value};
use crate::model::{HookName, MetricKind, MetricLabels};

type OfHook<'a> = (&'a HookName, &'a BTreeMap<MetricLabels, Series>);

/// All series, by metric name, then by hook.
pub(super) fn write(hooks: &BTreeMap<HookName, HookSeries>, kind: impl Fn(&str) -> Option<MetricKind>) -> String {
    let mut metrics: BTreeMap<&Arc<str>, Vec<OfHook<'_>>> = BTreeMap::new();
    for (hook, own) in hooks {
        for (name, series) in own.iter() {
            metrics.entry(name).or_default().push((hook, series));
        }
    }
    let mut out = String::new();
    for (name, of_hooks) in metrics {
        if let Some(kind) = kind(name) {
            write_metric(&mut out, name, kind, &of_hooks);
        }
    }
    out
}

/// All series of a metric have the same label names; those that a series lacks are empty.
fn write_metric(out: &mut String, name: &str, kind: MetricKind, of_hooks: &[OfHook<'_>]) {
    // Writing to a String can't fail, here and below.
    let _ = writeln!(out, "# HELP {name} Reported by hooks.\n# TYPE {name} {kind}");
    let all_labels = of_hooks.iter().flat_map(|(_, series)| series.keys()).flat_map(|labels| labels.iter());
    let names: BTreeSet<&str> = all_labels.map(|(name, _)| &**name).collect();
    for (hook, series) in of_hooks {
        for (labels, one) in *series {
            write_series(out, name, &label_text(hook, &names, labels), &one.value);
        }
    }
}

fn label_text(hook: &HookName, names: &BTreeSet<&str>, labels: &MetricLabels) -> String {
    let mut text = format!("hook=\"{hook}\"");
    for name in names {
        let value = labels.iter().find(|(label, _)| **label == **name).map_or("", |(_, value)| &**value);
        let _ = write!(text, ",{name}=\"{}\"", escaped(value));
    }
    text
}

fn write_series(out: &mut String, name: &str, labels: &str, value: &Value) {
    match value {
        Value::Number(number) => {
            let _ = writeln!(out, "{name}{{{labels}}} {}", float(*number));
        }
        Value::Histogram { bounds, counts, sum, count } => {
            let mut below = 0;
            for (bound, hits) in bounds.iter().zip(counts) {
                below += hits;
                let _ = writeln!(out, "{name}_bucket{{{labels},le=\"{bound}\"}} {below}");
            }
            let _ = writeln!(out, "{name}_bucket{{{labels},le=\"+Inf\"}} {count}");
            let _ = writeln!(out, "{name}_sum{{{labels}}} {}\n{name}_count{{{labels}}} {count}", float(*sum));
        }
    }
}

/// A sum of finite numbers may be infinite.
fn float(number: f64) -> String {
    if number.is_infinite() {
        if number > 0.0 { "+Inf".to_owned() } else { "-Inf".to_owned() }
    } else {
        number.to_string()
    }
}

fn escaped(value: &str) -> String {
    value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}
