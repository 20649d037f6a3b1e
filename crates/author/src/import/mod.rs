//! What `boathook import` finds in a directory of shell-operator: which of its files are hooks, what each needs, and the
//! file of permissions beside it. Nothing here runs a hook or calls a cluster.
//!
//! ```text
//!  directory ─▶ find: executable files ─▶ (an interpreter lists what each uses) ─▶ rbac::propose ─▶ NAME.boathook.yaml
//! ```

mod diff;
mod find;
mod remedy;

use std::{
    fs,
    io::{self, Write as _},
    path::{Path, PathBuf},
};

pub use diff::diff;
pub use find::{Found, What, find};
pub use remedy::remedy;

/// What happened to the file of permissions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Written {
    /// It is new.
    New,
    /// It is as it should be already.
    Same,
    /// It was replaced. The text shows the difference.
    Replaced(String),
    /// It is there and differs, so it was left alone. The text shows the difference.
    Kept(String),
    /// The hook needs none.
    None,
    /// It was not written, because that was not wanted. The text shows the difference, if there is a file.
    Planned(Option<String>),
}

/// How to treat a file that is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// Leave it alone.
    Keep,
    /// Replace its permissions.
    Force,
    /// Write nothing.
    Plan,
}

/// The file beside a script.
pub fn beside(script: &Path) -> PathBuf {
    script.with_extension("boathook.yaml")
}

/// The largest file of permissions that is read. A larger one could take minutes.
const MAX_BYTES: u64 = 64 * 1024;

/// Writes the file of a hook. Keys other than `permissions` are kept. `needed` says whether there is anything in it.
///
/// The directory can be that of a stranger, so a link is not followed: it could lead anywhere.
pub fn write(path: &Path, text: &str, needed: bool, mode: Mode) -> io::Result<Written> {
    let metadata = match fs::symlink_metadata(path) {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return match (needed, mode) {
                (false, _) => Ok(Written::None),
                (true, Mode::Plan) => Ok(Written::Planned(None)),
                (true, _) => fs::File::create_new(path)?.write_all(text.as_bytes()).map(|()| Written::New),
            };
        }
        Err(error) => return Err(error),
    };
    if !metadata.is_file() {
        return Err(io::Error::other("it is a link or a folder: remove it, so that a file can be written"));
    }
    if metadata.len() > MAX_BYTES {
        return Err(io::Error::other(format!("it has more than {} KiB", MAX_BYTES / 1024)));
    }
    let there = fs::read_to_string(path)?;
    let text = format!("{text}{}", other_keys(&there)?);
    let difference = diff(&there, &text);
    match mode {
        _ if difference.is_empty() => Ok(Written::Same),
        Mode::Keep => Ok(Written::Kept(difference)),
        Mode::Plan => Ok(Written::Planned(Some(difference))),
        Mode::Force => fs::write(path, text).map(|()| Written::Replaced(difference)),
    }
}

/// The keys of a document other than its permissions.
fn other_keys(text: &str) -> io::Result<String> {
    let document: serde_json::Value = yaml_serde::from_str(text).map_err(io::Error::other)?;
    let mut keys = match document {
        serde_json::Value::Object(keys) => keys,
        // Nothing but comments.
        serde_json::Value::Null => return Ok(String::new()),
        _ => return Err(io::Error::other("it is no document: write `permissions:` and the other keys of a document")),
    };
    keys.remove("permissions");
    if keys.is_empty() { Ok(String::new()) } else { yaml_serde::to_string(&keys).map_err(io::Error::other) }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic)]
    use super::*;

    const TEXT: &str = "# new\npermissions: {}\n";

    #[test]
    fn a_file_that_is_there_is_replaced_only_by_force() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.boathook.yaml");
        let read = || fs::read_to_string(&path).unwrap();
        assert_eq!(write(&path, TEXT, false, Mode::Force).unwrap(), Written::None);
        assert_eq!(write(&path, TEXT, true, Mode::Plan).unwrap(), Written::Planned(None));
        assert!(!path.exists());
        assert_eq!(write(&path, TEXT, true, Mode::Keep).unwrap(), Written::New);
        assert_eq!(write(&path, TEXT, true, Mode::Keep).unwrap(), Written::Same);
        let mine = "permissions: {kubernetes: []}\nlimits: {time: 30s}\n";
        fs::write(&path, mine).unwrap();
        let Written::Kept(difference) = write(&path, TEXT, true, Mode::Keep).unwrap() else { panic!() };
        assert!(difference.contains("-permissions: {kubernetes: []}\n") && difference.contains("+permissions: {}\n"));
        assert!(matches!(write(&path, TEXT, true, Mode::Plan).unwrap(), Written::Planned(Some(_))));
        assert_eq!(read(), mine);
        assert!(matches!(write(&path, TEXT, true, Mode::Force).unwrap(), Written::Replaced(_)));
        assert_eq!(read(), "# new\npermissions: {}\nlimits:\n  time: 30s\n");
        let large = format!("a: {}\n", "x".repeat(70_000));
        for no_document in ["{", "[a]\n", "a\n", large.as_str()] {
            fs::write(&path, no_document).unwrap();
            assert!(write(&path, TEXT, true, Mode::Force).is_err());
            assert_eq!(read(), no_document);
        }
        fs::write(&path, "# nothing yet\n").unwrap();
        assert!(matches!(write(&path, TEXT, true, Mode::Force).unwrap(), Written::Replaced(_)));
        assert_eq!(read(), TEXT);
    }

    /// The directory can be that of a stranger.
    #[test]
    fn no_link_is_followed() {
        let folder = tempfile::tempdir().unwrap();
        let (path, outside) = (folder.path().join("a.boathook.yaml"), folder.path().join("outside"));
        std::os::unix::fs::symlink(&outside, &path).unwrap();
        for content in [None, Some("permissions: {}\n# mine\n")] {
            if let Some(content) = content {
                fs::write(&outside, content).unwrap();
            }
            for mode in [Mode::Keep, Mode::Force] {
                assert!(write(&path, TEXT, true, mode).unwrap_err().to_string().contains("it is a link"));
            }
            assert_eq!(fs::read_to_string(&outside).ok().as_deref(), content);
        }
    }

    #[test]
    fn the_file_is_beside_its_script() {
        assert_eq!(beside(Path::new("hooks/a.b.sh")), Path::new("hooks/a.b.boathook.yaml"));
    }
}
