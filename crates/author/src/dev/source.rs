//! Finds the sources of hooks: a project to build, or a component that another tool builds.

use std::{
    fs, io,
    path::{Component, Path, PathBuf},
};

use boathook_core::model::{HookName, InvalidName};

use crate::author::{BuildError, Project, Tools};

#[derive(Debug, thiserror::Error)]
pub enum SourceError {
    /// This is not a project that Boathook can build.
    #[error(transparent)]
    Project(#[from] BuildError),
    /// The component is missing.
    #[error("cannot find {}: give a project's folder, or an existing component NAME.wasm", path.display())]
    NoFile { path: PathBuf, source: io::Error },
    /// The file or the package has a name that is invalid for a hook.
    #[error("{} cannot be a hook", path.display())]
    Name {
        /// The file or the folder.
        path: PathBuf,
        source: InvalidName,
    },
}

/// Where a hook comes from.
#[derive(Debug, Clone)]
pub struct Source {
    pub name: HookName,
    pub(super) origin: Origin,
}

#[derive(Debug, Clone)]
pub(super) enum Origin {
    Project(Project),
    /// Built by another tool. Links in the path of its folder are resolved.
    Component(PathBuf),
}

impl Source {
    /// Finds the source for a project's folder, or for a component `NAME.wasm`.
    pub fn find(path: &Path, tools: &Tools) -> Result<Self, SourceError> {
        let named =
            |name: &str| HookName::new(name).map_err(|source| SourceError::Name { path: path.to_owned(), source });
        if path.extension().is_some_and(|extension| extension == "wasm") && !path.is_dir() {
            let found = component(path).map_err(|source| SourceError::NoFile { path: path.to_owned(), source })?;
            let name = named(&found.file_stem().unwrap_or_default().to_string_lossy())?;
            return Ok(Self { name, origin: Origin::Component(found) });
        }
        let project = tools.project(path)?;
        Ok(Self { name: named(project.name())?, origin: Origin::Project(project) })
    }

    /// The file changes that concern it.
    pub(super) fn scope(&self) -> Scope {
        match &self.origin {
            Origin::Project(project) => Scope::Project {
                folder: project.sources().to_owned(),
                written: project.written(),
                locks: project.locks(),
            },
            Origin::Component(path) => Scope::File(path.clone()),
        }
    }
}

/// Resolves only the folder, because the file may be replaced later.
fn component(path: &Path) -> io::Result<PathBuf> {
    path.metadata()?;
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    Ok(folder.canonicalize()?.join(path.file_name().unwrap_or_default()))
}

/// The files of a source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Scope {
    /// All files in a folder, except those that tools write there.
    Project {
        folder: PathBuf,
        /// Folders that the toolchain writes to.
        written: Vec<PathBuf>,
        /// Names of files that the toolchain writes next to sources.
        locks: &'static [&'static str],
    },
    File(PathBuf),
}

impl Scope {
    /// Whether a change of this file is a change of the source.
    pub fn concerns(&self, path: &Path) -> bool {
        match self {
            Self::File(file) => path == file,
            Self::Project { folder, written, locks } => {
                let Ok(inside) = path.strip_prefix(folder) else { return false };
                let mut parts = inside.components().filter_map(|part| match part {
                    Component::Normal(part) => part.to_str(),
                    _ => None,
                });
                !written.iter().any(|folder| path.starts_with(folder))
                    && !locks.iter().any(|lock| path.file_name().is_some_and(|name| name == *lock))
                    && !parts.any(|part| is_hidden(part) || is_temporary(part))
            }
        }
    }

    /// The folders to watch. Watches are not recursive.
    pub fn folders(&self) -> io::Result<Vec<PathBuf>> {
        match self {
            Self::File(file) => Ok(file.parent().into_iter().map(Path::to_owned).collect()),
            Self::Project { folder, .. } => Ok(self.below(folder)?),
        }
    }

    /// A folder and its subfolders.
    pub fn below(&self, folder: &Path) -> io::Result<Vec<PathBuf>> {
        let mut found = vec![folder.to_owned()];
        let mut next = 0;
        while let Some(folder) = found.get(next).cloned() {
            next += 1;
            for entry in fs::read_dir(&folder)? {
                let entry = entry?;
                // Symbolic links are not followed, because they may form a cycle.
                if entry.file_type()?.is_dir() && self.concerns(&entry.path()) {
                    found.push(entry.path());
                }
            }
        }
        Ok(found)
    }
}

fn is_hidden(name: &str) -> bool {
    name.starts_with('.')
}

/// Files that editors write next to a file while they save it.
fn is_temporary(name: &str) -> bool {
    let ends = ["~", ".tmp", ".bak", ".swp", ".swx", "___jb_tmp___", "___jb_old___"];
    // Vim creates a file with this name to check that it can write.
    name == "4913" || name.starts_with('#') || ends.iter().any(|end| name.ends_with(end))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic)]
    use super::*;

    fn project() -> Scope {
        Scope::Project {
            folder: "/p".into(),
            written: vec!["/p/out".into(), "/p/target".into()],
            locks: &["Cargo.lock"],
        }
    }

    #[test]
    fn a_projects_own_files_concern_it_and_what_tools_write_does_not() {
        for path in ["/p/src/lib.rs", "/p/Cargo.toml", "/p/assets/page.html", "/p/src/target.rs"] {
            assert!(project().concerns(Path::new(path)), "{path}");
        }
        for path in [
            "/q/src/lib.rs",
            "/p/target",
            "/p/target/debug/x",
            "/p/out/release/x.wasm",
            "/p/.git/index",
            "/p/src/.lib.rs.swp",
            "/p/src/lib.rs~",
            "/p/src/#lib.rs#",
            "/p/src/4913",
            "/p/Cargo.lock",
        ] {
            assert!(!project().concerns(Path::new(path)), "{path}");
        }
    }

    #[test]
    fn of_a_component_only_the_file_itself_counts() {
        let file = Scope::File("/d/hook.wasm".into());
        assert!(file.concerns(Path::new("/d/hook.wasm")));
        assert!(!file.concerns(Path::new("/d/other.wasm")));
        assert_eq!(file.folders().unwrap(), [Path::new("/d")]);
    }

    #[test]
    fn folders_of_tools_are_not_watched() {
        let root = tempfile::tempdir().unwrap();
        for folder in ["src/deep", "target/debug", ".git/objects"] {
            fs::create_dir_all(root.path().join(folder)).unwrap();
        }
        let scope =
            Scope::Project { folder: root.path().to_owned(), written: vec![root.path().join("target")], locks: &[] };
        let mut folders = scope.folders().unwrap();
        folders.sort();
        assert_eq!(folders, ["", "src", "src/deep"].map(|folder| root.path().join(folder)));
    }
}
