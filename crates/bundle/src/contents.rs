//! What is in a bundle, out of its manifest and config. Pure; believes neither where they disagree.

use std::collections::{BTreeMap, BTreeSet};

use boathook_core::model::{HookName, InterpreterRef, InvalidName, Permission};
use serde::{Deserialize, Serialize};

use super::{
    Descriptor, Digest, Manifest, Reference,
    manifest::{
        BUNDLE_TYPE, CNCF_CONFIG_TYPE, CONFIG_TYPE, CREATED, MAX_CONFIG, MAX_LAYER, MAX_LAYERS, MAX_TOTAL, SOURCE,
        TITLE, WASM_TYPE,
    },
};

/// An artifact that is no bundle, or a wrong one.
#[derive(Debug, thiserror::Error)]
pub enum ContentsError {
    /// It is an artifact of something else.
    #[error(
        "it is no bundle of hooks: its artifact type is {artifact:?} and its config's {config:?}; pack hooks with `boathook bundle pack`, or name a single component's artifact"
    )]
    Other {
        /// Its artifact type.
        artifact: String,
        /// Its config's media type.
        config: String,
    },
    /// A document is not JSON, or not of its form.
    #[error("its {what} can't be read: pack it again")]
    Unreadable {
        /// The thing.
        what: &'static str,
        /// Why.
        #[source]
        source: serde_json::Error,
    },
    /// Too large; nothing of it was pulled.
    #[error("{what} is {size} bytes, and {max} are allowed: pack less into one bundle")]
    TooLarge {
        /// The thing.
        what: String,
        /// Its bytes.
        size: u64,
        /// Bytes that are allowed.
        max: u64,
    },
    /// Too many layers.
    #[error("it has {0} layers, and {MAX_LAYERS} are allowed: pack fewer hooks into one bundle")]
    TooMany(usize),
    /// A hook's layer is missing from the manifest.
    #[error("hook {hook:?} is said to be layer {layer}, and the manifest has no such layer: pack it again")]
    NoLayer {
        /// The hook.
        hook: String,
        /// The layer.
        layer: Digest,
    },
    /// Code that no hook names.
    #[error("layer {0} is a component that the config does not name: pack it again")]
    Unnamed(Digest),
    /// The config's name of a hook.
    #[error("it has a hook that can't be named so")]
    Name(#[from] InvalidName),
    /// No hook.
    #[error("it has no hook: pack a directory with at least one NAME.wasm")]
    Empty,
}

/// The JSON document that is a bundle's config.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Config {
    pub created: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    pub hooks: BTreeMap<String, ConfigHook>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ConfigHook {
    pub layer: Digest,
    /// What its document asks for.
    pub permissions: Vec<Permission>,
    /// What runs it, if it is a script.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interpreter: Option<InterpreterRef>,
}

/// One hook of a bundle.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct BundledHook {
    /// Its name.
    #[serde(serialize_with = "as_text")]
    pub name: HookName,
    /// Its component.
    pub layer: Descriptor,
    /// What the bundle says that it asks for; a host must hold its document against that. Absent for a single
    /// component's artifact, which says nothing.
    pub permissions: Option<Vec<Permission>>,
    /// What the bundle says that runs it, if it is a script. The host goes by the script itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interpreter: Option<InterpreterRef>,
}

/// What is in a bundle.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Contents {
    /// Ordered by name; at least one.
    pub hooks: Vec<BundledHook>,
    /// Schemas and texts.
    pub files: Vec<Descriptor>,
    /// When it was packed, as it says itself.
    pub created: Option<String>,
    /// Where its source is, as it says itself.
    pub source: Option<String>,
}

impl Contents {
    /// Bytes of all layers.
    pub fn size(&self) -> u64 {
        self.layers().map(|layer| layer.size).sum()
    }

    /// All layers, each once.
    pub fn layers(&self) -> impl Iterator<Item = &Descriptor> {
        let mut seen = BTreeSet::new();
        self.hooks.iter().map(|hook| &hook.layer).chain(&self.files).filter(move |layer| seen.insert(&layer.digest))
    }
}

