//! Directories that the admin offers to hooks: what they are, how much hooks have put into them, and how a file in them is
//! opened so that nothing leads out (`beneath`). `files` is a run's view of them.

pub(super) mod beneath;

use std::{
    collections::BTreeMap,
    fs::File,
    io,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use beneath::Links;
use boathook_core::model::{DirectoryAccess, DirectoryRule};

use crate::limits;

/// A directory that the admin offers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Offer {
    pub name: String,
    pub path: PathBuf,
    /// What the hooks that request it may do at most.
    pub access: DirectoryAccess,
}

/// Why a directory cannot be offered.
#[derive(Debug, thiserror::Error)]
pub enum OfferError {
    #[error("the directory {name:?} is offered twice: give each directory its own name")]
    Twice { name: String },
    #[error("the directory {name:?} cannot be offered: cannot open {}", .path.display())]
    Open {
        name: String,
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error(
        "the directory {name:?} cannot be offered: {} is in a virtual file system of the kernel, whose files can block or \
         have effects when they are read: name a directory with ordinary files", .path.display()
    )]
    Special { name: String, path: PathBuf },
    #[error("directories cannot be offered on this machine: they need openat2 of Linux 5.6 or newer")]
    Unsupported(#[source] io::Error),
}

/// The directories that are offered, by name. Clones share them, and how much hooks have put into them.
#[derive(Debug, Clone, Default)]
pub struct Directories(Arc<BTreeMap<String, Arc<Offered>>>);

impl Directories {
    /// Opens all of them. Later, their paths are not used again, so nobody can exchange a directory for another one.
    pub fn open(offers: &[Offer]) -> Result<Self, OfferError> {
        let mut all = BTreeMap::new();
        for Offer { name, path, access } in offers {
            let root = open(name, path)?;
            let offered =
                Offered { name: name.clone(), access: *access, root: Arc::new(root), grown: Mutex::default() };
            if all.insert(name.clone(), Arc::new(offered)).is_some() {
                return Err(OfferError::Twice { name: name.clone() });
            }
        }
        Ok(Self(Arc::new(all)))
    }

    /// Why a hook cannot have what it requests, with the remedy. `None`: it can.
    pub fn refusal(&self, rule: &DirectoryRule) -> Option<String> {
        let DirectoryRule { name, access } = rule;
        let suffix = if *access == DirectoryAccess::Write { ":rw" } else { "" };
        match self.0.get(name) {
            None => {
                Some(format!("no directory {name:?} is offered: start the operator with --dir {name}=PATH{suffix}"))
            }
            Some(offered) if offered.access < *access => Some(format!(
                "the directory {name:?} is offered for reading only: start the operator with --dir {name}=PATH:rw, or \
                 request access: read"
            )),
            Some(_) => None,
        }
    }

    pub(super) fn get(&self, name: &str) -> Option<&Arc<Offered>> {
        self.0.get(name)
    }
}

fn open(name: &str, path: &Path) -> Result<File, OfferError> {
    let failed = |source| OfferError::Open { name: name.to_owned(), path: path.to_owned(), source };
    let root = beneath::root(path).map_err(failed)?;
    beneath::probe(&root).map_err(OfferError::Unsupported)?;
    if beneath::is_special(&root).map_err(failed)? {
        return Err(OfferError::Special { name: name.to_owned(), path: path.to_owned() });
    }
    Ok(root)
}

/// One directory that is offered.
#[derive(Debug)]
pub(super) struct Offered {
    pub(super) name: String,
    pub(super) access: DirectoryAccess,
    pub(super) root: Arc<File>,
    grown: Mutex<Grown>,
}

/// What hooks have added since the operator started, less what they have removed.
#[derive(Debug, Default, Clone, Copy)]
struct Grown {
    bytes: u64,
    entries: u64,
}

impl Offered {
    /// What hooks write must not be led elsewhere by who shares the directory. What they only read may be found by links.
    fn links(&self) -> Links {
        match self.access {
            DirectoryAccess::Read => Links::Followed,
            DirectoryAccess::Write => Links::Refused,
        }
    }

