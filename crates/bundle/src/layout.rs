//! A bundle on disk: a directory in the OCI image layout, with its signatures beside it. Reads nothing unchecked, and
//! never removes what others put there.

use std::{
    fs,
    io::{self, Write as _},
    path::{Path, PathBuf},
};

use bytes::Bytes;

use super::{
    Descriptor, Digest, Manifest,
    manifest::{Index, MAX_MANIFEST, REF_NAME, bytes_of},
};

const MARKER: &str = "oci-layout";
const MARKER_TEXT: &str = r#"{"imageLayoutVersion":"1.0.0"}"#;
const INDEX: &str = "index.json";

/// What is wrong with a layout.
#[derive(Debug, thiserror::Error)]
pub enum LayoutError {
    /// The file system's word.
    #[error("{} can't be read or written", .path.display())]
    Io {
        /// The path.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// Not a layout.
    #[error("{} is no OCI image layout, since it has no file {MARKER:?}: make one with `boathook bundle pack DIR -o LAYOUT`", .0.display())]
    NoLayout(PathBuf),
    /// Something else is there.
    #[error("{} is not empty and no OCI image layout: name another directory", .0.display())]
    Occupied(PathBuf),
    /// An index that is none.
    #[error("{} can't be read: it is no OCI image index", .path.display())]
    Json {
        /// The path.
        path: PathBuf,
        /// Why.
        #[source]
        source: serde_json::Error,
    },
    /// Changed on disk.
    #[error("{}: {digest} was tampered with or damaged: pack it again", .path.display())]
    Digest {
        /// The path.
        path: PathBuf,
        /// The digest.
        digest: Digest,
    },
    /// Not there.
    #[error("{} has no {name}: it has {}", .path.display(), words(.has))]
    Missing {
        /// The path.
        path: PathBuf,
        /// The name.
        name: String,
        /// What is there instead.
        has: Vec<String>,
    },
    /// More than one bundle.
    #[error("{} holds several bundles ({}): choose one with --tag", .path.display(), words(.has))]
    Several {
        /// The path.
        path: PathBuf,
        /// What is there instead.
        has: Vec<String>,
    },
}

fn words(list: &[String]) -> String {
    if list.is_empty() { "nothing".to_owned() } else { list.join(", ") }
}

/// A directory in the OCI image layout.
#[derive(Debug, Clone)]
pub struct Layout {
    root: PathBuf,
    tag: Option<String>,
}

impl Layout {
    /// Whether a directory is one.
    pub fn is_at(root: &Path) -> bool {
        root.join(MARKER).is_file()
    }

    /// Opens one. The tag chooses among several bundles.
    pub fn open(root: &Path, tag: Option<&str>) -> Result<Self, LayoutError> {
        match Self::is_at(root) {
            true => Ok(Self { root: root.to_owned(), tag: tag.map(str::to_owned) }),
            false => Err(LayoutError::NoLayout(root.to_owned())),
        }
    }

    /// Opens one, or makes one of a directory that is missing or empty.
    pub fn create(root: &Path) -> Result<Self, LayoutError> {
        if !Self::is_at(root) {
            let failed = |source| LayoutError::Io { path: root.to_owned(), source };
            fs::create_dir_all(root.join("blobs/sha256")).map_err(failed)?;
            let foreign = fs::read_dir(root).map_err(failed)?.flatten().any(|entry| entry.file_name() != "blobs");
            if foreign {
                return Err(LayoutError::Occupied(root.to_owned()));
            }
            write(&root.join(INDEX), &json(&Index::default(), root)?)?;
            write(&root.join(MARKER), MARKER_TEXT.as_bytes())?;
        }
        Self::open(root, None)
    }

    /// The directory.
    pub fn path(&self) -> &Path {
        &self.root
    }

    /// The tag that was asked for.
    pub(super) fn tag(&self) -> Option<&str> {
        self.tag.as_deref()
    }

    fn blob_path(&self, digest: &Digest) -> PathBuf {
        self.root.join("blobs/sha256").join(digest.hex())
    }

    fn index(&self) -> Result<Index, LayoutError> {
        let path = self.root.join(INDEX);
        let bytes = read(&path, MAX_MANIFEST)?;
        serde_json::from_slice(&bytes).map_err(|source| LayoutError::Json { path, source })
    }

