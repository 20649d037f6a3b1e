//! Why a binding did not report an object: what it knows of it, and what it made of the last change.

use std::sync::{Mutex, PoisonError};

use tokio::sync::{Notify, oneshot};

use super::Binding;
use crate::model::{ObjectKey, WatchEventKind};

/// What a binding made of the last change of an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// It was there before the binding went live: the synchronization has it, or the hook is assumed to know it.
    BeforeLive,
    /// An event went on its way to the queue.
    Event(WatchEventKind),
    /// What the binding sees of the object is what it was.
    Unchanged,
    /// The hook does not want events of this kind.
    Unwanted(WatchEventKind),
    /// The hook made the change itself, and ignores its own writes.
    Own,
    /// The filter fails on the object.
    FilterFailed,
    /// The filter could not run on the newest state yet, or there is no memory for that state.
    Late,
}

/// What a binding knows of one object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ObjectExplained {
    pub verdict: Verdict,
    /// The resource version in the snapshot. `None` if the snapshot does not have the object.
    pub resource_version: Option<Box<str>>,
    /// The error of the filter.
    pub error: Option<String>,
    /// Whether there is a newer state, on which the filter could not run yet.
    pub late: bool,
}

/// What a binding says about an object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Explanation {
    /// See [`Binding::is_listed`].
    pub listed: bool,
    /// Whether the binding may go live.
    pub admitted: bool,
    /// See [`Binding::is_live`].
    pub live: bool,
    /// `None` if the binding does not select the object.
    pub object: Option<ObjectExplained>,
}

/// Questions to a binding that somebody else drives.
#[derive(Debug, Default)]
pub(super) struct Questions {
    waiting: Mutex<Vec<(ObjectKey, oneshot::Sender<Explanation>)>>,
    more: Notify,
}

impl Questions {
    pub fn ask(&self, key: &ObjectKey) -> oneshot::Receiver<Explanation> {
        let (answer, receiver) = oneshot::channel();
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        // Nobody waits any more for those that were never answered.
        waiting.retain(|(_, answer)| !answer.is_closed());
        waiting.push((key.clone(), answer));
        drop(waiting);
        self.more.notify_one();
        receiver
    }

    /// Returns when there may be a question.
    pub async fn asked(&self) {
        self.more.notified().await;
    }

    pub fn answer(&self, binding: &Binding) {
        let waiting = std::mem::take(&mut *self.waiting.lock().unwrap_or_else(PoisonError::into_inner));
        for (key, answer) in waiting {
            // The one who asked may have given up.
            let _ = answer.send(binding.explain(&key));
        }
    }
}
