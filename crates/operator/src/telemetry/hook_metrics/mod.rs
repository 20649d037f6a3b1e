//! Metrics that hooks report, each with the label `hook`. They are applied run by run and served as text.
//!
//! They are separate from the operator's own metrics, and no hook can change another hook's series. What a hook may
//! report does not depend on what others report: a name has a type for each hook, and `text` shows them together.
//!
//! The text format is the module's own: a name that hooks report with several types is shown as untyped, and the encoder
//! of the crate `prometheus` panics at an untyped family.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write as _,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use boathook_core::{
    fair::Share,
    memory::UNIT,
    model::{HookName, MetricKind, MetricLabels, MetricOp, MetricSample, MetricValue},
};

/// Why a metric operation cannot be applied.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum HookMetricError {
    #[error("metric {name} of this hook is a {is}, so it cannot also be a {wanted}: choose another name")]
    Kind {
        name: String,
        /// The type of the metric.
        is: MetricKind,
        /// The requested type.
        wanted: MetricKind,
    },
    #[error("metric {name} and histogram {histogram} would share the line {line}: choose another name")]
    Line {
        name: String,
        histogram: String,
        /// The line that both would show.
        line: String,
    },
    #[error("histogram {name} of this hook has the buckets {are:?}: use the same ones in each observation")]
    Buckets {
        name: String,
        /// The buckets of the metric.
        are: String,
    },
    #[error(
        "metric {name}: this hook would have more than {max} series (a histogram counts as its buckets and three more): use fewer label values, expire groups, or raise --hook-metrics-series"
    )]
    Full {
        name: String,
        /// The maximum number of series.
        max: usize,
    },
    #[error(
        "metric {name}: the bindings and metrics of {tenant} have used up their share of the memory: use fewer label values and shorter ones, expire groups, or give the operator more memory (--memory-limit)"
    )]
    Room { name: String, tenant: String },
}

/// The result of a run's operations.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Applied {
    /// The number of operations that were left out.
    pub refused: usize,
    /// Why the first of them was left out.
    pub first: Option<HookMetricError>,
}

/// The metrics of all hooks.
#[derive(Debug)]
pub struct HookMetrics {
    max_series: usize,
    hooks: Mutex<BTreeMap<HookName, HookSeries>>,
}

impl HookMetrics {
    /// The maximum number of series of a hook, unless the admin chooses another one.
    pub const DEFAULT_MAX_SERIES: usize = 1_000;

    /// Creates an empty value. Each hook may have up to `max_series` series.
    pub fn new(max_series: usize) -> Self {
        Self { max_series, hooks: Mutex::default() }
    }

    /// Makes the hook's series take their memory from this room, which its tenant shares. Without a room only the
    /// number of series is limited.
    pub fn settle(&self, hook: &HookName, room: Share) {
        self.hooks().entry(hook.clone()).or_insert_with(|| HookSeries::of(hook)).settle(room);
    }

    fn hooks(&self) -> MutexGuard<'_, BTreeMap<HookName, HookSeries>> {
        self.hooks.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Checks whether a sample could be applied now. `in_run` is the number of series that its run has reported so far,
    /// including this one.
    pub fn check(&self, hook: &HookName, sample: &MetricSample, in_run: usize) -> Result<(), HookMetricError> {
        if in_run > self.max_series {
            return Err(self.full(sample));
        }
        let hooks = self.hooks();
        let Some(own) = hooks.get(hook) else { return Ok(()) };
        own.check_name(sample)?;
        own.check_buckets(sample)?;
        // The series of a group are replaced, so it is not known whether they fit until the run has ended.
        if sample.group().is_none() && own.growth(sample) + own.used() > self.max_series {
            return Err(self.full(sample));
        }
        Ok(())
    }

    fn full(&self, sample: &MetricSample) -> HookMetricError {
        HookMetricError::Full { name: sample.name().to_string(), max: self.max_series }
    }

    /// Applies the operations of a run that succeeded. Readers see all of them at once. Operations for a group replace
    /// the hook's series of that group.
    pub fn apply(&self, hook: &HookName, ops: &[MetricOp]) -> Applied {
        let mut applied = Applied::default();
        if ops.is_empty() {
            return applied;
        }
        let mut hooks = self.hooks();
        let own = hooks.entry(hook.clone()).or_insert_with(|| HookSeries::of(hook));
        for group in ops.iter().filter_map(|op| if let MetricOp::Record(sample) = op { sample.group() } else { None }) {
            own.expire(group);
        }
        for op in ops {
            let result = match op {
                MetricOp::Expire(group) => {
                    own.expire(group);
                    Ok(())
                }
                MetricOp::Record(sample) => self.record(own, sample),
            };
            if let Err(error) = result {
                applied.refused += 1;
                applied.first.get_or_insert(error);
            }
        }
        own.give_back();
        applied
    }

