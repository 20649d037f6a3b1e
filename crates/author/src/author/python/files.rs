//! Finds the files of a hook: the modules next to its entry, and third-party packages in `vendor`.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use boathook_core::model::ScriptFile;

use super::{super::sdk::FOLDER, error::PythonBuildError};

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
pub(super) struct Collected {
    /// Ordered by path.
    pub(super) files: Vec<ScriptFile>,
    /// Paths of native libraries, which cannot be packed.
    pub(super) native: Vec<String>,
}

/// All files of a hook.
pub(super) fn collect(folder: &Path, entry: &str) -> Result<Collected, PythonBuildError> {
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
