//! The API server's requests over TLS: admission reviews and conversions of custom resources.
//!
//! This module never decides a request and never runs a hook. An [`Answerer`] does. It does not register itself in a
//! cluster either.

mod certs;
mod conversion;
mod envelope;
mod review;
mod server;

use std::{sync::Arc, time::Duration};

use boathook_core::model::{AdmissionKind, Reviewed};
use futures::future::BoxFuture;

pub use certs::{CaBundle, CertificateError, Certificates, Clock, Expiry, Lifetimes, Managed, PathKeys};
pub use conversion::{ConversionProblem, ConversionReview, problems as conversion_problems};
pub use envelope::{ReviewError, ReviewVersion};
pub use review::AdmissionReview;
pub use server::{Server, ServerError, Settings};

/// Answers requests. If a future is dropped, its request is given up, because the API server went away.
pub trait Answerer: Send + Sync + 'static {
    /// Gets a hook's decision. `patience` is what is left of the API server's timeout, minus the time for the way back.
    /// After it, the server answers with an error by itself.
    fn review(
        &self,
        kind: AdmissionKind,
        hook: &str,
        binding: &str,
        request: AdmissionRequest,
        patience: Duration,
    ) -> BoxFuture<'_, Result<Reviewed, Unanswered>>;

    /// Converts objects to the version that `request` wants. The result has the same number and order.
    fn convert(&self, request: ConversionRequest, patience: Duration) -> BoxFuture<'_, Result<Converted, Unanswered>>;

    /// Called if a decision could not be used after all, for example because its patch does not apply. The API server
    /// got the error `why`.
    fn unusable(&self, kind: AdmissionKind, hook: &str, binding: &str, why: &str) {
        let _ = (kind, hook, binding, why);
    }
}

/// A request to review.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AdmissionRequest {
    /// Distinguishes this request from others. Never empty.
    pub uid: String,
    /// Whether nothing may be stored.
    pub dry_run: bool,
    /// `CREATE`, `UPDATE`, `DELETE` or `CONNECT`.
    pub operation: String,
    /// Whether the request has an object. A deletion has only an old one.
    pub has_object: bool,
    /// Whether somebody other than the API server sent the request. It then need not match the binding's rules.
    pub by_hand: bool,
    /// The whole AdmissionRequest as JSON, unchanged.
    pub json: Arc<str>,
}

/// Objects of one definition that have to be converted to another version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConversionRequest {
    /// The definition's name from the request's path: `crontabs.stable.example.com`.
    pub crd: String,
    /// Distinguishes this request from others. Never empty.
    pub uid: String,
    /// For example `stable.example.com/v1`.
    pub desired: String,
    /// The objects, in any versions.
    pub objects: Vec<Versioned>,
}

/// An object and its version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Versioned {
    /// The object's `apiVersion`. Never empty.
    pub api_version: String,
    /// The object as JSON, unchanged.
    pub json: String,
}

/// The result of a conversion.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Converted {
    /// The objects as JSON, in the order of the request.
    Objects(Vec<String>),
    /// The conversion is not possible. The text is for the user whose request needed it.
    Failed(String),
}

/// There is no decision. It becomes an HTTP error, so that the webhook's `failurePolicy` decides. The texts name the
/// hook, the binding and the cause.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unanswered {
    /// Nothing answers at this path: 404.
    #[error("{0}")]
    Unknown(String),
    /// The API server would not send this request to the hook: 403.
    #[error("{0}")]
    OutOfScope(String),
    /// The hook is not ready: 503, with a Retry-After.
    #[error("{0}")]
    NotReady(String),
    /// There are too many requests: 503, with a Retry-After.
    #[error("{0}")]
    Overloaded(String),
    /// The hook failed: 500.
    #[error("{0}")]
    Failed(String),
    /// The time is over: 500.
    #[error("{0}")]
    Deadline(String),
}
