//! How a stream continues after an error: when, and with what. A stream never gives up.

use std::{mem, time::Duration};

use tokio::time::Instant;

use super::{Stream, Watch};
use crate::watch::{
    WatchErrorKind,
    error::{RequestError, chain},
    position,
};

/// The number of silent watches in a row after which the stream is listed again.
pub(super) const FIRST_PATIENCE: u32 = 2;
/// The upper bound of that number. Some aggregated servers send no bookmarks. Each list that is followed only by
/// silence doubles the number, up to this.
const MAX_PATIENCE: u32 = 32;

impl Stream {
    /// Neither a change nor a bookmark arrived in time. The stream opens a new watch at the same position, in case the
    /// connection was dead. If that watch is as silent, the server may never have had this version, or may not have it
    /// yet, for example after it was restored from an older state. A server does not report that, and sends nothing.
    pub(super) fn fell_silent(&mut self, silence: Duration) {
        self.context.watch_stats.failed(WatchErrorKind::Silent);
        self.context.observer.on_rebuilt(&self.context.selection, silence);
        self.silences += 1;
        if self.silences >= self.patience {
            self.silences = 0;
            self.patience = (self.patience * 2).min(MAX_PATIENCE);
            self.waiting.append(&mut self.active);
        }
        self.watch_off(Duration::ZERO);
    }

    pub(super) fn watch_failed(&mut self, error: &RequestError) {
        let chance = rand::random_range(0.0..1.0);
        let delay = self.delay(error, |stream| stream.watch_backoff.next(chance));
        if let RequestError::WentBack { .. } = error {
            // What the subscribers know never happened.
            self.list_not_before = Instant::now() + delay;
            self.waiting.append(&mut self.active);
        } else if error.kind() == WatchErrorKind::Expired {
            self.list_not_before = Instant::now() + delay;
            self.forget_history();
        } else if error.is_unserved() {
            // What comes back under the same name is another collection.
            self.list_not_before = Instant::now() + delay;
            self.waiting.append(&mut self.active);
        }
        self.watch_off(delay);
    }

    /// Reports an error, and returns how long to wait.
    pub(super) fn delay(&mut self, error: &RequestError, backoff: impl FnOnce(&mut Self) -> Duration) -> Duration {
        let config = self.context.config.clone();
        let delay = match error.kind() {
            WatchErrorKind::Expired if !mem::replace(&mut self.expired, true) => Duration::ZERO,
            _ => backoff(self).max(error.retry_after().unwrap_or_default().min(config.retry_after_max)),
        };
        self.context.watch_stats.failed(error.kind());
        if !(self.unserved && error.is_unserved()) {
            self.context.observer.on_watch_error(&self.context.selection, error.kind(), &chain(error), delay);
        }
        delay
    }

    /// The server has no history after `position`. Subscribers that have seen more continue from there. The others need
    /// a list.
    pub(super) fn forget_history(&mut self) {
        let at = position::number(&self.position);
        let (ahead, lost): (Vec<_>, Vec<_>) =
            mem::take(&mut self.active).into_iter().partition(|subscriber| at.is_some_and(|at| subscriber.seen > at));
        self.waiting.extend(lost);
        if let Some(seen) = ahead.iter().map(|subscriber| subscriber.seen).min() {
            self.position = seen.to_string();
        }
        self.active = ahead;
    }

    /// Closes the watch, and has the next one check the server (`past.rs`). How a watch ended says nothing about the
    /// server that the next one leads to. A server ends its watches properly when it stops, and when it has lost etcd
    /// for a moment. After a watch's timeout, a load balancer may lead to another server. The check costs one small
    /// request for each watch, which is one in five minutes.
    pub(super) fn watch_off(&mut self, delay: Duration) {
        if let Watch::Connecting(task) = mem::replace(&mut self.watch, Watch::Off) {
            task.abort();
        }
        self.attempt += 1;
        self.doubt = true;
        self.watch_not_before = Instant::now() + delay;
    }
}
