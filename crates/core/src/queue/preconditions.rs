//! Decides which triggers wait: for their hook's start-up, for a synchronization, or for a complete snapshot. This holds
//! across queues. The line orders the triggers of one queue. `app/binding_states.rs` of the operator decides when a
//! binding's triggers enter the queues at all.
//!
//! - While a hook's start-up is not done, its later triggers wait.
//! - While a binding's synchronization is not done, the hook's later events and ticks wait. If the binding has
//!   `waitForSynchronization: false` (it is *in the background*), only its own events wait. Within one run, a trigger
//!   may come with the synchronization that it waits for if both are of one group, because they are delivered as one.
//! - A trigger that includes the snapshot of a binding whose objects were not listed yet waits for the list, because
//!   the run would take an empty snapshot for the truth. The same applies to a snapshot that is missing objects for
//!   some time, and also to a job's next try.
//! - A binding that will be listed keeps a place for its synchronization, and the gate of that place is already closed.
//!   Bindings in the background keep no place.
//!
//! A trigger that was given up counts as done, because the hook would otherwise stand still forever.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    sync::Arc,
    time::Instant,
};

use crate::{
    fair::Tenant,
    model::{BindingName, Cause, HookName, Trigger},
};

use super::{
    HookQueueConfig,
    item::{Item, LineId},
    rate_limit::Bucket,
};

/// The hooks that may have triggers.
pub(super) type Hooks = HashMap<HookName, Hook>;

/// Synchronizations of a group that run in the current batch, by number.
pub(super) type BatchMembers = [(u64, Arc<str>)];

