//! One hook's series: what `add`, `set`, `observe` and `expire` do to them, and the memory that they take.

use std::{collections::BTreeMap, sync::Arc};

use boathook_core::{
    fair::Share,
    memory::UNIT,
    model::{HookName, MetricKind, MetricLabels, MetricSample, MetricValue},
};

use super::HookMetricError;

/// The bytes of a line, not counting names, labels and the hook.
const LINE: usize = 64;
/// How many copies of a line exist: in the stored series, and on the pages that are being read.
const TIMES: usize = 4;

/// The series of one hook.
#[derive(Debug)]
pub(super) struct HookSeries {
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
pub(super) struct Metric {
    pub kind: MetricKind,
    pub series: BTreeMap<MetricLabels, Series>,
}

/// A histogram is shown as lines with these suffixes.
pub(super) const SUFFIXES: [&str; 3] = ["_bucket", "_sum", "_count"];

/// One series. It belongs to the group that reported it last.
#[derive(Debug)]
pub(super) struct Series {
    group: Option<Arc<str>>,
    pub(super) value: Value,
}

/// The value of a series.
#[derive(Debug)]
pub(super) enum Value {
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
