//! Which neighbours one run takes together. Never looks at more than the next trigger.
//!
//! Neighbours combine when they belong to the same hook, and have the same `allowFailure` and the
//! same retry policy: a run has one outcome, so it must mean the same for all of them. Ticks and
//! events combine. A start-up runs alone because nothing of its hook may run before it is done, and
//! a synchronization runs alone because it stands for all objects of its binding, and events of that
//! binding wait for it.

use crate::model::{Cause, HookName, RetryPolicy, Trigger};

use super::{
    QueueConfig,
    item::{Batch, Item},
};

/// What a batch has in common.
#[derive(Debug)]
pub(super) struct Terms {
    hook: HookName,
    allow_failure: bool,
    retry: RetryPolicy,
    alone: bool,
}

impl Terms {
    pub(super) fn of(head: &Trigger) -> Self {
        Self {
            hook: head.hook.clone(),
            allow_failure: head.allow_failure,
            retry: head.retry,
            alone: runs_alone(&head.cause),
        }
    }

    /// Whether `next` may run together with the head.
    pub(super) fn admit(&self, next: &Trigger) -> bool {
        !self.alone
            && !runs_alone(&next.cause)
            && next.hook == self.hook
            && next.allow_failure == self.allow_failure
            && next.retry == self.retry
    }
}

fn runs_alone(cause: &Cause) -> bool {
    match cause {
        Cause::Startup | Cause::Synchronization => true,
        Cause::Schedule(_) | Cause::Event(_) => false,
    }
}

/// What a batch may still take.
#[derive(Debug)]
pub(super) struct Budget {
    pub(super) triggers: usize,
    bytes: usize,
    empty: bool,
}

impl Budget {
    pub(super) fn new(config: &QueueConfig) -> Self {
        Self { triggers: config.batch_triggers.max(1), bytes: config.batch_bytes, empty: true }
    }

    /// What is left for those who join a retry.
    pub(super) fn rest(config: &QueueConfig, batch: &Batch) -> Self {
        Self {
            triggers: config.batch_triggers.saturating_sub(batch.items.len()),
            bytes: config.batch_bytes.saturating_sub(batch.bytes),
            empty: false,
        }
    }

    /// Whether the item still fits; then it is counted. The first always does.
    pub(super) fn spend(&mut self, item: &Item) -> bool {
        let first = std::mem::replace(&mut self.empty, false);
        let fits = self.triggers > 0 && (first || item.bytes <= self.bytes);
        if fits {
            self.triggers -= 1;
            self.bytes = self.bytes.saturating_sub(item.bytes);
        }
        fits
    }
}
