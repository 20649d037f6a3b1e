//! Loads one hook: compiles it, asks it for its document, checks that. Starts nothing.

use tokio_util::sync::CancellationToken;

use crate::{
    filter,
    hooks::{DocumentError, HookFile, parse},
    model::{Failure, HookName, HookSpec, InvalidName},
    sandbox::{LoadError, LoadedHook, Sandbox},
};

/// A hook that can run.
pub struct Hook {
    /// Its configuration.
    pub spec: HookSpec,
    /// Its component.
    pub component: LoadedHook,
    /// Ends its runs: another version is to take its place.
    pub interrupt: CancellationToken,
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

/// Loads the hook in a file.
pub(super) async fn load_file(file: HookFile, sandbox: &Sandbox) -> Result<Hook, Quarantine> {
    let name = file.name?;
    let bytes = tokio::fs::read(&file.path).await.map_err(Quarantine::Unreadable)?;
    load(&name, &bytes, sandbox).await
}

/// Loads one hook from its component.
pub async fn load(name: &HookName, bytes: &[u8], sandbox: &Sandbox) -> Result<Hook, Quarantine> {
    let component = sandbox.load(name, bytes).await?;
    let document = sandbox.config(&component).await.map_err(Quarantine::Config)?;
    let check = |program: &str| filter::compile(program).map(drop).map_err(|error| error.to_string());
    Ok(Hook { spec: parse(name, &document, &check)?, component, interrupt: CancellationToken::new() })
}
