//! Pulls a bundle from a place into the store, as checked files. No layer is pulled before the bundle is trusted.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use boathook_core::model::{DefinitionSource, HookName, HookSource, Permission};
use futures::{StreamExt as _, TryStreamExt as _, stream};
use serde::{Deserialize, Serialize};

use crate::{
    Attestation, BundleError, BundledDefinition, BundledModule, Contents, Descriptor, Digest, Place, Policy, Progress,
    SCHEMA_TYPE, Store, StoreError, TrustError, Verified, contents, layout, store::LAST, trust, trust::Search,
};

/// How many layers are pulled at the same time.
const AT_A_TIME: usize = 4;

/// What is at a place. Only its digest has been checked, nothing else is trusted yet.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Seen {
    /// The place, as the user named it.
    pub reference: String,
    /// The digest of the manifest, which is the bundle's.
    pub digest: Digest,
    /// What is in the bundle.
    #[serde(flatten)]
    pub contents: Contents,
    /// What others attest about the bundle. Only [`inspect`] lists it, and verifies none of it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub attestations: Vec<SeenAttestation>,
}

/// An attestation of which nothing was verified.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SeenAttestation {
    /// The kind, if a policy can require it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind: Option<Attestation>,
    /// What it attests, as a URI.
    pub predicate_type: String,
    /// Whether it says that it is about this bundle.
    pub about: bool,
    /// The digest of its document.
    pub digest: Digest,
    /// The size of its document in bytes.
    pub size: u64,
}

/// A hook whose component is in the store.
#[derive(Debug, Clone)]
pub struct PulledHook {
    pub name: HookName,
    /// The component's file in the store. Its bytes have the digest.
    pub path: PathBuf,
    /// The component's digest.
    pub digest: Digest,
    /// What the hook requests, according to the bundle. See [`PulledHook::check`].
    pub permissions: Option<Vec<Permission>>,
}

impl PulledHook {
    /// Compares what the hook's document requests with what the bundle states. Trust was decided on the latter. A host
    /// calls this before it runs the hook.
    pub fn check(&self, requested: &[Permission]) -> Result<(), TrustError> {
        match &self.permissions {
            Some(declared) if declared.as_slice() != requested => {
                Err(TrustError::Understated { hook: self.name.to_string() })
            }
            _ => Ok(()),
        }
    }
}

/// A bundle whose components are in the store.
#[derive(Debug, Clone)]
pub struct Pulled {
    /// What was found at the place.
    pub seen: Seen,
    /// Why it is trusted.
    pub verified: Verified,
    /// The hooks, sorted by name.
    pub hooks: Vec<PulledHook>,
    /// The module, if the bundle is one.
    pub module: Option<ModuleSource>,
    /// The CustomResourceDefinitions, sorted by name.
    pub definitions: Vec<DefinitionSource>,
    /// The other files, with their names and paths in the store.
    pub files: Vec<(String, PathBuf)>,
    /// The number of layers that were pulled.
    pub fetched: usize,
    /// The number of layers that were already in the store.
    pub reused: usize,
}

/// Resolves a place to a digest once, and reads what is there except for the layers. Checks the sizes and digests of
/// that, and no signature.
pub async fn look(from: &Place) -> Result<Seen, BundleError> {
    Ok(open(from).await?.seen(from).await?.0)
}

/// Like [`look`], but also checks the layers if they are on disk, in a layout.
pub async fn check(from: &Place) -> Result<Seen, BundleError> {
    let seen = look(from).await?;
    from.check(&seen.contents).await?;
    Ok(seen)
}

/// Like [`check`], but also lists attestations.
pub async fn inspect(from: &Place) -> Result<Seen, BundleError> {
    let opened = open(from).await?;
    let (digest, manifest) = (opened.digest.clone(), opened.bytes.clone());
    let mut seen = opened.seen(from).await?.0;
    from.check(&seen.contents).await?;
    let found = Search::new(from, &digest, &manifest).collect().await?;
    let attestations = found.into_iter().filter_map(|one| {
        let (about, attests) = (one.about, one.attests?);
        let (kind, Descriptor { digest, size, .. }) = (attests.kind(), attests.at);
        Some(SeenAttestation { kind, predicate_type: attests.predicate_type, about, digest, size })
    });
    seen.attestations = attestations.collect();
    Ok(seen)
}

