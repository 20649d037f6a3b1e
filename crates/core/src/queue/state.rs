//! The state machine: triggers in, jobs out, outcomes back. It does not wait, read a clock or use random numbers: `now`
//! and the jitter come from the caller.

use std::{
    collections::{BTreeSet, HashMap},
    sync::Arc,
    time::{Duration, Instant},
};

use crate::{
    fair::Tenant,
    model::{BindingName, Cause, Failure, HookName, Job, JobId, Outcome, QueueName, Trigger},
};

use super::{
    DeadLetter, Enqueued, Finished, HookQueueConfig, LONGEST_DELAY, Letters, Pushed, QueueConfig, SHORTEST_DELAY,
    Stats, Verdict,
    coalesce::Key,
    dead_letters::{self, Archive, Requeued},
    debounce::Debounce,
    held::Memory,
    item::{Batch, Batches, Item, Keep, LineId, Phase},
    line::{Line, Taken, View},
    overflow::{Emptied, bare},
    preconditions::{Hook, Hooks},
    rate_limit::Bucket,
    retry::{self, Decision},
    shares::Shares,
    stats,
};

/// What happened to dead letters that were to be retried.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Retried {
    /// Letters that were taken out.
    pub letters: usize,
    /// Triggers that are at the ends of their queues again.
    pub triggers: usize,
    /// Triggers that were left out, because a newer state of their objects was delivered, waits or runs.
    pub superseded: usize,
}

