//! Compiled components on disk: a directory of our own, a file for each component and engine.
//!
//! A compiled component is native code, so this file trusts only what this program wrote: the
//! directory and each file must belong to our user and be writable for no one else. The digest in
//! a file's header is against damage, not against forgery. Never deserialises anything.

use std::{
    fs::{DirBuilder, File},
    hash::{DefaultHasher, Hash, Hasher},
    io::{self, Read, Write},
    os::{
        fd::OwnedFd,
        unix::fs::{DirBuilderExt, MetadataExt},
    },
    path::Path,
    sync::atomic::{AtomicU64, Ordering},
    time::SystemTime,
};

use rustix::fs::{AtFlags, Mode, OFlags};
use sha2::{Digest, Sha256};
use wasmtime::Engine;

use super::error::SandboxError;

const MAGIC: &[u8; 8] = b"boathk01";
const SUFFIX: &str = ".cwasm";
const TEMPORARY: &str = ".tmp-";

/// Bounds of the cache; the entries that were not used for longest make room.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bounds {
    pub(super) files: usize,
    pub(super) bytes: u64,
}

/// Names one entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Key(String);

impl Key {
    /// For a component by its digest, compiled by this engine.
    pub(super) fn new(digest: &[u8; 32], engine: &Engine) -> Self {
        let mut hasher = DefaultHasher::new();
        engine.precompile_compatibility_hash().hash(&mut hasher);
        Self(format!("{}-{:016x}{SUFFIX}", hex(digest), hasher.finish()))
    }
}

/// The cache directory, held open: what happens to its path later does not matter.
#[derive(Debug)]
pub(super) struct Cache {
    dir: OwnedFd,
    bounds: Bounds,
    next_temporary: AtomicU64,
}

impl Cache {
    /// Opens the directory, and makes it when it is not there.
    pub(super) fn open(path: &Path, bounds: Bounds) -> Result<Self, SandboxError> {
        let failed = |source| SandboxError::Cache { path: path.to_owned(), source };
        DirBuilder::new().recursive(true).mode(0o700).create(path).map_err(failed)?;
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let dir = rustix::fs::open(path, flags, Mode::empty()).map_err(|error| failed(error.into()))?;
        let stat = rustix::fs::fstat(&dir).map_err(|error| failed(error.into()))?;
        if let Some(reason) = foreign(stat.st_uid, stat.st_mode) {
            return Err(SandboxError::CacheNotOurs { path: path.to_owned(), reason });
        }
        Ok(Self { dir, bounds, next_temporary: AtomicU64::new(0) })
    }

    /// The artifact, when there is one and it is whole.
    pub(super) fn get(&self, key: &Key) -> Option<Vec<u8>> {
        match self.read(&key.0) {
            Ok(artifact) => Some(artifact),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => {
                tracing::warn!(entry = key.0, "compile cache: entry is not used: {error}");
                None
            }
        }
    }

