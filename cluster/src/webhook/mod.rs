//! Calls of webhooks, for admission and conversion: where to, and one POST of JSON over TLS.
//!
//! Never decides what an answer means, and never repeats a call.

mod address;
mod call;

pub(crate) use address::Endpoint;
pub(crate) use call::post;
