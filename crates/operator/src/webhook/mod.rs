//! The API server's requests over TLS: admission reviews and conversions of custom resources.
//!
//! This module never decides a request and never runs a hook. An [`Answerer`] does. It does not register itself in a
//! cluster either.

mod answerer;
mod certs;
mod conversion;
mod envelope;
mod review;
mod server;

pub use answerer::{AdmissionRequest, Answerer, ConversionRequest, Converted, Unanswered, Versioned};
pub use certs::{CaBundle, CertificateError, Certificates, Clock, Expiry, Lifetimes, Managed, PathKeys};
pub use conversion::{ConversionProblem, ConversionReview, problems as conversion_problems};
pub use envelope::{ReviewError, ReviewVersion};
pub use review::AdmissionReview;
pub use server::{Server, ServerError, Settings};
