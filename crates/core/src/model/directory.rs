//! Directories of the operator's machine: what a hook may request of them. Pure. No path is known here.

use std::fmt;

use serde::{Deserialize, Serialize};

/// One entry of `permissions.directories[]`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct DirectoryRule {
    /// The name that the admin gives the directory. A run sees it as `/NAME`.
    pub name: String,
    #[serde(default)]
    pub access: DirectoryAccess,
}

/// What a hook may do in a directory. The greater includes the lesser.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum DirectoryAccess {
    #[default]
    Read,
    /// Read, write, create, rename and remove.
    Write,
}

/// The longest name, as of a DNS label.
const MAX_NAME: usize = 63;

impl DirectoryRule {
    /// Whether this can be the name of a directory: it becomes the first part of paths.
    pub fn is_name(text: &str) -> bool {
        let inner = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        let end = |c: Option<char>| c.is_some_and(|c| c != '-');
        text.len() <= MAX_NAME && text.chars().all(inner) && end(text.chars().next()) && end(text.chars().next_back())
    }

    /// What is wrong with the name.
    pub fn problem(&self) -> Option<String> {
        let Self { name, .. } = self;
        (!Self::is_name(name)).then(|| {
            format!("is {name:?}; write up to {MAX_NAME} lower-case letters, digits and '-', such as \"keys\"")
        })
    }

    /// Whether who has this may do the other.
    pub(super) fn covers(&self, other: &Self) -> bool {
        self.name == other.name && self.access >= other.access
    }
}

/// One line: `read directory keys`.
impl fmt::Display for DirectoryRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let access = match self.access {
            DirectoryAccess::Read => "read",
            DirectoryAccess::Write => "read, write",
        };
        write!(f, "{access} directory {}", self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_one_part_of_a_path() {
        for name in ["keys", "a", "node-1", &"a".repeat(63)] {
            assert!(DirectoryRule::is_name(name), "{name}");
        }
        for name in ["", ".", "..", "a/b", "/keys", "Keys", "-a", "a-", "a b", "a.b", "k\u{e9}y", &"a".repeat(64)] {
            assert!(!DirectoryRule::is_name(name), "{name}");
            let rule = DirectoryRule { name: name.to_owned(), access: DirectoryAccess::Read };
            assert!(rule.problem().is_some_and(|problem| problem.contains("lower-case letters")), "{name}");
        }
    }
}
