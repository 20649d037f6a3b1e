//! The watches that feed a binding: which list each one is in, and whether all were listed.

use std::collections::HashMap;

/// A watch of one selection. The feeder of the binding chooses the numbers, and never uses a number again.
pub type SourceId = usize;

#[derive(Debug, Default)]
struct Source {
    /// The number of the list that is being read, or was read last.
    list: u32,
    /// That list is not complete.
    listing: bool,
    listed: bool,
    /// The source was there when the binding started, so the synchronization waits for it.
    first: bool,
}

#[derive(Debug, Default)]
pub struct Sources {
    all: HashMap<SourceId, Source>,
    /// No further source belongs to the start.
    complete: bool,
}

impl Sources {
    pub fn add(&mut self, id: SourceId) {
        let first = !self.complete;
        self.all.entry(id).or_insert(Source { first, ..Source::default() });
    }

    /// Returns whether the source was there.
    pub fn remove(&mut self, id: SourceId) -> bool {
        self.all.remove(&id).is_some()
    }

    /// Forgets all sources. Others may be added, as at the start.
    pub fn clear(&mut self) {
        *self = Self::default();
    }

    pub fn complete(&mut self) {
        self.complete = true;
    }

    pub fn contains(&self, id: SourceId) -> bool {
        self.all.contains_key(&id)
    }

    /// Whether the source's next changes are part of a list.
    pub fn is_listing(&self, id: SourceId) -> bool {
        self.all.get(&id).is_some_and(|source| source.listing || !source.listed)
    }

    /// The number of the source's list.
    pub fn list(&self, id: SourceId) -> Option<u32> {
        self.all.get(&id).map(|source| source.list)
    }

    pub fn list_started(&mut self, id: SourceId) {
        if let Some(source) = self.all.get_mut(&id) {
            source.list = source.list.wrapping_add(1);
            source.listing = true;
        }
    }

    /// Returns the number of the list that is now complete.
    pub fn list_done(&mut self, id: SourceId) -> Option<u32> {
        let source = self.all.get_mut(&id)?;
        (source.listing, source.listed) = (false, true);
        Some(source.list)
    }

    /// Whether everything that was there at the start is known.
    pub fn are_listed(&self) -> bool {
        self.complete && self.all.values().all(|source| source.listed || !source.first)
    }
}
