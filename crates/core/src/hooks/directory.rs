//! Finds the hooks of a directory: each `NAME.wasm` in it is a hook. Subdirectories and other files are ignored.

use std::{
    io,
    path::{Path, PathBuf},
};

use crate::model::{HookName, InvalidName};

/// A directory that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum DirectoryError {
    #[error("the hooks directory {} cannot be read", .0.display())]
    Unreadable(PathBuf, #[source] io::Error),
}

/// One file that should be a hook.
#[derive(Debug)]
pub struct HookFile {
    pub path: PathBuf,
    /// The hook's name, if the file has a valid one.
    pub name: Result<HookName, InvalidName>,
}

impl HookFile {
    /// The hook in a file. This does not check whether the file exists.
    pub fn of(path: PathBuf) -> Self {
        let name = HookName::new(&path.file_stem().unwrap_or_default().to_string_lossy());
        Self { name, path }
    }

    /// The file's name without `.wasm`, valid or not.
    pub fn stem(&self) -> String {
        self.path.file_stem().unwrap_or_default().to_string_lossy().into_owned()
    }
}

/// The hooks of a directory, ordered by name. Links are followed, because ConfigMap volumes need that.
pub fn read_directory(directory: &Path) -> Result<Vec<HookFile>, DirectoryError> {
    let unreadable = |error| DirectoryError::Unreadable(directory.to_owned(), error);
    let mut files = Vec::new();
    for entry in std::fs::read_dir(directory).map_err(unreadable)? {
        let path = entry.map_err(unreadable)?.path();
        if path.extension().is_some_and(|extension| extension == "wasm") && path.is_file() {
            files.push(HookFile::of(path));
        }
    }
    files.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(files)
}

/// The direct subdirectories that have hooks. An image of hooks that is mounted as a volume often has them one
/// directory deeper.
pub fn with_hooks_below(directory: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
    let mut found: Vec<_> = entries
        .map(|entry| entry.path())
        .filter(|path| path.is_dir() && read_directory(path).is_ok_and(|hooks| !hooks.is_empty()))
        .collect();
    found.sort();
    found
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn takes_wasm_files_in_order_and_nothing_else() {
        let dir = tempfile::tempdir().unwrap();
        for name in ["b.wasm", "a.wasm", "notes.md", "-bad.wasm"] {
            std::fs::write(dir.path().join(name), "").unwrap();
        }
        std::fs::create_dir(dir.path().join("c.wasm")).unwrap();
        let found = read_directory(dir.path()).unwrap();
        let names: Vec<_> = found.iter().map(|file| file.name.as_ref().map(HookName::as_str).ok()).collect();
        assert_eq!(names, [None, Some("a"), Some("b")]);
    }

    #[test]
    fn finds_the_directories_below_that_have_hooks() {
        let dir = tempfile::tempdir().unwrap();
        assert!(with_hooks_below(dir.path()).is_empty());
        for name in ["b/hook.wasm", "a/hook.wasm", "c/notes.md", "deep/er/hook.wasm"] {
            let path = dir.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, "").unwrap();
        }
        assert_eq!(with_hooks_below(dir.path()), [dir.path().join("a"), dir.path().join("b")]);
    }

    #[test]
    fn names_a_directory_that_is_missing() {
        let error = read_directory(Path::new("/nonexistent/hooks")).unwrap_err();
        assert!(error.to_string().contains("/nonexistent/hooks"), "{error}");
    }
}
