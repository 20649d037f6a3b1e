//! Sources of values that are not recorded one by one: those that are read at a scrape, and those that the holder of a
//! series records.

use std::{fmt, sync::OnceLock, time::Duration};

use prometheus::Histogram;

use super::Metrics;

type Setter = Box<dyn Fn(&Metrics) + Send + Sync>;

/// Sets values that are measured only when somebody reads them.
#[derive(Default)]
pub(super) struct Refresh(OnceLock<Setter>);

impl Refresh {
    /// Only the first call has an effect.
    pub fn set(&self, refresh: impl Fn(&Metrics) + Send + Sync + 'static) {
        // Later calls have no effect.
        let _ = self.0.set(Box::new(refresh));
    }

    pub fn run(&self, metrics: &Metrics) {
        if let Some(refresh) = self.0.get() {
            refresh(metrics);
        }
    }
}

impl fmt::Debug for Refresh {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Refresh")
    }
}

/// Records the times of one binding.
#[derive(Debug, Clone)]
pub struct BindingTimings {
    filter: Histogram,
    event: Histogram,
}

impl BindingTimings {
    pub(super) fn new(filter: Histogram, event: Histogram) -> Self {
        Self { filter, event }
    }

    /// A filter ran on one object.
    pub fn filtered(&self, took: Duration) {
        self.filter.observe(took.as_secs_f64());
    }

    /// A change was handled.
    pub fn handled(&self, took: Duration) {
        self.event.observe(took.as_secs_f64());
    }
}
