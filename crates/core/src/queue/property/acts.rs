//! Applies operations to the queues and to the model. `checks` decides whether the result is right.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use super::*;

impl World {
    pub(super) fn apply(&mut self, op: Op) {
        match op {
            Op::Push(push) => self.push(push),
            Op::Take => {
                self.take();
            }
            Op::Finish(at, ending) => {
                let running: Vec<_> =
                    self.jobs.iter().filter(|(_, job)| job.due.is_none()).map(|(id, _)| *id).collect();
                if let Some(id) = running.get(at % running.len().max(1)) {
                    self.finish(*id, ending);
                }
            }
            Op::Pass(ms) => self.now += Duration::from_millis(ms),
            Op::Replace(at) => self.replace(HOOKS[at].0),
            Op::Pause(at) => {
                assert!(self.state.pause(&hook(HOOKS[at].0)));
                self.paused.insert(hook(HOOKS[at].0));
            }
            Op::Resume(at) => self.resume(&hook(HOOKS[at].0)),
            Op::Hold(at) => {
                assert!(self.state.hold(&hook(HOOKS[at].0)));
                self.held.insert(hook(HOOKS[at].0));
            }
            Op::Release(at) => self.release(&hook(HOOKS[at].0)),
            Op::UpdateHook(at, binding) => self.update_hook(&hook(HOOKS[at].0), binding),
            Op::Expect(at, binding) => self.expect(&hook(HOOKS[at].0), binding),
            Op::Listed(at, binding) => self.listed(&hook(HOOKS[at].0), binding),
            Op::Excuse(at, binding) => {
                let name = hook(HOOKS[at].0);
                self.state.exempt_from_sync(&name, &binding_name(binding));
                self.expected.entry((name, binding)).and_modify(|place| *place = None);
            }
            Op::Complete(at, binding) => self.complete(&hook(HOOKS[at].0), binding),
            Op::Incomplete(at, binding) => {
                let name = hook(HOOKS[at].0);
                self.state.incomplete(&name, &binding_name(binding));
                self.incomplete.insert((name, binding));
            }
            Op::RetryDead(at) => self.retry_dead(at.map(|at| hook(HOOKS[at].0))),
            Op::DropDead(at) => self.drop_dead(&hook(HOOKS[at].0)),
            Op::Restart => self.restart(),
        }
        self.compare();
    }

    pub(super) fn push(&mut self, push: Push) {
        let id = self.entries.len();
        let (name, (binding, in_shared, _, group)) = (hook(HOOKS[push.hook].0), BINDINGS[push.binding]);
        // Only triggers of one binding fold, and a binding has one policy.
        let allow_failure = if self.folding { binding == "s" } else { push.allow_failure };
        let attempts = if self.folding { binding != "o" } else { push.bounded }.then_some(ATTEMPTS);
        let line = if in_shared { shared("x") } else { own(name.as_str()) };
        let queue = match push.what {
            What::Startup => QueueName::main(),
            What::Sync if push.in_main => QueueName::main(),
            _ => line,
        };
        let kind = if push.deleted { WatchEventKind::Deleted } else { WatchEventKind::Modified };
        let uid = self.uid(&name, &push);
        let deleted = push.deleted;
        let cause = match push.what {
            What::Startup => Cause::Startup,
            What::Sync => Cause::Synchronization,
            What::Tick => tick(id as u64),
            What::Event(_) => event_of(kind, uid.as_deref().unwrap(), id as u64),
        };
        let mut snapshots = vec![BindingName::new(id.to_string())];
        snapshots.extend((push.what == What::Sync).then(|| BindingName::new(binding)));
        let attempts_left = attempts.and_then(NonZeroU32::new);
        let trigger = Trigger {
            snapshots: snapshots.into(),
            allow_failure,
            group: group.map(Arc::from).filter(|_| push.what != What::Startup),
            retry: RetryPolicy { jitter: 0.0, attempts: attempts_left, ..RetryPolicy::default() },
            ..trigger(name.as_str(), queue.clone(), binding, cause)
        };
        let pushed = self.state.push(trigger);
        assert!(pushed == Pushed::Queued || self.folding && pushed != Pushed::Refused, "{pushed:?}");
        let place = self.number(&name, push.binding, push.what);
        let (hook, binding, what) = (name, push.binding, push.what);
        let life = Life::Pending;
        self.entries.push(Entry {
            hook,
            queue,
            binding,
            what,
            allow_failure,
            attempts,
            tries: 0,
            place,
            born: place,
            life,
            unbound: false,
            uid,
            deleted,
        });
    }

