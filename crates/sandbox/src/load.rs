//! Loads a hook from bytes, in its tenant's turn: from the cache, or with the compiler. No component is called here.

use std::time::Duration;

use boathook_core::{
    fair::Tenant,
    model::{HookName, Script},
};
use tokio::time::{Instant, sleep};

use super::{
    LoadError, LoadedHook, Sandbox,
    cache::Claim,
    compiler::{self, Engines},
    component::{Candidate, Loader},
    component_type::World,
};

/// How often to check whether another process has compiled the component.
pub(super) const LOOK_AGAIN: Duration = Duration::from_millis(100);

impl Sandbox {
    /// Recognizes a component, compiles it or takes it from the cache, and checks it. The hook is its own tenant.
    pub async fn load(&self, name: &HookName, bytes: &[u8]) -> Result<LoadedHook, LoadError> {
        self.load_for(&Tenant::hook(name.as_str()), name, bytes).await
    }

    /// The same for a hook of a tenant. One component is compiled at a time, and tenants take turns. A script is joined
    /// with its interpreter instead, which then describes it.
    pub async fn load_for(&self, tenant: &Tenant, name: &HookName, bytes: &[u8]) -> Result<LoadedHook, LoadError> {
        self.loader.check(name, bytes)?;
        match Script::read(bytes).map_err(|source| LoadError::BadScript { hook: name.clone(), source })? {
            Some(script) => self.load_script(tenant, name, bytes, script).await,
            None => self.load_component(tenant, name, bytes, World::Hook).await,
        }
    }

    pub(super) async fn load_component(
        &self,
        tenant: &Tenant,
        name: &HookName,
        bytes: &[u8],
        world: World,
    ) -> Result<LoadedHook, LoadError> {
        let (own_name, own_tenant, bytes) = (name.clone(), tenant.clone(), bytes.to_vec());
        let cached = move |loader: &Loader| loader.load_cached(Candidate::new(own_name, own_tenant, bytes, world));
        let mut candidate = match self.blocking(name, cached).await?? {
            Ok(loaded) => return Ok(loaded),
            Err(candidate) => candidate,
        };
        // The turn moves with the work, because the work continues if the caller stops waiting.
        let turn = self.compiling.take(tenant, 1).await;
        let patience = self.compiler.as_ref().map_or(Duration::ZERO, |config| config.deadline);
        let until = Instant::now() + patience;
        let claim = loop {
            let claim = self.claim(&candidate);
            // Another process may have compiled the component in the meantime.
            candidate = match self.blocking(name, |loader| loader.load_cached(candidate)).await?? {
                Ok(loaded) => return Ok(loaded),
                Err(candidate) => candidate,
            };
            match claim {
                // Another process is compiling the component.
                Some(None) if Instant::now() < until => sleep(LOOK_AGAIN).await,
                claim => break claim.flatten(),
            }
        };
        let compiled = self.compiled(&candidate, claim.as_ref()).await?;
        let loaded = self.blocking(name, move |loader| {
            let _turn = turn;
            let artifact = match compiled {
                Some(artifact) => artifact,
                None => loader.compile_here(&candidate)?,
            };
            loader.load_compiled(candidate, &artifact)
        });
        loaded.await?
    }

    /// Takes the right to compile the component, among the processes that share the cache. Returns `None` if there is
    /// no cache that can be written, and `Some(None)` if another process has the right.
    fn claim(&self, candidate: &Candidate) -> Option<Option<Claim<'_>>> {
        let cache = self.loader.cache.as_ref()?;
        let claim = cache.claim(&self.loader.key(candidate));
        claim.inspect_err(|error| tracing::warn!(hook = %candidate.name(), %error, "compile cache: cannot write")).ok()
    }

    /// Compiles the component in the compiler's process. Returns `None` if there is no such process.
    async fn compiled(&self, candidate: &Candidate, claim: Option<&Claim<'_>>) -> Result<Option<Vec<u8>>, LoadError> {
        let Some(config) = &self.compiler else { return Ok(None) };
        let kept = claim.zip(self.loader.cache.as_ref()).and_then(|(claim, cache)| {
            let file = claim
                .input(candidate.bytes())
                .inspect_err(|error| tracing::warn!(hook = %candidate.name(), %error, "compile cache: cannot write"));
            Some((file.ok()?, cache.place(&self.loader.key(candidate))))
        });
        let input = compiler::Input { component: candidate.bytes(), kept };
        match compiler::compile(config, Engines::of(self.pooled()), input).await {
            Ok(artifact) => Ok(Some(artifact)),
            Err(compiler::Failed::Component(reason)) => {
                Err(LoadError::Invalid { hook: candidate.name().clone(), source: reason.into() })
            }
            Err(compiler::Failed::Compiler(error)) => {
                tracing::warn!(hook = %candidate.name(), %error, "the compiler's process cannot be used: compiling in this one");
                Ok(None)
            }
        }
    }

    pub(super) async fn blocking<T: Send + 'static>(
        &self,
        name: &HookName,
        work: impl FnOnce(&Loader) -> T + Send + 'static,
    ) -> Result<T, LoadError> {
        let loader = self.loader.clone();
        tokio::task::spawn_blocking(move || work(&loader))
            .await
            .map_err(|error| LoadError::Compiler { hook: name.clone(), source: error.into() })
    }
}
