//! Finds the sources of hooks: a project to build, or a component that another tool builds.

use std::{
    io,
    path::{Path, PathBuf},
};

use boathook_core::model::{HookName, InvalidName};

use super::scope::Scope;
use crate::author::{BuildError, Project, Tools};

#[derive(Debug, thiserror::Error)]
pub enum SourceError {
    /// There is no project that can be built.
    #[error(transparent)]
    Project(#[from] BuildError),
    /// The component is missing.
    #[error("can't find {}: give a project's folder, or a component NAME.wasm that is there", path.display())]
    NoFile { path: PathBuf, source: io::Error },
    /// The file or the package has a name that is invalid for a hook.
    #[error("{} can't be a hook", path.display())]
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