    fn uid(&mut self, name: &HookName, push: &Push) -> Option<Box<str>> {
        let What::Event(object) = push.what else { return None };
        let of_object =
            |entry: &&Entry| entry.hook == *name && entry.binding == push.binding && entry.what == push.what;
        let gone = self.entries.iter().rev().find(of_object).is_some_and(|entry| entry.deleted);
        let generation = self.generations.entry((name.clone(), push.binding, object)).or_default();
        *generation += usize::from(gone && !push.returns);
        Some(format!("{object}#{generation}").into())
    }

    pub(super) fn number(&mut self, name: &HookName, binding: usize, what: What) -> u64 {
        if what == What::Sync
            && let Some(kept) = self.expected.get_mut(&(name.clone(), binding)).and_then(Option::take)
        {
            return kept;
        }
        self.last += 1;
        let number = self.last;
        if what == What::Startup {
            let mut kept: Vec<_> = self.expected.iter_mut().filter(|((hook, _), _)| hook == name).collect();
            kept.sort_by_key(|(_, place)| **place);
            for place in kept.into_iter().filter_map(|(_, place)| place.as_mut()) {
                self.last += 1;
                *place = self.last;
            }
        }
        number
    }

    pub(super) fn expect(&mut self, name: &HookName, binding: usize) {
        self.state.expect_list(name, binding_name(binding));
        self.last += 1;
        let place = (!BINDINGS[binding].2).then_some(self.last);
        let kept = self.expected.entry((name.clone(), binding)).or_default();
        *kept = kept.or(place);
    }

    pub(super) fn listed(&mut self, name: &HookName, binding: usize) {
        self.state.listed(name, &binding_name(binding));
        self.expected.remove(&(name.clone(), binding));
    }

    pub(super) fn complete(&mut self, name: &HookName, binding: usize) {
        self.state.complete(name, &binding_name(binding));
        self.incomplete.remove(&(name.clone(), binding));
    }

    pub(super) fn resume(&mut self, name: &HookName) {
        assert!(self.state.resume(name));
        self.paused.remove(name);
    }

    pub(super) fn release(&mut self, name: &HookName) {
        assert!(self.state.release(name));
        self.held.remove(name);
    }

    /// Only done while nothing of the hook runs.
    pub(super) fn update_hook(&mut self, name: &HookName, binding: usize) {
        if self.jobs.values().any(|job| job.hook == *name && job.due.is_none()) {
            return;
        }
        let gone = |entry: &Entry| entry.hook == *name && entry.binding == binding;
        let open = self.entries.iter().filter(|entry| gone(entry) && entry.open()).count();
        let refused = binding_name(binding);
        let dropped = self.state.update_hook(name, terms(name), &mut |trigger| trigger.binding != refused);
        assert!(self.folding || dropped == open, "{dropped} of {open}");
        let kept = self.entries.iter().filter(|entry| !gone(entry)).filter_map(Entry::letter);
        let kept: BTreeSet<u64> = kept.collect();
        for entry in self.entries.iter_mut().filter(|entry| gone(entry)) {
            match entry.letter() {
                Some(letter) if kept.contains(&letter) => entry.unbound = true,
                Some(_) => entry.life = Life::Dropped,
                None if entry.open() => entry.life = Life::Dropped,
                None => {}
            }
        }
        let Self { jobs, entries, now, .. } = self;
        for job in jobs.values_mut().filter(|job| job.hook == *name) {
            job.ids.retain(|id| entries[*id].life != Life::Dropped);
            // What is kept is due at once, and its attempts are those of the new version.
            job.ids.iter().for_each(|id| entries[*id].tries = 0);
            job.attempt = 1;
            job.due = job.due.map(|due| due.min(*now));
        }
        jobs.retain(|_, job| !job.ids.is_empty() || job.hook_removed);
    }

