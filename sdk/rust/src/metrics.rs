//! Metrics that a hook reports; the operator serves them with the label `hook`.
//!
//! A metric that the host refuses is an error to look at, never a reason to trap.

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

/// A metric by its name, with labels.
///
/// ```no_run
/// use boathook_sdk::metrics::Metric;
///
/// Metric::new("copies_total").label("namespace", "web").add(1.0)?;
/// # Ok::<(), boathook_sdk::Error>(())
/// ```
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

    /// Adds a label.
    pub fn label(mut self, name: &str, value: &str) -> Self {
        self.labels.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Puts the series into a group, which [`expire`] removes as a whole.
    pub fn group(mut self, group: &'a str) -> Self {
        self.group = Some(group);
        self
    }

    /// Adds to a counter.
    pub fn add(&self, value: f64) -> Result<(), MetricError> {
        host::add(self.name, value, &self.labels, self.group).map_err(MetricError)
    }

    /// Sets a gauge.
    pub fn set(&self, value: f64) -> Result<(), MetricError> {
        host::set(self.name, value, &self.labels, self.group).map_err(MetricError)
    }

    /// Records one observation in a histogram with these upper bounds.
    pub fn observe(&self, value: f64, buckets: &[f64]) -> Result<(), MetricError> {
        host::observe(self.name, value, buckets, &self.labels, self.group).map_err(MetricError)
    }
}

/// Removes all series that this hook reported in the group.
pub fn expire(group: &str) -> Result<(), MetricError> {
    host::expire(group).map_err(MetricError)
}
