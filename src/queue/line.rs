//! One queue of either kind, its length, and its bound. Never decides between queues.

use std::{collections::HashSet, time::Instant};

use crate::model::{HookName, JobId, QueueName};

use super::{
    QueueConfig,
    collapse::{self, Index, Key},
    gate::{Hook, Hooks},
    item::{Batch, Batches, Item, ObjectId},
    keyed::Keyed,
    revise::Keep,
    serial::Serial,
};

/// What a line looks at when it is asked for a job.
#[derive(Debug, Clone, Copy)]
pub(super) struct View<'a> {
    pub(super) hooks: &'a Hooks,
    pub(super) batches: &'a Batches,
    pub(super) config: &'a QueueConfig,
    pub(super) now: Instant,
}

impl View<'_> {
    pub(super) fn is_paused(&self, hook: &HookName) -> bool {
        self.hooks.get(hook).is_some_and(Hook::stands_still)
    }

    /// Why no job of this hook can begin with this trigger; without one, it is a next try.
    pub(super) fn hindered(&self, name: &HookName, first: Option<&Item>) -> Option<Taken> {
        let hook = self.hooks.get(name)?;
        if first.is_some_and(|item| hook.holds_back(item, &[])) {
            return Some(Taken::Gated(name.clone()));
        }
        hook.token_due(self.now).map(|due| Taken::TooEarly(name.clone(), due))
    }
}

/// A line's answer.
#[derive(Debug)]
pub(super) enum Taken {
    /// Nothing can run before something else happens in this line.
    Nothing,
    /// The first trigger waits for this hook's gate, or for the end of its pause.
    Gated(HookName),
    /// The first trigger, or job, waits for this hook's next token.
    TooEarly(HookName, Instant),
    /// A new job.
    New(Vec<Item>),
    /// A job's next try, with those that join it.
    Retry(JobId, Vec<Item>),
}

/// What became of a pushed item.
#[derive(Debug)]
pub(super) struct Placed {
    /// Folded into one that waits.
    pub(super) folded: bool,
    /// It waits beyond the bound, because it folds with nothing.
    pub(super) beyond: bool,
    /// Those that were folded into others on this occasion.
    pub(super) gone: Vec<Item>,
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
    pub(super) concurrency: usize,
    /// It stands in the round of lines to ask.
    pub(super) asked_for: bool,
    /// Waiting for their first run.
    pub(super) length: usize,
    /// Payload of those.
    pub(super) bytes: usize,
    /// Jobs running, or waiting for their next try.
    pub(super) jobs: usize,
    /// Triggers folded into others since the line exists.
    pub(super) folded: u64,
    /// Triggers let in beyond the bound since the line exists.
    pub(super) beyond: u64,
    kind: Kind,
    /// Kept while the line is over its bound, until it has fallen to half of it.
    index: Option<Index>,
}

