//! The compiled components on disk: one directory, with a file for each component and engine.
//!
//! The directory's size in bytes is limited. Entries of loaded components are not evicted. Otherwise, a start that
//! loads more than the limit would evict what it needs next, and so would the next start.
//!
//! A compiled component is native code, so this file trusts only what this program wrote. The directory and each file
//! must belong to the operator's user, and nobody else may have write access. The digest at a file's end protects
//! against damage, not against forgery. Nothing is deserialized here.

use std::{
    collections::HashMap,
    fs::{DirBuilder, File},
    hash::{DefaultHasher, Hash, Hasher},
    io::{self, Seek, Write},
    os::{
        fd::{AsRawFd, OwnedFd},
        unix::fs::{DirBuilderExt, FileExt, MetadataExt},
    },
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, PoisonError, Weak,
        atomic::{AtomicU64, Ordering},
    },
    time::SystemTime,
};

use rustix::fs::{AtFlags, FlockOperation, Mode, OFlags};
use sha2::{Digest, Sha256};
use wasmtime::Engine;

use super::error::SandboxError;

const MAGIC: &[u8; 8] = b"boathk02";
/// The bytes after the code: [`MAGIC`] and the digest.
const SEAL: u64 = 40;
/// From this size on, code is mapped from its file.
pub(super) const MAPPED: u64 = 64 * 1024;
const SUFFIX: &str = ".cwasm";
const TEMPORARY: &str = ".tmp-";
const CLAIM: &str = ".compiling-";

/// A loaded component that was read from an entry or written to one. The entry stays while this lives.
#[derive(Debug)]
pub(super) struct InUse;

/// The name of an entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Key(String);

impl Key {
    /// The key of a component with this digest, compiled by this engine.
    pub(super) fn new(digest: &[u8; 32], engine: &Engine) -> Self {
        let mut hasher = DefaultHasher::new();
        engine.precompile_compatibility_hash().hash(&mut hasher);
        Self(format!("{}-{:016x}{SUFFIX}", hex(digest), hasher.finish()))
    }
}

/// The cache directory. It is held open, so later changes of its path do not matter.
#[derive(Debug)]
pub(super) struct Cache {
    path: PathBuf,
    dir: OwnedFd,
    max_bytes: u64,
    next_temporary: AtomicU64,
    used: Mutex<HashMap<String, Weak<InUse>>>,
}

impl Cache {
    /// Opens the directory, and creates it if it does not exist. If there are more than `max_bytes`, the least recently
    /// used entries are evicted.
    pub(super) fn open(path: &Path, max_bytes: u64) -> Result<Self, SandboxError> {
        let failed = |source| SandboxError::Cache { path: path.to_owned(), source };
        DirBuilder::new().recursive(true).mode(0o700).create(path).map_err(failed)?;
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let dir = rustix::fs::open(path, flags, Mode::empty()).map_err(|error| failed(error.into()))?;
        let stat = rustix::fs::fstat(&dir).map_err(|error| failed(error.into()))?;
        if let Some(reason) = foreign(stat.st_uid, stat.st_mode) {
            return Err(SandboxError::CacheNotOurs { path: path.to_owned(), reason });
        }
        let path = std::path::absolute(path).map_err(failed)?;
        let cache = Self { path, dir, max_bytes, next_temporary: AtomicU64::new(0), used: Mutex::default() };
        cache.remove_dead_claims();
        Ok(cache)
    }

    /// Keeps an entry while the returned value lives.
    pub(super) fn keep(&self, key: &Key) -> Arc<InUse> {
        let mut used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        used.retain(|_, holder| holder.strong_count() > 0);
        if let Some(holder) = used.get(&key.0).and_then(Weak::upgrade) {
            return holder;
        }
        let holder = Arc::new(InUse);
        used.insert(key.0.clone(), Arc::downgrade(&holder));
        holder
    }

    fn is_used(&self, name: &str) -> bool {
        let used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        used.get(name).is_some_and(|holder| holder.strong_count() > 0)
    }

    /// The path at which another process may write the entry.
    pub(super) fn place(&self, key: &Key) -> PathBuf {
        self.path.join(&key.0)
    }

    /// Whether the entry exists, damaged or not.
    pub(super) fn has(&self, key: &Key) -> bool {
        rustix::fs::statat(&self.dir, &key.0, AtFlags::SYMLINK_NOFOLLOW).is_ok()
    }

