//! A trigger in a line, and the batch of them that one job holds. Never decides what runs.

use std::{
    collections::HashMap,
    sync::Arc,
    time::{Duration, Instant},
};

use crate::model::{BindingName, Cause, HookName, Job, JobId, ObjectKey, QueueName, Resource, Trigger};

/// Identifies a queue inside the state.
pub(super) type LineId = u64;

/// One object, for keeping its events in order.
pub(super) type ObjectId = (Arc<Resource>, ObjectKey);

/// All batches, running or waiting to run again.
pub(super) type Batches = HashMap<JobId, Batch>;

/// A trigger with its place in the order of all.
#[derive(Debug)]
pub(super) struct Item {
    /// Grows with every push.
    pub(super) seq: u64,
    /// Payload, see [`payload`].
    pub(super) bytes: usize,
    pub(super) trigger: Trigger,
}

impl Item {
    pub(super) fn new(seq: u64, trigger: Trigger) -> Self {
        Self { seq, bytes: payload(&trigger), trigger }
    }

    /// The object whose order it keeps; absent for start-up, synchronization and ticks.
    pub(super) fn object(&self) -> Option<ObjectId> {
        object(&self.trigger)
    }

    pub(super) fn is_barrier(&self) -> bool {
        !matches!(self.trigger.cause, Cause::Event(_))
    }
}

/// The object that a trigger is about.
pub(super) fn object(trigger: &Trigger) -> Option<ObjectId> {
    match &trigger.cause {
        Cause::Event(event) => Some((event.resource.clone(), event.item.key.clone())),
        Cause::Startup | Cause::Schedule(_) | Cause::Synchronization => None,
    }
}

/// Bytes of objects and filter results that a trigger carries. Objects of a synchronization are read
/// when it runs, so they are not held here.
pub(super) fn payload(trigger: &Trigger) -> usize {
    let Cause::Event(event) = &trigger.cause else { return 0 };
    [&event.item.object, &event.item.filter_result, &event.previous_filter_result]
        .into_iter()
        .flatten()
        .map(|text| text.len())
        .sum()
}

/// Where a batch is in its life.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Phase {
    /// Handed out.
    Running { since: Instant },
    /// Failed; runs again at this time.
    Waiting { due: Instant },
    /// May run again now.
    Due,
}

/// The triggers of one job, kept until it is done.
#[derive(Debug)]
pub(super) struct Batch {
    pub(super) line: LineId,
    pub(super) hook: HookName,
    pub(super) queue: QueueName,
    /// Oldest first, never empty.
    pub(super) items: Vec<Item>,
    pub(super) bytes: usize,
    /// Failed attempts so far.
    pub(super) failures: u32,
    pub(super) phase: Phase,
    /// Its hook is gone; whatever comes of the run, the triggers are dropped.
    pub(super) orphan: bool,
    /// How long the oldest trigger that is new in this attempt had waited.
    pub(super) waited: Duration,
}

impl Batch {
    /// Adds triggers that are taken for the first time at `now`.
    pub(super) fn extend(&mut self, items: Vec<Item>, now: Instant) {
        self.waited = items.first().map(|item| now.saturating_duration_since(item.trigger.created)).unwrap_or_default();
        self.bytes += items.iter().map(|item| item.bytes).sum::<usize>();
        self.items.extend(items);
    }

    /// The number of the attempt that runs or would run next.
    pub(super) fn attempt(&self) -> u32 {
        self.failures.saturating_add(1)
    }

    pub(super) fn binding(&self) -> Option<BindingName> {
        self.items.first().map(|item| item.trigger.binding.clone())
    }

    pub(super) fn job(&self, id: JobId) -> Job {
        Job {
            id,
            hook: self.hook.clone(),
            queue: self.queue.clone(),
            attempt: self.attempt(),
            triggers: self.items.iter().map(|item| item.trigger.clone()).collect(),
        }
    }
}