/// Verifies that a bundle is trusted. Pulls no layer.
pub async fn verify(from: &Place, policy: &Policy) -> Result<(Seen, Verified), BundleError> {
    let opened = open(from).await?;
    let trusted = trust::verify(from, &opened.digest, &opened.bytes, policy).await?;
    let (seen, _) = opened.seen(from).await?;
    let refused = |source| BundleError::Trust { at: from.name(), source };
    let verified = trusted.within(&seen.contents).map_err(refused)?;
    Ok((seen, verified))
}

/// Pulls a trusted bundle into the store. Layers that are there are not pulled again. Unfinished downloads continue.
pub async fn pull(from: &Place, store: &Store, policy: &Policy, progress: &Progress) -> Result<Pulled, BundleError> {
    let (seen, verified) = verify(from, policy).await?;
    progress.expect(seen.contents.size());
    let layers: Vec<_> = seen.contents.layers().cloned().collect();
    let room = &store.room(layers.clone()).await?;
    let brought: Vec<_> = stream::iter(layers)
        .map(|layer| async move {
            let (path, new) = from.layer(&layer, store, progress).await?;
            if new {
                room.came(layer.size);
            }
            Ok::<_, BundleError>((layer.digest, path, new))
        })
        .buffer_unordered(AT_A_TIME)
        .try_collect()
        .await?;
    let path = |digest: &Digest| {
        brought.iter().find(|(one, _, _)| one == digest).map(|(_, path, _)| path.clone()).unwrap_or_default()
    };
    let hooks = seen.contents.hooks.iter().map(|hook| PulledHook {
        name: hook.name.clone(),
        path: path(&hook.layer.digest),
        digest: hook.layer.digest.clone(),
        permissions: hook.permissions.clone(),
    });
    let definitions = seen.contents.custom_resource_definitions.iter();
    let definitions = definitions.map(|of| DefinitionSource { name: of.name.clone(), path: path(&of.layer.digest) });
    let module = seen.contents.module.as_ref();
    let module = module.map(|module| ModuleSource { name: module.name.clone(), path: path(&module.layer.digest) });
    let files = seen.contents.files.iter().map(|file| (file.title().to_owned(), path(&file.digest)));
    let fetched = brought.iter().filter(|(_, _, new)| *new).count();
    Ok(Pulled {
        verified,
        hooks: hooks.collect(),
        module,
        definitions: definitions.collect(),
        files: files.collect(),
        fetched,
        reused: brought.len() - fetched,
        seen,
    })
}

/// A manifest whose digest was checked.
pub(super) struct Opened {
    pub digest: Digest,
    pub bytes: bytes::Bytes,
    pub manifest: super::Manifest,
}

pub(super) async fn open(from: &Place) -> Result<Opened, BundleError> {
    let (digest, bytes) = from.main().await?;
    let manifest =
        contents::read_manifest(&bytes).map_err(|source| BundleError::Contents { at: from.name(), source })?;
    Ok(Opened { digest, bytes, manifest })
}

impl Opened {
    /// Also reads the config, and returns its bytes.
    pub async fn seen(self, from: &Place) -> Result<(Seen, bytes::Bytes), BundleError> {
        let config = from.blob(&self.manifest.config).await?;
        let contents = contents::read(&self.manifest, &config, from.reference())
            .map_err(|source| BundleError::Contents { at: from.name(), source })?;
        Ok((Seen { reference: from.name(), digest: self.digest, contents, attestations: Vec::new() }, config))
    }
}

/// The file name of the schema of a bundle's settings.
pub const SETTINGS_SCHEMA: &str = "settings.schema.json";

/// The bytes of the largest schema of settings.
pub const MAX_SETTINGS_SCHEMA: u64 = 256 * 1024;

/// The files of a module, in the store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModuleSource {
    /// Its name, according to the bundle.
    pub name: String,
    /// The layer, for [`unpack_module`](crate::unpack_module). Its bytes have the digest.
    pub path: PathBuf,
}

/// A bundle as a host takes it: checked files, and what they should be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ready {
    /// The bundle's digest.
    pub digest: Digest,
    /// The hooks, each with its digest and with what it requests according to the bundle.
    pub hooks: Vec<HookSource>,
    /// The module, if the bundle is one.
    pub module: Option<ModuleSource>,
    /// The CustomResourceDefinitions.
    pub definitions: Vec<DefinitionSource>,
    /// The JSON Schema of the settings as text, if the bundle has one.
    pub settings_schema: Option<String>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Last {
    reference: String,
    digest: Digest,
    policy: Digest,
    hooks: Vec<LastHook>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    definitions: Vec<BundledDefinition>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    schema: Option<Descriptor>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    module: Option<BundledModule>,
}

#[derive(Debug, Serialize, Deserialize)]
struct LastHook {
    name: String,
    layer: Descriptor,
    permissions: Option<Vec<Permission>>,
}

