//! Keeps layers on disk by their digests, whole ones and begun ones. Never hands out a byte that it did not check.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Read as _, Seek as _, Write as _},
    os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _},
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

use super::{Descriptor, Digest, digest::Sum};

/// What a download that nobody goes on with is kept for.
const ABANDONED: Duration = Duration::from_secs(24 * 3600);

/// Why a layer can't be kept or had.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The file system's word.
    #[error("{} can't be used as a store of bundles: choose another directory, or mend its rights", .path.display())]
    Io {
        /// The path.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// More bytes than were announced.
    #[error("layer {layer} is longer than the {size} bytes that its manifest says: the registry is broken or lies")]
    TooLong {
        /// The layer.
        layer: String,
        /// Its bytes.
        size: u64,
    },
    /// Fewer bytes than were announced.
    #[error("layer {layer} ended after {got} of {size} bytes: try again, what is there is kept")]
    TooShort {
        /// The layer.
        layer: String,
        /// What there is.
        got: u64,
        /// Its bytes.
        size: u64,
    },
    /// Other bytes than were announced.
    #[error("layer {layer} was tampered with or damaged: its digest is {got}, and the manifest says {want}")]
    Digest {
        /// The layer.
        layer: String,
        /// What there is.
        got: Digest,
        /// What there should be.
        want: Digest,
    },
}

/// A directory of layers. Several processes may share it.
#[derive(Debug, Clone)]
pub struct Store {
    root: PathBuf,
}

impl Store {
    /// Opens a store; makes the directory, for its owner alone, if it is missing.
    pub fn open(root: &Path) -> Result<Self, StoreError> {
        for directory in ["blobs/sha256", "partial"] {
            let path = root.join(directory);
            fs::DirBuilder::new()
                .recursive(true)
                .mode(0o700)
                .create(&path)
                .map_err(|source| StoreError::Io { path, source })?;
        }
        Ok(Self { root: root.to_owned() })
    }

    pub(super) fn root(&self) -> &Path {
        &self.root
    }

    fn blob(&self, digest: &Digest) -> PathBuf {
        self.root.join("blobs/sha256").join(digest.hex())
    }

    /// The file of a layer, if it is there and still what it was. A damaged one is removed. Reads all of it.
    pub fn get(&self, layer: &Descriptor) -> Result<Option<PathBuf>, StoreError> {
        let path = self.blob(&layer.digest);
        let failed = |source| StoreError::Io { path: path.clone(), source };
        let mut file = match File::open(&path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(failed(error)),
        };
        let (sum, len) = sum_of(&mut file).map_err(failed)?;
        if len == layer.size && sum.finish() == layer.digest {
            // The time of last use, for `collect`; a store that can't be written still serves.
            let _ = file.set_modified(SystemTime::now());
            return Ok(Some(path));
        }
        fs::remove_file(&path).map_err(failed)?;
        Ok(None)
    }

    /// Begins to write a layer, or goes on where somebody stopped.
    pub(super) fn begin(&self, layer: &Descriptor) -> Result<Partial, StoreError> {
        let directory = self.root.join("partial");
        let shared = directory.join(layer.digest.hex());
        let failed = |path: &Path| {
            let path = path.to_owned();
            move |source| StoreError::Io { path, source }
        };
        let open = |path: &Path, new: bool| {
            let mut options = OpenOptions::new();
            options.read(true).write(true).create_new(new).create(true).mode(0o600).open(path)
        };
        let mut file = open(&shared, false).map_err(failed(&shared))?;
        // Somebody else is at it: two writers would mix their bytes, so this one begins for itself. The same holds when
        // that one has just finished, and the path is another file's or nobody's now.
        let mut path = shared;
        if file.try_lock().is_err() || !is_at(&file, &path) {
            let own = tempfile::Builder::new().prefix(layer.digest.hex()).tempfile_in(&directory);
            (file, path) = own.and_then(|own| own.keep().map_err(|error| error.error)).map_err(failed(&directory))?;
        }
        let (sum, len) = sum_of(&mut file).map_err(failed(&path))?;
        let target = self.blob(&layer.digest);
        let mut partial = Partial { file, path, target, sum, len, layer: layer.clone() };
        if len > layer.size {
            partial.restart()?;
        }
        Ok(partial)
    }