    fn record(&self, own: &mut HookSeries, sample: &MetricSample) -> Result<(), HookMetricError> {
        own.check_name(sample)?;
        own.check_buckets(sample)?;
        if own.growth(sample) + own.used() > self.max_series {
            return Err(self.full(sample));
        }
        own.make_room(sample).map_err(|tenant| HookMetricError::Room { name: sample.name().to_string(), tenant })?;
        own.record(sample);
        Ok(())
    }

    /// Drops everything of a hook that was removed.
    pub fn forget(&self, hook: &HookName) {
        self.hooks().remove(hook);
    }

    /// The number of series that a hook reports now.
    pub fn series(&self, hook: &HookName) -> usize {
        self.hooks().get(hook).map_or(0, HookSeries::used)
    }

    /// All series in Prometheus's text format 0.0.4.
    pub fn text(&self) -> String {
        write(&self.hooks())
    }
}

/// The bytes of a line, not counting names, labels and the hook.
const LINE: usize = 64;
/// How many copies of a line exist: in the stored series, and on the pages that are being read.
const TIMES: usize = 4;

/// The series of one hook.
#[derive(Debug)]
struct HookSeries {
    metrics: BTreeMap<Arc<str>, Metric>,
    used: usize,
    /// The bytes of all lines.
    bytes: usize,
    /// The length of the hook's name.
    hook: usize,
    /// The memory that the tenant shares. `None`: the series may take as much as they need.
    room: Option<Share>,
}

/// The series of one name. When there are none, another type may use the name.
#[derive(Debug)]
struct Metric {
    pub kind: MetricKind,
    pub series: BTreeMap<MetricLabels, Series>,
}

/// A histogram is shown as lines with these suffixes.
const SUFFIXES: [&str; 3] = ["_bucket", "_sum", "_count"];

/// One series. It belongs to the group that reported it last.
#[derive(Debug)]
struct Series {
    group: Option<Arc<str>>,
    value: Value,
}

/// The value of a series.
#[derive(Debug)]
enum Value {
    /// A counter or a gauge.
    Number(f64),
    /// A histogram.
    Histogram {
        bounds: Arc<[f64]>,
        /// One count for each bound, not cumulative.
        counts: Box<[u64]>,
        sum: f64,
        count: u64,
    },
}

impl Value {
    /// The number of series that Prometheus gets from this one.
    fn series(&self) -> usize {
        match self {
            Self::Number(_) => 1,
            Self::Histogram { bounds, .. } => bounds.len() + 3,
        }
    }

    fn empty(sample: &MetricSample) -> Self {
        match sample.value() {
            MetricValue::Add(_) | MetricValue::Set(_) => Self::Number(0.0),
            MetricValue::Observe { buckets, .. } => {
                Self::Histogram { bounds: buckets.clone(), counts: vec![0; buckets.len()].into(), sum: 0.0, count: 0 }
            }
        }
    }

    fn take(&mut self, change: &MetricValue) {
        match (self, change) {
            (Self::Number(number), MetricValue::Add(more)) => *number += more,
            (Self::Number(number), MetricValue::Set(value)) => *number = *value,
            (Self::Histogram { bounds, counts, sum, count }, MetricValue::Observe { value, .. }) => {
                let bucket = bounds.partition_point(|bound| bound < value);
                if let Some(hits) = counts.get_mut(bucket) {
                    *hits += 1;
                }
                *sum += value;
                *count += 1;
            }
            // A name has only one type, so this cannot occur.
            (Self::Number(_), MetricValue::Observe { .. })
            | (Self::Histogram { .. }, MetricValue::Add(_) | MetricValue::Set(_)) => {}
        }
    }
}

impl HookSeries {
    pub fn of(hook: &HookName) -> Self {
        Self { metrics: BTreeMap::new(), used: 0, bytes: 0, hook: hook.as_str().len(), room: None }
    }

    /// Makes the series take their memory from this room.
    pub fn settle(&mut self, room: Share) {
        self.room.get_or_insert(room);
    }

    /// Takes the room that a sample needs. The error is the tenant that has none.
    pub fn make_room(&mut self, sample: &MetricSample) -> Result<(), String> {
        if self.growth(sample) == 0 {
            return Ok(());
        }
        let bytes = self.bytes.saturating_add(weight(self.hook, sample.name(), sample.labels(), sample.series()));
        let Some(room) = &mut self.room else { return Ok(()) };
        let more = units(bytes).saturating_sub(room.units());
        if more == 0 || room.grow(more) { Ok(()) } else { Err(room.tenant().to_string()) }
    }

    /// Gives back room that is no longer needed.
    pub fn give_back(&mut self) {
        if let Some(room) = &mut self.room {
            room.shrink(room.units().saturating_sub(units(self.bytes)));
        }
    }

