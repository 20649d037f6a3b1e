//! Puts a pulled bundle's hooks into a directory that `serve --hooks` takes. Removes only what it put there itself.

use std::{
    collections::BTreeSet,
    fs, io,
    path::{Path, PathBuf},
};

use boathook_core::model::HookName;
use serde::{Deserialize, Serialize};

use super::{Digest, Pulled, layout};

/// Says which files of the directory are the bundle's.
const RECORD: &str = "bundle.json";

/// Why nothing is put into a directory.
#[derive(Debug, thiserror::Error)]
pub enum UnpackError {
    /// The file system's word.
    #[error("{} can't be read or written", .path.display())]
    Io {
        /// The path.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// Hooks from elsewhere.
    #[error("{} holds {} that no bundle put there: take an empty directory, or remove it", .path.display(), .names.join(", "))]
    Foreign {
        /// The path.
        path: PathBuf,
        /// The names.
        names: Vec<String>,
    },
    /// A record that is none.
    #[error("{} can't be read: take an empty directory", .path.display())]
    Record {
        /// The path.
        path: PathBuf,
        /// Why.
        #[source]
        source: serde_json::Error,
    },
    /// A write that failed.
    #[error(transparent)]
    Write(#[from] layout::LayoutError),
}

#[derive(Debug, Default, Serialize, Deserialize)]
struct Record {
    reference: String,
    digest: Option<Digest>,
    files: BTreeSet<String>,
}

/// What was done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unpacked {
    /// Files that are there now.
    pub files: BTreeSet<String>,
    /// Files of the bundle that was there before, which are gone.
    pub removed: BTreeSet<String>,
}

/// Writes each hook as `NAME.wasm`, and schemas and texts whose names are plain.
pub fn unpack(pulled: &Pulled, to: &Path) -> Result<Unpacked, UnpackError> {
    let failed = |path: &Path| {
        let path = path.to_owned();
        move |source| UnpackError::Io { path, source }
    };
    fs::create_dir_all(to).map_err(failed(to))?;
    let before = record(to)?;
    let hooks = pulled.hooks.iter().map(|hook| (format!("{}.wasm", hook.name), &hook.path));
    let other = |name: &str| is_plain(name) && name != RECORD && !name.ends_with(".wasm");
    let others = pulled.files.iter().filter(|(name, _)| other(name)).map(|(name, path)| (name.clone(), path));
    let all: Vec<_> = hooks.chain(others).collect();
    let files: BTreeSet<String> = all.iter().map(|(name, _)| name.clone()).collect();
    let foreign: Vec<_> =
        components(to)?.into_iter().filter(|name| !before.files.contains(name) && !files.contains(name)).collect();
    if !foreign.is_empty() {
        return Err(UnpackError::Foreign { path: to.to_owned(), names: foreign });
    }
    for (name, path) in all {
        layout::write(&to.join(name), &fs::read(path).map_err(failed(path))?)?;
    }
    let removed: BTreeSet<_> = before.files.difference(&files).filter(|name| is_plain(name)).cloned().collect();
    for name in &removed {
        let path = to.join(name);
        match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(failed(&path)(error)),
            _ => {}
        }
    }
    let now = Record {
        reference: pulled.seen.reference.clone(),
        digest: Some(pulled.seen.digest.clone()),
        files: files.clone(),
    };
    let path = to.join(RECORD);
    let bytes = serde_json::to_vec_pretty(&now).map_err(|source| UnpackError::Record { path: path.clone(), source })?;
    layout::write(&path, &bytes)?;
    Ok(Unpacked { files, removed })
}

/// A name that a hook could have is no path out of the directory.
fn is_plain(name: &str) -> bool {
    HookName::new(name.strip_suffix(".wasm").unwrap_or(name)).is_ok()
}

fn record(directory: &Path) -> Result<Record, UnpackError> {
    let path = directory.join(RECORD);
    match fs::read(&path) {
        Ok(bytes) => serde_json::from_slice(&bytes).map_err(|source| UnpackError::Record { path, source }),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Record::default()),
        Err(source) => Err(UnpackError::Io { path, source }),
    }
}

fn components(directory: &Path) -> Result<Vec<String>, UnpackError> {
    let failed = |source| UnpackError::Io { path: directory.to_owned(), source };
    let mut names = Vec::new();
    for entry in fs::read_dir(directory).map_err(failed)? {
        let name = entry.map_err(failed)?.file_name().to_string_lossy().into_owned();
        if name.ends_with(".wasm") {
            names.push(name);
        }
    }
    Ok(names)
}
