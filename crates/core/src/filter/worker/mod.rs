//! A separate process for filters that may not end: the child's side, the parent's side, and their limits.
//!
//! For the parent, no wait exceeds a deadline, and no process is left behind: dropping a worker kills its process.

mod frame;

use std::{
    io::{self, Write as _},
    path::PathBuf,
    process::ExitCode,
    sync::mpsc,
    thread,
    time::Duration,
};

use rustix::{
    process::{Resource, Rlimit, getrlimit, setrlimit},
    time::{ClockId, clock_gettime},
};
use tokio::{
    io::{AsyncReadExt as _, BufReader},
    process::{Child, ChildStderr, ChildStdin, ChildStdout},
    time::timeout,
};

use self::frame::{Frame, Tag, malformed};
use super::jq::{self, Compiled, FilterError, FilterLimit, Outputs};
use crate::{
    child::{self, Bounds, Cause},
    memory,
};

/// How long to wait for the stderr, and for the end, of a process that was killed.
const END: Duration = Duration::from_secs(15);
/// How many bytes of a dead worker's stderr are read.
const LAST_WORDS: u64 = 4096;

/// How workers are started, and what they may use.
#[derive(Debug, Clone)]
pub struct WorkerConfig {
    /// The program to start. It must end in [`serve`].
    pub command: PathBuf,
    /// Its arguments. Default: `filter-worker`.
    pub args: Vec<String>,
    /// The memory of one worker for values, in bytes. Default: 168 MiB.
    pub memory: u64,
    /// The CPU time of one evaluation, in whole seconds, rounded up. Default: 1 s.
    pub cpu_time: Duration,
    /// How long a process may take to be ready, and how long to answer, in wall-clock time. This is much longer than
    /// `cpu_time`, because a process that uses no CPU time waits for the machine, and that is not the filter's fault.
    /// Default: 30 s.
    pub patience: Duration,
    /// The most processes at a time, including those that check settings. Tenants share them. Default: 4.
    pub max_workers: usize,
    /// A worker that is idle for this long is stopped. Default: 30 s.
    pub idle: Duration,
}

impl WorkerConfig {
    /// The defaults, with this command.
    pub fn new(command: impl Into<PathBuf>) -> Self {
        Self {
            command: command.into(),
            args: vec!["filter-worker".into()],
            memory: VALUES,
            cpu_time: Duration::from_secs(1),
            patience: Duration::from_secs(30),
            max_workers: 4,
            idle: Duration::from_secs(30),
        }
    }

    /// The defaults, with this process's own executable.
    pub fn of_this_process() -> io::Result<Self> {
        Ok(Self::new(std::env::current_exe()?))
    }

    fn cpu_seconds(&self) -> u32 {
        let whole = u32::try_from(self.cpu_time.as_secs()).unwrap_or(u32::MAX);
        whole.saturating_add(u32::from(self.cpu_time.subsec_nanos() > 0)).max(1)
    }

    fn limits(&self) -> Limits {
        Limits { memory: self.memory, cpu: self.cpu_seconds() }
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
    cpu_time: Duration,
    patience: Duration,
}

impl Worker {
    /// Starts a process, and waits until it has compiled the program.
    pub async fn start(config: &WorkerConfig, program: &str) -> Result<Self, FilterError> {
        let mut worker = Self::spawn(config).map_err(FilterError::Worker)?;
        let ready = timeout(config.patience, async {
            config.limits().frame(program).send(&mut worker.input).await?;
            Frame::receive(&mut worker.output).await
        });
        match ready.await {
            Ok(Ok(Frame { tag: Tag::Ready, .. })) => Ok(worker),
            Ok(Ok(_)) => Err(FilterError::Worker(malformed("no ready frame"))),
            Ok(Err(_)) => Err(worker.not_started().await),
            Err(_) => Err(FilterError::Late(config.patience)),
        }
    }

    fn spawn(config: &WorkerConfig) -> io::Result<Self> {
        let mut child = child::start(&config.command, &config.args, config.limits().bounds(), None)?;
        let missing = || io::Error::other("a standard stream is missing");
        Ok(Self {
            input: child.stdin.take().ok_or_else(missing)?,
            output: BufReader::new(child.stdout.take().ok_or_else(missing)?),
            errors: child.stderr.take().ok_or_else(missing)?,
            child,
            memory: config.memory,
            cpu_time: Duration::from_secs(config.cpu_seconds().into()),
            patience: config.patience,
        })
    }

    /// Evaluates the program on an object. After an error that is not the program's own, the worker cannot be used any
    /// more. The process itself ends when its CPU time is used up.
    pub async fn evaluate(&mut self, json: &str) -> Result<Outputs, FilterError> {
        let answer = timeout(self.patience, async {
            Frame::text(Tag::Object, json).send(&mut self.input).await?;
            Frame::receive(&mut self.output).await
        });
        match answer.await {
            Ok(Ok(frame)) => frame.into_result(),
            Ok(Err(_)) => Err(self.failed().await),
            Err(_) => {
                // Killing fails only if the process is already dead.
                let _ = self.child.start_kill();
                Err(FilterError::Late(self.patience))
            }
        }
    }