    pub(super) fn take(&mut self) -> bool {
        match self.state.take(self.now) {
            Some(job) => {
                self.check_job(&job);
                true
            }
            None => {
                if !self.folding && self.running() < MAX_RUNS {
                    self.check_nothing_can_run();
                }
                false
            }
        }
    }

    pub(super) fn running(&self) -> usize {
        self.jobs.values().filter(|job| job.due.is_none()).count()
    }

    /// Whether a job of the hook may begin, by a bucket that is filled again for every question.
    pub(super) fn has_token(&self, name: &HookName) -> bool {
        let Some((interval, burst)) = of_hook(name).2 else { return true };
        let interval = Duration::from_millis(interval);
        let (mut level, mut at) = (interval * burst, None);
        for start in self.starts.get(name).into_iter().flatten().chain([&self.now]) {
            level = (level + at.map_or(Duration::ZERO, |at| *start - at)).min(interval * burst);
            at = Some(*start);
            match level.checked_sub(interval) {
                Some(rest) => level = rest,
                None => return false,
            }
        }
        true
    }

    /// Whether the hook's tenant may have another run slot.
    pub(super) fn has_share(&self, name: &HookName) -> bool {
        let of_tenant = |job: &&ModelJob| job.due.is_none() && tenant(&job.hook) == tenant(name);
        let used = self.jobs.values().filter(of_tenant).count();
        may_take(used as u64, 1, (MAX_RUNS - self.running()) as u64)
    }

    pub(super) fn finish(&mut self, id: JobId, ending: Ending) {
        let outcome: Outcome = match ending {
            Ending::Ok => Ok(()),
            Ending::Retry => failed(FailureKind::Retry),
            Ending::After(ms) => failed(FailureKind::RetryAfter(Duration::from_millis(ms))),
            Ending::Permanent => failed(FailureKind::Permanent),
            Ending::Interrupted => failed(FailureKind::Interrupted),
            Ending::Host => failed(FailureKind::Host),
        };
        let finished = self.state.finish(id, outcome, self.now, 0.0).unwrap();
        let mut job = self.jobs.remove(&id).unwrap();
        assert_eq!((finished.triggers, finished.attempt), (job.ids.len(), job.attempt));
        assert!(finished.lost.is_empty());
        if job.hook_removed {
            return assert_eq!(finished.verdict, Verdict::Removed);
        }
        let counts = matches!(ending, Ending::Retry | Ending::After(_) | Ending::Permanent);
        let (mut exhausted, mut rest) = (Vec::new(), Vec::new());
        for id in &job.ids {
            let entry = &mut self.entries[*id];
            entry.tries += u32::from(counts);
            let gone = counts && entry.attempts.is_some_and(|max| entry.tries >= max) || ending == Ending::Permanent;
            if gone { exhausted.push(*id) } else { rest.push(*id) }
        }
        let ids = |triggers: &[Trigger]| triggers.iter().map(id_of).collect::<Vec<_>>();
        let allowed = self.entries[job.ids[0]].allow_failure && counts;
        let life = |world: &mut Self, ids: &[usize], life| ids.iter().for_each(|id| world.entries[*id].life = life);
        match finished.verdict {
            Verdict::Done => {
                assert_eq!(ending, Ending::Ok);
                life(self, &job.ids, Life::Delivered);
            }
            Verdict::AllowedFailure(_) => {
                assert!(allowed);
                life(self, &job.ids, Life::Delivered);
            }
            Verdict::GivenUp { triggers, .. } => {
                assert!(!allowed && rest.is_empty());
                assert_eq!(ids(&triggers), job.ids);
                life(self, &job.ids, Life::Dead(finished.dead_letter.unwrap()));
            }
            Verdict::Retry { after, given_up, .. } => {
                assert!(ending == Ending::Host || counts && !allowed);
                assert_eq!(ids(&given_up), exhausted);
                if let Some(letter) = finished.dead_letter {
                    life(self, &exhausted, Life::Dead(letter));
                }
                assert_eq!(finished.dead_letter.is_some(), !exhausted.is_empty());
                (job.ids, job.attempt, job.due) = (rest, job.attempt + 1, Some(self.now + after));
                self.jobs.insert(id, job);
            }
            Verdict::Interrupted => {
                assert_eq!(ending, Ending::Interrupted);
                let wait = if self.stands_still(&job.hook) { Duration::ZERO } else { RetryPolicy::default().initial };
                job.due = Some(self.now + wait);
                self.jobs.insert(id, job);
            }
            Verdict::Removed => panic!("the hook was not removed"),
        }
    }

