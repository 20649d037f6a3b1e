//! Why a Python project does not become a script. Never says what is wrong with the script itself: the interpreter does.

use std::{io, path::PathBuf};

use boathook_core::model::ScriptError;

/// Why there is no script.
#[derive(Debug, thiserror::Error)]
pub enum PythonBuildError {
    /// The system does not let it.
    #[error("can't read {}", path.display())]
    Read {
        /// What could not be read.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// The manifest is not TOML, or says something that it can't.
    #[error("{} can't be used", path.display())]
    Manifest {
        /// The manifest.
        path: PathBuf,
        /// What is wrong with it.
        source: Box<toml::de::Error>,
    },
    /// Nothing to call the hook.
    #[error("{} gives the hook no name: it needs `name` in [project]", .0.display())]
    NoName(PathBuf),
    /// Nothing to begin with.
    #[error(
        "{} does not say which file is the hook: name it as `entry` in [tool.boathook] of pyproject.toml, or call it src/hook.py",
        .0.display()
    )]
    NoEntry(PathBuf),
    /// What is named is not there.
    #[error("{} has no {entry:?}, which pyproject.toml names as its entry: it is a .py file, below that folder", folder.display())]
    Entry {
        /// The project's.
        folder: PathBuf,
        /// As it is written.
        entry: String,
    },
    /// There is no interpreter to make it for.
    #[error(
        "no interpreter for Python is installed: name the directory of python-VERSION.wasm with BOATHOOK_INTERPRETERS; in a clone, run `make interpreters`"
    )]
    NoInterpreter,
    /// It can't be packed.
    #[error("can't pack {name}")]
    Pack {
        /// The project.
        name: String,
        /// Why.
        source: ScriptError,
    },
    /// The system does not let it.
    #[error("can't write {}", path.display())]
    Write {
        /// What could not be written.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
}

impl PythonBuildError {
    /// Whether no change of a source mends it.
    pub fn is_of_the_machine(&self) -> bool {
        matches!(self, Self::NoInterpreter)
    }
}
