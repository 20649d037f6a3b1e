//! The seam: what the server asks, and what it may hear.
//!
//! Never speaks of HTTP, but for what an [`Unanswered`] becomes.

use std::{sync::Arc, time::Duration};

use boathook_core::model::{AdmissionKind, Reviewed};
use futures::future::BoxFuture;

/// Whoever has the answers. Dropping a future gives up its question: the API server went away.
pub trait Answerer: Send + Sync + 'static {
    /// A hook's decision. `patience` is what is left of the API server's, less what the answer needs to
    /// get back; over it the server answers an error by itself.
    fn review(
        &self,
        kind: AdmissionKind,
        hook: &str,
        binding: &str,
        request: AdmissionRequest,
        patience: Duration,
    ) -> BoxFuture<'_, Result<Reviewed, Unanswered>>;

    /// Objects in the version that `request` wants, as many and in the same order.
    fn convert(&self, request: ConversionRequest, patience: Duration) -> BoxFuture<'_, Result<Converted, Unanswered>>;

    /// Told when a decision couldn't be used after all, say because its patch doesn't apply: the API server
    /// got an error, `why`.
    fn unusable(&self, kind: AdmissionKind, hook: &str, binding: &str, why: &str) {
        let _ = (kind, hook, binding, why);
    }
}

/// A request under review.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AdmissionRequest {
    /// Tells this question from others. Never empty.
    pub uid: String,
    /// Nothing must come of it.
    pub dry_run: bool,
    /// `CREATE`, `UPDATE`, `DELETE`, `CONNECT`.
    pub operation: String,
    /// Whether it has an object: a deletion has only an old one.
    pub has_object: bool,
    /// Somebody asks who is not the API server: it need not be within the binding's rules.
    pub by_hand: bool,
    /// The whole AdmissionRequest as JSON, as it came.
    pub json: Arc<str>,
}

/// Objects of one definition, wanted in another version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConversionRequest {
    /// The definition's name, of the request's path: `crontabs.stable.example.com`.
    pub crd: String,
    /// Tells this question from others. Never empty.
    pub uid: String,
    /// `stable.example.com/v1`
    pub desired: String,
    /// In any versions.
    pub objects: Vec<Versioned>,
}

/// An object and its version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Versioned {
    /// Its `apiVersion`. Never empty.
    pub api_version: String,
    /// The object as JSON, as it came.
    pub json: String,
}

/// What became of a conversion.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Converted {
    /// The objects as JSON, in the order of the request.
    Objects(Vec<String>),
    /// Not possible; the text is for the person whose request needed it.
    Failed(String),
}

/// There is no decision: an HTTP error, so that the webhook's `failurePolicy` decides. The texts name
/// the hook, the binding and the cause.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unanswered {
    /// Nobody answers at this path: 404.
    #[error("{0}")]
    Unknown(String),
    /// The API server would not ask this of the hook: 403.
    #[error("{0}")]
    OutOfScope(String),
    /// The hook isn't ready: 503, with a Retry-After.
    #[error("{0}")]
    NotReady(String),
    /// There are too many questions: 503, with a Retry-After.
    #[error("{0}")]
    Overloaded(String),
    /// The hook failed: 500.
    #[error("{0}")]
    Failed(String),
    /// The time is over: 500.
    #[error("{0}")]
    Deadline(String),
}
