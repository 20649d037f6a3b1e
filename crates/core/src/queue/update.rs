//! What happens to a hook's waiting triggers when another version takes its place. The caller decides for each trigger
//! whether it is kept.

use std::collections::VecDeque;

use super::{
    HookQueueConfig, State,
    item::{Item, Phase},
};
use crate::model::{HookName, JobId, Trigger};

/// Whether a trigger is kept. It may be changed for that, but not its queue, nor what it is about.
pub(super) type Keep<'a> = dyn FnMut(&mut Trigger) -> bool + 'a;

/// Takes out what is not kept.
pub(super) fn retained(items: &mut VecDeque<Item>, mut keep: impl FnMut(&mut Item) -> bool) -> Vec<Item> {
    let mut gone = Vec::new();
    for mut item in std::mem::take(items) {
        if keep(&mut item) { items.push_back(item) } else { gone.push(item) }
    }
    gone
}

impl State {
    /// Sets new terms for a known hook, and checks all of its triggers that wait: for their first run, for the next
    /// one, for their object to be quiet, or as dead letters. What `keep` refuses is dropped. What is kept is due at
    /// once, and its failures no longer count. Returns how many triggers were dropped, without those of dead letters.
    /// What runs is left as it is, so call this while nothing runs. O(n log n) in what waits.
    pub fn update_hook(
        &mut self,
        name: &HookName,
        terms: HookQueueConfig,
        keep: &mut dyn FnMut(&mut Trigger) -> bool,
    ) -> usize {
        if !self.hooks.contains_key(name) {
            return 0;
        }
        let mut gone = Vec::new();
        for line in self.lines.values_mut() {
            gone.extend(line.retain(name, keep, &self.config));
        }
        let waiting = self.batches.iter().filter(|(_, batch)| batch.hook == *name && !batch.is_running());
        let waiting: Vec<JobId> = waiting.map(|(id, _)| *id).collect();
        for id in waiting {
            gone.extend(self.revise_job(id, keep));
        }
        let held = self.debounce.retain(name, keep);
        self.archive.retain(name, keep);
        self.leave(&gone);
        self.add_hook(name.clone(), terms);
        // Otherwise, a hook whose queues have other names with each version would leave all of them behind.
        self.drop_empty_lines();
        self.look_again_everywhere();
        gone.len() + held
    }

    fn revise_job(&mut self, id: JobId, keep: &mut Keep<'_>) -> Vec<Item> {
        let Some(batch) = self.batches.get_mut(&id) else { return Vec::new() };
        let gone: Vec<Item> = batch.items.extract_if(.., |item| !keep(&mut item.trigger)).collect();
        if batch.items.is_empty() {
            // The line releases everything that the job had.
            batch.items = gone;
            return self.drop_waiting(id);
        }
        batch.bytes -= gone.iter().map(|item| item.bytes).sum::<usize>();
        // The other version failed. This one has all its attempts, and the first of them at once.
        batch.failures = 0;
        batch.items.iter_mut().for_each(|item| item.tries = 0);
        let line = batch.line;
        if let Phase::Waiting { due } = batch.phase {
            batch.phase = Phase::Due;
            self.timers.remove(&(due, id));
            self.due(line, id);
        }
        let Some(batch) = self.batches.get(&id) else { return gone };
        if let Some(line) = self.lines.get_mut(&batch.line) {
            line.released(&gone, &batch.items);
        }
        gone
    }
}
