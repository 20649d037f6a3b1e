//! What a stream says about itself when asked. Holds figures only.

use std::{
    sync::{Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use super::{Selection, WatchErrorKind};

/// What a stream does at the moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StreamState {
    /// Nothing has worked yet, or the last try failed; the next follows.
    Trying,
    /// Its first list is on its way.
    Listing,
    /// It hears of every change.
    Watching,
    /// The server does not serve the kind; it is asked again and again.
    Unserved,
}

impl StreamState {
    /// For a metric label.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Trying => "trying",
            Self::Listing => "listing",
            Self::Watching => "watching",
            Self::Unserved => "unserved",
        }
    }
}

/// How often a stream failed and went on.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Failures([u64; WatchErrorKind::ALL.len()]);

impl Failures {
    /// Those of one kind.
    pub fn of(&self, kind: WatchErrorKind) -> u64 {
        self.iter().find(|(known, _)| *known == kind).map_or(0, |(_, count)| count)
    }

    /// All kinds, also those that never happened.
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

/// Figures of one stream.
#[derive(Debug, Clone)]
pub struct StreamStats {
    /// What it follows.
    pub selection: Selection,
    /// What it does.
    pub state: StreamState,
    /// When it was made.
    pub began: Instant,
    /// When the server last sent something that it asked for, bookmarks included; `None` if it never did.
    pub last_activity: Option<Instant>,
    /// Objects read since it began, in lists and changes.
    pub objects_seen: u64,
    /// Lists that were delivered since it began.
    pub lists: u64,
    /// How often its lists and watches failed since it began.
    pub failures: Failures,
    /// What the last try failed with; `None` when something has worked since.
    pub trouble: Option<WatchErrorKind>,
    /// Live subscriptions.
    pub subscribers: usize,
}

impl StreamStats {
    /// Time without a sign of life. A quiet watch of a healthy server has a bookmark about once a minute.
    pub fn age(&self, now: Instant) -> Duration {
        now.saturating_duration_since(self.last_activity.unwrap_or(self.began))
    }
}

/// The part of [`StreamStats`] that the stream's task writes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Figures {
    pub state: StreamState,
    pub began: Instant,
    pub last_activity: Option<Instant>,
    pub objects_seen: u64,
    pub lists: u64,
    pub failures: Failures,
    pub trouble: Option<WatchErrorKind>,
}

#[derive(Debug)]
pub(super) struct Board(Mutex<Figures>);

impl Board {
    pub fn new() -> Self {
        Self(Mutex::new(Figures {
            state: StreamState::Trying,
            began: now(),
            last_activity: None,
            objects_seen: 0,
            lists: 0,
            failures: Failures::default(),
            trouble: None,
        }))
    }

    fn figures(&self) -> MutexGuard<'_, Figures> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn read(&self) -> Figures {
        *self.figures()
    }

    pub fn set_state(&self, state: StreamState) {
        self.figures().state = state;
    }

    /// The server sent something, with so many objects.
    pub fn heard(&self, objects: u64) {
        let mut figures = self.figures();
        figures.last_activity = Some(now());
        figures.objects_seen = figures.objects_seen.saturating_add(objects);
        figures.trouble = None;
    }

    /// A list was delivered.
    pub fn listed(&self) {
        let mut figures = self.figures();
        figures.lists = figures.lists.saturating_add(1);
    }

    /// A list or a watch failed.
    pub fn failed(&self, kind: WatchErrorKind) {
        let mut figures = self.figures();
        figures.failures.add(kind);
        figures.trouble = Some(kind);
    }
}

/// By the clock that the stream's delays go by.
fn now() -> Instant {
    tokio::time::Instant::now().into_std()
}
