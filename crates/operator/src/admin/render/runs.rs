//! Runs as text: a line for each run, and below the table the messages of those that failed.

use std::fmt::Write as _;

use super::{
    Text, bytes, millis,
    table::{Cell, Style, Table, Tone, clean, short},
};
use crate::admin::views::{RunResult, RunView, RunsView, TriggerView};

impl Text for RunsView {
    fn text(&self, style: Style) -> String {
        if self.runs.is_empty() {
            return "no runs\n".to_owned();
        }
        let mut table = Table::new(["ID", "HOOK", "STARTED", "TOOK", "TRY", "MEMORY", "CALLS", "RESULT", "TRIGGERS"]);
        for run in &self.runs {
            table.row([
                run.id.as_str().into(),
                run.hook.as_str().into(),
                run.started.as_str().into(),
                millis(run.duration_ms).into(),
                run.attempt.to_string().into(),
                bytes(run.memory_peak_bytes).into(),
                run.host_calls.to_string().into(),
                result(run),
                short(&triggers(run.triggers_count, &run.triggers), 80).into(),
            ]);
        }
        let mut out = table.text(style, "");
        for run in self.runs.iter().filter(|run| run.outcome.message.is_some()) {
            failure(&mut out, run, style);
        }
        out
    }
}

fn result(run: &RunView) -> Cell {
    let outcome = &run.outcome;
    if let Some(answer) = run.answer.as_ref().filter(|_| outcome.result == RunResult::Succeeded) {
        return Cell::new(clean(&answer.decision), Tone::Good);
    }
    let tone = match outcome.result {
        RunResult::Succeeded => Tone::Good,
        RunResult::AllowedFailure => Tone::Warning,
        RunResult::Failed => Tone::Bad,
    };
    match &outcome.kind {
        Some(kind) => Cell::new(format!("{} ({kind})", outcome.result.as_str()), tone),
        None => Cell::new(outcome.result.as_str(), tone),
    }
}

/// The first triggers, and how many more there are.
pub(super) fn triggers(count: usize, first: &[TriggerView]) -> String {
    let mut shown: Vec<_> = first.iter().map(trigger).collect();
    let hidden = count.saturating_sub(shown.len());
    if hidden > 0 {
        shown.push(format!("and {hidden} more"));
    }
    shown.join(", ")
}

fn trigger(trigger: &TriggerView) -> String {
    let mut text = format!("{} {}", trigger.binding, trigger.cause);
    for part in [&trigger.kind, &trigger.object].into_iter().flatten() {
        text.push(' ');
        text.push_str(part);
    }
    text
}

fn failure(out: &mut String, run: &RunView, style: Style) {
    let message = clean(run.outcome.message.as_deref().unwrap_or_default());
    // Writing to a String cannot fail.
    let _ = writeln!(out, "\n{} {}: {}", clean(&run.id), clean(&run.hook), style.paint(&message, Tone::Bad));
    for frame in run.outcome.backtrace.iter().flat_map(|trace| trace.lines()) {
        let _ = writeln!(out, "    {}", clean(frame));
    }
}
