//! The programs that are compared, each started fresh.

use std::{
    path::Path,
    process::{Command, Stdio},
    time::Duration,
};

use anyhow::{Result, ensure};

use crate::{Paths, backend::Backend, process::Process};

/// What is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Boathook with `registry-secret` and nine idle hooks.
    Boathook,
    /// The hand-written program.
    BareLoop,
}

/// In the order of the report.
pub const KINDS: [Kind; 2] = [Kind::BareLoop, Kind::Boathook];

/// Hooks that Boathook holds while it is measured.
const HOOKS: usize = 10;

/// A running contender that has done its first synchronization.
pub struct Contender {
    process: Process,
    _directory: tempfile::TempDir,
}

impl Contender {
    /// Starts it. The source Secret is created before.
    pub async fn start(kind: Kind, paths: &Paths, backend: &Backend) -> Result<Self> {
        crate::namespaces::create_source(backend).await?;
        let directory = tempfile::tempdir()?;
        let process = match kind {
            Kind::BareLoop => {
                let mut command = Command::new(std::env::current_exe()?);
                Process::start_until_ready(command.arg("bare-loop").arg(&backend.kubeconfig))?
            }
            Kind::Boathook => boathook(paths, backend, directory.path())?,
        };
        Ok(Self { process, _directory: directory })
    }

    /// Resident memory after some quiet, in MB.
    pub async fn idle_megabytes(&self) -> Result<f64> {
        tokio::time::sleep(Duration::from_secs(3)).await;
        Ok(self.process.resident_kib()? as f64 * 1024.0 / 1e6)
    }
}

fn boathook(paths: &Paths, backend: &Backend, directory: &Path) -> Result<Process> {
    let registry_secret = paths.hooks.join("registry-secret.wasm");
    ensure!(registry_secret.exists(), "{} is missing; run `make guests`", registry_secret.display());
    let hooks = directory.join("hooks");
    std::fs::create_dir(&hooks)?;
    std::fs::copy(registry_secret, hooks.join("registry-secret.wasm"))?;
    for i in 1..HOOKS {
        std::fs::copy(paths.hooks.join("test/noop.wasm"), hooks.join(format!("noop-{i}.wasm")))?;
    }
    let mut command = Command::new(&paths.boathook);
    command.arg("serve").arg("--kubeconfig").arg(&backend.kubeconfig).arg("--hooks").arg(&hooks);
    command.args(["--listen", "127.0.0.1:0", "--log-format", "json", "--cache-dir"]).arg(directory.join("cache"));
    // The log is written as in production, and read by nobody.
    let log = std::fs::File::create(directory.join("log"))?;
    Process::start(command.stdout(Stdio::null()).stderr(log))
}
