//! Turns bytes into a hook that can be run: recognizes a component, compiles it or takes it from the cache, and checks
//! it against our world. The guest is not called here.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use boathook_core::{
    fair::Tenant,
    model::{AdmissionKind, BindingName, HookName, Limits, Script, ScriptFunction},
};
use sha2::{Digest, Sha256};
use wasmtime::{
    Engine,
    component::{Component, Linker},
};

use super::{
    cache::{self, Artifact, Cache, InUse, Key},
    compiler,
    component_type::{self, World},
    error::LoadError,
    exports::Exports,
    limits,
    resident::{Code, Resident},
    room::Usual,
    script::{Scripted, Source},
    store::State,
    wit::{
        HookPre, definitions::exports::boathook::interpreter::definitions,
        functions::exports::boathook::interpreter::functions, interpreter::exports::boathook::interpreter::script,
        uses::exports::boathook::interpreter::uses,
    },
};

/// The bytes of WebAssembly's unit of memory.
const PAGE: u64 = 64 * 1024;

/// A hook that can be run. Cheap to clone.
#[derive(Clone)]
pub struct LoadedHook(Arc<Loaded>);

struct Loaded {
    name: HookName,
    digest: String,
    size: u64,
    imports: Vec<String>,
    exports: Vec<String>,
    compile_time: Duration,
    from_cache: bool,
    pre: HookPre<State>,
    optional: Exports,
    script: Option<Scripted>,
    tenant: Tenant,
    code: Arc<Code>,
    /// Keeps its code in the cache.
    kept: Option<Arc<InUse>>,
    usual: Usual,
}

impl LoadedHook {
    pub fn name(&self) -> &HookName {
        &self.0.name
    }

    /// The tenant whose share of memory and CPU its runs use.
    pub fn tenant(&self) -> &Tenant {
        &self.0.tenant
    }

    /// `sha256:…` of the component.
    pub fn digest(&self) -> &str {
        &self.0.digest
    }

    /// How much memory its runs used lately.
    pub(super) fn usual(&self) -> &Usual {
        &self.0.usual
    }

    /// A run begins or ends.
    pub(super) fn is_used(&self) {
        self.0.code.is_used();
    }

    /// The component's size in bytes.
    pub fn size(&self) -> u64 {
        self.0.size
    }

    /// The component's imports: `boathook:hook/kube@0.1.0`, `wasi:cli/stderr@0.2.3`. A guest does not import what it
    /// does not use.
    pub fn imports(&self) -> &[String] {
        &self.0.imports
    }

    /// Whether the component can open snapshots. For a script, this is what its interpreter imports.
    pub(super) fn opens_snapshots(&self) -> bool {
        self.imports().iter().any(|import| component_type::is_snapshots(import))
    }

    /// The component's exports: `config`, `run`, `boathook:hook/validating@0.1.0`.
    pub fn exports(&self) -> &[String] {
        &self.0.exports
    }

    /// How long it took to compile the component, or to load it from the cache.
    pub fn compile_time(&self) -> Duration {
        self.0.compile_time
    }

    /// Whether the component had been compiled before: it came from the compile cache or was installed in compiled
    /// form.
    pub fn from_cache(&self) -> bool {
        self.0.from_cache
    }

    /// Whether it has the export for reviews of this kind.
    pub fn reviews(&self, kind: AdmissionKind) -> bool {
        self.0.optional.reviews(kind) && self.0.script.as_ref().is_none_or(|script| script.reviews(kind))
    }

    /// Whether it has the export for conversions.
    pub fn converts(&self) -> bool {
        self.0.optional.converts() && self.0.script.as_ref().is_none_or(Scripted::converts)
    }

    /// Whether it has the export for `reconcile` bindings.
    pub fn reconciles(&self) -> bool {
        self.0.optional.reconciles() && self.0.script.as_ref().is_none_or(Scripted::reconciles)
    }

    /// Whether it has the export for the end of a parent of this `reconcile` binding. A script may have a function for
    /// some of its bindings only.
    pub fn finalizes(&self, binding: &BindingName) -> bool {
        let has = |functions: &[ScriptFunction]| {
            let of = |function: &ScriptFunction| matches!(function, ScriptFunction::Finalize(name) if name == binding.as_str());
            functions.iter().any(of)
        };
        self.has_finalize() && self.functions().is_none_or(has)
    }

    /// Whether it has the export for the end of parents.
    pub fn has_finalize(&self) -> bool {
        self.0.optional.finalizes() && self.0.script.as_ref().is_none_or(Scripted::finalizes)
    }

    /// The script, if the hook is one.
    pub fn script(&self) -> Option<&Script> {
        self.0.script.as_ref().map(|script| &*script.source.script)
    }

    /// The functions of a script, if its interpreter reports them.
    pub fn functions(&self) -> Option<&[ScriptFunction]> {
        self.0.script.as_ref()?.functions.as_deref()
    }

