//! One queue of either kind, its length, and which of its triggers are folded: all of them when the queue is over its
//! bound, or only those of a tenant that has no room left in the memory that all queues share. Other code decides who
//! has room.

mod keyed;
mod serial;

use std::{
    collections::{BTreeSet, HashSet},
    time::Instant,
};

use crate::{
    fair::Tenant,
    model::{HookName, JobId, QueueName},
};

use super::{
    Pushed, QueueConfig,
    batching::Gathering,
    coalesce::{Index, Key, Of},
    item::{Batch, Batches, Item, Keep, ObjectId},
    preconditions::{Hold, Hook, Hooks},
    shares::Shares,
};
use keyed::Keyed;
pub(super) use keyed::LANE;
use serial::Serial;

/// What a line needs when it is asked for a job.
#[derive(Debug, Clone, Copy)]
pub(super) struct View<'a> {
    pub(super) hooks: &'a Hooks,
    pub(super) batches: &'a Batches,
    pub(super) config: &'a QueueConfig,
    pub(super) shares: &'a Shares,
    pub(super) now: Instant,
}

impl<'a> View<'a> {
    pub(super) fn is_paused(&self, hook: &HookName) -> bool {
        self.hooks.get(hook).is_some_and(Hook::stands_still)
    }

    /// The batch of a new job, or why none can begin with this trigger: gates first, then tokens, then slots.
    fn begin(&self, first: &Item) -> Result<Gathering<'a>, Taken> {
        let name = &first.trigger.hook;
        let hook = self.hooks.get(name);
        let hinders = hook.and_then(|hook| {
            let gated = hook.holds_back(first, &[]).then(|| Taken::Gated(name.clone()));
            gated.or_else(|| self.too_early(name, hook))
        });
        hinders.map_or_else(|| Ok(Gathering::new(first, hook, self.config)), Err)
    }

    /// The batch of this job's next try, or why it cannot begin.
    fn begin_again(&self, id: JobId) -> Result<(&'a Batch, Gathering<'a>), Taken> {
        let batch = self.batches.get(&id).ok_or(Taken::Nothing)?;
        let first = batch.items.first().ok_or(Taken::Nothing)?;
        let hook = self.hooks.get(&batch.hook);
        let hinders = hook.and_then(|hook| {
            let gated = hook.lacks(&batch.items).map(|_| Taken::Gated(batch.hook.clone()));
            gated.or_else(|| self.too_early(&batch.hook, hook))
        });
        hinders.map_or_else(|| Ok((batch, Gathering::again(first, batch, hook, self.config))), Err)
    }

    fn too_early(&self, name: &HookName, hook: &Hook) -> Option<Taken> {
        let early = hook.token_due(self.now).map(|due| Taken::TooEarly(name.clone(), due));
        let no_share = || (!self.shares.may_begin(&hook.tenant)).then(|| Taken::NoShare(hook.tenant.clone()));
        early.or_else(no_share)
    }

    /// Whether others pass this trigger in a shared queue.
    pub(super) fn is_passed(&self, item: &Item) -> bool {
        let waits = |hook: &Hook| hook.stands_still() || hook.hold(item, &[]).is_some_and(Hold::is_outside);
        self.hooks.get(&item.trigger.hook).is_some_and(waits)
    }

    /// Whether others pass this failed job in a shared queue. `due`: its next try may begin.
    pub(super) fn is_job_passed(&self, id: JobId, due: bool) -> bool {
        let Some(batch) = self.batches.get(&id) else { return false };
        let waits = |hook: &Hook| hook.stands_still() || due && hook.lacks(&batch.items).is_some();
        self.hooks.get(&batch.hook).is_some_and(waits)
    }
}

/// A line's answer.
#[derive(Debug)]
pub(super) enum Taken {
    /// Nothing can run until something else happens in this line.
    Nothing,
    /// The first trigger waits for this hook's gate, or for the end of its pause.
    Gated(HookName),
    /// The first trigger or job waits for this hook's next token.
    TooEarly(HookName, Instant),
    /// The first trigger or job belongs to this tenant, which has its share of the run slots.
    NoShare(Tenant),
    /// A new job.
    New(Vec<Item>),
    /// A job's next try, with the triggers that join it.
    Retry(JobId, Vec<Item>),
}

#[derive(Debug)]
enum Kind {
    Serial(Serial),
    Keyed(Keyed),
}

