//! Shell hooks: the executable scripts of a directory, as shell-operator finds them. Packs one with the files that it can
//! read. Nothing here parses a script.

use std::{
    fs,
    io::{self, Read as _},
    path::{Path, PathBuf},
};

use sha2::{Digest as _, Sha256};

use crate::model::{HookName, InterpreterRef, Script, ScriptError, ScriptFile};

/// The name of the interpreter.
pub const SHELL: &str = "shell";
const EXTENSION: &str = "sh";
/// The folder of files that hooks read. shell-operator looks for no hook in it.
const LIBRARY: &str = "lib";
/// Folders that belong to other tools, and hold nothing that a hook reads.
const OTHERS: [&str; 3] = ["node_modules", "scenarios", "target"];
/// The most bytes of all files of a hook.
const MAX_BYTES: u64 = 8 * 1024 * 1024;
/// Maximum depth of the search.
const DEPTH: usize = 8;

/// Why a shell hook cannot be packed.
#[derive(Debug, thiserror::Error)]
pub enum ShellError {
    #[error("{} cannot be read", path.display())]
    Read { path: PathBuf, source: io::Error },
    /// There is more around the hook than a hook can need.
    #[error(
        "{} has more than {} MiB of files, which the hook could all read: put the hooks into a directory of their own",
        .0.display(), MAX_BYTES >> 20
    )]
    TooLarge(PathBuf),
    /// No interpreter is installed.
    #[error(
        "no interpreter for shell hooks is installed: name the directory of shell-VERSION.wasm with --interpreters or \
         BOATHOOK_INTERPRETERS; in a clone, run `make interpreters`"
    )]
    NoInterpreter,
    /// The script cannot be packed.
    #[error("{} cannot be packed", path.display())]
    Pack { path: PathBuf, source: ScriptError },
}

/// A hook that is a shell script.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShellHook {
    /// The directory that the hook sees as `/hooks`.
    root: PathBuf,
    /// The path of the script in it, with `/`.
    entry: String,
}

impl ShellHook {
    /// The hook in a file. It sees the files of its folder.
    pub fn of(path: &Path) -> Self {
        let root = path.parent().filter(|root| !root.as_os_str().is_empty()).unwrap_or(Path::new(".")).to_owned();
        Self { root, entry: path.file_name().unwrap_or_default().to_string_lossy().into_owned() }
    }

    /// `a/b.sh` and `a/b` are `a-b`. Of a name that is too long, the end is kept, with a digest of the whole.
    pub fn name(&self) -> String {
        let name = self.entry.strip_suffix(".sh").unwrap_or(&self.entry).replace('/', "-");
        if name.len() <= HookName::MAX {
            return name;
        }
        let digest: String = Sha256::digest(&name).iter().take(6).map(|byte| format!("{byte:02x}")).collect();
        let from = name.ceil_char_boundary(name.len() + digest.len() + 1 - HookName::MAX);
        let end = name.get(from..).unwrap_or_default().trim_start_matches(|c: char| !c.is_ascii_alphanumeric());
        format!("{end}-{digest}")
    }

    /// The path of the script.
    pub fn path(&self) -> PathBuf {
        self.root.join(&self.entry)
    }

    /// The component that holds the script. It also holds all files of the directory except other hooks, because a script
    /// chooses what it reads in the run.
    pub fn pack(&self, interpreter: Option<InterpreterRef>) -> Result<Vec<u8>, ShellError> {
        let interpreter = interpreter.ok_or(ShellError::NoInterpreter)?;
        let read = |path: &Path| {
            let path = path.to_owned();
            move |source| ShellError::Read { path, source }
        };
        let (mut files, mut bytes) = (Vec::new(), 0u64);
        for file in walk(&self.root).map_err(read(&self.root))? {
            if file.is_hook && file.inside != self.entry || file.inside.ends_with(".wasm") {
                continue;
            }
            let path = self.root.join(&file.inside);
            bytes = bytes.saturating_add(fs::metadata(&path).map_err(read(&path))?.len());
            if bytes > MAX_BYTES {
                return Err(ShellError::TooLarge(self.root.clone()));
            }
            let content = fs::read(&path).map_err(read(&path))?;
            files.push(ScriptFile { path: file.inside, content });
        }
        let script = Script { interpreter, entry: self.entry.clone(), files };
        script.pack().map_err(|source| ShellError::Pack { path: self.path(), source })
    }
}

