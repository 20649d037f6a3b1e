//! Pulls a bundle from a place into the store, as checked files. No layer is pulled before the bundle is trusted.

use std::path::PathBuf;

use boathook_core::model::{HookName, Permission};
use futures::{StreamExt as _, TryStreamExt as _, stream};
use serde::Serialize;

use super::{BundleError, Contents, Digest, Place, Policy, Progress, Store, TrustError, Verified, contents, trust};

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
pub async fn inspect(from: &Place) -> Result<Seen, BundleError> {
    let seen = look(from).await?;
    from.check(&seen.contents).await?;
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
    let files = seen.contents.files.iter().map(|file| (file.title().to_owned(), path(&file.digest)));
    let fetched = brought.iter().filter(|(_, _, new)| *new).count();
    Ok(Pulled {
        verified,
        hooks: hooks.collect(),
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
        Ok((Seen { reference: from.name(), digest: self.digest, contents }, config))
    }
}
