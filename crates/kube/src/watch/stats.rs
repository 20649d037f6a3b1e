//! The figures that a stream reports about itself.

use std::{
    sync::{Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use super::{Selection, WatchErrorKind};

/// What a stream does at the moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StreamState {
    /// Nothing has worked yet, or the last try failed and the next one follows.
    Trying,
    /// Its first list is on its way.
    Listing,
    /// It receives every change.
    Watching,
    /// The server does not serve the kind. The stream tries again periodically.
    Unserved,
}

impl StreamState {
    /// The name in metric labels.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Trying => "trying",
            Self::Listing => "listing",
            Self::Watching => "watching",
            Self::Unserved => "unserved",
        }
    }
}

/// How often a stream failed, by kind of failure. It continued each time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Failures([u64; WatchErrorKind::ALL.len()]);

impl Failures {
    pub fn of(&self, kind: WatchErrorKind) -> u64 {
        self.iter().find(|(known, _)| *known == kind).map_or(0, |(_, count)| count)
    }

    /// All kinds, including those that never happened.
    pub fn iter(&self) -> impl Iterator<Item = (WatchErrorKind, u64)> + '_ {
        WatchErrorKind::ALL.into_iter().zip(self.0)
    }

    fn add(&mut self, kind: WatchErrorKind) {
        let counts = WatchErrorKind::ALL.into_iter().zip(&mut self.0);
        for (_, count) in counts.filter(|(known, _)| *known == kind) {
            *count = count.saturating_add(1);
        }
    }
}

#[derive(Debug, Clone)]
pub struct StreamStats {
    pub selection: Selection,
    pub state: StreamState,
    /// When the stream was created.
    pub began: Instant,
    /// When the server last sent something that the stream requested, bookmarks included. `None` if it never did.
    pub last_activity: Option<Instant>,
    /// Objects read since the stream was created, in lists and changes.
    pub objects_seen: u64,
    /// Lists delivered since the stream was created.
    pub lists: u64,
    /// How often its lists and watches failed since the stream was created.
    pub failures: Failures,
    /// What the last try failed with. `None` if something has worked since.
    pub trouble: Option<WatchErrorKind>,
    pub subscribers: usize,
}

impl StreamStats {
    /// The time without a sign of life. On a quiet watch, a healthy server sends a bookmark about once a minute.
    pub fn age(&self, now: Instant) -> Duration {
        now.saturating_duration_since(self.last_activity.unwrap_or(self.began))
    }
}

/// The figures of one stream. Its table entry knows the number of subscribers.
#[derive(Debug)]
pub(super) struct WatchStats(Mutex<StreamStats>);

impl WatchStats {
    pub fn new(selection: Selection) -> Self {
        Self(Mutex::new(StreamStats {
            selection,
            state: StreamState::Trying,
            began: now(),
            last_activity: None,
            objects_seen: 0,
            lists: 0,
            failures: Failures::default(),
            trouble: None,
            subscribers: 0,
        }))
    }

    pub fn lock(&self) -> MutexGuard<'_, StreamStats> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes that the server sent something with this many objects.
    pub fn heard(&self, objects: u64) {
        let mut stats = self.lock();
        stats.last_activity = Some(now());
        stats.objects_seen = stats.objects_seen.saturating_add(objects);
        stats.trouble = None;
    }

    pub fn listed(&self) {
        let mut stats = self.lock();
        stats.lists = stats.lists.saturating_add(1);
    }

    pub fn failed(&self, kind: WatchErrorKind) {
        let mut stats = self.lock();
        stats.failures.add(kind);
        stats.trouble = Some(kind);
    }
}

/// The current time, by the clock that the stream's delays use.
fn now() -> Instant {
    tokio::time::Instant::now().into_std()
}
