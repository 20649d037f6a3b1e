//! Metrics of answers to the API server. Requests for which no hook is called are not counted.

use std::{sync::Arc, time::Duration};

use boathook_core::model::{BindingName, HookName};
use prometheus::{HistogramVec, IntCounterVec, IntGaugeVec};

use super::{
    Metrics, names,
    register::{MetricsError, Register, forget},
    series::Series,
};

/// The labels of an answer.
#[derive(Debug, Clone, Copy)]
pub struct AnswerLabels<'a> {
    pub hook: &'a HookName,
    pub binding: &'a BindingName,
    /// `validating`, `mutating` or `conversion`.
    pub kind: &'static str,
}

impl Metrics {
    /// The metrics of answers to the API server.
    pub fn answers(&self) -> &AnswerMetrics {
        &self.answers
    }
}

#[derive(Debug)]
pub struct AnswerMetrics {
    answers: IntCounterVec,
    seconds: HistogramVec,
    running: IntGaugeVec,
    expiry: IntGaugeVec,
    series: Arc<Series>,
}

impl AnswerMetrics {
    pub(super) fn new(make: &Register<'_>, series: Arc<Series>) -> Result<Self, MetricsError> {
        let metrics = Self {
            answers: make.vec(&names::ANSWERS)?,
            seconds: make.vec(&names::ANSWER_SECONDS)?,
            running: make.vec(&names::ANSWERS_RUNNING)?,
            expiry: make.vec(&names::CERTIFICATE_EXPIRY)?,
            series,
        };
        metrics.set_certificate_expiry(0);
        Ok(metrics)
    }

    /// Counts the hook as being called, until the guard is dropped.
    pub fn begun(&self, hook: &HookName) -> impl Drop + Send + use<> {
        let running = self.running.with_label_values(&[hook.as_str()]);
        running.inc();
        Asked(running)
    }

    /// Records that a hook answered, or did not. `outcome` is a word from the code: `allowed`, `denied`, `mutated`,
    /// `converted`, `refused`, `failed`, `not-ready`.
    pub fn ended(&self, labels: AnswerLabels<'_>, outcome: &'static str, took: Duration) {
        let AnswerLabels { hook, binding, kind } = labels;
        let binding = self.series.binding(hook, binding);
        self.answers.with_label_values(&[hook.as_str(), binding, kind, outcome]).inc();
        self.seconds.with_label_values(&[hook.as_str(), binding, kind]).observe(took.as_secs_f64());
    }

    /// Sets when the serving certificate expires, in seconds since 1970.
    pub fn set_certificate_expiry(&self, seconds: i64) {
        self.expiry.with_label_values::<&str>(&[]).set(seconds);
    }

    pub(super) fn forget(&self, hook: &HookName, gone: &dyn Fn(Option<&str>) -> bool) {
        forget(&self.answers, hook, gone);
        forget(&self.seconds, hook, gone);
        forget(&self.running, hook, gone);
    }
}

struct Asked(prometheus::IntGauge);

impl Drop for Asked {
    fn drop(&mut self) {
        self.0.dec();
    }
}
