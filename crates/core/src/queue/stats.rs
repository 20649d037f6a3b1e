//! The state of the queues at one moment, for metrics, readiness and the admin commands. No decision depends on it.

use std::{
    collections::{BTreeMap, HashMap},
    time::{Duration, Instant},
};

use crate::model::{BindingName, HookName, QueueName};

use super::{
    debounce::Debounce,
    item::{Batch, Batches, Item, LineId},
    line::Line,
    preconditions::{Hook, Hooks},
};

/// All queues and hooks, sorted by name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Stats {
    /// Every queue that has a trigger, or had one since a hook was last removed or replaced.
    pub queues: Vec<QueueStats>,
    /// Every hook that was added.
    pub hooks: Vec<HookStats>,
    /// Jobs that run.
    pub running: usize,
    /// Dead letters that are kept.
    pub dead_letters: usize,
    /// The bytes of the dead letters.
    pub dead_letter_bytes: usize,
}

/// The state of one queue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueueStats {
    pub queue: QueueName,
    /// Triggers that wait for their first run or for the next try.
    pub length: usize,
    /// Bytes of objects and filter results of these triggers.
    pub bytes: usize,
    /// The age of the oldest trigger that is not done, including running ones.
    pub oldest: Option<Duration>,
    /// Jobs that run.
    pub running: usize,
    /// Jobs that failed and wait for their next try.
    pub retrying: usize,
    /// Triggers that were folded into others since the queue exists, because it was over its bound or a tenant had no
    /// room.
    pub folded: u64,
    /// Triggers that the queue accepted beyond its bound, or without room for their texts, since it exists.
    pub beyond: u64,
}

/// The state of one hook.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HookStats {
    pub hook: HookName,
    /// It has no trigger that waits or runs.
    pub idle: bool,
    /// Triggers that are not done.
    pub outstanding: usize,
    /// Jobs that run.
    pub running: usize,
    /// Its start-up is not done.
    pub starting: bool,
    /// Bindings whose synchronization was pushed and is not done, and that the hook waits for. Sorted.
    pub unsynchronised: Vec<BindingName>,
    /// The same for bindings whose synchronization only their own events wait for.
    pub unsynchronised_in_background: Vec<BindingName>,
    /// Nothing of it starts until it is resumed.
    pub paused: bool,
    /// Nothing of it starts until its next version has taken over.
    pub held: bool,
}

impl HookStats {
    /// Whether its start-up and all synchronizations that it waits for are done, as far as they were pushed.
    pub fn synchronised(&self) -> bool {
        !self.starting && self.unsynchronised.is_empty()
    }
}

pub(super) fn hooks(hooks: &Hooks, debounce: &Debounce) -> Vec<HookStats> {
    let sorted: BTreeMap<_, _> = hooks.iter().collect();
    sorted.into_iter().map(|(name, hook)| hook_stats(name, hook, debounce.count(name))).collect()
}

/// `held` events wait for their object to be quiet.
fn hook_stats(name: &HookName, hook: &Hook, held: usize) -> HookStats {
    let (unsynchronised, unsynchronised_in_background) = hook.unsynchronised();
    HookStats {
        hook: name.clone(),
        idle: hook.outstanding + held == 0,
        outstanding: hook.outstanding + held,
        running: hook.running,
        starting: hook.starting(),
        unsynchronised,
        unsynchronised_in_background,
        paused: hook.paused,
        held: hook.held,
    }
}

pub(super) fn queues(lines: &HashMap<LineId, Line>, batches: &Batches, now: Instant) -> Vec<QueueStats> {
    let mut by_line: HashMap<LineId, Vec<&Batch>> = HashMap::new();
    for batch in batches.values() {
        by_line.entry(batch.line).or_default().push(batch);
    }
    let none = Vec::new();
    let mut stats: Vec<_> = lines.iter().map(|(id, line)| queue(line, by_line.get(id).unwrap_or(&none), now)).collect();
    stats.sort_by(|a, b| a.queue.cmp(&b.queue));
    stats
}

fn queue(line: &Line, batches: &[&Batch], now: Instant) -> QueueStats {
    let (running, retrying): (Vec<&Batch>, Vec<&Batch>) = batches.iter().partition(|batch| batch.is_running());
    let firsts = batches.iter().filter_map(|batch| batch.items.first()).chain(line.oldest());
    let oldest = firsts.map(|item: &Item| item.trigger.created).min();
    QueueStats {
        queue: line.name.clone(),
        length: line.length + retrying.iter().map(|batch| batch.items.len()).sum::<usize>(),
        bytes: line.bytes + retrying.iter().map(|batch| batch.bytes).sum::<usize>(),
        oldest: oldest.map(|created| now.saturating_duration_since(created)),
        running: running.len(),
        retrying: retrying.len(),
        folded: line.folded,
        beyond: line.beyond,
    }
}
