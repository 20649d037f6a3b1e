//! Script hooks: a script is joined with the interpreter that it was made for, and the interpreter describes it. All
//! scripts of an interpreter share it. From then on, the script is a hook like any other.
//!
//! ```text
//!  script component ─▶ Script ─▶ interpreter by digest, compiled once ─▶ describe ─▶ LoadedHook
//! ```
//!
//! Loading runs a script no further than that. It never chooses another interpreter than the one that the script was
//! made for.

use std::{
    collections::HashMap,
    fs, io,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use boathook_core::{
    fair::Tenant,
    model::{Failure, HookName, InterpreterRef, Limits, Resource, Script, ScriptUses},
};
use futures::future::FutureExt as _;
use sha2::{Digest as _, Sha256};
use wasmtime::Engine;

use crate::{
    ENGINE, Sandbox,
    cache::{self, Artifact, hex},
    compiler,
    component::{Candidate, Interpreter, LoadedHook},
    component_type::World,
    engine,
    error::LoadError,
    host::OnlyKinds,
    invoke::{self, Described},
    limits::Bounds,
    script::{Scripted, Source},
    wit::{
        definitions::exports::boathook::interpreter::definitions as defined,
        functions::exports::boathook::interpreter::functions as listed,
        interpreter::exports::boathook::interpreter::script as wit, uses::exports::boathook::interpreter::uses as used,
    },
};

/// The interpreters of a sandbox.
pub(super) struct Interpreters {
    directories: Vec<PathBuf>,
    /// Called before an interpreter is compiled.
    compiles: Option<fn()>,
    /// The newest ones, by name. Their digests take a while.
    newest: Mutex<HashMap<String, InterpreterRef>>,
    /// By digest. Contains only interpreters that were found on disk.
    loaded: Mutex<HashMap<String, Arc<Interpreter>>>,
    loading: tokio::sync::Mutex<()>,
}

impl Interpreters {
    pub(super) fn new(directories: Vec<PathBuf>, compiles: Option<fn()>) -> Self {
        let (newest, loaded) = (Mutex::default(), Mutex::default());
        Self { directories, compiles, newest, loaded, loading: tokio::sync::Mutex::default() }
    }

    fn loaded(&self, digest: &str) -> Option<Arc<Interpreter>> {
        self.loaded.lock().unwrap_or_else(PoisonError::into_inner).get(digest).cloned()
    }

    fn keep(&self, digest: &str, interpreter: &Arc<Interpreter>) {
        self.loaded.lock().unwrap_or_else(PoisonError::into_inner).insert(digest.to_owned(), interpreter.clone());
    }
}

impl Sandbox {
    /// Joins a script with its interpreter, and lets the interpreter describe it.
    pub(super) async fn load_script(
        &self,
        tenant: &Tenant,
        name: &HookName,
        bytes: &[u8],
        script: Script,
    ) -> Result<LoadedHook, LoadError> {
        let candidate = Candidate::new(name.clone(), tenant.clone(), bytes.to_vec(), World::Hook);
        let interpreter = self.interpreter(tenant, name, &script.interpreter).await?;
        let source = Source { script: Arc::new(script), compiled: None };
        let described = {
            let _turn = self.asking.take(tenant, 1).await;
            match self.rooms.whole(tenant, self.config_limits.memory).await {
                Ok(room) => {
                    let given = self.given(tenant, Bounds::of_config(self.config_limits), room);
                    let (name, interpreter, source) = (name.clone(), interpreter.clone(), source.clone());
                    let call = |engine: Engine, given| {
                        async move { invoke::describe(&engine, &interpreter, &name, source, given).await }.boxed()
                    };
                    self.call(given, None, call).await.0
                }
                Err(error) => Err(Failure::of_host(error.to_string())),
            }
        };
        let Described { description, functions, definitions } =
            described.map_err(|failure| LoadError::Script { hook: name.clone(), failure: Box::new(failure) })?;
        let wit::Description { document, handlers, compiled } = description;
        let source = Arc::new(Source { compiled, ..source });
        let scripted = Scripted { source, document, handlers, functions, definitions };
        Ok(LoadedHook::of_script(candidate, &interpreter.component, scripted))
    }

    /// Lists what a script uses, also of one that cannot be loaded. It has no grants, and finds kinds with `resolve`. None if
    /// its interpreter does not tell.
    pub async fn uses(
        &self,
        name: &HookName,
        script: Script,
        resolve: impl Fn(&str, Option<&str>) -> Option<Resource> + Send + Sync + 'static,
    ) -> Result<Option<ScriptUses>, LoadError> {
        let tenant = Tenant::hook(name.as_str());
        let interpreter = self.interpreter(&tenant, name, &script.interpreter).await?;
        if interpreter.uses.is_none() {
            return Ok(None);
        }
        let limits = Limits { memory: READING.memory.min(self.maxima.memory), ..READING };
        let source = Source { script: Arc::new(script), compiled: None };
        let listed = match self.rooms.whole(&tenant, limits.memory).await {
            Ok(room) => {
                let given = self.given(&tenant, Bounds::of_config(limits), room);
                let (named, host) = (name.clone(), Arc::new(OnlyKinds::new(resolve)));
                let call = |engine: Engine, given| {
                    async move { invoke::uses(&engine, &interpreter, &named, source, given, host).await }.boxed()
                };
                self.call(given, None, call).await.0
            }
            Err(error) => Err(Failure::of_host(error.to_string())),
        };
        listed.map(Some).map_err(|failure| LoadError::Script { hook: name.clone(), failure: Box::new(failure) })
    }

    /// Checks whether an interpreter can be used. `name` appears in errors.
    pub async fn check_interpreter(&self, name: &HookName, wanted: &InterpreterRef) -> Result<(), LoadError> {
        self.interpreter(&Tenant::hook(name.as_str()), name, wanted).await.map(drop)
    }

    /// The newest interpreter with this name.
    pub async fn newest_interpreter(&self, name: &str) -> Option<InterpreterRef> {
        let newest = || self.interpreters.newest.lock().unwrap_or_else(PoisonError::into_inner);
        let known = newest().get(name).cloned();
        if known.is_some() {
            return known;
        }
        let (directories, wanted) = (self.interpreters.directories.clone(), name.to_owned());
        let search = move || InterpreterRef::newest(&interpreters_of(&directories, &wanted), &wanted);
        let found = tokio::task::spawn_blocking(search).await.ok()??;
        newest().insert(name.to_owned(), found.clone());
        Some(found)
    }

    async fn interpreter(
        &self,
        tenant: &Tenant,
        hook: &HookName,
        wanted: &InterpreterRef,
    ) -> Result<Arc<Interpreter>, LoadError> {
        if let Some(loaded) = self.interpreters.loaded(&wanted.digest) {
            return Ok(loaded);
        }
        // One at a time, because two hooks would otherwise compile the same interpreter.
        let _loading = self.interpreters.loading.lock().await;
        if let Some(loaded) = self.interpreters.loaded(&wanted.digest) {
            return Ok(loaded);
        }
        let interpreter = Arc::new(self.load_interpreter(tenant, hook, wanted).await?);
        self.interpreters.keep(&wanted.digest, &interpreter);
        Ok(interpreter)
    }

    async fn load_interpreter(
        &self,
        tenant: &Tenant,
        hook: &HookName,
        wanted: &InterpreterRef,
    ) -> Result<Interpreter, LoadError> {
        let (directories, asked) = (self.interpreters.directories.clone(), wanted.clone());
        let found = self.blocking(hook, move |_| find(&directories, &asked)).await?;
        let (bytes, file) = found.map_err(|there| LoadError::NoInterpreter {
            hook: hook.clone(),
            wanted: wanted.to_string(),
            there: describe_available(&self.interpreters.directories, &there),
        })?;
        let unusable = |source: LoadError| LoadError::Interpreter {
            hook: hook.clone(),
            interpreter: wanted.to_string(),
            source: Box::new(source),
        };
        let broken = |source: wasmtime::Error| unusable(LoadError::Types { hook: hook.clone(), source: source.into() });
        let component = self.interpreter_component(tenant, hook, &bytes, file).await.map_err(unusable)?;
        let script = wit::GuestIndices::new(component.pre().instance_pre()).map_err(broken)?;
        let functions = listed::GuestIndices::new(component.pre().instance_pre()).ok();
        let definitions = defined::GuestIndices::new(component.pre().instance_pre()).ok();
        let uses = used::GuestIndices::new(component.pre().instance_pre()).ok();
        Ok(Interpreter { component, script, functions, definitions, uses })
    }

    /// Loads the code that was compiled at installation, or else compiles the interpreter now.
    async fn interpreter_component(
        &self,
        tenant: &Tenant,
        hook: &HookName,
        bytes: &[u8],
        file: PathBuf,
    ) -> Result<LoadedHook, LoadError> {
        let candidate = Candidate::new(hook.clone(), tenant.clone(), bytes.to_vec(), World::Interpreter);
        let pooled = self.pooled();
        let taken = self
            .blocking(hook, move |loader| {
                match installed(
                    file.parent().unwrap_or(&file),
                    &name(&digest(candidate.bytes()), Installed::of(pooled)),
                ) {
                    Some(artifact) => loader.load_installed(candidate, &artifact).map(Result::ok),
                    None => loader.load_cached(candidate).map(Result::ok),
                }
            })
            .await??;
        match taken {
            Some(component) => Ok(component),
            None => {
                self.interpreters.compiles.iter().for_each(|tell| tell());
                self.load_component(tenant, hook, bytes, World::Interpreter).await
            }
        }
    }
}

/// What an interpreter may use to read a script. It tries each command.
const READING: Limits = Limits {
    memory: 256 << 20,
    time: Duration::from_secs(120),
    host_calls: 100_000,
    host_bytes: 64 << 20,
    log_bytes: 64 << 10,
};

/// The name of the component that renders charts. It lies among the interpreters, and runs no scripts.
pub(super) const CHARTS: &str = "helm";
const CHART_FILES: &str = "helm-";

/// The folder next to the interpreters.
const FOLDER: &str = "compiled";

/// Why an interpreter is not compiled.
#[derive(Debug, thiserror::Error)]
pub enum InterpreterError {
    /// It cannot be read, or its code cannot be written.
    #[error("cannot use {}", path.display())]
    File { path: PathBuf, source: io::Error },
    /// It does not compile.
    #[error("{} does not compile: {reason}", path.display())]
    Component {
        path: PathBuf,
        /// The compiler's message.
        reason: String,
    },
}

/// The result of compiling an interpreter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Compiled {
    /// The bytes of the code, for all kinds of engines.
    pub bytes: u64,
    /// Whether the code was there already.
    pub kept: bool,
}

