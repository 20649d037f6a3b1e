//! The contents of a bundle, read from its manifest and its config. Pure. If the two disagree, the bundle is rejected.

use std::collections::{BTreeMap, BTreeSet};

use boathook_core::{
    definition::{self, MAX_BYTES, MAX_DEFINITIONS},
    model::{HookName, InterpreterRef, InvalidName, Permission},
};
use serde::{Deserialize, Serialize};

use super::{
    Annotations, Descriptor, Digest, Manifest, Reference,
    annotations::{CREATED, SOURCE, TITLE},
    manifest::{
        BUNDLE_TYPE, CNCF_CONFIG_TYPE, CONFIG_TYPE, DEFINITION_TYPE, MAX_CONFIG, MAX_LAYER, MAX_LAYERS, MAX_TOTAL,
        MODULE_TYPE, WASM_TYPE,
    },
    wasm_config::WasmConfig,
};

/// Why an artifact is not a valid bundle.
#[derive(Debug, thiserror::Error)]
pub enum ContentsError {
    /// The artifact is not a bundle.
    #[error(
        "it is not a bundle of hooks: its artifact type is {artifact:?} and its config's {config:?}; pack hooks with `boathook bundle pack`, or name a single component's artifact"
    )]
    Other {
        artifact: String,
        /// The media type of the config.
        config: String,
    },
    /// A document is not JSON, or does not have the expected form.
    #[error("its {what} cannot be read: pack it again")]
    Unreadable {
        /// Which document.
        what: &'static str,
        #[source]
        source: serde_json::Error,
    },
    /// Something is too large. Nothing was pulled.
    #[error("{what} is {size} bytes; at most {max} are allowed: pack less into one bundle")]
    TooLarge {
        /// What is too large.
        what: String,
        /// Its size in bytes.
        size: u64,
        /// How many bytes are allowed.
        max: u64,
    },
    /// There are too many layers.
    #[error("it has {0} layers; at most {MAX_LAYERS} are allowed: pack fewer hooks into one bundle")]
    TooMany(usize),
    /// The manifest has no layer for a hook of the config.
    #[error("the config has hook {hook:?} in layer {layer}, but the manifest has no such layer: pack it again")]
    NoLayer {
        hook: String,
        /// The layer's digest in the config.
        layer: Digest,
    },
    /// The manifest has no layer for a CustomResourceDefinition of the config.
    #[error(
        "the config has CustomResourceDefinition {name:?} in layer {layer}, but the manifest has no such layer: pack it again"
    )]
    NoDefinition {
        name: String,
        /// The layer's digest in the config.
        layer: Digest,
    },
    /// The manifest has not the one layer with a module's files that the config names.
    #[error("it has {0} layers with files of a module, and its config names another one, or none: pack it again")]
    Module(usize),
    /// There are too many CustomResourceDefinitions.
    #[error("it has {0} CustomResourceDefinitions; at most {MAX_DEFINITIONS} are allowed: make several bundles")]
    TooManyDefinitions(usize),
    /// A component that no hook in the config names.
    #[error("layer {0} is a component or a CustomResourceDefinition that the config does not name: pack it again")]
    Unnamed(Digest),
    /// A name in the config that is not valid for a hook.
    #[error("a hook in it has an invalid name")]
    Name(#[from] InvalidName),
    /// It is in the layout of a single component, and is not one.
    #[error("it is not a component: {0}: push it with `boathook bundle push --wasm` or `wkg oci push`")]
    NoComponent(String),
    /// The bundle has no hook.
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
    /// The layers of CustomResourceDefinitions, by their names.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub custom_resource_definitions: BTreeMap<String, Digest>,
    /// The module that the bundle is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub module: Option<ConfigModule>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ConfigModule {
    pub name: String,
    /// The layer with its files.
    pub layer: Digest,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ConfigHook {
    pub layer: Digest,
    /// What the hook's document requests.
    pub permissions: Vec<Permission>,
    /// The interpreter that runs the hook, if it is a script.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interpreter: Option<InterpreterRef>,
}

/// One hook of a bundle.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct BundledHook {
    #[serde(serialize_with = "as_text")]
    pub name: HookName,
    /// The layer with the hook's component.
    pub layer: Descriptor,
    /// What the hook requests, according to the bundle. A host must compare the hook's document with this. Absent for
    /// the artifact of a single component, which does not state it.
    pub permissions: Option<Vec<Permission>>,
    /// The interpreter that runs the hook if it is a script, according to the bundle. The host goes by the script
    /// itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interpreter: Option<InterpreterRef>,
}

/// A CustomResourceDefinition of a bundle.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BundledDefinition {
    /// Its name, according to the bundle. A host must compare it with the layer's.
    pub name: String,
    pub layer: Descriptor,
}

/// The module that a bundle is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BundledModule {
    /// Its name, according to the bundle.
    pub name: String,
    /// The layer with its files.
    pub layer: Descriptor,
}

/// The contents of a bundle.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Contents {
    /// The hooks, sorted by name. Only a module may have none.
    pub hooks: Vec<BundledHook>,
    /// The module, if the bundle is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub module: Option<BundledModule>,
    /// The CustomResourceDefinitions, sorted by name.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub custom_resource_definitions: Vec<BundledDefinition>,
    /// Schemas and texts.
    pub files: Vec<Descriptor>,
    /// When the bundle was packed, according to the bundle itself.
    pub created: Option<String>,
    /// Where the source of the bundle is, according to the bundle itself.
    pub source: Option<String>,
    /// What else the manifest states for people and tools, by the keys of the OCI image specification.
    #[serde(skip_serializing_if = "Annotations::is_empty")]
    pub annotations: Annotations,
}

