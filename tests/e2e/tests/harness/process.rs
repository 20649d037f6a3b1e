//! A child process with a log file, which dies with the suite however that ends.
//! It never waits without a deadline.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

use super::test::RUNTIME;
use super::wait::eventually_within;

pub struct Process {
    name: String,
    log: PathBuf,
    pid: Pid,
    child: Mutex<Child>,
}

impl Process {
    /// Starts the command, stdout and stderr going to the log, which a later process may continue.
    /// Its stdin is a pipe that the suite's end closes.
    pub async fn start(name: &str, mut command: Command, log: &Path) -> Self {
        let file = File::options().create(true).append(true).open(log).expect("open a log file");
        command
            .stdin(Stdio::piped())
            .stdout(file.try_clone().expect("share a log file"))
            .stderr(file)
            .env_remove("KUBECONFIG");
        let described = format!("{command:?}");
        // A thread of the runtime lives as long as the suite; that of a test does not, and
        // `with-parent` binds the child to the thread.
        let child = RUNTIME.spawn(async move { command.spawn() }).await.expect("spawn task");
        let child = child.unwrap_or_else(|error| panic!("start {described}: {error}"));
        let pid = Pid::from_child(&child);
        Self { name: name.to_owned(), log: log.to_owned(), pid, child: Mutex::new(child) }
    }

    /// A command that the kernel kills with the suite.
    pub fn bound(program: &Path) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_with-parent"));
        command.arg(std::process::id().to_string()).arg(program);
        command
    }

    pub fn signal(&self, signal: Signal) {
        // It may have ended by itself. A test that needs to know that requests its status.
        let _ = kill_process(self.pid, signal);
    }

    /// Writes a line to its stdin.
    pub fn tell(&self, line: &str) {
        let mut child = self.child.lock().unwrap_or_else(PoisonError::into_inner);
        let stdin = child.stdin.as_mut().expect("its stdin is a pipe");
        writeln!(stdin, "{line}").unwrap_or_else(|error| panic!("tell {} {line:?}: {error}", self.name));
    }

    pub fn id(&self) -> i32 {
        self.pid.as_raw_nonzero().get()
    }

    /// Closes its stdin, as the end of the suite does.
    pub fn hang_up(&self) {
        self.child.lock().unwrap_or_else(PoisonError::into_inner).stdin = None;
    }

    /// How it ended, if it did.
    pub fn status(&self) -> Option<ExitStatus> {
        let mut child = self.child.lock().unwrap_or_else(PoisonError::into_inner);
        child.try_wait().expect("ask for the state of a child")
    }

    /// Waits for its end.
    pub async fn ended(&self, within: Duration) -> ExitStatus {
        let what = format!("{} ends", self.name);
        eventually_within(within, &what, async || self.status().ok_or("it is still running")).await
    }

    /// Waits until its log has a line that `find` takes. The wait is over at once when it ends.
    pub async fn logged<T>(&self, within: Duration, what: &str, find: impl Fn(&str) -> Option<T>) -> T {
        let found = eventually_within(within, what, async || {
            let ended = self.status();
            match (self.log().lines().find_map(&find), ended) {
                (Some(found), _) => Ok(Ok(found)),
                (None, Some(status)) => Ok(Err(status)),
                (None, None) => Err("no such line in its log yet"),
            }
        });
        match found.await {
            Ok(found) => found,
            Err(status) => panic!("{} ended with {status} before this: {what}", self.name),
        }
    }

    /// What it has logged up to now.
    pub fn log(&self) -> String {
        let bytes = std::fs::read(&self.log).unwrap_or_default();
        String::from_utf8_lossy(&bytes).into_owned()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let mut child = self.child.lock().unwrap_or_else(PoisonError::into_inner);
        let _ = child.kill();
        let _ = child.wait();
    }
}