/// Compiles an interpreter for operators of this version on machines of this architecture, with a pool of instances and
/// without one. This takes seconds for a large interpreter.
pub fn compile_interpreter(file: &Path) -> Result<Compiled, InterpreterError> {
    let component = fs::read(file).map_err(|source| InterpreterError::File { path: file.to_owned(), source })?;
    let (directory, digest) = (file.parent().unwrap_or(file), digest(&component));
    if file.file_name().and_then(|name| name.to_str()).is_some_and(|name| name.starts_with(CHART_FILES)) {
        return install(directory, &name(&digest, Installed::Charts), || {
            compiler::compile_here(&engine::charts_for_any_machine()?, &component)
        });
    }
    let mut compiled = Compiled { bytes: 0, kept: true };
    for pooled in [true, false] {
        let one = install(directory, &name(&digest, Installed::of(pooled)), || {
            compiler::compile_here(&engine::for_any_machine(pooled)?, &component)
        });
        let one = one.map_err(|error| match error {
            InterpreterError::Component { reason, .. } => InterpreterError::Component { path: file.to_owned(), reason },
            error => error,
        })?;
        compiled = Compiled { bytes: compiled.bytes + one.bytes, kept: compiled.kept && one.kept };
    }
    Ok(compiled)
}

/// Stores code in a directory of interpreters, if it is not there yet.
pub(super) fn install(
    directory: &Path,
    name: &str,
    compile: impl FnOnce() -> wasmtime::Result<Vec<u8>>,
) -> Result<Compiled, InterpreterError> {
    let failed = |path: &Path| {
        let path = path.to_owned();
        move |source| InterpreterError::File { path, source }
    };
    let folder = directory.join(FOLDER);
    fs::create_dir_all(&folder).map_err(failed(&folder))?;
    let path = folder.join(name);
    if let Ok(Some(there)) = cache::installed(&folder, name) {
        return Ok(Compiled { bytes: there.size, kept: true });
    }
    let artifact =
        compile().map_err(|error| InterpreterError::Component { path: path.clone(), reason: format!("{error:#}") })?;
    // Readers find nothing, or the whole file.
    let beside = folder.join(format!("{name}.new"));
    let written = fs::write(&beside, [artifact.as_slice(), &cache::seal(&artifact)].concat());
    written.and_then(|()| fs::rename(&beside, &path)).map_err(failed(&path))?;
    Ok(Compiled { bytes: artifact.len() as u64, kept: false })
}

