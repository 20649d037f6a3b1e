//! Finds the hooks of a directory: each `NAME.wasm` in it is a hook, and so is each executable `NAME.sh` in it or below it.
//! Other subdirectories and files are ignored.

use std::{
    collections::BTreeMap,
    io,
    path::{Path, PathBuf},
};

use super::shell::{ShellError, ShellHook, is_script, shell_hooks};
use crate::model::{HookName, InterpreterRef, InvalidName};

/// A directory that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum DirectoryError {
    #[error("the hooks directory {} cannot be read", .0.display())]
    Unreadable(PathBuf, #[source] io::Error),
    #[error("{} and {} are both the hook {name}: rename one of them", one.display(), other.display())]
    Twice {
        name: String,
        /// The paths of the hooks.
        one: PathBuf,
        other: PathBuf,
    },
}

/// A file whose component cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    #[error("the file cannot be read")]
    Unreadable(#[source] io::Error),
    #[error(transparent)]
    Shell(#[from] ShellError),
}

/// One file that should be a hook.
#[derive(Debug)]
pub struct HookFile {
    pub path: PathBuf,
    /// The hook's name, if the file has a valid one.
    pub name: Result<HookName, InvalidName>,
    /// The script, if the file is one and not a component.
    shell: Option<ShellHook>,
}

impl HookFile {
    /// The hook in a file. This does not check whether the file exists.
    pub fn of(path: PathBuf) -> Self {
        if is_script(&path) {
            return Self::of_shell(ShellHook::of(&path));
        }
        let name = HookName::new(&path.file_stem().unwrap_or_default().to_string_lossy());
        Self { name, path, shell: None }
    }

    fn of_shell(hook: ShellHook) -> Self {
        Self { name: HookName::new(&hook.name()), path: hook.path(), shell: Some(hook) }
    }

    /// The name of the hook, valid or not.
    pub fn stem(&self) -> String {
        let of_file = || self.path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        self.shell.as_ref().map_or_else(of_file, ShellHook::name)
    }

    /// Whether the file is a shell script, which needs an interpreter.
    pub fn is_script(&self) -> bool {
        self.shell.is_some()
    }

    /// The component. A shell script is packed for the interpreter.
    pub fn component(&self, interpreter: Option<InterpreterRef>) -> Result<Vec<u8>, FileError> {
        match &self.shell {
            Some(hook) => Ok(hook.pack(interpreter)?),
            None => std::fs::read(&self.path).map_err(FileError::Unreadable),
        }
    }
}

/// The hooks of a directory, ordered by path. Links are followed, because ConfigMap volumes need that. A component takes
/// the place of the script with its name, from which it was built.
pub fn read_directory(directory: &Path) -> Result<Vec<HookFile>, DirectoryError> {
    let unreadable = |error| DirectoryError::Unreadable(directory.to_owned(), error);
    let mut files = Vec::new();
    for entry in std::fs::read_dir(directory).map_err(unreadable)? {
        let path = entry.map_err(unreadable)?.path();
        if path.extension().is_some_and(|extension| extension == "wasm") && path.is_file() {
            files.push(HookFile::of(path));
        }
    }
    let mut scripts: BTreeMap<String, HookFile> = BTreeMap::new();
    for hook in shell_hooks(directory).map_err(unreadable)? {
        let (name, path) = (hook.name(), hook.path());
        if let Some(one) = scripts.insert(name.clone(), HookFile::of_shell(hook)) {
            return Err(DirectoryError::Twice { name, one: one.path, other: path });
        }
    }
    files.iter().for_each(|file| drop(scripts.remove(&file.stem())));
    files.extend(scripts.into_values());
    files.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(files)
}

/// The file of a hook in a directory. If there is none, the component's, which is then missing.
pub fn find_hook(directory: &Path, name: &str) -> HookFile {
    let component = directory.join(format!("{name}.wasm"));
    let script = || shell_hooks(directory).ok()?.into_iter().find(|hook| hook.name() == name);
    match if component.is_file() { None } else { script() } {
        Some(hook) => HookFile::of_shell(hook),
        None => HookFile::of(component),
    }
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

    #[cfg(unix)]
    fn script(path: &Path) {
        use std::os::unix::fs::PermissionsExt as _;
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, "").unwrap();
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
    }

    #[cfg(unix)]
    #[test]
    fn scripts_are_hooks_unless_they_were_built() {
        let dir = tempfile::tempdir().unwrap();
        let inside = |name: &str| dir.path().join(name);
        for name in ["b.sh", "c.sh", "deep/er.sh"] {
            script(&inside(name));
        }
        std::fs::write(inside("b.wasm"), "").unwrap();
        let found = read_directory(dir.path()).unwrap();
        let paths: Vec<_> = found.iter().map(|file| (file.stem(), file.path.clone())).collect();
        let expected = [("b", "b.wasm"), ("c", "c.sh"), ("deep-er", "deep/er.sh")];
        assert_eq!(paths, expected.map(|(name, path)| (name.to_owned(), inside(path))));
        for (name, path) in [("b", "b.wasm"), ("deep-er", "deep/er.sh"), ("none", "none.wasm")] {
            assert_eq!(find_hook(dir.path(), name).path, inside(path));
        }
        script(&inside("deep-er.sh"));
        let error = read_directory(dir.path()).unwrap_err().to_string();
        assert!(error.contains("deep/er.sh") && error.contains("are both the hook deep-er"), "{error}");
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
