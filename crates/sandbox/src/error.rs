//! Why the sandbox can't be made, and why a component can't be loaded.
//!
//! Never holds how a run failed: that is `model::Failure`.

use std::{io, path::PathBuf};

use boathook_core::model::{Failure, HookName, Limit, ScriptError};

type Source = Box<dyn std::error::Error + Send + Sync + 'static>;

/// The error that ends a run at one of its bounds. `trap.rs` finds it again in what wasmtime
/// returns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{0} reached")]
pub(super) struct Reached(pub Limit);

/// The sandbox can't be made.
#[derive(Debug, thiserror::Error)]
pub enum SandboxError {
    /// wasmtime refuses this machine or this configuration.
    #[error("the wasm engine can't be started")]
    Engine(#[source] Source),
    /// No thread for the clock.
    #[error("the thread that interrupts hooks can't be started")]
    Ticker(#[source] io::Error),
    /// The cache directory can't be made or opened.
    #[error(
        "the compile cache {path} can't be opened; choose a directory that boathook may create, or run without one"
    )]
    Cache {
        /// The directory.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// Someone else could have put code into the cache directory.
    #[error(
        "the compile cache {path} is not used: {reason}; compiled code in it could be forged. Remove it or choose another directory"
    )]
    CacheNotOurs {
        /// The directory.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
}

/// A component can't be loaded. Each text names the hook and what to do.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// A file without content.
    #[error("hook {hook}: the file is empty; build the hook again")]
    Empty {
        /// The hook.
        hook: HookName,
    },
    /// Larger than the host reads.
    #[error(
        "hook {hook}: the component has {size} bytes, at most {max} are loaded; strip debug information or raise the host's maximum"
    )]
    TooManyBytes {
        /// The hook.
        hook: HookName,
        /// Its size in bytes.
        size: u64,
        /// The host's maximum in bytes.
        max: u64,
    },
    /// Not WebAssembly at all.
    #[error("hook {hook}: the file is not WebAssembly (it begins with {start}); a hook is a WASI 0.2 component")]
    NotWasm {
        /// The hook.
        hook: HookName,
        /// The first bytes, printable.
        start: String,
    },
    /// WebAssembly, but a module and not a component.
    #[error(
        "hook {hook}: the file is a core WebAssembly module, not a component; build for wasm32-wasip2, or wrap it with `wasm-tools component new`"
    )]
    CoreModule {
        /// The hook.
        hook: HookName,
    },
    /// A binary format that this host does not know.
    #[error(
        "hook {hook}: the file has WebAssembly's format version {version}, which this boathook does not know; build it with other tools or update boathook"
    )]
    UnknownFormat {
        /// The hook.
        hook: HookName,
        /// As bytes in hexadecimal.
        version: String,
    },
    /// The end is missing.
    #[error(
        "hook {hook}: the component is cut off after {size} bytes: a section needs {missing} more; copy or download it again"
    )]
    Truncated {
        /// The hook.
        hook: HookName,
        /// Bytes that are there.
        size: u64,
        /// Bytes that are missing at least.
        missing: u64,
    },
    /// Does not validate.
    #[error("hook {hook}: the component is not valid; build it again with current tools")]
    Invalid {
        /// The hook.
        hook: HookName,
        /// What the validator said.
        #[source]
        source: Source,
    },
    /// Needs more than the host gives any hook.
    #[error("hook {hook}: the component needs more than the host gives any hook: {what}")]
    TooLarge {
        /// The hook.
        hook: HookName,
        /// What, and how much is allowed.
        what: String,
    },
    /// Not a hook: `config` or `run` is missing.
    #[error(
        "hook {hook}: the component does not export {missing}; a hook exports config and run of {world}, this one exports {found}"
    )]
    MissingExport {
        /// The hook.
        hook: HookName,
        /// `config`, `run` or both.
        missing: String,
        /// The world that hooks are built for.
        world: &'static str,
        /// What it exports instead.
        found: String,
    },
    /// Needs something that no host function gives.
    #[error(
        "hook {hook}: the component imports {import}, which hooks do not get; they get boathook:hook and WASI 0.2 without http"
    )]
    UnknownImport {
        /// The hook.
        hook: HookName,
        /// The import.
        import: String,
    },
    /// Built for a version of our interfaces that this host does not have.
    #[error(
        "hook {hook}: the component imports {import}, this boathook has {supported}; build the hook with a matching SDK or update boathook"
    )]
    OtherVersion {
        /// The hook.
        hook: HookName,
        /// The import with its version.
        import: String,
        /// The versions there are.
        supported: String,
    },
    /// Names fit, types do not.
    #[error(
        "hook {hook}: the component's functions do not have the types of boathook:hook; build it with a matching SDK"
    )]
    Types {
        /// The hook.
        hook: HookName,
        /// Which function, and how it differs.
        #[source]
        source: Source,
    },
    /// The script that the component holds can't be taken out of it.
    #[error("hook {hook}: the script in the component can't be used; build it again")]
    BadScript {
        /// The hook.
        hook: HookName,
        /// What is wrong with it.
        #[source]
        source: ScriptError,
    },
    /// A script's interpreter is not here.
    #[error(
        "hook {hook}: the script was made for the interpreter {wanted}, and {there}; build it again with this boathook, or bring that one by `boathook interpreters pull`"
    )]
    NoInterpreter {
        /// The hook.
        hook: HookName,
        /// What it was made for.
        wanted: String,
        /// What is there instead, and where.
        there: String,
    },
    /// A script's interpreter is here, and can't be used.
    #[error("hook {hook}: the interpreter {interpreter} can't be used")]
    Interpreter {
        /// The hook.
        hook: HookName,
        /// The interpreter.
        interpreter: String,
        /// Why; where it names a hook, it means the interpreter.
        #[source]
        source: Box<LoadError>,
    },
    /// The script does not parse, or failed before it said what it is.
    #[error("hook {hook}: the script can't be used: {failure}")]
    Script {
        /// The hook.
        hook: HookName,
        /// Where and why.
        failure: Box<Failure>,
    },
    /// The compiler crashed.
    #[error("hook {hook}: the compiler failed; this is a fault of boathook or wasmtime, please report it")]
    Compiler {
        /// The hook.
        hook: HookName,
        /// What the task said.
        #[source]
        source: Source,
    },
}
