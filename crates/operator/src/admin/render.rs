//! Views as text for people: aligned tables, and blocks where a table is too narrow.
//!
//! Names and messages come from hooks, and the text goes to a terminal. The text therefore never contains control
//! characters.

use std::fmt::Write as _;

use super::views::{
    BindingKind, BindingSnapshot, BindingView, DeadLetterView, DeadLettersView, HookState, HookView, HooksView,
    LastRun, LogLevelView, QueueView, QueuesView, RunResult, RunView, RunsView, SnapshotsView, TriggerView,
};

pub trait Text {
    /// The text. It ends with a line feed.
    fn text(&self, style: Style) -> String;
}

/// A size in bytes, in short form: `12 KiB`.
pub(super) fn bytes(bytes: u64) -> String {
    const UNITS: [&str; 4] = ["B", "KiB", "MiB", "GiB"];
    let mut unit = UNITS.iter();
    let (mut size, mut name) = (bytes as f64, unit.next().copied().unwrap_or_default());
    while size >= 1024.0 {
        let Some(next) = unit.next() else { break };
        (size, name) = (size / 1024.0, *next);
    }
    if size < 10.0 && name != "B" { format!("{size:.1} {name}") } else { format!("{size:.0} {name}") }
}

/// Milliseconds, in short form: `0.12 ms`, `1.5 s`.
pub(super) fn millis(ms: f64) -> String {
    if ms < 10.0 {
        format!("{ms:.2} ms")
    } else if ms < 1_000.0 {
        format!("{ms:.0} ms")
    } else {
        seconds(ms / 1_000.0)
    }
}

/// Seconds, in short form: `1.5 s`, `12 min`, `3 h`.
fn seconds(seconds: f64) -> String {
    if seconds < 10.0 {
        format!("{seconds:.1} s")
    } else if seconds < 120.0 {
        format!("{seconds:.0} s")
    } else if seconds < 7_200.0 {
        format!("{:.0} min", seconds / 60.0)
    } else {
        format!("{:.0} h", seconds / 3_600.0)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Style {
    #[default]
    Plain,
    /// With ANSI colours.
    Colours,
}

/// What a word means to the person who reads it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tone {
    Plain,
    Good,
    Warning,
    Bad,
    Faint,
}

impl Style {
    /// Returns the text in the tone's colour.
    pub(super) fn paint(self, text: &str, tone: Tone) -> String {
        let code = match tone {
            _ if self == Self::Plain || text.is_empty() => return text.to_owned(),
            Tone::Plain => return text.to_owned(),
            Tone::Good => 32,
            Tone::Warning => 33,
            Tone::Bad => 31,
            Tone::Faint => 2,
        };
        format!("\x1b[{code}m{text}\x1b[0m")
    }
}

pub(super) struct Cell {
    text: String,
    tone: Tone,
}

impl Cell {
    pub fn new(text: impl AsRef<str>, tone: Tone) -> Self {
        Self { text: clean(text.as_ref()), tone }
    }
}

impl<T: AsRef<str>> From<T> for Cell {
    fn from(text: T) -> Self {
        Self::new(text, Tone::Plain)
    }
}

/// A table whose columns are as wide as their widest cell.
pub(super) struct Table {
    rows: Vec<Vec<Cell>>,
}

impl Table {
    pub fn new<const N: usize>(head: [&str; N]) -> Self {
        Self { rows: vec![head.into_iter().map(|title| Cell::new(title, Tone::Faint)).collect()] }
    }

    pub fn row<const N: usize>(&mut self, cells: [Cell; N]) {
        self.rows.push(cells.into());
    }

    /// Whether the table has only its title row.
    pub fn is_empty(&self) -> bool {
        self.rows.len() < 2
    }

    /// Writes each row on a line, after the indent.
    pub fn text(&self, style: Style, indent: &str) -> String {
        let widths: Vec<usize> = self.widths();
        let mut out = String::new();
        for row in &self.rows {
            let mut line = indent.to_owned();
            for (cell, width) in row.iter().zip(&widths) {
                line.push_str(&style.paint(&cell.text, cell.tone));
                line.extend(std::iter::repeat_n(' ', width + 2 - cell.text.chars().count()));
            }
            out.push_str(line.trim_end());
            out.push('\n');
        }
        out
    }

    fn widths(&self) -> Vec<usize> {
        let columns = self.rows.first().map_or(0, Vec::len);
        let width = |column: usize| {
            let cells = self.rows.iter().filter_map(|row| row.get(column));
            cells.map(|cell| cell.text.chars().count()).max().unwrap_or_default()
        };
        (0..columns).map(width).collect()
    }
}

/// Returns the text on one line, without characters that a terminal would obey.
pub fn clean(text: &str) -> String {
    text.chars().map(|c| if c.is_whitespace() || c.is_control() || is_format(c) { plain(c) } else { c }).collect()
}

fn plain(c: char) -> char {
    if c.is_whitespace() { ' ' } else { '\u{fffd}' }
}

/// Whether a character is invisible or changes the direction of the text after it.
fn is_format(c: char) -> bool {
    matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}')
}

/// The beginning of a text, at most `most` characters of it.
fn short(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}

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

impl Text for QueuesView {
    fn text(&self, style: Style) -> String {
        let mut out: String = self.active.iter().map(|queue| queue.text(style) + "\n").collect();
        if !self.empty.is_empty() {
            let names: Vec<_> = self.empty.iter().map(|queue| clean(&queue.name)).collect();
            let _ = writeln!(out, "Empty queues: {}\n", names.join(", "));
        }
        let summary = &self.summary;
        let (others, main) = (&summary.other_queues, summary.main_queue_tasks);
        // Writing to a String cannot fail.
        let _ = writeln!(
            out,
            "{} tasks: {main} in main, {} in {} other queues; {} other queues are empty",
            summary.total_tasks, others.tasks, others.active, others.empty
        );
        out
    }
}

