//! The last log lines of runs, for the console. They are taken from the log as it is written, so debug lines and lines that
//! the sandbox drops are not there.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap, VecDeque},
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use jiff::Timestamp;
use serde_json::json;
use tracing::{
    Event, Subscriber,
    field::{Field, Visit},
    level_filters::LevelFilter,
};
use tracing_subscriber::{Layer, filter::Targets, layer::Context, registry::LookupSpan};

use crate::admin::details::{LineView, LogsView};

/// The target of hooks' lines.
const TARGET: &str = "hook";
/// The bytes of the lines of one run, of the runs of one hook, and of all.
const BOUNDS: Bounds = Bounds { run: 64 << 10, hook: 256 << 10, all: 8 << 20 };
/// The bytes of a message, and of the text of its fields.
const LINE: usize = 4 << 10;
/// What a line costs in addition to its text.
const OVERHEAD: usize = 160;

#[derive(Debug, Clone, Copy)]
struct Bounds {
    run: usize,
    hook: usize,
    all: usize,
}

/// The lines that are kept. All clones keep the same ones.
#[derive(Debug, Clone, Default)]
pub struct KeptLines(Arc<Mutex<Kept>>);

#[derive(Debug, Default)]
struct Kept {
    runs: HashMap<Box<str>, OfRun>,
    /// The runs in the order of their first lines.
    order: BTreeMap<u64, Box<str>>,
    hooks: HashMap<Box<str>, OfHook>,
    next: u64,
    bytes: usize,
}

#[derive(Debug)]
struct OfRun {
    hook: Box<str>,
    number: u64,
    lines: VecDeque<KeptLine>,
    bytes: usize,
    dropped: u64,
}

/// One line. Its fields are kept as text, because a tree takes several times as much memory.
#[derive(Debug, Default)]
struct KeptLine {
    at: Box<str>,
    level: &'static str,
    message: Box<str>,
    /// A JSON object, or empty.
    fields: Box<str>,
}

#[derive(Debug, Default)]
struct OfHook {
    runs: BTreeSet<u64>,
    bytes: usize,
}

impl KeptLines {
    /// The layer that takes the lines out of the log.
    pub fn layer<S>(&self) -> impl Layer<S> + Send + Sync + use<S>
    where
        S: Subscriber + for<'a> LookupSpan<'a>,
    {
        Taking(self.clone()).with_filter(Targets::new().with_target(TARGET, LevelFilter::INFO))
    }

    /// Adds the layer to another one, if lines are kept.
    pub fn with<S, L>(lines: Option<&Self>, layer: L) -> impl Layer<S> + Send + Sync + use<S, L>
    where
        S: Subscriber + for<'a> LookupSpan<'a> + Send + Sync,
        L: Layer<S> + Send + Sync,
    {
        layer.and_then(lines.map(Self::layer))
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The lines of a run.
    pub fn of(&self, run: &str) -> LogsView {
        let kept = self.kept();
        let (lines, dropped) = match kept.runs.get(run) {
            Some(of_run) => (of_run.lines.iter().map(LineView::from).collect(), of_run.dropped),
            None => (Vec::new(), 0),
        };
        LogsView { run: run.to_owned(), lines, dropped }
    }
}

impl From<&KeptLine> for LineView {
    fn from(line: &KeptLine) -> Self {
        Self {
            at: line.at.to_string(),
            level: line.level.to_owned(),
            message: line.message.to_string(),
            fields: serde_json::from_str(&line.fields).unwrap_or_default(),
        }
    }
}

impl Kept {
    fn push(&mut self, hook: &str, run: &str, line: KeptLine, bounds: Bounds) {
        let size = size(&line);
        let next = self.next;
        let of_run = self.runs.entry(run.into()).or_insert_with(|| OfRun {
            hook: hook.into(),
            number: next,
            lines: VecDeque::new(),
            bytes: 0,
            dropped: 0,
        });
        if of_run.number == next {
            self.next += 1;
            self.order.insert(next, run.into());
        }
        of_run.lines.push_back(line);
        of_run.bytes += size;
        let mut freed = 0;
        while of_run.bytes - freed > bounds.run && of_run.lines.len() > 1 {
            freed += of_run.lines.pop_front().as_ref().map_or(0, self::size);
            of_run.dropped += 1;
        }
        of_run.bytes -= freed;
        let number = of_run.number;
        self.bytes = (self.bytes + size).saturating_sub(freed);
        let of_hook = self.hooks.entry(hook.into()).or_default();
        of_hook.runs.insert(number);
        of_hook.bytes = (of_hook.bytes + size).saturating_sub(freed);
        // The newest run stays, whatever its size.
        while let Some(full) = self.hooks.get(hook).filter(|of_hook| of_hook.bytes > bounds.hook)
            && let Some(&oldest) = full.runs.first()
            && oldest != number
        {
            self.forget(oldest);
        }
        while self.bytes > bounds.all
            && let Some((&oldest, _)) = self.order.first_key_value()
            && oldest != number
        {
            self.forget(oldest);
        }
    }

