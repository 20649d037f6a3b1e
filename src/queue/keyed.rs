//! A hook's own queue with `concurrency`: order is kept for each object, not between objects. Never
//! has two jobs at work on one object, and a trigger without an object never runs beside another.

use std::collections::{BTreeMap, HashMap, VecDeque};

use crate::model::{Cause, JobId};

use super::{
    collapse::{self, Index, Key},
    combine::{Budget, Terms},
    gate::Hook,
    item::{Batch, Item, ObjectId},
    line::{Taken, View},
};

/// The events of one object.
#[derive(Debug, Default)]
struct Lane {
    /// Sorted by number.
    items: VecDeque<Item>,
    /// A job, running or waiting for its next try, has the object.
    busy: bool,
}

/// See the module.
#[derive(Debug)]
pub(super) struct Keyed {
    slots: usize,
    running: usize,
    /// Running or waiting for their next try.
    jobs: usize,
    /// Jobs whose next try may begin.
    due: VecDeque<JobId>,
    /// Objects with events before the first barrier, and those that a job has.
    lanes: HashMap<ObjectId, Lane>,
    /// The first event of every lane that no job has, by number.
    ready: BTreeMap<u64, ObjectId>,
    /// The first barrier and all after it.
    behind: VecDeque<Item>,
    /// The job at hand is a barrier.
    barrier: bool,
}

impl Keyed {
    pub(super) fn new(slots: usize) -> Self {
        Self {
            slots,
            running: 0,
            jobs: 0,
            due: VecDeque::new(),
            lanes: HashMap::new(),
            ready: BTreeMap::new(),
            behind: VecDeque::new(),
            barrier: false,
        }
    }

    pub(super) fn push(&mut self, item: Item) {
        match item.object() {
            Some(object) if !self.barrier && self.behind.is_empty() => self.enter(object, item),
            _ => self.behind.push_back(item),
        }
    }

    fn enter(&mut self, object: ObjectId, item: Item) {
        let lane = self.lanes.entry(object.clone()).or_default();
        if !lane.busy && lane.items.is_empty() {
            self.ready.insert(item.seq, object);
        }
        lane.items.push_back(item);
    }

    pub(super) fn take(&mut self, view: View<'_>) -> Taken {
        if self.running >= self.slots {
            return Taken::Nothing;
        }
        if let Some(id) = self.due.pop_front() {
            return self.retry(id, view);
        }
        if !self.ready.is_empty() {
            return self.begin(view);
        }
        if self.jobs == 0 { self.begin_barrier(view) } else { Taken::Nothing }
    }

    /// Takes the first event, and others up to this slot's share of the objects that wait.
    fn begin(&mut self, view: View<'_>) -> Taken {
        let Some(first) = self.ready.first_key_value().and_then(|(_, object)| self.lanes.get(object)?.items.front())
        else {
            return Taken::Nothing;
        };
        let hook = view.hooks.get(&first.trigger.hook);
        if hook.is_some_and(|hook| hook.holds_back(first)) {
            return Taken::Gated(first.trigger.hook.clone());
        }
        let terms = Terms::of(&first.trigger);
        let mut budget = Budget::new(view.config);
        let share = self.ready.len().div_ceil(self.slots - self.running).min(budget.triggers);
        let heads = self.ready.iter().take(share).map(|(seq, object)| (*seq, object.clone())).collect();
        let taken = self.gather(heads, &terms, hook, &mut budget);
        self.begun(taken)
    }

    fn begin_barrier(&mut self, view: View<'_>) -> Taken {
        let Some(first) = self.behind.front() else { return Taken::Nothing };
        let hook = view.hooks.get(&first.trigger.hook);
        if hook.is_some_and(|hook| hook.holds_back(first)) {
            return Taken::Gated(first.trigger.hook.clone());
        }
        let terms = Terms::of(&first.trigger);
        let mut budget = Budget::new(view.config);
        budget.spend(first);
        let mut taken: Vec<Item> = self.behind.pop_front().into_iter().collect();
        taken.extend(self.join_ticks(&terms, hook, &mut budget));
        self.barrier = true;
        self.begun(taken)
    }

    fn begun(&mut self, taken: Vec<Item>) -> Taken {
        self.jobs += 1;
        self.running += 1;
        Taken::New(taken)
    }

    /// What waits for the objects of the job joins its retry; other objects go on without it.
    fn retry(&mut self, id: JobId, view: View<'_>) -> Taken {
        self.running += 1;
        let Some((batch, first)) = view.batches.get(&id).and_then(|batch| Some((batch, batch.items.first()?))) else {
            return Taken::Retry(id, Vec::new());
        };
        let terms = Terms::of(&first.trigger);
        let hook = view.hooks.get(&batch.hook);
        let mut budget = Budget::rest(view.config, batch);
        let joined = if self.barrier {
            self.join_ticks(&terms, hook, &mut budget)
        } else {
            self.gather(self.heads_of(batch), &terms, hook, &mut budget)
        };
        Taken::Retry(id, joined)
    }

