//! Where a bundle is: in a repository of a registry, or in a layout on disk. Both offer the same operations.

use std::path::{Path, PathBuf};

use bytes::Bytes;

use super::{
    BundleError, Connect, Contents, Descriptor, Digest, Layout, LayoutError, Manifest, Packed, Pushed, Reference,
    Store, copy,
    manifest::{MANIFEST_TYPE, MAX_MANIFEST, companion_tags},
    pack::describe,
    registry::{RegistryError, RegistryProblem, Repository},
    store::blocking,
};
use crate::Progress;

/// The most referrers of a bundle that are copied with it.
const MAX_REFERRERS: usize = 64;

#[derive(Debug, Clone)]
pub struct Place(Kind);

#[derive(Debug, Clone)]
enum Kind {
    Registry(Reference, Repository),
    Layout(Layout),
}

impl Place {
    /// A place in a registry. Sends no request yet.
    pub fn registry(at: &Reference, connect: &Connect) -> Result<Self, BundleError> {
        Ok(Self(Kind::Registry(at.clone(), Repository::new(at, connect)?)))
    }

    pub fn layout(layout: Layout) -> Self {
        Self(Kind::Layout(layout))
    }

    /// The name that the user gave the place.
    pub fn name(&self) -> String {
        match &self.0 {
            Kind::Registry(at, _) => at.to_string(),
            Kind::Layout(layout) => layout.path().display().to_string(),
        }
    }

    /// What a policy's `match` is compared with: `HOST/REPOSITORY`, or the layout's path.
    pub fn source(&self) -> String {
        match &self.0 {
            Kind::Registry(at, _) => at.source(),
            Kind::Layout(_) => self.name(),
        }
    }

    /// The tag with which the bundle was requested. `None` if a digest decides.
    pub fn tag(&self) -> Option<&str> {
        match &self.0 {
            Kind::Registry(at, _) if at.digest().is_some() => None,
            Kind::Registry(at, _) => at.tag(),
            Kind::Layout(layout) => layout.tag(),
        }
    }

    /// The layout, if the place is one.
    pub(super) fn on_disk(&self) -> Option<&Layout> {
        match &self.0 {
            Kind::Registry(..) => None,
            Kind::Layout(layout) => Some(layout),
        }
    }

    pub(super) fn reference(&self) -> Option<&Reference> {
        match &self.0 {
            Kind::Registry(at, _) => Some(at),
            Kind::Layout(_) => None,
        }
    }

    /// Returns the bundle's manifest, by its digest or else by its tag.
    pub(super) async fn main(&self) -> Result<(Digest, Bytes), BundleError> {
        match &self.0 {
            Kind::Layout(layout) => Ok(layout.main()?),
            Kind::Registry(at, repository) => {
                let name = at.digest().map_or(at.tag().unwrap_or("latest"), Digest::as_str);
                let missing = || RegistryError::new(at, &format!("manifest {name}"), RegistryProblem::Missing);
                Ok(repository.manifest(name).await?.ok_or_else(missing)?)
            }
        }
    }

    /// Returns a manifest by tag or digest, if it exists.
    pub(super) async fn manifest(&self, name: &str) -> Result<Option<(Digest, Bytes)>, BundleError> {
        match &self.0 {
            Kind::Layout(layout) => Ok(layout.manifest(name)?),
            Kind::Registry(_, repository) => Ok(repository.manifest(name).await?),
        }
    }

    pub(super) async fn referrers(&self, digest: &Digest) -> Result<Vec<Descriptor>, BundleError> {
        match &self.0 {
            Kind::Layout(layout) => Ok(layout.referrers(digest)?),
            Kind::Registry(_, repository) => Ok(repository.referrers(digest).await?),
        }
    }

    /// Returns a small blob after a check of its digest.
    pub(super) async fn blob(&self, wanted: &Descriptor) -> Result<Bytes, BundleError> {
        match &self.0 {
            Kind::Layout(layout) => Ok(layout.blob(wanted)?),
            Kind::Registry(_, repository) => Ok(repository.blob(wanted).await?),
        }
    }

