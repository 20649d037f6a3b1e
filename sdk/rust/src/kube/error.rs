//! Why a call to Kubernetes did not succeed.
//!
//! It never decides what the hook does about it; `?` has a default (see [`crate::Error`]).

use crate::bindings::boathook::hook::kube as wire;
use crate::data::DataError;
use std::fmt;

/// The kinds of failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Reason {
    /// The object, or its namespace, does not exist (404).
    NotFound,
    /// `create` found the object there (409).
    AlreadyExists,
    /// The object changed since it was read, or another field manager owns a field (409).
    Conflict,
    /// The object, the patch, the selector or the kind is wrong (400, 422).
    Invalid,
    /// The hook's own grants do not allow this call; nothing was sent.
    ForbiddenByGrant,
    /// The API server refused it: RBAC or an admission webhook (401, 403).
    ForbiddenByCluster,
    /// Request or answer is over a size limit (413).
    TooLarge,
    /// No answer in time, or a wait that ended before the object was gone.
    Timeout,
    /// This run has used up its host calls or bytes.
    BudgetExceeded,
    /// The API server cannot be reached, or answered 429 or 5xx to every try.
    Unavailable,
    /// The answer is no `T`.
    UnexpectedShape,
    /// Anything else.
    Other,
}

/// A failed call.
#[derive(Debug)]
pub struct Error {
    reason: Reason,
    message: String,
    code: Option<u16>,
    status: Option<String>,
    source: Option<DataError>,
}

impl Error {
    pub(crate) fn new(reason: Reason, message: impl Into<String>) -> Self {
        Self { reason, message: message.into(), code: None, status: None, source: None }
    }

    pub(crate) fn from_data(source: DataError) -> Self {
        Self { source: Some(source), ..Self::new(Reason::UnexpectedShape, "reading the answer") }
    }

    /// The kind of failure.
    pub fn reason(&self) -> Reason {
        self.reason
    }

    /// The HTTP status, when a server answered.
    pub fn code(&self) -> Option<u16> {
        self.code
    }

    /// The API server's `Status` object as JSON text, when it sent one.
    pub fn status_json(&self) -> Option<&str> {
        self.status.as_deref()
    }

    /// The object, or its namespace, does not exist.
    pub fn is_not_found(&self) -> bool {
        self.reason == Reason::NotFound
    }

    /// The object exists already.
    pub fn is_already_exists(&self) -> bool {
        self.reason == Reason::AlreadyExists
    }

    /// The object changed since it was read, or a field belongs to another manager.
    pub fn is_conflict(&self) -> bool {
        self.reason == Reason::Conflict
    }

    /// The request was wrong.
    pub fn is_invalid(&self) -> bool {
        self.reason == Reason::Invalid
    }

    /// The hook's grants or the cluster do not allow it.
    pub fn is_forbidden(&self) -> bool {
        matches!(self.reason, Reason::ForbiddenByGrant | Reason::ForbiddenByCluster)
    }

    /// Nothing can be created any more, as the namespace is being deleted.
    pub fn is_namespace_terminating(&self) -> bool {
        self.has_cause("NamespaceTerminating")
    }

    /// Whether the API server's `Status` names this cause (`details.causes[].reason`).
    pub fn has_cause(&self, reason: &str) -> bool {
        // A search for the quoted word: parsing the Status would add 5 kB to every hook that asks.
        let quoted = format!("\"{reason}\"");
        self.status.as_deref().is_some_and(|status| status.contains(&quoted))
    }

    /// Whether the same call can only fail again, as far as the hook can tell.
    pub(crate) fn is_hopeless(&self) -> bool {
        matches!(self.reason, Reason::Invalid | Reason::ForbiddenByGrant)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.source.as_ref().map(|e| e as _)
    }
}

impl From<wire::Failure> for Error {
    fn from(failure: wire::Failure) -> Self {
        let reason = match failure.reason {
            wire::Reason::NotFound => Reason::NotFound,
            wire::Reason::AlreadyExists => Reason::AlreadyExists,
            wire::Reason::Conflict => Reason::Conflict,
            wire::Reason::Invalid => Reason::Invalid,
            wire::Reason::ForbiddenByGrant => Reason::ForbiddenByGrant,
            wire::Reason::ForbiddenByCluster => Reason::ForbiddenByCluster,
            wire::Reason::TooLarge => Reason::TooLarge,
            wire::Reason::Timeout => Reason::Timeout,
            wire::Reason::BudgetExceeded => Reason::BudgetExceeded,
            wire::Reason::Unavailable => Reason::Unavailable,
            wire::Reason::Other => Reason::Other,
        };
        Self { reason, message: failure.message, code: failure.code, status: failure.status, source: None }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
    use super::*;

    fn forbidden(status: &str) -> Error {
        Error::from(wire::Failure {
            reason: wire::Reason::ForbiddenByCluster,
            message: "no".to_owned(),
            code: Some(403),
            status: Some(status.to_owned()),
        })
    }

    #[test]
    fn a_terminating_namespace_is_told_from_other_refusals() {
        let terminating = r#"{"kind":"Status","details":{"causes":[{"reason":"NamespaceTerminating","field":"metadata.namespace"}]}}"#;
        assert!(forbidden(terminating).is_namespace_terminating());
        assert!(
            !forbidden(r#"{"kind":"Status","details":{"causes":[{"reason":"Other"}]}}"#).is_namespace_terminating()
        );
        assert!(!forbidden(r#"{"kind":"Status"}"#).is_namespace_terminating());
        assert!(!forbidden(r#"{"message":"NamespaceTerminating, or so"}"#).is_namespace_terminating());
    }
}