    /// Takes the right to compile this component. Returns `None` if another process has it: one that shares this
    /// directory, or a compiler that outlived the process that started it.
    pub(super) fn claim(&self, key: &Key) -> io::Result<Option<Claim<'_>>> {
        let name = format!("{CLAIM}{}", key.0);
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
        loop {
            let file = File::from(rustix::fs::openat(&self.dir, &name, flags, Mode::RUSR | Mode::WUSR)?);
            let meta = file.metadata()?;
            foreign(meta.uid(), meta.mode()).map_or(Ok(()), |reason| Err(io::Error::other(reason)))?;
            match rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => {}
                Err(rustix::io::Errno::WOULDBLOCK) => return Ok(None),
                Err(error) => return Err(error.into()),
            }
            // The previous holder may have removed the file.
            if rustix::fs::fstat(&file)?.st_nlink > 0 {
                return Ok(Some(Claim { cache: self, name, file }));
            }
        }
    }

    /// Removes the claims of processes that ended without removing them.
    fn remove_dead_claims(&self) {
        let Ok(found) = rustix::fs::Dir::read_from(&self.dir) else { return };
        for name in found.flatten().filter_map(|found| found.file_name().to_str().ok().map(str::to_owned)) {
            if let Some(key) = name.strip_prefix(CLAIM) {
                drop(self.claim(&Key(key.to_owned())));
            }
        }
    }

    /// Returns the artifact, if it exists and is not damaged.
    pub(super) fn get(&self, key: &Key) -> Option<Artifact> {
        match self.read(&key.0) {
            Ok(artifact) => Some(artifact),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => {
                tracing::warn!(entry = key.0, "compile cache: entry is not used: {error}");
                // This makes room for a good entry. If it cannot be removed, no good one is written either.
                let _ = rustix::fs::unlinkat(&self.dir, &key.0, AtFlags::empty());
                None
            }
        }
    }

    fn read(&self, name: &str) -> io::Result<Artifact> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
        let file = File::from(rustix::fs::openat(&self.dir, name, flags, Mode::empty())?);
        let meta = file.metadata()?;
        if !meta.is_file() || meta.len() > self.max_bytes {
            return Err(io::Error::other("it is not a file that boathook wrote"));
        }
        if let Some(reason) = foreign(meta.uid(), meta.mode()) {
            return Err(io::Error::other(reason));
        }
        let artifact = Artifact::checked(file)?;
        // For the order of eviction. A failure only makes the order less exact.
        let _ = artifact.file.set_modified(SystemTime::now());
        Ok(artifact)
    }

    /// Writes an artifact. Other processes see all of it or nothing.
    pub(super) fn put(&self, key: &Key, artifact: &[u8]) -> io::Result<()> {
        let number = self.next_temporary.fetch_add(1, Ordering::Relaxed);
        let temporary = format!("{TEMPORARY}{}-{number}", std::process::id());
        let written = self.write(&temporary, artifact).and_then(|()| {
            rustix::fs::renameat(&self.dir, &temporary, &self.dir, &key.0)?;
            Ok(())
        });
        if written.is_err() {
            let _ = rustix::fs::unlinkat(&self.dir, &temporary, AtFlags::empty());
        }
        written?;
        self.make_room(key)
    }

    fn write(&self, name: &str, artifact: &[u8]) -> io::Result<()> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mut file = File::from(rustix::fs::openat(&self.dir, name, flags, Mode::RUSR | Mode::WUSR)?);
        file.write_all(artifact)?;
        file.write_all(&seal(artifact))
    }

    /// Removes the least recently used entries until the rest is within the limit. Entries in use stay, and the new one
    /// is removed last.
    pub(super) fn make_room(&self, key: &Key) -> io::Result<()> {
        let mut entries = self.entries()?;
        let mut bytes: u64 = entries.iter().map(|entry| entry.size).sum();
        entries.sort_by_key(|entry| (entry.name == key.0, entry.used));
        for entry in entries {
            if bytes <= self.max_bytes {
                break;
            }
            if entry.name == key.0 || !self.is_used(&entry.name) {
                match rustix::fs::unlinkat(&self.dir, &entry.name, AtFlags::empty()) {
                    Ok(()) | Err(rustix::io::Errno::NOENT) => bytes -= entry.size,
                    Err(error) => return Err(error.into()),
                }
            }
        }
        if self.has(key) {
            return Ok(());
        }
        let most = self.max_bytes / (1024 * 1024);
        Err(io::Error::other(format!("the components that are loaded fill its {most} MiB")))
    }

    /// The files that this program made, including the temporary files of other processes, so that what a crash left
    /// behind is evicted too.
    fn entries(&self) -> io::Result<Vec<Entry>> {
        let mut entries = Vec::new();
        for found in rustix::fs::Dir::read_from(&self.dir)? {
            let found = found?;
            let Ok(name) = found.file_name().to_str() else { continue };
            if name.starts_with(CLAIM) || !(name.ends_with(SUFFIX) || name.starts_with(TEMPORARY)) {
                continue;
            }
            // The file may be gone, because other processes also evict entries.
            let Ok(stat) = rustix::fs::statat(&self.dir, name, AtFlags::SYMLINK_NOFOLLOW) else { continue };
            let size = u64::try_from(stat.st_size).unwrap_or(0);
            entries.push(Entry { name: name.to_owned(), used: (stat.st_mtime, stat.st_mtime_nsec), size });
        }
        Ok(entries)
    }
}

