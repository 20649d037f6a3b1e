//! The flags for the directories that hooks may request.

use std::path::PathBuf;

use boathook_core::model::{DirectoryAccess, DirectoryRule};
use clap::Args;

/// Flags for directories.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Directories of hooks")]
pub struct Directories {
    /// Directory that hooks see as /NAME if they request it in `permissions.directories`, for reading; `:rw` also allows
    /// writing; may be repeated. Only the admin's own hooks can have it, never those of HookBundles
    #[arg(long = "dir", value_name = "NAME=PATH[:rw]", value_parser = directory, env = "BOATHOOK_DIRS", value_delimiter = ',')]
    pub directories: Vec<Directory>,
}

/// One directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Directory {
    pub name: String,
    pub path: PathBuf,
    pub access: DirectoryAccess,
}

fn directory(text: &str) -> Result<Directory, String> {
    let (name, path) = text.split_once('=').ok_or("write NAME=PATH, or NAME=PATH:rw to allow writing")?;
    let rule = DirectoryRule { name: name.to_owned(), access: DirectoryAccess::Read };
    if let Some(problem) = rule.problem() {
        return Err(format!("the name {problem}"));
    }
    let (path, access) = match path.strip_suffix(":rw") {
        Some(path) => (path, DirectoryAccess::Write),
        None => (path, DirectoryAccess::Read),
    };
    if path.is_empty() {
        return Err("there is no path: write NAME=PATH, or NAME=PATH:rw to allow writing".to_owned());
    }
    Ok(Directory { name: name.to_owned(), path: path.into(), access })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_has_a_name_and_a_path() {
        let read = |text: &str| directory(text).map(|one| (one.name, one.path, one.access));
        let one = |name: &str, path: &str, access| Ok((name.to_owned(), path.into(), access));
        assert_eq!(read("keys=/etc/keys"), one("keys", "/etc/keys", DirectoryAccess::Read));
        assert_eq!(read("keys=./a=b:rw"), one("keys", "./a=b", DirectoryAccess::Write));
        assert_eq!(read("keys=/a:ro"), one("keys", "/a:ro", DirectoryAccess::Read));
        for (text, part) in
            [("keys", "NAME=PATH"), ("=/a", "is \"\""), ("A=/a", "is \"A\""), ("a=", "no path"), ("a=:rw", "no path")]
        {
            assert!(read(text).is_err_and(|error| error.contains(part)), "{text}");
        }
    }
}
