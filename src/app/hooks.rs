//! Loads one hook: compiles it, asks it for its document, checks that. Starts nothing.

use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use crate::{
    filter,
    hooks::{DocumentError, HookFile, parse},
    model::{
        AdmissionKind::{Mutating, Validating},
        BundleId, Caller, Failure, HookName, HookSpec, Identity, InvalidName, RunId,
    },
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
    /// What it has of its bundle, if it is in one.
    pub bundled: Option<Bundled>,
}

/// What a hook has of its bundle.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bundled {
    /// The bundle.
    pub bundle: BundleId,
    /// Whom its calls are made as.
    pub identity: Option<Arc<Identity>>,
    /// A JSON object.
    pub settings: Arc<str>,
}

impl Hook {
    /// Of what `load` gave, outside of any bundle.
    pub(super) fn new(spec: HookSpec, component: LoadedHook) -> Self {
        Self { spec, component, interrupt: CancellationToken::new(), bundled: None }
    }

    /// The same version once more, to take the place of another.
    pub(super) fn again(&self) -> Self {
        let bundled = self.bundled.clone();
        Self { bundled, ..Self::new(self.spec.clone(), self.component.clone()) }
    }

    /// Who makes the host calls of a run.
    pub fn caller(&self, run: RunId, dry_run: bool) -> Caller {
        let caller = Caller::new(self.spec.name.clone(), run, self.spec.permissions.clone(), dry_run);
        match &self.bundled {
            Some(Bundled { identity, settings, .. }) => {
                Caller { identity: identity.clone(), settings: settings.clone(), ..caller }
            }
            None => caller,
        }
    }
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
    /// The document binds what the component can't answer.
    #[error("{key} needs the export {export}, which the component does not have (it is built for another world)")]
    Export {
        /// The key of the document.
        key: &'static str,
        /// What is missing.
        export: &'static str,
    },
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
    let spec = parse(name, &document, &check)?;
    check_exports(&spec, &component)?;
    Ok(Hook::new(spec, component))
}

fn check_exports(spec: &HookSpec, component: &LoadedHook) -> Result<(), Quarantine> {
    let binds = |kind| spec.admission.iter().any(|binding| binding.kind == kind);
    let needed = [
        ("kubernetesValidating", "boathook:hook/validating", binds(Validating), component.reviews(Validating)),
        ("kubernetesMutating", "boathook:hook/mutating", binds(Mutating), component.reviews(Mutating)),
        (
            "kubernetesCustomResourceConversion",
            "boathook:hook/conversion",
            !spec.conversions.is_empty(),
            component.converts(),
        ),
    ];
    let missing = needed.into_iter().find(|(_, _, bound, exported)| *bound && !exported);
    missing.map_or(Ok(()), |(key, export, ..)| Err(Quarantine::Export { key, export }))
}
