//! The programs that are compared, each started fresh and ready when it is measured.

use std::{
    ffi::OsString,
    path::Path,
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
};

use crate::{Paths, backend::Backend, bound, process::Process};

/// What is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// `boathook serve`.
    Boathook,
    /// A hand-written program that does the same one job.
    Bare,
}

/// In the order in which they take turns.
pub const KINDS: [Kind; 2] = [Kind::Bare, Kind::Boathook];

/// What a contender does.
#[derive(Default)]
pub struct Job<'a> {
    /// Boathook's hooks: `name.wasm`, and the built guest that it is a copy of.
    pub hooks: Vec<(String, &'a str)>,
    /// More flags of `boathook serve`.
    pub flags: Vec<OsString>,
    /// The subcommand of the hand-written program.
    pub bare: &'a str,
    /// Its arguments in addition to the kubeconfig.
    pub arguments: Vec<OsString>,
}

/// A running contender that has synchronized.
pub struct Contender {
    /// Its process.
    pub process: Process,
    /// From its start to its first synchronization.
    pub ready_after: Duration,
    /// Where Boathook serves health and metrics.
    pub address: Option<String>,
    directory: tempfile::TempDir,
}

impl Contender {
    /// Starts it and waits until it is ready. Boathook's first start with a hook compiles it.
    pub async fn start(kind: Kind, paths: &Paths, backend: &Backend, job: &Job<'_>) -> Result<Self> {
        let directory = tempfile::tempdir()?;
        match kind {
            Kind::Bare => bare(backend, job, directory).await,
            Kind::Boathook => {
                lay_out(paths, job, &directory.path().join("hooks"))?;
                boathook(paths, backend, &job.flags, directory).await
            }
        }
    }

    /// A program that was started elsewhere.
    pub fn of(process: Process, ready_after: Duration, directory: tempfile::TempDir) -> Self {
        Self { process, ready_after, address: None, directory }
    }

    /// Its process, and the directory that the process needs.
    pub fn into_parts(self) -> (Process, tempfile::TempDir) {
        (self.process, self.directory)
    }
}

fn lay_out(paths: &Paths, job: &Job<'_>, hooks: &Path) -> Result<()> {
    std::fs::create_dir(hooks)?;
    for (name, guest) in &job.hooks {
        let from = paths.hooks.join(guest);
        std::fs::copy(&from, hooks.join(format!("{name}.wasm")))
            .with_context(|| format!("cannot copy {}; `make guests` builds it", from.display()))?;
    }
    Ok(())
}

/// Starts Boathook on the directory's `hooks`, and waits until it is ready.
pub async fn boathook(
    paths: &Paths,
    backend: &Backend,
    flags: &[OsString],
    directory: tempfile::TempDir,
) -> Result<Contender> {
    let mut command = bound::command(&paths.boathook)?;
    command.arg("serve").arg("--kubeconfig").arg(&backend.kubeconfig);
    command.arg("--hooks").arg(directory.path().join("hooks"));
    command.arg("--cache-dir").arg(&paths.cache);
    // The log is written as in production.
    command.args(["--listen", "127.0.0.1:0", "--admin-socket", "none", "--log-format", "json"]).args(flags);
    let mut process = Process::start(&mut command, &directory.path().join("log"))?;
    let address = process.wait_for("its address", async |log| log.lines().find_map(listen_of)).await?;
    let is_ready = async |_: &str| get(&address, "/readyz").await?.starts_with("HTTP/1.1 200").then_some(());
    process.wait_for("readiness", is_ready).await?;
    let ready_after = process.started().elapsed();
    Ok(Contender { process, ready_after, address: Some(address), directory })
}

async fn bare(backend: &Backend, job: &Job<'_>, directory: tempfile::TempDir) -> Result<Contender> {
    let started = Instant::now();
    let mut command = bound::command(std::env::current_exe()?)?;
    command.arg(job.bare).arg(&backend.kubeconfig).args(&job.arguments);
    let process = Process::start_until_ready(&mut command, &directory.path().join("log")).await?;
    Ok(Contender { process, ready_after: started.elapsed(), address: None, directory })
}

fn listen_of(line: &str) -> Option<String> {
    let line: serde_json::Value = serde_json::from_str(line).ok()?;
    Some(line.get("listen")?.as_str()?.to_owned())
}

/// The whole answer to a request, as text; none if there is none.
pub async fn get(address: &str, path: &str) -> Option<String> {
    let ask = async {
        let mut stream = TcpStream::connect(address).await?;
        let request = format!("GET {path} HTTP/1.1\r\nHost: bench\r\nConnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).await?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await?;
        std::io::Result::Ok(answer)
    };
    ask.await.ok()
}
