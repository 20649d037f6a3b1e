//! `metrics`: what hooks report about themselves. Not served yet, and every call says so.
//!
//! Never touches the operator's own metrics.

use crate::sandbox::{bindings::boathook::hook::metrics, store::State};

const NOT_YET: &str = "metrics from hooks are not available yet; log the value instead";

type Labels = Vec<(String, String)>;

impl State {
    fn metric(&mut self, bytes: usize) -> wasmtime::Result<Result<(), String>> {
        self.spend(bytes)?;
        Ok(Err(NOT_YET.to_owned()))
    }
}

fn cost(name: &str, labels: &Labels, group: Option<&String>) -> usize {
    name.len() + super::len(group) + labels.iter().map(|(label, value)| label.len() + value.len()).sum::<usize>()
}

impl metrics::Host for State {
    fn add(
        &mut self,
        name: String,
        _: f64,
        labels: Labels,
        group: Option<String>,
    ) -> wasmtime::Result<Result<(), String>> {
        self.metric(cost(&name, &labels, group.as_ref()))
    }

    fn set(
        &mut self,
        name: String,
        _: f64,
        labels: Labels,
        group: Option<String>,
    ) -> wasmtime::Result<Result<(), String>> {
        self.metric(cost(&name, &labels, group.as_ref()))
    }

    fn observe(
        &mut self,
        name: String,
        _: f64,
        buckets: Vec<f64>,
        labels: Labels,
        group: Option<String>,
    ) -> wasmtime::Result<Result<(), String>> {
        self.metric(cost(&name, &labels, group.as_ref()) + buckets.len() * size_of::<f64>())
    }

    fn expire(&mut self, group: String) -> wasmtime::Result<Result<(), String>> {
        self.metric(group.len())
    }
}
