//! Child processes that do one bounded piece of work: compile a component, check settings. This file
//! contains how such a process starts, what it may use, and why it ended. It does not know what the work is.
//!
//! Dropping a child kills it, so no process is left behind.

use std::{
    fmt,
    io::{self, Read as _, Write as _},
    os::unix::process::ExitStatusExt as _,
    path::Path,
    process::{ExitCode, ExitStatus, Stdio},
    thread,
    time::Duration,
};

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    process::{Child, Command},
    time::timeout,
};

/// The exit code of a child that refuses its input. The child writes the reason to stderr.
pub const REFUSED: u8 = 3;
/// How many bytes of a child's stderr are read.
const LAST_WORDS: u64 = 16 * 1024;
/// The stack of a thread that only waits. The allocator's part of a new thread takes tens of kilobytes of it.
const SMALL_STACK: usize = 256 * 1024;
/// The threads that compile. Each takes memory of its own, and a large machine would have many.
const THREADS: &str = "4";
/// By default, jemalloc keeps addresses whose memory it gave back, and they count for the child's memory. In a process
/// that lives long, to return them would split its memory into ever more mappings, and their number has a limit.
const ALLOCATOR: &str = "retain:false";
/// Open files: the standard streams, and those that the runtime opens for a moment.
const FILES: u64 = 16;
/// Gives the child a tenth of the operator's CPU time where both want the CPU.
const NICE: i32 = 10;

/// What a child may use. It travels as arguments, and the child applies it to itself before it reads anything.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    /// Bytes of private writable memory, stacks included. Address space alone does no harm.
    pub memory: u64,
    /// Seconds of CPU time, over all threads. `None`: the child sets this bound itself.
    pub cpu: Option<u64>,
    /// Seconds until the child ends itself, for a child that may outlive its parent. `None`: it ends when its input
    /// ends.
    pub time: Option<u64>,
}

impl Bounds {
    fn arguments(self) -> Vec<String> {
        let mut arguments = vec!["--memory".to_owned(), self.memory.to_string()];
        if let Some(cpu) = self.cpu {
            arguments.extend(["--cpu".to_owned(), cpu.to_string()]);
        }
        if let Some(time) = self.time {
            arguments.extend(["--time".to_owned(), time.to_string()]);
        }
        arguments
    }

    /// Applies the bounds to this process.
    pub fn apply(self) -> io::Result<()> {
        lower(Resource::Core, 0, 0)?;
        lower(Resource::Nofile, FILES, FILES)?;
        lower(Resource::Data, self.memory, self.memory)?;
        if let Some(cpu) = self.cpu {
            // At the soft limit the kernel ends the process with a signal that names the reason. It kills the process a
            // second later.
            lower(Resource::Cpu, cpu, cpu.saturating_add(1))?;
        }
        if let Some(time) = self.time {
            thread::Builder::new().name("deadline".into()).stack_size(SMALL_STACK).spawn(move || {
                thread::sleep(Duration::from_secs(time));
                std::process::exit(1);
            })?;
        }
        // The operator goes first, because it answers the API server. A failure to set this does no harm.
        let _ = rustix::process::nice(NICE);
        // When the machine runs out of memory, the kernel should kill this process and not its parent. A failure to set
        // this does no harm.
        let _ = std::fs::write("/proc/self/oom_score_adj", "1000");
        Ok(())
    }
}

fn lower(resource: Resource, current: u64, maximum: u64) -> io::Result<()> {
    let known = getrlimit(resource).maximum;
    let within = |limit: u64| Some(known.map_or(limit, |known| known.min(limit)));
    setrlimit(resource, Rlimit { current: within(current), maximum: within(maximum) })?;
    Ok(())
}

/// Starts a child. Its standard streams are pipes, except for the input if one is given. The child gets nothing of this
/// process's environment.
pub fn start(command: &Path, args: &[String], bounds: Bounds, input: Option<Stdio>) -> io::Result<Child> {
    Command::new(command)
        .args(args)
        .args(bounds.arguments())
        .env_clear()
        .env("RAYON_NUM_THREADS", THREADS)
        .env("_RJEM_MALLOC_CONF", ALLOCATOR)
        .current_dir("/")
        .stdin(input.unwrap_or_else(Stdio::piped))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        // Ctrl-C is for the parent only.
        .process_group(0)
        .kill_on_drop(true)
        .spawn()
}

