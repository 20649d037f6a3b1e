//! The state machine: triggers in, jobs out, outcomes back. Never waits, reads no clock, rolls no
//! dice: `now` and the jitter come from the caller.

use std::{
    collections::{BTreeSet, HashMap, VecDeque},
    time::{Duration, Instant},
};

use crate::model::{BindingName, HookName, Job, JobId, Outcome, QueueName, Trigger};

use super::{
    Finished, LONGEST_DELAY, Pushed, QueueConfig, Stats, Verdict,
    gate::Hooks,
    item::{Batch, Batches, Item, LineId, Phase},
    line::{Line, Taken, View},
    retry::{self, Decision},
    stats,
};

/// All queues of all hooks. See the module [`queue`](super) for the rules.
#[derive(Debug)]
pub struct State {
    config: QueueConfig,
    hooks: Hooks,
    names: HashMap<QueueName, LineId>,
    lines: HashMap<LineId, Line>,
    batches: Batches,
    /// Lines to ask for a job, in turn. Each stands here at most once.
    round: VecDeque<LineId>,
    /// Jobs that wait for their next try.
    timers: BTreeSet<(Instant, JobId)>,
    running: usize,
    closed: bool,
    last: u64,
}

impl State {
    /// Empty queues.
    pub fn new(config: QueueConfig) -> Self {
        Self {
            config,
            hooks: Hooks::new(),
            names: HashMap::new(),
            lines: HashMap::new(),
            batches: Batches::new(),
            round: VecDeque::new(),
            timers: BTreeSet::new(),
            running: 0,
            closed: false,
            last: 0,
        }
    }

    /// Makes a hook known; `concurrency` is the number of jobs at once in its own queue. For a hook
    /// that is known, it counts from the next time its own queue is empty.
    pub fn add_hook(&mut self, name: HookName, concurrency: usize) {
        self.hooks.entry(name).or_default().concurrency = concurrency.max(1);
    }

    /// The hook's triggers that include this binding's snapshot wait until [`State::listed`].
    pub fn expect_list(&mut self, name: &HookName, binding: BindingName) {
        if let Some(hook) = self.hooks.get_mut(name) {
            hook.expect_list(binding);
        }
    }

    /// All objects of the binding were listed, and its snapshot shows them.
    pub fn listed(&mut self, name: &HookName, binding: &BindingName) {
        if let Some(hook) = self.hooks.get_mut(name)
            && hook.listed(binding)
        {
            let waiting = std::mem::take(&mut hook.waiting);
            waiting.into_iter().for_each(|id| self.ask(id));
        }
    }

    /// Forgets a hook and drops its triggers; gives back how many. What runs may end, and its
    /// triggers are dropped then. O(n) in what waits in the queues.
    pub fn remove_hook(&mut self, name: &HookName) -> usize {
        let Some(hook) = self.hooks.remove(name) else { return 0 };
        for line in self.lines.values_mut() {
            line.remove_hook(name, &self.config);
        }
        let ids: Vec<_> = self.batches.iter().filter(|(_, batch)| batch.hook == *name).map(|(id, _)| *id).collect();
        let mut running = 0;
        for id in ids {
            match self.batches.get_mut(&id) {
                Some(batch) if matches!(batch.phase, Phase::Running { .. }) => {
                    batch.orphan = true;
                    running += batch.items.len();
                }
                _ => self.drop_waiting(id),
            }
        }
        self.drop_empty_lines();
        let all: Vec<_> = self.lines.keys().copied().collect();
        all.into_iter().for_each(|id| self.ask(id));
        hook.outstanding.saturating_sub(running)
    }

    fn drop_waiting(&mut self, id: JobId) {
        let Some(batch) = self.batches.remove(&id) else { return };
        if let Phase::Waiting { due } = batch.phase {
            self.timers.remove(&(due, id));
        }
        if let Some(line) = self.lines.get_mut(&batch.line) {
            line.ended(id, &batch);
        }
    }

    fn drop_empty_lines(&mut self) {
        self.lines.retain(|_, line| !line.is_empty());
        self.names.retain(|_, id| self.lines.contains_key(id));
        self.round.retain(|id| self.lines.contains_key(id));
    }