    /// The CustomResourceDefinitions that a script makes of its types, as JSON. They were requested when the script was
    /// loaded.
    pub(super) fn definitions(&self) -> Option<&[String]> {
        self.0.script.as_ref().map(|script| &*script.definitions)
    }

    /// The document of a script. It was requested when the script was loaded.
    pub(super) fn document(&self) -> Option<&str> {
        self.0.script.as_ref().map(|script| script.document.as_str())
    }

    /// What its interpreter reads, if it has one.
    pub(super) fn source(&self) -> Option<Arc<Source>> {
        self.0.script.as_ref().map(|script| script.source.clone())
    }

    /// Joins a script with its interpreter.
    pub(super) fn of_script(candidate: Candidate, interpreter: &Self, script: Scripted) -> Self {
        let Candidate { name, tenant, bytes, digest, started, .. } = candidate;
        let with = &interpreter.0;
        let own = |import: &&String| !import.starts_with(component_type::INTERPRETER);
        Self(Arc::new(Loaded {
            name,
            digest: format!("sha256:{}", super::cache::hex(&digest)),
            size: bytes.len() as u64,
            imports: with.imports.iter().filter(own).cloned().collect(),
            exports: with.exports.iter().filter(|export| script.exports(export)).cloned().collect(),
            compile_time: started.elapsed(),
            from_cache: with.from_cache,
            pre: with.pre.clone(),
            optional: with.optional.clone(),
            script: Some(script),
            tenant,
            code: with.code.clone(),
            kept: with.kept.clone(),
            usual: Usual::default(),
        }))
    }

    pub(super) fn optional(&self) -> &Exports {
        &self.0.optional
    }

    pub(super) fn pre(&self) -> &HookPre<State> {
        &self.0.pre
    }
}

impl std::fmt::Debug for LoadedHook {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LoadedHook").field("name", &self.0.name).field("digest", &self.0.digest).finish_non_exhaustive()
    }
}

/// An interpreter that scripts can be joined with.
pub(super) struct Interpreter {
    /// The interpreter's component, loaded as a hook that has no script yet.
    pub(super) component: LoadedHook,
    /// The export that describes a script.
    pub(super) script: script::GuestIndices,
    /// The export that lists a script's functions, if the interpreter has it.
    pub(super) functions: Option<functions::GuestIndices>,
    /// The export that lists the custom resources that a script defines, if the interpreter has it.
    pub(super) definitions: Option<definitions::GuestIndices>,
    /// The export that lists what a script uses, if the interpreter has it.
    pub(super) uses: Option<uses::GuestIndices>,
}

/// The parts of the sandbox that loading needs.
pub(super) struct Loader {
    pub(super) engine: Engine,
    pub(super) linker: Linker<State>,
    pub(super) cache: Option<Cache>,
    pub(super) resident: Resident,
    pub(super) maxima: Limits,
    pub(super) max_bytes: u64,
}

/// A component that is being loaded.
pub(super) struct Candidate {
    name: HookName,
    tenant: Tenant,
    bytes: Vec<u8>,
    digest: [u8; 32],
    started: Instant,
    world: World,
}

impl Candidate {
    pub(super) fn name(&self) -> &HookName {
        &self.name
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Takes milliseconds for a large component.
    pub(super) fn new(name: HookName, tenant: Tenant, bytes: Vec<u8>, world: World) -> Self {
        let started = Instant::now();
        let digest = Sha256::digest(&bytes).into();
        Self { name, tenant, bytes, digest, started, world }
    }
}

impl Loader {
    /// Rejects bytes that cannot be a component, without compiling them.
    pub(super) fn check(&self, name: &HookName, bytes: &[u8]) -> Result<(), LoadError> {
        component_type::check(name, bytes, self.max_bytes)
    }

    /// Loads the component from the cache. If it is not there, returns the candidate.
    pub(super) fn load_cached(&self, candidate: Candidate) -> Result<Result<LoadedHook, Candidate>, LoadError> {
        match self.cached(&candidate) {
            Some(code) => self.link(candidate, code, true).map(Ok),
            None => Ok(Err(candidate)),
        }
    }

    /// Loads the compiled code that was installed with this program. If it cannot be used, returns the candidate.
    pub(super) fn load_installed(
        &self,
        candidate: Candidate,
        artifact: &Artifact,
    ) -> Result<Result<LoadedHook, Candidate>, LoadError> {
        match self.stored(artifact) {
            Ok(code) => self.link(candidate, code, true).map(Ok),
            Err(error) => {
                tracing::warn!(hook = %candidate.name, "installed code cannot be used, compiling: {error:#}");
                Ok(Err(candidate))
            }
        }
    }

    /// Compiles the component in this process. This is CPU-heavy: it takes seconds for a large component.
    pub(super) fn compile_here(&self, candidate: &Candidate) -> Result<Vec<u8>, LoadError> {
        compiler::compile_here(&self.engine, &candidate.bytes)
            .map_err(|error| LoadError::Invalid { hook: candidate.name.clone(), source: error.into() })
    }

