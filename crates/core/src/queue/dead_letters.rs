//! Dead letters: triggers that were given up, kept within bounds until somebody retries or drops them.
//!
//! A letter's event is *superseded* when the hook received a later event of the same object, or of another object with
//! its name, or a later synchronization of its binding. The hook has then seen a newer state, so it never receives the
//! older one. Triggers of other kinds are about the time at which they run, and are never superseded.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap, HashSet},
    sync::Arc,
    time::{Instant, SystemTime},
};

use crate::{
    fair::Tenant,
    model::{BindingName, Cause, Failure, HookName, QueueName, Trigger},
};

use super::{QueueConfig, coalesce::Key, held::Held, item::Item};

/// What a trigger takes at least in addition to its payload.
const TRIGGER_BYTES: usize = 256;

/// Triggers of one job that were given up together.
#[derive(Debug, Clone, PartialEq)]
pub struct DeadLetter {
    /// Grows with every letter.
    pub id: u64,
    pub hook: HookName,
    /// The queue that the job was in.
    pub queue: QueueName,
    /// The binding of the oldest trigger.
    pub binding: BindingName,
    /// Oldest first. There is at least one.
    pub triggers: Arc<[Trigger]>,
    /// The failure of the last run.
    pub failure: Failure,
    /// Failed runs of the oldest trigger.
    pub attempts: u32,
    /// When they were given up.
    pub since: Instant,
    /// How many of the triggers will not run again, because the hook received a newer state.
    pub superseded: usize,
}

impl DeadLetter {
    /// `since` by the wall clock, given what both clocks show now.
    pub fn since_by(&self, now: Instant, wall: SystemTime) -> SystemTime {
        wall.checked_sub(now.saturating_duration_since(self.since)).unwrap_or(SystemTime::UNIX_EPOCH)
    }
}

/// Selects dead letters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Letters {
    /// Those with these ids. Unknown ids are ignored.
    Ids(Vec<u64>),
    /// Those of a hook.
    Hook(HookName),
    All,
}

#[derive(Debug)]
struct Kept {
    letter: DeadLetter,
    /// The numbers of the triggers' news.
    born: Vec<u64>,
    superseded: Vec<bool>,
    bytes: usize,
    tenant: Tenant,
    /// What the triggers hold.
    _held: Vec<Held>,
}

/// A dead letter's trigger that will run again.
#[derive(Debug)]
pub(super) struct Requeued {
    pub(super) born: u64,
    pub(super) trigger: Trigger,
}

/// All letters.
#[derive(Debug, Default)]
pub(super) struct Archive {
    last: u64,
    kept: BTreeMap<u64, Kept>,
    bytes: usize,
    /// The number of letters and the bytes of each tenant.
    tenants: BTreeMap<Tenant, (usize, usize)>,
    /// The events that news with this key would supersede: the letter, and the place in it.
    watched: HashMap<Key, BTreeSet<(u64, usize)>>,
    /// The newest synchronization of each binding that the hook received.
    synchronised: HashMap<Key, u64>,
}

impl Archive {
    pub(super) fn len(&self) -> usize {
        self.kept.len()
    }

    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    pub(super) fn letters(&self) -> impl Iterator<Item = DeadLetter> {
        self.kept.values().map(|kept| kept.letter.clone())
    }

