//! Directories in scenarios: temporary ones, with the files that a scenario describes.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs, io,
    path::{Component, Path},
    sync::Arc,
};

use boathook_core::model::{DirectoryAccess, DirectoryRule, error_chain};
use boathook_sandbox::{Directories, Offer};
use tempfile::TempDir;

/// A file of a scenario: `/NAME/PATH`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ScenarioFile {
    pub path: String,
    pub text: String,
}

/// What is wrong with a path of a scenario.
pub(super) fn problem(path: &str) -> Option<String> {
    let rest = path.strip_prefix('/').and_then(|rest| rest.split_once('/'));
    let plain = |rest: &str| Path::new(rest).components().all(|part| matches!(part, Component::Normal(_)));
    match rest {
        Some((name, rest)) if DirectoryRule::is_name(name) && plain(rest) => None,
        _ => Some(format!(
            "{path:?} is not the path of a file in a directory: write /NAME/PATH, with the NAME that the hook requests"
        )),
    }
}

/// The directories of one scenario. They are removed with it.
#[derive(Clone)]
pub(super) struct Place(Arc<TempDir>);

impl Place {
    pub fn new(files: &[ScenarioFile]) -> Result<Self, String> {
        let place = Self(Arc::new(tempfile::tempdir().map_err(|error| format!("files: {error}"))?));
        files
            .iter()
            .try_for_each(|file| place.write(file).map_err(|error| format!("files: {}: {error}", file.path)))?;
        Ok(place)
    }

    /// A path that ends with a slash is a directory.
    fn write(&self, ScenarioFile { path, text }: &ScenarioFile) -> io::Result<()> {
        let at = self.0.path().join(path.trim_start_matches('/'));
        if path.ends_with('/') {
            return fs::create_dir_all(at);
        }
        at.parent().map_or(Ok(()), fs::create_dir_all)?;
        fs::write(at, text)
    }

    /// What is in a file now, if it is there.
    pub fn read(&self, path: &str) -> Option<String> {
        fs::read(self.0.path().join(path.trim_start_matches('/')))
            .map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
            .ok()
    }

    /// The text of each file that is there now, by its path.
    pub fn files(&self) -> BTreeMap<String, String> {
        let (mut files, mut folders) = (BTreeMap::new(), vec![self.0.path().to_owned()]);
        while let Some(folder) = folders.pop() {
            for path in fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()) {
                // A link is not followed.
                match fs::symlink_metadata(&path) {
                    Ok(metadata) if metadata.is_dir() => folders.push(path),
                    Ok(metadata) if metadata.is_file() => {
                        let name = path.strip_prefix(self.0.path()).unwrap_or(&path).display().to_string();
                        let text = fs::read(&path).map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
                        files.insert(format!("/{name}"), text.unwrap_or_default());
                    }
                    _ => {}
                }
            }
        }
        files
    }

    /// Offers the directories that the files are in, for writing.
    pub fn offered(&self, files: &[ScenarioFile]) -> Result<Directories, String> {
        let names: BTreeSet<_> = files.iter().filter_map(|file| file.path.split('/').nth(1)).collect();
        let offer = |name: &str| Offer {
            name: name.to_owned(),
            path: self.0.path().join(name),
            access: DirectoryAccess::Write,
        };
        let offers: Vec<_> = names.into_iter().map(offer).collect();
        Directories::open(&offers).map_err(|error| error_chain(&error))
    }
}
