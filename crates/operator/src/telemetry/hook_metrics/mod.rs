//! Metrics that hooks report, each with the label `hook`: applied run by run, served as text.
//!
//! Never mixes with the operator's own metrics, and never lets a hook touch another's series. What a hook may report
//! does not depend on what others report: a name has a type for each hook, and `text` shows them together.

mod series;
#[cfg(test)]
mod tests;
mod text;

use std::{
    collections::BTreeMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

use boathook_core::{
    fair::Share,
    model::{HookName, MetricKind, MetricOp, MetricSample},
};

use series::HookSeries;

/// A metric operation that can't be applied to what is there.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum HookMetricError {
    /// The hook reports it as another type.
    #[error("metric {name} of this hook is a {is}, and can't be a {wanted} too: choose another name")]
    Kind {
        /// The metric.
        name: String,
        /// What it is.
        is: MetricKind,
        /// What it was to be.
        wanted: MetricKind,
    },
    /// The name is one of the lines of a histogram.
    #[error("metric {name} and histogram {histogram} would share the line {line}: choose another name")]
    Line {
        /// The metric.
        name: String,
        /// The histogram.
        histogram: String,
        /// What both would show.
        line: String,
    },
    /// A histogram with other buckets than before.
    #[error("histogram {name} of this hook has the buckets {are:?}: observe with the same ones")]
    Buckets {
        /// The metric.
        name: String,
        /// What it has.
        are: String,
    },
    /// The hook has as many series as it may.
    #[error(
        "metric {name}: this hook would have more than {max} series (a histogram counts as its buckets and three more): use fewer label values, expire groups, or raise --hook-metrics-series"
    )]
    Full {
        /// The metric.
        name: String,
        /// How many there may be.
        max: usize,
    },
    /// The hook's tenant keeps as much as it may.
    #[error(
        "metric {name}: the bindings and metrics of {tenant} keep as much as their share is: use fewer label values and shorter ones, expire groups, or give the operator more memory (--memory-limit)"
    )]
    Room {
        /// The metric.
        name: String,
        /// Whose hook it is.
        tenant: String,
    },
}

/// What became of a run's operations.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Applied {
    /// Operations that were left out.
    pub refused: usize,
    /// Why the first of them was.
    pub first: Option<HookMetricError>,
}

/// All hooks' metrics.
#[derive(Debug)]
pub struct HookMetrics {
    max_series: usize,
    hooks: Mutex<BTreeMap<HookName, HookSeries>>,
}

impl HookMetrics {
    /// Series that a hook may have, unless the admin chooses otherwise.
    pub const DEFAULT_MAX_SERIES: usize = 1_000;

    /// None yet; each hook may have so many series.
    pub fn new(max_series: usize) -> Self {
        Self { max_series, hooks: Mutex::default() }
    }

    /// What a hook reports takes of this room, which its tenant shares with others; otherwise only their number is bounded.
    pub fn settle(&self, hook: &HookName, room: Share) {
        self.hooks().entry(hook.clone()).or_insert_with(|| HookSeries::of(hook)).settle(room);
    }

    fn hooks(&self) -> MutexGuard<'_, BTreeMap<HookName, HookSeries>> {
        self.hooks.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether a sample could be applied now. `in_run` is the number of series that its run has
    /// reported so far, with this one.
    pub fn check(&self, hook: &HookName, sample: &MetricSample, in_run: usize) -> Result<(), HookMetricError> {
        if in_run > self.max_series {
            return Err(self.full(sample));
        }
        let hooks = self.hooks();
        let Some(own) = hooks.get(hook) else { return Ok(()) };
        own.check_name(sample)?;
        own.check_buckets(sample)?;
        // A group's series are replaced: whether they fit is known when the run has ended.
        if sample.group().is_none() && own.growth(sample) + own.used() > self.max_series {
            return Err(self.full(sample));
        }
        Ok(())
    }

    fn full(&self, sample: &MetricSample) -> HookMetricError {
        HookMetricError::Full { name: sample.name().to_string(), max: self.max_series }
    }

    /// Applies the operations of a run that succeeded, all at once for who reads: those for a group
    /// replace the hook's series of that group.
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

    /// Drops everything of a hook that is gone.
    pub fn forget(&self, hook: &HookName) {
        self.hooks().remove(hook);
    }

    /// Series that a hook reports now.
    pub fn series(&self, hook: &HookName) -> usize {
        self.hooks().get(hook).map_or(0, HookSeries::used)
    }

    /// All series in Prometheus's text format 0.0.4.
    pub fn text(&self) -> String {
        text::write(&self.hooks())
    }
}