impl Text for QueueView {
    fn text(&self, style: Style) -> String {
        let mut out = format!("Queue {}: {} tasks", clean(&self.name), self.tasks_count);
        if !self.status.is_empty() {
            let tone = if self.retrying > 0 { Tone::Warning } else { Tone::Plain };
            let _ = write!(out, ", status: {}", style.paint(&clean(&self.status), tone));
        }
        if let Some(age) = self.oldest_seconds {
            let _ = write!(out, ", oldest {}", seconds(age));
        }
        out.push('\n');
        for task in &self.tasks {
            let _ = writeln!(out, "{:>4}. {}", task.index, clean(&task.description));
        }
        let hidden = self.tasks_count.saturating_sub(self.tasks.len());
        if hidden > 0 && !self.tasks.is_empty() {
            let _ = writeln!(out, "      and {hidden} more");
        }
        out
    }
}

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
fn triggers(count: usize, first: &[TriggerView]) -> String {
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

impl Text for SnapshotsView {
    fn text(&self, style: Style) -> String {
        if self.bindings.is_empty() {
            return format!("hook {} has no kubernetes bindings\n", clean(&self.hook));
        }
        let blocks = self.bindings.iter().map(|(name, binding)| block(name, binding, style));
        blocks.collect::<Vec<_>>().join("\n")
    }
}

fn block(name: &str, binding: &BindingSnapshot, style: Style) -> String {
    let mut out = format!("Binding {}: {} objects", clean(name), binding.count);
    // Writing to a String cannot fail.
    if let Some(operations) = &binding.operations {
        let since = operations.since_start;
        let _ = write!(out, ", {} added, {} modified, {} deleted", since.added, since.modified, since.deleted);
    }
    out.push('\n');
    if let Some(reason) = &binding.incomplete {
        let _ = writeln!(out, "  incomplete: {}", clean(reason));
    }
    let mut table = Table::new(["NAMESPACE", "NAME", "VERSION", "UID", "FILTER RESULT"]);
    for item in &binding.snapshot {
        let result = item.filter_result.as_ref().map(ToString::to_string).unwrap_or_default();
        table.row([
            item.namespace.as_deref().unwrap_or("-").into(),
            item.name.as_str().into(),
            item.resource_version.as_str().into(),
            item.uid.as_str().into(),
            short(&result, 80).into(),
        ]);
    }
    if !table.is_empty() {
        out.push_str(&table.text(style, "  "));
    }
    if let Some(token) = &binding.continue_token {
        let _ = writeln!(out, "  there are more: --binding {} --continue {}", clean(name), clean(token));
    }
    out
}

impl Text for DeadLettersView {
    fn text(&self, style: Style) -> String {
        let mut table = Table::new(["ID", "HOOK", "BINDING", "SINCE", "TRIES", "TRIGGERS", "FAILURE"]);
        for letter in &self.dead_letters {
            table.row([
                letter.id.to_string().into(),
                letter.hook.as_str().into(),
                letter.binding.as_str().into(),
                letter.since.as_str().into(),
                letter.attempts.to_string().into(),
                short(&triggers(letter.triggers_count, &letter.triggers), 80).into(),
                letter_failure(letter),
            ]);
        }
        if table.is_empty() { "no dead letters\n".to_owned() } else { table.text(style, "") }
    }
}

fn letter_failure(letter: &DeadLetterView) -> Cell {
    Cell::new(format!("{}: {}", letter.kind, short(&letter.message, 100)), Tone::Bad)
}

impl Text for LogLevelView {
    fn text(&self, _style: Style) -> String {
        let level = clean(&self.level);
        match &self.until {
            Some(until) => format!("{level} until {}, then {}\n", clean(until), clean(&self.default)),
            None => format!("{level}\n"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_are_short() {
        assert_eq!(
            [0, 1023, 1024, 15 * 1024, 3 << 30, 5 << 42].map(bytes),
            ["0 B", "1023 B", "1.0 KiB", "15 KiB", "3.0 GiB", "20480 GiB"]
        );
        assert_eq!([0.123, 12.0, 1500.0, 180_000.0].map(millis), ["0.12 ms", "12 ms", "1.5 s", "3 min"]);
        assert_eq!(seconds(7_300.0), "2 h");
    }

    #[test]
    fn columns_are_aligned_with_and_without_colours() {
        let mut table = Table::new(["A", "LONGER"]);
        table.row(["ünïcode".into(), Cell::new("ok", Tone::Good)]);
        table.row(["x".into(), "".into()]);
        assert_eq!(table.text(Style::Plain, ""), "A        LONGER\nünïcode  ok\nx\n");
        assert_eq!(
            table.text(Style::Colours, "  "),
            "  \u{1b}[2mA\u{1b}[0m        \u{1b}[2mLONGER\u{1b}[0m\n  ünïcode  \u{1b}[32mok\u{1b}[0m\n  x\n"
        );
    }

    #[test]
    fn nothing_reaches_the_terminal_that_it_would_obey() {
        assert_eq!(clean("a\u{1b}[2Jb\r\n\tc\u{202e}d\u{7}"), "a\u{fffd}[2Jb   c\u{fffd}d\u{fffd}");
        assert_eq!(clean("ünï 日本"), "ünï 日本");
    }

    #[test]
    fn long_text_is_cut_at_a_character() {
        assert_eq!((short("äöü", 3).as_str(), short("äöüß", 3).as_str()), ("äöü", "äöü…"));
    }
}
