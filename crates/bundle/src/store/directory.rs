//! Directories with the unpacked files of modules. Each belongs to a process, which holds a lock in it.

use std::{
    fs::{self, File, TryLockError},
    io,
    path::{Path, PathBuf},
};

use tempfile::TempDir;

use super::StoreError;

/// The file in a directory whose lock the process holds.
const LOCK: &str = "lock";
/// The folder with the files.
const FILES: &str = "files";

/// An own directory, which is removed when it is dropped.
#[derive(Debug)]
pub struct ModuleDirectory {
    files: PathBuf,
    directory: TempDir,
    _lock: File,
}

impl ModuleDirectory {
    pub(super) fn new(parent: &Path) -> Result<Self, StoreError> {
        let failed = |source| StoreError::Io { path: parent.to_owned(), source };
        sweep(parent).map_err(failed)?;
        let make = || -> io::Result<Self> {
            let directory = tempfile::Builder::new().prefix("module-").tempdir_in(parent)?;
            let lock = File::create(directory.path().join(LOCK))?;
            lock.lock()?;
            let files = directory.path().join(FILES);
            fs::create_dir(&files)?;
            Ok(Self { files, directory, _lock: lock })
        };
        make().map_err(failed)
    }

    /// The directory for the files.
    pub fn path(&self) -> &Path {
        &self.files
    }

    /// The directory with everything, which is removed.
    pub fn whole(&self) -> &Path {
        self.directory.path()
    }
}

/// Removes directories whose processes are gone.
fn sweep(parent: &Path) -> io::Result<()> {
    for entry in fs::read_dir(parent)? {
        let path = entry?.path();
        // One without the file is about to get it.
        let Ok(lock) = File::open(path.join(LOCK)) else { continue };
        match lock.try_lock() {
            Ok(()) => drop(fs::remove_dir_all(&path)),
            Err(TryLockError::WouldBlock) => {}
            Err(TryLockError::Error(error)) => return Err(error),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    // mutant: crates/bundle/src/store/directory.rs: `Err(TryLockError::WouldBlock) => {}` => `Err(TryLockError::WouldBlock) => drop(fs::remove_dir_all(&path)),`
    #[test]
    fn directories_of_processes_that_are_gone_are_removed_and_others_stay() {
        let parent = tempfile::tempdir().unwrap();
        let own = ModuleDirectory::new(parent.path()).unwrap();
        let left = parent.path().join("module-left");
        fs::create_dir(&left).unwrap();
        fs::write(left.join(LOCK), "").unwrap();
        let next = ModuleDirectory::new(parent.path()).unwrap();
        assert!(own.path().is_dir() && next.path().is_dir() && !left.exists());
        let whole = own.whole().to_owned();
        drop(own);
        assert!(!whole.exists());
    }
}
