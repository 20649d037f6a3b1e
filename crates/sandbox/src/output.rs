//! A hook's output: `log.write`, stdout and stderr, as lines of limited length in the operator's log. In memory are
//! only a partial line and the text of a panic.

use std::{
    borrow::Cow,
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll},
};

use boathook_core::model::{BindingName, HookName, QueueName, RunId, Trigger};
use serde_json::{Map, Value};
use tracing::Level;
use wasmtime_wasi::{
    cli::{IsTerminal, StdoutStream},
    p2::{OutputStream, Pollable, StreamResult},
};

use crate::{host::Host, limits};

/// The longest line in bytes. A longer line is cut, and a note says so.
const MAX_LINE: usize = 10_000;

/// What a line costs at least, for the text that the operator adds.
const MIN_COST: u64 = 64;

/// How many bytes of a panic's text are kept.
const MAX_PANIC: usize = 2 * 1024;

/// The labels of each line of a run.
pub(super) struct Labels {
    hook: HookName,
    run: RunId,
    binding: BindingName,
    queue: Option<QueueName>,
    attempt: Option<u32>,
    /// For a run with one event: what happened, and to which object.
    event: Option<(&'static str, String)>,
}

impl Labels {
    /// For a call that is not a run.
    pub(super) fn of_call(hook: HookName, run: RunId, call: &str) -> Self {
        Self::of_answer(hook, run, BindingName::new(call))
    }

    /// For a call that answers the API server.
    pub(super) fn of_answer(hook: HookName, run: RunId, binding: BindingName) -> Self {
        Self { hook, run, binding, queue: None, attempt: None, event: None }
    }

    pub(super) fn of_run(hook: HookName, run: RunId, attempt: u32, triggers: &[Trigger]) -> Self {
        let first = triggers.first();
        let event = if triggers.len() == 1 { first.and_then(Trigger::event) } else { None };
        Self {
            hook,
            run,
            binding: first.map_or_else(|| BindingName::new(""), |trigger| trigger.binding.clone()),
            queue: first.map(|trigger| trigger.queue.clone()),
            attempt: Some(attempt),
            event: event.map(|(kind, object)| (kind.as_str(), object.to_string())),
        }
    }
}

/// The log of one run.
pub(super) struct RunLog {
    labels: Labels,
    limit: u64,
    listener: Option<Arc<dyn Host>>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    used: u64,
    dropping: bool,
    stdout: Unfinished,
    stderr: Unfinished,
    panic: Option<String>,
}

/// A line that has not ended yet.
#[derive(Default)]
struct Unfinished {
    kept: Vec<u8>,
    /// The number of bytes beyond the longest line.
    cut: usize,
}

impl Unfinished {
    fn push(&mut self, bytes: &[u8]) {
        let room = MAX_LINE.saturating_sub(self.kept.len()).min(bytes.len());
        self.cut += bytes.len() - room;
        self.kept.extend(bytes.iter().take(room));
    }
}

impl RunLog {
    /// `limit` is `limits.logBytes`.
    pub(super) fn new(labels: Labels, limit: u64) -> Self {
        Self { labels, limit, listener: None, state: Mutex::default() }
    }

    /// Also passes each line to the host.
    pub(super) fn heard_by(mut self, host: Arc<dyn Host>) -> Self {
        self.listener = Some(host);
        self
    }

    /// The bytes of lines that were logged.
    pub(super) fn bytes(&self) -> u64 {
        self.lock().used
    }

    /// Logs one line. `fields` is a JSON object, or empty.
    pub(super) fn line(&self, level: Level, message: &str, fields: &str) {
        let message = message.trim_end();
        let kept = message.get(..message.floor_char_boundary(MAX_LINE)).unwrap_or(message);
        let message = marked(kept, message.len() - kept.len());
        let line = Line { level, message, fields: fields.to_owned(), proxied: false };
        self.write(&mut self.lock(), &line);
    }

