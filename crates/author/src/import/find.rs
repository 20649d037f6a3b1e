//! The files that shell-operator runs: executable files in a directory and in those below it, except in `lib` and in hidden
//! directories.

use std::{
    fs, io,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
};

use boathook_core::hooks::{first_line, is_script, program_of};

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
    /// A bash script whose name has another extension than `.sh`.
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
            let what = what(&path)?;
            found.push(Found { inside, path, what });
        }
    }
    open.pop();
    Ok(())
}

fn what(path: &Path) -> io::Result<What> {
    let first = first_line(path)?;
    Ok(match program_of(&first) {
        Some(program) if ["bash", "sh"].contains(&program.as_str()) => {
            if is_script(path) {
                What::Hook
            } else {
                What::Unnamed
            }
        }
        Some(program) => What::Script(program),
        // The kernel runs no file without a first line for a program, but shells do.
        None if is_script(path) && std::str::from_utf8(&first).is_ok() => What::Hook,
        None => What::Program,
    })
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
            ("d.bash", "#!/bin/bash\n", 0o755),
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
                ("d".to_owned(), What::Hook),
                ("d.bash".to_owned(), What::Unnamed),
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
