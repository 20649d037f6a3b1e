//! Script hooks: a script is joined with the interpreter that it was made for, and the interpreter describes it. All
//! scripts of an interpreter share it. From then on, the script is a hook like any other.
//!
//! ```text
//!  script component ─▶ Script ─▶ interpreter by digest, compiled once ─▶ describe ─▶ LoadedHook
//! ```
//!
//! Loading runs a script no further than that. It never chooses another interpreter than the one that the script was
//! made for.

mod finder;
mod installed;

use std::{
    collections::HashMap,
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError},
};

use futures::future::FutureExt as _;
use wasmtime::Engine;

pub use finder::{interpreter_files, interpreters_in};
pub use installed::{Compiled, InterpreterError, compile_interpreter};

use boathook_core::{
    fair::Tenant,
    model::{Failure, HookName, InterpreterRef, Script},
};

use super::{
    Sandbox,
    bindings::{
        functions::exports::boathook::interpreter::functions as listed,
        interpreter::exports::boathook::interpreter::script as wit,
    },
    component::{Candidate, Interpreter, LoadedHook},
    component_type::World,
    error::LoadError,
    invoke,
    limits::Bounds,
    script::{Scripted, Source},
};

/// The interpreters of a sandbox.
pub(super) struct Interpreters {
    directories: Vec<PathBuf>,
    /// Called before an interpreter is compiled.
    compiles: Option<fn()>,
    /// By digest. Contains only interpreters that were found on disk.
    loaded: Mutex<HashMap<String, Arc<Interpreter>>>,
    loading: tokio::sync::Mutex<()>,
}

impl Interpreters {
    pub(super) fn new(directories: Vec<PathBuf>, compiles: Option<fn()>) -> Self {
        Self { directories, compiles, loaded: Mutex::default(), loading: tokio::sync::Mutex::default() }
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
        let (described, functions) =
            described.map_err(|failure| LoadError::Script { hook: name.clone(), failure: Box::new(failure) })?;
        let wit::Description { document, handlers, compiled } = described;
        let source = Arc::new(Source { compiled, ..source });
        Ok(LoadedHook::of_script(candidate, &interpreter.component, Scripted { source, document, handlers, functions }))
    }

    /// Checks whether an interpreter can be used. `name` appears in errors.
    pub async fn check_interpreter(&self, name: &HookName, wanted: &InterpreterRef) -> Result<(), LoadError> {
        self.interpreter(&Tenant::hook(name.as_str()), name, wanted).await.map(drop)
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
        let component = self.interpreter_component(tenant, hook, &bytes, file).await.map_err(unusable)?;
        let script = wit::GuestIndices::new(component.pre().instance_pre()).map_err(broken)?;
        let functions = listed::GuestIndices::new(component.pre().instance_pre()).ok();
        Ok(Interpreter { component, script, functions })
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
            .blocking(hook, move |loader| match installed::find(&file, candidate.bytes(), pooled) {
                Some(artifact) => loader.load_installed(candidate, &artifact).map(Result::ok),
                None => loader.load_cached(candidate).map(Result::ok),
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
