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

use crate::rbac::IMPORTED;

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

/// Writes the file of a hook. Keys of it that the text does not have are kept. `needed` says whether there is anything in it.
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
    let written: Vec<String> = document(text)?.into_iter().map(|(key, _)| key).collect();
    let text = format!("{text}{}", rest(&there, &written)?);
    let difference = diff(&there, &text);
    match mode {
        _ if difference.is_empty() => Ok(Written::Same),
        Mode::Keep => Ok(Written::Kept(difference)),
        Mode::Plan => Ok(Written::Planned(Some(difference))),
        Mode::Force => fs::write(path, text).map(|()| Written::Replaced(difference)),
    }
}

/// A document without some keys, as it is written: with its comments. Those in the keys go with them.
fn rest(text: &str, without: &[String]) -> io::Result<String> {
    let mut keys = document(text)?;
    keys.retain(|key, _| !without.contains(key));
    let kept = without_keys(text, without);
    if document(&kept).is_ok_and(|now| now == keys) {
        return Ok(kept);
    }
    // The keys are written in a form in which lines do not separate them.
    if keys.is_empty() { Ok(String::new()) } else { yaml_serde::to_string(&keys).map_err(io::Error::other) }
}

/// The keys of a document other than its permissions.
pub fn other_keys(text: &str) -> io::Result<serde_json::Map<String, serde_json::Value>> {
    let mut keys = document(text)?;
    keys.remove("permissions");
    Ok(keys)
}

fn document(text: &str) -> io::Result<serde_json::Map<String, serde_json::Value>> {
    match yaml_serde::from_str(text).map_err(io::Error::other)? {
        serde_json::Value::Object(keys) => Ok(keys),
        // Nothing but comments.
        serde_json::Value::Null => Ok(serde_json::Map::new()),
        _ => Err(io::Error::other("it is no document: write `permissions:` and the other keys of a document")),
    }
}

/// The lines that do not belong to these keys or to what an earlier import wrote over them.
fn without_keys(text: &str, keys: &[String]) -> String {
    let keys: Vec<_> = keys.iter().flat_map(|key| [key.clone(), format!("\"{key}\""), format!("'{key}'")]).collect();
    let mut kept = String::new();
    let mut inside = false;
    for line in text.split_inclusive('\n') {
        let begins =
            |key: &String| line.strip_prefix(key.as_str()).is_some_and(|rest| rest.trim_start().starts_with(':'));
        if keys.iter().any(begins) {
            inside = true;
        } else if line.starts_with(|first: char| !first.is_whitespace()) {
            // The next key, or a comment before it.
            inside = false;
        }
        let noted = line.starts_with("# What ") && line.contains(IMPORTED);
        if !inside && !noted {
            kept.push_str(line);
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic)]
    use super::*;

    fn text() -> String {
        crate::rbac::permissions_file("a.sh", &[])
    }

    #[test]
    fn a_file_that_is_there_is_replaced_only_by_force() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.boathook.yaml");
        let read = || fs::read_to_string(&path).unwrap();
        assert_eq!(write(&path, &text(), false, Mode::Force).unwrap(), Written::None);
        assert_eq!(write(&path, &text(), true, Mode::Plan).unwrap(), Written::Planned(None));
        assert!(!path.exists());
        assert_eq!(write(&path, &text(), true, Mode::Keep).unwrap(), Written::New);
        assert_eq!(write(&path, &text(), true, Mode::Keep).unwrap(), Written::Same);
        let mine = "permissions: {kubernetes: []}\nlimits: {time: 30s}\n";
        fs::write(&path, mine).unwrap();
        let Written::Kept(difference) = write(&path, &text(), true, Mode::Keep).unwrap() else { panic!() };
        assert!(difference.contains("-permissions: {kubernetes: []}\n") && difference.contains("+permissions: {}\n"));
        assert!(matches!(write(&path, &text(), true, Mode::Plan).unwrap(), Written::Planned(Some(_))));
        assert_eq!(read(), mine);
        assert!(matches!(write(&path, &text(), true, Mode::Force).unwrap(), Written::Replaced(_)));
        assert_eq!(read(), format!("{}limits: {{time: 30s}}\n", text()));
        let large = format!("a: {}\n", "x".repeat(70_000));
        for no_document in ["{", "[a]\n", "a\n", large.as_str()] {
            fs::write(&path, no_document).unwrap();
            assert!(write(&path, &text(), true, Mode::Force).is_err());
            assert_eq!(read(), no_document);
        }
        fs::write(&path, "# nothing yet\n").unwrap();
        assert!(matches!(write(&path, &text(), true, Mode::Force).unwrap(), Written::Replaced(_)));
        assert_eq!(read(), format!("{}# nothing yet\n", text()));
    }

    #[test]
    fn comments_of_the_other_keys_are_kept() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.boathook.yaml");
        let text = crate::rbac::permissions_file("a.sh", &[]);
        let forced = |there: &str| {
            fs::write(&path, there).unwrap();
            write(&path, &text, true, Mode::Force).unwrap();
            fs::read_to_string(&path).unwrap()
        };
        for (there, rest) in [
            ("# mine\nlimits: # long\n  # lists\n  time: 30s\n", "# mine\nlimits: # long\n  # lists\n  time: 30s\n"),
            (
                "permissions:\n  kubernetes:\n    # a\n    - {apiGroups: [x]}\n\n# why\nretry: {}\n",
                "# why\nretry: {}\n",
            ),
            ("limits: {}\n\"permissions\" : {\n  kubernetes: []}\n# end\n", "limits: {}\n# end\n"),
            (&format!("{text}# mine\nlimits: {{}}\n"), "# mine\nlimits: {}\n"),
            // The lines do not say where a key ends.
            ("{permissions: {}, limits: {time: 30s}} # x\n", "limits:\n  time: 30s\n"),
            ("permissions: {kubernetes: [\n]}\nlimits: {}\n", "limits: {}\n"),
        ] {
            assert_eq!(forced(there), format!("{text}{rest}"), "{there}");
            assert_eq!(forced(&format!("{text}{rest}")), format!("{text}{rest}"), "a second import changes nothing");
        }
    }

    #[test]
    fn the_queue_replaces_the_one_that_is_there() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.boathook.yaml");
        fs::write(&path, "queue: old\n# mine\nlimits: {time: 30s}\n").unwrap();
        let text = format!("{}queue: \"new\"\n", text());
        write(&path, &text, true, Mode::Force).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), format!("{text}# mine\nlimits: {{time: 30s}}\n"));
        // Without a queue, an import keeps it.
        let text = crate::rbac::permissions_file("a.sh", &[]);
        write(&path, &text, true, Mode::Force).unwrap();
        let kept = format!("{text}queue: \"new\"\n# mine\nlimits: {{time: 30s}}\n");
        assert_eq!(fs::read_to_string(&path).unwrap(), kept);
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
                assert!(write(&path, &text(), true, mode).unwrap_err().to_string().contains("it is a link"));
            }
            assert_eq!(fs::read_to_string(&outside).ok().as_deref(), content);
        }
    }

    #[test]
    fn the_file_is_beside_its_script() {
        assert_eq!(beside(Path::new("hooks/a.b.sh")), Path::new("hooks/a.b.boathook.yaml"));
    }
}
