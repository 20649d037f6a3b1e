//! Native code of what comes with this program and is not a hook: installed with the program, from the cache, or compiled
//! when it is first used.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use tokio::{
    sync::OnceCell,
    task::spawn_blocking,
    time::{Instant, sleep},
};
use wasmtime::{Engine, Module, component::Component};

use super::{
    cache::{Artifact, Cache, Claim, InUse, Key},
    compiler::{self, CompilerConfig, Engines, Failed, Input},
    component::Loader,
    interpreters::{self, Installed},
    load::LOOK_AGAIN,
};

/// A module or a component.
pub(super) trait Native: Sized {
    fn compile(engine: &Engine, bytes: &[u8]) -> wasmtime::Result<Vec<u8>>;

    /// # Safety
    /// The file has what [`Self::compile`] returned, and does not change.
    #[allow(unsafe_code)]
    unsafe fn mapped(engine: &Engine, path: &Path) -> wasmtime::Result<Self>;

    /// # Safety
    /// The bytes are what [`Self::compile`] returned.
    #[allow(unsafe_code)]
    unsafe fn copied(engine: &Engine, bytes: &[u8]) -> wasmtime::Result<Self>;
}

#[allow(unsafe_code)]
impl Native for Module {
    fn compile(engine: &Engine, bytes: &[u8]) -> wasmtime::Result<Vec<u8>> {
        compiler::compile_module_here(engine, bytes)
    }

    unsafe fn mapped(engine: &Engine, path: &Path) -> wasmtime::Result<Self> {
        // SAFETY: the caller's.
        unsafe { Self::deserialize_file(engine, path) }
    }

    unsafe fn copied(engine: &Engine, bytes: &[u8]) -> wasmtime::Result<Self> {
        // SAFETY: the caller's.
        unsafe { Self::deserialize(engine, bytes) }
    }
}

#[allow(unsafe_code)]
impl Native for Component {
    fn compile(engine: &Engine, bytes: &[u8]) -> wasmtime::Result<Vec<u8>> {
        compiler::compile_here(engine, bytes)
    }

    unsafe fn mapped(engine: &Engine, path: &Path) -> wasmtime::Result<Self> {
        // SAFETY: the caller's.
        unsafe { Self::deserialize_file(engine, path) }
    }

    unsafe fn copied(engine: &Engine, bytes: &[u8]) -> wasmtime::Result<Self> {
        // SAFETY: the caller's.
        unsafe { Self::deserialize(engine, bytes) }
    }
}

/// What is compiled.
pub(super) trait Program: Send + Sync + 'static {
    type Native: Native;
    /// The code with what it imports.
    type Linked: Clone + Send + Sync + 'static;

    /// The name in log lines.
    const NAME: &'static str;
    const ENGINES: Engines;
    const INSTALLED: Installed;
    /// Whether this process may compile it although the compiler's process could not. It takes memory that nobody planned.
    const SMALL: bool;

    fn digest(&self) -> [u8; 32];
    fn bytes(&self) -> wasmtime::Result<Vec<u8>>;
    fn link(engine: &Engine, native: &Self::Native) -> wasmtime::Result<Self::Linked>;
}

/// The code of a program for one engine.
pub(super) struct Code<P: Program> {
    parts: Arc<Parts<P>>,
    /// The entry of the cache stays while this lives.
    loaded: OnceCell<(P::Linked, Option<Arc<InUse>>)>,
}

struct Parts<P> {
    program: P,
    engine: Engine,
    loader: Arc<Loader>,
    compiler: Option<CompilerConfig>,
    /// Where code may be installed.
    installed: Vec<PathBuf>,
    /// Called before it is compiled.
    compiles: Option<fn()>,
}

impl<P: Program> Code<P> {
    pub(super) fn new(
        program: P,
        engine: Engine,
        loader: Arc<Loader>,
        compiler: Option<CompilerConfig>,
        installed: &[PathBuf],
    ) -> Self {
        let parts = Parts { program, engine, loader, compiler, installed: installed.to_vec(), compiles: None };
        Self { parts: Arc::new(parts), loaded: OnceCell::new() }
    }

