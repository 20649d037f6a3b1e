//! What happens when a tenant has no room for another event, even without its texts. First, all events of an object go
//! that was added and deleted while nothing of its hook ran. If the tenant then still uses more than half of what it may
//! have, bindings lose their waiting events and synchronize again: those that hold most come first. A binding that makes
//! no synchronizations comes last, because what it loses never arrives.
//!
//! A pass over everything of the tenant frees a part of its share, so that the next pass comes only after as many pushes.
//! What is not an event of an object is never refused, because it folds: a binding has one of each kind.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet},
    time::Instant,
};

use crate::{
    fair::Tenant,
    model::{self, BindingName, Cause, HookName, JobId, QueueName, Trigger, WatchEventKind},
};

use super::{
    State,
    coalesce::{self, Key},
    held::is_at_ease,
    item::{Item, LineId, object},
    line::LANE,
};

/// A binding whose waiting events were dropped for want of room.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Emptied {
    pub hook: HookName,
    pub binding: BindingName,
    pub queue: QueueName,
    /// The number of events.
    pub events: usize,
    /// A synchronization takes their place. Otherwise, the hook never receives them.
    pub synchronizes: bool,
    /// That is new since the tenant last had room, or since the binding's last synchronization.
    pub first: bool,
}

/// A hook's binding.
type Bound = (HookName, BindingName);

/// What waits of one binding.
#[derive(Debug, Default)]
struct Waiting {
    bytes: u64,
    /// A run of its synchronization will show its objects.
    synchronization: bool,
}

/// Bytes that a waiting trigger takes without its texts: its place in a queue, its object's, and the object's identity.
pub(super) fn bare(trigger: &Trigger) -> u64 {
    let identity = match &trigger.cause {
        Cause::Event(event) => {
            let (item, counts) = (&event.item, 2 * size_of::<usize>());
            let namespace = item.key.namespace.as_ref().map_or(0, |namespace| namespace.len() + counts);
            // The index has another copy of the uid.
            let names = namespace + item.key.name.len() + counts + 2 * item.uid.len() + item.resource_version.len();
            size_of::<model::Item>() + counts + names
        }
        Cause::Startup | Cause::Schedule(_) | Cause::Synchronization => 0,
    };
    (size_of::<Item>() + coalesce::PLACE + LANE + identity) as u64
}

fn bound(trigger: &Trigger) -> Bound {
    (trigger.hook.clone(), trigger.binding.clone())
}

impl State {
    /// Makes room for events of this tenant. O(n) in what waits of it.
    pub(super) fn overflow(&mut self, tenant: &Tenant) {
        self.drop_unseen(tenant);
        let mut waiting = self.waiting(tenant);
        let (mut used, mut free) = self.memory.used_and_free(tenant);
        let silent = |(hook, binding): &Bound| self.hooks.get(hook).is_some_and(|hook| hook.is_silent(binding));
        let mut order: Vec<_> = waiting.iter().filter(|(_, waiting)| waiting.bytes > 0).collect();
        order.sort_by_key(|(bound, waiting)| (silent(bound), Reverse(waiting.bytes)));
        let mut chosen = BTreeSet::new();
        for (bound, waiting) in order {
            if is_at_ease(used, free) {
                break;
            }
            (used, free) = (used.saturating_sub(waiting.bytes), free.saturating_add(waiting.bytes));
            chosen.insert(bound.clone());
        }
        if chosen.is_empty() {
            return;
        }
        let mut emptied: BTreeMap<Bound, (Trigger, usize)> = BTreeMap::new();
        let keep = |item: &mut Item| object(&item.trigger).is_none() || !chosen.contains(&bound(&item.trigger));
        for item in self.take_out(tenant, keep) {
            let (last, count) = emptied.entry(bound(&item.trigger)).or_insert_with(|| (item.trigger.clone(), 0));
            (*last, *count) = (item.trigger, *count + 1);
        }
        for (bound, (last, events)) in emptied {
            let synchronization = waiting.remove(&bound).is_some_and(|waiting| waiting.synchronization);
            self.synchronize_again(last, events, synchronization);
        }
    }

