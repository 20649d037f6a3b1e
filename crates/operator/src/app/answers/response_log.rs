//! How an answer is reported: in the log, in metrics, and in the memory of runs. It decides nothing.

use std::time::Instant;

use boathook_core::model::{BindingName, ConversionRule, HookName, RunId};
use boathook_sandbox::RunReport;
use serde::Deserialize;
use tracing::{debug, info, warn};

use super::{
    super::{history::Begun, ms},
    Answers,
};
use crate::{admin::views::AnswerView, telemetry::metrics::AnswerLabels, webhook::Unanswered};

/// The maximum number of warnings of an answer that are remembered.
const WARNINGS: usize = 8;
/// The maximum length of a message that is remembered, in bytes.
const TEXT: usize = 1024;

/// The request to a hook.
pub(super) struct Asked<'a> {
    pub hook: &'a HookName,
    pub run: &'a RunId,
    pub binding: &'a BindingName,
    /// `validating`, `mutating` or `conversion`.
    pub kind: &'static str,
    pub started: Instant,
}

/// The result of the request.
pub(super) struct Entry<'a> {
    /// The value of the metric's label.
    pub outcome: &'static str,
    /// The reason for the hook's refusal, in its own words.
    pub refusal: Option<&'a str>,
    pub question: Question<'a>,
    /// Warnings for the user who made the request.
    pub warnings: &'a [String],
}

/// The question in the request.
#[derive(Clone, Copy)]
pub(super) enum Question<'a> {
    /// The AdmissionRequest.
    Review {
        request: &'a str,
        dry_run: bool,
    },
    Conversion {
        rule: &'a ConversionRule,
        objects: usize,
    },
}

impl Asked<'_> {
    fn labels(&self) -> AnswerLabels<'_> {
        AnswerLabels { hook: self.hook, binding: self.binding, kind: self.kind }
    }
}

impl Answers {
    /// Reports that the hook was not called.
    pub(super) fn not_ready(&self, asked: &Asked<'_>, error: &Unanswered) {
        let Asked { hook, run, binding, kind, started } = asked;
        self.parts.metrics.answers().ended(asked.labels(), "not-ready", started.elapsed());
        warn!(%hook, %run, %binding, kind, %error, "no answer");
    }

    /// Reports that the hook was called, and did not answer in time.
    pub(super) fn late(&self, asked: &Asked<'_>, error: &Unanswered) {
        let Asked { hook, run, binding, kind, started } = asked;
        self.parts.metrics.answers().ended(asked.labels(), "failed", started.elapsed());
        warn!(%hook, %run, %binding, kind, %error, "no answer");
    }

    /// Reports that the hook's run ended.
    pub(super) fn ended<T>(&self, asked: &Asked<'_>, begun: Begun, report: &RunReport<T>, entry: Entry<'_>) {
        let Asked { hook, run, binding, kind, started } = asked;
        let Entry { outcome, refusal, question, .. } = entry;
        self.parts.metrics.answers().ended(asked.labels(), outcome, started.elapsed());
        // Reading the request takes time, so the code does it only if somebody uses the result.
        let looked_at = refusal.is_some() || report.outcome.is_err() || self.parts.history.listens();
        let answer = looked_at.then(|| view(&entry));
        self.parts.history.ended(begun.with_answer(answer), report, false);
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

    /// A hook that was removed in the meantime reports nothing more.
    fn report_metrics<T>(&self, asked: &Asked<'_>, report: &RunReport<T>) {
        let Asked { hook, run, binding, .. } = asked;
        if report.metrics.is_empty() || self.parts.hook_registry.hook(hook).is_none() {
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

/// The answer as people see it. Its texts are bounded, because it is remembered.
fn view(entry: &Entry<'_>) -> AnswerView {
    let About { operation, object, user } = About::of(entry.question);
    AnswerView {
        decision: entry.outcome.to_owned(),
        operation: operation.unwrap_or_default(),
        object: object.unwrap_or_default(),
        user,
        dry_run: matches!(entry.question, Question::Review { dry_run: true, .. }),
        message: entry.refusal.map(short),
        warnings: entry.warnings.iter().take(WARNINGS).map(|text| short(text)).collect(),
    }
}

fn short(text: &str) -> String {
    text.get(..text.floor_char_boundary(TEXT)).unwrap_or_default().to_owned()
}

/// What a log line says about a request.
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
    fn of(question: Question<'_>) -> Self {
        let request = match question {
            Question::Review { request, .. } => request,
            Question::Conversion { rule, objects } => {
                let object = Some(format!("{objects} object{}", if objects == 1 { "" } else { "s" }));
                return Self { operation: Some(rule.to_string()), object, user: None };
            }
        };
        let Ok(request) = serde_json::from_str::<Request>(request) else { return Self::default() };
        let Request { kind, operation, namespace, name, user_info } = request;
        let kind = kind.map(|kind| kind.kind).unwrap_or_default();
        // The API server may generate the name later.
        let place = [namespace, name].into_iter().flatten().filter(|part| !part.is_empty()).collect::<Vec<_>>();
        let object = format!("{kind} {}", place.join("/")).trim().to_owned();
        Self { operation, object: Some(object), user: user_info.and_then(|user| user.username) }
    }
}
