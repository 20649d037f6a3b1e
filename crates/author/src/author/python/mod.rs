//! Builds script hooks from Python projects: it packs the hook's own modules, and the packages that `pip install
//! --target vendor` has put next to them. It installs and runs nothing, and needs no Python: the interpreter reports
//! syntax errors.

mod error;
mod files;

use std::{
    fs,
    path::{Path, PathBuf},
};

use serde::Deserialize;

pub use error::PythonBuildError;

use boathook_core::model::{InterpreterRef, Script};

use super::script::newest;

/// Default paths of the entry, unless `tool.boathook` sets another one.
const ENTRIES: [&str; 4] = ["src/hook.py", "hook.py", "src/main.py", "main.py"];

/// Builds scripts for one interpreter.
#[derive(Debug, Clone, Default)]
pub struct PythonScripts {
    interpreter: Option<InterpreterRef>,
}

/// A project that is a hook.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PythonPackage {
    pub name: String,
    /// The folder of its manifest, absolute.
    pub folder: PathBuf,
    /// Relative to the folder, with `/`.
    entry: String,
}

#[derive(Deserialize)]
struct Manifest {
    project: Option<About>,
    tool: Option<Tools>,
}

#[derive(Deserialize)]
struct About {
    name: Option<String>,
}

#[derive(Deserialize)]
struct Tools {
    boathook: Option<Own>,
}

/// The section `tool.boathook`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Own {
    entry: Option<String>,
}

impl PythonScripts {
    /// Uses the newest Python interpreter of the list.
    pub fn new(interpreters: &[InterpreterRef]) -> Self {
        Self { interpreter: newest(interpreters, "python") }
    }

    pub fn package(&self, folder: &Path) -> Result<PythonPackage, PythonBuildError> {
        let read = |source| PythonBuildError::Read { path: folder.to_owned(), source };
        let folder = folder.canonicalize().map_err(read)?;
        let path = folder.join("pyproject.toml");
        let text = fs::read_to_string(&path).map_err(|source| PythonBuildError::Read { path: path.clone(), source })?;
        let manifest: Manifest = toml::from_str(&text)
            .map_err(|source| PythonBuildError::Manifest { path: path.clone(), source: Box::new(source) })?;
        let name = manifest.project.and_then(|about| about.name).ok_or(PythonBuildError::NoName(path))?;
        let named = manifest.tool.and_then(|tools| tools.boathook?.entry);
        let entry = match named {
            Some(entry) if folder.join(&entry).is_file() && entry.ends_with(".py") => entry,
            Some(entry) => return Err(PythonBuildError::Entry { folder, entry }),
            None => {
                let found = ENTRIES.into_iter().find(|file| folder.join(file).is_file());
                found.ok_or_else(|| PythonBuildError::NoEntry(folder.clone()))?.to_owned()
            }
        };
        Ok(PythonPackage { name: normal(&name), folder, entry })
    }

    /// Builds the component and returns its path. Prints to stderr what it leaves out.
    pub fn build(&self, package: &PythonPackage) -> Result<PathBuf, PythonBuildError> {
        let interpreter = self.interpreter.clone().ok_or(PythonBuildError::NoInterpreter)?;
        let files::Collected { files, native } = files::collect(&package.folder, &package.entry)?;
        for path in native {
            eprintln!("warning: {path} is native code, which no script can load: left out");
        }
        let script = Script { interpreter, entry: package.entry.clone(), files };
        let pack = |source| PythonBuildError::Pack { name: package.name.clone(), source };
        let component = script.pack().map_err(pack)?;
        let path = package.output().join(format!("{}.wasm", package.name));
        let folder = fs::create_dir_all(package.output());
        let written = folder.and_then(|()| fs::write(&path, component));
        match written {
            Ok(()) => Ok(path),
            Err(source) => Err(PythonBuildError::Write { path, source }),
        }
    }
}

impl PythonPackage {
    /// The folder for components.
    pub fn output(&self) -> PathBuf {
        self.folder.join("target/boathook")
    }
}

/// Normalized like in package indexes: `My_Hook` becomes `my-hook`.
fn normal(name: &str) -> String {
    let words = name.split(['-', '_', '.']).filter(|word| !word.is_empty());
    words.collect::<Vec<_>>().join("-").to_ascii_lowercase()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
    use super::*;

    #[test]
    fn what_a_project_lacks_is_told() {
        let folder = tempfile::tempdir().unwrap();
        let write = |file: &str, text: &str| fs::write(folder.path().join(file), text).unwrap();
        let package = || PythonScripts::default().package(folder.path());
        assert!(matches!(package(), Err(PythonBuildError::Read { .. })));
        write("pyproject.toml", "[project");
        assert!(matches!(package(), Err(PythonBuildError::Manifest { .. })));
        write("pyproject.toml", "[build-system]\nrequires = []\n");
        assert!(matches!(package(), Err(PythonBuildError::NoName(_))));
        write("pyproject.toml", "[project]\nname = \"My_Hook\"\n");
        assert!(matches!(package(), Err(PythonBuildError::NoEntry(_))));
        write("hook.py", "");
        let found = package().unwrap();
        assert_eq!((found.name.as_str(), found.entry.as_str()), ("my-hook", "hook.py"));
        write("pyproject.toml", "[project]\nname = \"a\"\n[tool.boathook]\nentry = \"b.py\"\n");
        assert!(matches!(package(), Err(PythonBuildError::Entry { entry, .. }) if entry == "b.py"));
        write("pyproject.toml", "[project]\nname = \"a\"\n[tool.boathook]\nentri = \"b.py\"\n");
        assert!(matches!(package(), Err(PythonBuildError::Manifest { .. })));
        assert!(matches!(PythonScripts::default().build(&found), Err(PythonBuildError::NoInterpreter)));
    }
}