impl Contents {
    /// The size of all layers in bytes.
    pub fn size(&self) -> u64 {
        self.layers().map(|layer| layer.size).sum()
    }

    /// All layers, each once.
    pub fn layers(&self) -> impl Iterator<Item = &Descriptor> {
        let mut seen = BTreeSet::new();
        let definitions = self.custom_resource_definitions.iter().map(|definition| &definition.layer);
        let hooks = self.hooks.iter().map(|hook| &hook.layer);
        let module = self.module.iter().map(|module| &module.layer);
        hooks.chain(module).chain(definitions).chain(&self.files).filter(move |layer| seen.insert(&layer.digest))
    }

    /// What the bundle needs to apply its CustomResourceDefinitions. `None`: it has none.
    pub fn defines(&self) -> Option<Permission> {
        let names = self.custom_resource_definitions.iter().map(|definition| definition.name.as_str());
        (!self.custom_resource_definitions.is_empty()).then(|| definition::permission(names))
    }
}

fn as_text<S: serde::Serializer>(name: &HookName, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(name.as_str())
}

/// Parses a manifest whose digest has been checked, and rejects sizes that are not allowed.
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

/// Combines a manifest and its config. The artifact of a single component is a bundle of one hook. The title of the
/// layer names this hook, or else the repository does.
pub(super) fn read(manifest: &Manifest, config: &[u8], at: Option<&Reference>) -> Result<Contents, ContentsError> {
    let artifact = manifest.artifact_type.as_deref().unwrap_or_default();
    match (artifact, manifest.config.media_type.as_str()) {
        (BUNDLE_TYPE, CONFIG_TYPE) => bundle(manifest, config),
        (_, CNCF_CONFIG_TYPE) => single(manifest, config, at),
        (artifact, config) => Err(ContentsError::Other { artifact: artifact.to_owned(), config: config.to_owned() }),
    }
}

fn bundle(manifest: &Manifest, config: &[u8]) -> Result<Contents, ContentsError> {
    let config: Config =
        serde_json::from_slice(config).map_err(|source| ContentsError::Unreadable { what: "config", source })?;
    let of_type = |media_type: &'static str| move |layer: &&Descriptor| layer.media_type == media_type;
    let (code, rest): (Vec<_>, Vec<_>) = manifest.layers.iter().partition(of_type(WASM_TYPE));
    let (modules, rest): (Vec<_>, Vec<_>) = rest.into_iter().partition(of_type(MODULE_TYPE));
    let (definitions, files): (Vec<_>, Vec<_>) = rest.into_iter().partition(of_type(DEFINITION_TYPE));
    let module = match (config.module, modules.as_slice()) {
        (None, []) => None,
        (Some(module), [layer]) if module.layer == layer.digest => {
            Some(BundledModule { name: module.name, layer: Descriptor::clone(layer) })
        }
        _ => return Err(ContentsError::Module(modules.len())),
    };
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
    if hooks.is_empty() && module.is_none() {
        return Err(ContentsError::Empty);
    }
    let custom_resource_definitions = defined(config.custom_resource_definitions, &definitions)?;
    let files = files.into_iter().cloned().collect();
    let annotations = Annotations::of_manifest(&manifest.annotations);
    let (created, source) = (Some(config.created), config.source);
    Ok(Contents { hooks, module, custom_resource_definitions, files, created, source, annotations })
}

fn defined(named: BTreeMap<String, Digest>, layers: &[&Descriptor]) -> Result<Vec<BundledDefinition>, ContentsError> {
    if named.len() > MAX_DEFINITIONS {
        return Err(ContentsError::TooManyDefinitions(named.len()));
    }
    let mut all = Vec::new();
    for (name, digest) in named {
        let Some(layer) = layers.iter().find(|layer| layer.digest == digest) else {
            return Err(ContentsError::NoDefinition { name, layer: digest });
        };
        if layer.size > MAX_BYTES as u64 {
            let what = format!("its CustomResourceDefinition {name}");
            return Err(ContentsError::TooLarge { what, size: layer.size, max: MAX_BYTES as u64 });
        }
        all.push(BundledDefinition { name, layer: (*layer).clone() });
    }
    match layers.iter().find(|layer| all.iter().all(|definition| definition.layer.digest != layer.digest)) {
        Some(unnamed) => Err(ContentsError::Unnamed(unnamed.digest.clone())),
        None => Ok(all),
    }
}

fn single(manifest: &Manifest, config: &[u8], at: Option<&Reference>) -> Result<Contents, ContentsError> {
    let [layer] = manifest.layers.as_slice() else {
        let layers = manifest.layers.len();
        return Err(ContentsError::NoComponent(format!("it has {layers} layers, and a component is one")));
    };
    let config: WasmConfig =
        serde_json::from_slice(config).map_err(|source| ContentsError::Unreadable { what: "config", source })?;
    config.check(layer)?;
    let title = layer.annotations.get(TITLE).map(|title| title.strip_suffix(".wasm").unwrap_or(title));
    let repository = at.and_then(|at| at.repository().rsplit('/').next());
    let name = HookName::new(title.or(repository).unwrap_or("hook"))?;
    let said = |key: &str| manifest.annotations.get(key).cloned();
    Ok(Contents {
        hooks: vec![BundledHook { name, layer: layer.clone(), permissions: None, interpreter: None }],
        module: None,
        custom_resource_definitions: Vec::new(),
        files: Vec::new(),
        created: said(CREATED).or(config.created),
        source: said(SOURCE),
        annotations: Annotations::of_manifest(&manifest.annotations),
    })
}