    /// The bundle's manifest: the one with the tag, or the only one that is no signature.
    pub(super) fn main(&self) -> Result<(Digest, Bytes), LayoutError> {
        let index = self.index()?;
        let is_signature =
            |entry: &Descriptor| tag_of(entry).is_some_and(|tag| tag.starts_with("sha256-")) || self.refers(entry);
        let all: Vec<_> = index.manifests.iter().filter(|entry| !is_signature(entry)).collect();
        let names = || all.iter().map(|entry| tag_of(entry).unwrap_or(entry.digest.as_str()).to_owned()).collect();
        let missing = |name: String| LayoutError::Missing { path: self.root.clone(), name, has: names() };
        let entry = match (&self.tag, all.as_slice()) {
            (Some(tag), all) => {
                let found = all.iter().find(|entry| tag_of(entry) == Some(tag));
                *found.ok_or_else(|| missing(format!("tag {tag}")))?
            }
            (None, [one]) => *one,
            (None, []) => return Err(missing("bundle".to_owned())),
            (None, _) => return Err(LayoutError::Several { path: self.root.clone(), has: names() }),
        };
        Ok((entry.digest.clone(), self.blob(entry)?))
    }

    fn refers(&self, entry: &Descriptor) -> bool {
        let manifest = self.blob(entry).ok().and_then(|bytes| serde_json::from_slice::<Manifest>(&bytes).ok());
        manifest.is_some_and(|manifest| manifest.subject.is_some())
    }

    /// A manifest by tag or digest.
    pub(super) fn manifest(&self, name: &str) -> Result<Option<(Digest, Bytes)>, LayoutError> {
        let index = self.index()?;
        let entry = index.manifests.iter().find(|entry| tag_of(entry) == Some(name) || entry.digest.as_str() == name);
        entry.map(|entry| Ok((entry.digest.clone(), self.blob(entry)?))).transpose()
    }

    /// All manifests, signatures among them.
    pub(super) fn manifests(&self) -> Result<Vec<Descriptor>, LayoutError> {
        Ok(self.index()?.manifests)
    }

    /// What refers to a manifest.
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

    /// A blob, checked.
    pub(super) fn blob(&self, wanted: &Descriptor) -> Result<Bytes, LayoutError> {
        let path = self.blob_path(&wanted.digest);
        // One that goes on is another, too.
        let bytes = read(&path, wanted.size.saturating_add(1))?;
        if Digest::of(&bytes) != wanted.digest {
            return Err(LayoutError::Digest { path: self.root.clone(), digest: wanted.digest.clone() });
        }
        Ok(bytes)
    }

    pub(super) fn put_blob(&self, digest: &Digest, bytes: &[u8]) -> Result<(), LayoutError> {
        write(&self.blob_path(digest), bytes)
    }

    /// Stores a manifest; a tag is taken from the one that has it.
    pub(super) fn put_manifest(&self, entry: Descriptor, bytes: &[u8], tag: Option<&str>) -> Result<(), LayoutError> {
        self.put_blob(&entry.digest, bytes)?;
        let mut index = self.index()?;
        let same = |old: &Descriptor| old.digest == entry.digest && (tag.is_none() || tag_of(old).is_none());
        index.manifests.retain(|old| !same(old) && (tag.is_none() || tag_of(old) != tag));
        index.manifests.push(match tag {
            Some(tag) => entry.annotated(REF_NAME, tag),
            None => entry,
        });
        write(&self.root.join(INDEX), &json(&index, &self.root)?)
    }
}

/// The tag of an entry of an index.
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

/// Writes beside it and moves it there, so that nobody sees a half.
pub(super) fn write(path: &Path, bytes: &[u8]) -> Result<(), LayoutError> {
    use std::os::unix::fs::PermissionsExt as _;
    let failed = |source| LayoutError::Io { path: path.to_owned(), source };
    let mut file = tempfile::NamedTempFile::new_in(path.parent().unwrap_or(path)).map_err(failed)?;
    file.write_all(bytes).map_err(failed)?;
    file.as_file().set_permissions(fs::Permissions::from_mode(0o644)).map_err(failed)?;
    file.persist(path).map_err(|error| failed(error.error))?;
    Ok(())
}
