//! A plain line: one job at a time, head first. It never skips its head, except in a shared queue. There, a trigger
//! whose hook is paused, or that waits for a list or a complete snapshot, is put aside with everything behind it of the
//! same hook, and gets its place back when that is over. A problem of one hook with what it watches must not affect the
//! others.

use std::collections::{BTreeMap, HashMap, VecDeque};

use crate::model::{HookName, JobId};

use super::{
    super::{
        batching::Gathering,
        coalesce::{self, Index, Key, Of},
        item::{Item, Keep, retained},
    },
    Taken, View,
};

/// What is before the first waiting trigger.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Head {
    /// Nothing.
    Free,
    /// A job that runs or waits for its next try.
    Busy,
    /// A job whose next try may begin.
    Due(JobId),
}

/// See the module.
#[derive(Debug)]
pub struct Serial {
    /// Sorted by number.
    items: VecDeque<Item>,
    head: Head,
    /// Several hooks have their triggers here.
    shared: bool,
    /// Triggers that would be in front and that others pass, for each hook sorted by number.
    aside: HashMap<HookName, VecDeque<Item>>,
    /// Failed jobs that others pass, and whether their next try may begin.
    jobs_aside: BTreeMap<JobId, (HookName, bool)>,
    /// Failed jobs that others no longer pass. They go first when the current job is done.
    back: BTreeMap<JobId, bool>,
}

impl Serial {
    pub fn new(shared: bool) -> Self {
        Self {
            shared,
            items: VecDeque::new(),
            head: Head::Free,
            aside: HashMap::new(),
            jobs_aside: BTreeMap::new(),
            back: BTreeMap::new(),
        }
    }

    pub fn push(&mut self, item: Item) {
        put(&mut self.items, item);
    }

    /// The error says why nothing can run now.
    pub fn take(&mut self, view: View<'_>) -> Result<Taken, Taken> {
        self.bring_back(view);
        loop {
            match self.head {
                Head::Busy => return Err(Taken::Nothing),
                Head::Due(id) if self.shared && view.is_job_passed(id, true) => {
                    let Some(batch) = view.batches.get(&id) else { return Err(Taken::Nothing) };
                    self.put_aside(id, &batch.hook, true);
                    continue;
                }
                Head::Due(id) => return self.retry(id, view),
                Head::Free => {}
            }
            if let Some((id, due)) = self.back.pop_first() {
                self.head = if due { Head::Due(id) } else { Head::Busy };
                continue;
            }
            let (shared, aside, jobs) = (self.shared, &self.aside, &self.jobs_aside);
            let passed = |item: &mut Item| shared && (is_behind(item, aside, jobs) || view.is_passed(item));
            let Some(first) = self.items.pop_front_if(passed) else {
                return self.begin(view);
            };
            put(self.aside.entry(first.trigger.hook.clone()).or_default(), first);
        }
    }

    /// What others no longer pass gets its place back. O(n log n) if there is anything.
    fn bring_back(&mut self, view: View<'_>) {
        let ready = self.jobs_aside.extract_if(.., |id, (_, due)| !view.is_job_passed(*id, *due));
        self.back.extend(ready.map(|(id, (_, due))| (id, due)));
        let jobs = &self.jobs_aside;
        let ready = |hook: &HookName, items: &mut VecDeque<Item>| {
            !jobs.values().any(|(of, _)| of == hook) && !items.front().is_some_and(|first| view.is_passed(first))
        };
        let before = self.items.len();
        self.items.extend(self.aside.extract_if(ready).flat_map(|(_, items)| items));
        if self.items.len() > before {
            self.items.make_contiguous().sort_by_key(|item| item.seq);
        }
    }

    fn begin(&mut self, view: View<'_>) -> Result<Taken, Taken> {
        let gathering = view.begin(self.items.front().ok_or(Taken::Nothing)?)?;
        self.head = Head::Busy;
        Ok(Taken::New(self.gather(gathering)))
    }

    fn retry(&mut self, id: JobId, view: View<'_>) -> Result<Taken, Taken> {
        let (_, gathering) = view.begin_again(id)?;
        self.head = Head::Busy;
        Ok(Taken::Retry(id, self.gather(gathering)))
    }

