//! Calls of webhooks, for admission and conversion: address resolution, and one POST of JSON over TLS. A call is never
//! repeated. The caller interprets the response.

mod address;
mod call;

pub(crate) use address::Endpoint;
pub(crate) use call::post;