    /// Returns a layer's file in the store, and whether it had to be fetched.
    pub(super) async fn layer(
        &self,
        layer: &Descriptor,
        store: &Store,
        progress: &Progress,
    ) -> Result<(PathBuf, bool), BundleError> {
        let (own, wanted) = (store.clone(), layer.clone());
        if let Some(path) = blocking(move || own.get(&wanted)).await? {
            progress.add(layer.size);
            return Ok((path, false));
        }
        let (own, wanted, place) = (store.clone(), layer.clone(), self.source());
        let path = match &self.0 {
            Kind::Registry(at, repository) => {
                let place = at.registry().to_owned();
                let partial = blocking(move || own.begin(&wanted, &place)).await?;
                repository.fetch(layer, partial, progress).await?
            }
            Kind::Layout(layout) => {
                let layout = layout.clone();
                let work = move || {
                    let mut partial = own.begin(&wanted, &place)?;
                    partial.restart()?;
                    partial.write(&layout.blob(&wanted)?)?;
                    Ok::<_, BundleError>(partial.finish()?)
                };
                let path = blocking(work).await?;
                progress.add(layer.size);
                path
            }
        };
        Ok((path, true))
    }

    /// Checks that a layout's layers are unchanged since it was packed. The layers of a registry are not downloaded for
    /// that.
    pub(super) async fn check(&self, contents: &Contents) -> Result<(), BundleError> {
        let Kind::Layout(layout) = &self.0 else { return Ok(()) };
        let (layout, layers) = (layout.clone(), contents.layers().cloned().collect::<Vec<_>>());
        blocking(move || layers.iter().try_for_each(|layer| layout.blob(layer).map(drop))).await
    }

    /// Stores a blob. Returns whether it was not there yet.
    pub(super) async fn put_blob(&self, blob: &Descriptor, bytes: Bytes) -> Result<bool, BundleError> {
        match &self.0 {
            Kind::Layout(layout) => layout.put_blob(&blob.digest, &bytes).map(|()| true).map_err(Into::into),
            Kind::Registry(_, repository) => Ok(repository.put_blob(blob, bytes).await?),
        }
    }

    pub(super) async fn put_manifest(
        &self,
        manifest: &Manifest,
        bytes: Bytes,
        tag: Option<&str>,
    ) -> Result<(), BundleError> {
        match &self.0 {
            Kind::Layout(layout) => Ok(layout.put_manifest(describe(manifest, &bytes), &bytes, tag)?),
            Kind::Registry(_, repository) => {
                let media_type = manifest.media_type.as_deref().unwrap_or(MANIFEST_TYPE);
                let mut entry = describe(manifest, &bytes);
                entry.annotations.clone_from(&manifest.annotations);
                let listed = repository.put_manifest(media_type, bytes, tag).await?;
                match &manifest.subject {
                    Some(subject) if !listed => Ok(repository.add_referrer(&subject.digest, entry).await?),
                    _ => Ok(()),
                }
            }
        }
    }

    /// Returns what the place holds about a manifest: signatures and the like, each with its tag if it has one.
    pub(super) async fn companions(&self, digest: &Digest) -> Result<Vec<(Option<String>, Bytes)>, BundleError> {
        let mut found = Vec::new();
        for entry in self.referrers(digest).await?.iter().filter(|entry| entry.size <= MAX_MANIFEST).take(MAX_REFERRERS)
        {
            if let Some((_, bytes)) = self.manifest(entry.digest.as_str()).await? {
                found.push((None, bytes));
            }
        }
        for tag in companion_tags(digest) {
            if let Some((_, bytes)) = self.manifest(&tag).await? {
                found.push((Some(tag), bytes));
            }
        }
        Ok(found)
    }
}

/// Writes the bundle at a place, and what the place holds about it, as one file. Replaces an existing file.
pub async fn archive(from: &Place, to: &Path, progress: &Progress) -> Result<Pushed, BundleError> {
    let failed = |source| LayoutError::Io { path: to.to_owned(), source };
    let parent = to.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let directory = tempfile::tempdir_in(parent).map_err(failed)?;
    let layout = Layout::create(directory.path())?;
    let pushed = copy(from, &Place::layout(layout.tagged(from.tag())), progress).await?;
    if let Some(reference) = from.reference() {
        // The digest of the manifest says it already.
        layout.set_saved_from(&reference.unpinned().to_string())?;
    }
    let to = to.to_owned();
    // The directory goes when this ends.
    blocking(move || layout.write_file(&to).map(|()| drop(directory))).await?;
    Ok(pushed)
}

/// Stores a bundle in a layout, under a tag if there is one.
pub fn save(packed: &Packed, layout: &Layout, tag: Option<&str>) -> Result<(), BundleError> {
    for (digest, bytes) in &packed.blobs {
        layout.put_blob(digest, bytes)?;
    }
    Ok(layout.put_manifest(packed.manifest.clone(), &packed.bytes, tag)?)
}