/// One piece of work for a child.
#[derive(Debug, Clone, Copy)]
pub struct Work<'a> {
    pub command: &'a Path,
    pub args: &'a [String],
    pub bounds: Bounds,
    /// The time from the start of the process to the end of its answer.
    pub deadline: Duration,
    /// The most bytes of an answer. A longer answer is an error.
    pub max_output: u64,
}

impl Work<'_> {
    /// Sends the child its input and returns its answer.
    pub async fn ask(&self, input: &[u8]) -> Result<Vec<u8>, Failed> {
        self.within(None, input).await
    }

    /// Gives the child a file as its input. The child holds the file open until it ends.
    pub async fn ask_with(&self, input: std::fs::File) -> Result<Vec<u8>, Failed> {
        self.within(Some(input.into()), &[]).await
    }

    async fn within(&self, file: Option<Stdio>, input: &[u8]) -> Result<Vec<u8>, Failed> {
        // Dropping the future kills the process.
        timeout(self.deadline, self.exchange(file, input)).await.unwrap_or(Err(Failed::Ended(Cause::Time)))
    }

    async fn exchange(&self, file: Option<Stdio>, input: &[u8]) -> Result<Vec<u8>, Failed> {
        let piped = file.is_none();
        let mut child = start(self.command, self.args, self.bounds, file).map_err(Failed::Start)?;
        let missing = || Failed::Start(io::Error::other("a standard stream is missing"));
        let stdin = child.stdin.take();
        if piped && stdin.is_none() {
            return Err(missing());
        }
        let output = child.stdout.take().ok_or_else(missing)?;
        let errors = child.stderr.take().ok_or_else(missing)?;
        let (mut answer, mut words) = (Vec::new(), Vec::new());
        let written = async {
            if let Some(mut stdin) = stdin {
                // An error is ignored, because a child that gives up early writes the reason to stderr.
                let _ = stdin.write_all(input).await;
            }
        };
        let mut errors = errors.take(LAST_WORDS);
        // This closes the stream after the last byte that is read, so that a child that writes more does not wait for a
        // reader.
        let read = async { output.take(self.max_output.saturating_add(1)).read_to_end(&mut answer).await };
        let (read, _, ()) = tokio::join!(read, errors.read_to_end(&mut words), written);
        read.map_err(Failed::Start)?;
        if answer.len() as u64 > self.max_output {
            return Err(Failed::Ended(Cause::Other(format!("an answer of more than {} bytes", self.max_output))));
        }
        let status = child.wait().await.map_err(Failed::Start)?;
        let words = String::from_utf8_lossy(&words).trim().to_owned();
        match status.code() {
            Some(0) => Ok(answer),
            Some(code) if code == i32::from(REFUSED) => Err(Failed::Refused(words)),
            _ => Err(Failed::Ended(Cause::of(status, &words))),
        }
    }
}

/// Why there is no answer.
#[derive(Debug)]
pub enum Failed {
    /// The child could not be started, or a stream to or from it failed.
    Start(io::Error),
    /// The child refused its input, for the reason that it wrote to stderr.
    Refused(String),
    /// The child ended in another way.
    Ended(Cause),
}

/// Why a child ended without an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Cause {
    /// Its time or its CPU time was used up.
    Time,
    Memory,
    Stack,
    /// Somebody else killed it: the kernel, when the machine has no memory left, or an admin. Holds the exit status and
    /// the last line of stderr.
    Killed(String),
    /// The exit status and the last line of stderr.
    Other(String),
}

/// Linux's numbers. They are the same on all architectures that Rust's standard library runs the operator on.
const SIGKILL: i32 = 9;
const SIGSEGV: i32 = 11;
const SIGXCPU: i32 = 24;

/// What a program writes when it is refused memory: by the allocator, by a system call, or for a thread's stack.
const NO_MEMORY: [&str; 3] = ["memory allocation of", "Cannot allocate memory", "Resource temporarily unavailable"];

