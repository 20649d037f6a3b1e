//! `boathook serve` as a child process with one hook, and that hook's log lines.
//!
//! Never looks into it but by its log and its health.

use std::path::{Path, PathBuf};

use serde_json::Value;
use tempfile::TempDir;

use crate::support::{
    PATIENCE,
    cluster::{TestCluster, client},
    guests::cache_dir,
    process::{Process, boathook},
};

/// Lines of the log that a failure shows.
const TAIL: usize = 40;

/// A running operator.
pub struct Operator {
    process: Process,
    hook: String,
    files: Files,
}

/// What it is started with, again and again.
struct Files {
    hooks: PathBuf,
    kubeconfig: PathBuf,
    _folder: TempDir,
}

impl Operator {
    /// Starts it, and waits until the hook has synchronised.
    pub async fn start(hook: &str, hooks: &Path, cluster: &TestCluster) -> Result<Self, String> {
        let folder = tempfile::tempdir().unwrap();
        let kubeconfig = folder.path().join("kubeconfig");
        std::fs::write(&kubeconfig, cluster.cluster.kubeconfig()).unwrap();
        let files = Files { hooks: hooks.to_owned(), kubeconfig, _folder: folder };
        let mut operator = Self { process: files.serve(), hook: hook.to_owned(), files };
        match operator.synchronised().await {
            Ok(()) => Ok(operator),
            Err(error) => Err(format!("  {error}\n{}", operator.tail())),
        }
    }

    /// Ends it as Kubernetes does, starts it again, and waits until the hook has synchronised. The
    /// log begins anew.
    pub async fn restart(&mut self) -> Result<(), String> {
        match self.process.terminated().await {
            Some(0) => {}
            code => return Err(format!("the operator ended with {code:?}")),
        }
        self.process = self.files.serve();
        self.synchronised().await
    }

    async fn synchronised(&mut self) -> Result<(), String> {
        let address = self.process.logged("it listens", |line| text(&parsed(line), "listen")).await?;
        let health = client(&format!("http://{address}"));
        let started = std::time::Instant::now();
        loop {
            let request = http::Request::get("/readyz").body(Vec::new()).unwrap();
            // Both fail while it is not ready, and both may in the end.
            let last = match health.request_text(request).await {
                Ok(text) if text.contains(&format!("[+]{} ok\n", self.hook)) => return Ok(()),
                Ok(text) => return Err(format!("the hook was not loaded: {text}")),
                Err(error) => error.to_string(),
            };
            if started.elapsed() > PATIENCE || self.process.stderr.has_changed().is_err() {
                return Err(format!("the hook did not synchronise: {last}"));
            }
            tokio::time::sleep(std::time::Duration::from_millis(10)).await;
        }
    }

    /// How many of the hook's own lines contain this.
    pub fn logged(&self, wanted: &str) -> usize {
        let of_hook = |line: &Value| line["target"] == "hook" && line["hook"] == self.hook.as_str();
        let holds = |line: &Value| ["message", "fields"].iter().any(|key| says(line, key, wanted));
        let lines = self.process.stderr.borrow();
        lines.iter().map(|line| parsed(line)).filter(|line| of_hook(line) && holds(line)).count()
    }

    /// The end of the whole log.
    pub fn tail(&self) -> String {
        let lines = self.process.stderr.borrow();
        let shown = lines.iter().skip(lines.len().saturating_sub(TAIL));
        let mut tail = "  the end of the operator's log:\n".to_owned();
        for line in shown {
            tail.push_str(&format!("    {line}\n"));
        }
        tail
    }
}

impl Files {
    fn serve(&self) -> Process {
        let mut command = boathook(["serve", "--listen", "127.0.0.1:0", "--log-format", "json"]);
        command.arg("--kubeconfig").arg(&self.kubeconfig);
        command.arg("--hooks").arg(&self.hooks).arg("--cache-dir").arg(cache_dir());
        Process::start(command)
    }
}

fn says(line: &Value, key: &str, wanted: &str) -> bool {
    line[key].as_str().is_some_and(|text| text.contains(wanted))
}

fn parsed(line: &str) -> Value {
    serde_json::from_str(line).unwrap_or_default()
}

fn text(line: &Value, key: &str) -> Option<String> {
    line[key].as_str().map(str::to_owned)
}