impl Pulled {
    /// Converts the bundle to the form that a host takes.
    pub fn ready(&self) -> io::Result<Ready> {
        let hooks = self.hooks.iter().map(|hook| HookSource {
            name: hook.name.clone(),
            path: hook.path.clone(),
            digest: Some(hook.digest.to_string()),
            declared: hook.permissions.clone(),
        });
        let schema = self.files.iter().find(|(name, _)| name == SETTINGS_SCHEMA);
        Ok(Ready {
            digest: self.seen.digest.clone(),
            hooks: hooks.collect(),
            module: self.module.clone(),
            definitions: self.definitions.clone(),
            settings_schema: schema.map(|(_, path)| read_schema(path)).transpose()?,
        })
    }
}

/// A layer may be larger than the memory that the operator has for schemas.
fn read_schema(path: &Path) -> io::Result<String> {
    let size = fs::metadata(path)?.len();
    if size > MAX_SETTINGS_SCHEMA {
        let problem = format!("{SETTINGS_SCHEMA} has {size} bytes, and {MAX_SETTINGS_SCHEMA} are allowed");
        return Err(io::Error::other(problem));
    }
    fs::read_to_string(path)
}

impl Store {
    /// Records what was pulled, from where, and under which policy.
    pub fn remember(&self, reference: &str, pulled: &Pulled, policy: &Policy) -> Result<(), StoreError> {
        let contents = &pulled.seen.contents;
        let is_schema = |file: &&Descriptor| file.title() == SETTINGS_SCHEMA && file.media_type == SCHEMA_TYPE;
        let hooks = contents.hooks.iter().map(|hook| LastHook {
            name: hook.name.to_string(),
            layer: hook.layer.clone(),
            permissions: hook.permissions.clone(),
        });
        let last = Last {
            reference: reference.to_owned(),
            digest: pulled.seen.digest.clone(),
            policy: fingerprint(policy),
            hooks: hooks.collect(),
            definitions: contents.custom_resource_definitions.clone(),
            schema: contents.files.iter().find(is_schema).cloned(),
            module: contents.module.clone(),
        };
        let path = self.last(&last.reference);
        let bytes = serde_json::to_vec(&last).map_err(|error| io_error(&path, error.into()))?;
        self.directory(LAST)?;
        layout::write(&path, &bytes).map_err(|error| io_error(&path, io::Error::other(error)))
    }

    /// Returns what was last pulled from a place under this policy, if all of it is still there and unchanged.
    pub fn recall(&self, reference: &str, policy: &Policy) -> Result<Option<Ready>, StoreError> {
        let path = self.last(reference);
        let bytes = match fs::read(&path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(source) => return Err(io_error(&path, source)),
        };
        // A record that cannot be parsed counts as missing.
        let Ok(last) = serde_json::from_slice::<Last>(&bytes) else { return Ok(None) };
        if last.policy != fingerprint(policy) || last.reference != reference {
            return Ok(None);
        }
        let mut hooks = Vec::new();
        for LastHook { name, layer, permissions } in last.hooks {
            let (Ok(name), Some(path)) = (HookName::new(&name), self.get(&layer)?) else { return Ok(None) };
            hooks.push(HookSource { name, path, digest: Some(layer.digest.to_string()), declared: permissions });
        }
        let mut definitions = Vec::new();
        for BundledDefinition { name, layer } in last.definitions {
            let Some(path) = self.get(&layer)? else { return Ok(None) };
            definitions.push(DefinitionSource { name, path });
        }
        let schema = match &last.schema {
            None => None,
            Some(layer) => match self.get(layer)? {
                None => return Ok(None),
                Some(path) => Some(read_schema(&path).map_err(|source| io_error(&path, source))?),
            },
        };
        let module = match last.module {
            None => None,
            Some(BundledModule { name, layer }) => {
                let Some(path) = self.get(&layer)? else { return Ok(None) };
                Some(ModuleSource { name, path })
            }
        };
        Ok(Some(Ready { digest: last.digest, hooks, module, definitions, settings_schema: schema }))
    }

    fn last(&self, reference: &str) -> PathBuf {
        self.path(LAST).join(format!("{}.json", Digest::of(reference.as_bytes()).hex()))
    }
}

fn io_error(path: &std::path::Path, source: io::Error) -> StoreError {
    StoreError::Io { path: path.to_owned(), source }
}

/// Distinguishes policies by everything that they contain.
fn fingerprint(policy: &Policy) -> Digest {
    Digest::of(format!("{policy:?}").as_bytes())
}