    /// Logs the unfinished lines of stdout and stderr.
    pub(super) fn finish(&self) {
        let mut state = self.lock();
        for stream in [Stream::Stdout, Stream::Stderr] {
            let rest = std::mem::take(stream.buffer(&mut state));
            self.captured(&mut state, stream, &rest);
        }
    }

    /// Returns the place and the message of a Rust panic, if that was the last output on stderr.
    pub(super) fn panic(&self) -> Option<String> {
        self.lock().panic.take()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Splits a chunk of a stream into lines.
    fn capture(&self, stream: Stream, mut bytes: &[u8]) {
        let mut state = self.lock();
        while let Some(end) = bytes.iter().position(|byte| *byte == b'\n') {
            let (head, rest) = bytes.split_at(end);
            stream.buffer(&mut state).push(head);
            let line = std::mem::take(stream.buffer(&mut state));
            self.captured(&mut state, stream, &line);
            bytes = rest.split_first().map_or(&[], |(_, rest)| rest);
        }
        stream.buffer(&mut state).push(bytes);
    }

    fn captured(&self, state: &mut State, stream: Stream, line: &Unfinished) {
        let text = String::from_utf8_lossy(&line.kept);
        let text = text.trim_end();
        if matches!(stream, Stream::Stderr) {
            note_panic(&mut state.panic, text);
        }
        if line.cut > 0 {
            let message = marked(text, line.cut);
            self.write(state, &Line { level: stream.level(), message, fields: String::new(), proxied: false });
        } else if !text.is_empty() {
            self.write(state, &read(text, stream.level()));
        }
    }

    fn write(&self, state: &mut State, line: &Line<'_>) {
        // Lines that the operator does not log cost the hook nothing.
        if line.level == Level::DEBUG && !tracing::enabled!(target: "hook", Level::DEBUG) {
            return;
        }
        let cost = ((line.message.len() + line.fields.len()) as u64).max(MIN_COST);
        if state.used.saturating_add(cost) > self.limit {
            self.drop_line(state);
        } else {
            state.used += cost;
            self.emit(line.level, &one_line(&line.message), &line.fields, line.proxied);
        }
    }

    fn drop_line(&self, state: &mut State) {
        if !std::mem::replace(&mut state.dropping, true) {
            let limit = limits::bytes(self.limit);
            let note = format!("limits.logBytes of {limit} reached: lines of this run that do not fit are dropped");
            self.emit(Level::WARN, &note, "", false);
        }
    }

    fn emit(&self, level: Level, message: &str, fields: &str, proxied: bool) {
        if let Some(listener) = &self.listener {
            listener.logged(level, message, fields);
            if !listener.prints_lines() {
                return;
            }
        }
        let fields = Some(fields).filter(|fields| !fields.is_empty());
        let proxied = Some(true).filter(|_| proxied);
        let Labels { hook, run, binding, queue, attempt, event } = &self.labels;
        let (hook, run, binding) = (hook.as_str(), run.as_str(), binding.unique());
        let queue = queue.as_ref().map(tracing::field::display);
        let (event, object) = event.as_ref().map(|(kind, object)| (*kind, object.as_str())).unzip();
        macro_rules! line {
            ($level:expr) => {
                tracing::event!(
                    target: "hook", $level, hook, run, binding, queue, attempt, event, object, proxied, fields, "{message}"
                )
            };
        }
        // In `tracing`, a level is part of the call site, so each level needs its own.
        match level {
            Level::ERROR => line!(Level::ERROR),
            Level::WARN => line!(Level::WARN),
            Level::INFO => line!(Level::INFO),
            _ => line!(Level::DEBUG),
        }
    }
}

impl Drop for RunLog {
    /// An interrupted run does not reach its end, so this logs its unfinished lines.
    fn drop(&mut self) {
        self.finish();
    }
}

/// Adds a note to a text that was cut.
fn marked(kept: &str, cut: usize) -> Cow<'_, str> {
    if cut == 0 { kept.into() } else { format!("{kept} [cut: {cut} bytes more]").into() }
}

/// A guest's text in one line. Line breaks and other control characters are escaped, so that no hook can forge a line
/// of the operator.
pub(super) fn one_line(message: &str) -> Cow<'_, str> {
    let forbidden = |c: char| c.is_control() && c != '\t';
    if !message.contains(forbidden) {
        return Cow::Borrowed(message);
    }
    let mut line = String::with_capacity(message.len() + 16);
    for c in message.chars() {
        if forbidden(c) { line.extend(c.escape_default()) } else { line.push(c) }
    }
    Cow::Owned(line)
}