/// See the module.
#[derive(Debug)]
pub(super) struct Line {
    pub(super) name: QueueName,
    /// The tenant whose turn it is when the line is asked. A line with triggers of several tenants has turns of its
    /// own, but each job still uses its hook's share.
    tenant: Tenant,
    mixed: bool,
    /// The line is asked again when this tenant may begin a job.
    pub(super) unshared: Option<Tenant>,
    pub(super) concurrency: usize,
    /// The line is in the round of lines to ask.
    pub(super) asked_for: bool,
    /// Triggers that wait for their first run.
    pub(super) length: usize,
    /// The payload of these triggers.
    pub(super) bytes: usize,
    /// Jobs that run or wait for their next try.
    jobs: usize,
    /// Triggers that were folded into others since the line exists.
    pub(super) folded: u64,
    /// Triggers that were accepted beyond the bound since the line exists.
    pub(super) beyond: u64,
    kind: Kind,
    /// The index of the triggers that are folded.
    index: Option<Index>,
    /// All triggers are folded: the line is over its bound, or has not fallen to half of it since.
    whole: bool,
    /// Tenants whose triggers are folded.
    pressed: BTreeSet<Tenant>,
}

impl Line {
    pub(super) fn new(name: QueueName, tenant: Tenant, concurrency: usize) -> Self {
        let kind = if concurrency > 1 {
            Kind::Keyed(Keyed::new(concurrency))
        } else {
            Kind::Serial(Serial::new(matches!(name, QueueName::Shared(_))))
        };
        Self {
            name,
            tenant,
            mixed: false,
            unshared: None,
            concurrency,
            asked_for: false,
            length: 0,
            bytes: 0,
            jobs: 0,
            folded: 0,
            beyond: 0,
            kind,
            index: None,
            whole: false,
            pressed: BTreeSet::new(),
        }
    }

    pub(super) fn tenant(&self) -> &Tenant {
        &self.tenant
    }

    /// A trigger of this tenant arrives.
    pub(super) fn belongs_to(&mut self, tenant: &Tenant) {
        if self.tenant != *tenant && !self.mixed {
            self.mixed = true;
            // No hook's name has a slash.
            self.tenant = Tenant::hook(&format!("queue/{}", self.name));
            self.asked_for = false;
        }
    }

    /// Whether triggers of this tenant may be here.
    pub(super) fn has_triggers_of(&self, tenant: &Tenant) -> bool {
        self.mixed || self.tenant == *tenant
    }

    pub(super) fn is_empty(&self) -> bool {
        self.length == 0 && self.jobs == 0
    }

    pub(super) fn take(&mut self, view: View<'_>) -> Taken {
        if let QueueName::Own(owner) = &self.name
            && view.is_paused(owner)
        {
            return Taken::Gated(owner.clone());
        }
        let taken = match &mut self.kind {
            Kind::Serial(line) => line.take(view),
            Kind::Keyed(line) => line.take(view),
        };
        let taken = taken.unwrap_or_else(|hindered| hindered);
        match &taken {
            Taken::New(items) => {
                self.jobs += 1;
                self.left(items, view.config);
            }
            Taken::Retry(_, items) => self.left(items, view.config),
            Taken::Nothing | Taken::Gated(_) | Taken::TooEarly(..) | Taken::NoShare(_) => {}
        }
        taken
    }

    /// The job no longer runs. It waits, or is about to end.
    pub(super) fn stopped(&mut self) {
        if let Kind::Keyed(line) = &mut self.kind {
            line.stopped();
        }
    }

    /// The stopped job no longer has the objects of `gone`, except those that `kept` has, too.
    pub(super) fn released(&mut self, gone: &[Item], kept: &[Item]) {
        if let Kind::Keyed(line) = &mut self.kind {
            let kept: HashSet<ObjectId> = kept.iter().filter_map(Item::object).collect();
            line.release(gone.iter().filter_map(Item::object).filter(|object| !kept.contains(object)));
        }
    }

    /// In a shared queue, others pass the stopped job, because nothing of its hook may start.
    pub(super) fn put_aside(&mut self, id: JobId, hook: &HookName, due: bool) {
        if let (Kind::Serial(line), QueueName::Shared(_)) = (&mut self.kind, &self.name) {
            line.put_aside(id, hook, due);
        }
    }

    /// Whether others pass triggers or jobs of this hook.
    pub(super) fn has_aside(&self, hook: &HookName) -> bool {
        matches!(&self.kind, Kind::Serial(line) if line.has_aside(hook))
    }

