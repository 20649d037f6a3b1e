//! Dead letters that are retried or dropped. A hook never receives an older state of an object after a newer one.

use std::{collections::HashMap, time::Instant};

use super::{
    DeadLetter, Enqueued, Letters, State,
    coalesce::Key,
    dead_letters::{self, Requeued},
    item::Item,
};

/// What happened to dead letters that were to be retried.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Retried {
    /// Letters that were taken out.
    pub letters: usize,
    /// Triggers that are at the ends of their queues again.
    pub triggers: usize,
    /// Triggers that were left out, because a newer state of their objects was delivered, waits or runs.
    pub superseded: usize,
}

impl State {
    /// All dead letters, oldest first. O(letters).
    pub fn dead_letters(&self) -> Vec<DeadLetter> {
        self.archive.letters().collect()
    }

    /// Puts the triggers of dead letters at the ends of their queues again, for a first attempt. The letters of removed
    /// hooks are gone. O(n) in what waits and runs.
    pub fn retry_dead(&mut self, which: &Letters, now: Instant) -> (Retried, Vec<Enqueued>) {
        let mut retried = Retried::default();
        if self.closed {
            return (retried, Vec::new());
        }
        let ids = self.archive.select(which);
        retried.letters = ids.len();
        let (requeued, superseded) = self.archive.requeue(ids);
        retried.superseded = superseded;
        let newest = self.newest_waiting(&requeued);
        let mut pushed = Vec::new();
        for Requeued { born, mut trigger } in requeued {
            if dead_letters::keys(&trigger).iter().any(|key| newest.get(key).is_some_and(|newest| *newest > born)) {
                retried.superseded += 1;
                continue;
            }
            trigger.created = now;
            let (hook, binding, queue) = (trigger.hook.clone(), trigger.binding.clone(), trigger.queue.clone());
            retried.triggers += 1;
            pushed.push(Enqueued { hook, binding, queue, pushed: self.place(trigger, Some(born)) });
        }
        (retried, pushed)
    }

    /// For everything that would supersede these: the newest one that waits or is in a job.
    fn newest_waiting(&self, requeued: &[Requeued]) -> HashMap<Key, u64> {
        let mut newest: HashMap<Key, u64> =
            requeued.iter().flat_map(|requeued| dead_letters::keys(&requeued.trigger)).map(|key| (key, 0)).collect();
        if newest.is_empty() {
            return newest;
        }
        let in_jobs = self.batches.values().flat_map(|batch| &batch.items);
        let waiting = self.lines.values().flat_map(|line| line.items());
        for item in in_jobs.chain(waiting) {
            note(&mut newest, item);
        }
        newest
    }

    /// Forgets dead letters. Returns how many.
    pub fn drop_dead(&mut self, which: &Letters) -> usize {
        self.archive.drop(which)
    }
}

fn note(newest: &mut HashMap<Key, u64>, item: &Item) {
    if let Some(newest) = newest.get_mut(&Key::of_news(&item.trigger)) {
        *newest = (*newest).max(item.born);
    }
}
