//! Creates metrics from the lines of the table, and removes series.

use std::collections::HashMap;

use boathook_core::model::HookName;
use prometheus::{
    CounterVec, GaugeVec, HistogramVec, IntCounterVec, IntGaugeVec, Registry,
    core::{Collector, MetricVec, MetricVecBuilder},
    histogram_opts, opts,
};

use super::names::{Def, Kind};

/// Why metrics cannot be created or shown.
#[derive(Debug, thiserror::Error)]
pub enum MetricsError {
    /// The prefix makes a name that Prometheus does not accept.
    #[error("metric {name} can't be registered: use letters, digits and '_' in the metrics prefix")]
    Register {
        /// The full name.
        name: String,
        /// The error of the library.
        #[source]
        source: prometheus::Error,
    },
    /// The values cannot be written as text.
    #[error("the metrics can't be written as text")]
    Encode(#[source] prometheus::Error),
}

/// Creates and registers metrics.
pub(super) struct Register<'a> {
    pub(super) registry: &'a Registry,
    pub(super) prefix: &'a str,
}

impl Register<'_> {
    pub(super) fn vec<V: FromDef + Collector + Clone + 'static>(&self, def: &Def) -> Result<V, MetricsError> {
        let name = format!("{}{}", self.prefix, def.name);
        let made = V::from_def(&name, def).and_then(|vec| {
            self.registry.register(Box::new(vec.clone()))?;
            Ok(vec)
        });
        made.map_err(|source| MetricsError::Register { name, source })
    }
}

/// Creates a metric from its line in the table.
pub(super) trait FromDef: Sized {
    fn from_def(name: &str, def: &Def) -> prometheus::Result<Self>;
}

macro_rules! from_def {
    ($($vec:ty),*) => {$(
        impl FromDef for $vec {
            fn from_def(name: &str, def: &Def) -> prometheus::Result<Self> {
                Self::new(opts!(name, def.help), def.labels)
            }
        }
    )*};
}

from_def!(IntCounterVec, CounterVec, IntGaugeVec, GaugeVec);

impl FromDef for HistogramVec {
    fn from_def(name: &str, def: &Def) -> prometheus::Result<Self> {
        let bounds = match def.kind {
            Kind::Histogram(buckets) => buckets.bounds().to_vec(),
            Kind::Counter | Kind::Gauge => Vec::new(),
        };
        Self::new(histogram_opts!(name, def.help, bounds), def.labels)
    }
}

/// Drops those series of a hook whose label `binding`, if any, is `gone`.
pub(super) fn forget<B: MetricVecBuilder>(vec: &MetricVec<B>, hook: &HookName, gone: &dyn Fn(Option<&str>) -> bool) {
    for family in vec.collect() {
        for metric in family.get_metric() {
            let labels: HashMap<&str, &str> =
                metric.get_label().iter().map(|label| (label.name(), label.value())).collect();
            if labels.get("hook") == Some(&hook.as_str()) && gone(labels.get("binding").copied()) {
                // The series existed a moment ago. If it is gone now, that is fine.
                let _ = vec.remove(&labels);
            }
        }
    }
}
