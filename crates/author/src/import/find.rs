//! The files that shell-operator runs: executable files in a directory and in those below it, except in `lib` and in hidden
//! directories.

use std::{
    fs,
    io::{self, Read as _},
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
};

/// Maximum depth of the search.
const DEPTH: usize = 8;
/// The most hooks of a directory. Links can make many of few.
const MOST: usize = 4096;
/// shell-operator looks for no hook in it.
const LIBRARY: &str = "lib";
/// Folders of other tools.
const OTHERS: [&str; 3] = ["node_modules", "scenarios", "target"];
/// Files that shell-operator never runs, and components.
const NO_HOOKS: [&str; 5] = ["yaml", "json", "md", "txt", "wasm"];

/// A file that shell-operator takes for a hook.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// The path below the directory, with `/`.
    pub inside: String,
    pub path: PathBuf,
    pub what: What,
}

/// What a file is, by its name and its first line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum What {
    /// A bash script with the name of a hook.
    Hook,
    /// A bash script whose name does not end in `.sh`.
    Unnamed,
    /// A script of another language, with the program that runs it.
    Script(String),
    /// A compiled program, or something else without a first line for a program.
    Program,
}

/// All files that are hooks for shell-operator, ordered by path. Links are followed, but not around in a circle.
pub fn find(directory: &Path) -> io::Result<Vec<Found>> {
    let mut found = Vec::new();
    below(directory, "", &mut Vec::new(), &mut found)?;
    found.sort_by(|one, other| one.inside.cmp(&other.inside));
    Ok(found)
}

/// `open` are this folder and those above it, as they are without links.
fn below(root: &Path, folder: &str, open: &mut Vec<PathBuf>, found: &mut Vec<Found>) -> io::Result<()> {
    let here = root.join(folder);
    let resolved = here.canonicalize()?;
    if open.contains(&resolved) {
        return Ok(());
    }
    open.push(resolved);
    for entry in fs::read_dir(&here)? {
        let path = entry?.path();
        let Some(name) = path.file_name().and_then(|name| name.to_str()).filter(|name| !name.starts_with('.')) else {
            continue;
        };
        let inside = if folder.is_empty() { name.to_owned() } else { format!("{folder}/{name}") };
        if path.is_dir() {
            if open.len() <= DEPTH && name != LIBRARY && !OTHERS.contains(&name) {
                below(root, &inside, open, found)?;
            }
            continue;
        }
        let extension = path.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
        let executable = path.metadata().is_ok_and(|metadata| metadata.permissions().mode() & 0o111 != 0);
        if executable && path.is_file() && !NO_HOOKS.contains(&extension) {
            if found.len() >= MOST {
                return Err(io::Error::other(format!("it has more than {MOST} executable files")));
            }
            let what = what(&first_line(&path)?, extension);
            found.push(Found { inside, path, what });
        }
    }
    open.pop();
    Ok(())
}

fn first_line(path: &Path) -> io::Result<Vec<u8>> {
    let mut start = Vec::new();
    fs::File::open(path)?.take(256).read_to_end(&mut start)?;
    Ok(start.split(|byte| *byte == b'\n').next().unwrap_or_default().to_vec())
}

fn what(first: &[u8], extension: &str) -> What {
    let program = first.strip_prefix(b"#!").map(|line| program(&String::from_utf8_lossy(line)));
    match program {
        Some(program) if ["bash", "sh"].contains(&program.as_str()) => {
            if extension == "sh" {
                What::Hook
            } else {
                What::Unnamed
            }
        }
        Some(program) => What::Script(program),
        // The kernel runs no file without a first line for a program, but shells do.
        None if extension == "sh" && std::str::from_utf8(first).is_ok() => What::Hook,
        None => What::Program,
    }
}

/// `#!/usr/bin/env -S python3 -u` is python3.
fn program(line: &str) -> String {
    let base = |word: &str| word.rsplit('/').next().unwrap_or_default().to_owned();
    let mut words = line.split_whitespace();
    match words.next().map(base) {
        Some(env) if env == "env" => {
            words.find(|word| !word.starts_with('-') && !word.contains('=')).map(base).unwrap_or(env)
        }
        Some(program) => program,
        None => String::new(),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn files_are_found_as_shell_operator_does() {
        let directory = tempfile::tempdir().unwrap();
        for (file, content, mode) in [
            ("a.sh", "#!/bin/bash -e\n", 0o755),
            ("b/c.sh", "#!/usr/bin/env bash\n", 0o755),
            ("d", "#!/bin/sh\n", 0o755),
            ("e.py", "#!/usr/bin/env -S python3 -u\n", 0o755),
            ("f", "\u{7f}ELF", 0o755),
            ("g.sh", "echo\n", 0o755),
            ("common.sh", "#!/bin/bash\n", 0o644),
            ("lib/x.sh", "#!/bin/bash\n", 0o755),
            ("b/.git/x.sh", "#!/bin/bash\n", 0o755),
            ("values.yaml", "a: b\n", 0o755),
        ] {
            let path = directory.path().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, content).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        }
        let found = find(directory.path()).unwrap();
        let found: Vec<_> = found.into_iter().map(|one| (one.inside, one.what)).collect();
        let script = |program: &str| What::Script(program.to_owned());
        assert_eq!(
            found,
            [
                ("a.sh".to_owned(), What::Hook),
                ("b/c.sh".to_owned(), What::Hook),
                ("d".to_owned(), What::Unnamed),
                ("e.py".to_owned(), script("python3")),
                ("f".to_owned(), What::Program),
                ("g.sh".to_owned(), What::Hook),
            ]
        );
    }

    #[test]
    fn links_to_folders_above_are_not_followed() {
        let directory = tempfile::tempdir().unwrap();
        let script = directory.path().join("a.sh");
        fs::write(&script, "#!/bin/bash\n").unwrap();
        fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
        for link in 0..20 {
            std::os::unix::fs::symlink(".", directory.path().join(format!("link-{link}"))).unwrap();
        }
        assert_eq!(find(directory.path()).unwrap().len(), 1);
    }
}
