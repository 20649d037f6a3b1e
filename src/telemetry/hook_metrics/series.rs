//! One hook's series: what `add`, `set`, `observe` and `expire` do to them. Never knows of other hooks.

use std::{collections::BTreeMap, sync::Arc};

use super::HookMetricError;
use crate::model::{MetricLabels, MetricSample, MetricValue};

/// The series of one hook.
#[derive(Debug, Default)]
pub(super) struct HookSeries {
    metrics: BTreeMap<Arc<str>, BTreeMap<MetricLabels, Series>>,
    used: usize,
}

/// One series, which belongs to the group that reported it last.
#[derive(Debug)]
pub(super) struct Series {
    group: Option<Arc<str>>,
    pub(super) value: Value,
}

/// What a series shows.
#[derive(Debug)]
pub(super) enum Value {
    /// A counter or a gauge.
    Number(f64),
    /// A histogram.
    Histogram {
        bounds: Arc<[f64]>,
        /// One for each bound, not cumulated.
        counts: Box<[u64]>,
        sum: f64,
        count: u64,
    },
}

impl Value {
    /// Series that Prometheus gets of it.
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
            // A name has one type.
            (Self::Number(_), MetricValue::Observe { .. })
            | (Self::Histogram { .. }, MetricValue::Add(_) | MetricValue::Set(_)) => {}
        }
    }
}

impl HookSeries {
    /// Series that Prometheus gets of this hook.
    pub fn used(&self) -> usize {
        self.used
    }

    /// Series that a sample would add.
    pub fn growth(&self, sample: &MetricSample) -> usize {
        let known = self.metrics.get(sample.name()).is_some_and(|series| series.contains_key(sample.labels()));
        if known { 0 } else { sample.series() }
    }

    /// All series of a histogram have the same buckets.
    pub fn check_buckets(&self, sample: &MetricSample) -> Result<(), HookMetricError> {
        let one = self.metrics.get(sample.name()).and_then(|series| series.values().next());
        match one.map(|series| &series.value) {
            Some(Value::Histogram { bounds, .. }) if **bounds != *sample.buckets() => Err(HookMetricError::Buckets {
                name: sample.name().to_string(),
                are: bounds.iter().map(f64::to_string).collect::<Vec<_>>().join(", "),
            }),
            _ => Ok(()),
        }
    }

    /// Applies a sample. A series that was of another group begins anew.
    pub fn record(&mut self, sample: &MetricSample) {
        let series = self.metrics.entry(sample.name().clone()).or_default();
        let fresh = || Series { group: sample.group().cloned(), value: Value::empty(sample) };
        let one = series.entry(sample.labels().clone()).or_insert_with(|| {
            self.used += sample.series();
            fresh()
        });
        if one.group.as_ref() != sample.group() {
            *one = fresh();
        }
        one.value.take(sample.value());
    }

    /// Removes the series of a group; says whether there were any.
    pub fn expire(&mut self, group: &str) -> bool {
        let mut gone = 0;
        for series in self.metrics.values_mut() {
            series.retain(|_, one| {
                let kept = one.group.as_deref() != Some(group);
                gone += if kept { 0 } else { one.value.series() };
                kept
            });
        }
        self.metrics.retain(|_, series| !series.is_empty());
        self.used -= gone;
        gone > 0
    }

    /// Whether there is a series of this name.
    pub fn reports(&self, name: &str) -> bool {
        self.metrics.contains_key(name)
    }

    /// All of them, by name and labels.
    pub fn iter(&self) -> impl Iterator<Item = (&Arc<str>, &BTreeMap<MetricLabels, Series>)> {
        self.metrics.iter()
    }
}
