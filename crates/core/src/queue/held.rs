//! What queues hold of the process's memory: the texts of triggers that wait, that a job has, or that are dead letters.
//! Tenants have fair shares of it. A text that several triggers of a tenant hold counts once.
//!
//! [`Item`](super::item::Item) decides what happens to a trigger whose texts have no room.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
};

use crate::fair::{Pool, SHARE, Share, Tenant};

/// A shorter text counts for each trigger, because the search for others that hold it costs more than it saves.
const LARGE: usize = 1024;

/// The object, the filter result, and both before the change.
pub(super) type Texts<'a> = [Option<&'a Arc<str>>; 4];

/// A tenant's large texts by their addresses.
type Large = HashMap<(Tenant, usize), Weak<Text>>;

/// The memory that all queues may hold together.
#[derive(Debug, Clone)]
pub(super) struct Memory {
    pool: Pool,
    large: Arc<Mutex<Large>>,
}

/// A large text, which keeps its address while it is counted.
#[derive(Debug)]
struct Text {
    text: Arc<str>,
    share: Share,
    memory: Memory,
}

/// What one trigger holds.
#[derive(Debug)]
pub(super) struct Held {
    memory: Memory,
    /// The share for short texts.
    share: Share,
    large: [Option<Arc<Text>>; 4],
    /// Whether it holds everything that it should hold.
    whole: bool,
}

impl Memory {
    pub(super) fn new(bytes: u64) -> Self {
        Self { pool: Pool::new(bytes), large: Arc::default() }
    }

    /// For a trigger of this tenant. It holds nothing yet.
    pub(super) fn nothing(&self, tenant: &Tenant) -> Held {
        Held { memory: self.clone(), share: self.pool.nothing(tenant), large: Default::default(), whole: false }
    }

    pub(super) fn used(&self, tenant: &Tenant) -> u64 {
        self.pool.used(tenant)
    }

    /// Whether the tenant uses no more than half of what it may have now.
    pub(super) fn is_at_ease(&self, tenant: &Tenant) -> bool {
        self.used(tenant).saturating_mul(2) <= self.pool.free().saturating_mul(SHARE)
    }

    #[cfg(test)]
    pub(super) fn all_used(&self) -> u64 {
        self.pool.capacity() - self.pool.free()
    }

    fn lock(&self) -> MutexGuard<'_, Large> {
        self.large.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Held {
    pub(super) fn tenant(&self) -> &Tenant {
        self.share.tenant()
    }

    /// Holds these texts instead of the previous ones. Returns false if there is no room for all of them. Then it holds
    /// nothing.
    pub(super) fn hold(&mut self, texts: Texts<'_>) -> bool {
        let large = texts.map(|text| text.filter(|text| text.len() >= LARGE));
        let short = texts.into_iter().flatten().map(|text| text.len()).filter(|len| *len < LARGE).sum::<usize>() as u64;
        // Texts that stay are found before the others are dropped, so that they are not counted again.
        self.large = large.map(|text| self.memory.known(self.tenant(), text?));
        let before = self.share.units();
        self.share.shrink(before.saturating_sub(short));
        let mut fits = short <= before || self.share.grow(short - before);
        let Self { memory, share, large: held, .. } = self;
        for (held, text) in held.iter_mut().zip(large) {
            if let (None, Some(text)) = (&held, text) {
                *held = memory.known(share.tenant(), text).or_else(|| memory.another(share, text));
                fits &= held.is_some();
            }
        }
        if !fits {
            self.nothing();
        }
        self.whole = fits;
        fits
    }

    /// Whether it holds all texts of the last call of [`Self::hold`].
    pub(super) fn is_whole(&self) -> bool {
        self.whole
    }

    /// Holds nothing.
    pub(super) fn nothing(&mut self) {
        self.whole = false;
        self.large = Default::default();
        self.share.shrink(u64::MAX);
    }
}

impl Memory {
    fn known(&self, tenant: &Tenant, text: &Arc<str>) -> Option<Arc<Text>> {
        self.lock().get(&key(tenant, text))?.upgrade()
    }

    fn another(&self, beside: &Share, text: &Arc<str>) -> Option<Arc<Text>> {
        let share = beside.another(text.len() as u64)?;
        let held = Arc::new(Text { text: text.clone(), share, memory: self.clone() });
        self.lock().insert(key(beside.tenant(), text), Arc::downgrade(&held));
        Some(held)
    }
}

fn key(tenant: &Tenant, text: &Arc<str>) -> (Tenant, usize) {
    (tenant.clone(), text.as_ptr().addr())
}

impl Drop for Text {
    fn drop(&mut self) {
        let (mut large, key) = (self.memory.lock(), key(self.share.tenant(), &self.text));
        if large.get(&key).is_some_and(|known| known.strong_count() == 0) {
            large.remove(&key);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(bytes: usize) -> Arc<str> {
        "x".repeat(bytes).into()
    }

    #[test]
    fn a_text_that_several_hold_counts_once_until_the_last_one_goes() {
        let (memory, tenant) = (Memory::new(100_000), Tenant::hook("h"));
        let (large, short) = (text(50_000), text(1_000));
        let mut held: Vec<Held> = (0..10).map(|_| memory.nothing(&tenant)).collect();
        for held in &mut held {
            assert!(held.hold([Some(&large), Some(&short), None, Some(&large)]));
        }
        assert_eq!(memory.used(&tenant), 50_000 + 10 * 1_000);
        held.truncate(1);
        assert_eq!(memory.used(&tenant), 51_000);
        assert!(memory.large.lock().is_ok_and(|large| large.len() == 1));
        drop(held);
        assert_eq!(memory.used(&tenant), 0);
        assert!(memory.large.lock().is_ok_and(|large| large.is_empty()));
    }

    #[test]
    fn what_goes_makes_room_for_what_comes_and_no_room_means_nothing() {
        let (memory, tenant) = (Memory::new(100_000), Tenant::hook("h"));
        let mut held = memory.nothing(&tenant);
        assert!(held.hold([Some(&text(60_000)), Some(&text(10)), None, None]));
        assert!(held.hold([Some(&text(70_000)), None, Some(&text(20)), None]));
        assert_eq!(memory.used(&tenant), 70_020);
        assert!(!held.hold([Some(&text(70_000)), None, Some(&text(20_000)), None]));
        assert_eq!(memory.used(&tenant), 0);
    }
}
