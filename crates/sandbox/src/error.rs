//! Why the sandbox cannot be created, and why a component cannot be loaded. `model::Failure` says why a run failed.

use std::{io, path::PathBuf};

use boathook_core::model::{Failure, HookName, Limit, ScriptError};

type Source = Box<dyn std::error::Error + Send + Sync + 'static>;

/// The error that ends a run at one of its limits. `trap.rs` finds it again in what wasmtime returns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{0} reached")]
pub(super) struct Reached(pub Limit);

/// Why the sandbox cannot be created.
#[derive(Debug, thiserror::Error)]
pub enum SandboxError {
    /// wasmtime rejects this machine or this configuration.
    #[error("the wasm engine cannot be started")]
    Engine(#[source] Source),
    /// The thread that advances the engine's clock cannot be started.
    #[error("the thread that interrupts hooks cannot be started")]
    Ticker(#[source] io::Error),
    /// The cache directory cannot be created or opened.
    #[error(
        "the compile cache {path} cannot be opened; choose a directory that boathook may create, or run without one"
    )]
    Cache {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    /// Somebody else could have written code to the cache directory.
    #[error(
        "the compile cache {path} is not used: {reason}; compiled code in it could be forged; remove it or choose another directory"
    )]
    CacheNotOurs { path: PathBuf, reason: String },
}

/// Why a component cannot be loaded. Each text names the hook and what to do.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// The file is empty.
    #[error("hook {hook}: the file is empty; build the hook again")]
    Empty { hook: HookName },
    /// The component is larger than the host's maximum.
    #[error(
        "hook {hook}: the component has {size} bytes, at most {max} are loaded; strip debug information or raise the host's maximum"
    )]
    TooManyBytes {
        hook: HookName,
        /// The component's size in bytes.
        size: u64,
        /// The host's maximum in bytes.
        max: u64,
    },
    /// The file is not WebAssembly.
    #[error("hook {hook}: the file is not WebAssembly (it begins with {start}); a hook is a WASI 0.2 component")]
    NotWasm {
        hook: HookName,
        /// The first bytes, in printable form.
        start: String,
    },
    /// The file is a WebAssembly module and not a component.
    #[error(
        "hook {hook}: the file is a core WebAssembly module, not a component; build for wasm32-wasip2, or wrap it with `wasm-tools component new`"
    )]
    CoreModule { hook: HookName },
    /// The file has a binary format that this version of Boathook does not know.
    #[error(
        "hook {hook}: the file has WebAssembly's format version {version}, which this boathook does not know; build it with other tools or update boathook"
    )]
    UnknownFormat {
        hook: HookName,
        /// The version's bytes in hexadecimal.
        version: String,
    },
    /// The end of the component is missing.
    #[error(
        "hook {hook}: the component is cut off after {size} bytes: a section needs {missing} more; copy or download it again"
    )]
    Truncated {
        hook: HookName,
        /// How many bytes there are.
        size: u64,
        /// The least number of bytes that are missing.
        missing: u64,
    },
    /// The component does not validate.
    #[error("hook {hook}: the component is not valid; build it again with current tools")]
    Invalid {
        hook: HookName,
        /// The validator's error.
        #[source]
        source: Source,
    },
    /// The component needs more than the host gives any hook.
    #[error("hook {hook}: the component exceeds a limit for all hooks: {what}")]
    TooLarge {
        hook: HookName,
        /// What it needs, and how much is allowed.
        what: String,
    },
    /// The component is not a hook: `config` or `run` is missing.
    #[error(
        "hook {hook}: the component does not export {missing}; a hook exports config and run of {world}, this one exports {found}"
    )]
    MissingExport {
        hook: HookName,
        /// `config`, `run` or both.
        missing: String,
        /// The world that hooks are built for.
        world: &'static str,
        /// What the component exports instead.
        found: String,
    },
    /// The component imports something that hooks do not get.
    #[error(
        "hook {hook}: the component imports {import}, which hooks cannot import; they can import boathook:hook, WASI 0.2 and requests of wasi:http"
    )]
    UnknownImport { hook: HookName, import: String },
    /// The component was built for a version of our interfaces that this version of Boathook does not have.
    #[error(
        "hook {hook}: the component imports {import}, this boathook has {supported}; build the hook with a matching SDK or update boathook"
    )]
    OtherVersion {
        hook: HookName,
        /// The import with its version.
        import: String,
        /// The versions that this version of Boathook has.
        supported: String,
    },
    /// The names of the exports match, but their types do not.
    #[error(
        "hook {hook}: the component's functions do not have the types of boathook:hook; build it with a matching SDK"
    )]
    Types {
        hook: HookName,
        /// Which function differs, and how.
        #[source]
        source: Source,
    },
    /// The script in the component cannot be read.
    #[error("hook {hook}: the script in the component cannot be used; build it again")]
    BadScript {
        hook: HookName,
        #[source]
        source: ScriptError,
    },
    /// The script's interpreter is not installed.
    #[error(
        "hook {hook}: the script was made for the interpreter {wanted}, and {there}; build it again with this boathook, or get that interpreter with `boathook interpreters pull`"
    )]
    NoInterpreter {
        hook: HookName,
        /// The interpreter that the script was made for.
        wanted: String,
        /// Which interpreters there are instead, and where.
        there: String,
    },
    /// The script's interpreter is installed but cannot be used.
    #[error("hook {hook}: the interpreter {interpreter} cannot be used")]
    Interpreter {
        hook: HookName,
        interpreter: String,
        /// The reason. If it names a hook, it means the interpreter.
        #[source]
        source: Box<LoadError>,
    },
    /// The script does not parse, or it failed before it reported what it is.
    #[error("hook {hook}: the script cannot be used: {failure}")]
    Script {
        hook: HookName,
        /// Where and why it failed.
        failure: Box<Failure>,
    },
    /// The compiler crashed.
    #[error("hook {hook}: the compiler failed; this is a defect of boathook or wasmtime; please report it")]
    Compiler {
        hook: HookName,
        /// The task's error.
        #[source]
        source: Source,
    },
}
