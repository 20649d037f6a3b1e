//! Packs hooks and files into a bundle. The same input produces the same bytes, and therefore the same digest. Nothing
//! is read from disk here, and no hook runs.

use std::collections::BTreeMap;

use boathook_core::{
    definition::{Definition, MAX_DEFINITIONS},
    model::{HookName, Permission, Script, ScriptError},
};
use bytes::Bytes;
use jiff::Timestamp;

use super::{
    Descriptor, Digest, Manifest,
    annotations::{Annotations, CREATED, TITLE},
    contents::{Config, ConfigHook, ConfigModule},
    manifest::{
        BUNDLE_TYPE, CNCF_CONFIG_TYPE, CONFIG_TYPE, DEFINITION_TYPE, DOCS_TYPE, MAX_LAYER, MAX_LAYERS, MODULE_TYPE,
        SCHEMA_TYPE, WASM_TYPE, bytes_of,
    },
    module::{self, ModuleError, ModuleInput},
    wasm_config::{InvalidComponent, WasmConfig},
};

/// Why nothing can be packed.
#[derive(Debug, thiserror::Error)]
pub enum PackError {
    /// There is nothing to pack.
    #[error("there is no hook to pack: put at least one NAME.wasm into the directory, or run `boathook build`")]
    Empty,
    /// Two hooks have the same name.
    #[error("there are two hooks named {0:?}: rename one of the files")]
    Twice(String),
    /// Two CustomResourceDefinitions have the same name.
    #[error("there are two CustomResourceDefinitions named {0:?}: remove one of them")]
    DefinedTwice(String),
    /// There are too many CustomResourceDefinitions.
    #[error("{0} CustomResourceDefinitions are too many; at most {MAX_DEFINITIONS} are allowed: make several bundles")]
    TooManyDefinitions(usize),
    /// A file is too large.
    #[error("{name} is {size} bytes; at most {MAX_LAYER} are allowed: build it with --release, or leave it out")]
    TooLarge {
        name: String,
        /// Its size in bytes.
        size: usize,
    },
    /// There are too many files.
    #[error("{0} files are too many; at most {MAX_LAYERS} are allowed: make several bundles")]
    TooMany(usize),
    /// A script that cannot be parsed.
    #[error("{name} cannot be read: build it again")]
    Script { name: String, source: ScriptError },
    /// A single component's artifact has one component, and nothing else.
    #[error("{0} hooks cannot be one component's artifact: leave --wasm out, or name a directory with one hook")]
    Several(usize),
    /// The file is not a component.
    #[error("{name} is not a component: build it again")]
    Component {
        name: String,
        #[source]
        source: InvalidComponent,
    },
    /// The files of a module cannot be packed.
    #[error(transparent)]
    Module(#[from] ModuleError),
    /// A document cannot be serialized.
    #[error("the bundle's documents cannot be written")]
    Json(#[from] serde_json::Error),
}

/// A hook to pack.
#[derive(Debug, Clone)]
pub struct HookInput {
    pub name: HookName,
    pub component: Bytes,
    /// Everything that its document requests.
    pub asks: Vec<Permission>,
}

/// Another file to pack.
#[derive(Debug, Clone)]
pub struct FileInput {
    /// The file name. A `.json` file is a JSON Schema, everything else is a text.
    pub name: String,
    pub content: Bytes,
}

#[derive(Debug, Clone, Default)]
pub struct Input {
    /// The hooks, in any order.
    pub hooks: Vec<HookInput>,
    /// The files of the module, if the bundle is one.
    pub module: Option<ModuleInput>,
    /// CustomResourceDefinitions, in any order.
    pub definitions: Vec<Definition>,
    /// Schemas and texts, in any order.
    pub files: Vec<FileInput>,
    /// When the bundle was made. The caller chooses a time that is the same for the same source.
    pub created: Timestamp,
    /// What registries and tools show of the bundle.
    pub annotations: Annotations,
}

/// A bundle in memory.
#[derive(Debug, Clone)]
pub struct Packed {
    /// The descriptor of the manifest.
    pub manifest: Descriptor,
    /// The manifest's bytes.
    pub bytes: Bytes,
    /// The config and the layers, each once.
    pub blobs: BTreeMap<Digest, Bytes>,
}

/// Packs a bundle.
pub fn pack(mut input: Input) -> Result<Packed, PackError> {
    input.hooks.sort_by(|a, b| a.name.cmp(&b.name));
    input.files.sort_by(|a, b| a.name.cmp(&b.name));
    input.definitions.sort_by(|a, b| a.name().cmp(b.name()));
    check(&input)?;
    let mut blobs = BTreeMap::new();
    let mut layers: Vec<Descriptor> = Vec::new();
    let mut hooks = BTreeMap::new();
    for hook in input.hooks {
        let title = format!("{}.wasm", hook.name);
        let layer = Descriptor::of(WASM_TYPE, &hook.component).annotated(TITLE, &title);
        let script =
            Script::read(&hook.component).map_err(|source| PackError::Script { name: title.clone(), source })?;
        let interpreter = script.map(|script| script.interpreter);
        let entry = ConfigHook { layer: layer.digest.clone(), permissions: hook.asks, interpreter };
        hooks.insert(hook.name.as_str().to_owned(), entry);
        // Two hooks may be the same component.
        if blobs.insert(layer.digest.clone(), hook.component).is_none() {
            layers.push(layer);
        }
    }
    let mut custom_resource_definitions = BTreeMap::new();
    for definition in input.definitions {
        let content = Bytes::from(definition.json());
        let title = format!("crds/{}.json", definition.name());
        let layer = Descriptor::of(DEFINITION_TYPE, &content).annotated(TITLE, &title);
        custom_resource_definitions.insert(definition.name().to_owned(), layer.digest.clone());
        blobs.insert(layer.digest.clone(), content);
        layers.push(layer);
    }
    let mut of_module = None;
    if let Some(ModuleInput { name, files }) = input.module {
        let content = module::pack(files)?;
        let layer = Descriptor::of(MODULE_TYPE, &content).annotated(TITLE, &format!("{name}.tar"));
        of_module = Some(ConfigModule { name, layer: layer.digest.clone() });
        blobs.insert(layer.digest.clone(), content);
        layers.push(layer);
    }
    for file in input.files {
        let layer = Descriptor::of(kind(&file.name), &file.content).annotated(TITLE, &file.name);
        blobs.insert(layer.digest.clone(), file.content);
        layers.push(layer);
    }
    let created = input.created.to_string();
    let source = input.annotations.get("source").map(str::to_owned);
    let config = Config { created: created.clone(), source, hooks, custom_resource_definitions, module: of_module };
    let config = bytes_of(&config)?;
    let mut manifest = Manifest::new(Some(BUNDLE_TYPE), Descriptor::of(CONFIG_TYPE, &config), layers);
    manifest.annotations = input.annotations.into_map();
    manifest.annotations.insert(CREATED.to_owned(), created);
    blobs.insert(manifest.config.digest.clone(), config.into());
    let bytes: Bytes = bytes_of(&manifest)?.into();
    Ok(Packed { manifest: describe(&manifest, &bytes), bytes, blobs })
}

/// Packs the one hook of the input as a single component in the layout of the CNCF, which tools for components read.
/// Such an artifact has no room for files, and does not state what the hook requests.
pub fn pack_wasm(input: Input) -> Result<Packed, PackError> {
    let count = input.hooks.len();
    let Ok([hook]) = <[HookInput; 1]>::try_from(input.hooks) else {
        return Err(if count == 0 { PackError::Empty } else { PackError::Several(count) });
    };
    wasm(hook.name.as_str(), hook.component, input.created, input.annotations)
}

/// Packs a single component in the layout of the CNCF. The title is the file name without `.wasm`.
pub fn single(title: &str, component: Bytes) -> Result<Packed, PackError> {
    wasm(title, component, Timestamp::UNIX_EPOCH, Annotations::default())
}

fn wasm(title: &str, component: Bytes, created: Timestamp, annotations: Annotations) -> Result<Packed, PackError> {
    let name = format!("{title}.wasm");
    if component.len() as u64 > MAX_LAYER {
        return Err(PackError::TooLarge { name, size: component.len() });
    }
    let layer = Descriptor::of(WASM_TYPE, &component).annotated(TITLE, &name);
    let config = WasmConfig::of(created.to_string(), &layer, &component)
        .map_err(|source| PackError::Component { name, source })?;
    let config = bytes_of(&config)?;
    let config_layer = Descriptor::of(CNCF_CONFIG_TYPE, &config);
    let blobs = [(layer.digest.clone(), component), (config_layer.digest.clone(), config.into())];
    let mut manifest = Manifest::new(None, config_layer, vec![layer]);
    manifest.annotations = annotations.into_map();
    let bytes: Bytes = bytes_of(&manifest)?.into();
    Ok(Packed { manifest: describe(&manifest, &bytes), bytes, blobs: blobs.into() })
}

pub(super) fn describe(manifest: &Manifest, bytes: &[u8]) -> Descriptor {
    let mut descriptor = Descriptor::of(super::manifest::MANIFEST_TYPE, bytes);
    descriptor.artifact_type.clone_from(&manifest.artifact_type);
    descriptor
}

fn check(input: &Input) -> Result<(), PackError> {
    if input.hooks.is_empty() && input.module.is_none() {
        return Err(PackError::Empty);
    }
    let count = usize::from(input.module.is_some()) + input.hooks.len() + input.files.len() + input.definitions.len();
    if count > MAX_LAYERS {
        return Err(PackError::TooMany(count));
    }
    let same = |pair: &[HookInput]| matches!(pair, [a, b] if a.name == b.name);
    if let Some([first, _]) = input.hooks.windows(2).find(|pair| same(pair)) {
        return Err(PackError::Twice(first.name.to_string()));
    }
    if input.definitions.len() > MAX_DEFINITIONS {
        return Err(PackError::TooManyDefinitions(input.definitions.len()));
    }
    let defined_twice = |pair: &[Definition]| matches!(pair, [a, b] if a.name() == b.name());
    if let Some([first, _]) = input.definitions.windows(2).find(|pair| defined_twice(pair)) {
        return Err(PackError::DefinedTwice(first.name().to_owned()));
    }
    let hooks = input.hooks.iter().map(|hook| (format!("{}.wasm", hook.name), hook.component.len()));
    let files = input.files.iter().map(|file| (file.name.clone(), file.content.len()));
    match hooks.chain(files).find(|(_, size)| *size as u64 > MAX_LAYER) {
        Some((name, size)) => Err(PackError::TooLarge { name, size }),
        None => Ok(()),
    }
}

fn kind(name: &str) -> &'static str {
    if name.ends_with(".json") { SCHEMA_TYPE } else { DOCS_TYPE }
}
