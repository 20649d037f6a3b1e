//! A hook's own queue with `concurrency`: order is kept for each object, and not between objects. No two jobs have the
//! same object, and a trigger without an object never runs next to another.

use std::collections::{BTreeMap, HashMap, VecDeque};

use crate::model::JobId;

use super::{
    super::{
        batching::Gathering,
        coalesce::{self, Index, Key, Of},
        item::{Batch, Item, Keep, ObjectId, retained},
    },
    Taken, View,
};

/// The events of one object.
#[derive(Debug, Default)]
struct Lane {
    /// Sorted by number.
    items: VecDeque<Item>,
    /// A job that runs or waits for its next try has the object.
    busy: bool,
}

/// Bytes of an object's place among the others, without its events.
pub(in super::super) const LANE: usize = size_of::<(ObjectId, Lane)>() + size_of::<(u64, ObjectId)>();

/// See the module.
#[derive(Debug)]
pub struct Keyed {
    slots: usize,
    running: usize,
    /// Jobs that run or wait for their next try.
    jobs: usize,
    /// Jobs whose next try may begin.
    due: VecDeque<JobId>,
    /// Objects with events before the first barrier, and objects that a job has.
    lanes: HashMap<ObjectId, Lane>,
    /// The first event of every lane that no job has, by number.
    ready: BTreeMap<u64, ObjectId>,
    /// The first barrier and everything after it.
    behind: VecDeque<Item>,
    /// The current job is a barrier.
    barrier: bool,
    /// The greatest number that was pushed.
    newest: u64,
}

impl Keyed {
    pub fn new(slots: usize) -> Self {
        Self {
            slots,
            running: 0,
            jobs: 0,
            due: VecDeque::new(),
            lanes: HashMap::new(),
            ready: BTreeMap::new(),
            behind: VecDeque::new(),
            barrier: false,
            newest: 0,
        }
    }

    pub fn push(&mut self, item: Item) {
        if item.seq < self.newest {
            self.make_way(item.seq);
        }
        self.newest = self.newest.max(item.seq);
        match item.object() {
            Some(object) if !self.barrier && self.behind.is_empty() => self.enter(object, item),
            _ => {
                let place = self.behind.partition_point(|other| other.seq < item.seq);
                self.behind.insert(place, item);
            }
        }
    }

    /// Puts what came later behind the barrier that gets this place, which is a synchronization. O(n log n).
    fn make_way(&mut self, seq: u64) {
        let mut later = Vec::new();
        self.lanes.retain(|_, lane| {
            let first_later = lane.items.partition_point(|item| item.seq < seq);
            later.extend(lane.items.drain(first_later..));
            lane.busy || !lane.items.is_empty()
        });
        drop(self.ready.split_off(&seq));
        self.behind.extend(later);
        self.behind.make_contiguous().sort_by_key(|item| item.seq);
    }

    fn enter(&mut self, object: ObjectId, item: Item) {
        let lane = self.lanes.entry(object.clone()).or_default();
        if !lane.busy && lane.items.is_empty() {
            self.ready.insert(item.seq, object);
        }
        if lane.items.is_empty() {
            // Most lanes have one event, and room for four would be counted nowhere.
            lane.items.reserve_exact(1);
        }
        lane.items.push_back(item);
    }

    /// The error says why nothing can run now.
    pub fn take(&mut self, view: View<'_>) -> Result<Taken, Taken> {
        if self.running >= self.slots {
            return Err(Taken::Nothing);
        }
        if let Some(id) = self.due.front().copied() {
            return self.retry(id, view);
        }
        if !self.ready.is_empty() {
            return self.begin(view);
        }
        if self.jobs == 0 { self.begin_barrier(view) } else { Err(Taken::Nothing) }
    }

    fn first_ready(&self) -> Option<&Item> {
        self.ready.first_key_value().and_then(|(_, object)| self.lanes.get(object)?.items.front())
    }

    /// Takes the first event, and others up to this slot's share of the objects that wait.
    fn begin(&mut self, view: View<'_>) -> Result<Taken, Taken> {
        let gathering = view.begin(self.first_ready().ok_or(Taken::Nothing)?)?;
        let share = self.ready.len().div_ceil(self.slots - self.running).min(gathering.room());
        let heads = self.ready.iter().take(share).map(|(seq, object)| (*seq, object.clone())).collect();
        let taken = self.gather(heads, gathering);
        Ok(self.begun(taken))
    }

    fn begin_barrier(&mut self, view: View<'_>) -> Result<Taken, Taken> {
        let gathering = view.begin(self.behind.front().ok_or(Taken::Nothing)?)?;
        let taken = self.gather_barriers(gathering);
        self.barrier = true;
        Ok(self.begun(taken))
    }

    fn begun(&mut self, taken: Vec<Item>) -> Taken {
        self.jobs += 1;
        self.running += 1;
        Taken::New(taken)
    }