/// Scans stderr for the output of Rust's default panic hook, and keeps the place and the message.
fn note_panic(panic: &mut Option<String>, line: &str) {
    if let Some((thread, place)) = line.split_once(" panicked at ")
        && thread.starts_with("thread ")
    {
        *panic = Some(one_line(place).into_owned());
    } else if let Some(text) = panic
        && !line.is_empty()
        && !line.starts_with("note: ")
        && text.len() + line.len() < MAX_PANIC
    {
        text.push(' ');
        text.push_str(&one_line(line));
    }
}

/// One of the guest's streams.
#[derive(Clone, Copy)]
pub(super) enum Stream {
    /// Its lines have the level `info`.
    Stdout,
    /// Its lines have the level `warn`.
    Stderr,
}

impl Stream {
    fn level(self) -> Level {
        match self {
            Self::Stdout => Level::INFO,
            Self::Stderr => Level::WARN,
        }
    }

    fn buffer(self, state: &mut State) -> &mut Unfinished {
        match self {
            Self::Stdout => &mut state.stdout,
            Self::Stderr => &mut state.stderr,
        }
    }
}

/// The host's end of a stream, for WASI.
#[derive(Clone)]
pub(super) struct Capture {
    log: Arc<RunLog>,
    stream: Stream,
}

impl Capture {
    pub(super) fn new(log: Arc<RunLog>, stream: Stream) -> Self {
        Self { log, stream }
    }
}

impl IsTerminal for Capture {
    fn is_terminal(&self) -> bool {
        false
    }
}

impl StdoutStream for Capture {
    fn p2_stream(&self) -> Box<dyn OutputStream> {
        Box::new(self.clone())
    }

    fn async_stream(&self) -> Box<dyn tokio::io::AsyncWrite + Send + Sync> {
        Box::new(self.clone())
    }
}

#[wasmtime_wasi::async_trait]
impl Pollable for Capture {
    async fn ready(&mut self) {}
}

impl OutputStream for Capture {
    fn write(&mut self, bytes: bytes::Bytes) -> StreamResult<()> {
        self.log.capture(self.stream, &bytes);
        Ok(())
    }

    fn flush(&mut self) -> StreamResult<()> {
        Ok(())
    }

    fn check_write(&mut self) -> StreamResult<usize> {
        Ok(64 * 1024)
    }
}

impl tokio::io::AsyncWrite for Capture {
    fn poll_write(self: Pin<&mut Self>, _: &mut Context<'_>, bytes: &[u8]) -> Poll<std::io::Result<usize>> {
        self.log.capture(self.stream, bytes);
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

/// A line in the form that the log takes.
#[derive(Debug, PartialEq)]
pub(super) struct Line<'a> {
    pub level: Level,
    pub message: std::borrow::Cow<'a, str>,
    /// A JSON object, or empty.
    pub fields: String,
    /// Whether the line was a JSON object.
    pub proxied: bool,
}

/// Parses a line that a logging library may have written. If it has no known level, it gets `level`.
pub(super) fn read(text: &str, level: Level) -> Line<'_> {
    let object = if text.starts_with('{') { serde_json::from_str::<Map<String, Value>>(text).ok() } else { None };
    match object {
        None => Line { level, message: text.into(), fields: String::new(), proxied: false },
        Some(object) => merged(object, level),
    }
}