/// What a trigger waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Hold<'a> {
    Startup,
    Synchronization(&'a BindingName),
    List(&'a BindingName),
    /// The snapshot is missing objects.
    Snapshot(&'a BindingName),
}

impl Hold<'_> {
    /// Whether it ends through something outside of the queues, at a time that nobody knows. Others do not wait with
    /// it.
    pub(super) fn is_outside(self) -> bool {
        matches!(self, Self::List(_) | Self::Snapshot(_))
    }
}

/// One hook's gates, and what the queues know about the hook.
#[derive(Debug, Default)]
pub(super) struct Hook {
    pub(super) terms: HookQueueConfig,
    /// The tenant whose share its jobs and triggers use.
    pub(super) tenant: Tenant,
    pub(super) bucket: Option<Bucket>,
    pub(super) paused: bool,
    /// Nothing of it starts, for another reason than a pause: it is being replaced.
    pub(super) held: bool,
    /// Nothing of it starts, because its module is paused.
    pub(super) suspended: bool,
    /// Triggers that are not done.
    pub(super) outstanding: usize,
    /// Jobs that run.
    pub(super) running: usize,
    /// When the last job ended.
    pub(super) ended: Option<Instant>,
    /// Queues whose head waits for one of its gates, or for the end of its pause.
    pub(super) waiting: BTreeSet<LineId>,
    /// Queues whose head waits for a token, in the order in which they will be asked.
    pub(super) waiting_for_token: Vec<LineId>,
    startups: BTreeSet<u64>,
    /// All synchronizations that are not done.
    synchronizations: HashMap<BindingName, BTreeSet<u64>>,
    /// The synchronizations that the whole hook waits for.
    blocking: BTreeMap<u64, BindingName>,
    /// Bindings whose objects will be listed, and the places of their synchronizations.
    unlisted: HashMap<BindingName, Option<u64>>,
    /// Bindings whose snapshots are missing objects.
    incomplete: BTreeSet<BindingName>,
    places: BTreeMap<u64, BindingName>,
}

impl Hook {
    /// Whether nothing of the hook may start now.
    pub(super) fn stands_still(&self) -> bool {
        self.is_paused() || self.held
    }

    /// Whether somebody has paused it, or its module.
    pub(super) fn is_paused(&self) -> bool {
        self.paused || self.suspended
    }

    fn in_background(&self, binding: &BindingName) -> bool {
        self.terms.in_background.contains(binding)
    }

    /// The number of a new trigger. A synchronization gets the place that was kept for it. Places behind a start-up
    /// move with the start-up.
    pub(super) fn number(&mut self, trigger: &Trigger, last: &mut u64) -> u64 {
        let kept = match trigger.cause {
            Cause::Synchronization => self.unlisted.get_mut(&trigger.binding).and_then(Option::take),
            Cause::Startup | Cause::Schedule(_) | Cause::Event(_) => None,
        };
        if let Some(kept) = kept {
            self.places.remove(&kept);
            return kept;
        }
        *last += 1;
        let number = *last;
        if matches!(trigger.cause, Cause::Startup) {
            for binding in std::mem::take(&mut self.places).into_values() {
                *last += 1;
                self.keep_place(binding, *last);
            }
        }
        number
    }

    fn keep_place(&mut self, binding: BindingName, place: u64) {
        self.places.insert(place, binding.clone());
        self.unlisted.insert(binding, Some(place));
    }

    /// Whether the binding's list, and with it its synchronization, is still to come.
    pub(super) fn expects(&self, binding: &BindingName) -> bool {
        self.unlisted.contains_key(binding)
    }

    /// Whether the binding makes no synchronizations.
    pub(super) fn is_silent(&self, binding: &BindingName) -> bool {
        self.terms.silent.contains(binding)
    }

    /// Counts a new trigger, and closes the gate that it stands for. Only the binding's own events wait for a
    /// synchronization that is made `again`.
    pub(super) fn enter(&mut self, item: &Item, again: bool) {
        self.outstanding += 1;
        let binding = &item.trigger.binding;
        match item.trigger.cause {
            Cause::Startup => {
                self.startups.insert(item.seq);
            }
            Cause::Synchronization => {
                self.synchronizations.entry(binding.clone()).or_default().insert(item.seq);
                if !again && !self.in_background(binding) {
                    self.blocking.insert(item.seq, binding.clone());
                }
            }
            Cause::Schedule(_) | Cause::Event(_) => {}
        }
    }

    /// Removes a trigger from the count. Returns true if a gate may have opened.
    pub(super) fn leave(&mut self, item: &Item) -> bool {
        self.outstanding = self.outstanding.saturating_sub(1);
        match item.trigger.cause {
            Cause::Startup => self.startups.remove(&item.seq),
            Cause::Synchronization => {
                self.blocking.remove(&item.seq);
                let Some(pending) = self.synchronizations.get_mut(&item.trigger.binding) else { return false };
                pending.remove(&item.seq);
                if pending.is_empty() {
                    self.synchronizations.remove(&item.trigger.binding);
                }
                true
            }
            Cause::Schedule(_) | Cause::Event(_) => false,
        }
    }

    /// From now on, triggers that need this binding's list or synchronization wait. `place` is free.
    pub(super) fn expect_list(&mut self, binding: BindingName, place: u64) {
        if self.in_background(&binding) {
            self.unlisted.insert(binding, None);
        } else if self.unlisted.get(&binding).is_none_or(Option::is_none) {
            self.keep_place(binding, place);
        }
    }

    /// The binding's list may take forever, so only triggers that include its snapshot wait for it. Returns true if a
    /// gate may have opened.
    pub(super) fn exempt_from_sync(&mut self, binding: &BindingName) -> bool {
        let Some(place) = self.unlisted.get_mut(binding).and_then(Option::take) else { return false };
        self.places.remove(&place).is_some()
    }

    /// The binding's snapshot is there, and its synchronization was pushed if it makes one. Returns true if a gate may
    /// have opened.
    pub(super) fn listed(&mut self, binding: &BindingName) -> bool {
        let Some(place) = self.unlisted.remove(binding) else { return false };
        if let Some(place) = place {
            self.places.remove(&place);
        }
        true
    }

    /// The binding's snapshot has all objects again. Returns true if a gate may have opened.
    pub(super) fn complete(&mut self, binding: &BindingName) -> bool {
        self.incomplete.remove(binding)
    }

    /// The binding's snapshot is missing objects.
    pub(super) fn incomplete(&mut self, binding: BindingName) {
        self.incomplete.insert(binding);
    }

    /// The snapshot that these triggers need, and that is missing or incomplete.
    pub(super) fn lacks<'a>(&'a self, items: impl IntoIterator<Item = &'a Item>) -> Option<Hold<'a>> {
        if self.unlisted.is_empty() && self.incomplete.is_empty() {
            return None;
        }
        let mut names = items.into_iter().flat_map(|item| item.trigger.snapshots.iter());
        names.find_map(|name| {
            let unlisted = self.unlisted.contains_key(name).then_some(Hold::List(name));
            unlisted.or_else(|| self.incomplete.contains(name).then_some(Hold::Snapshot(name)))
        })
    }

    /// What the trigger waits for, if it has to wait.
    pub(super) fn hold<'a>(&'a self, item: &'a Item, batch_members: &BatchMembers) -> Option<Hold<'a>> {
        if self.startups.first().is_some_and(|seq| *seq < item.seq) {
            return Some(Hold::Startup);
        }
        if let Some(lacks) = self.lacks([item]) {
            return Some(lacks);
        }
        match item.trigger.cause {
            Cause::Startup | Cause::Synchronization => None,
            Cause::Schedule(_) => self.blocked(item, batch_members),
            Cause::Event(_) => {
                self.blocked(item, batch_members).or_else(|| self.unsynchronised_self(item, batch_members))
            }
        }
    }

    /// A kept place or a synchronization of the hook that comes before this event or tick.
    fn blocked<'a>(&'a self, item: &Item, batch_members: &BatchMembers) -> Option<Hold<'a>> {
        let place = self.places.first_key_value().filter(|(place, _)| **place < item.seq);
        let blocking = || self.blocking.range(..item.seq).find(|(seq, _)| !together(item, **seq, batch_members));
        let list = place.map(|(_, binding)| Hold::List(binding));
        list.or_else(|| blocking().map(|(_, binding)| Hold::Synchronization(binding)))
    }

    fn unsynchronised_self<'a>(&'a self, item: &Item, batch_members: &BatchMembers) -> Option<Hold<'a>> {
        let (name, pending) = self.synchronizations.get_key_value(&item.trigger.binding)?;
        let before = pending.range(..item.seq).any(|seq| !together(item, *seq, batch_members));
        before.then_some(Hold::Synchronization(name))
    }

    /// Whether the trigger has to wait.
    pub(super) fn holds_back(&self, item: &Item, batch_members: &BatchMembers) -> bool {
        self.hold(item, batch_members).is_some()
    }

    /// When its next job may begin. `None` if it may now.
    pub(super) fn token_due(&self, now: Instant) -> Option<Instant> {
        self.bucket.as_ref().and_then(|bucket| bucket.next(now))
    }

    /// Whether a start-up is not done.
    pub(super) fn starting(&self) -> bool {
        !self.startups.is_empty()
    }

    /// Bindings whose synchronization is not done, sorted: those that the hook waits for, and those in the background.
    pub(super) fn unsynchronised(&self) -> (Vec<BindingName>, Vec<BindingName>) {
        let mut names: Vec<_> = self.synchronizations.keys().cloned().collect();
        names.sort();
        let blocking: BTreeSet<_> = self.blocking.values().collect();
        names.into_iter().partition(|name| blocking.contains(name))
    }
}

/// Whether the synchronization is in the item's run, and is delivered together with it.
fn together(item: &Item, synchronization: u64, batch_members: &BatchMembers) -> bool {
    let reported =
        |(seq, group): &(u64, Arc<str>)| *seq == synchronization && item.trigger.group.as_ref() == Some(group);
    batch_members.iter().any(reported)
}
