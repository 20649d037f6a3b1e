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
mod request;
mod rollback;
mod schedule;
mod selection;
mod stats;
mod stream;
mod streams;
mod subscriber;
mod wire;

pub use config::StreamConfig;
pub use error::WatchErrorKind;
pub use schedule::{Schedule, notify_of_jumps};
pub use selection::{Selection, selections_for};
pub use stats::{Failures, StreamState, StreamStats};
pub use streams::{Streams, Subscribe, Subscription};

use std::time::Duration;

/// Receives what happens to streams. The streams' tasks call it, so it must not block.
pub trait Observer: Send + Sync + 'static {
    /// A list was delivered.
    fn on_list(&self, _selection: &Selection, _objects: u64, _took: Duration) {}
    /// A list or a watch failed. The stream tries again after `retry_in`.
    fn on_watch_error(&self, _selection: &Selection, _kind: WatchErrorKind, _text: &str, _retry_in: Duration) {}
    /// A watch gave no sign of life for `silent_for`. The stream rebuilds it where it stood, or with a list after the
    /// second silence in a row.
    fn on_rebuilt(&self, _selection: &Selection, _silent_for: Duration) {}
    /// The server does not serve the kind, or no longer serves it. Later tries with the same result are not reported.
    fn on_unserved(&self, _selection: &Selection) {}
    /// An object or a line could not be parsed, and was skipped.
    fn on_invalid_object(&self, _selection: &Selection, _text: &str) {}
    /// The stream's task ended because of a bug in this program. It restarts with a list when a subscriber notices,
    /// which is at once if the subscriber is polling.
    fn on_died(&self, _selection: &Selection, _text: &str) {}
    /// A subscriber did not take its changes in time. It gets a list when it has caught up.
    fn on_lagging(&self, _selection: &Selection) {}
}

/// An observer that ignores everything.
impl Observer for () {}