impl Line {
    pub(super) fn new(name: QueueName, concurrency: usize) -> Self {
        let kind = if concurrency > 1 { Kind::Keyed(Keyed::new(concurrency)) } else { Kind::Serial(Serial::new()) };
        Self {
            name,
            concurrency,
            asked_for: false,
            length: 0,
            bytes: 0,
            jobs: 0,
            folded: 0,
            beyond: 0,
            kind,
            index: None,
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.length == 0 && self.jobs == 0
    }

    pub(super) fn push(&mut self, item: Item, config: &QueueConfig) -> Placed {
        let mut placed = Placed { folded: false, beyond: false, gone: Vec::new() };
        if self.index.is_none() && self.would_exceed(&item, config) {
            placed.gone = self.sweep();
        }
        if self.index.is_some() {
            placed.folded = self.fold_or_note(&item);
            placed.beyond = !placed.folded && self.would_exceed(&item, config);
        }
        self.folded += u64::from(placed.folded) + placed.gone.len() as u64;
        self.beyond += u64::from(placed.beyond);
        if placed.folded {
            placed.gone.push(item);
        } else {
            self.length += 1;
            self.bytes += item.bytes;
            match &mut self.kind {
                Kind::Serial(line) => line.push(item),
                Kind::Keyed(line) => line.push(item),
            }
        }
        placed
    }

    fn would_exceed(&self, item: &Item, config: &QueueConfig) -> bool {
        self.length + 1 > config.max_pending.max(1) || self.bytes + item.bytes > config.max_pending_bytes
    }

    fn sweep(&mut self) -> Vec<Item> {
        let mut index = Index::new();
        let gone = match &mut self.kind {
            Kind::Serial(line) => line.sweep(&mut index),
            Kind::Keyed(line) => line.sweep(&mut index),
        };
        self.index = Some(index);
        self.length -= gone.len();
        self.recount();
        gone
    }

    fn recount(&mut self) {
        self.bytes = self.items().map(|item| item.bytes).sum();
    }

    fn fold_or_note(&mut self, item: &Item) -> bool {
        let Some(index) = &mut self.index else { return false };
        let key = Key::of(&item.trigger);
        let earlier = index.get(&key).and_then(|seq| match &mut self.kind {
            Kind::Serial(line) => line.find(&key, *seq),
            Kind::Keyed(line) => line.find(&key, *seq),
        });
        let Some(earlier) = earlier else {
            index.insert(key, item.seq);
            return false;
        };
        self.bytes -= earlier.bytes;
        collapse::fold(earlier, item);
        self.bytes += earlier.bytes;
        true
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
        match &taken {
            Taken::New(items) => {
                self.jobs += 1;
                self.left(items, view.config);
            }
            Taken::Retry(_, items) => self.left(items, view.config),
            Taken::Nothing | Taken::Gated(_) | Taken::TooEarly(..) => {}
        }
        taken
    }

    /// Takes items that no longer wait off the counts.
    fn left(&mut self, items: &[Item], config: &QueueConfig) {
        self.length -= items.len();
        self.bytes -= items.iter().map(|item| item.bytes).sum::<usize>();
        if self.length <= config.max_pending.max(1) / 2 && self.bytes <= config.max_pending_bytes / 2 {
            self.index = None;
        } else if let Some(index) = &mut self.index {
            for item in items {
                index.remove(&Key::of(&item.trigger));
            }
        }
    }

    /// The job is no longer running; it waits, or is about to end.
    pub(super) fn stopped(&mut self) {
        if let Kind::Keyed(line) = &mut self.kind {
            line.stopped();
        }
    }

    /// These are no longer the business of the stopped job, which holds `kept` all the same.
    pub(super) fn released(&mut self, gone: &[Item], kept: &[Item]) {
        if let Kind::Keyed(line) = &mut self.kind {
            let kept: HashSet<ObjectId> = kept.iter().filter_map(Item::object).collect();
            line.release(gone.iter().filter_map(Item::object).filter(|object| !kept.contains(object)));
        }
    }

    /// In a shared queue, others pass the stopped job, because its hook is paused.
    pub(super) fn put_aside(&mut self, id: JobId, due: bool) {
        if let (Kind::Serial(line), QueueName::Shared(_)) = (&mut self.kind, &self.name) {
            line.put_aside(id, due);
        }
    }

    /// The hook's pause ended; these are its stopped jobs in this queue.
    pub(super) fn resume(&mut self, hook: &HookName, jobs: impl Iterator<Item = JobId>) {
        if let (Kind::Serial(line), QueueName::Shared(_)) = (&mut self.kind, &self.name) {
            line.resume(hook, jobs);
        }
    }

    /// The stopped job may run again now.
    pub(super) fn due(&mut self, id: JobId) {
        match &mut self.kind {
            Kind::Serial(line) => line.due(id),
            Kind::Keyed(line) => line.due(id),
        }
    }

    /// The stopped job is done with.
    pub(super) fn ended(&mut self, id: JobId, batch: &Batch) {
        self.jobs -= 1;
        match &mut self.kind {
            Kind::Serial(line) => line.ended(id),
            Kind::Keyed(line) => line.ended(id, batch),
        }
    }

    /// Takes out what waits for its first run and is of this hook. O(n).
    pub(super) fn remove_hook(&mut self, hook: &HookName, config: &QueueConfig) -> Vec<Item> {
        let gone = match &mut self.kind {
            Kind::Serial(line) => line.remove_hook(hook),
            Kind::Keyed(line) if matches!(&self.name, QueueName::Own(owner) if owner == hook) => line.clear(),
            Kind::Keyed(_) => Vec::new(),
        };
        self.left(&gone, config);
        gone
    }

    /// Takes out what waits for its first run, is of this hook and is not to be kept. O(n log n).
    pub(super) fn retain(&mut self, hook: &HookName, keep: &mut Keep<'_>, config: &QueueConfig) -> Vec<Item> {
        let gone = match &mut self.kind {
            Kind::Serial(line) => line.retain(hook, keep),
            Kind::Keyed(line) if matches!(&self.name, QueueName::Own(owner) if owner == hook) => line.retain(keep),
            Kind::Keyed(_) => Vec::new(),
        };
        self.left(&gone, config);
        gone
    }

    /// All that wait for their first run. In order, with those of paused hooks in front; where
    /// order is kept for each object, object by object.
    pub(super) fn items(&self) -> Box<dyn Iterator<Item = &Item> + '_> {
        match &self.kind {
            Kind::Serial(line) => Box::new(line.items()),
            Kind::Keyed(line) => Box::new(line.items()),
        }
    }

    /// The oldest that waits for its first run.
    pub(super) fn oldest(&self) -> Option<&Item> {
        match &self.kind {
            Kind::Serial(line) => line.oldest(),
            Kind::Keyed(line) => line.next(),
        }
    }

    /// What would be taken next, if no job is in the way.
    pub(super) fn next(&self) -> Option<&Item> {
        match &self.kind {
            Kind::Serial(line) => line.next(),
            Kind::Keyed(line) => line.next(),
        }
    }

    /// The index knows every waiting trigger and nothing else.
    #[cfg(test)]
    pub(super) fn check_index(&self) {
        assert!(self.index.as_ref().is_none_or(|index| index.len() == self.length));
    }
}
