//! Who receives what happens in the queues, for logs, metrics and dead letters.

use crate::model::{BindingName, HookName, Job, QueueName};

use super::{DeadLetter, Finished};

/// What happened to a pushed trigger.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pushed {
    /// It waits.
    Queued,
    /// It waits beyond the queue's bound, or without its texts because its tenant has no room for them. It folds with
    /// nothing.
    Beyond,
    /// A waiting trigger about the same thing took over its news: the queue is over its bound, the tenant has no room,
    /// or the event is debounced.
    Folded,
    /// Its hook is not known (any more), its queue is another hook's own, or the queues are closed.
    Refused,
}

/// A trigger that was pushed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Enqueued {
    pub hook: HookName,
    pub binding: BindingName,
    pub queue: QueueName,
    pub pushed: Pushed,
}

/// Receives what happens. The calls come from the pushing thread and from the driver's task, and must not block.
pub trait Observer: Send + Sync {
    /// A trigger was pushed, or refused.
    fn enqueued(&self, _enqueued: &Enqueued) {}
    /// A job is passed to the action.
    fn started(&self, _job: &Job) {}
    /// A run ended.
    fn finished(&self, _finished: &Finished) {}
    /// A dead letter made room for others, and is gone.
    fn dead_letter_lost(&self, _letter: &DeadLetter) {}
}

/// An observer that ignores everything.
impl Observer for () {}
