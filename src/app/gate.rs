//! Holds a hook back until all its bindings have listed their objects, so that no run reads a
//! snapshot that is not complete. A binding whose kind is not served holds nothing up: its snapshot
//! is empty. What is held is bounded: while the gate is closed a binding takes no further changes.

use std::{
    collections::{BTreeSet, HashSet},
    pin::Pin,
    sync::{Arc, Mutex, PoisonError},
};

use futures::{Stream, StreamExt as _, stream};
use tokio::sync::watch;

use crate::{
    model::{Cause, Change, Trigger},
    queue,
};

/// One hook's gate.
pub(super) struct Gate {
    state: Mutex<State>,
    open: watch::Sender<bool>,
    queue: queue::Handle,
}

#[derive(Default)]
struct State {
    /// Bindings that have not listed, by their place in the document.
    unlisted: BTreeSet<usize>,
    held: Vec<Trigger>,
}

impl State {
    /// What may go on now: synchronizations first, each group in the order it came.
    fn release(&mut self) -> Vec<Trigger> {
        if !self.unlisted.is_empty() {
            return Vec::new();
        }
        let mut triggers = std::mem::take(&mut self.held);
        triggers.sort_by_key(|trigger| trigger.cause != Cause::Synchronization);
        triggers
    }
}

impl Gate {
    /// For a hook with this number of `kubernetes` bindings.
    pub fn new(bindings: usize, queue: queue::Handle) -> Self {
        let state = Mutex::new(State { unlisted: (0..bindings).collect(), held: Vec::new() });
        Self { state, open: watch::Sender::new(bindings == 0), queue }
    }

    /// Passes a trigger on, now or later.
    pub fn push(&self, trigger: Trigger) {
        self.change(|state| state.held.push(trigger));
    }

    /// A binding has listed its objects, or can't for now.
    pub fn listed(&self, binding: usize) {
        self.change(|state| {
            state.unlisted.remove(&binding);
        });
    }

    /// Returns when all bindings have listed.
    pub async fn opened(&self) {
        // The sender lives as long as this gate.
        let _ = self.open.subscribe().wait_for(|open| *open).await;
    }

    /// The changes of a binding's sources; after all have listed, no more until the gate is open.
    pub fn changes<S>(
        self: Arc<Self>,
        binding: usize,
        sources: Vec<S>,
    ) -> impl Stream<Item = (usize, Change)> + Send + Unpin
    where
        S: Stream<Item = (usize, Change)> + Send + Unpin + 'static,
    {
        let unlisted: HashSet<usize> = (0..sources.len()).collect();
        let waiting =
            Waiting { gate: self, binding, unlisted, passed: false, inner: Box::pin(stream::select_all(sources)) };
        stream::unfold(waiting, |mut waiting| async move {
            let change = waiting.next().await?;
            Some((change, waiting))
        })
        .boxed()
    }

    fn change(&self, change: impl FnOnce(&mut State)) {
        // Pushed under the lock: two triggers of one object must not overtake each other.
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        change(&mut state);
        for trigger in state.release() {
            self.queue.push(trigger);
        }
        if state.unlisted.is_empty() {
            self.open.send_replace(true);
        }
    }
}

/// A binding's changes on their way through the gate.
struct Waiting {
    gate: Arc<Gate>,
    binding: usize,
    unlisted: HashSet<usize>,
    passed: bool,
    inner: Pin<Box<dyn Stream<Item = (usize, Change)> + Send>>,
}

impl Waiting {
    async fn next(&mut self) -> Option<(usize, Change)> {
        // Being asked for the next change means that the last one was dealt with.
        if self.unlisted.is_empty() && !self.passed {
            self.gate.listed(self.binding);
            self.gate.opened().await;
            self.passed = true;
        }
        let (source, change) = self.inner.next().await?;
        if change == Change::ListDone {
            self.unlisted.remove(&source);
        }
        Some((source, change))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::time::Instant;

    use super::*;
    use crate::model::{BindingName, HookName, QueueName, RetryPolicy, Tick};

    fn trigger(binding: &str, cause: Cause) -> Trigger {
        let hook = HookName::new("h").unwrap();
        Trigger {
            queue: QueueName::Own(hook.clone()),
            hook,
            binding: BindingName::new(binding),
            cause,
            snapshots: Arc::new([]),
            allow_failure: false,
            retry: RetryPolicy::default(),
            created: Instant::now(),
        }
    }

    fn names(triggers: &[Trigger]) -> Vec<&str> {
        triggers.iter().map(|trigger| trigger.binding.as_str()).collect()
    }

    #[test]
    fn waits_for_all_bindings_and_puts_synchronizations_first() {
        let tick = Cause::Schedule(Tick { scheduled_at: 0, missed: 0 });
        let mut state = State { unlisted: [0, 1].into(), held: Vec::new() };
        state.held.push(trigger("tick", tick));
        state.held.push(trigger("a", Cause::Synchronization));
        state.unlisted.remove(&0);
        assert!(state.release().is_empty());
        state.held.push(trigger("b", Cause::Synchronization));
        state.unlisted.remove(&1);
        assert_eq!(names(&state.release()), ["a", "b", "tick"]);
        assert!(state.release().is_empty());
    }
}
