//! Compiles a component to native code, in a process of its own where one is configured: what the
//! compiler takes of memory goes back to the system, and it can be ended in its work.
//!
//! Never loads what it compiled, and never runs it.

use std::{
    io::{self, Read as _, Write as _},
    path::PathBuf,
    process::{ExitCode, Stdio},
    time::Duration,
};

use tokio::{io::AsyncReadExt as _, io::AsyncWriteExt as _, process::Command, time::timeout};
use wasmtime::Engine;

use super::engine;

/// The exit code of a compiler that refuses the component.
const REFUSED: u8 = 3;
/// The compiler's last words that are read.
const LAST_WORDS: u64 = 16 * 1024;

/// The program that compiles.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CompilerConfig {
    /// Boathook's own executable.
    pub command: PathBuf,
    /// Its arguments. Default `compile-worker`.
    pub args: Vec<String>,
    /// How long one component may take. Default 5 min.
    pub deadline: Duration,
    /// The largest compiled component in bytes. Default 1 GiB.
    pub max_bytes: u64,
}

impl CompilerConfig {
    /// The defaults, with this executable.
    pub fn new(command: impl Into<PathBuf>) -> Self {
        Self {
            command: command.into(),
            args: vec!["compile-worker".to_owned()],
            deadline: Duration::from_secs(300),
            max_bytes: 1024 * 1024 * 1024,
        }
    }
}

/// Why there is no compiled component.
#[derive(Debug)]
pub(super) enum Failed {
    /// The component is to blame.
    Component(String),
    /// The compiler could not be asked.
    Compiler(io::Error),
}

/// Compiles in a process of its own, for an engine of the same kind.
pub(super) async fn compile(config: &CompilerConfig, pooled: bool, component: &[u8]) -> Result<Vec<u8>, Failed> {
    match timeout(config.deadline, ask(config, pooled, component)).await {
        Ok(answer) => answer,
        // The process was killed when its future was dropped.
        Err(_) => Err(Failed::Component(format!("it was not compiled within {:?}", config.deadline))),
    }
}

async fn ask(config: &CompilerConfig, pooled: bool, component: &[u8]) -> Result<Vec<u8>, Failed> {
    let mut child = Command::new(&config.command)
        .args(&config.args)
        .arg(if pooled { "--pooled" } else { "--on-demand" })
        .env_clear()
        .current_dir("/")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        // Ctrl-C is for the host.
        .process_group(0)
        .kill_on_drop(true)
        .spawn()
        .map_err(Failed::Compiler)?;
    let missing = || Failed::Compiler(io::Error::other("a standard stream is missing"));
    let mut input = child.stdin.take().ok_or_else(missing)?;
    let output = child.stdout.take().ok_or_else(missing)?;
    let errors = child.stderr.take().ok_or_else(missing)?;
    let (mut compiled, mut words) = (Vec::new(), Vec::new());
    let written = async {
        // A compiler that gives up early says why.
        let _ = input.write_all(component).await;
        drop(input);
    };
    let (mut output, mut errors) = (output.take(config.max_bytes), errors.take(LAST_WORDS));
    let (read, _, ()) = tokio::join!(output.read_to_end(&mut compiled), errors.read_to_end(&mut words), written);
    read.map_err(Failed::Compiler)?;
    let status = child.wait().await.map_err(Failed::Compiler)?;
    let words = String::from_utf8_lossy(&words).trim().to_owned();
    match status.code() {
        Some(0) => Ok(compiled),
        Some(code) if code == i32::from(REFUSED) => Err(Failed::Component(words)),
        _ => Err(Failed::Component(format!("its compiler ended with {status} {words}").trim_end().to_owned())),
    }
}

/// The other side: a component on stdin, native code on stdout. Call it from a process that does
/// nothing else.
pub fn serve(pooled: bool) -> ExitCode {
    match answer(pooled) {
        Ok(()) => ExitCode::SUCCESS,
        Err(Failed::Component(text)) => {
            let _ = writeln!(io::stderr(), "{text}");
            ExitCode::from(REFUSED)
        }
        Err(Failed::Compiler(error)) => {
            let _ = writeln!(io::stderr(), "{error}");
            ExitCode::FAILURE
        }
    }
}

fn answer(pooled: bool) -> Result<(), Failed> {
    let mut component = Vec::new();
    io::stdin().lock().read_to_end(&mut component).map_err(Failed::Compiler)?;
    let engine = engine::for_compiling(pooled).map_err(|error| Failed::Compiler(io::Error::other(error)))?;
    let compiled = compile_here(&engine, &component).map_err(|error| Failed::Component(format!("{error:#}")))?;
    io::stdout().lock().write_all(&compiled).map_err(Failed::Compiler)
}

/// Compiles in this process.
pub(super) fn compile_here(engine: &Engine, component: &[u8]) -> wasmtime::Result<Vec<u8>> {
    engine.precompile_component(component)
}