    fn read(&self, name: &str) -> io::Result<Vec<u8>> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
        let mut file = File::from(rustix::fs::openat(&self.dir, name, flags, Mode::empty())?);
        let meta = file.metadata()?;
        if !meta.is_file() || meta.len() > self.bounds.bytes {
            return Err(io::Error::other("it is not a file that boathook wrote"));
        }
        if let Some(reason) = foreign(meta.uid(), meta.mode()) {
            return Err(io::Error::other(reason));
        }
        let mut bytes = Vec::with_capacity(usize::try_from(meta.len()).unwrap_or(0));
        file.read_to_end(&mut bytes)?;
        let artifact = unseal(bytes).ok_or_else(|| io::Error::other("it is damaged"))?;
        // For the order of eviction; a failure only makes it less exact.
        let _ = file.set_modified(SystemTime::now());
        Ok(artifact)
    }

    /// Writes an artifact; others see all of it or nothing.
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
        self.evict(&key.0)
    }

    fn write(&self, name: &str, artifact: &[u8]) -> io::Result<()> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mut file = File::from(rustix::fs::openat(&self.dir, name, flags, Mode::RUSR | Mode::WUSR)?);
        file.write_all(&seal(artifact))?;
        file.write_all(artifact)
    }

    fn evict(&self, keep: &str) -> io::Result<()> {
        let mut entries = self.entries()?;
        entries.sort_by_key(|entry| std::cmp::Reverse((entry.name == keep, entry.used)));
        let (mut files, mut bytes) = (0, 0);
        for entry in entries {
            files += 1;
            bytes += entry.size;
            if files > 1 && (files > self.bounds.files || bytes > self.bounds.bytes) {
                rustix::fs::unlinkat(&self.dir, &entry.name, AtFlags::empty())?;
            }
        }
        Ok(())
    }

    /// Files that this program made; of the temporary ones, those of other processes too, so that
    /// what a crash left behind goes with the rest.
    fn entries(&self) -> io::Result<Vec<Entry>> {
        let mut entries = Vec::new();
        for found in rustix::fs::Dir::read_from(&self.dir)? {
            let found = found?;
            let Ok(name) = found.file_name().to_str() else { continue };
            if !name.ends_with(SUFFIX) && !name.starts_with(TEMPORARY) {
                continue;
            }
            // It may be gone: another process evicts too.
            let Ok(stat) = rustix::fs::statat(&self.dir, name, AtFlags::SYMLINK_NOFOLLOW) else { continue };
            let size = u64::try_from(stat.st_size).unwrap_or(0);
            entries.push(Entry { name: name.to_owned(), used: (stat.st_mtime, stat.st_mtime_nsec), size });
        }
        Ok(entries)
    }
}

struct Entry {
    name: String,
    used: (i64, u64),
    size: u64,
}

/// Why a file or directory with this owner and mode can't be trusted.
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

/// An artifact out of a directory that was installed with this program: it belongs to us or to root, as the program
/// does, and nobody else may write it. `None` when it is not there.
pub(super) fn installed(directory: &Path, name: &str) -> io::Result<Option<Vec<u8>>> {
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
    let mut file = match rustix::fs::openat(&directory, name, flags, Mode::empty()) {
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
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)?;
    unseal(bytes).map(Some).ok_or_else(|| io::Error::other("it is damaged"))
}

/// What stands before an artifact.
pub(super) fn seal(artifact: &[u8]) -> Vec<u8> {
    [MAGIC.as_slice(), Sha256::digest(artifact).as_slice()].concat()
}

/// Takes the header off, if it fits what follows.
fn unseal(mut bytes: Vec<u8>) -> Option<Vec<u8>> {
    let rest = bytes.strip_prefix(MAGIC)?;
    let (digest, artifact) = rest.split_first_chunk::<32>()?;
    let whole = Sha256::digest(artifact).as_slice() == digest;
    whole.then(|| bytes.split_off(MAGIC.len() + 32))
}

/// Lower-case hexadecimal.
pub(super) fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
        let _ = write!(text, "{byte:02x}"); // a String takes it all
        text
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::{fs, os::unix::fs::PermissionsExt as _};

    use super::*;

    /// Native code is taken from nobody else.
    #[test]
    fn installed_code_that_others_could_have_written_is_not_used() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("code.cwasm");
        let read = || installed(folder.path(), "code.cwasm");
        assert!(read().unwrap().is_none());
        assert!(installed(&folder.path().join("gone"), "code.cwasm").unwrap().is_none());
        fs::write(&file, [seal(b"code").as_slice(), b"code"].concat()).unwrap();
        let mode = |path: &Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
        for (directory, own, usable) in
            [(0o755, 0o644, true), (0o775, 0o644, false), (0o757, 0o644, false), (0o755, 0o666, false)]
        {
            mode(folder.path(), directory);
            mode(&file, own);
            assert_eq!(read().is_ok(), usable, "{directory:o} {own:o}");
        }
        mode(&file, 0o644);
        assert_eq!(read().unwrap().unwrap(), b"code");
        fs::write(&file, [seal(b"code").as_slice(), b"cope"].concat()).unwrap();
        assert!(read().is_err(), "it is damaged");
        fs::rename(&file, folder.path().join("other")).unwrap();
        std::os::unix::fs::symlink(folder.path().join("other"), &file).unwrap();
        assert!(read().is_err(), "a link may lead anywhere");
    }
}