    /// Loads the compiled code, and stores it in the cache if the compiler did not.
    pub(super) fn load_compiled(&self, candidate: Candidate, artifact: &[u8]) -> Result<LoadedHook, LoadError> {
        let key = self.key(&candidate);
        if let Some(cache) = &self.cache
            && let Err(error) = if cache.has(&key) { cache.make_room(&key) } else { cache.put(&key, artifact) }
        {
            tracing::warn!(hook = %candidate.name, "compile cache: not written: {error}");
        }
        // The code is valid, so its size must be the problem: no slot of the pool is large enough for it.
        let too_large = |error: wasmtime::Error| LoadError::TooLarge {
            hook: candidate.name.clone(),
            what: error.root_cause().to_string(),
        };
        // Small code would only be read again.
        let stored = if artifact.len() as u64 >= cache::MAPPED { self.cached(&candidate) } else { None };
        let code = stored.map_or_else(|| self.trusted(artifact).map(Code::copied), Ok).map_err(too_large)?;
        self.link(candidate, code, false)
    }

    fn cached(&self, candidate: &Candidate) -> Option<Code> {
        let artifact = self.cache.as_ref()?.get(&self.key(candidate))?;
        self.stored(&artifact)
            .inspect_err(|error| tracing::warn!(hook = %candidate.name, "compile cache: unusable entry: {error:#}"))
            .ok()
    }

    fn stored(&self, artifact: &Artifact) -> wasmtime::Result<Code> {
        // SAFETY: as below. Nobody but this program can change the file, and this program never changes it in place.
        #[allow(unsafe_code)]
        let mapped = |path| unsafe { Component::deserialize_file(&self.engine, path) };
        artifact.load(|path| mapped(path).map(Code::mapped), |bytes| self.trusted(bytes).map(Code::copied))
    }

    fn trusted(&self, artifact: &[u8]) -> wasmtime::Result<Component> {
        // SAFETY: in all callers, the artifact comes from this program. It was just compiled, here or by our own
        // executable, or it comes from the cache or from the place where this program was installed. There, only files
        // are read that nobody else could have written, and whose digest is still the one that was taken when they were
        // written.
        #[allow(unsafe_code)]
        unsafe {
            Component::deserialize(&self.engine, artifact)
        }
    }

    /// Checks the component against our world, and does all look-ups that a run would do.
    fn link(&self, candidate: Candidate, code: Code, from_cache: bool) -> Result<LoadedHook, LoadError> {
        let component = code.component();
        let kept = self.cache.as_ref().map(|cache| cache.keep(&self.key(&candidate)));
        let Candidate { name, tenant, bytes, digest, started, world } = candidate;
        let ty = component.component_type();
        let imports: Vec<_> = ty.imports(&self.engine).map(|(name, _)| name.to_owned()).collect();
        let exports: Vec<_> = ty.exports(&self.engine).map(|(name, _)| name.to_owned()).collect();
        component_type::check_world(&name, world, &imports, &exports)?;
        self.check_size(&name, component)?;
        let mismatch = |error: wasmtime::Error| LoadError::Types { hook: name.clone(), source: error.into() };
        let pre = self.linker.instantiate_pre(component).and_then(HookPre::new).map_err(mismatch)?;
        let optional = Exports::of(pre.instance_pre(), &exports).map_err(mismatch)?;
        let code = Arc::new(code);
        self.resident.add(&code);
        Ok(LoadedHook(Arc::new(Loaded {
            digest: format!("sha256:{}", super::cache::hex(&digest)),
            size: bytes.len() as u64,
            imports,
            exports,
            compile_time: started.elapsed(),
            from_cache,
            pre,
            optional,
            script: None,
            name,
            tenant,
            code,
            kept,
            usual: Usual::default(),
        })))
    }

    /// Rejects a component that cannot start within the host's maxima now, instead of at every run.
    fn check_size(&self, name: &HookName, component: &Component) -> Result<(), LoadError> {
        let Some(needs) = component.resources_required() else { return Ok(()) };
        let too_large = |what: String| LoadError::TooLarge { hook: name.clone(), what };
        if needs.num_memories as usize > limits::MEMORIES {
            return Err(too_large(format!("it has {} memories; {} are allowed", needs.num_memories, limits::MEMORIES)));
        }
        if needs.num_tables as usize > limits::TABLES {
            return Err(too_large(format!("it has {} tables; {} are allowed", needs.num_tables, limits::TABLES)));
        }
        let memory = needs.max_initial_memory_size.unwrap_or(0).saturating_mul(PAGE);
        if memory > self.maxima.memory {
            let (starts, most) = (limits::bytes(memory), limits::bytes(self.maxima.memory));
            return Err(too_large(format!("it starts with {starts} of memory; {most} are allowed")));
        }
        Ok(())
    }

    pub(super) fn key(&self, candidate: &Candidate) -> Key {
        Key::new(&candidate.digest, &self.engine)
    }
}
