//! Why a Python project cannot become a script. The interpreter reports errors of the script itself.

use std::{io, path::PathBuf};

use boathook_core::model::ScriptError;

#[derive(Debug, thiserror::Error)]
pub enum PythonBuildError {
    #[error("can't read {}", path.display())]
    Read { path: PathBuf, source: io::Error },
    /// The manifest is not valid TOML, or has an invalid field.
    #[error("{} can't be used", path.display())]
    Manifest { path: PathBuf, source: Box<toml::de::Error> },
    /// There is no name for the hook.
    #[error("{} gives the hook no name: it needs `name` in [project]", .0.display())]
    NoName(PathBuf),
    /// There is no entry file.
    #[error(
        "{} does not say which file is the hook: name it as `entry` in [tool.boathook] of pyproject.toml, or call it src/hook.py",
        .0.display()
    )]
    NoEntry(PathBuf),
    /// The configured entry is missing.
    #[error("{} has no {entry:?}, which pyproject.toml names as its entry: it is a .py file, below that folder", folder.display())]
    Entry {
        /// The project's folder.
        folder: PathBuf,
        /// The entry as the manifest has it.
        entry: String,
    },
    /// No interpreter is installed.
    #[error(
        "no interpreter for Python is installed: name the directory of python-VERSION.wasm with BOATHOOK_INTERPRETERS; in a clone, run `make interpreters`"
    )]
    NoInterpreter,
    /// The script cannot be packed.
    #[error("can't pack {name}")]
    Pack { name: String, source: ScriptError },
    #[error("can't write {}", path.display())]
    Write { path: PathBuf, source: io::Error },
}

impl PythonBuildError {
    /// Whether no change of the sources can fix it.
    pub fn is_of_the_machine(&self) -> bool {
        matches!(self, Self::NoInterpreter)
    }
}
