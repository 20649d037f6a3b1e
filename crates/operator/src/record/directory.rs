//! A private directory of records. For each hook it has a ring of files for runs that succeeded and another for runs
//! that failed. It also has the components that ran. A file appears only when it is complete.

use std::{
    collections::{BTreeMap, VecDeque},
    fs::{self, DirBuilder, OpenOptions},
    io::{self, Read as _, Write as _},
    os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _},
    path::{Path, PathBuf},
};

use sha2::{Digest as _, Sha256};

use super::{FileName, secrets::Key, tape::hex};

/// The folder of components in a directory of records.
pub const COMPONENTS: &str = "components";

/// The file with the key of placeholders.
pub const KEY: &str = "redaction.key";

/// The maximum number of components to keep. The oldest are removed.
const MAX_COMPONENTS: usize = 64;

const TEMPORARY: &str = ".tmp-";

/// Why a directory cannot be used for records.
#[derive(Debug, thiserror::Error)]
pub enum DirectoryError {
    /// The system returned an error.
    #[error("can't use {path} for records")]
    Io {
        /// The directory, or a file in it.
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    /// Other users can access the directory.
    #[error("can't use {path} for records: {reason}; take another directory, or let boathook make it")]
    NotPrivate {
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// The key file is not one of ours.
    #[error("{path} is no key of {} bytes: remove it, and records from now on have a new one", Key::LEN)]
    Key { path: PathBuf },
}

/// The records of one operator.
#[derive(Debug)]
pub(super) struct Directory {
    path: PathBuf,
    keep: usize,
    rings: BTreeMap<(String, bool), VecDeque<FileName>>,
    /// The stored component of each hook.
    components: BTreeMap<String, String>,
    number: u64,
}

impl Directory {
    /// Creates the directory if it is missing, and reads its content. Each ring keeps `keep` files.
    pub fn open(path: &Path, keep: usize) -> Result<Self, DirectoryError> {
        private(path)?;
        private(&path.join(COMPONENTS))?;
        let mut directory = Self {
            path: path.to_owned(),
            keep: keep.max(1),
            rings: BTreeMap::new(),
            components: BTreeMap::new(),
            number: 0,
        };
        directory.look_around().map_err(|source| DirectoryError::Io { path: path.to_owned(), source })?;
        Ok(directory)
    }

    fn look_around(&mut self) -> io::Result<()> {
        let mut found = Vec::new();
        for entry in fs::read_dir(&self.path)? {
            let entry = entry?;
            let name = entry.file_name();
            let Some(name) = name.to_str() else { continue };
            if name.starts_with(TEMPORARY) {
                // Another process was killed while it wrote the file.
                let _ = fs::remove_file(entry.path());
            }
            found.extend(FileName::parse(name));
        }
        found.sort_by(|one, other| one.started.cmp(&other.started));
        found.into_iter().for_each(|name| self.enter(name));
        Ok(())
    }

    /// The key of the directory's placeholders. It is created if there is none.
    pub fn key(&self) -> Result<Key, DirectoryError> {
        let path = self.path.join(KEY);
        if let Some(key) = read_key(&self.path)? {
            return Ok(key);
        }
        let key = Key::random();
        self.write(&path, key.bytes()).map_err(|source| DirectoryError::Io { path, source })?;
        Ok(key)
    }

    /// Writes a record, and removes the oldest one if its ring is full.
    pub fn put(&mut self, name: FileName, bytes: &[u8]) -> io::Result<()> {
        let path = self.path.join(name.to_string());
        self.number += 1;
        self.write(&path, bytes)?;
        self.enter(name);
        Ok(())
    }

    fn enter(&mut self, name: FileName) {
        let ring = self.rings.entry((name.hook.clone(), name.failed)).or_default();
        ring.push_back(name);
        while ring.len() > self.keep {
            if let Some(oldest) = ring.pop_front() {
                // Somebody may have removed the file.
                let _ = fs::remove_file(self.path.join(oldest.to_string()));
            }
        }
    }

    /// Stores the component of a hook, copied from the file that the hook was loaded from.
    pub fn keep_component(&mut self, hook: &str, digest: &str, source: &Path) -> io::Result<()> {
        if self.components.get(hook).is_some_and(|known| known == digest) {
            return Ok(());
        }
        // The code remembers a failure, too. Otherwise each run would repeat it, and nobody reads messages that often.
        self.components.insert(hook.to_owned(), digest.to_owned());
        let to = self.path.join(COMPONENTS).join(component_file(digest));
        if !to.exists() {
            let bytes = fs::read(source)?;
            if format!("sha256:{}", hex(&Sha256::digest(&bytes))) != digest {
                return Err(io::Error::other(format!("{} is another component by now", source.display())));
            }
            self.write(&to, &bytes)?;
            self.forget_components()?;
        }
        Ok(())
    }

    fn forget_components(&self) -> io::Result<()> {
        let mut files = Vec::new();
        for entry in fs::read_dir(self.path.join(COMPONENTS))? {
            let entry = entry?;
            files.push((entry.metadata()?.modified()?, entry.path()));
        }
        files.sort();
        for (_, path) in files.iter().take(files.len().saturating_sub(MAX_COMPONENTS)) {
            fs::remove_file(path)?;
        }
        Ok(())
    }

    fn write(&self, to: &Path, bytes: &[u8]) -> io::Result<()> {
        let temporary = self.path.join(format!("{TEMPORARY}{}-{}", std::process::id(), self.number));
        let written = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&temporary)
            .and_then(|mut file| file.write_all(bytes))
            .and_then(|()| fs::rename(&temporary, to));
        if written.is_err() {
            let _ = fs::remove_file(&temporary);
        }
        written
    }
}

/// The key of a directory's placeholders, if there is one.
pub fn read_key(directory: &Path) -> Result<Option<Key>, DirectoryError> {
    let path = directory.join(KEY);
    let mut bytes = Vec::new();
    let file = match fs::File::open(&path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(source) => return Err(DirectoryError::Io { path, source }),
    };
    let read = file.take(Key::LEN as u64 + 1).read_to_end(&mut bytes);
    read.map_err(|source| DirectoryError::Io { path: path.clone(), source })?;
    bytes.try_into().map(|bytes| Some(Key::new(bytes))).map_err(|_| DirectoryError::Key { path })
}

/// The name of a component's file: `sha256-….wasm`.
pub fn component_file(digest: &str) -> String {
    format!("{}.wasm", digest.replace(':', "-"))
}

fn private(path: &Path) -> Result<(), DirectoryError> {
    let failed = |source| DirectoryError::Io { path: path.to_owned(), source };
    DirBuilder::new().recursive(true).mode(0o700).create(path).map_err(failed)?;
    let meta = fs::metadata(path).map_err(failed)?;
    let us = rustix::process::geteuid().as_raw();
    let reason = match (meta.uid(), meta.mode() & 0o777) {
        (owner, _) if owner != us => format!("it belongs to user {owner}, boathook runs as user {us}"),
        (_, mode) if mode & 0o077 != 0 => {
            format!("its mode {mode:03o} lets others in, and records tell what hooks see")
        }
        _ => return Ok(()),
    };
    Err(DirectoryError::NotPrivate { path: path.to_owned(), reason })
}
