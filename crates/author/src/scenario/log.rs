//! Collects the log of one operator, and finds the lines, writes and failures of hooks in it. The operator must run on
//! one thread, so that the log contains no other lines.

use std::{
    io,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use boathook_operator::telemetry::{
    LogFormat,
    log::{self, LogError},
};
use serde_json::Value;
use tracing::subscriber::DefaultGuard;
use tracing_subscriber::{Registry, layer::SubscriberExt as _};

use super::subject::Subject;

/// Maximum size of the lines, in bytes. A scenario that logs more fails.
const MAX_BYTES: usize = 32 << 20;
/// Number of lines of the log in the report of a failure.
const TAIL: usize = 30;
/// The log of runs and hooks, without the lines of the client library.
const FILTER: &str = "info,kube_client=off";

/// The run id of the operator's own writes on a hook's behalf.
const OF_THE_OPERATOR: &str = "event-0";

/// The lines so far.
#[derive(Clone, Default)]
pub(super) struct Log(Arc<Mutex<Lines>>);

#[derive(Default)]
struct Lines {
    lines: Vec<Value>,
    bytes: usize,
    /// The part of a line that has not ended.
    rest: Vec<u8>,
}

/// A write of a hook.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Written {
    pub verb: String,
    /// `v1 Secret web/s`
    pub object: String,
    pub subresource: Option<String>,
    pub outcome: String,
}

impl Log {
    /// Collects the log lines of this thread until the guard is dropped.
    pub fn collect() -> Result<(Self, DefaultGuard), LogError> {
        let log = Self::default();
        let to = log.clone();
        let (lines, _) = log::layer(LogFormat::Json, FILTER, false, move || to.clone())?;
        let guard = tracing::subscriber::set_default(Registry::default().with(lines));
        Ok((log, guard))
    }

    fn lock(&self) -> MutexGuard<'_, Lines> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Removes all lines.
    pub fn clear(&self) {
        *self.lock() = Lines::default();
    }

    /// Number of lines.
    pub fn lines(&self) -> usize {
        self.lock().lines.len()
    }

    /// Whether there were more lines than can be kept.
    pub fn is_full(&self) -> bool {
        self.lock().bytes > MAX_BYTES
    }

    /// Number of the lines that hooks of the subject wrote and that contain the text.
    pub fn said(&self, of: &Subject, wanted: &str) -> usize {
        let own = |line: &&Value| is(line, "target", "hook") && of.counts(text(line, "hook"));
        let holds = |line: &&Value| ["message", "fields"].iter().any(|key| text(line, key).contains(wanted));
        self.lock().lines.iter().filter(own).filter(holds).count()
    }

    /// The hooks' writes with their results, without the Events by which the operator records their failures.
    pub fn writes(&self, of: &Subject) -> Vec<Written> {
        let audits = |line: &&Value| {
            is(line, "target", "audit")
                && of.counts(text(line, "hook"))
                && !is(line, "run", OF_THE_OPERATOR)
                && !is(line, "verb", "http")
        };
        let written = |line: &Value| Written {
            verb: text(line, "verb").to_owned(),
            object: text(line, "object").to_owned(),
            subresource: line.get("subresource").and_then(Value::as_str).map(str::to_owned),
            outcome: text(line, "outcome").to_owned(),
        };
        self.lock().lines.iter().filter(audits).map(written).collect()
    }

    /// Kind and message of the hooks' failed runs.
    pub fn failures(&self, of: &Subject) -> Vec<(String, String)> {
        let failed = |line: &&Value| {
            is(line, "message", "run failed") && !is(line, "target", "hook") && of.counts(text(line, "hook"))
        };
        let kind_and_message = |line: &Value| (text(line, "kind").to_owned(), text(line, "error").to_owned());
        self.lock().lines.iter().filter(failed).map(kind_and_message).collect()
    }

    /// The end of the whole log, as text.
    pub fn tail(&self) -> Vec<String> {
        let log = self.lock();
        log.lines.iter().skip(log.lines.len().saturating_sub(TAIL)).map(short).collect()
    }
}

impl Lines {
    fn add(&mut self, bytes: &[u8]) {
        self.bytes = self.bytes.saturating_add(bytes.len());
        if self.bytes > MAX_BYTES {
            return;
        }
        self.rest.extend_from_slice(bytes);
        while let Some(end) = self.rest.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = self.rest.drain(..=end).collect();
            self.lines.extend(serde_json::from_slice::<Value>(&line));
        }
    }
}

impl io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.lock().add(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn text<'l>(line: &'l Value, key: &str) -> &'l str {
    line.get(key).and_then(Value::as_str).unwrap_or_default()
}

fn is(line: &Value, key: &str, wanted: &str) -> bool {
    text(line, key) == wanted
}

/// Level, target, message, and all fields except those about the origin of the line.
fn short(line: &Value) -> String {
    let mut out = format!("{:5} {}: {}", text(line, "level"), text(line, "target"), text(line, "message"));
    let hidden = ["timestamp", "level", "target", "message", "span", "run", "queue", "memory_peak", "host_calls"];
    for (key, value) in line.as_object().into_iter().flatten().filter(|(key, _)| !hidden.contains(&key.as_str())) {
        out.push_str(&format!(" {key}={value}"));
    }
    match out.char_indices().nth(400) {
        Some((end, _)) => format!("{}…", out.get(..end).unwrap_or_default()),
        None => out,
    }
}
