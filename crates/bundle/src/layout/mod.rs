//! A bundle on disk: a directory in the OCI image layout, or one file of it, with its signatures. Whatever is read is
//! checked. Files that others put into the directory are never removed.

mod archive;

use std::{
    fs,
    io::{self, Write as _},
    path::{Path, PathBuf},
    sync::Arc,
};

use bytes::Bytes;

use archive::Archive;

use super::{
    Descriptor, Digest, Manifest,
    annotations::{IMAGE_NAME, REF_NAME},
    manifest::{Index, MAX_MANIFEST, bytes_of},
};

pub(super) const MARKER: &str = "oci-layout";
const MARKER_TEXT: &str = r#"{"imageLayoutVersion":"1.0.0"}"#;
pub(super) const INDEX: &str = "index.json";
pub(super) const BLOBS: &str = "blobs/sha256";

/// What is wrong with a layout.
#[derive(Debug, thiserror::Error)]
pub enum LayoutError {
    /// The file system reported an error.
    #[error("{} cannot be read or written", .path.display())]
    Io {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    /// The directory is not a layout.
    #[error("{} is not an OCI image layout, because it has no file {MARKER:?}: make one with `boathook bundle pack DIR -o LAYOUT`", .0.display())]
    NoLayout(PathBuf),
    /// The directory contains something else.
    #[error("{} is not empty and is not an OCI image layout: name another directory", .0.display())]
    Occupied(PathBuf),
    /// The file is not a layout in a tar.
    #[error("{} is not an OCI image layout in one file: {why}", .path.display())]
    Archive { path: PathBuf, why: String },
    /// A file is written once.
    #[error(
        "{} is one file, to which nothing can be added: push it with `boathook bundle load`, or pack a layout and `boathook bundle save` it later", .0.display()
    )]
    ReadOnly(PathBuf),
    /// The index is not a valid OCI image index.
    #[error("{} cannot be read: it is not an OCI image index", .path.display())]
    Json {
        path: PathBuf,
        #[source]
        source: serde_json::Error,
    },
    /// A blob was changed on disk.
    #[error("{}: {digest} was tampered with or damaged: pack it again", .path.display())]
    Digest { path: PathBuf, digest: Digest },
    /// A manifest is missing.
    #[error("{} has no {name}; available: {}", .path.display(), words(.has))]
    Missing {
        path: PathBuf,
        /// What is missing.
        name: String,
        /// What there is instead.
        has: Vec<String>,
    },
    /// There is more than one bundle, and no tag chooses one.
    #[error("{} holds several bundles ({}): choose one with --tag", .path.display(), words(.has))]
    Several {
        path: PathBuf,
        /// The bundles to choose from.
        has: Vec<String>,
    },
}

fn words(list: &[String]) -> String {
    if list.is_empty() { "nothing".to_owned() } else { list.join(", ") }
}

#[derive(Debug, Clone)]
pub struct Layout {
    files: Files,
    tag: Option<String>,
}

#[derive(Debug, Clone)]
enum Files {
    Directory(PathBuf),
    Archive(Arc<Archive>),
}

impl Layout {
    /// Whether a directory or a file is a layout.
    pub fn is_at(root: &Path) -> bool {
        root.join(MARKER).is_file() || archive::is_at(root)
    }

    /// Opens a layout. The tag chooses among several bundles.
    pub fn open(root: &Path, tag: Option<&str>) -> Result<Self, LayoutError> {
        let files = match Self::is_at(root) {
            true if root.is_dir() => Files::Directory(root.to_owned()),
            true => Files::Archive(Archive::open(root)?.into()),
            false => return Err(LayoutError::NoLayout(root.to_owned())),
        };
        Ok(Self { files, tag: tag.map(str::to_owned) })
    }

    /// Opens a layout, or creates one in a directory that is missing or empty.
    pub fn create(root: &Path) -> Result<Self, LayoutError> {
        if !Self::is_at(root) {
            let failed = |source| LayoutError::Io { path: root.to_owned(), source };
            fs::create_dir_all(root.join(BLOBS)).map_err(failed)?;
            let foreign = fs::read_dir(root).map_err(failed)?.flatten().any(|entry| entry.file_name() != "blobs");
            if foreign {
                return Err(LayoutError::Occupied(root.to_owned()));
            }
            write(&root.join(INDEX), &json(&Index::default(), root)?)?;
            write(&root.join(MARKER), MARKER_TEXT.as_bytes())?;
        }
        Self::open(root, None)
    }

