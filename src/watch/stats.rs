//! What a stream says about itself when asked. Holds figures only.

use std::{
    sync::{Mutex, PoisonError},
    time::Instant,
};

use super::Selection;

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

/// Figures of one stream.
#[derive(Debug, Clone)]
pub struct StreamStats {
    /// What it follows.
    pub selection: Selection,
    /// What it does.
    pub state: StreamState,
    /// When the server last sent something; `None` if it never did.
    pub last_activity: Option<Instant>,
    /// Objects read since it began, in lists and changes.
    pub objects_seen: u64,
    /// Live subscriptions.
    pub subscribers: usize,
}

/// The part of [`StreamStats`] that the stream's task writes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Figures {
    pub state: StreamState,
    pub last_activity: Option<Instant>,
    pub objects_seen: u64,
}

#[derive(Debug)]
pub(super) struct Board(Mutex<Figures>);

impl Board {
    pub fn new() -> Self {
        Self(Mutex::new(Figures { state: StreamState::Trying, last_activity: None, objects_seen: 0 }))
    }

    pub fn read(&self) -> Figures {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn set_state(&self, state: StreamState) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).state = state;
    }

    /// The server sent something, with so many objects.
    pub fn heard(&self, objects: u64) {
        let mut figures = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        figures.last_activity = Some(Instant::now());
        figures.objects_seen = figures.objects_seen.saturating_add(objects);
    }
}