    /// The first triggers of each hook that others pass.
    pub(super) fn aside(&self) -> impl Iterator<Item = &Item> {
        let line = match &self.kind {
            Kind::Serial(line) => Some(line),
            Kind::Keyed(_) => None,
        };
        line.into_iter().flat_map(Serial::first_aside)
    }

    /// The stopped job may run again now.
    pub(super) fn due(&mut self, id: JobId) {
        match &mut self.kind {
            Kind::Serial(line) => line.due(id),
            Kind::Keyed(line) => line.due(id),
        }
    }

    /// The stopped job is done.
    pub(super) fn ended(&mut self, id: JobId, batch: &Batch) {
        self.jobs -= 1;
        match &mut self.kind {
            Kind::Serial(line) => line.ended(id),
            Kind::Keyed(line) => line.ended(id, batch),
        }
    }

    /// Takes out the triggers of this hook that wait for their first run. O(n).
    pub(super) fn remove_hook(&mut self, hook: &HookName, config: &QueueConfig) -> Vec<Item> {
        let gone = match &mut self.kind {
            Kind::Serial(line) => line.remove_hook(hook),
            Kind::Keyed(line) if matches!(&self.name, QueueName::Own(owner) if owner == hook) => line.clear(),
            Kind::Keyed(_) => Vec::new(),
        };
        self.left(&gone, config);
        gone
    }

    /// Takes out the triggers that wait for their first run and are not kept. O(n log n).
    pub(super) fn retain(&mut self, keep: &mut Keep<'_>, config: &QueueConfig) -> Vec<Item> {
        let gone = match &mut self.kind {
            Kind::Serial(line) => line.retain(keep),
            Kind::Keyed(line) => line.retain(keep),
        };
        self.left(&gone, config);
        gone
    }

    /// Everything that waits for its first run, in order, with the triggers of paused hooks in front. If order is kept
    /// for each object, this is object by object.
    pub(super) fn items(&self) -> Box<dyn Iterator<Item = &Item> + '_> {
        match &self.kind {
            Kind::Serial(line) => Box::new(line.items()),
            Kind::Keyed(line) => Box::new(line.items()),
        }
    }

    /// The oldest trigger that waits for its first run.
    pub(super) fn oldest(&self) -> Option<&Item> {
        match &self.kind {
            Kind::Serial(line) => line.oldest(),
            Kind::Keyed(line) => line.next(),
        }
    }

    /// What would be taken next if no job were in the way.
    pub(super) fn next(&self) -> Option<&Item> {
        match &self.kind {
            Kind::Serial(line) => line.next(),
            Kind::Keyed(line) => line.next(),
        }
    }

    /// Also returns the items that were folded into others on this occasion.
    pub(super) fn push(&mut self, mut item: Item, config: &QueueConfig) -> (Pushed, Vec<Item>) {
        let mut gone = Vec::new();
        if !self.whole && self.would_exceed(&item, config) {
            (self.whole, self.index) = (true, None);
            gone = self.sweep(&|_| true);
        }
        let folds = self.whole || self.pressed.contains(item.held.tenant());
        if folds && self.fold_or_note(&mut item) {
            self.folded += 1;
            gone.push(item);
            return (Pushed::Folded, gone);
        }
        if !item.held.is_whole() {
            item.settle();
        }
        let beyond = folds && self.would_exceed(&item, config) || item.loose_bytes() > 0;
        self.beyond += u64::from(beyond);
        self.length += 1;
        self.bytes += item.bytes;
        match &mut self.kind {
            Kind::Serial(line) => line.push(item),
            Kind::Keyed(line) => line.push(item),
        }
        (if beyond { Pushed::Beyond } else { Pushed::Queued }, gone)
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

    /// Whether a trigger with this key waits here, of a tenant whose triggers are folded.
    pub(super) fn has(&self, key: &Key) -> bool {
        self.index.as_ref().is_some_and(|index| index.places(key).is_some())
    }

    /// Whether the trigger would be folded into one that waits here.
    pub(super) fn would_fold(&mut self, item: &Item) -> bool {
        let key = Key::of(&item.trigger);
        let Some(places) = self.index.as_ref().and_then(|index| index.places(&key)) else { return false };
        let earlier = match &mut self.kind {
            Kind::Serial(line) => line.find(&key, places.last()),
            Kind::Keyed(line) => line.find(&key, places.last()),
        };
        earlier.is_some_and(|earlier| places.folds(earlier, item))
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
    fn left(&mut self, items: &[Item], config: &QueueConfig) {
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
