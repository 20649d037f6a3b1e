//! The state machine: triggers in, jobs out, outcomes back. It does not wait, read a clock or use random numbers: `now`
//! and the jitter come from the caller.

use std::{
    collections::{BTreeSet, HashMap},
    time::{Duration, Instant},
};

use crate::{
    fair::Tenant,
    model::{Cause, HookName, Job, JobId, QueueName, Trigger},
};

use super::{
    Pushed, QueueConfig, Stats,
    dead_letters::Archive,
    debounce::Debounce,
    held::Memory,
    item::{Batch, Batches, Item, LineId, Phase},
    line::{Line, Taken, View},
    preconditions::Hooks,
    shares::Shares,
    stats,
};

/// All queues of all hooks. See the module [`queue`](super) for the rules.
#[derive(Debug)]
pub struct State {
    pub(super) config: QueueConfig,
    pub(super) hooks: Hooks,
    pub(super) names: HashMap<QueueName, LineId>,
    pub(super) lines: HashMap<LineId, Line>,
    pub(super) batches: Batches,
    /// Run slots, and the lines to ask for a job, in turn. Each line is there at most once, unless it also waits for a
    /// tenant's share.
    pub(super) shares: Shares,
    /// Jobs that wait for their next try.
    pub(super) timers: BTreeSet<(Instant, JobId)>,
    /// Hooks whose next token some line waits for.
    pub(super) refills: BTreeSet<(Instant, HookName)>,
    pub(super) archive: Archive,
    pub(super) debounce: Debounce,
    pub(super) memory: Memory,
    /// Tenants that have no more room in `memory`.
    pub(super) pressed: BTreeSet<Tenant>,
    pub(super) closed: bool,
    /// Triggers are accepted, but none is taken.
    pub(super) standby: bool,
    pub(super) last: u64,
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
            shares: Shares::new(config.max_parallel_runs),
            timers: BTreeSet::new(),
            refills: BTreeSet::new(),
            archive: Archive::default(),
            debounce: Debounce::default(),
            memory: Memory::new(config.max_held_bytes),
            pressed: BTreeSet::new(),
            closed: false,
            standby: false,
            last: 0,
        }
    }

    /// Puts a trigger at the end of its queue, as soon as its object is quiet. A synchronization goes to the place that
    /// was kept for it.
    pub fn push(&mut self, trigger: Trigger) -> Pushed {
        let hook = self.hooks.get(&trigger.hook).filter(|_| !self.closed && Debounce::concerns(&trigger));
        let Some(hook) = hook else { return self.place(trigger, None) };
        let held = self.memory.nothing(&hook.tenant);
        if self.debounce.hold(trigger, held) { Pushed::Folded } else { Pushed::Queued }
    }

    /// `born` is the number of the trigger's news, if it had one before.
    pub(super) fn place(&mut self, trigger: Trigger, born: Option<u64>) -> Pushed {
        let Some(hook) = self.hooks.get_mut(&trigger.hook).filter(|_| !self.closed) else { return Pushed::Refused };
        let concurrency = match &trigger.queue {
            QueueName::Own(owner) if *owner == trigger.hook => hook.terms.concurrency,
            QueueName::Own(_) => return Pushed::Refused,
            QueueName::Shared(_) => 1,
        };
        let whose = hook.tenant.clone();
        let held = self.memory.nothing(&whose);
        let mut item = Item::new(hook.number(&trigger, &mut self.last), trigger, held);
        item.born = born.unwrap_or(item.seq);
        hook.enter(&item);
        if matches!(item.trigger.cause, Cause::Startup) {
            // Places moved, so that what waited for them may not have to wait any more.
            self.look_again(&item.trigger.hook);
        }
        self.make_room(&mut item);
        let id = self.line_for(&item.trigger.queue, whose.clone(), concurrency);
        let Some(line) = self.lines.get_mut(&id) else { return Pushed::Refused };
        line.belongs_to(&whose);
        let gone = if self.pressed.contains(&whose) { line.press(&whose) } else { Vec::new() };
        let placed = line.push(item, &self.config);
        self.ask(id);
        self.leave(&gone);
        self.leave(&placed.gone);
        match placed {
            _ if placed.folded => Pushed::Folded,
            _ if placed.beyond => Pushed::Beyond,
            _ => Pushed::Queued,
        }
    }

    fn line_for(&mut self, name: &QueueName, tenant: Tenant, concurrency: usize) -> LineId {
        let known = self.names.get(name).copied();
        let usable = |line: &Line| line.concurrency == concurrency || !line.is_empty();
        if let Some(id) = known.filter(|id| self.lines.get(id).is_some_and(usable)) {
            return id;
        }
        if let Some(old) = known {
            self.lines.remove(&old);
        }
        self.last += 1;
        self.lines.insert(self.last, Line::new(name.clone(), tenant, concurrency));
        self.names.insert(name.clone(), self.last);
        self.last
    }

    /// Puts a line into the round of lines to ask.
    pub(super) fn ask(&mut self, id: LineId) {
        if let Some(line) = self.lines.get_mut(&id)
            && !std::mem::replace(&mut line.asked_for, true)
        {
            self.shares.ask(line.tenant().clone(), id, false);
        }
    }

    /// Puts the lines that wait for something of this hook into the round. O(queues).
    pub(super) fn look_again(&mut self, name: &HookName) {
        let Some(hook) = self.hooks.get_mut(name) else { return };
        let waiting_for_token = std::mem::take(&mut hook.waiting_for_token);
        let waiting = std::mem::take(&mut hook.waiting);
        if !waiting_for_token.is_empty() {
            self.refills.retain(|(_, hook)| hook != name);
        }
        let passed = self.lines.iter().filter(|(_, line)| line.has_aside(name)).map(|(id, _)| *id);
        let passed: Vec<_> = passed.collect();
        waiting_for_token.into_iter().chain(waiting).chain(passed).for_each(|id| self.ask(id));
    }

    pub(super) fn look_again_everywhere(&mut self) {
        let all: Vec<_> = self.lines.keys().copied().collect();
        all.into_iter().for_each(|id| self.ask(id));
    }

    /// Removes triggers from their hooks' counts, and asks the lines that waited for a gate that they closed.
    pub(super) fn leave(&mut self, items: &[Item]) {
        for item in items {
            let hook = self.hooks.get_mut(&item.trigger.hook);
            if hook.is_some_and(|hook| hook.leave(item)) {
                self.look_again(&item.trigger.hook);
            }
        }
    }

    /// Takes a job that may run now. Lines are asked in turn.
    pub fn take(&mut self, now: Instant) -> Option<Job> {
        self.wake(now);
        while !self.closed && !self.standby {
            let (whose, id) = self.shares.next()?;
            let Some(line) = self.lines.get_mut(&id) else { continue };
            if line.unshared.as_ref() == Some(&whose) {
                line.unshared = None;
            } else {
                line.asked_for = false;
            }
            let (hooks, batches, config, shares) = (&self.hooks, &self.batches, &self.config, &self.shares);
            match line.take(View { hooks, batches, config, shares, now }) {
                Taken::Nothing => {}
                Taken::Gated(hook) => {
                    if let Some(hook) = self.hooks.get_mut(&hook) {
                        hook.waiting.insert(id);
                    }
                }
                Taken::TooEarly(hook, due) => self.thirst(id, &hook, due),
                Taken::NoShare(tenant) => {
                    // The line waits with those that wait for the same tenant, once.
                    if line.unshared.as_ref() != Some(&tenant) {
                        line.unshared = Some(tenant.clone());
                        self.shares.ask(tenant, id, false);
                    }
                }
                Taken::New(items) => return self.start_new(id, items, now),
                Taken::Retry(job, joined) => return self.start(job, joined, now),
            }
        }
        None
    }

    /// The line waits for this hook's next token.
    fn thirst(&mut self, id: LineId, name: &HookName, due: Instant) {
        let Some(hook) = self.hooks.get_mut(name) else { return };
        if !hook.waiting_for_token.contains(&id) {
            hook.waiting_for_token.push(id);
        }
        self.refills.insert((due, name.clone()));
    }

    /// Moves jobs whose delay is over back to their lines. Lines for which a token has come are asked first, in their
    /// order.
    fn wake(&mut self, now: Instant) {
        while let Some(trigger) = self.debounce.release(now, self.config.max_pending) {
            self.place(trigger, None);
        }
        while let Some((due, id)) = self.timers.first().copied().filter(|(due, _)| *due <= now) {
            self.timers.remove(&(due, id));
            let Some(batch) = self.batches.get_mut(&id) else { continue };
            batch.phase = Phase::Due;
            let line = batch.line;
            self.due(line, id);
        }
        while self.refills.first().is_some_and(|(due, _)| *due <= now)
            && let Some((_, name)) = self.refills.pop_first()
        {
            let waiting_for_token =
                self.hooks.get_mut(&name).map(|hook| std::mem::take(&mut hook.waiting_for_token)).unwrap_or_default();
            waiting_for_token.into_iter().rev().for_each(|id| self.ask_first(id));
        }
    }

    fn ask_first(&mut self, id: LineId) {
        let Some(line) = self.lines.get_mut(&id) else { return };
        if std::mem::replace(&mut line.asked_for, true) {
            return;
        }
        self.shares.ask(line.tenant().clone(), id, true);
    }

    pub(super) fn due(&mut self, line: LineId, id: JobId) {
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
            tenant: Tenant::default(),
            queue: first.trigger.queue.clone(),
            items: Vec::new(),
            bytes: 0,
            failures: 0,
            failure: None,
            phase: Phase::Due,
            hook_removed: false,
            waited: Duration::ZERO,
        };
        self.batches.insert(id, batch);
        self.start(id, items, now)
    }

    fn start(&mut self, id: JobId, fresh: Vec<Item>, now: Instant) -> Option<Job> {
        let batch = self.batches.get_mut(&id)?;
        batch.extend(fresh, now);
        batch.phase = Phase::Running { since: now };
        if let Some(hook) = self.hooks.get_mut(&batch.hook) {
            batch.tenant.clone_from(&hook.tenant);
            hook.running += 1;
            if let Some(bucket) = &mut hook.bucket {
                bucket.take(now);
            }
        }
        let (job, line, tenant) = (batch.job(id), batch.line, batch.tenant.clone());
        self.shares.pass_on(&tenant);
        self.shares.begun(tenant);
        self.ask(line);
        Some(job)
    }

    /// When a `take` may return a job although nothing else happens. Call this after a `take` that returned none.
    pub fn next_due(&self, now: Instant) -> Option<Instant> {
        if self.closed || self.standby || self.shares.is_full() {
            return None;
        }
        let retry = self.timers.first().map(|(due, _)| *due);
        let token = self.refills.first().map(|(due, _)| *due);
        let quiet = self.debounce.next_due();
        retry.into_iter().chain(token).chain(quiet).min().map(|due| due.max(now))
    }

    /// Nothing is taken until [`begin`](Self::begin). Triggers are accepted.
    pub fn stand_by(&mut self) {
        self.standby = true;
    }

    /// What waits may be taken.
    pub fn begin(&mut self) {
        self.standby = false;
    }

    /// From now on, nothing is taken and no trigger is accepted. Outcomes still are.
    pub fn close(&mut self) {
        self.closed = true;
    }

    /// The jobs that run.
    pub fn running(&self) -> impl Iterator<Item = JobId> + '_ {
        self.batches.iter().filter(|(_, batch)| batch.is_running()).map(|(id, _)| *id)
    }

    /// The number of jobs of a hook that run.
    pub fn runs(&self, hook: &HookName) -> usize {
        self.hooks.get(hook).map_or(0, |hook| hook.running)
    }

    /// Whether nothing waits and nothing runs.
    pub fn is_idle(&self) -> bool {
        self.batches.is_empty() && self.debounce.is_empty() && self.lines.values().all(Line::is_empty)
    }

    #[cfg(test)]
    pub(super) fn check_index(&self) {
        self.lines.values().for_each(Line::check_index);
    }

    /// The current state of the queues. O(queues + hooks + jobs).
    pub fn stats(&self, now: Instant) -> Stats {
        Stats {
            queues: stats::queues(&self.lines, &self.batches, now),
            hooks: stats::hooks(&self.hooks, &self.debounce),
            running: self.shares.running(),
            dead_letters: self.archive.len(),
            dead_letter_bytes: self.archive.bytes(),
        }
    }
}