    fn gather(&mut self, mut gathering: Gathering<'_>) -> Vec<Item> {
        // Most batches are small, and all their triggers wait here.
        let mut taken = Vec::with_capacity(self.items.len().min(64));
        let (aside, jobs) = (&self.aside, &self.jobs_aside);
        while let Some(item) = self.items.pop_front_if(|item| !is_behind(item, aside, jobs) && gathering.joins(item)) {
            taken.push(item);
        }
        taken
    }

    /// The job may run again now.
    pub fn due(&mut self, id: JobId) {
        match self.jobs_aside.get_mut(&id).map(|(_, due)| due).or_else(|| self.back.get_mut(&id)) {
            Some(due) => *due = true,
            None => self.head = Head::Due(id),
        }
    }

    /// The job is done.
    pub fn ended(&mut self, id: JobId) {
        if self.jobs_aside.remove(&id).is_none() && self.back.remove(&id).is_none() {
            self.head = Head::Free;
        }
    }

    /// Others pass this failed job.
    pub fn put_aside(&mut self, id: JobId, hook: &HookName, due: bool) {
        self.ended(id);
        self.jobs_aside.insert(id, (hook.clone(), due));
    }

    pub fn has_aside(&self, hook: &HookName) -> bool {
        self.aside.contains_key(hook) || self.jobs_aside.values().any(|(of, _)| of == hook)
    }

    /// The first trigger of each hook that others pass.
    pub fn first_aside(&self) -> impl Iterator<Item = &Item> {
        self.aside.values().filter_map(VecDeque::front)
    }

    pub fn remove_hook(&mut self, hook: &HookName) -> Vec<Item> {
        let (mut gone, kept): (VecDeque<_>, VecDeque<_>) =
            std::mem::take(&mut self.items).into_iter().partition(|item| item.trigger.hook == *hook);
        self.items = kept;
        gone.extend(self.aside.remove(hook).unwrap_or_default());
        Vec::from(gone)
    }

    /// Takes out the triggers that are not kept.
    pub fn retain(&mut self, keep: &mut Keep<'_>) -> Vec<Item> {
        let mut gone = retained(&mut self.items, &mut *keep);
        for aside in self.aside.values_mut() {
            gone.extend(retained(aside, &mut *keep));
        }
        gone
    }

    pub fn find(&mut self, key: &Key, seq: u64) -> Option<&mut Item> {
        let aside = self.aside.get_mut(key.hook()).and_then(|items| coalesce::find(items, seq));
        aside.or_else(|| coalesce::find(&mut self.items, seq))
    }

    pub fn sweep(&mut self, index: &mut Index, of: &Of<'_>) -> Vec<Item> {
        let mut gone = Vec::new();
        for items in self.aside.values_mut() {
            gone.extend(coalesce::sweep(items, index, of));
        }
        let aside = &mut self.aside;
        gone.extend(coalesce::sweep_after(&mut self.items, index, of, |key, places, item| {
            aside.get_mut(key.hook()).and_then(|items| coalesce::fold_into(items, places, item))
        }));
        gone
    }

    /// Everything that waits for its first run: what others pass, and then the rest in order.
    pub fn items(&self) -> impl Iterator<Item = &Item> {
        self.aside.values().flatten().chain(&self.items)
    }

    /// The first trigger, whether others pass it or not.
    pub fn oldest(&self) -> Option<&Item> {
        self.first_aside().chain(self.items.front()).min_by_key(|item| item.seq)
    }

    /// The first that is not put aside.
    pub fn next(&self) -> Option<&Item> {
        self.items.front()
    }
}

/// Whether others pass something of the trigger's hook that comes before it.
fn is_behind(item: &Item, aside: &HashMap<HookName, VecDeque<Item>>, jobs: &BTreeMap<JobId, (HookName, bool)>) -> bool {
    let hook = &item.trigger.hook;
    let first = aside.get(hook).and_then(VecDeque::front);
    first.is_some_and(|first| first.seq < item.seq) || jobs.values().any(|(of, _)| of == hook)
}

/// Nearly always at the end. A synchronization goes to the place that was kept for it.
fn put(items: &mut VecDeque<Item>, item: Item) {
    if items.back().is_none_or(|last| last.seq < item.seq) {
        return items.push_back(item);
    }
    let place = items.partition_point(|other| other.seq < item.seq);
    items.insert(place, item);
}
