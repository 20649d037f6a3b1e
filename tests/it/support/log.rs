//! What is logged on this thread, line by line: a test on a current-thread runtime hears its own
//! operator and nobody else's.
//!
//! Never prints anything.

use std::{
    io::{self, Write},
    sync::{Arc, Mutex},
};

use boathook_operator::telemetry::{LogFormat, log};
use serde_json::Value;
use tracing::subscriber::DefaultGuard;
use tracing_subscriber::{Registry, layer::SubscriberExt};

/// The lines so far, as `boathook serve --log-format json` has them.
#[derive(Clone, Default)]
pub struct Log(Arc<Mutex<Vec<u8>>>);

impl Log {
    /// Collects until the guard is dropped.
    pub fn collect() -> (Self, DefaultGuard) {
        let log = Self::default();
        let to = log.clone();
        let (lines, _) = log::layer(LogFormat::Json, "info", false, move || to.clone()).unwrap();
        let guard = tracing::subscriber::set_default(Registry::default().with(lines));
        (log, guard)
    }

    pub fn lines(&self) -> Vec<Value> {
        let bytes = self.0.lock().unwrap();
        let lines = std::str::from_utf8(&bytes).unwrap().lines();
        lines.map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// The operator's own lines with this message.
    pub fn told(&self, message: &str) -> Vec<Value> {
        let mut lines = self.lines();
        lines.retain(|line| line["target"] != "hook" && line["message"] == message);
        lines
    }

    /// What a hook itself has logged.
    pub fn said(&self, hook: &str) -> Vec<String> {
        let lines = self.lines();
        let of_hook = lines.iter().filter(|line| line["target"] == "hook" && line["hook"] == hook);
        of_hook.map(|line| line["message"].as_str().unwrap().to_owned()).collect()
    }

    /// What a hook has logged as lines of JSON.
    pub fn said_json(&self, hook: &str) -> Vec<Value> {
        self.said(hook).iter().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// For a test that failed: the last lines, each in short.
    pub fn tail(&self) -> String {
        // Ticks come whatever happens, and would fill it.
        let lines: Vec<String> = self.lines().iter().filter(|line| line["binding"] != "tick").map(short).collect();
        lines[lines.len().saturating_sub(40)..].join("\n")
    }
}

fn short(line: &Value) -> String {
    let text = line.to_string();
    match text.char_indices().nth(400) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text,
    }
}

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
