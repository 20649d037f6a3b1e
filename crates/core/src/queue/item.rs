//! A trigger in a line, and the batch of triggers that one job holds.

use std::{
    collections::{HashMap, VecDeque},
    sync::{Arc, Weak},
    time::{Duration, Instant},
};

use crate::fair::Tenant;
use crate::model::{
    self, BindingName, Cause, HookName, Job, JobId, ObjectKey, QueueName, Resource, Trigger, WatchEventKind,
};

use super::held::{Held, Texts};

/// Identifies a queue inside the state.
pub(super) type LineId = u64;

/// One object, whose events are kept in order.
pub(super) type ObjectId = (Arc<Resource>, ObjectKey);

/// All batches, running or waiting to run again.
pub(super) type Batches = HashMap<JobId, Batch>;

/// A trigger with its place in the order of all triggers.
#[derive(Debug)]
pub(super) struct Item {
    /// Grows with every push. A synchronization has the place that was kept for it.
    pub(super) seq: u64,
    /// The number of its news. A dead letter that is retried keeps it.
    pub(super) born: u64,
    /// Failed runs that were the hook's fault.
    pub(super) tries: u32,
    /// The payload. See [`payload`].
    pub(super) bytes: usize,
    pub(super) trigger: Trigger,
    /// It begins with an `Added` event that no run has had.
    pub(super) unseen: bool,
    /// The payload's part of the memory.
    pub(super) held: Held,
    /// What it is about, if there was no room for that. It is available as long as something else keeps it, as a
    /// snapshot does.
    pub(super) loose: Option<Loose>,
}

/// An object's state that the queues do not keep.
#[derive(Debug, Clone)]
pub(super) struct Loose {
    item: Weak<model::Item>,
    bytes: usize,
}

impl Item {
    /// A new item. It must be settled before it waits.
    pub(super) fn new(seq: u64, trigger: Trigger, held: Held) -> Self {
        let trigger = without_unreported(trigger);
        let unseen = matches!(&trigger.cause, Cause::Event(event) if event.kind == WatchEventKind::Added);
        Self { seq, born: seq, tries: 0, bytes: payload(&trigger), trigger, unseen, held, loose: None }
    }

    /// Takes room for itself and for what it carries. Returns whether there is room for both.
    pub(super) fn fits(&mut self) -> bool {
        if self.held.charge(&self.trigger) {
            return self.held.hold(texts(&self.trigger));
        }
        self.held.no_texts();
        false
    }

    /// Takes room for what it carries. If there is no room, it keeps which object changed and how, and drops the texts.
    pub(super) fn settle(&mut self) {
        self.bytes = payload(&self.trigger);
        if self.fits() {
            return;
        }
        if let Cause::Event(event) = &mut self.trigger.cause {
            (event.previous_filter_result, event.previous_object) = (None, None);
            let bytes = item_bytes(&event.item);
            if bytes > 0 {
                self.loose = Some(Loose { item: Arc::downgrade(&event.item), bytes });
                event.item = Arc::new(bare(&event.item));
            }
        }
        self.bytes = 0;
    }

    /// Bytes that a run receives in addition to those that the trigger carries.
    pub(super) fn loose_bytes(&self) -> usize {
        self.loose.as_ref().map_or(0, |loose| loose.bytes)
    }

    /// The trigger as a run receives it: with the loose state, unless nothing keeps that any more.
    pub(super) fn delivered(&self) -> Trigger {
        let mut delivered = self.trigger.clone();
        if let (Cause::Event(event), Some(item)) =
            (&mut delivered.cause, self.loose.as_ref().and_then(|loose| loose.item.upgrade()))
        {
            event.item = item;
        }
        delivered
    }

    /// The object whose order it keeps. `None` for start-up, synchronization, ticks and groups.
    pub(super) fn object(&self) -> Option<ObjectId> {
        object(&self.trigger)
    }

    /// Bytes that it takes of the memory, if nothing else holds its texts.
    pub(super) fn all_bytes(&self) -> u64 {
        self.held.bare_bytes() + self.bytes as u64
    }

    pub(super) fn is_barrier(&self) -> bool {
        !matches!(self.trigger.cause, Cause::Event(_)) || self.trigger.group.is_some()
    }
}

/// The object that a trigger is about. `None` for a group.
pub(super) fn object(trigger: &Trigger) -> Option<ObjectId> {
    match (&trigger.group, &trigger.cause) {
        (None, Cause::Event(event)) => Some((event.resource.clone(), event.item.key.clone())),
        _ => None,
    }
}

/// Drops what a run does not receive: the object of a group's event.
fn without_unreported(mut trigger: Trigger) -> Trigger {
    if let (Some(_), Cause::Event(event)) = (&trigger.group, &mut trigger.cause) {
        let item = &event.item;
        if item.object.is_some() || item.filter_result.is_some() {
            event.item = Arc::new(bare(item));
        }
        event.previous_filter_result = None;
        event.previous_object = None;
    }
    trigger
}

