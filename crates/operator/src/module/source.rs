//! Fetches the version of a module that a Module names, if it is trusted, and unpacks it. The registries, logins, keys and
//! bounds are those of HookBundles in the operator's namespace.

use std::sync::Arc;

use boathook_bundle::{ModuleDirectory, ModuleError, ModuleSource, unpack_module};
use boathook_core::model::{BundleId, HookSource, error_chain};
use boathook_modules::{Catalogue, Module, ModuleName};
use tokio::task::spawn_blocking;

use crate::hookbundle::{HookBundleSpec, Problem, SourceOptions, Sources, Version};

/// A version that was fetched.
#[derive(Debug, Clone)]
pub(crate) struct Fetched {
    /// The digest of its manifest, `sha256:…`.
    pub digest: String,
    pub module: Module,
    /// Its hooks, as the files of `module` have them.
    pub hooks: Vec<HookSource>,
    /// The directory of the files, which lives as long as this.
    pub _files: Arc<ModuleDirectory>,
}

/// Fetches versions of modules.
pub(crate) struct Fetcher {
    sources: Sources,
    /// That of the operator.
    namespace: String,
}

impl Fetcher {
    pub fn new(client: kube::Client, options: SourceOptions) -> Self {
        let namespace = client.default_namespace().to_owned();
        Self { sources: Sources::new(client, options), namespace }
    }

    /// Fetches the version that the spec names. With a `known` digest, returns `None` if it names that one.
    pub async fn fetch(
        &self,
        name: &ModuleName,
        spec: &HookBundleSpec,
        known: Option<&str>,
    ) -> Result<Option<Fetched>, Problem> {
        let version = self.sources.fetch(&self.namespace, spec, None).await?;
        if known == Some(version.digest.as_str()) {
            return Ok(None);
        }
        let fetched = self.unpack(name, &version).await?;
        self.sources.remember(&self.id(name), &version).await;
        Ok(Some(fetched))
    }

    /// The version that was fetched last, if it would be trusted today and the store has all of it.
    pub async fn recall(&self, name: &ModuleName, spec: &HookBundleSpec) -> Option<Fetched> {
        let version = self.sources.recall(&self.id(name), spec).await?;
        self.unpack(name, &version).await.ok()
    }

    /// No HookBundle can have this name.
    fn id(&self, name: &ModuleName) -> BundleId {
        BundleId { namespace: Some(self.namespace.clone()), name: format!("Module/{name}") }
    }

    async fn unpack(&self, name: &ModuleName, version: &Version) -> Result<Fetched, Problem> {
        let Some(ModuleSource { name: own, path }) = version.module.clone() else {
            let why =
                "it is a bundle of hooks, and not a module: pack the directory of a module, or make a HookBundle of it";
            return Err(Problem::refused("NotAModule", why));
        };
        if own != name.as_str() {
            let why = format!("it is the module {own:?}: give the Module this name");
            return Err(Problem::refused("OtherModule", why.chars().take(200).collect::<String>()));
        }
        if !version.definitions.is_empty() {
            let why = "it has CustomResourceDefinitions in layers of their own: pack the directory of the module, which has \
                       them in crds/";
            return Err(Problem::refused("NotAModule", why));
        }
        let (name, digest) = (name.clone(), version.digest.clone());
        let (store, mut hooks) = (self.sources.store(&self.namespace), version.hooks.clone());
        let work = move || -> Result<Fetched, Problem> {
            let unusable = |error: &dyn std::error::Error| Problem::passing("StoreUnusable", error_chain(error));
            let directory = store.module_directory().map_err(|error| unusable(&error))?;
            unpack_module(&path, &hooks, directory.path()).map_err(|error| match error {
                ModuleError::Io(..) => unusable(&error),
                _ => Problem::refused("NotAModule", error_chain(&error)),
            })?;
            let read = Catalogue::of_one(&name, directory.path());
            let (module, _) = read.map_err(|error| Problem::refused("ModuleInvalid", error_chain(&error)))?;
            for hook in &mut hooks {
                hook.path = directory.path().join("hooks").join(format!("{}.wasm", hook.name));
            }
            Ok(Fetched { digest, module, hooks, _files: Arc::new(directory) })
        };
        spawn_blocking(work).await.map_err(|_| Problem::passing("Interrupted", "the operator is ending"))?
    }
}
