//! What happens after a job's outcome: done, retried, or given up. `retry` makes the decision.

use std::time::Instant;

use crate::model::{Failure, JobId, Outcome, Trigger};

use super::{
    Finished, LONGEST_DELAY, SHORTEST_DELAY, State, Verdict,
    item::{Batch, Item, Phase},
    preconditions::Hook,
    retry::{self, Decision},
};

impl State {
    /// Accepts a job's outcome. `jitter` is a random number from 0 to 1. Nothing happens for a job that does not run.
    pub fn finish(&mut self, id: JobId, outcome: Outcome, now: Instant, jitter: f64) -> Option<Finished> {
        self.finish_and_leave(id, outcome, now, jitter).map(|(finished, _)| finished)
    }

    /// Does the same, and returns the triggers that are done. Dropping many of them takes a while, and the caller holds
    /// a lock.
    pub(super) fn finish_and_leave(
        &mut self,
        id: JobId,
        outcome: Outcome,
        now: Instant,
        jitter: f64,
    ) -> Option<(Finished, Vec<Item>)> {
        let batch = self.batches.get_mut(&id)?;
        let Phase::Running { since } = batch.phase else { return None };
        let mut finished = Finished {
            job: id,
            hook: batch.hook.clone(),
            queue: batch.queue.clone(),
            binding: batch.binding()?,
            attempt: batch.attempt(),
            triggers: batch.items.len(),
            waited: batch.waited,
            took: now.saturating_duration_since(since),
            verdict: Verdict::Done,
            dead_letter: None,
            lost: Vec::new(),
        };
        let hook_removed = batch.hook_removed;
        let tenant = batch.tenant.clone();
        self.shares.ended(&tenant);
        if let Some(hook) = self.hooks.get_mut(&finished.hook).filter(|_| !hook_removed) {
            hook.running -= 1;
        }
        if let Some(line) = self.lines.get_mut(&batch.line) {
            line.stopped();
        }
        let mut done = Vec::new();
        match outcome {
            _ if hook_removed => finished.verdict = self.end_removed(id),
            Ok(()) => done = self.deliver(id),
            Err(failure) => self.failed(id, failure, now, jitter, &mut finished)?,
        }
        Some((finished, done))
    }

    fn deliver(&mut self, id: JobId) -> Vec<Item> {
        let items = self.end(id);
        self.archive.delivered(&items);
        items
    }

    fn failed(
        &mut self,
        id: JobId,
        failure: Failure,
        now: Instant,
        jitter: f64,
        finished: &mut Finished,
    ) -> Option<()> {
        let batch = self.batches.get_mut(&id)?;
        batch.failure = Some(failure.message.as_str().into());
        if retry::counts(failure.kind) {
            batch.items.iter_mut().for_each(|item| item.tries = item.tries.saturating_add(1));
        }
        let first = &batch.items.first()?.trigger;
        let decision = retry::decide(failure.kind, first.allow_failure, &first.retry, batch.attempt(), jitter);
        finished.verdict = match decision {
            Decision::Allow => {
                drop(self.deliver(id));
                Verdict::AllowedFailure(failure)
            }
            Decision::GiveUp => self.give_up(id, failure, now, finished),
            Decision::Keep => {
                let again = first.retry.initial.clamp(SHORTEST_DELAY, LONGEST_DELAY);
                // Usually, the code that interrupted the run keeps the hook from starting for now. If it does not, the
                // job must wait, because the next try would be interrupted at once, and so would the one after that.
                let stands_still = self.hooks.get(&finished.hook).is_some_and(Hook::stands_still);
                let until = (!stands_still && !self.closed).then(|| now.checked_add(again).unwrap_or(now));
                self.wait(id, until);
                Verdict::Interrupted
            }
            Decision::Retry(after) => {
                let exhausted = if retry::counts(failure.kind) { batch.take_exhausted() } else { Vec::new() };
                if batch.items.is_empty() {
                    batch.items = exhausted;
                    self.give_up(id, failure, now, finished)
                } else {
                    batch.failures = batch.attempt();
                    let due = now.checked_add(after.min(LONGEST_DELAY)).unwrap_or(now);
                    let given_up = self.give_up_some(id, exhausted, &failure, now, finished);
                    self.wait(id, Some(due));
                    Verdict::Retry { after, failure, given_up }
                }
            }
        };
        Some(())
    }

    fn give_up(&mut self, id: JobId, failure: Failure, now: Instant, finished: &mut Finished) -> Verdict {
        let items = self.end(id);
        let triggers = items.iter().map(|item| item.trigger.clone()).collect();
        self.bury(items, &failure, now, finished);
        Verdict::GivenUp { failure, triggers }
    }

    /// Gives up the triggers of a job that have had all their attempts. Those that joined it later continue.
    fn give_up_some(
        &mut self,
        id: JobId,
        exhausted: Vec<Item>,
        failure: &Failure,
        now: Instant,
        finished: &mut Finished,
    ) -> Vec<Trigger> {
        if exhausted.is_empty() {
            return Vec::new();
        }
        if let Some(batch) = self.batches.get(&id)
            && let Some(line) = self.lines.get_mut(&batch.line)
        {
            line.released(&exhausted, &batch.items);
        }
        self.leave(&exhausted);
        let triggers = exhausted.iter().map(|item| item.trigger.clone()).collect();
        self.bury(exhausted, failure, now, finished);
        triggers
    }

    fn bury(&mut self, items: Vec<Item>, failure: &Failure, now: Instant, finished: &mut Finished) {
        let whose = (finished.hook.clone(), finished.queue.clone());
        (finished.dead_letter, finished.lost) = self.archive.add(whose, items, failure, now, &self.config);
    }

    /// The job waits for its next try: until this time, or only for its line.
    fn wait(&mut self, id: JobId, until: Option<Instant>) {
        let Some(batch) = self.batches.get_mut(&id) else { return };
        batch.phase = until.map_or(Phase::Due, |due| Phase::Waiting { due });
        let line = batch.line;
        let hook = batch.hook.clone();
        let paused = self.hooks.get(&batch.hook).is_some_and(Hook::stands_still);
        match until {
            Some(due) => {
                self.timers.insert((due, id));
            }
            None => self.due(line, id),
        }
        if paused && let Some(line) = self.lines.get_mut(&line) {
            line.put_aside(id, &hook, until.is_none());
        }
        self.ask(line);
    }

    /// The job's triggers are done, one way or the other.
    fn end(&mut self, id: JobId) -> Vec<Item> {
        let Some(batch) = self.batches.remove(&id) else { return Vec::new() };
        self.end_in_line(id, &batch);
        self.leave(&batch.items);
        batch.items
    }

    fn end_removed(&mut self, id: JobId) -> Verdict {
        if let Some(batch) = self.batches.remove(&id) {
            self.end_in_line(id, &batch);
        }
        Verdict::Removed
    }

    fn end_in_line(&mut self, id: JobId, batch: &Batch) {
        if let Some(line) = self.lines.get_mut(&batch.line) {
            line.ended(id, batch);
        }
        self.ask(batch.line);
    }
}
