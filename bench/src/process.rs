//! Child processes that end with this one, and what /proc says of them.

use std::{
    fs::File,
    io::{BufRead as _, BufReader},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result, bail};
use tokio::{sync::oneshot, time::timeout};

/// Thousands of hooks are compiled in that time.
const PATIENCE: Duration = Duration::from_mins(30);
/// Linux shows CPU times in hundredths of a second, whatever its own clock does.
const MS_PER_TICK: u64 = 10;

/// A child; killed and reaped when dropped.
pub struct Process {
    child: Child,
    log: PathBuf,
    started: Instant,
}

impl Process {
    /// Starts a program whose stderr goes to a file, and whose stdout to nobody.
    pub fn start(command: &mut Command, log: &Path) -> Result<Self> {
        Self::spawn(command.stdout(Stdio::null()), log)
    }

    /// Starts a program and waits for the line `ready` on its stdout.
    pub async fn start_until_ready(command: &mut Command, log: &Path) -> Result<Self> {
        let mut process = Self::spawn(command.stdout(Stdio::piped()), log)?;
        let stdout = process.child.stdout.take().context("no stdout")?;
        let (told, ready) = oneshot::channel();
        std::thread::spawn(move || {
            let mut lines = BufReader::new(stdout).lines().map_while(std::io::Result::ok);
            if lines.any(|line| line.trim() == "ready") {
                // Who is not waiting any more has ended the process.
                let _ = told.send(());
            }
            // Goes on reading, so that the child never waits for us.
            lines.for_each(drop);
        });
        match timeout(PATIENCE, ready).await {
            Ok(Ok(())) => Ok(process),
            _ => bail!("a child was not ready within {PATIENCE:?}; the end of its log:\n{}", process.log_end()),
        }
    }

    fn spawn(command: &mut Command, log: &Path) -> Result<Self> {
        let started = Instant::now();
        let child = command
            .stdin(Stdio::null())
            .stderr(File::create(log)?)
            .env_remove("KUBECONFIG")
            .spawn()
            .with_context(|| format!("cannot start {command:?}"))?;
        Ok(Self { child, log: log.to_owned(), started })
    }

    /// Waits until `found` gives something for what is on stderr so far.
    pub async fn wait_for<T>(&mut self, what: &str, mut found: impl AsyncFnMut(&str) -> Option<T>) -> Result<T> {
        let waits = Instant::now();
        loop {
            if let Some(found) = found(&self.log()).await {
                return Ok(found);
            }
            let ended = self.child.try_wait()?;
            if ended.is_some() || waits.elapsed() > PATIENCE {
                bail!("{what} did not come ({ended:?}); the end of its log:\n{}", self.log_end());
            }
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    }

    /// When it was started.
    pub fn started(&self) -> Instant {
        self.started
    }

    /// Its stderr so far.
    pub fn log(&self) -> String {
        String::from_utf8_lossy(&std::fs::read(&self.log).unwrap_or_default()).into_owned()
    }

    fn log_end(&self) -> String {
        let log = self.log();
        let lines: Vec<_> = log.lines().rev().take(20).collect();
        lines.into_iter().rev().collect::<Vec<_>>().join("\n")
    }

    /// Resident memory of the program and of the processes that it started, in MB, as `ps` shows it.
    pub fn resident_megabytes(&self) -> Result<f64> {
        self.status_megabytes("VmRSS:")
    }

    /// Of that, what is no page of a file. The kernel can drop the others and read them again.
    pub fn anonymous_megabytes(&self) -> Result<f64> {
        self.status_megabytes("RssAnon:")
    }

    /// The most that was resident at a time, in MB.
    pub fn peak_megabytes(&self) -> Result<f64> {
        self.status_megabytes("VmHWM:")
    }

    fn status_megabytes(&self, field: &str) -> Result<f64> {
        let of = |pid| {
            let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
            let value = status.lines().find_map(|line| line.strip_prefix(field))?;
            value.trim().trim_end_matches(" kB").parse::<f64>().ok()
        };
        let kib: f64 = self.family().into_iter().filter_map(of).sum();
        anyhow::ensure!(kib > 0.0, "a child ended; the end of its log:\n{}", self.log_end());
        Ok(kib * 1024.0 / 1e6)
    }

    /// CPU time that the program and the processes that it started have used.
    pub fn cpu(&self) -> Result<Duration> {
        let of = |pid| {
            let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
            // After the name, which may hold anything: utime, stime and those of reaped children.
            let times = stat.rsplit_once(')')?.1.split_whitespace().skip(11).take(4);
            Some(times.filter_map(|ticks| ticks.parse::<u64>().ok()).sum::<u64>())
        };
        let ticks: u64 = self.family().into_iter().filter_map(of).sum();
        Ok(Duration::from_millis(ticks * MS_PER_TICK))
    }

    /// The program and what it started.
    fn family(&self) -> Vec<u32> {
        let mut family = vec![self.child.id()];
        let mut at = 0;
        while let Some(pid) = family.get(at) {
            let threads = std::fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
            let children: Vec<u32> = threads
                .filter_map(|thread| std::fs::read_to_string(thread.path().join("children")).ok())
                .flat_map(|pids| pids.split_whitespace().filter_map(|pid| pid.parse().ok()).collect::<Vec<_>>())
                .collect();
            family.extend(children);
            at += 1;
        }
        family
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // It may have ended already; then there is nothing to do.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
