//! `metrics`: what hooks report about themselves. Each operation is checked at the call. It is not applied here, and
//! never changes the operator's own metrics.

use boathook_core::model::{Limit, MetricOp, MetricSample, MetricValue, metric_group};

use crate::{store::State, wit::boathook::hook::metrics};

type Labels = Vec<(String, String)>;

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
        // The bytes are kept twice: in the list of operations, and in the set of series.
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
            self.metrics.expire(group);
            Ok(())
        }))
    }
}