    /// Objects that came and went while nothing of their hook ran are in no snapshot that the hook opened, so it need
    /// not learn of them.
    fn drop_unseen(&mut self, tenant: &Tenant) {
        let idle = self.hooks.iter().filter(|(_, hook)| hook.running == 0 && hook.tenant == *tenant);
        let idle: BTreeMap<HookName, Option<Instant>> = idle.map(|(name, hook)| (name.clone(), hook.ended)).collect();
        self.take_out(tenant, |item| {
            let is_gone = matches!(&item.trigger.cause, Cause::Event(event) if event.kind == WatchEventKind::Deleted);
            let ended = idle.get(&item.trigger.hook);
            let ran = ended.is_none_or(|ended| ended.is_some_and(|ended| ended >= item.trigger.created));
            !item.unseen || !is_gone || ran
        });
    }

    /// What waits of each binding of the tenant: for a run, for the next try, or for its object to be quiet.
    fn waiting(&self, tenant: &Tenant) -> BTreeMap<Bound, Waiting> {
        let lines = self.lines.values().filter(|line| line.has_triggers_of(tenant)).flat_map(|line| line.items());
        let jobs = self.batches.values().filter(|batch| !batch.is_running()).flat_map(|batch| &batch.items);
        let mut waiting: BTreeMap<Bound, Waiting> = BTreeMap::new();
        for item in lines.chain(jobs).chain(self.debounce.items()).filter(|item| item.held.tenant() == tenant) {
            let of = waiting.entry(bound(&item.trigger)).or_default();
            of.synchronization |= matches!(item.trigger.cause, Cause::Synchronization);
            of.bytes += if object(&item.trigger).is_some() { item.all_bytes() } else { 0 };
        }
        waiting
    }

    /// Takes out what waits of the tenant and is not kept.
    fn take_out(&mut self, tenant: &Tenant, keep: impl Fn(&mut Item) -> bool) -> Vec<Item> {
        let mut keep = |item: &mut Item| item.held.tenant() != tenant || keep(item);
        let mut gone = Vec::new();
        for line in self.lines.values_mut().filter(|line| line.has_triggers_of(tenant)) {
            let of_line = line.retain(&mut keep, &self.config);
            line.folded += of_line.len() as u64;
            gone.extend(of_line);
        }
        let jobs = self.batches.iter().filter(|(_, batch)| !batch.is_running());
        let jobs: Vec<JobId> = jobs.map(|(id, _)| *id).collect();
        for id in jobs {
            gone.extend(self.retain_in_job(id, &mut keep));
        }
        self.leave(&gone);
        // Hooks do not count what is held.
        gone.extend(self.debounce.retain(&mut keep));
        self.look_again_everywhere();
        gone
    }

    /// Whether the event's news is in this line without it: it folds, or a synchronization will show its object.
    pub(super) fn is_covered(&mut self, item: &Item, line: LineId) -> bool {
        let Some(line) = self.lines.get_mut(&line) else { return false };
        line.has(&Key::of_synchronization(&item.trigger)) || line.would_fold(item)
    }

    /// An event for which there is no room is dropped, and its binding synchronizes again.
    pub(super) fn refuse(&mut self, item: Item, line: LineId) {
        let key = Key::of_synchronization(&item.trigger);
        let synchronization = self.lines.get(&line).is_some_and(|line| line.has(&key));
        self.leave(std::slice::from_ref(&item));
        self.synchronize_again(item.trigger, 1, synchronization);
    }

    /// Puts a synchronization in the place of dropped events, the last of which is this one, unless one waits or comes
    /// with the binding's list.
    fn synchronize_again(&mut self, last: Trigger, events: usize, waits: bool) {
        let (bound, Some(hook)) = (bound(&last), self.hooks.get(&last.hook)) else { return };
        let (synchronizes, waits) = (!hook.is_silent(&bound.1), waits || hook.expects(&bound.1));
        let ((hook, binding), queue) = (bound.clone(), last.queue.clone());
        if synchronizes && !waits {
            self.place_again(Trigger { cause: Cause::Synchronization, ..last });
        }
        let first = if synchronizes { !waits } else { self.warned.insert(bound) };
        self.emptied.push(Emptied { hook, binding, queue, events, synchronizes, first });
    }

    /// What was dropped since the last call.
    pub fn take_emptied(&mut self) -> Vec<Emptied> {
        std::mem::take(&mut self.emptied)
    }
}
