//! Finds the component of a record by its digest. A file with other content is never used.

use std::{
    collections::HashMap,
    fs, io,
    path::{Path, PathBuf},
};

use sha2::{Digest as _, Sha256};

use crate::record::{directory::COMPONENTS, directory::component_file, tape::hex};

/// Why there is no component.
#[derive(Debug, thiserror::Error)]
pub enum ComponentError {
    /// The component is in none of the places.
    #[error(
        "the component {digest} of hook {hook} is not in {places}: name a directory that has it with --component-dir, or another component with --with"
    )]
    Missing {
        /// The digest, `sha256:…`.
        digest: String,
        hook: String,
        /// The directories that were searched.
        places: String,
    },
    /// A file or a directory cannot be read.
    #[error("can't read {path}")]
    File {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
}

/// Directories with components.
#[derive(Debug, Default)]
pub struct Components {
    directories: Vec<PathBuf>,
    /// Files with other names, by digest.
    named: HashMap<String, PathBuf>,
}

impl Components {
    /// Searches these directories, in addition to the folders next to records.
    pub fn new(directories: &[PathBuf]) -> Result<Self, ComponentError> {
        let mut named = HashMap::new();
        for directory in directories {
            let failed = |source| ComponentError::File { path: directory.clone(), source };
            for entry in fs::read_dir(directory).map_err(failed)? {
                let path = entry.map_err(failed)?.path();
                if path.extension().is_some_and(|extension| extension == "wasm") {
                    named.insert(digest(&read(&path)?), path);
                }
            }
        }
        Ok(Self { directories: directories.to_vec(), named })
    }

    /// Finds the component of a record in this directory.
    pub fn find(&self, records: &Path, wanted: &str, hook: &str) -> Result<Vec<u8>, ComponentError> {
        let beside = records.join(COMPONENTS);
        let kept = beside.join(component_file(wanted));
        let places = [Some(&kept), self.named.get(wanted)];
        for path in places.into_iter().flatten().filter(|path| path.exists()) {
            let bytes = read(path)?;
            if digest(&bytes) == wanted {
                return Ok(bytes);
            }
        }
        let places: Vec<_> =
            std::iter::once(&beside).chain(&self.directories).map(|path| path.display().to_string()).collect();
        Err(ComponentError::Missing { digest: wanted.to_owned(), hook: hook.to_owned(), places: places.join(", ") })
    }
}

fn read(path: &Path) -> Result<Vec<u8>, ComponentError> {
    fs::read(path).map_err(|source| ComponentError::File { path: path.to_owned(), source })
}

fn digest(bytes: &[u8]) -> String {
    format!("sha256:{}", hex(&Sha256::digest(bytes)))
}
