//! Who is told what happens in the queues, for logs, metrics and dead letters. Never changes it.

use crate::model::{BindingName, HookName, Job, QueueName};

use super::{DeadLetter, Finished};

/// What became of a pushed trigger.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pushed {
    /// It waits.
    Queued,
    /// It waits beyond the queue's bound: nothing there is about the same object.
    Beyond,
    /// The queue is over its bound, and a waiting trigger of the same object took its news over.
    Folded,
    /// Its hook isn't known (any more), its queue is another hook's own, or the queues are closed.
    Refused,
}

/// A trigger was pushed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Enqueued {
    /// Whose trigger.
    pub hook: HookName,
    /// Of which binding.
    pub binding: BindingName,
    /// For which queue.
    pub queue: QueueName,
    /// What became of it.
    pub pushed: Pushed,
}

/// Is told what happens. Calls come from the pushing thread and from the driver's task; they must not
/// block.
pub trait Observer: Send + Sync {
    /// A trigger was pushed, or refused.
    fn enqueued(&self, _enqueued: &Enqueued) {}
    /// A job is handed to the action.
    fn started(&self, _job: &Job) {}
    /// A run ended.
    fn finished(&self, _finished: &Finished) {}
    /// A dead letter made room for others, and is gone.
    fn dead_letter_lost(&self, _letter: &DeadLetter) {}
}

/// Tells nobody.
impl Observer for () {}