/// Returns the code of this name, if it was compiled at installation next to the interpreters in a directory.
pub(super) fn installed(directory: &Path, name: &str) -> Option<Artifact> {
    let folder = directory.join(FOLDER);
    cache::installed(&folder, name).unwrap_or_else(|error| {
        tracing::warn!(path = %folder.join(name).display(), "installed code is not used: {error}");
        None
    })
}

/// The kinds of code.
#[derive(Debug, Clone, Copy)]
pub(super) enum Installed {
    Pooled,
    Plain,
    Filters,
    Charts,
}

impl Installed {
    fn of(pooled: bool) -> Self {
        if pooled { Self::Pooled } else { Self::Plain }
    }
}

/// Code for another engine, another version or another kind of operator has another name.
pub(super) fn name(digest: &[u8; 32], kind: Installed) -> String {
    let (digest, engine) = (cache::hex(digest), ENGINE.replace(' ', ""));
    let kind = match kind {
        Installed::Pooled => "pooled",
        Installed::Plain => "plain",
        Installed::Filters => "filters",
        Installed::Charts => "charts",
    };
    format!("{digest}-{engine}-{}-{}-{kind}.cwasm", env!("CARGO_PKG_VERSION"), std::env::consts::ARCH)
}

pub(super) fn digest(component: &[u8]) -> [u8; 32] {
    Sha256::digest(component).into()
}

