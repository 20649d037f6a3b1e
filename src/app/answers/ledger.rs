//! What is told of an answer: log line, metrics, the memory of runs. Decides nothing.

use std::time::Instant;

use serde::Deserialize;
use tracing::{debug, info, warn};

use super::{
    super::{history::Begun, ms},
    Answers,
};
use crate::{
    model::{BindingName, HookName, RunId},
    sandbox::RunReport,
    telemetry::metrics::AnswerLabels,
    webhook::Unanswered,
};

/// What a hook is asked.
pub(super) struct Asked<'a> {
    pub hook: &'a HookName,
    pub run: &'a RunId,
    pub binding: &'a BindingName,
    /// `validating`, `mutating`, `conversion`
    pub kind: &'static str,
    pub started: Instant,
}

/// What became of it.
pub(super) struct Entry<'a> {
    /// A word of the metric.
    pub outcome: &'static str,
    /// The hook's own no.
    pub refusal: Option<&'a str>,
    /// The AdmissionRequest.
    pub question: Option<&'a str>,
}

impl Asked<'_> {
    fn labels(&self) -> AnswerLabels<'_> {
        AnswerLabels { hook: self.hook, binding: self.binding, kind: self.kind }
    }
}

impl Answers {
    /// The hook was not asked.
    pub(super) fn not_ready(&self, asked: &Asked<'_>, error: &Unanswered) {
        let Asked { hook, run, binding, kind, started } = asked;
        self.parts.metrics.answers().ended(asked.labels(), "not-ready", started.elapsed());
        warn!(%hook, %run, %binding, kind, %error, "no answer");
    }

    /// The hook was asked and did not come to its end.
    pub(super) fn stopped(&self, asked: &Asked<'_>, error: &Unanswered) {
        let Asked { hook, run, binding, kind, started } = asked;
        let outcome = if matches!(error, Unanswered::NotReady(_)) { "not-ready" } else { "failed" };
        self.parts.metrics.answers().ended(asked.labels(), outcome, started.elapsed());
        warn!(%hook, %run, %binding, kind, %error, "no answer");
    }

    /// The hook came to its end.
    pub(super) fn ended<T>(&self, asked: &Asked<'_>, begun: Begun, report: &RunReport<T>, entry: Entry<'_>) {
        let Asked { hook, run, binding, kind, started } = asked;
        let Entry { outcome, refusal, question } = entry;
        self.parts.metrics.answers().ended(asked.labels(), outcome, started.elapsed());
        self.parts.history.ended(begun, report, false);
        let (ms, host_calls, memory_peak) = (ms(report.duration), report.host_calls, report.memory_peak);
        match (&report.outcome, refusal) {
            (Ok(_), None) => debug!(%hook, %run, %binding, kind, outcome, ms, memory_peak, host_calls, "answered"),
            (_, Some(refusal)) => {
                let About { operation, object, user } = About::of(question);
                info!(%hook, %run, %binding, kind, operation, object, user, ms, refusal, outcome, "refused by the hook");
            }
            (Err(failure), None) => {
                let About { operation, object, user } = About::of(question);
                let (why, error, backtrace) = (failure.kind.label(), &failure.message, failure.backtrace.as_deref());
                warn!(%hook, %run, %binding, kind, operation, object, user, ms, memory_peak, host_calls, why, error, backtrace, "no answer");
            }
        }
        if report.outcome.is_ok() {
            self.report_metrics(asked, report);
        }
    }

    /// A hook that was taken out meanwhile reports nothing more.
    fn report_metrics<T>(&self, asked: &Asked<'_>, report: &RunReport<T>) {
        let Asked { hook, run, binding, .. } = asked;
        if report.metrics.is_empty() || self.parts.roster.hook(hook).is_none() {
            return;
        }
        let applied = self.parts.operator.hook_metrics.apply(hook, &report.metrics);
        if let Some(error) = applied.first {
            let refused = applied.refused;
            self.parts.metrics.hook_metrics_refused(hook, refused);
            warn!(%hook, %run, %binding, refused, %error, "metrics of the run left out");
        }
    }
}

/// What a log line says of a request.
#[derive(Default)]
struct About {
    operation: Option<String>,
    object: Option<String>,
    user: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Request {
    kind: Option<Kind>,
    operation: Option<String>,
    namespace: Option<String>,
    name: Option<String>,
    user_info: Option<User>,
}

#[derive(Deserialize)]
struct Kind {
    kind: String,
}

#[derive(Deserialize)]
struct User {
    username: Option<String>,
}

impl About {
    fn of(question: Option<&str>) -> Self {
        let Some(request) = question.and_then(|text| serde_json::from_str::<Request>(text).ok()) else {
            return Self::default();
        };
        let Request { kind, operation, namespace, name, user_info } = request;
        let kind = kind.map(|kind| kind.kind).unwrap_or_default();
        // Its name may be made up by the API server later on.
        let place = [namespace, name].into_iter().flatten().filter(|part| !part.is_empty()).collect::<Vec<_>>();
        let object = format!("{kind} {}", place.join("/")).trim().to_owned();
        Self { operation, object: Some(object), user: user_info.and_then(|user| user.username) }
    }
}