    /// Puts a trigger at the end of its queue.
    pub fn push(&mut self, trigger: Trigger) -> Pushed {
        let Some(hook) = self.hooks.get_mut(&trigger.hook).filter(|_| !self.closed) else { return Pushed::Refused };
        let concurrency = match &trigger.queue {
            QueueName::Own(owner) if *owner == trigger.hook => hook.concurrency,
            QueueName::Own(_) => return Pushed::Refused,
            QueueName::Shared(_) => 1,
        };
        self.last += 1;
        let item = Item::new(self.last, trigger);
        hook.enter(&item);
        let id = self.line_for(&item.trigger.queue, concurrency);
        let Some(line) = self.lines.get_mut(&id) else { return Pushed::Refused };
        let placed = line.push(item, &self.config);
        self.ask(id);
        self.leave(&placed.gone);
        match placed {
            _ if placed.folded => Pushed::Folded,
            _ if placed.beyond => Pushed::Beyond,
            _ => Pushed::Queued,
        }
    }

    fn line_for(&mut self, name: &QueueName, concurrency: usize) -> LineId {
        let known = self.names.get(name).copied();
        let usable = |line: &Line| line.concurrency == concurrency || !line.is_empty();
        if let Some(id) = known.filter(|id| self.lines.get(id).is_some_and(usable)) {
            return id;
        }
        if let Some(old) = known {
            self.lines.remove(&old);
        }
        self.last += 1;
        self.lines.insert(self.last, Line::new(name.clone(), concurrency));
        self.names.insert(name.clone(), self.last);
        self.last
    }

    /// Puts a line into the round.
    fn ask(&mut self, id: LineId) {
        if let Some(line) = self.lines.get_mut(&id)
            && !std::mem::replace(&mut line.asked_for, true)
        {
            self.round.push_back(id);
        }
    }

    /// Takes triggers off their hooks' counts, and asks the lines that waited for a gate they closed.
    fn leave(&mut self, items: &[Item]) {
        for item in items {
            let Some(hook) = self.hooks.get_mut(&item.trigger.hook) else { continue };
            if hook.leave(item) {
                let waiting = std::mem::take(&mut hook.waiting);
                waiting.into_iter().for_each(|id| self.ask(id));
            }
        }
    }

    /// A job that may run now. Lines are asked in turn.
    pub fn take(&mut self, now: Instant) -> Option<Job> {
        self.wake(now);
        while self.running < self.config.max_parallel_runs.max(1) && !self.closed {
            let id = self.round.pop_front()?;
            let Some(line) = self.lines.get_mut(&id) else { continue };
            line.asked_for = false;
            match line.take(View { hooks: &self.hooks, batches: &self.batches, config: &self.config }) {
                Taken::Nothing => {}
                Taken::Gated(hook) => {
                    if let Some(hook) = self.hooks.get_mut(&hook) {
                        hook.waiting.insert(id);
                    }
                }
                Taken::New(items) => return self.start_new(id, items, now),
                Taken::Retry(job, joined) => return self.start(job, joined, now),
            }
        }
        None
    }

    /// Moves jobs whose delay is over back to their lines.
    fn wake(&mut self, now: Instant) {
        while let Some((due, id)) = self.timers.first().copied().filter(|(due, _)| *due <= now) {
            self.timers.remove(&(due, id));
            let Some(batch) = self.batches.get_mut(&id) else { continue };
            batch.phase = Phase::Due;
            let line = batch.line;
            self.due(line, id);
        }
    }

    fn due(&mut self, line: LineId, id: JobId) {
        if let Some(line) = self.lines.get_mut(&line) {
            line.due(id);
        }
        self.ask(line);
    }

    fn start_new(&mut self, line: LineId, items: Vec<Item>, now: Instant) -> Option<Job> {
        let first = items.first()?;
        self.last += 1;
        let id = JobId(self.last);
        let batch = Batch {
            line,
            hook: first.trigger.hook.clone(),
            queue: first.trigger.queue.clone(),
            items: Vec::new(),
            bytes: 0,
            failures: 0,
            phase: Phase::Due,
            orphan: false,
            waited: Duration::ZERO,
        };
        self.batches.insert(id, batch);
        self.start(id, items, now)
    }

