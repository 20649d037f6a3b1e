//! The API server's questions: reviews of admission and conversions of custom resources, over TLS.
//!
//! Never decides one and never runs a hook: [`Answerer`] does. Never registers itself in a cluster.

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
