//! What waits for a start-up or a synchronization of its hook, whatever queues they sit in, or for a
//! snapshot. Never orders triggers of one queue: the line does.
//!
//! While a hook's start-up is not done, its later triggers wait; while a binding's synchronization is
//! not done, its later events wait. Given up counts as done: the hook would stand still forever
//! otherwise. A trigger that includes the snapshot of a binding whose objects were not listed yet
//! waits for the list: the run would take an empty snapshot for the truth.

use std::collections::{BTreeSet, HashMap};

use crate::model::{BindingName, Cause, HookName};

use super::item::{Item, LineId};

/// The hooks that may have triggers.
pub(super) type Hooks = HashMap<HookName, Hook>;

/// One hook's gates, and what the queues know of it.
#[derive(Debug, Default)]
pub(super) struct Hook {
    /// Jobs at once in its own queue.
    pub(super) concurrency: usize,
    /// Triggers not done.
    pub(super) outstanding: usize,
    /// Jobs at work.
    pub(super) running: usize,
    /// Queues whose head waits for one of its gates.
    pub(super) waiting: BTreeSet<LineId>,
    startups: BTreeSet<u64>,
    synchronizations: HashMap<BindingName, BTreeSet<u64>>,
    /// Bindings whose objects are to be listed.
    unlisted: BTreeSet<BindingName>,
}

impl Hook {
    /// Counts a new trigger, and closes the gate that it stands for.
    pub(super) fn enter(&mut self, item: &Item) {
        self.outstanding += 1;
        match item.trigger.cause {
            Cause::Startup => {
                self.startups.insert(item.seq);
            }
            Cause::Synchronization => {
                self.synchronizations.entry(item.trigger.binding.clone()).or_default().insert(item.seq);
            }
            Cause::Schedule(_) | Cause::Event(_) => {}
        }
    }

    /// Takes a trigger off the count; true when a gate may have opened.
    pub(super) fn leave(&mut self, item: &Item) -> bool {
        self.outstanding = self.outstanding.saturating_sub(1);
        match item.trigger.cause {
            Cause::Startup => self.startups.remove(&item.seq),
            Cause::Synchronization => {
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

    /// Triggers that include this binding's snapshot wait from now on.
    pub(super) fn expect_list(&mut self, binding: BindingName) {
        self.unlisted.insert(binding);
    }

    /// The binding's snapshot is there; true when a gate may have opened.
    pub(super) fn listed(&mut self, binding: &BindingName) -> bool {
        self.unlisted.remove(binding)
    }

    /// Whether the trigger has to wait.
    pub(super) fn holds_back(&self, item: &Item) -> bool {
        let earlier = |pending: &BTreeSet<u64>| pending.first().is_some_and(|seq| *seq < item.seq);
        let unlisted = || item.trigger.snapshots.iter().any(|binding| self.unlisted.contains(binding));
        earlier(&self.startups)
            || (!self.unlisted.is_empty() && unlisted())
            || (matches!(item.trigger.cause, Cause::Event(_))
                && self.synchronizations.get(&item.trigger.binding).is_some_and(earlier))
    }

    /// Whether a start-up is not done.
    pub(super) fn starting(&self) -> bool {
        !self.startups.is_empty()
    }

    /// Bindings whose synchronization is not done, sorted.
    pub(super) fn unsynchronised(&self) -> Vec<BindingName> {
        let mut names: Vec<_> = self.synchronizations.keys().cloned().collect();
        names.sort();
        names
    }
}
