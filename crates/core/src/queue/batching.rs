//! Which neighbours one run takes together. Only the next trigger is considered, and never one behind it.
//!
//! Neighbours combine if they belong to the same hook, and have the same `allowFailure` and the same retry policy: a
//! run has one outcome, which must mean the same for all of them. Ticks, events, and synchronizations of a group
//! combine. A start-up runs alone, because nothing of its hook may run before it is done. A synchronization without a
//! group runs alone, because it stands for all objects of its binding. A hook that does not combine takes one trigger
//! for each run.

use std::sync::Arc;

use crate::model::{Cause, HookName, RetryPolicy, Trigger};

use super::{
    QueueConfig,
    item::{Batch, Item},
    preconditions::Hook,
};

/// What the triggers of a batch have in common.
#[derive(Debug)]
struct Terms {
    hook: HookName,
    allow_failure: bool,
    retry: RetryPolicy,
}

impl Terms {
    fn of(head: &Trigger) -> Self {
        Self { hook: head.hook.clone(), allow_failure: head.allow_failure, retry: head.retry }
    }

    fn admit(&self, next: &Trigger) -> bool {
        !runs_alone(next)
            && next.hook == self.hook
            && next.allow_failure == self.allow_failure
            && next.retry == self.retry
    }
}

fn runs_alone(trigger: &Trigger) -> bool {
    match trigger.cause {
        Cause::Startup => true,
        Cause::Synchronization => trigger.group.is_none(),
        Cause::Schedule(_) | Cause::Event(_) => false,
    }
}

/// A batch that is being assembled.
#[derive(Debug)]
pub(super) struct Gathering<'a> {
    terms: Terms,
    hook: Option<&'a Hook>,
    /// Nothing joins the head.
    alone: bool,
    /// The head was not added yet.
    empty: bool,
    triggers: usize,
    bytes: usize,
    /// Bytes that are left for what the triggers do not carry.
    loose: usize,
    synchronizations: Vec<(u64, Arc<str>)>,
    /// A trigger was left out because the batch would be too large.
    pub(super) full: bool,
}

impl<'a> Gathering<'a> {
    /// A new batch. The head must be the first item of [`Self::joins`].
    pub(super) fn new(head: &Item, hook: Option<&'a Hook>, config: &QueueConfig) -> Self {
        let combine = hook.is_none_or(|hook| hook.terms.combine);
        Self {
            terms: Terms::of(&head.trigger),
            hook,
            alone: !combine || runs_alone(&head.trigger),
            empty: true,
            triggers: config.batch_triggers.max(1),
            bytes: config.batch_bytes,
            loose: config.loose_bytes(),
            synchronizations: Vec::new(),
            full: false,
        }
    }

    /// A batch that runs again.
    pub(super) fn again(head: &Item, batch: &Batch, hook: Option<&'a Hook>, config: &QueueConfig) -> Self {
        let new = Self::new(head, hook, config);
        Self {
            empty: false,
            triggers: config.batch_triggers.saturating_sub(batch.items.len()),
            bytes: config.batch_bytes.saturating_sub(batch.bytes),
            loose: batch.items.iter().fold(new.loose, |left, item| left.saturating_sub(item.loose_bytes())),
            synchronizations: batch.items.iter().filter_map(synchronization).collect(),
            ..new
        }
    }

    /// The most triggers that it takes, including the head.
    pub(super) fn room(&self) -> usize {
        if self.alone { 1 } else { self.triggers }
    }

    /// Whether the item joins. If it does, it is counted. The head always joins.
    pub(super) fn joins(&mut self, item: &Item) -> bool {
        if !std::mem::take(&mut self.empty) {
            let held_back = || self.hook.is_some_and(|hook| hook.holds_back(item, &self.synchronizations));
            if self.alone || !self.terms.admit(&item.trigger) || held_back() {
                return false;
            }
            self.full = self.triggers == 0 || item.bytes > self.bytes || item.loose_bytes() > self.loose;
            if self.full {
                return false;
            }
        }
        self.triggers = self.triggers.saturating_sub(1);
        self.bytes = self.bytes.saturating_sub(item.bytes);
        self.loose = self.loose.saturating_sub(item.loose_bytes());
        self.synchronizations.extend(synchronization(item));
        true
    }
}

fn synchronization(item: &Item) -> Option<(u64, Arc<str>)> {
    let group = item.trigger.group.clone()?;
    matches!(item.trigger.cause, Cause::Synchronization).then_some((item.seq, group))
}
