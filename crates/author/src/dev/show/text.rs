//! Formats events as text. Pure; it removes control characters.

use std::{fmt::Write as _, time::Duration};

use boathook_core::effect::{Effect, Style, render};
use boathook_operator::admin::views::{AnswerView, RunResult, RunView, TriggerView};
use jiff::{Timestamp, tz::TimeZone};
use serde_json::Value;

use super::{super::source::Origin, Note};

/// How text looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Look {
    /// How effects are shown, with or without ANSI colours.
    pub style: Style,
    /// Maximum number of frames of a back-trace.
    pub frames: usize,
}

const DIM: u8 = 2;
const RED: u8 = 31;
const GREEN: u8 = 32;
const YELLOW: u8 = 33;

impl Look {
    fn paint(self, code: u8, text: &str) -> String {
        if self.style.color { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_owned() }
    }
}

/// Milliseconds, rounded to microseconds.
pub(super) fn ms(time: Duration) -> f64 {
    (time.as_secs_f64() * 1e6).round() / 1e3
}

pub(super) fn note(note: &Note<'_>, look: Look) -> String {
    match note {
        Note::Building { source } => match source.origin {
            Origin::Project(_) => format!("{}\n", look.paint(DIM, &format!("building {}", source.name))),
            Origin::Component(_) => String::new(),
        },
        Note::Outdated { source } => {
            format!("{}\n", look.paint(DIM, &format!("{} changed again: building again", source.name)))
        }
        Note::Failed { source, error } => {
            let text = format!("{}: {}; the previous version continues to run", source.name, clean(error));
            format!("{}\n", look.paint(RED, &text))
        }
        Note::Unasked { why } => {
            format!("{}\n", look.paint(YELLOW, &format!("webhooks are off, the hook is not asked: {why}")))
        }
        Note::Slow { hook, binding, taken } => {
            let text =
                format!("{}: a run for {} takes longer than {:.0} s", clean(hook), clean(binding), taken.as_secs_f64());
            format!("{}\n", look.paint(DIM, &text))
        }
        Note::Again { source, triggers: 0 } => {
            format!("{}\n", look.paint(DIM, &format!("{}: there is no run to run again", source.name)))
        }
        Note::Again { source, .. } => {
            format!("{}\n", look.paint(DIM, &format!("{}: running the last run again", source.name)))
        }
        Note::Swapped { source, swapped, built } => {
            let name = &source.name;
            if swapped.from.as_ref() == Some(&swapped.to) {
                return format!("{}\n", look.paint(DIM, &format!("{name}: the component is the same as before")));
            }
            let mut text = match (&source.origin, &swapped.from) {
                (Origin::Project(_), _) => format!("{name} built in {:.1} s", built.as_secs_f64()),
                (_, None) => format!("{name} loaded"),
                (_, Some(_)) => format!("{name} changed"),
            };
            // Writing to a String cannot fail.
            let _ = write!(text, ", active after {:.0} ms", ms(swapped.took));
            match (&swapped.from, swapped.begun) {
                (Some(_), 0) => text.push_str("; its bindings go on"),
                (Some(_), begun) => {
                    let _ = write!(text, "; bindings that start again: {begun}");
                }
                (None, _) => {}
            }
            if swapped.interrupted {
                text.push_str("; a run was interrupted, and runs again");
            }
            format!("{}\n", look.paint(GREEN, &text))
        }
    }
}

