//! Finds interpreters: files `NAME-VERSION.wasm` in a few directories, distinguished by their digests. No file's name
//! is trusted.

use std::{
    fs,
    path::{Path, PathBuf},
};

use boathook_core::model::InterpreterRef;
use sha2::{Digest as _, Sha256};

use crate::cache::hex;

/// How many files of one directory are read.
const MAX_FILES: usize = 256;

/// All interpreters in these directories, sorted by directory and then by name.
pub fn interpreters_in(directories: &[PathBuf]) -> Vec<InterpreterRef> {
    interpreter_files(directories).into_iter().map(|(interpreter, _)| interpreter).collect()
}

/// All interpreters in these directories, with their files.
pub fn interpreter_files(directories: &[PathBuf]) -> Vec<(InterpreterRef, PathBuf)> {
    let read = |(stem, path): (String, PathBuf)| Some((named(&stem, &fs::read(&path).ok()?), path));
    candidates(directories, None).into_iter().filter_map(read).collect()
}

/// Finds the component with this digest, and its file. If there is none, returns the interpreters with the same name.
pub(super) fn find(
    directories: &[PathBuf],
    wanted: &InterpreterRef,
) -> Result<(Vec<u8>, PathBuf), Vec<InterpreterRef>> {
    let mut others = Vec::new();
    for (stem, path) in candidates(directories, Some(&wanted.name)) {
        let Ok(bytes) = fs::read(&path) else { continue };
        let found = named(&stem, &bytes);
        if found.digest == wanted.digest {
            return Ok((bytes, path));
        }
        others.push(found);
    }
    Err(others)
}

/// Describes what there is instead, for people.
pub(super) fn told(directories: &[PathBuf], there: &[InterpreterRef]) -> String {
    if directories.is_empty() {
        return "no directory of interpreters is known".to_owned();
    }
    let places: Vec<_> = directories.iter().map(|directory| directory.display().to_string()).collect();
    let places = places.join(", ");
    let mut names: Vec<_> = there.iter().map(InterpreterRef::to_string).collect();
    names.dedup();
    if names.is_empty() {
        format!("{places} has none of this name")
    } else {
        format!("{places} has {}", names.join(", "))
    }
}

/// The stems and paths of files `NAME-VERSION.wasm`.
fn candidates(directories: &[PathBuf], name: Option<&str>) -> Vec<(String, PathBuf)> {
    directories.iter().flat_map(|directory| in_directory(directory, name)).collect()
}

fn in_directory(directory: &Path, name: Option<&str>) -> Vec<(String, PathBuf)> {
    let Ok(entries) = fs::read_dir(directory) else { return Vec::new() };
    let mut found: Vec<_> = entries
        .filter_map(|entry| {
            let path = entry.ok()?.path();
            let stem = path.file_name()?.to_str()?.strip_suffix(".wasm")?.to_owned();
            let (own, _) = stem.split_once('-')?;
            (name.is_none_or(|name| name == own) && path.is_file()).then_some((stem, path))
        })
        .take(MAX_FILES)
        .collect();
    found.sort();
    found
}

fn named(stem: &str, bytes: &[u8]) -> InterpreterRef {
    let (name, version) = stem.split_once('-').unwrap_or((stem, ""));
    let digest = format!("sha256:{}", hex(&Sha256::digest(bytes)));
    InterpreterRef { name: name.to_owned(), version: version.to_owned(), digest }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
    use super::*;

    #[test]
    fn the_digest_decides_and_not_the_name() {
        let dir = tempfile::tempdir().unwrap();
        let directories = [PathBuf::from("/nonexistent"), dir.path().to_owned()];
        for (file, content) in
            [("js-0.1.0.wasm", "new"), ("js-0.1.0-old.wasm", "old"), ("py-3.wasm", "py"), ("js.txt", "")]
        {
            fs::write(dir.path().join(file), content).unwrap();
        }
        let all = interpreters_in(&directories);
        let names: Vec<_> = all.iter().map(|found| (found.name.as_str(), found.version.as_str())).collect();
        assert_eq!(names, [("js", "0.1.0"), ("js", "0.1.0-old"), ("py", "3")]);
        let wanted = InterpreterRef { version: "9".into(), ..all[1].clone() };
        assert_eq!(find(&directories, &wanted).unwrap(), (b"old".to_vec(), dir.path().join("js-0.1.0-old.wasm")));
        let missing = InterpreterRef { digest: all[2].digest.clone(), ..wanted };
        let there = find(&directories, &missing).unwrap_err();
        assert_eq!(there, all[..2]);
        assert!(told(&directories, &there).contains("js 0.1.0-old (sha256:"));
        assert!(told(&[], &[]).contains("no directory"));
    }
}
