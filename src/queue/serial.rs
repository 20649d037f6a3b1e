//! A plain line: one job at a time, head first. Never skips its head.

use std::collections::VecDeque;

use crate::model::{HookName, JobId};

use super::{
    collapse::{self, Index},
    combine::{Budget, Terms},
    gate::Hook,
    item::Item,
    line::{Taken, View},
};

/// What stands before the first waiting trigger.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Head {
    /// Nothing.
    Free,
    /// A job that runs, or waits for its next try.
    Busy,
    /// A job whose next try may begin.
    Due(JobId),
}

/// See the module.
#[derive(Debug)]
pub(super) struct Serial {
    /// Sorted by number.
    items: VecDeque<Item>,
    head: Head,
}

impl Serial {
    pub(super) fn new() -> Self {
        Self { items: VecDeque::new(), head: Head::Free }
    }

    pub(super) fn push(&mut self, item: Item) {
        self.items.push_back(item);
    }

    pub(super) fn take(&mut self, view: View<'_>) -> Taken {
        match self.head {
            Head::Busy => Taken::Nothing,
            Head::Due(id) => self.retry(id, view),
            Head::Free => self.begin(view),
        }
    }

    fn begin(&mut self, view: View<'_>) -> Taken {
        let Some(first) = self.items.front() else { return Taken::Nothing };
        let hook = view.hooks.get(&first.trigger.hook);
        if hook.is_some_and(|hook| hook.holds_back(first)) {
            return Taken::Gated(first.trigger.hook.clone());
        }
        let terms = Terms::of(&first.trigger);
        let mut budget = Budget::new(view.config);
        budget.spend(first);
        let mut taken: Vec<Item> = self.items.pop_front().into_iter().collect();
        self.join(&terms, hook, &mut budget, &mut taken);
        self.head = Head::Busy;
        Taken::New(taken)
    }

    fn retry(&mut self, id: JobId, view: View<'_>) -> Taken {
        self.head = Head::Busy;
        let mut joined = Vec::new();
        if let Some((batch, first)) = view.batches.get(&id).and_then(|batch| Some((batch, batch.items.first()?))) {
            let mut budget = Budget::rest(view.config, batch);
            self.join(&Terms::of(&first.trigger), view.hooks.get(&batch.hook), &mut budget, &mut joined);
        }
        Taken::Retry(id, joined)
    }

    fn join(&mut self, terms: &Terms, hook: Option<&Hook>, budget: &mut Budget, taken: &mut Vec<Item>) {
        let mut fits = |item: &mut Item| {
            terms.admit(&item.trigger) && !hook.is_some_and(|hook| hook.holds_back(item)) && budget.spend(item)
        };
        while let Some(item) = self.items.pop_front_if(&mut fits) {
            taken.push(item);
        }
    }

    /// The job may run again now.
    pub(super) fn due(&mut self, id: JobId) {
        self.head = Head::Due(id);
    }

    /// The job is done with.
    pub(super) fn ended(&mut self) {
        self.head = Head::Free;
    }

    pub(super) fn remove_hook(&mut self, hook: &HookName) -> Vec<Item> {
        let (gone, kept) = std::mem::take(&mut self.items).into_iter().partition(|item| item.trigger.hook == *hook);
        self.items = kept;
        Vec::from(gone)
    }

    pub(super) fn find(&mut self, seq: u64) -> Option<&mut Item> {
        collapse::find(&mut self.items, seq)
    }

    pub(super) fn sweep(&mut self, index: &mut Index) -> Vec<Item> {
        collapse::sweep(&mut self.items, index)
    }

    pub(super) fn bytes(&self) -> usize {
        self.items.iter().map(|item| item.bytes).sum()
    }

    pub(super) fn oldest(&self) -> Option<&Item> {
        self.items.front()
    }
}
