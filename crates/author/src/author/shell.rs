//! Builds script hooks from shell scripts as shell-operator takes them: an executable file, with the files around it. There
//! is no manifest, and nothing is run: the interpreter reports the script's errors.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use boathook_core::{
    hooks::{SHELL, ShellError, ShellHook, shell_hooks},
    model::InterpreterRef,
};

/// Why a shell script cannot become a component.
#[derive(Debug, thiserror::Error)]
pub enum ShellBuildError {
    #[error("cannot read {}", path.display())]
    Read { path: PathBuf, source: io::Error },
    /// A component holds one hook.
    #[error(
        "{} has {} hooks: name one of them, such as {}; `boathook serve --hooks` takes them all as they are",
        folder.display(), paths.len(), paths.first().cloned().unwrap_or_default().display()
    )]
    Several { folder: PathBuf, paths: Vec<PathBuf> },
    /// The script cannot be packed.
    #[error(transparent)]
    Pack(#[from] ShellError),
    #[error("cannot write {}", path.display())]
    Write { path: PathBuf, source: io::Error },
}

impl ShellBuildError {
    /// Whether no change of the sources can fix it.
    pub fn is_of_the_machine(&self) -> bool {
        matches!(self, Self::Pack(ShellError::NoInterpreter))
    }
}

/// Builds scripts for one interpreter.
#[derive(Debug, Clone, Default)]
pub struct ShellScripts {
    interpreter: Option<InterpreterRef>,
}

/// A hook, and the folder that it reads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShellPackage {
    /// The name of the folder, or of the script if that was named.
    pub name: String,
    /// Absolute.
    pub folder: PathBuf,
    hook: ShellHook,
}

impl ShellScripts {
    /// Uses the newest shell interpreter of the list.
    pub fn new(interpreters: &[InterpreterRef]) -> Self {
        Self { interpreter: InterpreterRef::newest(interpreters, SHELL) }
    }

    /// The hook in a file, or the only one in a folder.
    pub fn package(&self, path: &Path) -> Result<ShellPackage, ShellBuildError> {
        let read = |source| ShellBuildError::Read { path: path.to_owned(), source };
        let path = path.canonicalize().map_err(read)?;
        if !path.is_dir() {
            let hook = ShellHook::of(&path);
            return Ok(ShellPackage { name: hook.name(), folder: path.parent().unwrap_or(&path).to_owned(), hook });
        }
        let mut hooks = shell_hooks(&path).map_err(read)?;
        match (hooks.pop(), hooks.is_empty()) {
            (Some(hook), true) => {
                let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
                Ok(ShellPackage { name, folder: path, hook })
            }
            (last, _) => {
                let paths = hooks.iter().chain(&last).map(ShellHook::path).collect();
                Err(ShellBuildError::Several { folder: path, paths })
            }
        }
    }

    /// Builds the component and returns its path.
    pub fn build(&self, package: &ShellPackage) -> Result<PathBuf, ShellBuildError> {
        let component = package.hook.pack(self.interpreter.clone())?;
        let path = package.output().join(format!("{}.wasm", package.name));
        let written = fs::create_dir_all(package.output()).and_then(|()| fs::write(&path, component));
        match written {
            Ok(()) => Ok(path),
            Err(source) => Err(ShellBuildError::Write { path, source }),
        }
    }
}

impl ShellPackage {
    /// The folder for components.
    pub fn output(&self) -> PathBuf {
        self.folder.join("target/boathook")
    }
}

/// Whether a folder has shell hooks.
pub fn has_hooks(folder: &Path) -> bool {
    shell_hooks(folder).is_ok_and(|hooks| !hooks.is_empty())
}

#[cfg(all(test, unix))]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn a_hook_is_named_by_its_folder_or_by_its_file() {
        let folder = tempfile::tempdir().unwrap();
        let project = folder.path().canonicalize().unwrap().join("copy");
        fs::create_dir(&project).unwrap();
        let write = |file: &str| {
            fs::write(project.join(file), "").unwrap();
            fs::set_permissions(project.join(file), fs::Permissions::from_mode(0o755)).unwrap();
        };
        let scripts = ShellScripts::default();
        assert!(!has_hooks(&project));
        write("b.sh");
        assert!(has_hooks(&project));
        let package = scripts.package(&project).unwrap();
        assert_eq!((package.name.as_str(), &package.folder), ("copy", &project));
        assert!(scripts.build(&package).unwrap_err().is_of_the_machine());
        write("a.sh");
        let error = scripts.package(&project).unwrap_err().to_string();
        assert!(error.contains("has 2 hooks: name one of them") && error.contains("copy/a.sh"), "{error}");
        let package = scripts.package(&project.join("b.sh")).unwrap();
        assert_eq!((package.name.as_str(), &package.folder), ("b", &project));
        assert!(matches!(scripts.package(&project.join("c.sh")), Err(ShellBuildError::Read { .. })));
    }
}