/// A run with its writes, its own log lines, and the reason of its failure.
pub(super) fn run(run: &RunView, effects: &[Effect], lines: &[Value], look: Look) -> String {
    let outcome = &run.outcome;
    let failed = outcome.result != RunResult::Succeeded;
    let attempt = if run.attempt > 1 { format!(", attempt {}", run.attempt) } else { String::new() };
    let (code, result) = match &run.answer {
        Some(answer) => (decision(answer), clean(&answer.decision)),
        None if failed => (RED, outcome.result.as_str().to_owned()),
        None => (GREEN, outcome.result.as_str().to_owned()),
    };
    let result = look.paint(code, &format!("{result}{attempt}"));
    let mut out = format!(
        "{} {} {}  {:.1} ms  {result}\n",
        look.paint(DIM, &time(&run.started)),
        clean(&run.hook),
        triggers(run) + &run.answer.as_ref().map(question).unwrap_or_default(),
        run.duration_ms
    );
    let (message, warnings) = run.answer.as_ref().map(|it| (it.message.as_ref(), &*it.warnings)).unwrap_or_default();
    message.filter(|_| !failed).iter().for_each(|text| indent(&mut out, [look.paint(RED, &clean(text)).as_str()]));
    warnings.iter().for_each(|text| {
        indent(&mut out, [look.paint(YELLOW, &format!("warning: {}", clean(text))).as_str()]);
    });
    let shown = Style { width: look.style.width.saturating_sub(2), ..look.style };
    let effects = effects.iter().map(|effect| render(effect, shown));
    effects.for_each(|effect| indent(&mut out, effect.lines()));
    lines.iter().for_each(|said| indent(&mut out, [said_by_hook(said, look).as_str()]));
    if failed {
        let why = [outcome.kind.as_deref(), outcome.message.as_deref()].into_iter().flatten().map(clean);
        indent(&mut out, [look.paint(RED, &why.collect::<Vec<_>>().join(": ")).as_str()]);
        let frames = outcome.backtrace.as_deref().unwrap_or_default().lines();
        indent(&mut out, frames.take(look.frames).map(|frame| format!("  {}", clean(frame))));
    }
    out
}

fn decision(answer: &AnswerView) -> u8 {
    match answer.decision.as_str() {
        "failed" => RED,
        "denied" | "refused" => YELLOW,
        _ => GREEN,
    }
}

/// ` CREATE ConfigMap web/settings (dry run)`
fn question(answer: &AnswerView) -> String {
    let dry_run = if answer.dry_run { " (dry run)" } else { "" };
    format!(" {} {}{dry_run}", clean(&answer.operation), clean(&answer.object))
}

fn indent<S: AsRef<str>>(out: &mut String, lines: impl IntoIterator<Item = S>) {
    for line in lines {
        out.push_str("  ");
        out.push_str(line.as_ref());
        out.push('\n');
    }
}

fn triggers(run: &RunView) -> String {
    let shown: Vec<_> = run.triggers.iter().take(3).map(trigger).collect();
    let rest = run.triggers_count.saturating_sub(shown.len());
    let more = if rest > 0 { format!(" and {rest} more") } else { String::new() };
    format!("{}{more}", shown.join(", "))
}

fn trigger(trigger: &TriggerView) -> String {
    let TriggerView { binding, cause, group, kind, object } = trigger;
    let of = [Some(cause.as_str()), kind.as_deref(), object.as_deref()];
    let mut text = of.into_iter().flatten().map(clean).collect::<Vec<_>>().join(" ");
    if let Some(group) = group {
        let _ = write!(text, " (group {})", clean(group));
    }
    format!("{}: {text}", clean(binding))
}

/// The local time of day.
fn time(started: &str) -> String {
    let Ok(time) = started.parse::<Timestamp>() else { return started.to_owned() };
    time.to_zoned(TimeZone::system()).strftime("%H:%M:%S%.3f").to_string()
}

/// Fields that every line has, or that the head of the run already shows.
const KNOWN: [&str; 11] =
    ["timestamp", "level", "message", "target", "hook", "run", "binding", "queue", "attempt", "event", "object"];

fn said_by_hook(line: &Value, look: Look) -> String {
    let level = line.get("level").and_then(Value::as_str).unwrap_or_default();
    let head = look.paint(colour(level), &level.to_ascii_lowercase());
    format!("{head}: {}{}", message(line), fields(line, &KNOWN))
}

/// A log line of the operator.
pub(super) fn line(line: &Value, look: Look) -> String {
    let text = |key: &str| line.get(key).and_then(Value::as_str).unwrap_or_default();
    if let ("run will be retried", Some(ms)) = (text("message"), line.get("retry_ms").and_then(Value::as_f64)) {
        let reported = format!("{}: next try in {:.1} s, or when it changes", clean(text("hook")), ms / 1e3);
        return format!("{}\n", look.paint(DIM, &reported));
    }
    let level = line.get("level").and_then(Value::as_str).unwrap_or_default();
    let known = ["timestamp", "level", "message", "target"];
    format!("{}\n", look.paint(colour(level), &format!("{}{}", message(line), fields(line, &known))))
}