/// How many files of one directory are read.
const MAX_FILES: usize = 256;

/// All interpreters in these directories, sorted by directory and then by name.
pub fn interpreters_in(directories: &[PathBuf]) -> Vec<InterpreterRef> {
    interpreter_files(directories).into_iter().map(|(interpreter, _)| interpreter).collect()
}

fn interpreters_of(directories: &[PathBuf], name: &str) -> Vec<InterpreterRef> {
    let read = |(stem, path): (String, PathBuf)| Some(named(&stem, &fs::read(path).ok()?));
    candidates(directories, Some(name)).into_iter().filter_map(read).collect()
}

/// All interpreters in these directories, with their files.
pub fn interpreter_files(directories: &[PathBuf]) -> Vec<(InterpreterRef, PathBuf)> {
    let read = |(stem, path): (String, PathBuf)| Some((named(&stem, &fs::read(&path).ok()?), path));
    candidates(directories, None).into_iter().filter_map(read).collect()
}

/// The newest component with this name, and its file.
pub(super) fn newest(directories: &[PathBuf], name: &str) -> Option<(InterpreterRef, PathBuf)> {
    let read = |(stem, path): (String, PathBuf)| Some((named(&stem, &fs::read(&path).ok()?), path));
    let found: Vec<_> = candidates(directories, Some(name)).into_iter().filter_map(read).collect();
    let all: Vec<_> = found.iter().map(|(one, _)| one.clone()).collect();
    let newest = InterpreterRef::newest(&all, name)?;
    found.into_iter().find(|(one, _)| *one == newest)
}