    /// Kills the process, if it is still there, and returns why it ended.
    async fn post_mortem(&mut self) -> Result<Cause, FilterError> {
        let _ = self.child.start_kill();
        let mut words = Vec::new();
        let _ = timeout(END, (&mut self.errors).take(LAST_WORDS).read_to_end(&mut words)).await;
        match timeout(END, self.child.wait()).await {
            Ok(Ok(status)) => Ok(Cause::of(status, &String::from_utf8_lossy(&words))),
            Ok(Err(error)) => Err(FilterError::Worker(error)),
            Err(_) => Err(FilterError::Killed("it does not end".into())),
        }
    }

    /// If the process reached a limit of its own, the program is the reason. If something else killed it, the program
    /// is not.
    async fn failed(&mut self) -> FilterError {
        match self.post_mortem().await {
            Ok(Cause::Stack) => FilterError::Limit(FilterLimit::Stack),
            Ok(Cause::Memory) => FilterError::Limit(FilterLimit::Memory(self.memory)),
            Ok(Cause::Time) => FilterError::Limit(FilterLimit::Time(self.cpu_time)),
            Ok(cause) => FilterError::Killed(cause.to_string()),
            Err(error) => error,
        }
    }

    /// The process has seen no object, and the program was compiled here before. So neither is the reason for its end.
    async fn not_started(&mut self) -> FilterError {
        match self.post_mortem().await {
            Ok(cause) => FilterError::Killed(format!("it did not start: {cause}")),
            Err(error) => error,
        }
    }
}

/// Runs the worker on the process's standard streams: compiles one program, then answers objects until its input ends.
/// Call it from a process that does nothing else.
///
/// After its bounds are set, it opens neither files nor connections. It never outlives its parent: the main thread only
/// reads, and exits at the end of the input even while the other thread evaluates.
pub fn serve(bounds: Bounds) -> ExitCode {
    match bounds.apply().and_then(|()| work()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => ExitCode::SUCCESS,
        Err(error) => {
            // The parent reads this stream when the process has ended.
            let _ = writeln!(io::stderr(), "filter worker: {error}");
            ExitCode::FAILURE
        }
    }
}

fn work() -> io::Result<()> {
    let mut input = io::stdin().lock();
    let (limits, program) = Limits::from_frame(Frame::read(&mut input)?)?;
    let (program, _) = jq::compile(&program).map_err(io::Error::other)?;
    let (objects, next) = mpsc::sync_channel::<String>(1);
    thread::Builder::new().name("filter".into()).stack_size(STACK).spawn(move || {
        if let Err(error) = answer(&program, &next, limits) {
            let _ = writeln!(io::stderr(), "filter worker: {error}");
            std::process::exit(1);
        }
    })?;
    loop {
        let frame = Frame::read(&mut input)?;
        if frame.tag != Tag::Object {
            return Err(malformed("not an object"));
        }
        if objects.send(frame.into_text()?).is_err() {
            return Err(io::Error::other("the evaluating thread ended"));
        }
    }
}

fn answer(program: &Compiled, objects: &mpsc::Receiver<String>, limits: Limits) -> io::Result<()> {
    let mut output = io::stdout().lock();
    Frame::text(Tag::Ready, "").write(&mut output)?;
    for object in objects {
        limits.allow_cpu()?;
        Frame::from_result(jq::run(program, &object)).write(&mut output)?;
    }
    Ok(())
}

/// The stack of the thread that evaluates.
const STACK: usize = 64 * 1024 * 1024;
/// The code's own data, the stacks of other threads, and buffers for one object and one result.
const BASE: u64 = 24 * 1024 * 1024;

/// What a worker may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Limits {
    /// The approximate bytes of memory for values.
    memory: u64,
    /// The CPU seconds of one evaluation. The kernel ends a process that uses more.
    cpu: u32,
}

/// The bytes for values in a worker of the usual size.
const VALUES: u64 = memory::WORKER - STACK as u64 - BASE;

impl Limits {
    /// The first frame to a worker.
    fn frame(self, program: &str) -> Frame {
        let mut payload = Vec::with_capacity(12 + program.len());
        payload.extend(self.memory.to_le_bytes());
        payload.extend(self.cpu.to_le_bytes());
        payload.extend(program.as_bytes());
        Frame { tag: Tag::Program, payload }
    }

    /// Reads the first frame.
    fn from_frame(frame: Frame) -> io::Result<(Self, String)> {
        let short = || malformed("no program");
        if frame.tag != Tag::Program {
            return Err(short());
        }
        let (memory, rest) = frame.payload.split_first_chunk().ok_or_else(short)?;
        let (cpu, program) = rest.split_first_chunk().ok_or_else(short)?;
        let limits = Self { memory: u64::from_le_bytes(*memory), cpu: u32::from_le_bytes(*cpu) };
        Ok((limits, String::from_utf8(program.to_vec()).map_err(|_| short())?))
    }

    /// What the worker's process may use. The CPU time is bounded for each evaluation separately.
    fn bounds(self) -> Bounds {
        Bounds { memory: self.memory.saturating_add(STACK as u64).saturating_add(BASE), cpu: None, time: None }
    }

    /// Lets the process use the CPU for one more evaluation. The kernel counts whole seconds, so an evaluation may use
    /// up to one second more.
    fn allow_cpu(self) -> io::Result<()> {
        let used = Duration::try_from(clock_gettime(ClockId::ProcessCPUTime)).map_err(io::Error::other)?;
        let limit = used.as_secs() + 1 + u64::from(self.cpu);
        let maximum = getrlimit(Resource::Cpu).maximum;
        setrlimit(Resource::Cpu, Rlimit { current: Some(limit), maximum })?;
        Ok(())
    }
}
