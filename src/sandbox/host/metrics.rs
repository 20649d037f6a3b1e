//! `metrics`: what hooks report about themselves. Each operation is checked at the call and kept until
//! the run has ended; the report of the run carries them.
//!
//! Never applies anything, and never touches the operator's own metrics.

use std::collections::{HashMap, HashSet};

use crate::{
    model::{Limit, MetricKind, MetricLabels, MetricOp, MetricSample, MetricValue, metric_group},
    sandbox::{bindings::boathook::hook::metrics, store::State},
};

/// Operations of one run. `limits.hostCalls` is reached before, unless it was raised.
const MAX_OPS: usize = 100_000;

type Labels = Vec<(String, String)>;

/// What a run has reported so far.
#[derive(Debug, Default)]
pub struct Reported {
    ops: Vec<MetricOp>,
    kinds: HashMap<std::sync::Arc<str>, MetricKind>,
    known: HashSet<(std::sync::Arc<str>, MetricLabels)>,
    series: usize,
}

impl Reported {
    /// The operations, in order.
    pub(in crate::sandbox) fn into_ops(self) -> Vec<MetricOp> {
        self.ops
    }

    /// Series that the run would have reported with this sample.
    fn series_with(&self, sample: &MetricSample) -> usize {
        let known = self.known.contains(&(sample.name().clone(), sample.labels().clone()));
        self.series + if known { 0 } else { sample.series() }
    }

    fn check(&self, sample: &MetricSample) -> Result<(), String> {
        match self.kinds.get(sample.name()) {
            Some(kind) if *kind != sample.kind() => Err(format!(
                "metric {} was reported as a {kind} in this run and can't be a {} too: choose another name",
                sample.name(),
                sample.kind()
            )),
            _ => self.room(),
        }
    }

    fn room(&self) -> Result<(), String> {
        if self.ops.len() < MAX_OPS {
            return Ok(());
        }
        Err(format!("a run can report {MAX_OPS} metric operations and no more: add them up in the hook"))
    }

    fn push(&mut self, sample: MetricSample) {
        self.series = self.series_with(&sample);
        self.known.insert((sample.name().clone(), sample.labels().clone()));
        self.kinds.insert(sample.name().clone(), sample.kind());
        self.ops.push(MetricOp::Record(sample));
    }
}

impl State {
    fn record(
        &mut self,
        name: &str,
        labels: Labels,
        group: Option<String>,
        value: MetricValue,
    ) -> wasmtime::Result<Result<(), String>> {
        let bytes: usize = labels.iter().map(|(label, value)| label.len() + value.len()).sum();
        let bounds = if let MetricValue::Observe { buckets, .. } = &value { size_of_val(&**buckets) } else { 0 };
        let bytes = name.len() + bytes + super::len(group.as_ref()) + bounds;
        self.spend(bytes)?;
        // Twice: in the list of operations, and in the set of series.
        self.room.keep(2 * (bytes + size_of::<MetricOp>())).map_err(|refused| refused.error(Limit::HostBytes))?;
        Ok(self.checked(name, labels, group.as_deref(), value))
    }

    fn checked(&mut self, name: &str, labels: Labels, group: Option<&str>, value: MetricValue) -> Result<(), String> {
        let sample = MetricSample::new(name, labels, group, value).map_err(|error| error.to_string())?;
        self.metrics.check(&sample)?;
        self.host.check_metric(&self.caller, &sample, self.metrics.series_with(&sample))?;
        self.metrics.push(sample);
        Ok(())
    }
}

impl metrics::Host for State {
    fn add(
        &mut self,
        name: String,
        value: f64,
        labels: Labels,
        group: Option<String>,
    ) -> wasmtime::Result<Result<(), String>> {
        self.record(&name, labels, group, MetricValue::Add(value))
    }

    fn set(
        &mut self,
        name: String,
        value: f64,
        labels: Labels,
        group: Option<String>,
    ) -> wasmtime::Result<Result<(), String>> {
        self.record(&name, labels, group, MetricValue::Set(value))
    }

    fn observe(
        &mut self,
        name: String,
        value: f64,
        buckets: Vec<f64>,
        labels: Labels,
        group: Option<String>,
    ) -> wasmtime::Result<Result<(), String>> {
        self.record(&name, labels, group, MetricValue::Observe { value, buckets: buckets.into() })
    }

    fn expire(&mut self, group: String) -> wasmtime::Result<Result<(), String>> {
        self.spend(group.len())?;
        let checked = metric_group(&group).map_err(|error| error.to_string());
        Ok(checked.and_then(|group| {
            self.metrics.room()?;
            self.metrics.ops.push(MetricOp::Expire(group));
            Ok(())
        }))
    }
}
