//! The metrics that a run has reported so far. They are kept until the run ends, and its report contains them.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use boathook_core::model::{MetricKind, MetricLabels, MetricOp, MetricSample};

/// The most operations of one run. `limits.hostCalls` is reached before that, unless it was raised.
const MAX_OPS: usize = 100_000;

#[derive(Debug, Default)]
pub(super) struct Reported {
    ops: Vec<MetricOp>,
    kinds: HashMap<Arc<str>, MetricKind>,
    known: HashSet<(Arc<str>, MetricLabels)>,
    series: usize,
}

impl Reported {
    /// Returns the operations, in order.
    pub fn into_ops(self) -> Vec<MetricOp> {
        self.ops
    }

    /// The number of series that the run would have reported with this sample.
    pub fn series_with(&self, sample: &MetricSample) -> usize {
        let known = self.known.contains(&(sample.name().clone(), sample.labels().clone()));
        self.series + if known { 0 } else { sample.series() }
    }

    pub fn check(&self, sample: &MetricSample) -> Result<(), String> {
        match self.kinds.get(sample.name()) {
            Some(kind) if *kind != sample.kind() => Err(format!(
                "metric {} was reported as a {kind} in this run and can't be a {} too: choose another name",
                sample.name(),
                sample.kind()
            )),
            _ => self.room(),
        }
    }

    pub fn room(&self) -> Result<(), String> {
        if self.ops.len() < MAX_OPS {
            return Ok(());
        }
        Err(format!("a run can report {MAX_OPS} metric operations and no more: add them up in the hook"))
    }

    pub fn push(&mut self, sample: MetricSample) {
        self.series = self.series_with(&sample);
        self.known.insert((sample.name().clone(), sample.labels().clone()));
        self.kinds.insert(sample.name().clone(), sample.kind());
        self.ops.push(MetricOp::Record(sample));
    }

    pub fn expire(&mut self, group: Arc<str>) {
        self.ops.push(MetricOp::Expire(group));
    }
}
