//! JSON that the host delivered, and reading it as a type of the hook's choice.
//!
//! It never parses what is not asked for.

use serde::de::DeserializeOwned;
use std::fmt;

/// A JSON text, not yet parsed.
#[derive(Clone, PartialEq, Eq)]
pub struct Json(String);

impl Json {
    pub(crate) fn new(text: String) -> Self {
        Self(text)
    }

    /// The text as the host gave it.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The text itself.
    pub fn into_string(self) -> String {
        self.0
    }

    /// Reads it as a `T`, such as a struct of the few fields that matter, a type of
    /// `k8s-openapi`, or [`Object`](crate::kube::Object).
    pub fn parse<T: DeserializeOwned>(&self) -> Result<T, DataError> {
        decode(&self.0, || "the answer".to_owned())
    }
}

impl fmt::Debug for Json {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Something was delivered in another shape than the hook expects, or not at all.
///
/// It converts into a permanent failure: a repeated run would see the same.
#[derive(Debug)]
pub struct DataError {
    what: String,
    source: Option<serde_json::Error>,
}

impl DataError {
    /// Something cannot be written as JSON.
    pub(crate) fn unwritable(what: &str, error: serde_json::Error) -> Self {
        Self { what: what.to_owned(), source: Some(error) }
    }
}

impl fmt::Display for DataError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.source {
            Some(_) => write!(f, "{} has an unexpected shape", self.what),
            None => f.write_str(&self.what),
        }
    }
}

impl std::error::Error for DataError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.source.as_ref().map(|e| e as _)
    }
}

/// Parses a text; `what` names it in the error.
pub(crate) fn decode<T: DeserializeOwned>(text: &str, what: impl FnOnce() -> String) -> Result<T, DataError> {
    serde_json::from_str(text).map_err(|e| DataError { what: what(), source: Some(e) })
}

/// The error for something that the binding does not deliver.
pub(crate) fn absent(what: String) -> DataError {
    DataError { what, source: None }
}
