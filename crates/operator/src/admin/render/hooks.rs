//! Hooks as text: a table of all hooks, or one hook with all details.

use std::fmt::Write as _;

use super::{
    Text, bytes, millis,
    table::{Cell, Style, Table, Tone, clean, short},
};
use crate::admin::views::{BindingKind, BindingView, HookState, HookView, HooksView, LastRun, RunResult};

impl Text for HooksView {
    fn text(&self, style: Style) -> String {
        let mut table = Table::new(["NAME", "STATE", "BINDINGS", "OBJECTS", "RUNS", "FAILED", "LAST RUN", "REASON"]);
        for hook in &self.hooks {
            let objects: usize = hook.bindings.iter().filter_map(|binding| binding.objects).sum();
            table.row([
                hook.name.as_str().into(),
                state(hook.state),
                hook.bindings.len().to_string().into(),
                objects.to_string().into(),
                hook.runs.total.to_string().into(),
                Cell::new(hook.runs.failed.to_string(), if hook.runs.failed > 0 { Tone::Warning } else { Tone::Plain }),
                hook.runs.last.as_ref().map_or_else(|| "never".into(), last),
                short(&reason(hook), 100).into(),
            ]);
        }
        let mut text = if table.is_empty() { "no hooks\n".to_owned() } else { table.text(style, "") };
        if let Some(trouble) = &self.api_server {
            text.push_str(&style.paint(&clean(trouble), Tone::Warning));
            text.push_str(": hooks get nothing new\n");
        }
        if self.standby {
            text.push_str("this replica stands by: another one runs the hooks\n");
        }
        text
    }
}

/// One hook with all details.
pub fn hook(hook: &HookView, style: Style) -> String {
    let mut out = String::new();
    let mut line = |title: &str, text: &str| {
        // Writing to a String cannot fail.
        let _ = writeln!(out, "{:<13} {text}", format!("{title}:"));
    };
    let (word, tone) = (hook.state.as_str(), tone(hook.state));
    line("Name", &clean(&hook.name));
    line("State", &style.paint(word, tone));
    hook.reasons.iter().for_each(|reason| line("Reason", &clean(reason)));
    hook.warnings.iter().for_each(|warning| line("Warning", &style.paint(&clean(warning), Tone::Warning)));
    if let Some(digest) = &hook.digest {
        line("Digest", &clean(digest));
    }
    if let Some(interpreter) = &hook.interpreter {
        line("Interpreter", &clean(interpreter));
    }
    hook.may.iter().for_each(|rule| line("May", &clean(rule)));
    line("Runs", &format!("{}, {} failed", hook.runs.total, hook.runs.failed));
    if let Some(run) = &hook.runs.last {
        let took = millis(run.duration_ms);
        line("Last run", &format!("{} {}, {}, {took}", clean(&run.id), clean(&run.started), run.result.as_str()));
    }
    line("Outstanding", &hook.outstanding.to_string());
    if !hook.bindings.is_empty() {
        out.push_str("Bindings:\n");
        out.push_str(&bindings(&hook.bindings).text(style, "  "));
    }
    for binding in &hook.bindings {
        if let Some(error) = &binding.last_error {
            let _ = writeln!(out, "Last filter error of {}: {}", clean(&binding.name), clean(error));
        }
    }
    out
}

fn bindings(bindings: &[BindingView]) -> Table {
    let mut table = Table::new(["NAME", "KIND", "QUEUE", "OBJECTS", "BYTES", "FILTER ERRORS", "STATE", "SELECTION"]);
    for binding in bindings {
        let number = |number: Option<usize>| number.map_or_else(|| "-".to_owned(), |number| number.to_string());
        let errors = binding.filter_errors.unwrap_or_default();
        table.row([
            binding.name.as_str().into(),
            binding.kind.as_str().into(),
            binding.queue.as_str().into(),
            number(binding.objects).into(),
            binding.bytes.map_or_else(|| "-".to_owned(), |size| bytes(size as u64)).into(),
            Cell::new(errors.to_string(), if errors > 0 { Tone::Warning } else { Tone::Plain }),
            binding_state(binding),
            binding.selection.as_str().into(),
        ]);
    }
    table
}

fn binding_state(binding: &BindingView) -> Cell {
    if let Some(late @ 1..) = binding.late {
        return Cell::new(format!("waiting for its filter: {late}"), Tone::Warning);
    }
    match (binding.kind, &binding.pending, binding.synchronised) {
        (_, Some(_), _) => Cell::new("pending", Tone::Warning),
        (BindingKind::Kubernetes, None, Some(true)) => Cell::new("synchronised", Tone::Good),
        (BindingKind::Kubernetes, None, _) => Cell::new("listing", Tone::Warning),
        _ => "-".into(),
    }
}

fn reason(hook: &HookView) -> String {
    hook.reasons.join("; ")
}

fn tone(state: HookState) -> Tone {
    match state {
        HookState::Ready => Tone::Good,
        HookState::Pending | HookState::Paused => Tone::Warning,
        HookState::Quarantined => Tone::Bad,
    }
}

fn state(state: HookState) -> Cell {
    Cell::new(state.as_str(), tone(state))
}

fn last(run: &LastRun) -> Cell {
    let tone = if run.result == RunResult::Failed { Tone::Bad } else { Tone::Plain };
    Cell::new(format!("{} {}", run.started, run.result.as_str()), tone)
}