/// The right that [`Cache::claim`] returns. The file behind it is locked, and is removed when this is dropped.
#[derive(Debug)]
pub(super) struct Claim<'a> {
    cache: &'a Cache,
    name: String,
    file: File,
}

impl Claim<'_> {
    /// Writes the component to the claim's file, for the compiler to read. The claim lasts until the compiler has
    /// closed the file too.
    pub(super) fn input(&self, component: &[u8]) -> io::Result<File> {
        let mut file = &self.file;
        file.set_len(0)?;
        file.rewind()?;
        file.write_all(component)?;
        file.rewind()?;
        file.try_clone()
    }
}

impl Drop for Claim<'_> {
    fn drop(&mut self) {
        // Another process that finds the file after this takes it over.
        let _ = rustix::fs::unlinkat(&self.cache.dir, &self.name, AtFlags::empty());
    }
}

/// Writes an entry at its [`Cache::place`], from another process than the one that owns the cache.
pub(super) fn keep(place: &Path, artifact: &[u8]) -> io::Result<()> {
    let (Some(directory), Some(name)) = (place.parent(), place.file_name().and_then(|name| name.to_str())) else {
        return Err(io::Error::other("it is no place of an entry"));
    };
    let cache = Cache::open(directory, u64::MAX).map_err(io::Error::other)?;
    cache.put(&Key(name.to_owned()), artifact)
}

struct Entry {
    name: String,
    used: (i64, u64),
    size: u64,
}

/// Why a file or directory with this owner and mode cannot be trusted.
fn foreign(owner: u32, mode: u32) -> Option<String> {
    let us = rustix::process::geteuid().as_raw();
    if owner != us {
        return Some(format!("it belongs to user {owner}, boathook runs as user {us}"));
    }
    writable(mode)
}

fn writable(mode: u32) -> Option<String> {
    (mode & 0o022 != 0).then(|| format!("its mode {:03o} lets others write", mode & 0o777))
}

/// Reads an artifact from a directory that was installed with this program. It must belong to the operator's user or to
/// root, like the program, and nobody else may have write access. Returns `None` if it does not exist.
pub(super) fn installed(directory: &Path, name: &str) -> io::Result<Option<Artifact>> {
    let there = |error: rustix::io::Errno| match error {
        rustix::io::Errno::NOENT => Ok(None),
        error => Err(error.into()),
    };
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let directory = match rustix::fs::open(directory, flags, Mode::empty()) {
        Ok(directory) => directory,
        Err(error) => return there(error),
    };
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
    let file = match rustix::fs::openat(&directory, name, flags, Mode::empty()) {
        Ok(file) => File::from(file),
        Err(error) => return there(error),
    };
    let (of_directory, of_file) = (rustix::fs::fstat(&directory)?, rustix::fs::fstat(&file)?);
    for stat in [of_directory, of_file] {
        let reason = if stat.st_uid == 0 { writable(stat.st_mode) } else { foreign(stat.st_uid, stat.st_mode) };
        if let Some(reason) = reason {
            return Err(io::Error::other(reason));
        }
    }
    Artifact::checked(file).map(Some)
}

/// What follows an artifact in its file. It is at the end, so that the code can be mapped from the start of the file.
pub(super) fn seal(artifact: &[u8]) -> Vec<u8> {
    [MAGIC.as_slice(), Sha256::digest(artifact).as_slice()].concat()
}

/// Compiled code in a file that is not damaged. The file is open, so what its name means later does not matter.
#[derive(Debug)]
pub(super) struct Artifact {
    file: File,
    /// The bytes of the code, without the seal.
    pub(super) size: u64,
}

impl Artifact {
    /// Rejects a file whose digest is not the one in its seal.
    fn checked(file: File) -> io::Result<Self> {
        let damaged = || io::Error::other("it is damaged");
        let size = file.metadata()?.len().checked_sub(SEAL).ok_or_else(damaged)?;
        let (mut digest, mut buffer, mut at) = (Sha256::new(), vec![0; 64 * 1024], 0);
        while at < size {
            let most = usize::try_from(size - at).map_or(buffer.len(), |left| left.min(buffer.len()));
            let part = buffer.get_mut(..most).unwrap_or_default();
            file.read_exact_at(part, at)?;
            digest.update(part);
            at += most as u64;
        }
        let mut sealed = [0; SEAL as usize];
        file.read_exact_at(&mut sealed, size)?;
        let whole = sealed.as_slice() == [MAGIC.as_slice(), digest.finalize().as_slice()].concat();
        whole.then_some(Self { file, size }).ok_or_else(damaged)
    }