fn as_text<S: serde::Serializer>(name: &HookName, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(name.as_str())
}

/// Reads a manifest, whose digest is known to be right, and refuses sizes that are not allowed.
pub(super) fn read_manifest(bytes: &[u8]) -> Result<Manifest, ContentsError> {
    let manifest: Manifest =
        serde_json::from_slice(bytes).map_err(|source| ContentsError::Unreadable { what: "manifest", source })?;
    let bounded = |what: String, size, max| match size > max {
        true => Err(ContentsError::TooLarge { what, size, max }),
        false => Ok(()),
    };
    if manifest.layers.len() > MAX_LAYERS {
        return Err(ContentsError::TooMany(manifest.layers.len()));
    }
    bounded("its config".to_owned(), manifest.config.size, MAX_CONFIG)?;
    let mut total = 0_u64;
    for layer in &manifest.layers {
        bounded(format!("its layer {}", layer.title()), layer.size, MAX_LAYER)?;
        total = total.saturating_add(layer.size);
    }
    bounded("all of it".to_owned(), total, MAX_TOTAL)?;
    Ok(manifest)
}

/// Puts manifest and config together. A single component's artifact is a bundle of one hook, named by its layer's
/// title or else by its repository.
pub(super) fn read(manifest: &Manifest, config: &[u8], at: Option<&Reference>) -> Result<Contents, ContentsError> {
    let artifact = manifest.artifact_type.as_deref().unwrap_or_default();
    match (artifact, manifest.config.media_type.as_str()) {
        (BUNDLE_TYPE, CONFIG_TYPE) => bundle(manifest, config),
        (_, CNCF_CONFIG_TYPE) => single(manifest, at),
        (artifact, config) => Err(ContentsError::Other { artifact: artifact.to_owned(), config: config.to_owned() }),
    }
}

fn bundle(manifest: &Manifest, config: &[u8]) -> Result<Contents, ContentsError> {
    let config: Config =
        serde_json::from_slice(config).map_err(|source| ContentsError::Unreadable { what: "config", source })?;
    let (code, files): (Vec<_>, Vec<_>) = manifest.layers.iter().partition(|layer| layer.media_type == WASM_TYPE);
    let mut hooks = Vec::new();
    for (name, hook) in config.hooks {
        let Some(layer) = code.iter().find(|layer| layer.digest == hook.layer) else {
            return Err(ContentsError::NoLayer { hook: name, layer: hook.layer });
        };
        let name = HookName::new(&name)?;
        let ConfigHook { permissions, interpreter, .. } = hook;
        hooks.push(BundledHook { name, layer: (*layer).clone(), permissions: Some(permissions), interpreter });
    }
    if let Some(unnamed) = code.iter().find(|layer| hooks.iter().all(|hook| hook.layer.digest != layer.digest)) {
        return Err(ContentsError::Unnamed(unnamed.digest.clone()));
    }
    if hooks.is_empty() {
        return Err(ContentsError::Empty);
    }
    let files = files.into_iter().cloned().collect();
    Ok(Contents { hooks, files, created: Some(config.created), source: config.source })
}

fn single(manifest: &Manifest, at: Option<&Reference>) -> Result<Contents, ContentsError> {
    let [layer] = manifest.layers.as_slice() else {
        return Err(ContentsError::TooMany(manifest.layers.len()));
    };
    let title = layer.annotations.get(TITLE).map(|title| title.strip_suffix(".wasm").unwrap_or(title));
    let repository = at.and_then(|at| at.repository().rsplit('/').next());
    let name = HookName::new(title.or(repository).unwrap_or("hook"))?;
    let said = |key: &str| manifest.annotations.get(key).cloned();
    Ok(Contents {
        hooks: vec![BundledHook { name, layer: layer.clone(), permissions: None, interpreter: None }],
        files: Vec::new(),
        created: said(CREATED),
        source: said(SOURCE),
    })
}