    pub(super) fn retry_dead(&mut self, name: Option<HookName>) {
        let chosen = |entry: &Entry| name.as_ref().is_none_or(|name| *name == entry.hook);
        let mut expected = Retried::default();
        let mut letters = BTreeSet::new();
        let (mut again, mut over) = (Vec::new(), Vec::new());
        for (id, entry) in self.entries.iter().enumerate() {
            let Some(of) = entry.letter().filter(|_| chosen(entry)) else { continue };
            letters.insert(of);
            let newer = self.entries.iter().filter(|newer| newer.born > entry.born && newer.life != Life::Dead(of));
            let mut known = newer.filter(|newer| newer.supersedes(entry));
            if entry.unbound || known.next().is_some() { over.push(id) } else { again.push(id) }
        }
        (expected.letters, expected.triggers, expected.superseded) = (letters.len(), again.len(), over.len());
        let which = name.clone().map_or(Letters::All, Letters::Hook);
        let (retried, pushed) = self.state.retry_dead(&which, self.now);
        assert_eq!((retried, pushed.len()), (expected, again.len()));
        over.iter().for_each(|id| self.entries[*id].life = Life::Dropped);
        again.sort_by_key(|id| self.entries[*id].born);
        for id in again {
            let (hook, binding, what) =
                (self.entries[id].hook.clone(), self.entries[id].binding, self.entries[id].what);
            let place = self.number(&hook, binding, what);
            let entry = &mut self.entries[id];
            (entry.life, entry.tries, entry.place) = (Life::Pending, 0, place);
        }
    }

    pub(super) fn drop_dead(&mut self, name: &HookName) {
        let of_hook = |entry: &&mut Entry| entry.hook == *name && matches!(entry.life, Life::Dead(_));
        self.entries.iter_mut().filter(of_hook).for_each(|entry| entry.life = Life::Dropped);
        self.state.drop_dead(&Letters::Hook(name.clone()));
    }

    pub(super) fn replace(&mut self, name: &str) {
        let name = hook(name);
        self.state.remove_hook(&name);
        self.state.add_hook(name.clone(), terms(&name));
        self.forget(&name);
        self.jobs.retain(|_, job| job.hook != name || job.due.is_none());
        self.jobs.values_mut().filter(|job| job.hook == name).for_each(|job| job.hook_removed = true);
    }

    pub(super) fn forget(&mut self, name: &HookName) {
        let of_hook = self.entries.iter_mut().filter(|entry| entry.hook == *name);
        of_hook.for_each(|entry| entry.life = Life::Dropped);
        self.since.insert(name.clone(), self.entries.len());
        self.paused.remove(name);
        self.held.remove(name);
        self.starts.remove(name);
        self.expected.retain(|(hook, _), _| hook != name);
        self.incomplete.retain(|(hook, _)| hook != name);
    }

    /// Everything is lost, and every binding reports all its objects.
    pub(super) fn restart(&mut self) {
        self.state = new_state(self.config);
        self.jobs.clear();
        for (at, (name, ..)) in HOOKS.iter().enumerate() {
            self.forget(&hook(name));
            self.state.add_hook(hook(name), terms(&hook(name)));
            for binding in 0..BINDINGS.len() {
                self.expect(&hook(name), binding);
            }
            for binding in 0..BINDINGS.len() {
                let what = What::Sync;
                let (in_main, allow_failure, bounded, deleted, returns) = (false, false, false, false, false);
                self.push(Push { hook: at, binding, what, in_main, allow_failure, bounded, deleted, returns });
                self.listed(&hook(name), binding);
            }
        }
    }

    pub(super) fn run_all(&mut self) {
        while !self.state.is_idle() {
            while self.take() {}
            match self.jobs.iter().find(|(_, job)| job.due.is_none()).map(|(id, _)| *id) {
                Some(id) => self.finish(id, Ending::Ok),
                None => {
                    let due = self.state.next_due(self.now).expect("nothing runs, nothing is due, and not idle");
                    assert!(due > self.now, "it may run now, and does not");
                    self.now = due;
                }
            }
            self.compare();
        }
    }
}