    fn heads_of(&self, batch: &Batch) -> BTreeMap<u64, ObjectId> {
        let objects = batch.items.iter().filter_map(Item::object);
        objects.filter_map(|object| Some((self.lanes.get(&object)?.items.front()?.seq, object))).collect()
    }

    /// Takes events out of these lanes in the order of their numbers. A lane is left at the first
    /// event that can't join.
    fn gather(
        &mut self,
        mut heads: BTreeMap<u64, ObjectId>,
        terms: &Terms,
        hook: Option<&Hook>,
        budget: &mut Budget,
    ) -> Vec<Item> {
        let mut taken = Vec::new();
        let mut full = false;
        while let Some((seq, object)) = heads.pop_first()
            && !full
        {
            let Some(lane) = self.lanes.get_mut(&object) else { continue };
            let joins = |item: &mut Item| {
                let admitted = terms.admit(&item.trigger) && !hook.is_some_and(|hook| hook.holds_back(item));
                full = admitted && !budget.spend(item);
                admitted && !full
            };
            let Some(item) = lane.items.pop_front_if(joins) else { continue };
            taken.push(item);
            lane.busy = true;
            self.ready.remove(&seq);
            if let Some(next) = lane.items.front() {
                heads.insert(next.seq, object);
            }
        }
        taken
    }

    fn join_ticks(&mut self, terms: &Terms, hook: Option<&Hook>, budget: &mut Budget) -> Vec<Item> {
        let mut joined = Vec::new();
        let mut joins = |item: &mut Item| {
            matches!(item.trigger.cause, Cause::Schedule(_))
                && terms.admit(&item.trigger)
                && !hook.is_some_and(|hook| hook.holds_back(item))
                && budget.spend(item)
        };
        while let Some(item) = self.behind.pop_front_if(&mut joins) {
            joined.push(item);
        }
        joined
    }

    /// The job waits for its next try. It gives its slot back and keeps its objects.
    pub(super) fn paused(&mut self) {
        self.running = self.running.saturating_sub(1);
    }

    /// The paused job may run again now.
    pub(super) fn due(&mut self, id: JobId) {
        self.due.push_back(id);
    }

    /// The job, paused before, is done with.
    pub(super) fn ended(&mut self, id: JobId, batch: &Batch) {
        self.jobs = self.jobs.saturating_sub(1);
        self.due.retain(|due| *due != id);
        if std::mem::take(&mut self.barrier) {
            return self.admit();
        }
        for object in batch.items.iter().filter_map(Item::object) {
            let Some(lane) = self.lanes.get_mut(&object) else { continue };
            lane.busy = false;
            match lane.items.front() {
                Some(next) => {
                    self.ready.insert(next.seq, object);
                }
                None => {
                    self.lanes.remove(&object);
                }
            }
        }
    }

    /// Lets everything up to the next barrier into the lanes.
    fn admit(&mut self) {
        while let Some(item) = self.behind.pop_front_if(|item| !item.is_barrier()) {
            if let Some(object) = item.object() {
                self.enter(object, item);
            }
        }
    }

    /// Takes out everything that waits. Jobs stay.
    pub(super) fn clear(&mut self) -> Vec<Item> {
        let mut gone: Vec<Item> = std::mem::take(&mut self.behind).into();
        self.ready.clear();
        self.lanes.retain(|_, lane| {
            gone.extend(lane.items.drain(..));
            lane.busy
        });
        gone
    }

    pub(super) fn find(&mut self, key: &Key, seq: u64) -> Option<&mut Item> {
        let lane = key.object().and_then(|object| self.lanes.get_mut(object));
        lane.and_then(|lane| collapse::find(&mut lane.items, seq)).or_else(|| collapse::find(&mut self.behind, seq))
    }

    pub(super) fn sweep(&mut self, index: &mut Index) -> Vec<Item> {
        let mut gone = Vec::new();
        for lane in self.lanes.values_mut() {
            gone.extend(collapse::sweep(&mut lane.items, index));
        }
        for item in std::mem::take(&mut self.behind) {
            let key = Key::of(&item.trigger);
            match index.get(&key).copied().and_then(|seq| self.find(&key, seq)) {
                Some(earlier) => {
                    collapse::fold(earlier, &item.trigger);
                    gone.push(item);
                }
                None => {
                    index.insert(key, item.seq);
                    self.behind.push_back(item);
                }
            }
        }
        gone
    }

    pub(super) fn bytes(&self) -> usize {
        let lanes = self.lanes.values().flat_map(|lane| &lane.items);
        lanes.chain(&self.behind).map(|item| item.bytes).sum()
    }

    /// The first that could run; what waits for a job's objects is younger than the job.
    pub(super) fn oldest(&self) -> Option<&Item> {
        let ready = self.ready.first_key_value().and_then(|(_, object)| self.lanes.get(object)?.items.front());
        ready.or_else(|| self.behind.front())
    }
}