    fn grown(&self) -> MutexGuard<'_, Grown> {
        self.grown.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes that the directory grows. The text says why it may not.
    pub(super) fn grow(&self, bytes: u64, entries: u64) -> Result<(), String> {
        let mut grown = self.grown();
        let (all_bytes, all_entries) = (grown.bytes.saturating_add(bytes), grown.entries.saturating_add(entries));
        let bound = if all_bytes > limits::GROWTH {
            format!("more than {} to it", limits::bytes(limits::GROWTH))
        } else if all_entries > limits::NEW_ENTRIES {
            format!("more than {} files and directories to it", limits::NEW_ENTRIES)
        } else {
            *grown = Grown { bytes: all_bytes, entries: all_entries };
            return Ok(());
        };
        Err(format!(
            "hooks may not add {bound} than they removed since the operator started: remove what is not needed"
        ))
    }

    pub(super) fn shrink(&self, bytes: u64, entries: u64) {
        let mut grown = self.grown();
        grown.bytes = grown.bytes.saturating_sub(bytes);
        grown.entries = grown.entries.saturating_sub(entries);
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn offer(name: &str, path: &Path, access: DirectoryAccess) -> Offer {
        Offer { name: name.to_owned(), path: path.to_owned(), access }
    }

    // mutant: crates/sandbox/src/directories/mod.rs: `Some(offered) if offered.access < *access =>` => `Some(_) if false =>`
    #[test]
    fn a_hook_gets_only_what_is_offered() {
        use DirectoryAccess::{Read, Write};
        let dir = tempfile::tempdir().unwrap();
        let offers = [offer("logs", dir.path(), Read), offer("keys", dir.path(), Write)];
        let directories = Directories::open(&offers).unwrap();
        let refusal = |name: &str, access| directories.refusal(&DirectoryRule { name: name.to_owned(), access });
        assert_eq!((refusal("logs", Read), refusal("keys", Read), refusal("keys", Write)), (None, None, None));
        assert!(refusal("logs", Write).unwrap().contains("--dir logs=PATH:rw"));
        assert!(refusal("other", Read).unwrap().ends_with("--dir other=PATH"));
        assert!(refusal("other", Write).unwrap().ends_with("--dir other=PATH:rw"));
    }

    // mutant: crates/sandbox/src/directories/mod.rs: `} else if all_entries > limits::NEW_ENTRIES {` => `} else if false {`
    #[test]
    fn hooks_add_so_many_files_and_no_more() {
        let dir = tempfile::tempdir().unwrap();
        let directories = Directories::open(&[offer("keys", dir.path(), DirectoryAccess::Write)]).unwrap();
        let offered = directories.get("keys").unwrap();
        assert_eq!(offered.grow(0, limits::NEW_ENTRIES), Ok(()));
        let refused = offered.grow(0, 1).unwrap_err();
        assert!(refused.starts_with("hooks may not add more than 10000 files and directories to it"), "{refused}");
        offered.shrink(0, 1);
        assert_eq!(offered.grow(0, 1), Ok(()));
        // Who removes what was there before gets no credit for it.
        offered.shrink(u64::MAX, u64::MAX);
        assert!(offered.grow(0, limits::NEW_ENTRIES + 1).is_err());
    }

    // mutant: crates/sandbox/src/directories/mod.rs: `if beneath::is_special(&root).map_err(failed)? {` => `if false {`
    #[test]
    fn what_is_no_ordinary_directory_cannot_be_offered() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("file"), "").unwrap();
        let read = DirectoryAccess::Read;
        let error = |path: &Path| Directories::open(&[offer("a", path, read)]).unwrap_err();
        assert!(matches!(error(&dir.path().join("file")), OfferError::Open { .. }));
        assert!(matches!(error(&dir.path().join("gone")), OfferError::Open { .. }));
        for kernel in ["/proc", "/proc/self", "/sys"] {
            assert!(matches!(error(Path::new(kernel)), OfferError::Special { .. }), "{kernel}");
        }
        let twice = Directories::open(&[offer("a", dir.path(), read), offer("a", dir.path(), read)]).unwrap_err();
        assert_eq!(twice.to_string(), "the directory \"a\" is offered twice: give each directory its own name");
    }
}
