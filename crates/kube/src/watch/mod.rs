//! Stage 1: the changes of objects in the cluster, and the ticks of schedules.
//!
//! [`Streams`] gives every subscriber of the same [`Selection`] the changes from one list and watch. [`Schedule`] gives
//! the ticks of a crontab. They know no hooks, filters or queues, and they store no object.

mod backoff;
mod config;
mod connection;
mod context;
mod error;
mod list;
mod observer;
mod past;
mod position;
mod request;
mod schedule;
mod selection;
mod stats;
mod stream;
mod streams;
mod subscriber;
mod wire;

pub use config::StreamConfig;
pub use error::WatchErrorKind;
pub use observer::Observer;
pub use schedule::{Schedule, tell_jumps};
pub use selection::{Selection, selections_for};
pub use stats::{Failures, StreamState, StreamStats};
pub use streams::{Streams, Subscribe, Subscription};
