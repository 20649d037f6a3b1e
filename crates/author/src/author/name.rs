//! Names of projects, which must be valid as a Cargo package, as a Kubernetes label value and as a Boathook hook.

use std::fmt;

use boathook_core::model::HookName;

use super::language::Language;

/// The name of a project and of its hook.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProjectName(String);

/// Why a name cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidProjectName {
    /// It has invalid characters or length.
    #[error(
        "{name:?} cannot be the name of a hook's project: it takes lower-case letters, digits and `-`, begins with a letter \
         and does not end with `-`, and is at most {} long{}", HookName::MAX, tried(.suggestion.as_deref())
    )]
    Form {
        name: String,
        /// A similar valid name.
        suggestion: Option<String>,
    },
    /// It is reserved in Rust or Cargo.
    #[error(
        "{name:?} cannot be the name of a hook's project: it is a word of Rust with another meaning; try `{name}-hook`"
    )]
    Reserved { name: String },
}

/// Keywords of Rust, and names of Rust's own crates, of folders that Cargo creates, and of the project's dependencies.
const RESERVED: &[&str] = &[
    "abstract",
    "alloc",
    "as",
    "async",
    "await",
    "become",
    "boathook-sdk",
    "box",
    "break",
    "build",
    "const",
    "continue",
    "core",
    "crate",
    "deps",
    "do",
    "dyn",
    "else",
    "enum",
    "examples",
    "extern",
    "false",
    "final",
    "fn",
    "for",
    "gen",
    "if",
    "impl",
    "in",
    "incremental",
    "let",
    "loop",
    "macro",
    "match",
    "mod",
    "move",
    "mut",
    "override",
    "priv",
    "proc-macro",
    "pub",
    "ref",
    "return",
    "self",
    "static",
    "std",
    "struct",
    "super",
    "test",
    "trait",
    "true",
    "try",
    "type",
    "typeof",
    "unsafe",
    "unsized",
    "use",
    "virtual",
    "where",
    "while",
    "yield",
];

impl ProjectName {
    /// Checks a name for a project in this language.
    pub fn new(name: &str, language: Language) -> Result<Self, InvalidProjectName> {
        let reserved = |name: &str| language == Language::Rust && RESERVED.contains(&name);
        if !well_formed(name) {
            let suggestion = Some(mended(name)).filter(|mended| well_formed(mended) && !reserved(mended));
            return Err(InvalidProjectName::Form { name: name.to_owned(), suggestion });
        }
        if reserved(name) {
            return Err(InvalidProjectName::Reserved { name: name.to_owned() });
        }
        Ok(Self(name.to_owned()))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ProjectName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

fn well_formed(name: &str) -> bool {
    let valid = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    name.len() <= HookName::MAX
        && name.starts_with(|c: char| c.is_ascii_lowercase())
        && !name.ends_with('-')
        && name.chars().all(valid)
}

/// The same words, with valid characters only.
fn mended(name: &str) -> String {
    let lower = name.to_ascii_lowercase();
    let words = lower.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    words.collect::<Vec<_>>().join("-")
}

fn tried(suggestion: Option<&str>) -> String {
    suggestion.map(|suggestion| format!("; try `{suggestion}`")).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
    use super::*;

    #[test]
    fn what_can_be_a_name() {
        for name in ["a", "web", "copy-secrets-2", &"x".repeat(63)] {
            assert_eq!(ProjectName::new(name, Language::Rust).unwrap().as_str(), name);
            assert!(HookName::new(name).is_ok(), "{name}");
        }
    }

    #[test]
    fn what_can_not_is_reported_with_one_that_can() {
        for (name, remedy) in [
            ("My_Hook", Some("my-hook")),
            ("copy secrets", Some("copy-secrets")),
            ("web-", Some("web")),
            ("../web", Some("web")),
            ("a/b.wasm", Some("a-b-wasm")),
            ("", None),
            ("-", None),
            ("2nd", None),
            ("käse", Some("k-se")),
            ("Self", None),
            ("x\n", Some("x")),
        ] {
            let error = ProjectName::new(name, Language::Rust).unwrap_err();
            let InvalidProjectName::Form { suggestion, .. } = &error else { panic!("{error}") };
            assert_eq!(suggestion.as_deref(), remedy, "{name:?}");
            assert!(error.to_string().contains(&format!("{name:?}")), "{error}");
        }
        assert!(ProjectName::new(&"x".repeat(64), Language::Go).is_err());
    }

    #[test]
    fn what_means_something_else_is_refused() {
        for name in ["fn", "test", "std", "build", "boathook-sdk"] {
            assert!(ProjectName::new(name, Language::Go).is_ok());
            assert_eq!(
                ProjectName::new(name, Language::Rust),
                Err(InvalidProjectName::Reserved { name: name.to_owned() })
            );
            assert!(ProjectName::new(&format!("{name}-hook"), Language::Rust).is_ok());
        }
    }
}
