//! Metrics that a hook reports; the operator serves them at `/metrics/hooks` with the label `hook`.
//!
//! They are applied when the run has succeeded, so that a retry does not count twice. A metric that
//! the host refuses is an error to look at, never a reason to trap.
//!
//! ```no_run
//! use boathook_sdk::metrics::{Group, Metric};
//!
//! # fn run() -> boathook_sdk::Result<()> {
//! // Counts on from run to run.
//! Metric::new("copies_total").label("namespace", "web").inc()?;
//! Metric::new("copy_seconds").observe(0.02, &[0.01, 0.1, 1.0])?;
//!
//! // What is there now: what this run does not report vanishes.
//! let pods = Group::new("pods");
//! for (node, count) in [("a", 3), ("b", 5)] {
//!     pods.metric("pods_on_node").label("node", node).set(count)?;
//! }
//! # Ok(())
//! # }
//! ```

use crate::host;
use std::fmt;

/// The host refused a metric; the text says what is allowed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MetricError(String);

impl fmt::Display for MetricError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for MetricError {}

/// One series: a metric by its name, with labels.
///
/// Names are letters, digits and `_`, not beginning with a digit. A name is a counter, a gauge or a
/// histogram, for all hooks alike.
#[derive(Clone, Debug)]
pub struct Metric<'a> {
    name: &'a str,
    labels: Vec<(String, String)>,
    group: Option<&'a str>,
}

impl<'a> Metric<'a> {
    /// A metric without labels.
    pub fn new(name: &'a str) -> Self {
        Self { name, labels: Vec::new(), group: None }
    }

    /// Adds a label. An empty value is the same as no label.
    pub fn label(mut self, name: &str, value: impl ToString) -> Self {
        self.labels.push((name.to_owned(), value.to_string()));
        self
    }

    /// Adds many.
    pub fn labels<N: ToString, V: ToString>(mut self, labels: impl IntoIterator<Item = (N, V)>) -> Self {
        self.labels.extend(labels.into_iter().map(|(name, value)| (name.to_string(), value.to_string())));
        self
    }

    /// Puts the series into a group; see [`Group`].
    pub fn group(mut self, group: &'a str) -> Self {
        self.group = Some(group);
        self
    }

    /// Adds 1 to a counter.
    pub fn inc(&self) -> Result<(), MetricError> {
        self.add(1)
    }

    /// Adds to a counter: 0 or more.
    pub fn add(&self, value: impl Value) -> Result<(), MetricError> {
        host::add(self.name, value.number(), &self.labels, self.group).map_err(MetricError)
    }

    /// Sets a gauge.
    pub fn set(&self, value: impl Value) -> Result<(), MetricError> {
        host::set(self.name, value.number(), &self.labels, self.group).map_err(MetricError)
    }

    /// Records one observation in a histogram with these upper bounds: ascending, without infinity,
    /// and always the same ones for one metric. [`SECONDS`] suits most durations.
    pub fn observe(&self, value: impl Value, buckets: &[f64]) -> Result<(), MetricError> {
        host::observe(self.name, value.number(), buckets, &self.labels, self.group).map_err(MetricError)
    }
}

/// Upper bounds for durations in seconds, from 5 ms to 10 s.
pub const SECONDS: &[f64] = &[0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0];

/// Series that a run reports as a whole: they replace those that this hook reported in the group
/// before. Counters and histograms in a group start over with each run.
#[derive(Clone, Copy, Debug)]
pub struct Group<'a>(&'a str);

impl<'a> Group<'a> {
    /// A group by its name, which other hooks may use too: groups are the hook's own.
    pub fn new(name: &'a str) -> Self {
        Self(name)
    }

    /// A metric in this group.
    pub fn metric(&self, name: &'a str) -> Metric<'a> {
        Metric::new(name).group(self.0)
    }

    /// Removes all series that this hook reported in the group, those of this run so far too.
    pub fn expire(&self) -> Result<(), MetricError> {
        expire(self.0)
    }
}

/// Removes all series that this hook reported in the group.
pub fn expire(group: &str) -> Result<(), MetricError> {
    host::expire(group).map_err(MetricError)
}

/// Numbers that a metric takes, and durations as seconds. Beyond 2^53, integers lose their last
/// digits.
pub trait Value: sealed::Sealed {
    /// As the host takes it.
    fn number(self) -> f64;
}

mod sealed {
    pub trait Sealed {}
}

macro_rules! value {
    ($($number:ty),*) => {$(
        impl sealed::Sealed for $number {}
        impl Value for $number {
            fn number(self) -> f64 {
                self as f64
            }
        }
    )*};
}

value!(f64, f32, i64, i32, u64, u32, u16, usize);

impl sealed::Sealed for std::time::Duration {}

impl Value for std::time::Duration {
    fn number(self) -> f64 {
        self.as_secs_f64()
    }
}
