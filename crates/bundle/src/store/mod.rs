//! Stores layers on disk by their digests, finished and unfinished ones. Every byte that it returns was checked. Each
//! tenant has its own store inside, so that no tenant gets layers through another tenant's login or damages another's.

mod directory;
mod room;

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Read as _, Seek as _, Write as _},
    os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _},
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

use boathook_core::fair::{Pool, Tenant};

use super::{BundleError, Descriptor, Digest, digest::Sum};
pub use directory::ModuleDirectory;
use room::{Room, TENANTS, UnderWay};

const BLOBS: &str = "blobs/sha256";
const PARTIAL: &str = "partial";
const MODULES: &str = "modules";
pub(super) const LAST: &str = "last";
/// How many digits of a digest are used in a file name that stands for a text.
const DIGITS: usize = 32;
/// How long an unfinished download is kept.
const ABANDONED: Duration = Duration::from_secs(24 * 3600);

/// Why a layer cannot be stored or read.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The file system reported an error.
    #[error("{} cannot be used as a store of bundles: choose another directory, or fix its rights", .path.display())]
    Io {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    /// There is no room.
    #[error(
        "the store has no room for {bytes} more bytes: it may hold {max}, and this namespace uses the most: remove bundles of \
         this namespace, or make them smaller"
    )]
    Full {
        /// How many bytes were needed.
        bytes: u64,
        /// The most bytes that the store may hold.
        max: u64,
    },
    /// There are more bytes than the manifest announced.
    #[error("layer {layer} is longer than the {size} bytes that its manifest says: the registry is faulty")]
    TooLong {
        layer: String,
        /// The announced size in bytes.
        size: u64,
    },
    /// There are fewer bytes than the manifest announced.
    #[error("layer {layer} ended after {got} of {size} bytes: the next attempt resumes there")]
    TooShort {
        layer: String,
        /// How many bytes there are.
        got: u64,
        /// The announced size in bytes.
        size: u64,
    },
    /// The bytes are not the ones that the manifest announced.
    #[error("layer {layer} was tampered with or damaged: its digest is {got}, and the manifest says {want}")]
    Digest {
        layer: String,
        /// The digest of the bytes.
        got: Digest,
        /// The digest in the manifest.
        want: Digest,
    },
}

/// A directory of layers. Several processes may share it.
#[derive(Debug, Clone)]
pub struct Store {
    /// The directory of the whole store.
    base: PathBuf,
    /// The directory of this tenant's part.
    root: PathBuf,
    tenant: Option<Tenant>,
    bound: Option<Bound>,
    under_way: UnderWay,
}

/// How much the store of tenants may hold.
#[derive(Debug, Clone)]
struct Bound {
    max: u64,
    /// How much of that pulls may download at the same time. It is three quarters, so that a tenant that fills it takes
    /// no more than that from what others have.
    pulls: Pool,
}

impl Store {
    /// Opens a store. Creates the directory if it is missing, with access only for its owner.
    pub fn open(root: &Path) -> Result<Self, StoreError> {
        let (base, root) = (root.to_owned(), root.to_owned());
        let store = Self { base, root, tenant: None, bound: None, under_way: UnderWay::default() };
        store.directory(BLOBS)?;
        store.directory(PARTIAL)?;
        Ok(store)
    }

    /// Makes room before each pull of a tenant, so that the store never holds more than `max` bytes.
    #[must_use]
    pub fn bounded(self, max: u64) -> Self {
        Self { bound: Some(Bound { max, pulls: Pool::new(max / 4 * 3) }), ..self }
    }

    /// The tenant's own store inside this one.
    #[must_use]
    pub fn of(&self, tenant: &Tenant) -> Self {
        let root = self.base.join(TENANTS).join(short(&tenant.to_string()));
        Self { root, tenant: Some(tenant.clone()), ..self.clone() }
    }

    /// Returns one of its directories, and creates it if it is missing.
    pub(super) fn directory(&self, name: &str) -> Result<PathBuf, StoreError> {
        let path = self.root.join(name);
        fs::DirBuilder::new().recursive(true).mode(0o700).create(&path).map_err(failed(&path))?;
        Ok(path)
    }

    /// A new empty directory for the files of a module, which is removed when it is dropped. Removes those that a process
    /// left behind which is gone.
    pub fn module_directory(&self) -> Result<ModuleDirectory, StoreError> {
        ModuleDirectory::new(&self.directory(MODULES)?)
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.root.join(name)
    }

