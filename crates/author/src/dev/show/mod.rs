//! Prints events to stdout as they happen. A run is printed in one piece, when it ends, and is then forgotten.

mod text;

use std::{
    collections::HashMap,
    io::{self, Write},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use boathook_core::effect::{self, Effect};
use boathook_operator::{admin::views::RunView, app::Swapped};
use serde_json::{Map, Value, json};

use super::source::Source;
pub use text::Look;

/// The output format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// Human-readable.
    Text(Look),
    /// For programs: one JSON object per line, each with a `type`.
    Json,
}

/// Events other than runs.
pub(super) enum Note<'a> {
    Building {
        source: &'a Source,
    },
    /// A newer change arrived during the build.
    Outdated {
        source: &'a Source,
    },
    Failed {
        source: &'a Source,
        error: &'a str,
    },
    Swapped {
        source: &'a Source,
        swapped: &'a Swapped,
        built: Duration,
    },
    /// Hooks bind webhooks, but the cluster does not call them.
    Unasked {
        why: &'static str,
    },
    /// A run is taking this long.
    Slow {
        hook: &'a str,
        binding: &'a str,
        taken: Duration,
    },
    /// The triggers of the last run run again.
    Again {
        source: &'a Source,
        triggers: usize,
    },
}

/// What is known about a run that has not ended.
#[derive(Default)]
struct Open {
    effects: Vec<Effect>,
    lines: Vec<Value>,
}

/// Maximum number of active runs. Beyond it, a run that never ends is forgotten.
const MOST_OPEN: usize = 1024;

/// Prints everything to stdout.
pub struct Show {
    format: Format,
    open: Mutex<HashMap<String, Open>>,
    /// Number of printed runs, by hook.
    runs: Mutex<HashMap<String, u64>>,
}

impl Show {
    pub fn new(format: Format) -> Self {
        Self { format, open: Mutex::default(), runs: Mutex::default() }
    }

    fn of_run(&self, run: &str, add: impl FnOnce(&mut Open)) {
        let mut open = locked(&self.open);
        if open.len() >= MOST_OPEN && !open.contains_key(run) {
            open.clear();
        }
        add(open.entry(run.to_owned()).or_default());
    }

    /// Prints a message for people, or the same as JSON for programs.
    pub fn say(&self, text: &str, kind: &str, fields: Value) {
        match self.format {
            Format::Text(_) => write(text),
            Format::Json => write_json(kind, fields),
        }
    }

    pub(super) fn note(&self, note: &Note<'_>) {
        match self.format {
            Format::Text(look) => write(&text::note(note, look)),
            Format::Json => {
                let (kind, fields) = note_fields(note);
                write_json(kind, fields);
            }
        }
    }

    /// Number of a hook's printed runs. Responses to the API server are not counted, because they wait in no queue.
    pub(super) fn runs(&self, hook: &str) -> u64 {
        locked(&self.runs).get(hook).copied().unwrap_or_default()
    }

    /// Prints a run that has ended.
    pub fn run_ended(&self, run: &RunView) {
        let Open { effects, lines } = locked(&self.open).remove(&run.id).unwrap_or_default();
        if run.answer.is_none() {
            *locked(&self.runs).entry(run.hook.clone()).or_default() += 1;
        }
        match self.format {
            Format::Text(look) => write(&text::run(run, &effects, &lines, look)),
            Format::Json => {
                let mut fields = json!(run);
                if let Some(fields) = fields.as_object_mut() {
                    let effects = effects.iter().map(|effect| effect::json(effect, false)).collect();
                    fields.insert("effects".to_owned(), Value::Array(effects));
                    fields.insert("logs".to_owned(), Value::Array(lines));
                }
                write_json("run", fields);
            }
        }
    }

    /// The writer for the log's lines.
    pub fn lines(self: &Arc<Self>) -> Lines {
        Lines(self.clone())
    }

    /// Handles a line of the log. A hook's lines are shown with its run. The operator's lines are shown at once, unless
    /// they repeat a run.
    fn line(&self, line: Value) {
        let text = |key: &str| line.get(key).and_then(Value::as_str).unwrap_or_default();
        match (text("target"), text("run")) {
            ("hook", run) if !run.is_empty() => {
                let run = run.to_owned();
                self.of_run(&run, |open| open.lines.push(line));
            }
            _ if ["run failed", "run interrupted", "hook not swapped"].contains(&text("message")) => {}
            // The run that it is about is shown. Without a reason there was no run.
            _ if text("message").starts_with("the hook did not answer") && line.get("why").is_some() => {}
            _ => match self.format {
                Format::Text(look) => write(&text::line(&line, look)),
                Format::Json => write_json("log", line),
            },
        }
    }
}

impl effect::Sink for Show {
    fn effect(&self, effect: Effect) {
        let run = effect.run.to_string();
        self.of_run(&run, |open| open.effects.push(effect));
    }
}

/// Receives the log's lines, as JSON.
pub struct Lines(Arc<Show>);

impl Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let lines = bytes.split(|byte| *byte == b'\n');
        lines.filter_map(|line| serde_json::from_slice(line).ok()).for_each(|line| self.0.line(line));
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// An error is ignored, because a reader that has gone is no reason to stop.
fn write(text: &str) {
    let mut out = io::stdout().lock();
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}

fn write_json(kind: &str, fields: Value) {
    let mut line = Map::from_iter([("type".to_owned(), Value::from(kind))]);
    if let Value::Object(fields) = fields {
        line.extend(fields);
    }
    write(&format!("{}\n", Value::Object(line)));
}

fn note_fields(note: &Note<'_>) -> (&'static str, Value) {
    match note {
        Note::Building { source } => ("building", json!({"hook": source.name.as_str()})),
        Note::Outdated { source } => ("outdated", json!({"hook": source.name.as_str()})),
        Note::Failed { source, error } => ("failed", json!({"hook": source.name.as_str(), "error": error})),
        Note::Unasked { why } => ("unasked", json!({"reason": why})),
        Note::Slow { hook, binding, taken } => {
            ("slow", json!({"hook": hook, "binding": binding, "seconds": taken.as_secs_f64()}))
        }
        Note::Again { source, triggers } => ("again", json!({"hook": source.name.as_str(), "triggers": triggers})),
        Note::Swapped { source, swapped, built } => {
            let Swapped { from, to, kept, begun, dropped, interrupted, took, .. } = swapped;
            let fields = json!({
                "hook": source.name.as_str(), "from": from, "to": to, "kept": kept, "begun": begun, "dropped": dropped,
                "interrupted": interrupted, "buildMs": text::ms(*built), "swapMs": text::ms(*took),
            });
            ("swapped", fields)
        }
    }
}
