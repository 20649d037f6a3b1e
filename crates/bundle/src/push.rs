//! Pushes a bundle from a layout or from memory to a registry. What the registry already has is not sent.

use std::collections::BTreeMap;

use bytes::Bytes;

use super::{
    BundleError, ContentsError, Descriptor, Digest, Manifest, Packed, Place, Progress, manifest::MAX_MANIFEST, pull,
};

/// What a push did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pushed {
    /// The bundle's digest.
    pub digest: Digest,
    /// The number of blobs that were sent.
    pub sent: usize,
    /// The number of blobs that were already there.
    pub present: usize,
    /// The number of signatures that were sent with the bundle.
    pub signatures: usize,
}

/// Pushes a bundle that was just packed.
pub async fn push(packed: &Packed, to: &Place, progress: &Progress) -> Result<Pushed, BundleError> {
    let manifest: Manifest = read(&packed.bytes, "memory")?;
    let source = Source::Memory(&packed.blobs);
    let mut pushed = Pushed { digest: packed.manifest.digest.clone(), sent: 0, present: 0, signatures: 0 };
    send(&source, &manifest, packed.bytes.clone(), to, to.tag(), progress, &mut pushed).await?;
    Ok(pushed)
}

/// Copies a bundle from another place, with the signatures that are stored with it there.
pub async fn copy(from: &Place, to: &Place, progress: &Progress) -> Result<Pushed, BundleError> {
    let opened = pull::open(from).await?;
    let source = Source::Place(from);
    let mut pushed = Pushed { digest: opened.digest.clone(), sent: 0, present: 0, signatures: 0 };
    // Anything that is not a bundle is rejected here.
    let (manifest, bytes, digest) = (opened.manifest.clone(), opened.bytes.clone(), opened.digest.clone());
    opened.seen(from).await?;
    send(&source, &manifest, bytes, to, to.tag(), progress, &mut pushed).await?;
    for entry in from.companions(&digest)? {
        if entry.size > MAX_MANIFEST {
            continue;
        }
        let bytes = from.blob(&entry).await?;
        let tag = super::layout::tag_of(&entry);
        send(&source, &read(&bytes, &from.name())?, bytes, to, tag, progress, &mut pushed).await?;
        pushed.signatures += 1;
    }
    Ok(pushed)
}

enum Source<'a> {
    Memory(&'a BTreeMap<Digest, Bytes>),
    Place(&'a Place),
}

impl Source<'_> {
    async fn blob(&self, wanted: &Descriptor) -> Result<Bytes, BundleError> {
        match self {
            Self::Memory(blobs) => Ok(blobs.get(&wanted.digest).cloned().unwrap_or_default()),
            Self::Place(place) => place.blob(wanted).await,
        }
    }
}

/// Sends blobs first, because a registry accepts no manifest whose blobs it does not have. Sends one blob at a time, so
/// that only one is in memory.
async fn send(
    from: &Source<'_>,
    manifest: &Manifest,
    bytes: Bytes,
    to: &Place,
    tag: Option<&str>,
    progress: &Progress,
    pushed: &mut Pushed,
) -> Result<(), BundleError> {
    let blobs: Vec<_> = std::iter::once(&manifest.config).chain(&manifest.layers).collect();
    progress.expect(blobs.iter().map(|blob| blob.size).sum());
    for blob in blobs {
        match to.put_blob(blob, from.blob(blob).await?).await? {
            true => pushed.sent += 1,
            false => pushed.present += 1,
        }
        progress.add(blob.size);
    }
    to.put_manifest(manifest, bytes, tag).await
}

fn read(bytes: &[u8], at: &str) -> Result<Manifest, BundleError> {
    serde_json::from_slice(bytes).map_err(|source| BundleError::Contents {
        at: at.to_owned(),
        source: ContentsError::Unreadable { what: "manifest", source },
    })
}
