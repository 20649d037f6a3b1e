//! Writes hooks' series in Prometheus's text format 0.0.4.
//!
//! In this format a family has one type, but hooks need not agree about the type: no hook may learn what another tenant
//! reports, or keep it from reporting. A family with different types is therefore `untyped`. A histogram that would
//! share a line with another family is shown as its lines, each of them an `untyped` family. Prometheus stores the same
//! series in all cases.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write as _,
};

use boathook_core::model::{HookName, MetricKind, MetricLabels};

use super::series::{HookSeries, SUFFIXES, Value};

/// The lines of one family.
#[derive(Default)]
struct Family<'a> {
    /// If there is more than one, the family is untyped.
    kinds: BTreeSet<Type>,
    rows: Vec<Row<'a>>,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Type {
    Counter,
    Gauge,
    Histogram,
    Untyped,
}

/// The part of a series that is shown.
#[derive(Clone, Copy)]
enum Part {
    Whole,
    /// The lines of a histogram with one of [`SUFFIXES`].
    Line(usize),
}

struct Row<'a> {
    hook: &'a HookName,
    labels: &'a MetricLabels,
    value: &'a Value,
    part: Part,
}

/// All series, sorted by family and then by hook.
pub(super) fn write(hooks: &BTreeMap<HookName, HookSeries>) -> String {
    let split = split(hooks);
    let mut families: BTreeMap<String, Family<'_>> = BTreeMap::new();
    for (hook, own) in hooks {
        for (name, metric) in own.iter() {
            let parts = match (metric.kind, split.contains(&**name)) {
                (MetricKind::Counter, _) => vec![(name.to_string(), Type::Counter, Part::Whole)],
                (MetricKind::Gauge, _) => vec![(name.to_string(), Type::Gauge, Part::Whole)],
                (MetricKind::Histogram, false) => vec![(name.to_string(), Type::Histogram, Part::Whole)],
                (MetricKind::Histogram, true) => {
                    let lines = SUFFIXES.iter().enumerate();
                    lines.map(|(at, suffix)| (format!("{name}{suffix}"), Type::Untyped, Part::Line(at))).collect()
                }
            };
            for (family, kind, part) in parts {
                let family = families.entry(family).or_default();
                family.kinds.insert(kind);
                let rows = metric.series.iter();
                family.rows.extend(rows.map(|(labels, series)| Row { hook, labels, value: &series.value, part }));
            }
        }
    }
    let mut out = String::new();
    families.iter().for_each(|(name, family)| write_family(&mut out, name, family));
    out
}

/// The histograms that cannot be families, because their names or those of their lines are used by other families.
fn split(hooks: &BTreeMap<HookName, HookSeries>) -> BTreeSet<&str> {
    let of_kind = |histogram: bool| {
        let all = hooks.values().flat_map(HookSeries::iter);
        let named = all.filter(move |(_, metric)| (metric.kind == MetricKind::Histogram) == histogram);
        named.map(|(name, _)| &**name).collect::<BTreeSet<&str>>()
    };
    let (mut whole, mut split) = (of_kind(true), BTreeSet::new());
    let mut families: BTreeSet<String> = of_kind(false).into_iter().map(str::to_owned).collect();
    loop {
        let lines = |name: &str| SUFFIXES.map(|suffix| format!("{name}{suffix}"));
        let clashes = |name: &str| {
            let taken = |line: &String| families.contains(line) || whole.contains(line.as_str());
            families.contains(name) || lines(name).iter().any(taken)
        };
        let found: Vec<&str> = whole.iter().copied().filter(|name| clashes(name)).collect();
        if found.is_empty() {
            return split;
        }
        for name in found {
            whole.remove(name);
            split.insert(name);
            families.extend(lines(name));
        }
    }
}

/// Each series has only its own labels, because a missing label is the same as an empty one. Some libraries add the
/// labels of all other series of the family. A page would then grow with the product of both.
fn write_family(out: &mut String, name: &str, family: &Family<'_>) {
    let kind = match family.kinds.iter().copied().collect::<Vec<_>>().as_slice() {
        [Type::Counter] => "counter",
        [Type::Gauge] => "gauge",
        [Type::Histogram] => "histogram",
        _ => "untyped",
    };
    // Writing to a String cannot fail, here and below.
    let _ = writeln!(out, "# HELP {name} Reported by hooks.\n# TYPE {name} {kind}");
    for row in &family.rows {
        write_row(out, name, &label_text(row.hook, row.labels), row);
    }
}

fn label_text(hook: &HookName, labels: &MetricLabels) -> String {
    let mut text = format!("hook=\"{hook}\"");
    for (name, value) in labels.iter() {
        let _ = write!(text, ",{name}=\"{}\"", escaped(value));
    }
    text
}

fn write_row(out: &mut String, name: &str, labels: &str, row: &Row<'_>) {
    let (bounds, counts, sum, count) = match row.value {
        Value::Number(number) => {
            let _ = writeln!(out, "{name}{{{labels}}} {}", float(*number));
            return;
        }
        Value::Histogram { bounds, counts, sum, count } => (bounds, counts, sum, count),
    };
    // For a part of a histogram, the family already has the line's name.
    let line = |at: usize| match row.part {
        Part::Whole => SUFFIXES.get(at).map(|suffix| format!("{name}{suffix}")),
        Part::Line(own) => (own == at).then(|| name.to_owned()),
    };
    if let Some(line) = line(0) {
        let mut below = 0;
        for (bound, hits) in bounds.iter().zip(counts) {
            below += hits;
            let _ = writeln!(out, "{line}{{{labels},le=\"{bound}\"}} {below}");
        }
        let _ = writeln!(out, "{line}{{{labels},le=\"+Inf\"}} {count}");
    }
    if let Some(line) = line(1) {
        let _ = writeln!(out, "{line}{{{labels}}} {}", float(*sum));
    }
    if let Some(line) = line(2) {
        let _ = writeln!(out, "{line}{{{labels}}} {count}");
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