    /// Keeps a letter. Returns its id, and the letters that made room for it. A letter that is larger than the bound is
    /// the only one of its tenant.
    pub(super) fn add(
        &mut self,
        (hook, queue): (HookName, QueueName),
        items: Vec<Item>,
        failure: &Failure,
        now: Instant,
        config: &QueueConfig,
    ) -> (Option<u64>, Vec<DeadLetter>) {
        let Some(first) = items.first() else { return (None, Vec::new()) };
        self.last += 1;
        let id = self.last;
        let (binding, attempts) = (first.trigger.binding.clone(), first.tries);
        let tenant = first.held.tenant().clone();
        self.supersede_by_first(&items);
        let text = failure.message.len() + failure.backtrace.as_ref().map_or(0, String::len);
        let bytes = text + items.iter().map(bytes_of).sum::<usize>();
        let superseded: Vec<bool> = items.iter().map(|item| self.is_synchronised_since(item)).collect();
        for (place, item) in items.iter().enumerate().filter(|(place, _)| superseded.get(*place) == Some(&false)) {
            for key in keys(&item.trigger) {
                self.watched.entry(key).or_default().insert((id, place));
            }
        }
        let born = items.iter().map(|item| item.born).collect();
        let (triggers, held): (Vec<_>, Vec<_>) = items.into_iter().map(|item| (item.trigger, item.held)).unzip();
        let letter = DeadLetter {
            id,
            hook,
            queue,
            binding,
            triggers: triggers.into(),
            failure: failure.clone(),
            attempts,
            since: now,
            superseded: superseded.iter().filter(|superseded| **superseded).count(),
        };
        self.bytes += bytes;
        let (letters, of_tenant) = self.tenants.entry(tenant.clone()).or_default();
        (*letters, *of_tenant) = (*letters + 1, *of_tenant + bytes);
        self.kept.insert(id, Kept { letter, born, superseded, bytes, tenant, _held: held });
        (Some(id), self.make_room(id, config))
    }

    /// The oldest letters of the tenant that has most go until the bounds hold. The new letter stays.
    fn make_room(&mut self, new: u64, config: &QueueConfig) -> Vec<DeadLetter> {
        let mut gone = Vec::new();
        loop {
            let too_large = self.bytes > config.max_dead_letter_bytes;
            if !too_large && self.kept.len() <= config.max_dead_letters.max(1) {
                return gone;
            }
            let has = |(letters, bytes): &(usize, usize)| if too_large { *bytes } else { *letters };
            let most = self.tenants.iter().max_by_key(|(_, all)| has(all)).map(|(tenant, _)| tenant);
            let oldest = self.kept.iter().find(|(id, kept)| **id != new && Some(&kept.tenant) == most);
            let Some(id) = oldest.map(|(id, _)| *id) else { return gone };
            gone.extend(self.take(id).map(|kept| kept.letter));
        }
    }

    fn is_synchronised_since(&self, item: &Item) -> bool {
        let newest = || self.synchronised.get(&Key::of_synchronization(&item.trigger));
        !keys(&item.trigger).is_empty() && newest().is_some_and(|newest| *newest > item.born)
    }

    /// A new letter supersedes what older letters say about its objects. Its own triggers do not supersede each other.
    fn supersede_by_first(&mut self, items: &[Item]) {
        let mut seen = HashSet::new();
        let watched = if self.watched.is_empty() { &[] } else { items };
        for item in watched {
            let key = Key::of_news(&item.trigger);
            if seen.insert(key.clone()) {
                self.supersede(&key, item.born);
            }
        }
        self.note_synchronizations(items);
    }

    /// The hook received these.
    pub(super) fn delivered(&mut self, items: &[Item]) {
        if !self.watched.is_empty() {
            items.iter().for_each(|item| self.supersede(&Key::of_news(&item.trigger), item.born));
        }
        self.note_synchronizations(items);
    }

    fn note_synchronizations(&mut self, items: &[Item]) {
        for item in items.iter().filter(|item| matches!(item.trigger.cause, Cause::Synchronization)) {
            let newest = self.synchronised.entry(Key::of(&item.trigger)).or_default();
            *newest = item.born.max(*newest);
        }
    }

    fn supersede(&mut self, key: &Key, born: u64) {
        let Some(watched) = self.watched.get_mut(key) else { return };
        let kept = &mut self.kept;
        watched.retain(|(id, place)| {
            let Some(kept) = kept.get_mut(id) else { return false };
            let older = kept.born.get(*place).is_some_and(|own| *own < born);
            if older && let Some(flag @ false) = kept.superseded.get_mut(*place) {
                *flag = true;
                kept.letter.superseded += 1;
            }
            !older
        });
        if watched.is_empty() {
            self.watched.remove(key);
        }
    }