    pub fn path(&self) -> &Path {
        match &self.files {
            Files::Directory(root) => root,
            Files::Archive(archive) => archive.path(),
        }
    }

    /// Writes all of a directory's layout as one file. Replaces an existing file.
    pub fn write_file(&self, to: &Path) -> Result<(), LayoutError> {
        match &self.files {
            Files::Directory(root) => archive::write(root, to),
            Files::Archive(archive) => Err(LayoutError::ReadOnly(archive.path().to_owned())),
        }
    }

    /// The same layout with another tag.
    pub(super) fn tagged(&self, tag: Option<&str>) -> Self {
        Self { tag: tag.map(str::to_owned), ..self.clone() }
    }

    /// The requested tag.
    pub(super) fn tag(&self) -> Option<&str> {
        self.tag.as_deref()
    }

    fn read(&self, name: &str, max: u64) -> Result<Bytes, LayoutError> {
        match &self.files {
            Files::Directory(root) => read(&root.join(name), max),
            Files::Archive(archive) => {
                let path = archive.path().join(name);
                Ok(archive.read(name, max).map_err(|source| LayoutError::Io { path, source })?.into())
            }
        }
    }

    fn write(&self, name: &str, bytes: &[u8]) -> Result<(), LayoutError> {
        match &self.files {
            Files::Directory(root) => write(&root.join(name), bytes),
            Files::Archive(archive) => Err(LayoutError::ReadOnly(archive.path().to_owned())),
        }
    }

    fn index(&self) -> Result<Index, LayoutError> {
        let bytes = self.read(INDEX, MAX_MANIFEST)?;
        serde_json::from_slice(&bytes).map_err(|source| LayoutError::Json { path: self.path().join(INDEX), source })
    }

    /// Returns the bundle's manifest: the one with the tag, or the only one that is not a signature.
    pub(super) fn main(&self) -> Result<(Digest, Bytes), LayoutError> {
        let entry = self.entry()?;
        Ok((entry.digest.clone(), self.blob(&entry)?))
    }

    /// The reference that the file was saved from, if the tool that wrote the file noted it.
    pub fn saved_from(&self) -> Result<Option<String>, LayoutError> {
        Ok(self.entry()?.annotations.get(IMAGE_NAME).cloned())
    }

    /// Notes the reference that the bundle comes from.
    pub(super) fn set_saved_from(&self, reference: &str) -> Result<(), LayoutError> {
        let (mut index, main) = (self.index()?, self.entry()?);
        for entry in index.manifests.iter_mut().filter(|entry| entry.digest == main.digest) {
            entry.annotations.insert(IMAGE_NAME.to_owned(), reference.to_owned());
        }
        self.write(INDEX, &json(&index, self.path())?)
    }

    fn entry(&self) -> Result<Descriptor, LayoutError> {
        let index = self.index()?;
        let is_signature =
            |entry: &Descriptor| tag_of(entry).is_some_and(|tag| tag.starts_with("sha256-")) || self.refers(entry);
        let all: Vec<_> = index.manifests.iter().filter(|entry| !is_signature(entry)).collect();
        let names = || all.iter().map(|entry| tag_of(entry).unwrap_or(entry.digest.as_str()).to_owned()).collect();
        let missing = |name: String| LayoutError::Missing { path: self.path().to_owned(), name, has: names() };
        let entry = match (&self.tag, all.as_slice()) {
            (Some(tag), all) => {
                let found = all.iter().find(|entry| tag_of(entry) == Some(tag));
                *found.ok_or_else(|| missing(format!("tag {tag}")))?
            }
            (None, [one]) => *one,
            (None, []) => return Err(missing("bundle".to_owned())),
            (None, _) => return Err(LayoutError::Several { path: self.path().to_owned(), has: names() }),
        };
        Ok(entry.clone())
    }

    fn refers(&self, entry: &Descriptor) -> bool {
        let manifest = self.blob(entry).ok().and_then(|bytes| serde_json::from_slice::<Manifest>(&bytes).ok());
        manifest.is_some_and(|manifest| manifest.subject.is_some())
    }

