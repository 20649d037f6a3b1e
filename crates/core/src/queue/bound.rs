//! Which triggers a queue folds: all of them when the queue is over its bound, or only those of a tenant that has no
//! room left in the memory that all queues share. Other code decides who has room.

use super::{
    QueueConfig,
    coalesce::{Key, Of},
    item::Item,
    line::{Kind, Line, Placed},
};
use crate::fair::Tenant;

impl Line {
    pub(super) fn push(&mut self, mut item: Item, config: &QueueConfig) -> Placed {
        let mut placed = Placed { folded: false, beyond: false, gone: Vec::new() };
        if !self.whole && self.would_exceed(&item, config) {
            (self.whole, self.index) = (true, None);
            placed.gone = self.sweep(&|_| true);
        }
        let folds = self.whole || self.pressed.contains(item.held.tenant());
        placed.folded = folds && self.fold_or_note(&mut item);
        if placed.folded {
            self.folded += 1;
            placed.gone.push(item);
            return placed;
        }
        if !item.held.is_whole() {
            item.settle();
        }
        placed.beyond = folds && self.would_exceed(&item, config) || item.loose_bytes() > 0;
        self.beyond += u64::from(placed.beyond);
        self.length += 1;
        self.bytes += item.bytes;
        match &mut self.kind {
            Kind::Serial(line) => line.push(item),
            Kind::Keyed(line) => line.push(item),
        }
        placed
    }

    fn would_exceed(&self, item: &Item, config: &QueueConfig) -> bool {
        self.length + 1 > config.max_pending.max(1) || self.bytes + item.bytes > config.max_pending_bytes
    }

    /// From now on, triggers of this tenant are folded. Returns those that are no longer there. O(n log n) once.
    pub(super) fn press(&mut self, tenant: &Tenant) -> Vec<Item> {
        if !self.has_triggers_of(tenant) || !self.pressed.insert(tenant.clone()) || self.whole {
            return Vec::new();
        }
        self.sweep(&|item| item.held.tenant() == tenant)
    }

    /// The tenant has room again, and its triggers are no longer folded. Returns those that are no longer there.
    pub(super) fn relax(&mut self, tenant: &Tenant) -> Vec<Item> {
        if !self.pressed.remove(tenant) || self.whole {
            return Vec::new();
        }
        self.index = None;
        let others = std::mem::take(&mut self.pressed);
        others.iter().flat_map(|other| self.press(other)).collect()
    }

    fn sweep(&mut self, of: &Of<'_>) -> Vec<Item> {
        let mut index = self.index.take().unwrap_or_default();
        let gone = match &mut self.kind {
            Kind::Serial(line) => line.sweep(&mut index, of),
            Kind::Keyed(line) => line.sweep(&mut index, of),
        };
        self.index = Some(index);
        self.length -= gone.len();
        self.folded += gone.len() as u64;
        self.bytes = self.items().map(|item| item.bytes).sum();
        gone
    }

    fn fold_or_note(&mut self, item: &mut Item) -> bool {
        let Some(index) = &mut self.index else { return false };
        let key = Key::of(&item.trigger);
        let places = index.places(&key);
        let earlier = places.and_then(|places| match &mut self.kind {
            Kind::Serial(line) => line.find(&key, places.last()),
            Kind::Keyed(line) => line.find(&key, places.last()),
        });
        let Some((places, earlier)) = places.zip(earlier) else {
            index.note(key, item, None);
            return false;
        };
        self.bytes -= earlier.bytes;
        let folded = places.fold(earlier, item);
        self.bytes += earlier.bytes;
        if !folded {
            index.note(key, item, Some(places));
        }
        folded
    }

    /// Subtracts items that no longer wait from the counts.
    pub(super) fn left(&mut self, items: &[Item], config: &QueueConfig) {
        self.length -= items.len();
        self.bytes -= items.iter().map(|item| item.bytes).sum::<usize>();
        let short = self.length <= config.max_pending.max(1) / 2 && self.bytes <= config.max_pending_bytes / 2;
        if short && self.pressed.is_empty() {
            (self.whole, self.index) = (false, None);
        } else if let Some(index) = &mut self.index {
            for item in items {
                index.remove(item);
            }
        }
    }

    /// Checks that the index knows every waiting trigger that folds, and nothing else.
    #[cfg(test)]
    pub(super) fn check_index(&self) {
        let folds = |item: &&Item| self.whole || self.pressed.contains(item.held.tenant());
        assert_eq!(self.index.is_some(), self.whole || !self.pressed.is_empty());
        assert!(self.index.as_ref().is_none_or(|index| index.len() == self.items().filter(folds).count()));
        assert_eq!(self.bytes, self.items().map(|item| item.bytes).sum::<usize>());
    }
}