fn merged(mut object: Map<String, Value>, mut level: Level) -> Line<'static> {
    if let Some(known) = object.get("level").and_then(Value::as_str).and_then(level_of) {
        level = known;
        object.shift_remove("level");
    }
    // The operator's own line has a time.
    for time in ["time", "ts", "timestamp"] {
        object.shift_remove(time);
    }
    let mut message = String::new();
    for name in ["message", "msg"] {
        if let Some(Value::String(text)) = object.get(name) {
            message.clone_from(text);
            object.shift_remove(name);
        }
    }
    let fields = if object.is_empty() { String::new() } else { Value::Object(object).to_string() };
    Line { level, message: message.into(), fields, proxied: true }
}

fn level_of(word: &str) -> Option<Level> {
    Some(match word.to_ascii_lowercase().as_str() {
        "trace" | "debug" => Level::DEBUG,
        "info" | "notice" => Level::INFO,
        "warn" | "warning" => Level::WARN,
        "error" | "err" | "critical" | "fatal" | "panic" => Level::ERROR,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn panic_of(lines: &[&str]) -> Option<String> {
        let mut panic = None;
        lines.iter().for_each(|line| note_panic(&mut panic, line));
        panic
    }

    #[test]
    fn no_line_can_be_forged() {
        assert_eq!(one_line("a\tb é"), "a\tb é");
        assert_eq!(one_line("a\nINFO \x1b[31mb\u{85}c"), "a\\nINFO \\u{1b}[31mb\\u{85}c");
    }

    #[test]
    fn the_last_panic_counts() {
        assert_eq!(panic_of(&["warning: odd", "thread was busy"]), None);
        let lines = ["thread 'main' panicked at a.rs:1:2:", "first", "thread '<unnamed>' (7) panicked at b.rs:3:4:"];
        assert_eq!(panic_of(&lines).as_deref(), Some("b.rs:3:4:"));
        let lines = ["thread 'main' panicked at a.rs:1:2:", "left: 1", "right: 2", "note: run with", ""];
        assert_eq!(panic_of(&lines).as_deref(), Some("a.rs:1:2: left: 1 right: 2"));
    }

    #[test]
    fn a_panics_text_is_bounded() {
        let long = "x".repeat(MAX_PANIC - 100);
        let kept = panic_of(&["thread 'main' panicked at a.rs:1:2:", &long, &long, &long]).unwrap_or_default();
        assert!(kept.len() > 1000 && kept.len() < MAX_PANIC, "{}", kept.len());
    }

    #[test]
    fn what_is_no_object_is_text() {
        for text in ["plain", "", "[1]", "7", "{not json}", r#"{"a":1} and more"#] {
            let line = Line { level: Level::WARN, message: text.into(), fields: String::new(), proxied: false };
            assert_eq!(read(text, Level::WARN), line);
        }
    }

    #[test]
    fn objects_are_taken_apart() {
        let table = [
            (r#"{"level":"error","msg":"no","n":1}"#, Level::ERROR, "no", r#"{"n":1}"#),
            (r#"{"level":"Warning","message":"m","time":"now","ts":1}"#, Level::WARN, "m", ""),
            (r#"{"level":"trace","msg":"a","message":"b"}"#, Level::DEBUG, "a", ""),
            (r#"{"level":30,"msg":["x"]}"#, Level::INFO, "", r#"{"level":30,"msg":["x"]}"#),
            (
                r#"{"level":"loud","b":{"c":null},"a":"x"}"#,
                Level::INFO,
                "",
                r#"{"level":"loud","b":{"c":null},"a":"x"}"#,
            ),
        ];
        for (text, level, message, fields) in table {
            let expected = Line { level, message: message.into(), fields: fields.into(), proxied: true };
            assert_eq!(read(text, Level::INFO), expected, "{text}");
        }
    }
}
