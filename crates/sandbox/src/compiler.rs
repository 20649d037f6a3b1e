//! Compiles a component to native code, in a child process if one is configured. The compiler's memory then goes back
//! to the system, and the operator can end a compilation. The child writes the code to the cache itself, so that its
//! work is kept if the operator crashes in the meantime.
//!
//! This never loads or runs what it compiled.

use std::{
    fs::File,
    io,
    path::{Path, PathBuf},
    process::ExitCode,
    time::Duration,
};

use boathook_core::child::{self, Bounds, Cause, Work};
use wasmtime::Engine;

use super::{cache, engine, limits};

/// The stack of the thread that compiles.
const STACK: usize = 16 * 1024 * 1024;

/// The program that compiles.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CompilerConfig {
    /// Boathook's own executable.
    pub command: PathBuf,
    /// The arguments. Default `compile-worker`.
    pub args: Vec<String>,
    /// How long one component may take. Default 5 min.
    pub deadline: Duration,
    /// The largest compiled component in bytes. Default 256 MiB.
    pub max_bytes: u64,
    /// The memory of the process, in bytes. A component that takes more to compile cannot be used. Default 1 GiB.
    pub memory: u64,
}

impl CompilerConfig {
    /// The defaults, with this executable.
    pub fn new(command: impl Into<PathBuf>) -> Self {
        Self {
            command: command.into(),
            args: vec!["compile-worker".to_owned()],
            deadline: Duration::from_secs(300),
            max_bytes: 256 * 1024 * 1024,
            memory: 1024 * 1024 * 1024,
        }
    }
}

/// Why there is no compiled component.
#[derive(Debug)]
pub(super) enum Failed {
    /// The component is at fault.
    Component(String),
    /// The compiler could not be started.
    Compiler(io::Error),
}

/// What to compile.
pub(super) struct Input<'a> {
    pub(super) component: &'a [u8],
    /// A file with the component, which the compiler holds open, and the path at which it stores the code.
    pub(super) kept: Option<(File, PathBuf)>,
}

/// The kinds of engines. Code for one cannot be used by another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Engines {
    /// With a pool of instances.
    Pooled,
    /// Without one.
    OnDemand,
    /// For the module of filters.
    Filters,
    /// For the engine of charts.
    Charts,
}

impl Engines {
    pub(super) fn of(pooled: bool) -> Self {
        if pooled { Self::Pooled } else { Self::OnDemand }
    }

    fn flag(self) -> &'static str {
        match self {
            Self::Pooled => "--pooled",
            Self::OnDemand => "--on-demand",
            Self::Filters => "--filters",
            Self::Charts => "--charts",
        }
    }
}

/// Compiles in a child process, for an engine of the same kind.
pub(super) async fn compile(config: &CompilerConfig, engines: Engines, input: Input<'_>) -> Result<Vec<u8>, Failed> {
    let mut args = config.args.clone();
    args.push(engines.flag().to_owned());
    if let Some((_, place)) = &input.kept {
        let place =
            place.to_str().ok_or_else(|| Failed::Compiler(io::Error::other("the cache's path is not UTF-8")))?;
        args.extend(["--keep".to_owned(), place.to_owned()]);
    }
    let work = Work {
        command: &config.command,
        args: &args,
        bounds: Bounds { memory: config.memory, cpu: None, time: Some(config.deadline.as_secs().saturating_add(1)) },
        deadline: config.deadline,
        max_output: config.max_bytes,
    };
    let done = match input.kept {
        Some((file, _)) => work.ask_with(file).await,
        None => work.ask(input.component).await,
    };
    done.map_err(|failed| match failed {
        child::Failed::Start(error) => Failed::Compiler(error),
        child::Failed::Refused(why) => Failed::Component(why),
        child::Failed::Ended(cause) => Failed::Component(explain(config, cause)),
    })
}

fn explain(config: &CompilerConfig, cause: Cause) -> String {
    match cause {
        Cause::Time => format!("it was not compiled within {:?}", config.deadline),
        Cause::Memory => format!(
            "to compile it takes more than {} of memory: make the component smaller, or give the operator more (--compile-memory)",
            limits::bytes(config.memory)
        ),
        Cause::Stack => "to compile it takes more stack than the compiler has".to_owned(),
        Cause::Killed(end) => {
            format!("its compiler was killed, maybe because the machine has too little memory: {end}")
        }
        Cause::Other(end) => format!("its compiler ended with {end}"),
    }
}

/// The child process: reads a component from stdin, writes native code to stdout and, if `keep` is given, to that path.
/// Call it from a process that does nothing else.
pub fn serve(bounds: Bounds, engines: Engines, keep: Option<&Path>) -> ExitCode {
    let keep = keep.map(Path::to_owned);
    child::serve(bounds, STACK, move |component| {
        let compiled = match engines {
            Engines::Filters => engine::for_filters().and_then(|engine| compile_module_here(&engine, &component)),
            Engines::Charts => engine::for_charts().and_then(|engine| compile_here(&engine, &component)),
            engines => {
                engine::for_compiling(engines == Engines::Pooled).and_then(|engine| compile_here(&engine, &component))
            }
        };
        let artifact = compiled.map_err(|error| format!("{error:#}"))?;
        if let Some(place) = keep {
            // The parent gets the code anyway, and reports a cache that it cannot write.
            let _ = cache::keep(&place, &artifact);
        }
        Ok(artifact)
    })
}

pub(super) fn compile_here(engine: &Engine, component: &[u8]) -> wasmtime::Result<Vec<u8>> {
    engine.precompile_component(component)
}

pub(super) fn compile_module_here(engine: &Engine, module: &[u8]) -> wasmtime::Result<Vec<u8>> {
    engine.precompile_module(module)
}