    /// Loads the code by the first function from its file, or by the second from a copy in memory.
    ///
    /// Pages of a mapped file that no run needs take no memory, and the others can be given back (`resident`). But a mapped
    /// file takes a descriptor while it is loaded, so small files are copied, and all of them if half of the descriptors are
    /// in use. Code that cannot be mapped is copied too: the volume of the cache can be mounted `noexec`.
    pub(super) fn load<T>(
        &self,
        mapped: impl FnOnce(PathBuf) -> wasmtime::Result<T>,
        copied: impl FnOnce(&[u8]) -> wasmtime::Result<T>,
    ) -> wasmtime::Result<T> {
        let directory = if cfg!(target_os = "linux") { "/proc/self/fd" } else { "/dev/fd" };
        let path = Path::new(directory).join(self.file.as_raw_fd().to_string());
        if self.size >= MAPPED
            && self.leaves_descriptors()
            && let Ok(loaded) = mapped(path)
        {
            return Ok(loaded);
        }
        copied(&self.bytes()?)
    }

    /// The kernel gives a new file the lowest number that is free.
    fn leaves_descriptors(&self) -> bool {
        let most = rustix::process::getrlimit(rustix::process::Resource::Nofile).current.unwrap_or(u64::MAX);
        u64::try_from(self.file.as_raw_fd()).is_ok_and(|number| number < most / 2)
    }

    fn bytes(&self) -> io::Result<Vec<u8>> {
        let mut bytes = vec![0; usize::try_from(self.size).map_err(io::Error::other)?];
        self.file.read_exact_at(&mut bytes, 0)?;
        Ok(bytes)
    }
}

pub(super) fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
        let _ = write!(text, "{byte:02x}"); // a write to a String cannot fail
        text
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::{fs, os::unix::fs::PermissionsExt as _};

    use super::*;

    /// The volume of the cache can be mounted `noexec`.
    #[test]
    fn code_that_cannot_be_mapped_is_copied() {
        let folder = tempfile::tempdir().unwrap();
        for (size, is_mapped) in [(MAPPED, true), (MAPPED - 1, false)] {
            let code = vec![7; usize::try_from(size).unwrap()];
            fs::write(folder.path().join("code.cwasm"), [code.as_slice(), &seal(&code)].concat()).unwrap();
            let artifact = installed(folder.path(), "code.cwasm").unwrap().unwrap();
            let read = |path| Ok(fs::read(path)?.get(..code.len()) == Some(&code));
            assert_eq!(artifact.load(read, |_| Ok(false)).unwrap(), is_mapped);
            let copied = artifact.load(|_| wasmtime::bail!("noexec"), |bytes| Ok(bytes == code));
            assert!(copied.unwrap());
        }
    }

    /// Native code that somebody else could have written is not used.
    // mutant: crates/sandbox/src/cache.rs: `if let Some(reason) = reason {` => `if let Some(reason) = reason.filter(|_| false) {`
    // mutant: crates/sandbox/src/cache.rs: `rustix::fs::openat(&directory, name, flags, Mode::empty())` => `rustix::fs::openat(&directory, name, flags.difference(OFlags::NOFOLLOW), Mode::empty())`
    // mutant: crates/sandbox/src/cache.rs: `let whole = sealed.as_slice() == [MAGIC.as_slice(), digest.finalize().as_slice()].concat();` => `let whole = sealed.starts_with(MAGIC);`
    #[test]
    fn installed_code_that_others_could_have_written_is_not_used() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("code.cwasm");
        let read = || installed(folder.path(), "code.cwasm");
        assert!(read().unwrap().is_none());
        assert!(installed(&folder.path().join("gone"), "code.cwasm").unwrap().is_none());
        fs::write(&file, [b"code", seal(b"code").as_slice()].concat()).unwrap();
        let mode = |path: &Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
        for (directory, own, usable) in
            [(0o755, 0o644, true), (0o775, 0o644, false), (0o757, 0o644, false), (0o755, 0o666, false)]
        {
            mode(folder.path(), directory);
            mode(&file, own);
            assert_eq!(read().is_ok(), usable, "{directory:o} {own:o}");
        }
        mode(&file, 0o644);
        assert_eq!(read().unwrap().unwrap().bytes().unwrap(), b"code");
        fs::write(&file, [b"cope", seal(b"code").as_slice()].concat()).unwrap();
        assert!(read().is_err(), "it is damaged");
        // Only the link is wrong.
        fs::write(&file, [b"code", seal(b"code").as_slice()].concat()).unwrap();
        fs::rename(&file, folder.path().join("other")).unwrap();
        std::os::unix::fs::symlink(folder.path().join("other"), &file).unwrap();
        assert!(read().is_err(), "a link may lead anywhere");
    }
}
