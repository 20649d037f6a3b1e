//! Writes a pulled bundle's hooks into a directory for `serve --hooks`. Only files that came from a bundle are removed.

use std::{
    collections::BTreeSet,
    fs, io,
    path::{Path, PathBuf},
};

use boathook_core::model::HookName;
use serde::{Deserialize, Serialize};

use super::{DEFINITIONS, Digest, Pulled, layout};

/// The record of which files of the directory belong to the bundle.
const RECORD: &str = "bundle.json";

/// Why a bundle cannot be unpacked into a directory.
#[derive(Debug, thiserror::Error)]
pub enum UnpackError {
    /// The file system reported an error.
    #[error("{} cannot be read or written", .path.display())]
    Io {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    /// There are hooks from elsewhere.
    #[error("{} holds {} that no bundle put there: name an empty directory, or remove it", .path.display(), .names.join(", "))]
    Foreign {
        path: PathBuf,
        /// The names of these hooks' files.
        names: Vec<String>,
    },
    /// The record cannot be parsed.
    #[error("{} cannot be read: name an empty directory", .path.display())]
    Record {
        path: PathBuf,
        #[source]
        source: serde_json::Error,
    },
    /// A file could not be written.
    #[error(transparent)]
    Write(#[from] layout::LayoutError),
}

#[derive(Debug, Default, Serialize, Deserialize)]
struct Record {
    reference: String,
    digest: Option<Digest>,
    files: BTreeSet<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unpacked {
    /// The files that are there now.
    pub files: BTreeSet<String>,
    /// The files of the previous bundle, which were removed.
    pub removed: BTreeSet<String>,
}

/// Writes each hook as `NAME.wasm`, each CustomResourceDefinition as `crds/NAME.json`, and also the schemas and texts with
/// plain names.
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
    let definitions = pulled.definitions.iter().map(|of| (format!("{DEFINITIONS}/{}.json", of.name), &of.path));
    let definitions = definitions.filter(|(name, _)| is_plain(name));
    let all: Vec<_> = hooks.chain(definitions).chain(others).collect();
    if !pulled.definitions.is_empty() {
        let path = to.join(DEFINITIONS);
        fs::create_dir_all(&path).map_err(failed(&path))?;
    }
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

/// Whether the name is plain. A name that is valid for a hook cannot be a path out of the directory.
fn is_plain(name: &str) -> bool {
    let definition = name.strip_prefix(DEFINITIONS).and_then(|name| name.strip_prefix('/')?.strip_suffix(".json"));
    HookName::new(definition.or(name.strip_suffix(".wasm")).unwrap_or(name)).is_ok()
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