    fn forget(&mut self, number: u64) {
        let Some(of_run) = self.order.remove(&number).and_then(|run| self.runs.remove(&run)) else { return };
        self.bytes = self.bytes.saturating_sub(of_run.bytes);
        if let Some(of_hook) = self.hooks.get_mut(&of_run.hook) {
            of_hook.runs.remove(&number);
            of_hook.bytes = of_hook.bytes.saturating_sub(of_run.bytes);
            if of_hook.runs.is_empty() {
                self.hooks.remove(&of_run.hook);
            }
        }
    }
}

fn size(line: &KeptLine) -> usize {
    OVERHEAD + line.message.len() + line.fields.len()
}

struct Taking(KeptLines);

impl<S: Subscriber> Layer<S> for Taking {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        let mut line = Line::default();
        event.record(&mut line);
        let (Some(hook), Some(run)) = (line.hook, line.run) else { return };
        let kept = KeptLine {
            at: format!("{:.3}", Timestamp::now()).into(),
            level: event.metadata().level().as_str(),
            message: line.message.into(),
            fields: line.fields.into(),
        };
        self.0.kept().push(&hook, &run, kept, BOUNDS);
    }
}

#[derive(Default)]
struct Line {
    hook: Option<String>,
    run: Option<String>,
    message: String,
    fields: String,
}

impl Visit for Line {
    fn record_str(&mut self, field: &Field, value: &str) {
        match field.name() {
            "hook" => self.hook = Some(value.to_owned()),
            "run" => self.run = Some(value.to_owned()),
            "message" => self.message = cut(value),
            "fields" if value.len() > LINE => {
                self.fields = json!({"fields": format!("{} bytes, not kept", value.len())}).to_string();
            }
            "fields" => self.fields = value.to_owned(),
            _ => {}
        }
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        if ["hook", "run", "message"].contains(&field.name()) {
            self.record_str(field, &format!("{value:?}"));
        }
    }
}

fn cut(text: &str) -> String {
    let kept = text.get(..text.floor_char_boundary(LINE)).unwrap_or_default();
    if kept.len() < text.len() { format!("{kept}… ({} bytes)", text.len()) } else { kept.to_owned() }
}

#[cfg(test)]
mod tests {
    use tracing_subscriber::{Registry, layer::SubscriberExt as _};

    use super::*;

    fn line(message: &str) -> KeptLine {
        KeptLine { message: message.into(), ..KeptLine::default() }
    }

    #[test]
    fn lines_of_hooks_are_kept_by_run_and_no_others() {
        let kept = KeptLines::default();
        let _guard = tracing::subscriber::set_default(Registry::default().with(kept.layer()));
        tracing::info!(target: "hook", hook = "a", run = "p-1", fields = r#"{"n":1}"#, "{}", "one");
        tracing::debug!(target: "hook", hook = "a", run = "p-1", "two");
        tracing::info!(hook = "a", run = "p-1", "three");
        tracing::warn!(target: "hook", hook = "a", run = "p-2", "{}", "é".repeat(LINE));
        let view = kept.of("p-1");
        assert_eq!(
            (view.lines.len(), view.lines[0].message.as_str(), view.lines[0].level.as_str()),
            (1, "one", "INFO")
        );
        assert_eq!(view.lines[0].fields["n"], 1);
        assert!(kept.of("p-2").lines[0].message.ends_with(&format!("({} bytes)", 2 * LINE)));
        assert_eq!(kept.of("p-3"), LogsView { run: "p-3".to_owned(), ..LogsView::default() });
    }

    // mutant: crates/operator/src/console/lines.rs: `OVERHEAD + line.message.len() + line.fields.len()` => `OVERHEAD + line.message.len()`
    #[test]
    fn a_line_counts_for_all_that_it_keeps() {
        let fields = format!("{{{}}}", (0..500).map(|n| format!(r#""{n}":[]"#)).collect::<Vec<_>>().join(","));
        let many = KeptLine { fields: fields.clone().into(), ..line("x") };
        // It has no tree, so the text is what it takes.
        let taken = size_of::<KeptLine>() + many.message.len() + many.fields.len() + many.at.len();
        assert!(taken <= size(&many) && size(&many) >= fields.len(), "{taken}");
        assert_eq!(LineView::from(&many).fields.len(), 500);
        // What is no object has no fields.
        assert!(LineView::from(&KeptLine { fields: "[1]".into(), ..line("x") }).fields.is_empty());
    }

    #[test]
    fn runs_hooks_and_all_are_bounded() {
        let bounds = Bounds { run: 400, hook: 800, all: 1_600 };
        let mut kept = Kept::default();
        (0..9).for_each(|n| kept.push("a", "a-1", line(&n.to_string()), bounds));
        let of_run = &kept.runs["a-1"];
        assert_eq!((of_run.lines.len(), of_run.dropped, &*of_run.lines[1].message), (2, 7, "8"));
        // A hook with many runs forgets its own.
        kept.push("b", "b-1", line("b"), bounds);
        (2..9).for_each(|n| kept.push("a", &format!("a-{n}"), line("x"), bounds));
        assert!(kept.runs.contains_key("b-1") && !kept.runs.contains_key("a-1") && kept.hooks["a"].bytes <= 800);
        // Many hooks forget the oldest run.
        (0..20).for_each(|n| kept.push(&format!("h{n}"), &format!("h-{n}"), line("x"), bounds));
        assert!(!kept.runs.contains_key("b-1") && kept.bytes <= 1_600);
        let (runs, bytes): (usize, usize) = (kept.runs.len(), kept.runs.values().map(|run| run.bytes).sum());
        assert_eq!((kept.order.len(), kept.bytes), (runs, bytes));
        assert_eq!(kept.hooks.values().map(|hook| hook.bytes).sum::<usize>(), bytes);
    }
}
