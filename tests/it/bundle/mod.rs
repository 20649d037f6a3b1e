//! Bundles: packed, in a real registry, brought back, and trusted or refused.

mod archive;
mod attest;
mod cli;
mod fault;
mod faulty;
mod format;
mod keyless;
pub mod reach;
pub mod registry;
mod room;
mod transfer;
pub mod trust;
mod wit;

use boathook_bundle::{
    Digest, FileInput, HookInput, Input, Layout, Packed, Place, Policy, Progress, Pulled, Store, copy, pack, push,
};
use boathook_core::{
    definition::Definition,
    model::{HookName, Permission},
};
use serde_json::json;

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
            http: None,
            directory: None,
        }],
    }
}

pub fn file(name: &str, content: &str) -> FileInput {
    FileInput { name: name.to_owned(), content: content.to_owned().into() }
}

/// `NAME.example.com`.
pub fn definition(name: &str) -> Definition {
    let schema = json!({"openAPIV3Schema": {"type": "object", "properties": {"spec": {"type": "string"}}}});
    let read = Definition::read(json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("{name}.example.com")},
        "spec": {
            "group": "example.com", "names": {"plural": name, "kind": "App"}, "scope": "Namespaced",
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": schema}],
        },
    }));
    read.unwrap()
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

    pub async fn pull(&self, from: &Place) -> Result<Pulled, boathook_bundle::BundleError> {
        boathook_bundle::pull(from, &self.store, &Policy::unchecked(), &Progress::default()).await
    }
}

pub async fn send(packed: &Packed, to: &Place) {
    push(packed, to, &Progress::default()).await.unwrap();
}

/// Pushes a component as `wkg oci push` does: without a title, a name or a permission.
pub async fn send_as_wkg(component: &[u8], to: &Place) {
    let directory = tempfile::tempdir().unwrap();
    let layout = Layout::create(directory.path()).unwrap();
    let put = |bytes: &[u8], kind: &str| {
        let digest = Digest::of(bytes);
        std::fs::write(directory.path().join("blobs/sha256").join(digest.hex()), bytes).unwrap();
        json!({"mediaType": kind, "digest": digest.as_str(), "size": bytes.len()})
    };
    let config = json!({"created": "2026-01-01T00:00:00Z", "author": null, "architecture": "wasm", "os": "wasip2",
        "layerDigests": [Digest::of(component).as_str()], "component": {"exports": [], "imports": [], "target": null}});
    let manifest = json!({"schemaVersion": 2, "mediaType": "application/vnd.oci.image.manifest.v1+json",
        "config": put(config.to_string().as_bytes(), "application/vnd.wasm.config.v0+json"),
        "layers": [put(component, "application/wasm")], "annotations": {"org.opencontainers.image.version": "1.0.0"}});
    let entry = put(manifest.to_string().as_bytes(), "application/vnd.oci.image.manifest.v1+json");
    let index = json!({"schemaVersion": 2, "manifests": [entry]});
    std::fs::write(directory.path().join("index.json"), index.to_string()).unwrap();
    copy(&Place::layout(layout), to, &Progress::default()).await.unwrap();
}

/// The whole chain of an error, as a person reads it.
pub fn words(error: &(dyn std::error::Error + 'static)) -> String {
    boathook_core::model::error_chain(error)
}