    /// Takes room for the layers that are missing, as soon as the pulls of other tenants leave enough.
    pub(super) async fn room(&self, layers: Vec<Descriptor>) -> Result<Room, BundleError> {
        let (Some(Bound { max, pulls }), Some(tenant)) = (self.bound.clone(), &self.tenant) else {
            return Ok(Room::default());
        };
        let store = self.clone();
        let bytes = blocking(move || Ok::<_, StoreError>(store.missing(&layers))).await?;
        if bytes == 0 {
            return Ok(Room::default());
        }
        let share = pulls.take(tenant, bytes).await.map_err(|_| StoreError::Full { bytes, max })?;
        let store = self.clone();
        let room = blocking(move || store.under_way.room(&store.base, &store.root, bytes, max)).await?;
        Ok(room.0.with(share))
    }

    /// The size in bytes of the missing layers. Reads no layer.
    fn missing(&self, layers: &[Descriptor]) -> u64 {
        let mut missing = 0_u64;
        for layer in layers {
            match File::open(self.blob(&layer.digest)) {
                Ok(file) if file.metadata().is_ok_and(|data| data.len() == layer.size) => {
                    // Marks it as used, so that it is not evicted for the other layers.
                    let _ = file.set_modified(SystemTime::now());
                }
                _ => missing = missing.saturating_add(layer.size),
            }
        }
        missing
    }

    fn blob(&self, digest: &Digest) -> PathBuf {
        self.root.join(BLOBS).join(digest.hex())
    }

    /// Returns the file of a layer, if it exists and is unchanged. Removes a damaged one. Reads the whole file.
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
            // The time of last use, for `collect`. The store still works if it cannot be written.
            let _ = file.set_modified(SystemTime::now());
            return Ok(Some(path));
        }
        fs::remove_file(&path).map_err(failed)?;
        Ok(None)
    }

    /// Begins to write a layer, or continues where a pull from the same place stopped.
    pub(super) fn begin(&self, layer: &Descriptor, place: &str) -> Result<Partial, StoreError> {
        self.directory(BLOBS)?;
        let directory = self.directory(PARTIAL)?;
        let shared = directory.join(format!("{}-{}", short(place), layer.digest.hex()));
        let open = |path: &Path, new: bool| {
            let mut options = OpenOptions::new();
            options.read(true).write(true).create_new(new).create(true).mode(0o600).open(path)
        };
        let mut file = open(&shared, false).map_err(failed(&shared))?;
        // If another pull writes the file, this one uses a file of its own, because two writers would mix their bytes.
        // It does the same if the other pull has just finished, because the path then belongs to another file or to
        // none.
        let mut path = shared;
        if file.try_lock().is_err() || !is_at(&file, &path) {
            (file, path) = own_file(&directory, layer)?;
        }
        let (sum, len) = sum_of(&mut file).map_err(failed(&path))?;
        let target = self.blob(&layer.digest);
        let mut partial = Partial { file, path, target, sum, len, resumed: len > 0, layer: layer.clone() };
        if len > layer.size {
            partial.restart()?;
        }
        Ok(partial)
    }

    /// Removes downloads that did not continue for a day. Then removes layers, including unfinished ones, until the
    /// rest is within `max` bytes: first from the tenants that use most, and there the least recently used ones.
    /// Returns how many bytes were freed.
    pub fn collect(&self, max: u64, now: SystemTime) -> Result<u64, StoreError> {
        let mut freed = 0;
        for (path, used, size) in files(&self.root.join(PARTIAL))? {
            if now.duration_since(used).is_ok_and(|age| age > ABANDONED) && fs::remove_file(path).is_ok() {
                freed += size;
            }
        }
        Ok(freed + self.under_way.room(&self.base, &self.root, 0, max)?.1)
    }
}

fn failed(path: &Path) -> impl FnOnce(io::Error) -> StoreError + use<> {
    let path = path.to_owned();
    move |source| StoreError::Io { path, source }
}

/// A file name that stands for a text.
fn short(text: &str) -> String {
    Digest::of(text.as_bytes()).hex().chars().take(DIGITS).collect()
}

/// A file that no other pull writes to.
fn own_file(directory: &Path, layer: &Descriptor) -> Result<(File, PathBuf), StoreError> {
    let own = tempfile::Builder::new().prefix(layer.digest.hex()).tempfile_in(directory);
    let (file, path) = own.and_then(|own| own.keep().map_err(|error| error.error)).map_err(failed(directory))?;
    // The lock marks the file as being written.
    file.try_lock().map_err(|error| failed(&path)(error.into()))?;
    Ok((file, path))
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
            // Another process may remove the file in the meantime.
            if let Ok(data) = entry.metadata() {
                found.push((entry.path(), data.modified()?, data.len()));
            }
        }
        Ok(found)
    };
    list().map_err(|source| StoreError::Io { path: directory.to_owned(), source })
}

/// Reads a file to its end. Returns its digest and its length.
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
    /// Whether its beginning was left by another pull.
    resumed: bool,
    layer: Descriptor,
}

