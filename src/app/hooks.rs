//! Loads the hooks of a directory: compiles each, asks it for its document, checks that. A bad
//! hook is quarantined with its reason, and the others go on.

use std::{collections::BTreeMap, path::Path, sync::Arc};

use tracing::{error, info};

use super::ms;
use crate::{
    filter,
    hooks::{DirectoryError, DocumentError, HookFile, parse, read_directory},
    model::{Failure, HookName, HookSpec, InvalidName, error_chain},
    sandbox::{LoadError, LoadedHook, Sandbox},
    telemetry::{Metrics, metrics::CompileSource},
};

/// A hook that can run.
pub struct Hook {
    /// Its configuration.
    pub spec: HookSpec,
    /// Its component.
    pub component: LoadedHook,
}

/// Why a hook is not run.
#[derive(Debug, thiserror::Error)]
pub enum Quarantine {
    /// The file's name is no hook's name.
    #[error("the file can't be a hook")]
    Name(#[from] InvalidName),
    /// The file can't be read.
    #[error("the file can't be read")]
    Unreadable(#[source] std::io::Error),
    /// It is no component that can be used.
    #[error("the component can't be used")]
    Component(#[from] LoadError),
    /// `config` failed.
    #[error("its config function failed: {0}")]
    Config(Failure),
    /// `config` returned a bad document.
    #[error(transparent)]
    Document(#[from] DocumentError),
}

/// All hooks of a directory.
#[derive(Default)]
pub struct Hooks {
    /// Those that can run, by name.
    pub live: BTreeMap<HookName, Arc<Hook>>,
    /// The others, by file name.
    pub quarantined: BTreeMap<String, Quarantine>,
}

impl Hooks {
    /// Loads them one after the other; compiling takes all cores and much memory as it is.
    pub async fn load(directory: &Path, sandbox: &Sandbox, metrics: &Metrics) -> Result<Self, DirectoryError> {
        let mut hooks = Self::default();
        for file in read_directory(directory)? {
            let file_name = file.path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            match load_file(file, sandbox).await {
                Ok(hook) => hooks.add(hook, metrics),
                Err(reason) => hooks.quarantine(file_name, reason),
            }
        }
        Ok(hooks)
    }

    fn add(&mut self, hook: Hook, metrics: &Metrics) {
        let component = &hook.component;
        let source = if component.from_cache() { CompileSource::Cached } else { CompileSource::Compiled };
        metrics.hook_compiled(source, component.compile_time());
        info!(
            hook = %hook.spec.name,
            digest = %component.digest(),
            bytes = component.size(),
            compile_ms = ms(component.compile_time()),
            from_cache = component.from_cache(),
            "hook loaded"
        );
        self.live.insert(hook.spec.name.clone(), Arc::new(hook));
    }

    fn quarantine(&mut self, file: String, reason: Quarantine) {
        error!(file, reason = error_chain(&reason), "hook quarantined: it does not run, others do");
        self.quarantined.insert(file, reason);
    }
}

async fn load_file(file: HookFile, sandbox: &Sandbox) -> Result<Hook, Quarantine> {
    let name = file.name?;
    let bytes = tokio::fs::read(&file.path).await.map_err(Quarantine::Unreadable)?;
    load(&name, &bytes, sandbox).await
}

/// Loads one hook from its component.
pub async fn load(name: &HookName, bytes: &[u8], sandbox: &Sandbox) -> Result<Hook, Quarantine> {
    let component = sandbox.load(name, bytes).await?;
    let document = sandbox.config(&component).await.map_err(Quarantine::Config)?;
    let check = |program: &str| filter::compile(program).map(drop).map_err(|error| error.to_string());
    Ok(Hook { spec: parse(name, &document, &check)?, component })
}
