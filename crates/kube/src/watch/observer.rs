//! How streams tell the outside what happens to them. Reports only; nothing is decided by it.

use std::time::Duration;

use super::{Selection, WatchErrorKind};

/// Is told what happens to streams. Called from their tasks: it must not block.
pub trait Observer: Send + Sync + 'static {
    /// A list was delivered.
    fn on_list(&self, _selection: &Selection, _objects: u64, _took: Duration) {}
    /// A list or a watch failed, and is tried again after `retry_in`.
    fn on_watch_error(&self, _selection: &Selection, _kind: WatchErrorKind, _text: &str, _retry_in: Duration) {}
    /// A watch gave no sign of life for `silent_for`; it is rebuilt where it stood or, after the second
    /// silence in a row, by a list.
    fn on_rebuilt(&self, _selection: &Selection, _silent_for: Duration) {}
    /// The server does not serve the kind (any more). Later tries that find the same are not reported.
    fn on_unserved(&self, _selection: &Selection) {}
    /// An object or a line could not be read, and was skipped.
    fn on_invalid_object(&self, _selection: &Selection, _text: &str) {}
    /// The stream's task broke off by a defect of this program. It begins anew with a list when its
    /// subscribers notice, which is at once if they listen.
    fn on_died(&self, _selection: &Selection, _text: &str) {}
    /// A subscriber did not take its changes in time. It gets a list when it has caught up.
    fn on_lagging(&self, _selection: &Selection) {}
}

/// Ignores everything.
impl Observer for () {}