impl Partial {
    /// How many bytes there are.
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Drops what was written.
    pub fn restart(&mut self) -> Result<(), StoreError> {
        self.file.set_len(0).and_then(|()| self.file.rewind()).map_err(failed(&self.path))?;
        (self.sum, self.len, self.resumed) = (Sum::default(), 0, false);
        Ok(())
    }

    /// Starts over in a file of its own, if the error may be in what another pull left. Returns whether it does.
    pub fn renew(&mut self) -> Result<bool, StoreError> {
        if !self.resumed {
            return Ok(false);
        }
        let directory = self.path.parent().unwrap_or(&self.path);
        (self.file, self.path) = own_file(directory, &self.layer)?;
        (self.sum, self.len, self.resumed) = (Sum::default(), 0, false);
        Ok(true)
    }

    /// Appends bytes.
    pub fn write(&mut self, piece: &[u8]) -> Result<(), StoreError> {
        let len = self.len.saturating_add(piece.len() as u64);
        if len > self.layer.size {
            self.restart()?;
            return Err(StoreError::TooLong { layer: self.layer.title().to_owned(), size: self.layer.size });
        }
        self.file.write_all(piece).map_err(failed(&self.path))?;
        self.sum.update(piece);
        self.len = len;
        Ok(())
    }

    /// Checks the complete layer and moves it to the finished ones. A layer that is too short stays for the next try. A
    /// wrong layer is removed. This blocks on the disk.
    pub fn finish(&mut self) -> Result<PathBuf, StoreError> {
        let layer = self.layer.title().to_owned();
        if self.len < self.layer.size {
            return Err(StoreError::TooShort { layer, got: self.len, size: self.layer.size });
        }
        let got = self.sum.clone().finish();
        if got != self.layer.digest {
            fs::remove_file(&self.path).map_err(failed(&self.path))?;
            return Err(StoreError::Digest { layer, got, want: self.layer.digest.clone() });
        }
        self.file.sync_all().and_then(|()| fs::rename(&self.path, &self.target)).map_err(failed(&self.path))?;
        Ok(self.target.clone())
    }
}

/// Runs work on the threads for blocking tasks, because hashing a large file takes long.
pub(super) async fn blocking<T: Send + 'static, E: Into<BundleError> + Send + 'static>(
    work: impl FnOnce() -> Result<T, E> + Send + 'static,
) -> Result<T, BundleError> {
    match tokio::task::spawn_blocking(work).await {
        Ok(result) => result.map_err(Into::into),
        Err(error) => Err(BundleError::Interrupted(error.into())),
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
        let mut partial = store.begin(&layer, "r.io").unwrap();
        partial.write(bytes).unwrap();
        (layer, partial.finish().unwrap())
    }

    #[test]
    fn goes_on_where_it_stopped() {
        let (_dir, store) = store();
        let layer = Descriptor::of("x", b"hello");
        let mut first = store.begin(&layer, "r.io").unwrap();
        first.write(b"hel").unwrap();
        assert!(matches!(first.finish(), Err(StoreError::TooShort { got: 3, size: 5, .. })));
        drop(first);
        assert!(store.get(&layer).unwrap().is_none());
        let mut second = store.begin(&layer, "r.io").unwrap();
        assert_eq!(second.len(), 3);
        second.write(b"lo").unwrap();
        assert_eq!(fs::read(second.finish().unwrap()).unwrap(), b"hello");
        assert!(store.get(&layer).unwrap().is_some());
    }

    #[test]
    fn wrong_bytes_leave_nothing_behind() {
        let (_dir, store) = store();
        let layer = Descriptor::of("x", b"hello");
        let mut partial = store.begin(&layer, "r.io").unwrap();
        partial.write(b"jello").unwrap();
        assert!(matches!(partial.finish(), Err(StoreError::Digest { .. })));
        let mut partial = store.begin(&layer, "r.io").unwrap();
        assert_eq!(partial.len(), 0);
        assert!(matches!(partial.write(b"hello!"), Err(StoreError::TooLong { .. })));
    }

    #[test]
    fn two_writers_of_one_layer_do_not_mix() {
        let (_dir, store) = store();
        let layer = Descriptor::of("x", b"hello");
        let (mut a, mut b) = (store.begin(&layer, "r.io").unwrap(), store.begin(&layer, "r.io").unwrap());
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
        store.begin(&layer, "r.io").unwrap().write(b"he").unwrap();
        let now = SystemTime::now();
        assert_eq!(store.collect(100, now).unwrap(), 0);
        assert_eq!(store.collect(100, now + ABANDONED * 2).unwrap(), 2);
        assert_eq!(store.begin(&layer, "r.io").unwrap().len(), 0);
    }
}
