//! Where the events of one object are, and what they wait for.

use std::{collections::HashMap, time::Instant};

use crate::model::{BindingName, Cause, HookName, ObjectKey, QueueName, Trigger};

use super::{
    QueueState, State,
    item::{Batch, Item, LineId, Phase},
    stats::cause,
};

/// An event that no run has taken with success.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unfinished {
    pub queue: QueueName,
    pub binding: BindingName,
    /// `added`, `modified` or `deleted`.
    pub cause: &'static str,
    pub place: Place,
    /// The failed runs that it was part of.
    pub attempts: u32,
}

/// Where an event is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// It waits for its object to be quiet, at most for this time.
    Debounce(std::time::Duration),
    /// Its run has begun.
    Running,
    /// It is in its queue, behind this many other triggers. The state says what it waits for, or what the queue does.
    Queue { state: QueueState, behind: usize },
    /// Its hook is being replaced.
    Held,
    /// It was given up.
    DeadLetter(u64),
}

impl State {
    /// The events of an object that the hook has not taken. O(n) in what waits of all hooks.
    pub fn about(
        &self,
        hook: &HookName,
        (group, kind): (&str, &str),
        key: &ObjectKey,
        now: Instant,
    ) -> Vec<Unfinished> {
        let is_about = |trigger: &Trigger| match &trigger.cause {
            Cause::Event(event) => {
                let resource = &event.resource;
                trigger.hook == *hook && resource.group == group && resource.kind == kind && event.item.key == *key
            }
            _ => false,
        };
        let unfinished = |trigger: &Trigger, attempts, place| Unfinished {
            queue: trigger.queue.clone(),
            binding: trigger.binding.clone(),
            cause: cause(trigger),
            place,
            attempts,
        };
        let mut found = Vec::new();
        for (due, item) in self.debounce.waiting().filter(|(_, item)| is_about(&item.trigger)) {
            let place = Place::Debounce(due.saturating_duration_since(now));
            found.push(unfinished(&item.trigger, item.tries, place));
        }
        let mut jobs: HashMap<LineId, Vec<&Batch>> = HashMap::new();
        for batch in self.batches.values() {
            jobs.entry(batch.line).or_default().push(batch);
        }
        for batch in self.batches.values() {
            for item in batch.items.iter().filter(|item| is_about(&item.trigger)) {
                let place = match batch.phase {
                    Phase::Running { .. } => Place::Running,
                    Phase::Waiting { due } if due > now => {
                        Place::Queue { state: QueueState::Retry(due.saturating_duration_since(now)), behind: 0 }
                    }
                    Phase::Waiting { .. } | Phase::Due => self.waits_in(item, QueueState::Ready, 0, now),
                };
                found.push(unfinished(&item.trigger, item.tries, place));
            }
        }
        for (id, line) in &self.lines {
            let own: Vec<&Item> = line.items().filter(|item| is_about(&item.trigger)).collect();
            if own.is_empty() {
                continue;
            }
            let of_line = jobs.get(id).map(Vec::as_slice).unwrap_or_default();
            let state = self.doing(line, of_line, now);
            for item in own {
                let behind = line.items().filter(|other| other.seq < item.seq).count();
                found.push(unfinished(&item.trigger, item.tries, self.waits_in(item, state.clone(), behind, now)));
            }
        }
        for letter in self.dead_letters().iter().filter(|letter| letter.hook == *hook) {
            for trigger in letter.triggers.iter().filter(|trigger| is_about(trigger)) {
                found.push(unfinished(trigger, letter.attempts, Place::DeadLetter(letter.id)));
            }
        }
        found
    }

    /// What an event that does not run waits for: what its hook lacks, or what its queue does.
    fn waits_in(&self, item: &Item, queue: QueueState, behind: usize, now: Instant) -> Place {
        let state = match self.hooks.get(&item.trigger.hook) {
            Some(hook) if hook.held => return Place::Held,
            Some(hook) if hook.is_paused() => QueueState::Paused,
            Some(hook) => match hook.hold(item, &[]) {
                Some(hold) => QueueState::of(hold, &item.trigger.hook),
                None => hook
                    .token_due(now)
                    .map_or(queue, |due| QueueState::WaitingForToken(due.saturating_duration_since(now))),
            },
            None => queue,
        };
        Place::Queue { state, behind }
    }
}
