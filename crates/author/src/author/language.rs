//! The languages that hooks are written in, and how a project shows which one it is in. Never runs a tool chain.

use std::{fmt, path::Path};

/// A language with an SDK.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Language {
    /// Built by Cargo.
    Rust,
    /// Built by `go build`, and made a component here.
    Go,
    /// A script for the shared interpreter.
    TypeScript,
    /// A script for the shared interpreter.
    JavaScript,
    /// A script for the shared interpreter.
    Python,
}

/// Files that show a language; the first that is there counts. TypeScript is a package of Node's with a
/// `tsconfig.json`.
const MARKS: [(&str, Language); 6] = [
    ("Cargo.toml", Language::Rust),
    ("go.mod", Language::Go),
    ("tsconfig.json", Language::TypeScript),
    ("package.json", Language::JavaScript),
    ("pyproject.toml", Language::Python),
    // One of several hooks in a module.
    ("main.go", Language::Go),
];

impl Language {
    /// The language of the project in a folder.
    pub fn of(folder: &Path) -> Option<Self> {
        MARKS.iter().find(|(file, _)| folder.join(file).is_file()).map(|(_, language)| *language)
    }

    /// The language whose manifest this is.
    pub fn of_manifest(file: &Path) -> Option<Self> {
        let name = file.file_name()?;
        MARKS.iter().find(|(mark, _)| name == *mark).map(|(_, language)| *language)
    }

    /// What a new project needs before it is built, as one types it; most need nothing.
    pub fn setup(self) -> Option<&'static str> {
        match self {
            Self::TypeScript | Self::JavaScript => Some("npm install"),
            Self::Rust | Self::Go | Self::Python => None,
        }
    }

    /// The file that an SDK's folder has.
    pub fn sdk_manifest(self) -> &'static str {
        match self {
            Self::Rust => "Cargo.toml",
            Self::Go => "go.mod",
            Self::TypeScript | Self::JavaScript => "package.json",
            Self::Python => "pyproject.toml",
        }
    }

    /// The files that show a language, for a person.
    pub(super) fn marks() -> String {
        let names: Vec<&str> =
            MARKS.iter().map(|(file, _)| *file).filter(|file| !matches!(*file, "tsconfig.json" | "main.go")).collect();
        names.join(", ")
    }
}

impl fmt::Display for Language {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Rust => "Rust",
            Self::Go => "Go",
            Self::TypeScript => "TypeScript",
            Self::JavaScript => "JavaScript",
            Self::Python => "Python",
        })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
    use std::fs;

    use super::*;

    #[test]
    fn a_project_shows_its_language_by_its_files() {
        for (files, language) in [
            (&["Cargo.toml"] as &[&str], Some(Language::Rust)),
            (&["go.mod", "main.go"], Some(Language::Go)),
            (&["main.go"], Some(Language::Go)),
            (&["package.json"], Some(Language::JavaScript)),
            (&["package.json", "tsconfig.json"], Some(Language::TypeScript)),
            (&["pyproject.toml"], Some(Language::Python)),
            (&["Makefile"], None),
        ] {
            let folder = tempfile::tempdir().unwrap();
            for file in files {
                fs::write(folder.path().join(file), "").unwrap();
            }
            assert_eq!(Language::of(folder.path()), language, "{files:?}");
        }
    }
}
