//! Metrics that hooks report, each with the label `hook`: applied run by run, served as text.
//!
//! Never mixes with the operator's own metrics, and never lets a hook touch another's series.

mod series;
#[cfg(test)]
mod tests;
mod text;

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use crate::model::{HookName, MetricKind, MetricOp, MetricSample};
use series::HookSeries;

/// A metric operation that can't be applied to what is there.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum HookMetricError {
    /// The name is taken by another type.
    #[error("metric {name} is a {is}, reported by hook {by}, and can't be a {wanted} too: choose another name")]
    Kind {
        /// The metric.
        name: String,
        /// What it is.
        is: MetricKind,
        /// One of the hooks that report it.
        by: HookName,
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
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    hooks: BTreeMap<HookName, HookSeries>,
    /// A name has one type, whoever reports it; it is free again when nobody does.
    kinds: BTreeMap<Arc<str>, (MetricKind, BTreeSet<HookName>)>,
}

impl HookMetrics {
    /// Series that a hook may have, unless the admin chooses otherwise.
    pub const DEFAULT_MAX_SERIES: usize = 1_000;

    /// None yet; each hook may have so many series.
    pub fn new(max_series: usize) -> Self {
        Self { max_series, state: Mutex::default() }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether a sample could be applied now. `in_run` is the number of series that its run has
    /// reported so far, with this one. What other hooks report until the run ends may change it.
    pub fn check(&self, hook: &HookName, sample: &MetricSample, in_run: usize) -> Result<(), HookMetricError> {
        if in_run > self.max_series {
            return Err(self.full(sample));
        }
        let state = self.state();
        state.check_name(sample)?;
        let Some(own) = state.hooks.get(hook) else { return Ok(()) };
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
        let mut state = self.state();
        for group in ops.iter().filter_map(|op| if let MetricOp::Record(sample) = op { sample.group() } else { None }) {
            state.expire(hook, group);
        }
        for op in ops {
            let result = match op {
                MetricOp::Expire(group) => {
                    state.expire(hook, group);
                    Ok(())
                }
                MetricOp::Record(sample) => self.record(&mut state, hook, sample),
            };
            if let Err(error) = result {
                applied.refused += 1;
                applied.first.get_or_insert(error);
            }
        }
        applied
    }

    fn record(&self, state: &mut State, hook: &HookName, sample: &MetricSample) -> Result<(), HookMetricError> {
        state.check_name(sample)?;
        let own = state.hooks.entry(hook.clone()).or_default();
        own.check_buckets(sample)?;
        if own.growth(sample) + own.used() > self.max_series {
            return Err(self.full(sample));
        }
        own.record(sample);
        state.claim(hook, sample);
        Ok(())
    }

    /// Drops everything of a hook that is gone.
    pub fn forget(&self, hook: &HookName) {
        let mut state = self.state();
        state.hooks.remove(hook);
        state.release(hook);
    }

    /// Series that a hook reports now.
    pub fn series(&self, hook: &HookName) -> usize {
        self.state().hooks.get(hook).map_or(0, HookSeries::used)
    }

    /// All series in Prometheus's text format 0.0.4.
    pub fn text(&self) -> String {
        let state = self.state();
        text::write(&state.hooks, |name| state.kinds.get(name).map(|(kind, _)| *kind))
    }
}

impl State {
    fn check_name(&self, sample: &MetricSample) -> Result<(), HookMetricError> {
        let (name, wanted) = (sample.name(), sample.kind());
        match self.kinds.get(name) {
            Some((is, _)) if *is == wanted => Ok(()),
            Some((is, hooks)) => match hooks.first() {
                Some(by) => Err(HookMetricError::Kind { name: name.to_string(), is: *is, by: by.clone(), wanted }),
                None => Ok(()),
            },
            None => self.check_lines(name, wanted),
        }
    }

    /// A histogram shows as NAME_bucket, NAME_sum and NAME_count.
    fn check_lines(&self, name: &str, wanted: MetricKind) -> Result<(), HookMetricError> {
        const SUFFIXES: [&str; 3] = ["_bucket", "_sum", "_count"];
        let clash = |name: &str, histogram: &str, line: &str| {
            Err(HookMetricError::Line { name: name.to_owned(), histogram: histogram.to_owned(), line: line.to_owned() })
        };
        for suffix in SUFFIXES {
            let line = format!("{name}{suffix}");
            if wanted == MetricKind::Histogram && self.kinds.contains_key(line.as_str()) {
                return clash(&line, name, &line);
            }
            let histogram = name.strip_suffix(suffix);
            let known = |base: &&str| self.kinds.get(*base).is_some_and(|(kind, _)| *kind == MetricKind::Histogram);
            if let Some(histogram) = histogram.filter(known) {
                return clash(name, histogram, name);
            }
        }
        Ok(())
    }

    fn claim(&mut self, hook: &HookName, sample: &MetricSample) {
        let (_, hooks) = self.kinds.entry(sample.name().clone()).or_insert_with(|| (sample.kind(), BTreeSet::new()));
        if !hooks.contains(hook) {
            hooks.insert(hook.clone());
        }
    }

    fn expire(&mut self, hook: &HookName, group: &str) {
        if self.hooks.get_mut(hook).is_some_and(|own| own.expire(group)) {
            self.release(hook);
        }
    }

    /// Frees the names that this hook does not report any more.
    fn release(&mut self, hook: &HookName) {
        let own = self.hooks.get(hook);
        self.kinds.retain(|name, (_, hooks)| {
            if !own.is_some_and(|own| own.reports(name)) {
                hooks.remove(hook);
            }
            !hooks.is_empty()
        });
    }
}