fn message(line: &Value) -> String {
    clean(line.get("message").and_then(Value::as_str).unwrap_or_default())
}

fn fields(line: &Value, known: &[&str]) -> String {
    let all = line.as_object().into_iter().flatten().filter(|(key, _)| !known.contains(&key.as_str()));
    all.map(|(key, value)| match value {
        Value::String(text) => format!(" {}={}", clean(key), clean(text)),
        value => format!(" {}={}", clean(key), clean(&value.to_string())),
    })
    .collect()
}

fn colour(level: &str) -> u8 {
    match level {
        "ERROR" => RED,
        "WARN" => YELLOW,
        _ => DIM,
    }
}

fn clean(text: &str) -> String {
    text.chars().map(|c| if c.is_control() && c != '\t' { '\u{fffd}' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic)]
    use boathook_operator::admin::views::RunOutcome;
    use serde_json::json;

    use super::*;

    const PLAIN: Look = Look { style: Style { color: false, width: 80, secrets: false, lines: 20 }, frames: 2 };

    fn view(outcome: RunOutcome) -> RunView {
        let event = TriggerView {
            binding: "namespaces".into(),
            cause: "Added".into(),
            group: None,
            kind: Some("Namespace".into()),
            object: Some("team-a".into()),
        };
        RunView {
            id: "p-1".into(),
            hook: "copies".into(),
            queue: "hook/copies".into(),
            attempt: 2,
            triggers_count: 5,
            triggers: vec![event],
            started: "?".into(),
            duration_ms: 1.25,
            memory_peak_bytes: 1,
            host_calls: 1,
            outcome,
            answer: None,
        }
    }

    #[test]
    fn an_answer_is_shown_with_what_was_asked_and_what_was_said() {
        let outcome = RunOutcome { result: RunResult::Succeeded, kind: None, message: None, backtrace: None };
        let answer = AnswerView {
            decision: "denied".into(),
            operation: "CREATE".into(),
            object: "ConfigMap web/a".into(),
            user: None,
            dry_run: true,
            message: Some("not\u{7} here".into()),
            warnings: vec!["old".into()],
        };
        let asked =
            TriggerView { binding: "a.b.c".into(), cause: "Validating".into(), group: None, kind: None, object: None };
        let run =
            RunView { attempt: 1, triggers_count: 1, triggers: vec![asked], answer: Some(answer), ..view(outcome) };
        let expected = "? copies a.b.c: Validating CREATE ConfigMap web/a (dry run)  1.2 ms  denied\n  \
                        not\u{fffd} here\n  warning: old\n";
        assert_eq!(super::run(&run, &[], &[], PLAIN), expected);
    }

    #[test]
    fn a_run_that_failed_says_why_and_where() {
        let outcome = RunOutcome {
            result: RunResult::Failed,
            kind: Some("trap".into()),
            message: Some("unreachable\u{1b}[2J".into()),
            backtrace: Some("0: a\n1: b\n2: c".into()),
        };
        let said = json!({"level": "INFO", "target": "hook", "run": "p-1", "message": "here", "count": 3});
        let text = run(&view(outcome), &[], &[said], PLAIN);
        let expected = "? copies namespaces: Added Namespace team-a and 4 more  1.2 ms  failed, attempt 2\n  \
                        info: here count=3\n  trap: unreachable\u{fffd}[2J\n    0: a\n    1: b\n";
        assert_eq!(text, expected);
    }

    #[test]
    fn the_operators_lines_come_with_their_fields() {
        let warning = json!({"level": "WARN", "target": "boathook::x", "message": "binding pending", "hook": "h"});
        assert_eq!(line(&warning, PLAIN), "binding pending hook=h\n");
        let look = Look { style: Style { color: true, ..PLAIN.style }, ..PLAIN };
        assert_eq!(line(&warning, look), "\u{1b}[33mbinding pending hook=h\u{1b}[0m\n");
    }

    #[test]
    fn when_a_failed_run_is_tried_again_is_reported() {
        let reported = json!({"level": "INFO", "message": "run will be retried", "hook": "web", "retry_ms": 5123.4});
        assert_eq!(line(&reported, PLAIN), "web: next try in 5.1 s, or when it changes\n");
    }
}
