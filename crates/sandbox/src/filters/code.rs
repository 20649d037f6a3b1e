//! The module in which filters run, as native code: installed with this program, from the cache, or compiled when the
//! first filter comes.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use boathook_core::filter::FilterError;
use miniz_oxide::inflate::decompress_to_vec;
use sha2::{Digest as _, Sha256};
use tokio::{
    sync::OnceCell,
    task::spawn_blocking,
    time::{Instant, sleep},
};
use wasmtime::{Engine, Module};

use super::instance::{self, Code as Linked};
use crate::{
    cache::{Artifact, Cache, Claim, InUse, Key},
    compiler::{self, CompilerConfig, Engines, Failed, Input},
    component::Loader,
    engine,
    interpreters::{self, Installed, InterpreterError},
    load::LOOK_AGAIN,
};

/// What `tools/build-filters` makes of `interpreters/jq`. It is committed, so that a bare `cargo build` makes a whole
/// program. The header of gzip, without a name, has ten bytes; its trailer is ignored.
const PACKED: &[u8] = include_bytes!("jq.wasm.gz");
const HEADER: usize = 10;

/// The module, as WebAssembly.
fn module() -> wasmtime::Result<Vec<u8>> {
    let packed = PACKED.get(HEADER..).unwrap_or_default();
    decompress_to_vec(packed).map_err(|error| wasmtime::Error::msg(format!("the module is damaged: {error}")))
}

/// The code of one set of filters.
pub(super) struct Code {
    parts: Arc<Parts>,
    /// The entry of the cache stays while this lives.
    loaded: OnceCell<(Linked, Option<Arc<InUse>>)>,
}

struct Parts {
    engine: Engine,
    loader: Arc<Loader>,
    compiler: Option<CompilerConfig>,
    /// Where code may be installed.
    installed: Vec<PathBuf>,
}

impl Code {
    pub(super) fn new(
        engine: Engine,
        loader: Arc<Loader>,
        compiler: Option<CompilerConfig>,
        installed: &[PathBuf],
    ) -> Self {
        let parts = Parts { engine, loader, compiler, installed: installed.to_vec() };
        Self { parts: Arc::new(parts), loaded: OnceCell::new() }
    }

    /// The linked module. The first call takes some milliseconds, or seconds where the code must be compiled.
    pub(super) async fn get(&self) -> Result<Linked, FilterError> {
        let load = async || {
            let linked = self.load().await?;
            let key = self.parts.key();
            Ok((linked, self.parts.loader.cache.as_ref().map(|cache| cache.keep(&key))))
        };
        let loaded = self.loaded.get_or_try_init(load).await;
        loaded.map(|(linked, _)| linked.clone()).map_err(|error: wasmtime::Error| FilterError::Engine(error.into()))
    }

    async fn load(&self) -> wasmtime::Result<Linked> {
        if let Some(linked) = self.blocking(|parts| Ok(parts.installed().or_else(|| parts.cached()))).await? {
            return Ok(linked);
        }
        let patience = self.parts.compiler.as_ref().map_or(Duration::ZERO, |config| config.deadline);
        let until = Instant::now() + patience;
        let claim = loop {
            let claim = self.parts.claim();
            // Another process may have compiled it in the meantime.
            if let Some(linked) = self.blocking(|parts| Ok(parts.cached())).await? {
                return Ok(linked);
            }
            match claim {
                // Another process is compiling it.
                Some(None) if Instant::now() < until => sleep(LOOK_AGAIN).await,
                claim => break claim.flatten(),
            }
        };
        let compiled = self.compiled(claim.as_ref()).await?;
        self.blocking(move |parts| {
            let artifact = match compiled {
                Some(artifact) => artifact,
                None => compiler::compile_module_here(&parts.engine, &module()?)?,
            };
            parts.keep(&artifact);
            parts.cached().map_or_else(|| parts.trusted(&artifact), Ok)
        })
        .await
    }

