//! Bundles: packed, in a real registry, brought back, and trusted or refused.

mod archive;
mod cli;
mod fault;
mod faulty;
mod format;
pub mod reach;
pub mod registry;
mod room;
mod transfer;
pub mod trust;

use boathook_bundle::{FileInput, HookInput, Input, Packed, Policy, Progress, Pulled, Store, pack, push};
use boathook_core::model::{HookName, Permission};

/// A hook that may get what is named.
pub fn hook(name: &str, component: &[u8], resource: &str) -> HookInput {
    let list = |word: &str| vec![word.to_owned()];
    HookInput {
        name: HookName::new(name).unwrap(),
        component: component.to_vec().into(),
        asks: vec![Permission {
            api_groups: list(""),
            resources: list(resource),
            verbs: list("get"),
            resource_names: Vec::new(),
            namespaces: Vec::new(),
        }],
    }
}

pub fn file(name: &str, content: &str) -> FileInput {
    FileInput { name: name.to_owned(), content: content.to_owned().into() }
}

/// A bundle of two hooks, of which one is the version's own.
pub fn version(version: &str) -> Packed {
    let own = format!("{version} ").repeat(50_000);
    let hooks = vec![hook("same", b"unchanged", "configmaps"), hook("own", own.as_bytes(), "secrets")];
    pack(Input { hooks, files: vec![file("README.md", "# Team\n")], ..Input::default() }).unwrap()
}

pub struct Local {
    _directory: tempfile::TempDir,
    pub store: Store,
}

impl Local {
    pub fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        Self { store: Store::open(directory.path()).unwrap(), _directory: directory }
    }

    pub async fn pull(&self, from: &boathook_bundle::Place) -> Result<Pulled, boathook_bundle::BundleError> {
        boathook_bundle::pull(from, &self.store, &Policy::unchecked(), &Progress::default()).await
    }
}

pub async fn send(packed: &Packed, to: &boathook_bundle::Place) {
    push(packed, to, &Progress::default()).await.unwrap();
}

/// The whole chain of an error, as a person reads it.
pub fn words(error: &(dyn std::error::Error + 'static)) -> String {
    boathook_core::model::error_chain(error)
}
