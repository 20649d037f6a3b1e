//! The bounded, ordered history of one collection's changes. Events share the versions of objects, so nothing is
//! copied.

use std::collections::VecDeque;
use std::sync::Arc;

use super::{HistoryLimits, OutOfRange, Stored};

/// One change.
#[derive(Clone, Debug)]
pub(crate) struct Event {
    pub revision: u64,
    pub object: Arc<Stored>,
    /// The previous version. None for a creation.
    pub previous: Option<Arc<Stored>>,
    pub deleted: bool,
}

impl Event {
    /// Bytes that only the history keeps in memory.
    fn cost(&self) -> usize {
        let gone = if self.deleted { self.object.json.len() } else { 0 };
        gone + self.previous.as_ref().map_or(0, |p| p.json.len())
    }
}

/// Events in order. All events after `floor` are present.
#[derive(Debug)]
pub(crate) struct History {
    events: VecDeque<Event>,
    floor: u64,
    bytes: usize,
    limits: HistoryLimits,
}

impl History {
    pub(crate) fn new(limits: HistoryLimits) -> Self {
        Self { events: VecDeque::new(), floor: 0, bytes: 0, limits }
    }

    pub(crate) fn floor(&self) -> u64 {
        self.floor
    }

    pub(crate) fn push(&mut self, event: Event) {
        self.bytes += event.cost();
        self.events.push_back(event);
        while self.events.len() > self.limits.events || self.bytes > self.limits.bytes {
            self.forget_oldest();
        }
    }

    fn forget_oldest(&mut self) {
        if let Some(event) = self.events.pop_front() {
            self.bytes = self.bytes.saturating_sub(event.cost());
            self.floor = event.revision;
        }
    }

    pub(crate) fn clear(&mut self) {
        while !self.events.is_empty() {
            self.forget_oldest();
        }
    }

    /// The events after `revision`, oldest first.
    pub(crate) fn after(&self, revision: u64) -> Result<impl Iterator<Item = &Event>, OutOfRange> {
        if revision < self.floor {
            return Err(OutOfRange::Expired { oldest: self.floor });
        }
        let start = self.events.partition_point(|e| e.revision <= revision);
        Ok(self.events.range(start..))
    }
}