    /// Compiles the module in the compiler's process. Returns `None` if there is no such process.
    async fn compiled(&self, claim: Option<&Claim<'_>>) -> wasmtime::Result<Option<Vec<u8>>> {
        let Some(config) = &self.parts.compiler else { return Ok(None) };
        let module = module()?;
        let kept = claim.zip(self.parts.cache()).and_then(|(claim, cache)| {
            let file = claim.input(&module).inspect_err(|error| tracing::warn!(%error, "compile cache: cannot write"));
            Some((file.ok()?, cache.place(&self.parts.key())))
        });
        match compiler::compile(config, Engines::Filters, Input { component: &module, kept }).await {
            Ok(artifact) => Ok(Some(artifact)),
            Err(Failed::Component(reason)) => {
                tracing::warn!(reason, "jq is not compiled in the compiler's process: compiling in this one");
                Ok(None)
            }
            Err(Failed::Compiler(error)) => {
                tracing::warn!(%error, "the compiler's process cannot be used: compiling in this one");
                Ok(None)
            }
        }
    }

    async fn blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Parts) -> wasmtime::Result<T> + Send + 'static,
    ) -> wasmtime::Result<T> {
        let parts = self.parts.clone();
        spawn_blocking(move || work(&parts)).await?
    }
}

impl Parts {
    fn cache(&self) -> Option<&Cache> {
        self.loader.cache.as_ref()
    }

    fn key(&self) -> Key {
        Key::new(&digest(), &self.engine)
    }

    fn installed(&self) -> Option<Linked> {
        let name = interpreters::name(&digest(), Installed::Filters);
        let found = self.installed.iter().find_map(|directory| interpreters::installed(directory, &name))?;
        let unusable = |error: &wasmtime::Error| tracing::warn!("installed code cannot be used, compiling: {error:#}");
        self.stored(&found).inspect_err(unusable).ok()
    }

    fn cached(&self) -> Option<Linked> {
        let artifact = self.cache()?.get(&self.key())?;
        let unusable = |error: &wasmtime::Error| tracing::warn!("compile cache: unusable entry: {error:#}");
        self.stored(&artifact).inspect_err(unusable).ok()
    }

    /// Takes the right to compile it, as for a component.
    fn claim(&self) -> Option<Option<Claim<'_>>> {
        let claim = self.cache()?.claim(&self.key());
        claim.inspect_err(|error| tracing::warn!(%error, "compile cache: cannot write")).ok()
    }

    /// Stores the code in the cache, if the compiler did not.
    fn keep(&self, artifact: &[u8]) {
        let Some(cache) = self.cache() else { return };
        let key = self.key();
        if let Err(error) = if cache.has(&key) { cache.make_room(&key) } else { cache.put(&key, artifact) } {
            tracing::warn!("compile cache: not written: {error}");
        }
    }

    fn stored(&self, artifact: &Artifact) -> wasmtime::Result<Linked> {
        // SAFETY: as below. Nobody but this program can change the file, and this program never changes it in place.
        #[allow(unsafe_code)]
        let mapped = |path| unsafe { Module::deserialize_file(&self.engine, path) };
        artifact.load(|path| instance::link(&self.engine, &mapped(path)?), |bytes| self.trusted(bytes))
    }

    fn trusted(&self, artifact: &[u8]) -> wasmtime::Result<Linked> {
        // SAFETY: as for components, the artifact was just compiled, here or by our own executable, or it was read where
        // nobody else could have written it, with the digest that was taken when it was written.
        #[allow(unsafe_code)]
        let module = unsafe { Module::deserialize(&self.engine, artifact) }?;
        instance::link(&self.engine, &module)
    }
}

fn digest() -> [u8; 32] {
    Sha256::digest(PACKED).into()
}

/// Compiles the module of filters for operators of this version on machines of this architecture, as
/// [`compile_interpreter`](crate::compile_interpreter) does an interpreter, and stores the code in the directory of
/// interpreters.
pub fn compile_filters(directory: &Path) -> Result<crate::Compiled, InterpreterError> {
    interpreters::install(directory, &interpreters::name(&digest(), Installed::Filters), || {
        compiler::compile_module_here(&engine::filters_for_any_machine()?, &module()?)
    })
}
