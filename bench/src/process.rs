//! Child processes that end with this one, and what /proc says of them.

use std::{
    io::{BufRead as _, BufReader},
    process::{Child, Command, Stdio},
};

use anyhow::{Context as _, Result, bail};

/// A child; killed and reaped when dropped.
pub struct Process {
    child: Child,
}

impl Process {
    /// Starts a program and waits for the line `ready` on its stdout.
    pub fn start_until_ready(command: &mut Command) -> Result<Self> {
        let program = command.get_program().to_string_lossy().into_owned();
        let mut child =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().with_context(|| format!("can't start {program}"))?;
        let stdout = child.stdout.take().context("no stdout")?;
        let process = Self { child };
        let mut lines = BufReader::new(stdout).lines();
        while let Some(line) = lines.next().transpose()? {
            if line.trim() == "ready" {
                // Goes on reading, so that the child never waits for us.
                std::thread::spawn(move || lines.for_each(drop));
                return Ok(process);
            }
        }
        bail!("{program} ended before it was ready")
    }

    /// Starts a program.
    pub fn start(command: &mut Command) -> Result<Self> {
        let program = command.get_program().to_string_lossy().into_owned();
        let child = command.stdin(Stdio::piped()).spawn().with_context(|| format!("can't start {program}"))?;
        Ok(Self { child })
    }

    /// Resident memory in KiB, without file-backed pages that are shared with nobody's loss: the
    /// sum of anonymous, file and shared pages, as `ps` shows it.
    pub fn resident_kib(&self) -> Result<u64> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id()))?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).context("no VmRSS")?;
        Ok(line.trim().trim_end_matches(" kB").parse()?)
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // It may have ended already; then there is nothing to do.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
