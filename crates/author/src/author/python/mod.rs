//! Builds script hooks from Python projects: it packs the hook's own modules, and the packages that `pip install
//! --target vendor` has put next to them. It installs and runs nothing, and needs no Python: the interpreter reports
//! syntax errors.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use boathook_core::model::{InterpreterRef, Script, ScriptError, ScriptFile};
use serde::Deserialize;

use super::sdk::FOLDER;

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
        Self { interpreter: InterpreterRef::newest(interpreters, "python") }
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
        let Collected { files, native } = collect(&package.folder, &package.entry)?;
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

#[derive(Debug, thiserror::Error)]
pub enum PythonBuildError {
    #[error("cannot read {}", path.display())]
    Read { path: PathBuf, source: io::Error },
    /// The manifest is not valid TOML, or has an invalid field.
    #[error("{} cannot be used", path.display())]
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
    #[error("cannot pack {name}")]
    Pack { name: String, source: ScriptError },
    #[error("cannot write {}", path.display())]
    Write { path: PathBuf, source: io::Error },
}

impl PythonBuildError {
    /// Whether no change of the sources can fix it.
    pub fn is_of_the_machine(&self) -> bool {
        matches!(self, Self::NoInterpreter)
    }
}

/// Third-party packages. The interpreter also searches this folder.
const VENDOR: &str = "vendor";
/// The SDK, which the interpreter already contains.
const SDK: &str = "boathook";
/// Folders next to the entry that contain no modules of the hook.
const NO_MODULES: [&str; 9] =
    [VENDOR, FOLDER, "__pycache__", "build", "dist", "node_modules", "scenarios", "target", "tests"];
/// Folders of packages that nobody imports.
const NO_PACKAGES: [&str; 3] = ["__pycache__", "bin", "tests"];

/// The files of a hook.
struct Collected {
    /// Ordered by path.
    files: Vec<ScriptFile>,
    /// Paths of native libraries, which cannot be packed.
    native: Vec<String>,
}

/// All files of a hook.
fn collect(folder: &Path, entry: &str) -> Result<Collected, PythonBuildError> {
    let mut found = Collected { files: Vec::new(), native: Vec::new() };
    let root = entry.rsplit_once('/').map(|(root, _)| root);
    found.walk(folder, root.unwrap_or_default(), &|path, is_folder| {
        if is_folder { !is_no_module(path) && !is_environment(&folder.join(path)) } else { !is_test(path) }
    })?;
    if root != Some(VENDOR) && folder.join(VENDOR).is_dir() {
        found.walk(folder, VENDOR, &|path, is_folder| !is_folder || is_package(path))?;
    }
    found.files.sort_by(|one, other| one.path.cmp(&other.path));
    Ok(found)
}

impl Collected {
    fn walk(&mut self, folder: &Path, below: &str, takes: &dyn Fn(&str, bool) -> bool) -> Result<(), PythonBuildError> {
        let place = folder.join(below);
        let unreadable = |path: &Path, source: io::Error| PythonBuildError::Read { path: path.to_owned(), source };
        let entries = fs::read_dir(&place).map_err(|source| unreadable(&place, source))?;
        for entry in entries {
            let path: PathBuf = entry.map_err(|source| unreadable(&place, source))?.path();
            // A name that is not UTF-8 cannot be the name of a module.
            let Some(name) = path.file_name().and_then(|name| name.to_str()) else { continue };
            let inside = if below.is_empty() { name.to_owned() } else { format!("{below}/{name}") };
            let is_folder = path.is_dir();
            if name.starts_with('.') || !takes(&inside, is_folder) {
                continue;
            }
            if is_folder {
                self.walk(folder, &inside, takes)?;
            } else if name.ends_with(".py") {
                let content = fs::read(&path).map_err(|source| unreadable(&path, source))?;
                self.files.push(ScriptFile { path: inside, content });
            } else if [".so", ".pyd", ".dylib"].iter().any(|suffix| name.ends_with(suffix)) {
                self.native.push(inside);
            }
        }
        Ok(())
    }
}

fn is_no_module(path: &str) -> bool {
    let name = last(path);
    NO_MODULES.contains(&name) || name.ends_with(".egg-info")
}

fn is_environment(folder: &Path) -> bool {
    folder.join("pyvenv.cfg").is_file()
}

fn is_test(path: &str) -> bool {
    let name = last(path);
    name.starts_with("test_") || name.ends_with("_test.py") || matches!(name, "conftest.py" | "setup.py")
}

fn is_package(path: &str) -> bool {
    let name = last(path);
    !NO_PACKAGES.contains(&name) && !name.ends_with(".dist-info") && path.strip_prefix("vendor/") != Some(SDK)
}

fn last(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
    use super::*;

    #[test]
    fn what_a_project_lacks_is_reported() {
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

    fn project(files: &[&str]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for file in files {
            let path = folder.path().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, file).unwrap();
        }
        folder
    }

    fn paths(folder: &Path, entry: &str) -> Vec<String> {
        collect(folder, entry).unwrap().files.into_iter().map(|file| file.path).collect()
    }

    #[test]
    fn modules_beside_the_entry_and_vendored_packages_are_taken() {
        let folder = project(&[
            "hook.py",
            "plan/__init__.py",
            "plan/deep.py",
            "plan/data.json",
            "test_hook.py",
            "tests/conftest.py",
            ".venv/lib/a.py",
            "env/pyvenv.cfg",
            "env/lib/a.py",
            "__pycache__/hook.py",
            "vendor/yaml/__init__.py",
            "vendor/yaml/_yaml.cpython-314-x86_64-linux-gnu.so",
            "vendor/yaml-6.dist-info/x.py",
            "vendor/boathook/__init__.py",
            "vendor/other/boathook/__init__.py",
            "vendor/bin/tool.py",
        ]);
        let expected = [
            "hook.py",
            "plan/__init__.py",
            "plan/deep.py",
            "vendor/other/boathook/__init__.py",
            "vendor/yaml/__init__.py",
        ];
        assert_eq!(paths(folder.path(), "hook.py"), expected);
        let native = collect(folder.path(), "hook.py").unwrap().native;
        assert_eq!(native, ["vendor/yaml/_yaml.cpython-314-x86_64-linux-gnu.so"]);
    }

    #[test]
    fn with_a_folder_of_sources_only_that_is_taken() {
        let folder = project(&["src/hook.py", "src/lib/a.py", "other.py", "vendor/b.py"]);
        assert_eq!(paths(folder.path(), "src/hook.py"), ["src/hook.py", "src/lib/a.py", "vendor/b.py"]);
    }
}
