//! A plain line: one job at a time, head first. Never skips its head, unless the head's hook is
//! paused: in a shared queue that is put aside, and gets its place back when the pause ends.

use std::collections::{BTreeMap, HashMap, VecDeque};

use crate::model::{HookName, JobId};

use super::{
    collapse::{self, Index, Key},
    combine::Gathering,
    item::Item,
    line::{Taken, View},
    revise::{Keep, retained},
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
    /// Triggers of paused hooks that would be in front, each sorted by number.
    aside: HashMap<HookName, VecDeque<Item>>,
    /// Failed jobs of paused hooks; whether their next try may begin.
    jobs_aside: BTreeMap<JobId, bool>,
    /// Failed jobs whose pause ended: they go first, when the job at hand is done.
    back: BTreeMap<JobId, bool>,
}

impl Serial {
    pub(super) fn new() -> Self {
        Self {
            items: VecDeque::new(),
            head: Head::Free,
            aside: HashMap::new(),
            jobs_aside: BTreeMap::new(),
            back: BTreeMap::new(),
        }
    }

    pub(super) fn push(&mut self, item: Item) {
        put(&mut self.items, item);
    }

    pub(super) fn take(&mut self, view: View<'_>) -> Taken {
        loop {
            match self.head {
                Head::Busy => return Taken::Nothing,
                Head::Due(id) => return self.retry(id, view),
                Head::Free => {}
            }
            if let Some((id, due)) = self.back.pop_first() {
                self.head = if due { Head::Due(id) } else { Head::Busy };
                continue;
            }
            let Some(first) = self.items.pop_front_if(|item| view.is_paused(&item.trigger.hook)) else {
                return self.begin(view);
            };
            put(self.aside.entry(first.trigger.hook.clone()).or_default(), first);
        }
    }

    fn begin(&mut self, view: View<'_>) -> Taken {
        let Some(first) = self.items.front() else { return Taken::Nothing };
        if let Some(hindered) = view.hindered(&first.trigger.hook, Some(first)) {
            return hindered;
        }
        let hook = view.hooks.get(&first.trigger.hook);
        let gathering = Gathering::new(first, hook, view.config);
        self.head = Head::Busy;
        Taken::New(self.gather(gathering))
    }

    fn retry(&mut self, id: JobId, view: View<'_>) -> Taken {
        let Some((batch, first)) = view.batches.get(&id).and_then(|batch| Some((batch, batch.items.first()?))) else {
            return Taken::Nothing;
        };
        if let Some(hindered) = view.hindered(&batch.hook, None) {
            return hindered;
        }
        let gathering = Gathering::again(first, batch, view.hooks.get(&batch.hook), view.config);
        self.head = Head::Busy;
        Taken::Retry(id, self.gather(gathering))
    }

    fn gather(&mut self, mut gathering: Gathering<'_>) -> Vec<Item> {
        let mut taken = Vec::new();
        while let Some(item) = self.items.pop_front_if(|item| gathering.joins(item)) {
            taken.push(item);
        }
        taken
    }

    /// The job may run again now.
    pub(super) fn due(&mut self, id: JobId) {
        match self.jobs_aside.get_mut(&id).or_else(|| self.back.get_mut(&id)) {
            Some(due) => *due = true,
            None => self.head = Head::Due(id),
        }
    }

    /// The job is done with.
    pub(super) fn ended(&mut self, id: JobId) {
        if self.jobs_aside.remove(&id).is_none() && self.back.remove(&id).is_none() {
            self.head = Head::Free;
        }
    }

    /// The hook of this failed job is paused: others pass it.
    pub(super) fn put_aside(&mut self, id: JobId, due: bool) {
        self.ended(id);
        self.jobs_aside.insert(id, due);
    }

    /// The hook's pause ended: its triggers get their places back. O(n).
    pub(super) fn resume(&mut self, hook: &HookName, jobs: impl Iterator<Item = JobId>) {
        for id in jobs {
            self.back.extend(self.jobs_aside.remove_entry(&id));
        }
        if let Some(aside) = self.aside.remove(hook) {
            self.items.extend(aside);
            self.items.make_contiguous().sort_by_key(|item| item.seq);
        }
    }

    pub(super) fn remove_hook(&mut self, hook: &HookName) -> Vec<Item> {
        let (mut gone, kept): (VecDeque<_>, VecDeque<_>) =
            std::mem::take(&mut self.items).into_iter().partition(|item| item.trigger.hook == *hook);
        self.items = kept;
        gone.extend(self.aside.remove(hook).unwrap_or_default());
        Vec::from(gone)
    }

    /// Takes out those of the hook's triggers that are not to be kept.
    pub(super) fn retain(&mut self, hook: &HookName, keep: &mut Keep<'_>) -> Vec<Item> {
        let mut gone = retained(&mut self.items, |item| item.trigger.hook != *hook || keep(&mut item.trigger));
        if let Some(aside) = self.aside.get_mut(hook) {
            gone.extend(retained(aside, |item| keep(&mut item.trigger)));
        }
        gone
    }

    pub(super) fn find(&mut self, key: &Key, seq: u64) -> Option<&mut Item> {
        let aside = self.aside.get_mut(key.hook()).and_then(|items| collapse::find(items, seq));
        aside.or_else(|| collapse::find(&mut self.items, seq))
    }

    pub(super) fn sweep(&mut self, index: &mut Index) -> Vec<Item> {
        let mut gone = Vec::new();
        for items in self.aside.values_mut() {
            gone.extend(collapse::sweep(items, index));
        }
        let aside = &mut self.aside;
        gone.extend(collapse::sweep_after(&mut self.items, index, |key, seq, item| {
            aside.get_mut(key.hook()).is_some_and(|items| collapse::fold_into(items, seq, item))
        }));
        gone
    }

    /// All that wait for their first run: what is aside, then in order.
    pub(super) fn items(&self) -> impl Iterator<Item = &Item> {
        self.aside.values().flatten().chain(&self.items)
    }

    /// The first, paused or not.
    pub(super) fn oldest(&self) -> Option<&Item> {
        let aside = self.aside.values().filter_map(VecDeque::front);
        aside.chain(self.items.front()).min_by_key(|item| item.seq)
    }

    /// The first that is not put aside.
    pub(super) fn next(&self) -> Option<&Item> {
        self.items.front()
    }
}

/// Nearly always at the end; a synchronization goes to the place that was kept for it.
fn put(items: &mut VecDeque<Item>, item: Item) {
    if items.back().is_none_or(|last| last.seq < item.seq) {
        return items.push_back(item);
    }
    let place = items.partition_point(|other| other.seq < item.seq);
    items.insert(place, item);
}
