//! Script hooks: a script is joined with the interpreter that it was made for, which all its scripts share,
//! and asked what it is. From then on it's a hook like any other.
//!
//! ```text
//!  script component ─▶ Script ─▶ interpreter by digest, compiled once ─▶ describe ─▶ LoadedHook
//! ```
//!
//! Never runs a script beyond that, and never chooses another interpreter than the one it was made for.

mod finder;
mod host;
mod installed;

use std::{
    collections::HashMap,
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError},
};

pub use finder::{interpreter_files, interpreters_in};
pub(super) use host::Source;
pub use installed::{Compiled, InterpreterError, compile_interpreter};

use super::{
    Sandbox,
    bindings::interpreter::exports::boathook::interpreter::script as wit,
    component::{Candidate, LoadedHook, World},
    error::LoadError,
    invoke,
    limits::Bounds,
};
use crate::model::{AdmissionKind, HookName, InterpreterRef, Script};

/// What makes a hook of an interpreter.
pub(super) struct Scripted {
    /// What the interpreter reads.
    pub(super) source: Arc<Source>,
    /// What its `config` returned.
    pub(super) document: String,
    handlers: Vec<wit::Handler>,
}

impl Scripted {
    /// Whether there is a function for such requests.
    pub(super) fn reviews(&self, kind: AdmissionKind) -> bool {
        let wanted = match kind {
            AdmissionKind::Validating => wit::Handler::Validating,
            AdmissionKind::Mutating => wit::Handler::Mutating,
        };
        self.handlers.contains(&wanted)
    }

    /// Whether there is a function that converts.
    pub(super) fn converts(&self) -> bool {
        self.handlers.contains(&wit::Handler::Conversion)
    }

    /// Whether the interpreter's export is one that the script answers.
    pub(super) fn exports(&self, export: &str) -> bool {
        let named = |interface: &str| export.starts_with(&format!("boathook:hook/{interface}@"));
        match export {
            "config" | "run" => true,
            _ if named("validating") => self.reviews(AdmissionKind::Validating),
            _ if named("mutating") => self.reviews(AdmissionKind::Mutating),
            _ => named("conversion") && self.converts(),
        }
    }
}

/// An interpreter that scripts can be joined with.
pub(super) struct Interpreter {
    /// Its component, loaded as a hook that has no script yet.
    pub(super) component: LoadedHook,
    /// How it is asked about a script.
    pub(super) script: wit::GuestIndices,
}

/// The interpreters of a sandbox.
pub(super) struct Interpreters {
    directories: Vec<PathBuf>,
    /// By digest. Only those that were found on disk.
    loaded: Mutex<HashMap<String, Arc<Interpreter>>>,
    loading: tokio::sync::Mutex<()>,
}

impl Interpreters {
    /// Those in these directories.
    pub(super) fn new(directories: Vec<PathBuf>) -> Self {
        Self { directories, loaded: Mutex::default(), loading: tokio::sync::Mutex::default() }
    }

    fn loaded(&self, digest: &str) -> Option<Arc<Interpreter>> {
        self.loaded.lock().unwrap_or_else(PoisonError::into_inner).get(digest).cloned()
    }

    fn keep(&self, digest: &str, interpreter: &Arc<Interpreter>) {
        self.loaded.lock().unwrap_or_else(PoisonError::into_inner).insert(digest.to_owned(), interpreter.clone());
    }
}

impl Sandbox {
    /// Joins a script with its interpreter, and asks it what it is.
    pub(super) async fn load_script(
        &self,
        name: &HookName,
        bytes: &[u8],
        script: Script,
    ) -> Result<LoadedHook, LoadError> {
        let candidate = Candidate::new(name.clone(), bytes.to_vec(), World::Hook);
        let interpreter = self.interpreter(name, &script.interpreter).await?;
        let source = Source { script: Arc::new(script), compiled: None };
        let described = {
            let _slot = self.slots.acquire().await;
            let _running = self.engine.running();
            let bounds = Bounds::of_config(self.config_limits);
            invoke::describe(self.engine.engine(), &interpreter, name, source.clone(), bounds).await
        };
        let described =
            described.map_err(|failure| LoadError::Script { hook: name.clone(), failure: Box::new(failure) })?;
        let wit::Description { document, handlers, compiled } = described;
        let source = Arc::new(Source { compiled, ..source });
        Ok(LoadedHook::of_script(candidate, &interpreter.component, Scripted { source, document, handlers }))
    }

    /// Whether an interpreter can be used. The name is for errors.
    pub async fn check_interpreter(&self, name: &HookName, wanted: &InterpreterRef) -> Result<(), LoadError> {
        self.interpreter(name, wanted).await.map(drop)
    }

    async fn interpreter(&self, hook: &HookName, wanted: &InterpreterRef) -> Result<Arc<Interpreter>, LoadError> {
        if let Some(loaded) = self.interpreters.loaded(&wanted.digest) {
            return Ok(loaded);
        }
        // One at a time: two hooks would compile the same one.
        let _loading = self.interpreters.loading.lock().await;
        if let Some(loaded) = self.interpreters.loaded(&wanted.digest) {
            return Ok(loaded);
        }
        let interpreter = Arc::new(self.load_interpreter(hook, wanted).await?);
        self.interpreters.keep(&wanted.digest, &interpreter);
        Ok(interpreter)
    }

    async fn load_interpreter(&self, hook: &HookName, wanted: &InterpreterRef) -> Result<Interpreter, LoadError> {
        let (directories, asked) = (self.interpreters.directories.clone(), wanted.clone());
        let found = self.blocking(hook, move |_| finder::find(&directories, &asked)).await?;
        let (bytes, file) = found.map_err(|there| LoadError::NoInterpreter {
            hook: hook.clone(),
            wanted: wanted.to_string(),
            there: finder::told(&self.interpreters.directories, &there),
        })?;
        let unusable = |source: LoadError| LoadError::Interpreter {
            hook: hook.clone(),
            interpreter: wanted.to_string(),
            source: Box::new(source),
        };
        let broken = |source: wasmtime::Error| unusable(LoadError::Types { hook: hook.clone(), source: source.into() });
        let component = self.interpreter_component(hook, &bytes, file).await.map_err(unusable)?;
        let script = wit::GuestIndices::new(component.pre().instance_pre()).map_err(broken)?;
        Ok(Interpreter { component, script })
    }

    /// Compiled when it was installed, or now.
    async fn interpreter_component(
        &self,
        hook: &HookName,
        bytes: &[u8],
        file: PathBuf,
    ) -> Result<LoadedHook, LoadError> {
        let candidate = Candidate::new(hook.clone(), bytes.to_vec(), World::Interpreter);
        let pooled = self.pooled();
        let taken = self
            .blocking(hook, move |loader| match installed::find(&file, candidate.bytes(), pooled) {
                Some(artifact) => loader.load_installed(candidate, &artifact).map(Result::ok),
                None => Ok(None),
            })
            .await??;
        match taken {
            Some(component) => Ok(component),
            None => self.load_component(hook, bytes, World::Interpreter).await,
        }
    }
}