    /// Calls `tell` before the code is compiled.
    pub(super) fn telling(mut self, tell: Option<fn()>) -> Self {
        if let Some(parts) = Arc::get_mut(&mut self.parts) {
            parts.compiles = tell;
        }
        self
    }

    /// The linked code. The first call takes some milliseconds, or longer where the code must be compiled.
    pub(super) async fn get(&self) -> wasmtime::Result<P::Linked> {
        let load = async || {
            let linked = self.load().await?;
            let key = self.parts.key();
            Ok((linked, self.parts.loader.cache.as_ref().map(|cache| cache.keep(&key))))
        };
        let loaded = self.loaded.get_or_try_init(load).await;
        loaded.map(|(linked, _)| linked.clone())
    }

    async fn load(&self) -> wasmtime::Result<P::Linked> {
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
        self.parts.compiles.iter().for_each(|tell| tell());
        let compiled = self.compiled(claim.as_ref()).await?;
        self.blocking(move |parts| {
            let artifact = match compiled {
                Some(artifact) => artifact,
                None => P::Native::compile(&parts.engine, &parts.program.bytes()?)?,
            };
            parts.keep(&artifact);
            parts.cached().map_or_else(|| parts.trusted(&artifact), Ok)
        })
        .await
    }

    /// Compiles the program in the compiler's process. Returns `None` if this process is to compile it.
    async fn compiled(&self, claim: Option<&Claim<'_>>) -> wasmtime::Result<Option<Vec<u8>>> {
        let Some(config) = &self.parts.compiler else { return Ok(None) };
        let bytes = self.blocking(|parts| parts.program.bytes()).await?;
        let kept = claim.zip(self.parts.cache()).and_then(|(claim, cache)| {
            let file = claim.input(&bytes).inspect_err(|error| tracing::warn!(%error, "compile cache: cannot write"));
            Some((file.ok()?, cache.place(&self.parts.key())))
        });
        match compiler::compile(config, P::ENGINES, Input { component: &bytes, kept }).await {
            Ok(artifact) => Ok(Some(artifact)),
            Err(Failed::Component(reason)) if P::SMALL => {
                let program = P::NAME;
                tracing::warn!(reason, "{program} is not compiled in the compiler's process: compiling in this one");
                Ok(None)
            }
            Err(Failed::Component(reason)) => Err(wasmtime::Error::msg(reason)),
            Err(Failed::Compiler(error)) => {
                tracing::warn!(%error, "the compiler's process cannot be used: compiling in this one");
                Ok(None)
            }
        }
    }

    async fn blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Parts<P>) -> wasmtime::Result<T> + Send + 'static,
    ) -> wasmtime::Result<T> {
        let parts = self.parts.clone();
        spawn_blocking(move || work(&parts)).await?
    }
}

impl<P: Program> Parts<P> {
    fn cache(&self) -> Option<&Cache> {
        self.loader.cache.as_ref()
    }

    fn key(&self) -> Key {
        Key::new(&self.program.digest(), &self.engine)
    }

    fn installed(&self) -> Option<P::Linked> {
        let name = interpreters::name(&self.program.digest(), P::INSTALLED);
        let found = self.installed.iter().find_map(|directory| interpreters::installed(directory, &name))?;
        let unusable = |error: &wasmtime::Error| tracing::warn!("installed code cannot be used, compiling: {error:#}");
        self.stored(&found).inspect_err(unusable).ok()
    }

    fn cached(&self) -> Option<P::Linked> {
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

    fn stored(&self, artifact: &Artifact) -> wasmtime::Result<P::Linked> {
        // SAFETY: as below. Nobody but this program can change the file, and this program never changes it in place.
        #[allow(unsafe_code)]
        let mapped = |path: PathBuf| unsafe { P::Native::mapped(&self.engine, &path) };
        artifact.load(|path| P::link(&self.engine, &mapped(path)?), |bytes| self.trusted(bytes))
    }

    fn trusted(&self, artifact: &[u8]) -> wasmtime::Result<P::Linked> {
        // SAFETY: as for components, the artifact was just compiled, here or by our own executable, or it was read where
        // nobody else could have written it, with the digest that was taken when it was written.
        #[allow(unsafe_code)]
        let native = unsafe { P::Native::copied(&self.engine, artifact) }?;
        P::link(&self.engine, &native)
    }
}