/// The identity and the version of the object, without its content.
fn bare(item: &model::Item) -> model::Item {
    let (uid, resource_version) = (item.uid.clone(), item.resource_version.clone());
    model::Item { key: item.key.clone(), uid, resource_version, object: None, filter_result: None }
}

fn item_bytes(item: &model::Item) -> usize {
    [&item.object, &item.filter_result].into_iter().flatten().map(|text| text.len()).sum()
}

/// Objects and filter results that a trigger carries.
fn texts(trigger: &Trigger) -> Texts<'_> {
    let Cause::Event(event) = &trigger.cause else { return [None; 4] };
    let (item, filter_result) = (&event.item, &event.previous_filter_result);
    [item.object.as_ref(), item.filter_result.as_ref(), filter_result.as_ref(), event.previous_object.as_ref()]
}

/// Bytes of objects and filter results that a trigger carries. Objects of a synchronization are read when it runs, so
/// they are not held here.
pub(super) fn payload(trigger: &Trigger) -> usize {
    texts(trigger).into_iter().flatten().map(|text| text.len()).sum()
}

/// The phase of a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Phase {
    /// It was handed out.
    Running { since: Instant },
    /// It failed, and runs again at this time.
    Waiting { due: Instant },
    /// It may run again now.
    Due,
}

/// The triggers of one job, kept until it is done.
#[derive(Debug)]
pub(super) struct Batch {
    pub(super) line: LineId,
    pub(super) hook: HookName,
    /// The tenant whose slot it uses while it runs.
    pub(super) tenant: Tenant,
    pub(super) queue: QueueName,
    /// Oldest first. Never empty.
    pub(super) items: Vec<Item>,
    pub(super) bytes: usize,
    /// Failed attempts so far.
    pub(super) failures: u32,
    /// The error of the last failed attempt.
    pub(super) failure: Option<Arc<str>>,
    pub(super) phase: Phase,
    /// Its hook is gone. Whatever the outcome is, the triggers are dropped.
    pub(super) hook_removed: bool,
    /// How long the oldest trigger that is new in this attempt had waited.
    pub(super) waited: Duration,
}

impl Batch {
    /// Adds triggers that are taken for the first time at `now`.
    pub(super) fn extend(&mut self, items: Vec<Item>, now: Instant) {
        self.waited = items.first().map(|item| now.saturating_duration_since(item.trigger.created)).unwrap_or_default();
        self.bytes += items.iter().map(|item| item.bytes).sum::<usize>();
        if self.items.is_empty() { self.items = items } else { self.items.extend(items) }
    }

    /// Takes out the triggers that have had all their attempts.
    pub(super) fn take_exhausted(&mut self) -> Vec<Item> {
        let exhausted = |item: &mut Item| item.trigger.retry.attempts.is_some_and(|max| item.tries >= max.get());
        let gone: Vec<_> = self.items.extract_if(.., exhausted).collect();
        self.bytes -= gone.iter().map(|item| item.bytes).sum::<usize>();
        gone
    }

    /// The number of the attempt that runs or would run next.
    pub(super) fn attempt(&self) -> u32 {
        self.failures.saturating_add(1)
    }

    pub(super) fn binding(&self) -> Option<BindingName> {
        self.items.first().map(|item| item.trigger.binding.clone())
    }

    pub(super) fn is_running(&self) -> bool {
        matches!(self.phase, Phase::Running { .. })
    }

    /// A trigger is left out if the next one is of the same group.
    fn delivered(&self) -> Vec<Trigger> {
        let next = self.items.iter().skip(1).map(Some).chain([None]);
        let is_last_of_group = |(item, next): &(&Item, Option<&Item>)| {
            let group = item.trigger.group.as_ref();
            group.is_none() || next.is_none_or(|next| next.trigger.group.as_ref() != group)
        };
        let mut triggers = Vec::with_capacity(self.items.len());
        triggers.extend(self.items.iter().zip(next).filter(is_last_of_group).map(|(item, _)| item.delivered()));
        triggers
    }

    pub(super) fn job(&self, id: JobId) -> Job {
        Job {
            id,
            hook: self.hook.clone(),
            queue: self.queue.clone(),
            attempt: self.attempt(),
            triggers: self.delivered(),
        }
    }
}

/// Whether a trigger is kept. It may be changed for that, but not its queue, nor what it is about.
pub(super) type Keep<'a> = dyn FnMut(&mut Item) -> bool + 'a;

/// Takes out what is not kept.
pub(super) fn retained(items: &mut VecDeque<Item>, mut keep: impl FnMut(&mut Item) -> bool) -> Vec<Item> {
    let mut gone = Vec::new();
    for mut item in std::mem::take(items) {
        if keep(&mut item) { items.push_back(item) } else { gone.push(item) }
    }
    gone
}