    /// What waits for the objects of the job joins its retry. Other objects continue without it.
    fn retry(&mut self, id: JobId, view: View<'_>) -> Result<Taken, Taken> {
        let (batch, gathering) = view.begin_again(id)?;
        self.due.pop_front();
        self.running += 1;
        let joined =
            if self.barrier { self.gather_barriers(gathering) } else { self.gather(self.heads_of(batch), gathering) };
        Ok(Taken::Retry(id, joined))
    }

    fn heads_of(&self, batch: &Batch) -> BTreeMap<u64, ObjectId> {
        let objects = batch.items.iter().filter_map(Item::object);
        objects.filter_map(|object| Some((self.lanes.get(&object)?.items.front()?.seq, object))).collect()
    }

    /// Takes events out of these lanes in the order of their numbers. It leaves a lane at the first event that cannot
    /// join.
    fn gather(&mut self, mut heads: BTreeMap<u64, ObjectId>, mut gathering: Gathering<'_>) -> Vec<Item> {
        let mut taken = Vec::new();
        while let Some((seq, object)) = heads.pop_first()
            && !gathering.full
        {
            let Some(lane) = self.lanes.get_mut(&object) else { continue };
            let Some(item) = lane.items.pop_front_if(|item| gathering.joins(item)) else { continue };
            taken.push(item);
            lane.busy = true;
            self.ready.remove(&seq);
            if let Some(next) = lane.items.front() {
                heads.insert(next.seq, object);
            }
        }
        taken
    }

    fn gather_barriers(&mut self, mut gathering: Gathering<'_>) -> Vec<Item> {
        let mut taken = Vec::new();
        while let Some(item) = self.behind.pop_front_if(|item| item.is_barrier() && gathering.joins(item)) {
            taken.push(item);
        }
        taken
    }

    /// The job waits for its next try. It gives its slot back and keeps its objects.
    pub fn stopped(&mut self) {
        self.running = self.running.saturating_sub(1);
    }

    /// The stopped job may run again now.
    pub fn due(&mut self, id: JobId) {
        self.due.push_back(id);
    }

    /// The job, which was stopped before, is done.
    pub fn ended(&mut self, id: JobId, batch: &Batch) {
        self.jobs = self.jobs.saturating_sub(1);
        self.due.retain(|due| *due != id);
        if std::mem::take(&mut self.barrier) {
            return self.admit();
        }
        self.release(batch.items.iter().filter_map(Item::object));
    }

    /// No job has these objects any more.
    pub fn release(&mut self, objects: impl Iterator<Item = ObjectId>) {
        for object in objects {
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
    pub fn clear(&mut self) -> Vec<Item> {
        let mut gone: Vec<Item> = std::mem::take(&mut self.behind).into();
        self.ready.clear();
        self.lanes.retain(|_, lane| {
            gone.extend(lane.items.drain(..));
            lane.busy
        });
        gone
    }

    /// Takes out the triggers that are not kept. Jobs keep their objects.
    pub fn retain(&mut self, keep: &mut Keep<'_>) -> Vec<Item> {
        let mut gone = retained(&mut self.behind, &mut *keep);
        self.ready.clear();
        self.lanes.retain(|object, lane| {
            gone.extend(retained(&mut lane.items, &mut *keep));
            match lane.items.front() {
                Some(first) if !lane.busy => drop(self.ready.insert(first.seq, object.clone())),
                _ => {}
            }
            lane.busy || !lane.items.is_empty()
        });
        if !self.barrier {
            // The first barrier may be gone.
            self.admit();
        }
        gone
    }

    pub fn find(&mut self, key: &Key, seq: u64) -> Option<&mut Item> {
        let lane = key.object().and_then(|object| self.lanes.get_mut(object));
        lane.and_then(|lane| coalesce::find(&mut lane.items, seq)).or_else(|| coalesce::find(&mut self.behind, seq))
    }

    pub fn sweep(&mut self, index: &mut Index, of: &Of<'_>) -> Vec<Item> {
        let mut gone = Vec::new();
        for lane in self.lanes.values_mut() {
            gone.extend(coalesce::sweep(&mut lane.items, index, of));
        }
        let lanes = &mut self.lanes;
        gone.extend(coalesce::sweep_after(&mut self.behind, index, of, |key, places, item| {
            let lane = key.object().and_then(|object| lanes.get_mut(object));
            lane.and_then(|lane| coalesce::fold_into(&mut lane.items, places, item))
        }));
        gone
    }

    /// Everything that waits for its first run: object by object, and then the barriers.
    pub fn items(&self) -> impl Iterator<Item = &Item> {
        self.lanes.values().flat_map(|lane| &lane.items).chain(&self.behind)
    }

    /// The first trigger that could run. What waits for a job's objects is younger than the job.
    pub fn next(&self) -> Option<&Item> {
        self.first_ready().or_else(|| self.behind.front())
    }
}
