//! A cluster's objects as YAML, read before its start and written while it runs. Uids, revisions and other traces of
//! the original cluster are not kept.

mod load;
mod read;
mod save;

use std::path::{Path, PathBuf};

pub(crate) use load::load;
pub(crate) use save::save;

/// Initial objects of a cluster.
#[derive(Clone, Debug, Default)]
pub struct State {
    documents: Vec<Document>,
}

/// One object and its position.
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
        /// The error of the operating system.
        #[source]
        source: std::io::Error,
    },
    /// An object is invalid.
    #[error("{file}, document {document}, line {line}: {why}")]
    Document {
        /// The file, or the name that was given with the text.
        file: String,
        /// The number of the document in the file, from 1.
        document: usize,
        /// The line, from 1.
        line: usize,
        /// The problem.
        why: String,
    },
}

impl State {
    /// Reads a file, or all `*.yaml`, `*.yml` and `*.json` files of a folder, ordered by name.
    ///
    /// # Errors
    /// If a file cannot be read, or does not contain objects in YAML or JSON.
    pub fn read(path: impl AsRef<Path>) -> Result<Self, StateError> {
        read::path(path.as_ref())
    }

    /// Reads YAML documents. Errors refer to them as `file`.
    ///
    /// # Errors
    /// If a document is not an object with `apiVersion`, `kind` and `metadata.name`, or a list of such objects.
    pub fn parse(file: &str, text: &str) -> Result<Self, StateError> {
        read::text(file, text).map(|documents| Self { documents })
    }

    /// Adds the objects of another state.
    pub fn append(&mut self, other: Self) {
        self.documents.extend(other.documents);
    }

    /// The number of objects.
    pub fn len(&self) -> usize {
        self.documents.len()
    }

    /// Whether there are no objects.
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