/// All queues of all hooks. See the module [`queue`](super) for the rules.
#[derive(Debug)]
pub struct State {
    pub(super) config: QueueConfig,
    pub(super) hooks: Hooks,
    names: HashMap<QueueName, LineId>,
    pub(super) lines: HashMap<LineId, Line>,
    pub(super) batches: Batches,
    /// Run slots, and the lines to ask for a job, in turn. Each line is there at most once, unless it also waits for a
    /// tenant's share.
    shares: Shares,
    /// Jobs that wait for their next try.
    timers: BTreeSet<(Instant, JobId)>,
    /// Hooks whose next token some line waits for.
    refills: BTreeSet<(Instant, HookName)>,
    archive: Archive,
    pub(super) debounce: Debounce,
    pub(super) memory: Memory,
    /// Tenants that have no more room in `memory`.
    pressed: BTreeSet<Tenant>,
    /// Bindings without a synchronization whose events were dropped since their tenants last had room.
    pub(super) warned: BTreeSet<(HookName, BindingName)>,
    /// What was dropped and not reported yet.
    pub(super) emptied: Vec<Emptied>,
    closed: bool,
    /// Triggers are accepted, but none is taken.
    pub(super) standby: bool,
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
            shares: Shares::new(config.max_parallel_runs),
            timers: BTreeSet::new(),
            refills: BTreeSet::new(),
            archive: Archive::default(),
            debounce: Debounce::default(),
            memory: Memory::new(config.max_held_bytes, bare),
            pressed: BTreeSet::new(),
            warned: BTreeSet::new(),
            emptied: Vec::new(),
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
        let tenant = hook.tenant.clone();
        if !self.memory.nothing(&tenant).charge(&trigger) {
            // If there is still no room, the number of these events is bounded all the same.
            self.overflow(&tenant);
        }
        let held = self.memory.nothing(&tenant);
        if self.debounce.hold(trigger, held) { Pushed::Folded } else { Pushed::Queued }
    }

    /// `born` is the number of the trigger's news, if it had one before.
    fn place(&mut self, trigger: Trigger, born: Option<u64>) -> Pushed {
        self.place_as(trigger, born, false)
    }

    /// The synchronization of a binding whose events were dropped.
    pub(super) fn place_again(&mut self, trigger: Trigger) -> Pushed {
        self.place_as(trigger, None, true)
    }

    fn place_as(&mut self, trigger: Trigger, born: Option<u64>, again: bool) -> Pushed {
        let Some(hook) = self.hooks.get_mut(&trigger.hook).filter(|_| !self.closed) else { return Pushed::Refused };
        let concurrency = match &trigger.queue {
            QueueName::Own(owner) if *owner == trigger.hook => hook.terms.concurrency,
            QueueName::Own(_) => return Pushed::Refused,
            QueueName::Shared(_) => 1,
        };
        let whose = hook.tenant.clone();
        let held = self.memory.nothing(&whose);
        let mut item = Item::new(hook.number(&trigger, &mut self.last), trigger, held);
        item.unseen &= born.is_none();
        item.born = born.unwrap_or(item.seq);
        hook.enter(&item, again);
        if matches!(item.trigger.cause, Cause::Startup) {
            // Places moved, so that what waited for them may not have to wait any more.
            self.look_again(&item.trigger.hook);
        }
        self.make_room(&mut item);
        let mut id = self.line_of(&item, &whose, concurrency);
        if !item.held.is_charged() && item.object().is_some() {
            if !self.is_covered(&item, id) {
                self.overflow(&whose);
                // It comes after the synchronizations that took the place of other events.
                self.last += 1;
                item.seq = self.last;
                item.born = born.unwrap_or(item.seq);
                id = self.line_of(&item, &whose, concurrency);
            }
            let folds = self.lines.get_mut(&id).is_some_and(|line| line.would_fold(&item));
            if !folds && !item.fits() && !item.held.is_charged() {
                self.refuse(item, id);
                return Pushed::Refused;
            }
        }
        let Some(line) = self.lines.get_mut(&id) else { return Pushed::Refused };
        let (pushed, gone) = line.push(item, &self.config);
        self.ask(id, false);
        self.leave(&gone);
        pushed
    }

    /// The line of a new trigger. It folds if the tenant has no room.
    fn line_of(&mut self, item: &Item, whose: &Tenant, concurrency: usize) -> LineId {
        let id = self.line_for(&item.trigger.queue, whose.clone(), concurrency);
        if let Some(line) = self.lines.get_mut(&id) {
            line.belongs_to(whose);
            let gone = if self.pressed.contains(whose) { line.press(whose) } else { Vec::new() };
            self.leave(&gone);
        }
        id
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

    /// Puts a line into the round of lines to ask. `first`: before the other lines of its tenant.
    fn ask(&mut self, id: LineId, first: bool) {
        if let Some(line) = self.lines.get_mut(&id)
            && !std::mem::replace(&mut line.asked_for, true)
        {
            self.shares.ask(line.tenant().clone(), id, first);
        }
    }

    /// Puts the lines that wait for something of this hook into the round. O(queues).
    fn look_again(&mut self, name: &HookName) {
        let Some(hook) = self.hooks.get_mut(name) else { return };
        let waiting_for_token = std::mem::take(&mut hook.waiting_for_token);
        let waiting = std::mem::take(&mut hook.waiting);
        if !waiting_for_token.is_empty() {
            self.refills.retain(|(_, hook)| hook != name);
        }
        let passed = self.lines.iter().filter(|(_, line)| line.has_aside(name)).map(|(id, _)| *id);
        let passed: Vec<_> = passed.collect();
        waiting_for_token.into_iter().chain(waiting).chain(passed).for_each(|id| self.ask(id, false));
    }

    pub(super) fn look_again_everywhere(&mut self) {
        let all: Vec<_> = self.lines.keys().copied().collect();
        all.into_iter().for_each(|id| self.ask(id, false));
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
                Taken::TooEarly(hook, due) => self.wait_for_token(id, &hook, due),
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
    fn wait_for_token(&mut self, id: LineId, name: &HookName, due: Instant) {
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
            waiting_for_token.into_iter().rev().for_each(|id| self.ask(id, true));
        }
    }

    fn due(&mut self, line: LineId, id: JobId) {
        if let Some(line) = self.lines.get_mut(&line) {
            line.due(id);
        }
        self.ask(line, false);
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
        self.ask(line, false);
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

    /// Whether the hook's start-up and the synchronizations that it waits for are done, as far as they were pushed.
    pub fn is_synchronised(&self, hook: &HookName) -> bool {
        self.hooks.get(hook).is_none_or(|hook| !hook.starting() && hook.unsynchronised().0.is_empty())
    }

    /// The error of a failed job of this hook that will be retried.
    pub fn failure(&self, hook: &HookName) -> Option<Arc<str>> {
        self.batches.values().filter(|batch| batch.hook == *hook).find_map(|batch| batch.failure.clone())
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

    /// Makes a hook known. For a known hook, new terms apply from now on. A new concurrency applies from the next time
    /// that its own queue is empty. Tokens that it has used stay used if its rate is the same.
    pub fn add_hook(&mut self, name: HookName, terms: HookQueueConfig) {
        let hook = self.hooks.entry(name.clone()).or_default();
        let bucket = terms.rate.and_then(Bucket::new);
        let same = matches!((&hook.bucket, &bucket), (Some(old), Some(new)) if old.same_limit(new));
        if !same {
            hook.bucket = bucket;
        }
        hook.tenant = terms.tenant.clone().unwrap_or_else(|| Tenant::hook(name.as_str()));
        hook.terms =
            HookQueueConfig { concurrency: terms.concurrency.min(self.config.max_concurrency).max(1), ..terms };
        self.look_again(&name);
    }

    /// The hook's triggers that include this binding's snapshot wait until [`State::listed`]. All later events and
    /// ticks of the hook wait too, unless the binding has `waitForSynchronization: false`. The binding's
    /// synchronization goes before them, if it is pushed before then.
    pub fn expect_list(&mut self, name: &HookName, binding: BindingName) {
        if let Some(hook) = self.hooks.get_mut(name) {
            self.last += 1;
            hook.expect_list(binding, self.last);
        }
    }

    /// All objects of the binding were listed, its snapshot shows them, and its synchronization was pushed if it makes
    /// one. Or there are no objects. Triggers that include its snapshot may be taken, and a group's synchronizations as
    /// one.
    pub fn listed(&mut self, name: &HookName, binding: &BindingName) {
        self.open(name, |hook| hook.listed(binding));
    }

    /// Nobody knows whether the binding's objects will ever be listed. Its synchronization no longer has a place, and
    /// only triggers that include its snapshot still wait.
    pub fn exempt_from_sync(&mut self, name: &HookName, binding: &BindingName) {
        self.open(name, |hook| hook.exempt_from_sync(binding));
    }

    /// The snapshot of a binding shows all its objects again.
    pub fn complete(&mut self, name: &HookName, binding: &BindingName) {
        self.open(name, |hook| hook.complete(binding));
    }

    /// `gate` says whether a gate may have opened.
    fn open(&mut self, name: &HookName, gate: impl FnOnce(&mut Hook) -> bool) {
        if self.hooks.get_mut(name).is_some_and(gate) {
            self.look_again(name);
        }
    }

    /// The snapshot of a binding is missing objects. Triggers that include it wait until it is
    /// [`complete`](State::complete) again.
    pub fn incomplete(&mut self, name: &HookName, binding: &BindingName) {
        if let Some(hook) = self.hooks.get_mut(name) {
            hook.incomplete(binding.clone());
            // In shared queues, others may pass the hook now.
            self.look_again_everywhere();
        }
    }

    /// Starts nothing more of the hook until [`State::resume`]. What runs may end. Its triggers continue to queue, and
    /// in shared queues others pass them. Returns false if the hook is not known. O(jobs).
    pub fn pause(&mut self, name: &HookName) -> bool {
        self.stop(name, |hook| hook.paused = true)
    }

    /// Does the same for another reason, until [`State::release`]. A pause or its end does not affect it.
    pub fn hold(&mut self, name: &HookName) -> bool {
        self.stop(name, |hook| hook.held = true)
    }

    /// Does the same for a third reason: the module of the hook is paused, or is not any more.
    pub fn suspend(&mut self, name: &HookName, suspended: bool) -> bool {
        let set = |hook: &mut Hook| hook.suspended = suspended;
        if suspended { self.stop(name, set) } else { self.go_on(name, set) }
    }

    fn stop(&mut self, name: &HookName, set: impl FnOnce(&mut Hook)) -> bool {
        let Some(hook) = self.hooks.get_mut(name) else { return false };
        let stood = hook.stands_still();
        set(hook);
        if stood {
            return true;
        }
        for (id, batch) in self.batches.iter().filter(|(_, batch)| batch.hook == *name && !batch.is_running()) {
            if let Some(line) = self.lines.get_mut(&batch.line) {
                line.put_aside(*id, &batch.hook, batch.phase == Phase::Due);
            }
        }
        self.look_again(name);
        self.look_again_everywhere();
        true
    }

    /// Ends a pause. The hook's triggers have the places that they would have without it, but a job that others passed
    /// goes before what waits and after what runs. Returns false if the hook is not known. O(queues), and O(n log n)
    /// later for shared queues that have triggers of it.
    pub fn resume(&mut self, name: &HookName) -> bool {
        self.go_on(name, |hook| hook.paused = false)
    }

    /// Ends a [`State::hold`].
    pub fn release(&mut self, name: &HookName) -> bool {
        self.go_on(name, |hook| hook.held = false)
    }

    fn go_on(&mut self, name: &HookName, set: impl FnOnce(&mut Hook)) -> bool {
        let Some(hook) = self.hooks.get_mut(name) else { return false };
        let stood = hook.stands_still();
        set(hook);
        if !stood || hook.stands_still() {
            return true;
        }
        self.look_again(name);
        self.look_again_everywhere();
        true
    }

    /// Forgets a hook, its pause and its dead letters, and drops its triggers. Returns how many. What runs may end, and
    /// its triggers are dropped then. O(n) in what waits in the queues.
    pub fn remove_hook(&mut self, name: &HookName) -> usize {
        let Some(hook) = self.hooks.remove(name) else { return 0 };
        for line in self.lines.values_mut() {
            line.remove_hook(name, &self.config);
        }
        let ids: Vec<_> = self.batches.iter().filter(|(_, batch)| batch.hook == *name).map(|(id, _)| *id).collect();
        let mut running = 0;
        for id in ids {
            match self.batches.get_mut(&id) {
                Some(batch) if batch.is_running() => {
                    batch.hook_removed = true;
                    running += batch.items.len();
                }
                _ => drop(self.drop_waiting(id)),
            }
        }
        self.archive.forget(name);
        let held = self.debounce.forget(name);
        self.refills.retain(|(_, hook)| hook != name);
        self.drop_empty_lines();
        self.relax_unused();
        self.look_again_everywhere();
        (hook.outstanding + held).saturating_sub(running)
    }

    /// Drops a job that waits. Returns what it held.
    fn drop_waiting(&mut self, id: JobId) -> Vec<Item> {
        let Some(batch) = self.batches.remove(&id) else { return Vec::new() };
        if let Phase::Waiting { due } = batch.phase {
            self.timers.remove(&(due, id));
        }
        if let Some(line) = self.lines.get_mut(&batch.line) {
            line.ended(id, &batch);
        }
        batch.items
    }

    fn drop_empty_lines(&mut self) {
        self.lines.retain(|_, line| !line.is_empty());
        self.names.retain(|_, id| self.lines.contains_key(id));
        self.shares.retain(|id| self.lines.contains_key(&id));
    }

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
            hook.ended = Some(now);
        }
        if let Some(line) = self.lines.get_mut(&batch.line) {
            line.stopped();
        }
        let mut done = Vec::new();
        match outcome {
            _ if hook_removed => {
                drop(self.end(id));
                finished.verdict = Verdict::Removed;
            }
            Ok(()) => done = self.deliver(id),
            Err(failure) => self.failed(id, failure, now, jitter, &mut finished)?,
        }
        Some((finished, done))
    }

    fn deliver(&mut self, id: JobId) -> Vec<Item> {
        let items = self.end(id);
        self.leave(&items);
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
        let triggers = self.bury(items, &failure, now, finished);
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
        self.bury(exhausted, failure, now, finished)
    }

    /// Makes a dead letter of triggers that no job has any more. Returns them.
    fn bury(&mut self, items: Vec<Item>, failure: &Failure, now: Instant, finished: &mut Finished) -> Vec<Trigger> {
        self.leave(&items);
        let triggers = items.iter().map(|item| item.trigger.clone()).collect();
        let whose = (finished.hook.clone(), finished.queue.clone());
        (finished.dead_letter, finished.lost) = self.archive.add(whose, items, failure, now, &self.config);
        triggers
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
        self.ask(line, false);
    }

    /// The job is done, one way or the other. Returns what it held.
    fn end(&mut self, id: JobId) -> Vec<Item> {
        let Some(batch) = self.batches.remove(&id) else { return Vec::new() };
        if let Some(line) = self.lines.get_mut(&batch.line) {
            line.ended(id, &batch);
        }
        self.ask(batch.line, false);
        batch.items
    }

    /// All dead letters, oldest first. O(letters).
    pub fn dead_letters(&self) -> Vec<DeadLetter> {
        self.archive.letters().collect()
    }

    /// Puts the triggers of dead letters at the ends of their queues again, for a first attempt. The letters of removed
    /// hooks are gone. O(n) in what waits and runs.
    pub fn retry_dead(&mut self, which: &Letters, now: Instant) -> (Retried, Vec<Enqueued>) {
        let mut retried = Retried::default();
        if self.closed {
            return (retried, Vec::new());
        }
        let ids = self.archive.select(which);
        retried.letters = ids.len();
        let (requeued, superseded) = self.archive.requeue(ids);
        retried.superseded = superseded;
        let newest = self.newest_waiting(&requeued);
        let mut pushed = Vec::new();
        for Requeued { born, mut trigger } in requeued {
            if dead_letters::keys(&trigger).iter().any(|key| newest.get(key).is_some_and(|newest| *newest > born)) {
                retried.superseded += 1;
                continue;
            }
            trigger.created = now;
            let (hook, binding, queue) = (trigger.hook.clone(), trigger.binding.clone(), trigger.queue.clone());
            retried.triggers += 1;
            pushed.push(Enqueued { hook, binding, queue, pushed: self.place(trigger, Some(born)) });
        }
        (retried, pushed)
    }

    /// For everything that would supersede these: the newest one that waits or is in a job.
    fn newest_waiting(&self, requeued: &[Requeued]) -> HashMap<Key, u64> {
        let mut newest: HashMap<Key, u64> =
            requeued.iter().flat_map(|requeued| dead_letters::keys(&requeued.trigger)).map(|key| (key, 0)).collect();
        if newest.is_empty() {
            return newest;
        }
        let in_jobs = self.batches.values().flat_map(|batch| &batch.items);
        let waiting = self.lines.values().flat_map(|line| line.items());
        for item in in_jobs.chain(waiting) {
            note(&mut newest, item);
        }
        newest
    }

    /// Forgets dead letters. Returns how many.
    pub fn drop_dead(&mut self, which: &Letters) -> usize {
        self.archive.drop(which)
    }

    /// Sets new terms for a known hook, and checks all of its triggers that wait: for their first run, for the next
    /// one, for their object to be quiet, or as dead letters. What `keep` refuses is dropped. What is kept is due at
    /// once, and its failures no longer count. Returns how many triggers were dropped, without those of dead letters.
    /// What runs is left as it is, so call this while nothing runs. O(n log n) in what waits.
    pub fn update_hook(
        &mut self,
        name: &HookName,
        terms: HookQueueConfig,
        keep: &mut dyn FnMut(&mut Trigger) -> bool,
    ) -> usize {
        if !self.hooks.contains_key(name) {
            return 0;
        }
        let (mut gone, of_hook) =
            (Vec::new(), &mut |item: &mut Item| item.trigger.hook != *name || keep(&mut item.trigger));
        for line in self.lines.values_mut() {
            gone.extend(line.retain(of_hook, &self.config));
        }
        let waiting = self.batches.iter().filter(|(_, batch)| batch.hook == *name && !batch.is_running());
        let waiting: Vec<JobId> = waiting.map(|(id, _)| *id).collect();
        for id in waiting {
            gone.extend(self.revise_job(id, of_hook));
        }
        let held = self.debounce.retain(of_hook).len();
        self.archive.retain(name, keep);
        self.leave(&gone);
        self.add_hook(name.clone(), terms);
        // Otherwise, a hook whose queues have other names with each version would leave all of them behind.
        self.drop_empty_lines();
        self.look_again_everywhere();
        gone.len() + held
    }

    fn revise_job(&mut self, id: JobId, keep: &mut Keep<'_>) -> Vec<Item> {
        let gone = self.retain_in_job(id, keep);
        let Some(batch) = self.batches.get_mut(&id) else { return gone };
        // The other version failed. This one has all its attempts, and the first of them at once.
        batch.failures = 0;
        batch.items.iter_mut().for_each(|item| item.tries = 0);
        let line = batch.line;
        if let Phase::Waiting { due } = batch.phase {
            batch.phase = Phase::Due;
            self.timers.remove(&(due, id));
            self.due(line, id);
        }
        gone
    }

    /// Takes what is not kept out of a job that waits. A job that has nothing left ends.
    pub(super) fn retain_in_job(&mut self, id: JobId, keep: &mut Keep<'_>) -> Vec<Item> {
        let Some(batch) = self.batches.get_mut(&id) else { return Vec::new() };
        let gone: Vec<Item> = batch.items.extract_if(.., |item| !keep(item)).collect();
        if batch.items.is_empty() {
            // The line releases everything that the job had.
            batch.items = gone;
            return self.drop_waiting(id);
        }
        batch.bytes -= gone.iter().map(|item| item.bytes).sum::<usize>();
        if let Some(line) = self.lines.get_mut(&batch.line) {
            line.released(&gone, &batch.items);
        }
        gone
    }

    /// Makes the tenant's queues fold if there is no room for this trigger. They do what a queue that is over its bound
    /// does, and nothing of other tenants is touched. This ends when the tenant uses half of what it may have, so that
    /// it does not begin again and again. O(1) unless the folding begins or ends.
    fn make_room(&mut self, item: &mut Item) {
        if !self.pressed.is_empty() && self.memory.is_at_ease(item.held.tenant()) {
            self.relax(item.held.tenant());
        }
        if !item.fits() && self.pressed.insert(item.held.tenant().clone()) {
            let gone: Vec<Item> = self.lines.values_mut().flat_map(|line| line.press(item.held.tenant())).collect();
            self.leave(&gone);
        }
    }

    fn relax(&mut self, tenant: &Tenant) {
        if self.pressed.remove(tenant) {
            let hooks = &self.hooks;
            self.warned.retain(|(hook, _)| hooks.get(hook).is_some_and(|hook| hook.tenant != *tenant));
            let gone: Vec<Item> = self.lines.values_mut().flat_map(|line| line.relax(tenant)).collect();
            self.leave(&gone);
        }
    }

    /// Ends the folding for tenants that hold nothing any more, maybe because they are gone.
    fn relax_unused(&mut self) {
        let unused: Vec<_> = self.pressed.iter().filter(|tenant| self.memory.used(tenant) == 0).cloned().collect();
        unused.iter().for_each(|tenant| self.relax(tenant));
    }
}

fn note(newest: &mut HashMap<Key, u64>, item: &Item) {
    if let Some(newest) = newest.get_mut(&Key::of_news(&item.trigger)) {
        *newest = (*newest).max(item.born);
    }
}
