//! A worker process as its parent sees it: started, asked, killed.
//!
//! Never waits beyond a deadline, and never leaves a process behind: dropping it kills it.

use std::{io, os::unix::process::ExitStatusExt as _, path::PathBuf, process::Stdio, time::Duration};

use tokio::{
    io::{AsyncReadExt as _, BufReader},
    process::{Child, ChildStderr, ChildStdin, ChildStdout, Command},
    time::timeout,
};

use super::{
    frame::{Frame, Tag, malformed},
    limits::Limits,
};
use crate::filter::jq::{FilterError, FilterLimit, Outputs};

/// Until a started process has to be ready.
const START: Duration = Duration::from_secs(15);
/// What is read of a dead worker's last words.
const LAST_WORDS: u64 = 4096;

/// How workers are started, and what they may use.
#[derive(Debug, Clone)]
pub struct WorkerConfig {
    /// The program to start; it has to end in [`super::serve`].
    pub command: PathBuf,
    /// Its arguments. Default `filter-worker`.
    pub args: Vec<String>,
    /// Memory of one worker for values, in bytes. Default 256 MiB.
    pub memory: u64,
    /// The longest evaluation. Default 1 s.
    pub deadline: Duration,
    /// Processes at a time. Default 16.
    pub max_workers: usize,
    /// A worker without work for so long is stopped. Default 30 s.
    pub idle: Duration,
}

impl WorkerConfig {
    /// The defaults, with this command.
    pub fn new(command: impl Into<PathBuf>) -> Self {
        Self {
            command: command.into(),
            args: vec!["filter-worker".into()],
            memory: 256 * 1024 * 1024,
            deadline: Duration::from_secs(1),
            max_workers: 16,
            idle: Duration::from_secs(30),
        }
    }

    /// The defaults, with this process's own executable.
    pub fn of_this_process() -> io::Result<Self> {
        Ok(Self::new(std::env::current_exe()?))
    }

    fn limits(&self) -> Limits {
        let cpu = u32::try_from(self.deadline.as_secs()).unwrap_or(u32::MAX).saturating_add(1);
        Limits { memory: self.memory, cpu }
    }
}

/// A worker with its program.
#[derive(Debug)]
pub struct Worker {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    errors: ChildStderr,
    memory: u64,
}

impl Worker {
    /// Starts a process, and waits until it has compiled the program.
    pub async fn start(config: &WorkerConfig, program: &str) -> Result<Self, FilterError> {
        let mut worker = Self::spawn(config).map_err(FilterError::Worker)?;
        let ready = timeout(START, async {
            config.limits().frame(program).send(&mut worker.input).await?;
            Frame::receive(&mut worker.output).await
        });
        match ready.await {
            Ok(Ok(Frame { tag: Tag::Ready, .. })) => Ok(worker),
            Ok(Ok(_)) => Err(FilterError::Worker(malformed("no ready frame"))),
            Ok(Err(_)) => Err(worker.post_mortem().await),
            Err(_) => {
                Err(FilterError::Worker(io::Error::new(io::ErrorKind::TimedOut, format!("not ready within {START:?}"))))
            }
        }
    }

    fn spawn(config: &WorkerConfig) -> io::Result<Self> {
        let mut child = Command::new(&config.command)
            .args(&config.args)
            .env_clear()
            .current_dir("/")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            // Ctrl-C is for the host, which then stops its workers.
            .process_group(0)
            .kill_on_drop(true)
            .spawn()?;
        let missing = || io::Error::other("a standard stream is missing");
        Ok(Self {
            input: child.stdin.take().ok_or_else(missing)?,
            output: BufReader::new(child.stdout.take().ok_or_else(missing)?),
            errors: child.stderr.take().ok_or_else(missing)?,
            child,
            memory: config.memory,
        })
    }

    /// Evaluates the program on an object. After an error that is not the program's own the worker
    /// is of no more use.
    pub async fn evaluate(&mut self, json: &str, deadline: Duration) -> Result<Outputs, FilterError> {
        let answer = timeout(deadline, async {
            Frame::text(Tag::Object, json).send(&mut self.input).await?;
            Frame::receive(&mut self.output).await
        });
        match answer.await {
            Ok(Ok(frame)) => frame.into_result(),
            Ok(Err(_)) => Err(self.post_mortem().await),
            Err(_) => {
                // Killing fails only if it is dead already.
                let _ = self.child.start_kill();
                Err(FilterError::Limit(FilterLimit::Time(deadline)))
            }
        }
    }

    /// Why the process ended.
    async fn post_mortem(&mut self) -> FilterError {
        let _ = self.child.start_kill();
        let mut words = Vec::new();
        let _ = timeout(START, (&mut self.errors).take(LAST_WORDS).read_to_end(&mut words)).await;
        let status = match timeout(START, self.child.wait()).await {
            Ok(Ok(status)) => status,
            Ok(Err(error)) => return FilterError::Worker(error),
            Err(_) => return FilterError::Crashed("its process does not end".into()),
        };
        cause_of_death(status.signal(), &String::from_utf8_lossy(&words), &status.to_string(), self.memory)
    }
}

/// Linux's numbers, the same on all architectures that Rust's standard library runs hooks' hosts on.
const SIGKILL: i32 = 9;
const SIGSEGV: i32 = 11;
const SIGXCPU: i32 = 24;

fn cause_of_death(signal: Option<i32>, words: &str, status: &str, memory: u64) -> FilterError {
    if words.contains("overflowed its stack") || signal == Some(SIGSEGV) {
        return FilterError::Limit(FilterLimit::Stack);
    }
    if words.contains("memory allocation of") {
        return FilterError::Limit(FilterLimit::Memory(memory));
    }
    match signal {
        Some(SIGXCPU) => FilterError::Limit(FilterLimit::Time(Duration::ZERO)),
        Some(SIGKILL) => FilterError::Crashed("its process was killed, maybe for want of memory on the machine".into()),
        _ => {
            let last = words.lines().last().unwrap_or_default();
            FilterError::Crashed(format!("its process ended with {status} {last}").trim_end().to_owned())
        }
    }
}
