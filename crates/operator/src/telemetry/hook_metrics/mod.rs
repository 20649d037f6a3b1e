//! Metrics that hooks report, each with the label `hook`. They are applied run by run and served as text.
//!
//! They are separate from the operator's own metrics, and no hook can change another hook's series. What a hook may
//! report does not depend on what others report: a name has a type for each hook, and `text` shows them together.

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

/// Why a metric operation cannot be applied.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum HookMetricError {
    /// The hook already reports the metric with another type.
    #[error("metric {name} of this hook is a {is}, and can't be a {wanted} too: choose another name")]
    Kind {
        name: String,
        /// The type of the metric.
        is: MetricKind,
        /// The requested type.
        wanted: MetricKind,
    },
    /// The name is that of a line of a histogram.
    #[error("metric {name} and histogram {histogram} would share the line {line}: choose another name")]
    Line {
        name: String,
        histogram: String,
        /// The line that both would show.
        line: String,
    },
    /// The histogram has other buckets than before.
    #[error("histogram {name} of this hook has the buckets {are:?}: observe with the same ones")]
    Buckets {
        name: String,
        /// The buckets of the metric.
        are: String,
    },
    /// The hook already has the maximum number of series.
    #[error(
        "metric {name}: this hook would have more than {max} series (a histogram counts as its buckets and three more): use fewer label values, expire groups, or raise --hook-metrics-series"
    )]
    Full {
        name: String,
        /// The maximum number of series.
        max: usize,
    },
    /// The hook's tenant already keeps its maximum.
    #[error(
        "metric {name}: the bindings and metrics of {tenant} keep as much as their share is: use fewer label values and shorter ones, expire groups, or give the operator more memory (--memory-limit)"
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
        text::write(&self.hooks())
    }
}
