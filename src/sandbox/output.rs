//! The hook's voice: `log.write`, stdout and stderr, as bounded lines in the operator's log.
//!
//! Never keeps more of it than a partial line and the text of a panic.

use std::{
    borrow::Cow,
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll},
};

use tracing::Level;
use wasmtime_wasi::{
    cli::{IsTerminal, StdoutStream},
    p2::{OutputStream, Pollable, StreamResult},
};

use super::limits;
use crate::model::{BindingName, HookName, RunId};

/// The longest line; a longer one is broken up.
const MAX_LINE: usize = 8 * 1024;

/// What a line costs at least: the words that the host adds.
const MIN_COST: u64 = 64;

/// What is kept of a panic's text.
const MAX_PANIC: usize = 2 * 1024;

/// Where a run's lines go.
pub(super) struct RunLog {
    hook: HookName,
    run: RunId,
    binding: BindingName,
    limit: u64,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    used: u64,
    dropping: bool,
    stdout: Vec<u8>,
    stderr: Vec<u8>,
    panic: Option<String>,
}

impl RunLog {
    /// `limit` is `limits.logBytes`.
    pub(super) fn new(hook: HookName, run: RunId, binding: BindingName, limit: u64) -> Self {
        Self { hook, run, binding, limit, state: Mutex::default() }
    }

    /// Bytes of lines that were logged.
    pub(super) fn bytes(&self) -> u64 {
        self.lock().used
    }

    /// Writes one line. `fields` is a JSON object, or empty.
    pub(super) fn line(&self, level: Level, message: &str, fields: &str) {
        // What the operator does not want to see costs the hook nothing.
        if level != Level::DEBUG || tracing::enabled!(target: "hook", Level::DEBUG) {
            self.write(&mut self.lock(), level, message.trim_end(), fields);
        }
    }

    /// Logs what stdout and stderr hold of unfinished lines.
    pub(super) fn finish(&self) {
        let mut state = self.lock();
        for stream in [Stream::Stdout, Stream::Stderr] {
            let rest = std::mem::take(stream.buffer(&mut state));
            if !rest.is_empty() {
                self.captured(&mut state, stream, &rest);
            }
        }
    }

    /// Place and message of a Rust panic, when that was the last thing on stderr.
    pub(super) fn panic(&self) -> Option<String> {
        self.lock().panic.take()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a chunk of a stream apart into lines.
    fn capture(&self, stream: Stream, mut bytes: &[u8]) {
        let mut state = self.lock();
        while !bytes.is_empty() {
            let buffer = stream.buffer(&mut state);
            let room = bytes.len().min(MAX_LINE.saturating_sub(buffer.len()));
            let (head, _) = bytes.split_at(room);
            let end = head.iter().position(|byte| *byte == b'\n');
            let (line, rest) = bytes.split_at(end.unwrap_or(room));
            buffer.extend_from_slice(line);
            bytes = if end.is_some() { rest.split_first().map_or(&[], |(_, rest)| rest) } else { rest };
            if end.is_some() || buffer.len() >= MAX_LINE {
                let line = std::mem::take(buffer);
                self.captured(&mut state, stream, &line);
            }
        }
    }

    fn captured(&self, state: &mut State, stream: Stream, line: &[u8]) {
        let text = String::from_utf8_lossy(line);
        let text = text.trim_end();
        if matches!(stream, Stream::Stderr) {
            note_panic(&mut state.panic, text);
        }
        if !text.is_empty() {
            self.write(state, stream.level(), text, "");
        }
    }

    fn write(&self, state: &mut State, level: Level, message: &str, fields: &str) {
        let cost = ((message.len() + fields.len()) as u64).max(MIN_COST);
        if state.used.saturating_add(cost) > self.limit {
            self.drop_line(state);
        } else {
            state.used += cost;
            self.emit(level, &one_line(message), fields);
        }
    }

    fn drop_line(&self, state: &mut State) {
        if !std::mem::replace(&mut state.dropping, true) {
            let limit = limits::bytes(self.limit);
            let note = format!("limits.logBytes of {limit} reached: lines of this run that do not fit are dropped");
            self.emit(Level::WARN, &note, "");
        }
    }

    fn emit(&self, level: Level, message: &str, fields: &str) {
        let fields = Some(fields).filter(|fields| !fields.is_empty());
        let (hook, run, binding) = (self.hook.as_str(), self.run.as_str(), self.binding.unique());
        // A level is part of a call site in `tracing`, hence one for each.
        match level {
            Level::ERROR => tracing::error!(target: "hook", hook, run, binding, fields, "{message}"),
            Level::WARN => tracing::warn!(target: "hook", hook, run, binding, fields, "{message}"),
            Level::INFO => tracing::info!(target: "hook", hook, run, binding, fields, "{message}"),
            _ => tracing::debug!(target: "hook", hook, run, binding, fields, "{message}"),
        }
    }
}

impl Drop for RunLog {
    /// A run that is interrupted does not get to its end.
    fn drop(&mut self) {
        self.finish();
    }
}

/// A guest's text in one line. No hook may forge a line of the operator: line breaks and other control characters are escaped.
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

/// Follows stderr for what Rust's default panic hook prints: keeps the place and the message.
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

/// Which of the guest's streams.
#[derive(Clone, Copy)]
pub(super) enum Stream {
    /// Becomes `info` lines.
    Stdout,
    /// Becomes `warn` lines.
    Stderr,
}

impl Stream {
    fn level(self) -> Level {
        match self {
            Self::Stdout => Level::INFO,
            Self::Stderr => Level::WARN,
        }
    }

    fn buffer(self, state: &mut State) -> &mut Vec<u8> {
        match self {
            Self::Stdout => &mut state.stdout,
            Self::Stderr => &mut state.stderr,
        }
    }
}

/// A stream's end in the host, for WASI.
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
}