    /// Removes layers, those used longest ago first, until the rest is within `max` bytes; and downloads that nobody
    /// went on with for a day. Gives the bytes that were freed.
    pub fn collect(&self, max: u64, now: SystemTime) -> Result<u64, StoreError> {
        let mut freed = 0;
        for (path, used, size) in files(&self.root.join("partial"))? {
            if now.duration_since(used).is_ok_and(|age| age > ABANDONED) && fs::remove_file(path).is_ok() {
                freed += size;
            }
        }
        let mut blobs = files(&self.root.join("blobs/sha256"))?;
        blobs.sort_by_key(|(_, used, _)| *used);
        let mut total: u64 = blobs.iter().map(|(_, _, size)| size).sum();
        for (path, _, size) in blobs {
            if total <= max {
                break;
            }
            fs::remove_file(&path).map_err(|source| StoreError::Io { path, source })?;
            total -= size;
            freed += size;
        }
        Ok(freed)
    }
}

fn is_at(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    match (file.metadata(), fs::metadata(path)) {
        (Ok(a), Ok(b)) => (a.dev(), a.ino()) == (b.dev(), b.ino()),
        _ => false,
    }
}

fn files(directory: &Path) -> Result<Vec<(PathBuf, SystemTime, u64)>, StoreError> {
    let list = || -> io::Result<Vec<_>> {
        let mut found = Vec::new();
        for entry in fs::read_dir(directory)? {
            let entry = entry?;
            // Another process may remove it meanwhile.
            if let Ok(data) = entry.metadata() {
                found.push((entry.path(), data.modified()?, data.len()));
            }
        }
        Ok(found)
    };
    list().map_err(|source| StoreError::Io { path: directory.to_owned(), source })
}

/// Reads to the end.
fn sum_of(file: &mut File) -> io::Result<(Sum, u64)> {
    let (mut sum, mut len) = (Sum::default(), 0_u64);
    let mut buffer = vec![0; 64 * 1024];
    loop {
        let read = file.read(&mut buffer)?;
        let Some(piece) = buffer.get(..read).filter(|piece| !piece.is_empty()) else { return Ok((sum, len)) };
        sum.update(piece);
        len += piece.len() as u64;
    }
}

/// A layer that is being written.
#[derive(Debug)]
pub(super) struct Partial {
    file: File,
    path: PathBuf,
    target: PathBuf,
    sum: Sum,
    len: u64,
    layer: Descriptor,
}

impl Partial {
    /// Bytes that are there.
    pub fn len(&self) -> u64 {
        self.len
    }

    fn io(&self) -> impl FnOnce(io::Error) -> StoreError + use<> {
        let path = self.path.clone();
        move |source| StoreError::Io { path, source }
    }

    /// Forgets what is there.
    pub fn restart(&mut self) -> Result<(), StoreError> {
        self.file.set_len(0).and_then(|()| self.file.rewind()).map_err(self.io())?;
        (self.sum, self.len) = (Sum::default(), 0);
        Ok(())
    }

    /// Writes on.
    pub fn write(&mut self, piece: &[u8]) -> Result<(), StoreError> {
        let len = self.len.saturating_add(piece.len() as u64);
        if len > self.layer.size {
            self.restart()?;
            return Err(StoreError::TooLong { layer: self.layer.title().to_owned(), size: self.layer.size });
        }
        self.file.write_all(piece).map_err(self.io())?;
        self.sum.update(piece);
        self.len = len;
        Ok(())
    }