/// The programs that scripts of bash are for.
const SHELLS: [&str; 2] = ["bash", "sh"];

/// Whether a file is a shell script: its name ends in `.sh`, or it has no extension, and its first line names a shell.
pub fn is_script(path: &Path) -> bool {
    match path.extension() {
        Some(extension) => extension == EXTENSION,
        None => path.is_file() && is_for_shell(path),
    }
}

fn is_for_shell(path: &Path) -> bool {
    let first = first_line(path).unwrap_or_default();
    program_of(&first).is_some_and(|program| SHELLS.contains(&program.as_str()))
}

/// The first line of a file, or the beginning of a long one.
pub fn first_line(path: &Path) -> io::Result<Vec<u8>> {
    let mut start = Vec::new();
    fs::File::open(path)?.take(256).read_to_end(&mut start)?;
    Ok(start.split(|byte| *byte == b'\n').next().unwrap_or_default().to_vec())
}

/// The program that a script's first line names: `#!/usr/bin/env -S python3 -u` is for python3.
pub fn program_of(first: &[u8]) -> Option<String> {
    let line = String::from_utf8_lossy(first.strip_prefix(b"#!")?).into_owned();
    let base = |word: &str| word.rsplit('/').next().unwrap_or_default().to_owned();
    let mut words = line.split_whitespace();
    let program = words.next().map(base).unwrap_or_default();
    if program != "env" {
        return Some(program);
    }
    Some(words.find(|word| !word.starts_with('-') && !word.contains('=')).map_or(program, base))
}

/// The shell hooks of a directory and of those below it, ordered by path.
pub fn shell_hooks(root: &Path) -> io::Result<Vec<ShellHook>> {
    let hooks = walk(root)?.into_iter().filter(|file| file.is_hook);
    Ok(hooks.map(|file| ShellHook { root: root.to_owned(), entry: file.inside }).collect())
}

struct Found {
    /// The path below the root, with `/`.
    inside: String,
    is_hook: bool,
}

/// All files, ordered by path. Links are followed, because ConfigMap volumes need that.
fn walk(root: &Path) -> io::Result<Vec<Found>> {
    let mut found = Vec::new();
    below(root, "", DEPTH, &mut found)?;
    found.sort_by(|one, other| one.inside.cmp(&other.inside));
    Ok(found)
}

fn below(root: &Path, folder: &str, depth: usize, found: &mut Vec<Found>) -> io::Result<()> {
    let entries = match fs::read_dir(root.join(folder)) {
        // Volumes have folders of the system in them.
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied && !folder.is_empty() => return Ok(()),
        entries => entries?,
    };
    for entry in entries {
        let path = entry?.path();
        // A script cannot name what is not UTF-8.
        let Some(name) = path.file_name().and_then(|name| name.to_str()).filter(|name| !name.starts_with('.')) else {
            continue;
        };
        let inside = if folder.is_empty() { name.to_owned() } else { format!("{folder}/{name}") };
        if path.is_dir() {
            if depth > 0 && !OTHERS.contains(&name) {
                below(root, &inside, depth - 1, found)?;
            }
        } else if path.is_file() {
            let library = folder.split('/').any(|part| part == LIBRARY);
            let is_hook = !library && is_executable(&path) && is_script(&path);
            found.push(Found { inside, is_hook });
        }
    }
    Ok(())
}

#[cfg(unix)]
fn is_executable(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    path.metadata().is_ok_and(|metadata| metadata.permissions().mode() & 0o111 != 0)
}

/// Other systems do not know.
#[cfg(not(unix))]
fn is_executable(_: &Path) -> bool {
    true
}

