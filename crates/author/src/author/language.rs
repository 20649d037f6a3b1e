//! The languages of hooks, and how a project's files identify its language. Runs no toolchain.

use std::{fmt, path::Path};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Language {
    /// Built by Cargo.
    Rust,
    /// Built by `go build`, and then made a component.
    Go,
    /// Run by the shared interpreter.
    TypeScript,
    /// Run by the shared interpreter.
    JavaScript,
    /// Run by the shared interpreter.
    Python,
    /// Run by the shared interpreter. There is no manifest: a project is a folder with an executable script.
    Shell,
}

/// Files that identify a language; the first one that exists decides. A TypeScript project is a Node.js package with a
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

    /// The language of a manifest.
    pub fn of_manifest(file: &Path) -> Option<Self> {
        let name = file.file_name()?;
        MARKS.iter().find(|(mark, _)| name == *mark).map(|(_, language)| *language)
    }

    /// The command that a new project needs before its first build. Most need none.
    pub fn setup(self) -> Option<&'static str> {
        match self {
            Self::TypeScript | Self::JavaScript => Some("npm install"),
            Self::Rust | Self::Go | Self::Python | Self::Shell => None,
        }
    }

    /// The file that identifies an SDK's folder. Shell hooks have no SDK.
    pub fn sdk_manifest(self) -> Option<&'static str> {
        match self {
            Self::Rust => Some("Cargo.toml"),
            Self::Go => Some("go.mod"),
            Self::TypeScript | Self::JavaScript => Some("package.json"),
            Self::Python => Some("pyproject.toml"),
            Self::Shell => None,
        }
    }

    /// The files that identify a language, for an error text.
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
            Self::Shell => "Shell",
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