    /// Checks the whole and puts it among the layers. What is too short stays for the next time; what is wrong goes.
    pub fn finish(mut self) -> Result<PathBuf, StoreError> {
        let layer = self.layer.title().to_owned();
        if self.len < self.layer.size {
            return Err(StoreError::TooShort { layer, got: self.len, size: self.layer.size });
        }
        let got = self.sum.clone().finish();
        if got != self.layer.digest {
            self.restart()?;
            fs::remove_file(&self.path).map_err(self.io())?;
            return Err(StoreError::Digest { layer, got, want: self.layer.digest.clone() });
        }
        self.file.sync_all().and_then(|()| fs::rename(&self.path, &self.target)).map_err(self.io())?;
        Ok(self.target)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic)]
    use super::*;

    fn store() -> (tempfile::TempDir, Store) {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(dir.path()).unwrap();
        (dir, store)
    }

    fn put(store: &Store, bytes: &[u8]) -> (Descriptor, PathBuf) {
        let layer = Descriptor::of("x", bytes);
        let mut partial = store.begin(&layer).unwrap();
        partial.write(bytes).unwrap();
        (layer, partial.finish().unwrap())
    }

    #[test]
    fn goes_on_where_it_stopped() {
        let (_dir, store) = store();
        let layer = Descriptor::of("x", b"hello");
        let mut first = store.begin(&layer).unwrap();
        first.write(b"hel").unwrap();
        assert!(matches!(first.finish(), Err(StoreError::TooShort { got: 3, size: 5, .. })));
        assert!(store.get(&layer).unwrap().is_none());
        let mut second = store.begin(&layer).unwrap();
        assert_eq!(second.len(), 3);
        second.write(b"lo").unwrap();
        assert_eq!(fs::read(second.finish().unwrap()).unwrap(), b"hello");
        assert!(store.get(&layer).unwrap().is_some());
    }

    #[test]
    fn wrong_bytes_leave_nothing_behind() {
        let (_dir, store) = store();
        let layer = Descriptor::of("x", b"hello");
        let mut partial = store.begin(&layer).unwrap();
        partial.write(b"jello").unwrap();
        assert!(matches!(partial.finish(), Err(StoreError::Digest { .. })));
        let mut partial = store.begin(&layer).unwrap();
        assert_eq!(partial.len(), 0);
        assert!(matches!(partial.write(b"hello!"), Err(StoreError::TooLong { .. })));
    }

    #[test]
    fn two_writers_of_one_layer_do_not_mix() {
        let (_dir, store) = store();
        let layer = Descriptor::of("x", b"hello");
        let (mut a, mut b) = (store.begin(&layer).unwrap(), store.begin(&layer).unwrap());
        a.write(b"hel").unwrap();
        b.write(b"hello").unwrap();
        a.write(b"lo").unwrap();
        a.finish().unwrap();
        b.finish().unwrap();
        assert_eq!(fs::read(store.get(&layer).unwrap().unwrap()).unwrap(), b"hello");
    }

    #[test]
    fn a_damaged_layer_is_not_handed_out() {
        let (_dir, store) = store();
        let (layer, path) = put(&store, b"hello");
        fs::write(&path, b"jello").unwrap();
        assert_eq!(store.get(&layer).unwrap(), None);
        assert!(!path.exists());
    }

    #[test]
    fn the_longest_unused_goes_first() {
        let (_dir, store) = store();
        let now = SystemTime::now();
        let (old, path) = put(&store, b"aaaaa");
        File::options().write(true).open(path).unwrap().set_modified(now - Duration::from_secs(60)).unwrap();
        let (new, _) = put(&store, b"bbbbb");
        assert_eq!(store.collect(5, now).unwrap(), 5);
        assert!(store.get(&old).unwrap().is_none());
        assert!(store.get(&new).unwrap().is_some());
        assert_eq!(store.collect(5, now).unwrap(), 0);
    }

    #[test]
    fn abandoned_downloads_go() {
        let (_dir, store) = store();
        let layer = Descriptor::of("x", b"hello");
        store.begin(&layer).unwrap().write(b"he").unwrap();
        let now = SystemTime::now();
        assert_eq!(store.collect(100, now).unwrap(), 0);
        assert_eq!(store.collect(100, now + ABANDONED * 2).unwrap(), 2);
        assert_eq!(store.begin(&layer).unwrap().len(), 0);
    }
}