/// Finds the component with this digest, and its file. If there is none, returns the interpreters with the same name.
fn find(directories: &[PathBuf], wanted: &InterpreterRef) -> Result<(Vec<u8>, PathBuf), Vec<InterpreterRef>> {
    let mut others = Vec::new();
    for (stem, path) in candidates(directories, Some(&wanted.name)) {
        let Ok(bytes) = fs::read(&path) else { continue };
        let found = named(&stem, &bytes);
        if found.digest == wanted.digest {
            return Ok((bytes, path));
        }
        others.push(found);
    }
    Err(others)
}

/// Describes what there is instead, for people.
fn describe_available(directories: &[PathBuf], there: &[InterpreterRef]) -> String {
    if directories.is_empty() {
        return "no directory of interpreters is known".to_owned();
    }
    let places: Vec<_> = directories.iter().map(|directory| directory.display().to_string()).collect();
    let places = places.join(", ");
    let mut names: Vec<_> = there.iter().map(InterpreterRef::to_string).collect();
    names.dedup();
    if names.is_empty() {
        format!("{places} has none of this name")
    } else {
        format!("{places} has {}", names.join(", "))
    }
}

/// The stems and paths of files `NAME-VERSION.wasm`.
fn candidates(directories: &[PathBuf], name: Option<&str>) -> Vec<(String, PathBuf)> {
    directories.iter().flat_map(|directory| in_directory(directory, name)).collect()
}

fn in_directory(directory: &Path, name: Option<&str>) -> Vec<(String, PathBuf)> {
    let Ok(entries) = fs::read_dir(directory) else { return Vec::new() };
    let mut found: Vec<_> = entries
        .filter_map(|entry| {
            let path = entry.ok()?.path();
            let stem = path.file_name()?.to_str()?.strip_suffix(".wasm")?.to_owned();
            let (own, _) = stem.split_once('-')?;
            (name.is_none_or(|name| name == own) && path.is_file()).then_some((stem, path))
        })
        .take(MAX_FILES)
        .collect();
    found.sort();
    found
}

fn named(stem: &str, bytes: &[u8]) -> InterpreterRef {
    let (name, version) = stem.split_once('-').unwrap_or((stem, ""));
    let digest = format!("sha256:{}", hex(&Sha256::digest(bytes)));
    InterpreterRef { name: name.to_owned(), version: version.to_owned(), digest }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
    use super::*;

    #[test]
    fn the_digest_decides_and_not_the_name() {
        let dir = tempfile::tempdir().unwrap();
        let directories = [PathBuf::from("/nonexistent"), dir.path().to_owned()];
        for (file, content) in
            [("js-0.1.0.wasm", "new"), ("js-0.1.0-old.wasm", "old"), ("py-3.wasm", "py"), ("js.txt", "")]
        {
            fs::write(dir.path().join(file), content).unwrap();
        }
        let all = interpreters_in(&directories);
        let names: Vec<_> = all.iter().map(|found| (found.name.as_str(), found.version.as_str())).collect();
        assert_eq!(names, [("js", "0.1.0"), ("js", "0.1.0-old"), ("py", "3")]);
        let wanted = InterpreterRef { version: "9".into(), ..all[1].clone() };
        assert_eq!(find(&directories, &wanted).unwrap(), (b"old".to_vec(), dir.path().join("js-0.1.0-old.wasm")));
        let missing = InterpreterRef { digest: all[2].digest.clone(), ..wanted };
        let there = find(&directories, &missing).unwrap_err();
        assert_eq!(there, all[..2]);
        assert!(describe_available(&directories, &there).contains("js 0.1.0-old (sha256:"));
        assert!(describe_available(&[], &[]).contains("no directory"));
    }
}
