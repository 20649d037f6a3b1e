//! The annotations that the OCI image specification defines. Registries' pages and tools that update references read
//! them. The bundle states them itself, so they prove nothing.

use std::collections::BTreeMap;

use serde::Serialize;

/// What all of these keys begin with.
const PREFIX: &str = "org.opencontainers.image.";
pub(super) const CREATED: &str = "org.opencontainers.image.created";
pub(super) const SOURCE: &str = "org.opencontainers.image.source";
/// The annotation of a layer with its file name, and of a manifest with a title for people.
pub const TITLE: &str = "org.opencontainers.image.title";
/// The annotation of an entry in a layout's index with its tag.
pub(super) const REF_NAME: &str = "org.opencontainers.image.ref.name";
/// The annotation of an entry in a layout's index with the whole reference, as containerd and docker write it.
pub(super) const IMAGE_NAME: &str = "io.containerd.image.name";
/// What the specification defines for a manifest, without the prefix. `created` has its own rule, and `ref.name`
/// belongs to an index.
const DEFINED: [&str; 12] = [
    "authors",
    "base.digest",
    "base.name",
    "description",
    "documentation",
    "licenses",
    "revision",
    "source",
    "title",
    "url",
    "vendor",
    "version",
];
/// The longest value, in bytes. Descriptions are one line.
const MAX_VALUE: usize = 4096;

/// A text that is not an annotation of a bundle.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} cannot be an annotation: {why}")]
pub struct InvalidAnnotation {
    text: String,
    why: String,
}

/// Annotations of a bundle's manifest, by their whole keys.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Annotations(BTreeMap<String, String>);

impl Annotations {
    /// Adds an annotation, and replaces one with the same key. A key without the prefix is one that the specification
    /// defines: `version`, `base.name`.
    pub fn set(&mut self, key: &str, value: &str) -> Result<(), InvalidAnnotation> {
        let wrong = |why: String| InvalidAnnotation { text: format!("{key}={value}"), why };
        let whole = match key.strip_prefix(PREFIX) {
            Some(rest) if DEFINED.contains(&rest) => key.to_owned(),
            None if DEFINED.contains(&key) => format!("{PREFIX}{key}"),
            _ if key == CREATED || key == "created" => {
                return Err(wrong("set the time with $SOURCE_DATE_EPOCH".to_owned()));
            }
            // Keys of others are in reverse domain notation.
            None if key.contains('.') && key.chars().all(|c| c.is_ascii_alphanumeric() || "._-/".contains(c)) => {
                key.to_owned()
            }
            _ => {
                let known = DEFINED.join(", ");
                return Err(wrong(format!("the key is one of {known}, or has a domain: com.example.team")));
            }
        };
        if value.is_empty() || value.len() > MAX_VALUE || value.chars().any(char::is_control) {
            return Err(wrong(format!("the value is a line of 1 to {MAX_VALUE} bytes")));
        }
        self.0.insert(whole, value.to_owned());
        Ok(())
    }

    /// Reads `KEY=VALUE`.
    pub fn set_pair(&mut self, text: &str) -> Result<(), InvalidAnnotation> {
        let no_value = || InvalidAnnotation { text: text.to_owned(), why: "write KEY=VALUE".to_owned() };
        let (key, value) = text.split_once('=').ok_or_else(no_value)?;
        self.set(key, value)
    }

    /// The value of a key that the specification defines, which is written without the prefix.
    pub fn get(&self, key: &str) -> Option<&str> {
        self.0.get(&format!("{PREFIX}{key}")).map(String::as_str)
    }

    /// All annotations, by their whole keys.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(key, value)| (key.as_str(), value.as_str()))
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The annotations of a manifest that others wrote, as they are.
    pub(super) fn of_manifest(all: &BTreeMap<String, String>) -> Self {
        // Contents have a field for the time.
        Self(all.iter().filter(|(key, _)| *key != CREATED).map(|(key, value)| (key.clone(), value.clone())).collect())
    }

    pub(super) fn into_map(self) -> BTreeMap<String, String> {
        self.0
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn short_keys_are_those_of_the_specification() {
        let mut all = Annotations::default();
        for pair in
            ["version=1.2.0", "org.opencontainers.image.source=https://git.example.com/x?a=b", "base.name=r.io/a:1"]
        {
            all.set_pair(pair).unwrap();
        }
        all.set_pair("com.example.team=payments").unwrap();
        all.set_pair("version=1.3.0").unwrap();
        assert_eq!(all.get("version"), Some("1.3.0"));
        assert_eq!(all.get("source"), Some("https://git.example.com/x?a=b"));
        assert_eq!(all.iter().count(), 4);
    }

    #[test]
    fn what_updaters_could_not_read_is_refused() {
        let mut all = Annotations::default();
        for (pair, why) in [
            ("version", "KEY=VALUE"),
            ("verison=1", "version"),
            ("org.opencontainers.image.verison=1", "version"),
            ("org.opencontainers.image.ref.name=v1", "version"),
            ("created=2026-01-01", "SOURCE_DATE_EPOCH"),
            ("version=", "1 to 4096"),
            ("description=a\nb", "a line"),
            ("a b.c=1", "a domain"),
        ] {
            let error = all.set_pair(pair).unwrap_err().to_string();
            assert!(error.contains(why), "{pair}: {error}");
        }
        assert!(all.is_empty());
    }
}