impl Cause {
    /// Derives the cause from the exit status and from what the child wrote to stderr.
    pub fn of(status: ExitStatus, words: &str) -> Self {
        let signal = status.signal();
        if words.contains("overflowed its stack") || signal == Some(SIGSEGV) {
            return Self::Stack;
        }
        if NO_MEMORY.iter().any(|refusal| words.contains(refusal)) {
            return Self::Memory;
        }
        let end = format!("{status} {}", words.lines().last().unwrap_or_default()).trim_end().to_owned();
        match signal {
            Some(SIGXCPU) => Self::Time,
            Some(SIGKILL) => Self::Killed(end),
            _ => Self::Other(end),
        }
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Time => f.write_str("its time is used up"),
            Self::Memory => f.write_str("its memory is used up"),
            Self::Stack => f.write_str("its stack is used up"),
            Self::Killed(end) => {
                write!(f, "its process was killed, maybe for want of memory on the machine: {end}")
            }
            Self::Other(end) => write!(f, "its process ended with {end}"),
        }
    }
}

/// The child's side of [`Work`]: reads the input from stdin and writes the answer to stdout. The work runs on a thread
/// with a stack of its own. Call it from a process that does nothing else.
pub fn serve(
    bounds: Bounds,
    stack: usize,
    work: impl FnOnce(Vec<u8>) -> Result<Vec<u8>, String> + Send + 'static,
) -> ExitCode {
    let done = bounds.apply().and_then(|()| {
        let mut input = Vec::new();
        io::stdin().lock().read_to_end(&mut input)?;
        thread::Builder::new().name("work".into()).stack_size(stack).spawn(move || work(input))?.join().map_err(|_| {
            // The thread has already written the reason to stderr.
            io::Error::other("it panicked")
        })
    });
    let written = match done {
        Ok(Ok(answer)) => io::stdout().lock().write_all(&answer).map(|()| ExitCode::SUCCESS),
        Ok(Err(refusal)) => writeln!(io::stderr(), "{refusal}").map(|()| ExitCode::from(REFUSED)),
        Err(error) => writeln!(io::stderr(), "{error}").map(|()| ExitCode::FAILURE),
    };
    // If the write fails, nobody listens any more.
    written.unwrap_or(ExitCode::FAILURE)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::path::PathBuf;

    use super::*;

    async fn ask(script: &str, deadline: Duration) -> Result<Vec<u8>, Failed> {
        let args = ["-c".to_owned(), script.to_owned()];
        let bounds = bounds(1 << 30);
        let command = PathBuf::from("/bin/sh");
        let work = Work { command: &command, args: &args, bounds, deadline, max_output: 1000 };
        work.ask(b"question").await
    }

    fn bounds(memory: u64) -> Bounds {
        Bounds { memory, cpu: Some(1), time: Some(1) }
    }

    fn cause(answer: Result<Vec<u8>, Failed>) -> Cause {
        match answer.unwrap_err() {
            Failed::Ended(cause) => cause,
            other => unreachable!("{other:?}"),
        }
    }

    #[tokio::test]
    async fn a_child_answers_or_says_why_not() {
        const LONG: Duration = Duration::from_secs(120);
        assert_eq!(
            ask("cat; env | grep -v -e PWD -e SHLVL -e '^_=' -e RAYON -e RJEM; true", LONG).await.unwrap(),
            b"question"
        );
        let refused = ask("cat >/dev/null; echo no >&2; exit 3", LONG).await.unwrap_err();
        assert!(matches!(refused, Failed::Refused(why) if why == "no"));
        for (script, wanted) in [
            ("kill -24 $$", Cause::Time),
            ("kill -11 $$", Cause::Stack),
            ("echo \"thread 'work' has overflowed its stack\" >&2; kill -6 $$", Cause::Stack),
            ("echo 'memory allocation of 9 bytes failed' >&2; kill -6 $$", Cause::Memory),
            ("echo last >&2; exit 9", Cause::Other("exit status: 9 last".to_owned())),
        ] {
            assert_eq!(cause(ask(script, LONG).await), wanted, "{script}");
        }
        assert!(matches!(cause(ask("kill -9 $$", LONG).await), Cause::Killed(_)));
        assert_eq!(cause(ask("exec sleep 1000", Duration::from_millis(50)).await), Cause::Time);
        let work =
            Work { command: Path::new("/nonexistent"), args: &[], bounds: bounds(1), deadline: LONG, max_output: 1 };
        assert!(matches!(work.ask(b"").await, Err(Failed::Start(_))));
    }

    #[tokio::test]
    async fn an_answer_is_read_up_to_its_bound() {
        let flood = cause(ask("exec yes", Duration::from_secs(120)).await);
        assert!(matches!(&flood, Cause::Other(reported) if reported.contains("more than 1000 bytes")), "{flood:?}");
    }
}
