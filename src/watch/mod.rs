//! Stage 1: what happens in the cluster, and when the clock strikes.
//!
//! [`Streams`] gives every subscriber of the same [`Selection`] the changes out of one list and
//! watch. It knows no hooks, filters or queues, and stores no object.

mod backoff;
mod config;
mod connection;
mod context;
mod error;
mod list;
mod observer;
mod outlet;
mod position;
mod request;
mod selection;
mod stats;
mod stream;
mod streams;
mod wire;

pub use config::StreamConfig;
pub use error::WatchErrorKind;
pub use observer::Observer;
pub use selection::{Selection, selections_for};
pub use stats::{StreamState, StreamStats};
pub use streams::{Streams, Subscription};