    pub(super) fn select(&self, which: &Letters) -> Vec<u64> {
        match which {
            Letters::All => self.kept.keys().copied().collect(),
            Letters::Ids(ids) => ids.iter().copied().filter(|id| self.kept.contains_key(id)).collect(),
            Letters::Hook(hook) => {
                let of_hook = self.kept.iter().filter(|(_, kept)| kept.letter.hook == *hook);
                of_hook.map(|(id, _)| *id).collect()
            }
        }
    }

    /// Forgets a hook's letters that have no trigger to keep. In the other letters, triggers that are not kept count as
    /// superseded.
    pub(super) fn retain(&mut self, hook: &HookName, keep: &mut dyn FnMut(&mut Trigger) -> bool) {
        for id in self.select(&Letters::Hook(hook.clone())) {
            let Some(kept) = self.kept.get_mut(&id) else { continue };
            let mut triggers = kept.letter.triggers.to_vec();
            let keeps: Vec<bool> = triggers.iter_mut().map(&mut *keep).collect();
            if !keeps.contains(&true) {
                self.take(id);
                continue;
            }
            kept.letter.triggers = triggers.into();
            for (superseded, _) in kept.superseded.iter_mut().zip(keeps).filter(|(_, keep)| !keep) {
                kept.letter.superseded += usize::from(!std::mem::replace(superseded, true));
            }
        }
    }

    /// Forgets everything about a hook.
    pub(super) fn forget(&mut self, hook: &HookName) {
        self.drop(&Letters::Hook(hook.clone()));
        self.synchronised.retain(|key, _| key.hook() != hook);
    }

    /// Forgets letters. Returns how many.
    pub(super) fn drop(&mut self, which: &Letters) -> usize {
        let ids = self.select(which);
        ids.into_iter().filter_map(|id| self.take(id)).count()
    }

    fn take(&mut self, id: u64) -> Option<Kept> {
        let kept = self.kept.remove(&id)?;
        self.bytes -= kept.bytes;
        if let Some((letters, bytes)) = self.tenants.get_mut(&kept.tenant) {
            (*letters, *bytes) = (*letters - 1, *bytes - kept.bytes);
            if *letters == 0 {
                self.tenants.remove(&kept.tenant);
            }
        }
        for (place, trigger) in kept.letter.triggers.iter().enumerate() {
            for key in keys(trigger) {
                if let Some(watched) = self.watched.get_mut(&key) {
                    watched.remove(&(id, place));
                    if watched.is_empty() {
                        self.watched.remove(&key);
                    }
                }
            }
        }
        Some(kept)
    }

    /// Takes letters out to retry them. Returns their triggers in the order of their news, without those that are
    /// superseded, and the number of those.
    pub(super) fn requeue(&mut self, ids: Vec<u64>) -> (Vec<Requeued>, usize) {
        let (mut requeued, mut superseded) = (Vec::new(), 0);
        for kept in ids.into_iter().filter_map(|id| self.take(id)) {
            superseded += kept.letter.superseded;
            let triggers = kept.letter.triggers.iter().zip(kept.born).zip(kept.superseded);
            let current = triggers.filter(|(_, superseded)| !superseded);
            requeued.extend(current.map(|((trigger, born), _)| Requeued { born, trigger: trigger.clone() }));
        }
        requeued.sort_by_key(|requeued| requeued.born);
        (requeued, superseded)
    }
}

fn bytes_of(item: &Item) -> usize {
    let bare = usize::try_from(item.held.bare_bytes()).unwrap_or(usize::MAX);
    item.bytes.saturating_add(bare.max(TRIGGER_BYTES))
}

/// The keys of what would supersede this trigger.
pub(super) fn keys(trigger: &Trigger) -> Vec<Key> {
    if !matches!(trigger.cause, Cause::Event(_)) || trigger.group.is_some() {
        return Vec::new();
    }
    vec![Key::of_news(trigger), Key::of_synchronization(trigger)]
}