    /// The number of series that Prometheus gets from this hook.
    pub fn used(&self) -> usize {
        self.used
    }

    /// The number of series that a sample would add.
    pub fn growth(&self, sample: &MetricSample) -> usize {
        let known = self.metrics.get(sample.name()).is_some_and(|metric| metric.series.contains_key(sample.labels()));
        if known { 0 } else { sample.series() }
    }

    /// Checks that the name has no other type, and that no line would have two meanings.
    pub fn check_name(&self, sample: &MetricSample) -> Result<(), HookMetricError> {
        let (name, wanted) = (sample.name(), sample.kind());
        match self.metrics.get(name) {
            Some(Metric { kind, .. }) if *kind == wanted => Ok(()),
            Some(Metric { kind, .. }) => Err(HookMetricError::Kind { name: name.to_string(), is: *kind, wanted }),
            None => self.check_lines(name, wanted),
        }
    }

    fn check_lines(&self, name: &str, wanted: MetricKind) -> Result<(), HookMetricError> {
        let clash = |name: &str, histogram: &str, line: &str| {
            Err(HookMetricError::Line { name: name.to_owned(), histogram: histogram.to_owned(), line: line.to_owned() })
        };
        for suffix in SUFFIXES {
            let line = format!("{name}{suffix}");
            if wanted == MetricKind::Histogram && self.metrics.contains_key(line.as_str()) {
                return clash(&line, name, &line);
            }
            let histogram = name.strip_suffix(suffix);
            let known =
                |base: &&str| self.metrics.get(*base).is_some_and(|metric| metric.kind == MetricKind::Histogram);
            if let Some(histogram) = histogram.filter(known) {
                return clash(name, histogram, name);
            }
        }
        Ok(())
    }

    /// Checks that all series of a histogram have the same buckets.
    pub fn check_buckets(&self, sample: &MetricSample) -> Result<(), HookMetricError> {
        let one = self.metrics.get(sample.name()).and_then(|metric| metric.series.values().next());
        match one.map(|series| &series.value) {
            Some(Value::Histogram { bounds, .. }) if **bounds != *sample.buckets() => Err(HookMetricError::Buckets {
                name: sample.name().to_string(),
                are: bounds.iter().map(f64::to_string).collect::<Vec<_>>().join(", "),
            }),
            _ => Ok(()),
        }
    }

    /// Applies a sample. A series that belonged to another group starts over.
    pub fn record(&mut self, sample: &MetricSample) {
        let metric = || Metric { kind: sample.kind(), series: BTreeMap::new() };
        let series = &mut self.metrics.entry(sample.name().clone()).or_insert_with(metric).series;
        let fresh = || Series { group: sample.group().cloned(), value: Value::empty(sample) };
        let one = series.entry(sample.labels().clone()).or_insert_with(|| {
            self.used += sample.series();
            self.bytes += weight(self.hook, sample.name(), sample.labels(), sample.series());
            fresh()
        });
        if one.group.as_ref() != sample.group() {
            *one = fresh();
        }
        one.value.take(sample.value());
    }

    /// Removes the series of a group.
    pub fn expire(&mut self, group: &str) {
        for (name, metric) in &mut self.metrics {
            metric.series.retain(|labels, one| {
                let kept = one.group.as_deref() != Some(group);
                if !kept {
                    self.used -= one.value.series();
                    self.bytes -= weight(self.hook, name, labels, one.value.series());
                }
                kept
            });
        }
        self.metrics.retain(|_, metric| !metric.series.is_empty());
    }

    /// All series by name.
    pub fn iter(&self) -> impl Iterator<Item = (&Arc<str>, &Metric)> {
        self.metrics.iter()
    }
}

/// The bytes of this number of lines. A label's value may be twice as long when it is escaped.
fn weight(hook: usize, name: &str, labels: &MetricLabels, lines: usize) -> usize {
    let labels: usize = labels.iter().map(|(label, value)| label.len() + 2 * value.len()).sum();
    lines * (LINE + hook + name.len() + labels)
}

fn units(bytes: usize) -> u64 {
    (bytes.saturating_mul(TIMES) as u64).div_ceil(UNIT)
}

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

/// All series in Prometheus's text format 0.0.4, sorted by family and then by hook.
///
/// In this format a family has one type, but hooks need not agree about the type: no hook may learn what another tenant
/// reports, or keep it from reporting. A family with different types is therefore `untyped`. A histogram that would
/// share a line with another family is shown as its lines, each of them an `untyped` family. Prometheus stores the same
/// series in all cases.
fn write(hooks: &BTreeMap<HookName, HookSeries>) -> String {
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

#[cfg(test)]
mod tests;
