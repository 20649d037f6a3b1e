//! The real binary as a child process that ends with the test, and what it says on stderr and stdout.
//!
//! Never interprets more of it than lines.

use std::{ffi::OsStr, process::Stdio};

use tokio::{
    io::{AsyncBufReadExt as _, AsyncRead, BufReader},
    process::{Child, Command},
    sync::watch,
    time::timeout,
};

use super::PATIENCE;

type Lines = watch::Receiver<Vec<String>>;

/// A running `boathook`. It is killed when dropped.
pub struct Process {
    child: Child,
    pub stderr: Lines,
    pub stdout: Lines,
}

/// How a process ended.
#[derive(Debug)]
pub struct Ended {
    pub code: Option<i32>,
    pub stderr: String,
    pub stdout: String,
}

/// The binary under test with no environment that could reach a cluster, and no admin socket: many
/// operators run at the same time.
pub fn boathook<S: AsRef<OsStr>>(arguments: impl IntoIterator<Item = S>) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_boathook"));
    command.args(arguments).env_clear().env("NO_COLOR", "1").env("BOATHOOK_ADMIN_SOCKET", "none").stdin(Stdio::null());
    command
}

impl Process {
    pub fn start(mut command: Command) -> Self {
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true).spawn().unwrap();
        let (stdout, stderr) = (lines(child.stdout.take().unwrap()), lines(child.stderr.take().unwrap()));
        Self { child, stderr, stdout }
    }

    /// Waits for a line on stderr. An error when the process ends without it.
    pub async fn logged<T>(&mut self, what: &str, find: impl Fn(&str) -> Option<T>) -> Result<T, String> {
        let mut found = None;
        let wait = self.stderr.wait_for(|lines| {
            found = lines.iter().find_map(|line| find(line));
            found.is_some()
        });
        let ended = match timeout(PATIENCE, wait).await {
            Ok(Ok(_)) => None,
            Ok(Err(_)) => Some("the process ended"),
            Err(_) => Some("it took too long"),
        };
        match (found, ended) {
            (Some(found), _) => Ok(found),
            (None, reason) => Err(format!("never: {what}: {}", reason.unwrap_or_default())),
        }
    }

    pub fn id(&self) -> u32 {
        self.child.id().unwrap()
    }

    /// Waits for the end.
    pub async fn ended(mut self) -> Ended {
        let status = timeout(PATIENCE, self.child.wait()).await.expect("the process ends").unwrap();
        for lines in [&mut self.stderr, &mut self.stdout] {
            // Until the pipe is closed.
            while lines.changed().await.is_ok() {}
        }
        let joined = |lines: &Lines| lines.borrow().join("\n");
        Ended { code: status.code(), stderr: joined(&self.stderr), stdout: joined(&self.stdout) }
    }
}

/// Runs a command to its end, which must come soon.
pub async fn run(command: Command) -> Ended {
    Process::start(command).ended().await
}

/// Asks a process to end, as Kubernetes does.
pub fn terminate(process: &Process) {
    let id = i32::try_from(process.id()).ok().and_then(rustix::process::Pid::from_raw).unwrap();
    rustix::process::kill_process(id, rustix::process::Signal::TERM).unwrap();
}

fn lines(stream: impl AsyncRead + Send + Unpin + 'static) -> Lines {
    let (to, lines) = watch::channel(Vec::new());
    tokio::spawn(async move {
        let mut stream = BufReader::new(stream).lines();
        while let Ok(Some(line)) = stream.next_line().await {
            to.send_modify(|lines| lines.push(line));
        }
    });
    lines
}
