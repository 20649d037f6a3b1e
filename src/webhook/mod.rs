//! The API server's questions: reviews of admission and conversions of custom resources, over TLS.
//!
//! Never decides one and never runs a hook: [`Answerer`] does. Never registers itself in a cluster.

mod answerer;

pub use answerer::{AdmissionRequest, Answerer, ConversionRequest, Converted, Unanswered, Versioned};