    fn start(&mut self, id: JobId, fresh: Vec<Item>, now: Instant) -> Option<Job> {
        let batch = self.batches.get_mut(&id)?;
        batch.extend(fresh, now);
        batch.phase = Phase::Running { since: now };
        self.running += 1;
        if let Some(hook) = self.hooks.get_mut(&batch.hook) {
            hook.running += 1;
        }
        let (job, line) = (batch.job(id), batch.line);
        self.ask(line);
        Some(job)
    }

    /// When a `take` may give a job without anything else happening; asked after a `take` gave none.
    pub fn next_due(&self, now: Instant) -> Option<Instant> {
        if self.closed || self.running >= self.config.max_parallel_runs.max(1) {
            return None;
        }
        self.timers.first().map(|(due, _)| (*due).max(now))
    }

    /// Gives a job's outcome back. `jitter` is a random number from 0 to 1. Nothing happens for a job
    /// that isn't running.
    pub fn finish(&mut self, id: JobId, outcome: Outcome, now: Instant, jitter: f64) -> Option<Finished> {
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
        };
        let orphan = batch.orphan;
        self.running -= 1;
        if let Some(hook) = self.hooks.get_mut(&finished.hook).filter(|_| !orphan) {
            hook.running -= 1;
        }
        if let Some(line) = self.lines.get_mut(&batch.line) {
            line.paused();
        }
        finished.verdict = if orphan { self.end_orphan(id) } else { self.settle(id, outcome, now, jitter)? };
        Some(finished)
    }

    fn settle(&mut self, id: JobId, outcome: Outcome, now: Instant, jitter: f64) -> Option<Verdict> {
        let Err(failure) = outcome else {
            self.end(id);
            return Some(Verdict::Done);
        };
        let batch = self.batches.get_mut(&id)?;
        let first = &batch.items.first()?.trigger;
        let decision = retry::decide(failure.kind, first.allow_failure, &first.retry, batch.attempt(), jitter);
        Some(match decision {
            Decision::Allow => {
                self.end(id);
                Verdict::AllowedFailure(failure)
            }
            Decision::GiveUp => {
                let triggers = self.end(id).into_iter().map(|item| item.trigger).collect();
                Verdict::GivenUp { failure, triggers }
            }
            Decision::Keep => {
                batch.phase = Phase::Due;
                let line = batch.line;
                self.due(line, id);
                Verdict::Interrupted
            }
            Decision::Retry(after) => {
                let due = now.checked_add(after.min(LONGEST_DELAY)).unwrap_or(now);
                batch.failures = batch.attempt();
                batch.phase = Phase::Waiting { due };
                let line = batch.line;
                self.timers.insert((due, id));
                self.ask(line);
                Verdict::Retry { after, failure }
            }
        })
    }

    /// The job's triggers are done with, one way or the other.
    fn end(&mut self, id: JobId) -> Vec<Item> {
        let Some(batch) = self.batches.remove(&id) else { return Vec::new() };
        if let Some(line) = self.lines.get_mut(&batch.line) {
            line.ended(id, &batch);
        }
        self.ask(batch.line);
        self.leave(&batch.items);
        batch.items
    }

    fn end_orphan(&mut self, id: JobId) -> Verdict {
        if let Some(batch) = self.batches.remove(&id) {
            if let Some(line) = self.lines.get_mut(&batch.line) {
                line.ended(id, &batch);
            }
            self.ask(batch.line);
        }
        Verdict::Removed
    }

    /// From now on nothing is taken and nothing let in; outcomes are still accepted.
    pub fn close(&mut self) {
        self.closed = true;
    }

    /// Jobs that run.
    pub fn running(&self) -> impl Iterator<Item = JobId> + '_ {
        let running = |batch: &Batch| matches!(batch.phase, Phase::Running { .. });
        self.batches.iter().filter(move |(_, batch)| running(batch)).map(|(id, _)| *id)
    }

    /// Nothing waits and nothing runs.
    pub fn is_idle(&self) -> bool {
        self.batches.is_empty() && self.lines.values().all(Line::is_empty)
    }

    #[cfg(test)]
    pub(super) fn check_index(&self) {
        self.lines.values().for_each(Line::check_index);
    }

    /// What is where. O(queues + hooks + jobs).
    pub fn stats(&self, now: Instant) -> Stats {
        Stats {
            queues: stats::queues(&self.lines, &self.batches, now),
            hooks: stats::hooks(&self.hooks),
            running: self.running,
        }
    }
}
