//! A cluster's objects as YAML: read before it starts, written while it runs.
//!
//! Never keeps uids, revisions and other traces of the cluster that the objects come from.

mod load;
mod read;
mod save;

use std::path::{Path, PathBuf};

pub(crate) use load::load;
pub(crate) use save::save;

/// Objects for a cluster to start with.
#[derive(Clone, Debug, Default)]
pub struct State {
    documents: Vec<Document>,
}

/// One object and where it stands.
#[derive(Clone, Debug)]
struct Document {
    file: String,
    number: usize,
    line: usize,
    object: serde_json::Value,
}

/// Why objects could not be read or loaded.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StateError {
    /// A file or folder cannot be read.
    #[error("cannot read the cluster's state from {path}")]
    Read {
        /// The file or folder.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: std::io::Error,
    },
    /// An object cannot be used.
    #[error("{file}, document {document}, line {line}: {why}")]
    Document {
        /// The file, or the name that was given with the text.
        file: String,
        /// The document in it, from 1.
        document: usize,
        /// The line, from 1.
        line: usize,
        /// What is wrong with it.
        why: String,
    },
}

impl State {
    /// Reads a file, or all `*.yaml`, `*.yml` and `*.json` files of a folder in the order of their names.
    ///
    /// # Errors
    /// When something cannot be read, or is not objects in YAML or JSON.
    pub fn read(path: impl AsRef<Path>) -> Result<Self, StateError> {
        read::path(path.as_ref())
    }

    /// Reads YAML documents; errors speak of them as `file`.
    ///
    /// # Errors
    /// When a document is not an object with `apiVersion`, `kind` and `metadata.name`, or a list of such.
    pub fn parse(file: &str, text: &str) -> Result<Self, StateError> {
        read::text(file, text).map(|documents| Self { documents })
    }

    /// Adds the objects of another state.
    pub fn append(&mut self, other: Self) {
        self.documents.extend(other.documents);
    }

    /// How many objects there are.
    pub fn len(&self) -> usize {
        self.documents.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.documents.is_empty()
    }
}

impl Document {
    fn problem(&self, why: impl Into<String>) -> StateError {
        let (file, document, line) = (self.file.clone(), self.number, self.line);
        StateError::Document { file, document, line, why: why.into() }
    }
}