#[cfg(all(test, unix))]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    fn directory(files: &[(&str, u32)]) -> tempfile::TempDir {
        let directory = tempfile::tempdir().unwrap();
        for (file, mode) in files {
            let path = directory.path().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            let shell = ["add_secret", "lib/tool", "readme"].contains(file);
            fs::write(&path, if shell { format!("#!/usr/bin/env bash\n{file}") } else { (*file).to_owned() }).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(*mode)).unwrap();
        }
        directory
    }

    fn interpreter() -> Option<InterpreterRef> {
        let digest = format!("sha256:{}", "0123456789abcdef".repeat(4));
        Some(InterpreterRef { name: SHELL.into(), version: "0.1.0".into(), digest })
    }

    #[test]
    fn a_long_name_is_cut_and_stays_its_own() {
        let name = |entry: &str| ShellHook { root: PathBuf::new(), entry: entry.to_owned() }.name();
        assert_eq!(name("a/b.sh"), "a-b");
        let fits = format!("{}.sh", "h".repeat(HookName::MAX));
        assert_eq!(name(&fits), "h".repeat(HookName::MAX));
        let entry = "modules/040-node-manager/hooks/set_replicas_on_machine_deployments.sh";
        let cut = name(entry);
        assert!(cut.starts_with("manager-hooks-set_replicas_on_machine_deployments-"), "{cut}");
        assert!(HookName::new(&cut).is_ok() && cut.len() <= HookName::MAX, "{cut}");
        assert_ne!(cut, name(&entry.replace("040", "041")));
        assert!(HookName::new(&name(&"é".repeat(60))).is_err(), "other characters are refused as before");
    }

    #[test]
    fn executable_scripts_are_hooks_and_the_other_files_are_theirs() {
        let directory = directory(&[
            ("b.sh", 0o755),
            ("a/hook.sh", 0o755),
            ("add_secret", 0o755),
            ("program", 0o755),
            ("readme", 0o644),
            ("lib/tool", 0o755),
            ("common.sh", 0o644),
            ("lib/tool.sh", 0o755),
            ("data.json", 0o755),
            ("b.boathook.yaml", 0o644),
            (".git/hooks/x.sh", 0o755),
            ("scenarios/one.yaml", 0o644),
            ("target/boathook/b.wasm", 0o644),
            ("old.wasm", 0o644),
        ]);
        let hooks = shell_hooks(directory.path()).unwrap();
        let names: Vec<_> = hooks.iter().map(ShellHook::name).collect();
        assert_eq!(names, ["a-hook", "add_secret", "b"]);
        let packed = Script::read(&hooks.last().unwrap().pack(interpreter()).unwrap()).unwrap().unwrap();
        let paths: Vec<_> = packed.files.iter().map(|file| file.path.as_str()).collect();
        assert_eq!(
            (packed.entry.as_str(), paths),
            (
                "b.sh",
                vec![
                    "b.boathook.yaml",
                    "b.sh",
                    "common.sh",
                    "data.json",
                    "lib/tool",
                    "lib/tool.sh",
                    "program",
                    "readme"
                ]
            )
        );
        let alone = ShellHook::of(&directory.path().join("a/hook.sh"));
        assert_eq!((alone.name(), alone.path()), ("hook".to_owned(), directory.path().join("a/hook.sh")));
    }

    #[test]
    fn the_first_line_names_a_program() {
        for (line, program) in [
            ("#!/bin/bash -e", Some("bash")),
            ("#! /bin/sh", Some("sh")),
            ("#!/usr/bin/env -S A=b python3 -u", Some("python3")),
            ("#!/usr/bin/env", Some("env")),
            ("echo", None),
            ("", None),
        ] {
            assert_eq!(program_of(line.as_bytes()).as_deref(), program, "{line}");
        }
    }

    #[test]
    fn what_cannot_be_packed_is_reported() {
        let directory = directory(&[("b.sh", 0o755), ("large", 0o644)]);
        let hook = ShellHook::of(&directory.path().join("b.sh"));
        assert!(matches!(hook.pack(None), Err(ShellError::NoInterpreter)));
        fs::File::create(directory.path().join("large")).unwrap().set_len(MAX_BYTES).unwrap();
        assert!(matches!(hook.pack(interpreter()), Err(ShellError::TooLarge(_))));
        fs::remove_file(directory.path().join("b.sh")).unwrap();
        fs::remove_file(directory.path().join("large")).unwrap();
        assert!(matches!(hook.pack(interpreter()), Err(ShellError::Pack { source: ScriptError::Entry(_), .. })));
    }
}