    /// Returns a manifest by tag or digest.
    pub(super) fn manifest(&self, name: &str) -> Result<Option<(Digest, Bytes)>, LayoutError> {
        let index = self.index()?;
        let entry = index.manifests.iter().find(|entry| tag_of(entry) == Some(name) || entry.digest.as_str() == name);
        entry.map(|entry| Ok((entry.digest.clone(), self.blob(entry)?))).transpose()
    }

    /// Returns a document by its digest, whether the index names it or not.
    pub(super) fn document(&self, digest: &Digest) -> Result<Option<Bytes>, LayoutError> {
        match self.read(&blob_name(digest), MAX_MANIFEST) {
            Ok(bytes) if Digest::of(&bytes) == *digest => Ok(Some(bytes)),
            Ok(_) => Err(LayoutError::Digest { path: self.path().to_owned(), digest: digest.clone() }),
            Err(LayoutError::Io { source, .. }) if source.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Returns what refers to a manifest.
    pub(super) fn referrers(&self, digest: &Digest) -> Result<Vec<Descriptor>, LayoutError> {
        let mut found = Vec::new();
        for mut entry in self.index()?.manifests {
            let bytes = self.blob(&entry)?;
            let Ok(manifest) = serde_json::from_slice::<Manifest>(&bytes) else { continue };
            if manifest.subject.is_some_and(|subject| subject.digest == *digest) {
                entry.artifact_type = manifest.artifact_type;
                found.push(entry);
            }
        }
        Ok(found)
    }

    /// Returns a blob after a check of its digest.
    pub(super) fn blob(&self, wanted: &Descriptor) -> Result<Bytes, LayoutError> {
        let name = blob_name(&wanted.digest);
        // Reads one byte more, because a longer blob is not the wanted one either.
        let bytes = self.read(&name, wanted.size.saturating_add(1))?;
        if Digest::of(&bytes) != wanted.digest {
            return Err(LayoutError::Digest { path: self.path().to_owned(), digest: wanted.digest.clone() });
        }
        Ok(bytes)
    }

    pub(super) fn put_blob(&self, digest: &Digest, bytes: &[u8]) -> Result<(), LayoutError> {
        self.write(&blob_name(digest), bytes)
    }

    /// Stores a manifest. If another manifest has the tag, that one loses it.
    pub(super) fn put_manifest(&self, entry: Descriptor, bytes: &[u8], tag: Option<&str>) -> Result<(), LayoutError> {
        self.put_blob(&entry.digest, bytes)?;
        let mut index = self.index()?;
        let same = |old: &Descriptor| old.digest == entry.digest && (tag.is_none() || tag_of(old).is_none());
        index.manifests.retain(|old| !same(old) && (tag.is_none() || tag_of(old) != tag));
        index.manifests.push(match tag {
            Some(tag) => entry.annotated(REF_NAME, tag),
            None => entry,
        });
        self.write(INDEX, &json(&index, self.path())?)
    }
}

fn blob_name(digest: &Digest) -> String {
    format!("{BLOBS}/{}", digest.hex())
}

/// The tag of an entry in an index.
pub(super) fn tag_of(entry: &Descriptor) -> Option<&str> {
    entry.annotations.get(REF_NAME).map(String::as_str)
}

fn json(index: &Index, root: &Path) -> Result<Vec<u8>, LayoutError> {
    bytes_of(index).map_err(|source| LayoutError::Json { path: root.join(INDEX), source })
}

fn read(path: &Path, max: u64) -> Result<Bytes, LayoutError> {
    use std::io::Read as _;
    let mut bytes = Vec::new();
    let file = fs::File::open(path).and_then(|file| file.take(max).read_to_end(&mut bytes));
    file.map_err(|source| LayoutError::Io { path: path.to_owned(), source })?;
    Ok(bytes.into())
}

/// Writes to a temporary file and renames it, so that nobody sees half of a file.
pub(super) fn write(path: &Path, bytes: &[u8]) -> Result<(), LayoutError> {
    use std::os::unix::fs::PermissionsExt as _;
    let failed = |source| LayoutError::Io { path: path.to_owned(), source };
    let mut file = tempfile::NamedTempFile::new_in(path.parent().unwrap_or(path)).map_err(failed)?;
    file.write_all(bytes).map_err(failed)?;
    file.as_file().set_permissions(fs::Permissions::from_mode(0o644)).map_err(failed)?;
    file.persist(path).map_err(|error| failed(error.error))?;
    Ok(())
}
