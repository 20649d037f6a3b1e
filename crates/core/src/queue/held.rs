//! What queues hold of the process's memory: triggers that wait, that a job has, or that are dead letters, and their
//! texts. Tenants have fair shares of it. A text that several triggers of a tenant hold counts once. Texts leave some of
//! a tenant's share for triggers without texts.
//!
//! [`Item`](super::item::Item) decides what happens to a trigger whose texts have no room, and
//! [`overflow`](super::overflow) what happens if there is no room for the trigger itself.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
};

use crate::{
    fair::{Pool, SHARE, Share, Tenant},
    model::Trigger,
};

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
    /// Bytes that a trigger takes without its texts.
    pub(super) bare: fn(&Trigger) -> u64,
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
    /// The share for the trigger without its texts.
    bare: Share,
    /// There is room for the trigger without its texts.
    charged: bool,
    /// The share for short texts.
    share: Share,
    large: [Option<Arc<Text>>; 4],
    /// Whether it holds everything that it should hold.
    whole: bool,
}

impl Memory {
    pub(super) fn new(bytes: u64, bare: fn(&Trigger) -> u64) -> Self {
        Self { pool: Pool::new(bytes), large: Arc::default(), bare }
    }

    /// For a trigger of this tenant. It holds nothing yet.
    pub(super) fn nothing(&self, tenant: &Tenant) -> Held {
        let (bare, share) = (self.pool.nothing(tenant), self.pool.nothing(tenant));
        Held { memory: self.clone(), bare, charged: false, share, large: Default::default(), whole: false }
    }

    pub(super) fn used(&self, tenant: &Tenant) -> u64 {
        self.pool.used(tenant)
    }

    pub(super) fn used_and_free(&self, tenant: &Tenant) -> (u64, u64) {
        (self.used(tenant), self.pool.free())
    }

    /// Whether the tenant uses no more than half of what it may have now.
    pub(super) fn is_at_ease(&self, tenant: &Tenant) -> bool {
        let (used, free) = self.used_and_free(tenant);
        is_at_ease(used, free)
    }

    /// Whether texts of the tenant leave room for triggers without texts.
    fn leaves_room(&self, tenant: &Tenant) -> bool {
        self.used(tenant) <= self.pool.free().saturating_mul(SHARE - 1)
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

    /// Takes room for the trigger without its texts. Returns whether there is room.
    pub(super) fn charge(&mut self, trigger: &Trigger) -> bool {
        let (bytes, before) = ((self.memory.bare)(trigger), self.bare.units());
        self.bare.shrink(before.saturating_sub(bytes));
        self.charged |= bytes <= before || self.bare.grow(bytes - before);
        self.charged
    }

    /// Whether there was room for the trigger without its texts.
    pub(super) fn is_charged(&self) -> bool {
        self.charged
    }

    /// Bytes of the trigger without its texts.
    pub(super) fn bare_bytes(&self) -> u64 {
        self.bare.units()
    }

    /// Holds these texts instead of the previous ones. Returns false if there is no room for all of them. Then it holds
    /// none of them.
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
        fits &= texts == [None; 4] || self.memory.leaves_room(self.tenant());
        if !fits {
            self.no_texts();
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
        self.no_texts();
        self.charged = false;
        self.bare.shrink(u64::MAX);
    }

    /// Holds no texts.
    pub(super) fn no_texts(&mut self) {
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

/// Whether a tenant that uses so much uses no more than half of what it may have.
pub(super) fn is_at_ease(used: u64, free: u64) -> bool {
    used.saturating_mul(2) <= free.saturating_mul(SHARE)
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
        let (memory, tenant) = (Memory::new(100_000, |_| 0), Tenant::hook("h"));
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
        let (memory, tenant) = (Memory::new(100_000, |_| 0), Tenant::hook("h"));
        let mut held = memory.nothing(&tenant);
        assert!(held.hold([Some(&text(60_000)), Some(&text(10)), None, None]));
        assert!(held.hold([Some(&text(65_000)), None, Some(&text(20)), None]));
        assert_eq!(memory.used(&tenant), 65_020);
        assert!(!held.hold([Some(&text(65_000)), None, Some(&text(20_000)), None]));
        assert_eq!(memory.used(&tenant), 0);
    }
}
