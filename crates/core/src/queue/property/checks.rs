//! What must hold for every job that the queues hand out, for what they report about themselves, and at the end.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use super::*;

impl World {
    pub(super) fn check_job(&mut self, job: &Job) {
        let items = &self.state.batches[&job.id].items;
        let ids: Vec<usize> = items.iter().map(|item| id_of(&item.trigger)).collect();
        let before = self.jobs.get(&job.id).map(|known| known.ids.clone()).unwrap_or_default();
        if let Some(known) = self.jobs.get(&job.id) {
            assert!(known.due.is_some_and(|due| due <= self.now), "{job:?} ran before its time");
            assert_eq!(job.attempt, known.attempt);
        } else {
            assert_eq!(job.attempt, 1);
        }
        assert!(ids.starts_with(&before), "a retry lost or moved triggers");
        assert!(!self.stands_still(&job.hook), "{} is paused or held", job.hook);
        assert!(!before.iter().any(|id| self.lacks(*id)), "a retry ran without its snapshot");
        assert!(self.has_token(&job.hook), "{} has no token", job.hook);
        assert!(self.has_share(&job.hook), "{} takes more than its share", job.hook);
        self.starts.entry(job.hook.clone()).or_default().push(self.now);
        self.check_reported(job, &ids);
        for (id, item) in ids.iter().zip(items) {
            if let Cause::Event(event) = &item.trigger.cause
                && event.kind == WatchEventKind::Deleted
            {
                self.ended.insert((job.hook.clone(), self.entries[*id].binding, event.item.uid.clone()));
            }
        }
        let fresh = &ids[before.len()..];
        assert!(ids.len() <= BATCH && !ids.is_empty());
        assert!(ids.len() == 1 || of_hook(&job.hook).3, "{} does not combine", job.hook);
        let first = self.entries[ids[0]].clone();
        for id in &ids {
            let entry = &self.entries[*id];
            assert_eq!((&entry.hook, &entry.queue), (&job.hook, &job.queue));
            assert_eq!((entry.allow_failure, entry.attempts), (first.allow_failure, first.attempts));
            let combines = match entry.what {
                What::Startup => false,
                What::Sync => entry.group().is_some(),
                What::Tick | What::Event(_) => true,
            };
            assert!(ids.len() == 1 || combines, "{entry:?} did not run alone");
            assert!(entry.attempts.is_none_or(|max| entry.tries < max), "{entry:?} has had its attempts");
        }
        for id in fresh {
            assert_eq!(self.entries[*id].life, Life::Pending, "trigger {id} was taken twice");
            self.check_news(*id, &ids);
        }
        if !self.folding {
            for id in fresh {
                assert!(!self.gated(*id, &ids), "trigger {id} ran before its gate opened");
            }
            match concurrency(&job.queue) {
                1 => self.check_serial(job, fresh),
                _ => self.check_keyed(job, fresh),
            }
        }
        self.check_exclusive(job, &ids, before.is_empty());
        for id in fresh {
            self.entries[*id].life = Life::InJob(job.id);
        }
        let hook_removed = false;
        let (hook, queue) = (job.hook.clone(), job.queue.clone());
        self.jobs.insert(job.id, ModelJob { hook, queue, ids, attempt: job.attempt, due: None, hook_removed });
        assert!(self.running() <= MAX_RUNS);
    }

    /// Of neighbours of one group, only the last one is delivered.
    fn check_reported(&self, job: &Job, ids: &[usize]) {
        let group = |id: usize| Some(&self.entries[id]).filter(|entry| entry.what != What::Startup)?.group();
        let mut reported: Vec<usize> = Vec::new();
        for id in ids {
            if reported.last().is_some_and(|last| group(*last).is_some() && group(*last) == group(*id)) {
                reported.pop();
            }
            reported.push(*id);
        }
        assert_eq!(job.triggers.iter().map(id_of).collect::<Vec<_>>(), reported);
    }

    /// Nothing newer about the object was delivered before, unless it is in this very job.
    fn check_news(&self, id: usize, ids: &[usize]) {
        let entry = &self.entries[id];
        for (newer, other) in self.entries.iter().enumerate().skip(id + 1) {
            let reported = !matches!(other.life, Life::Pending | Life::Dropped);
            let same = other.of(entry) && other.what == entry.what && entry.object().is_some();
            assert!(!same || !reported || ids.contains(&newer), "{id} was reported after {newer}");
        }
    }

    /// Whether something earlier closes the trigger's gate. `ids` are in its job.
    fn gated(&self, id: usize, ids: &[usize]) -> bool {
        let entry = &self.entries[id];
        let waits = matches!(entry.what, What::Tick | What::Event(_));
        self.waits_for_a_list(id)
            || self.entries.iter().enumerate().any(|(other, earlier)| {
                let together = ids.contains(&other) && earlier.group().is_some() && earlier.group() == entry.group();
                earlier.open()
                    && earlier.hook == entry.hook
                    && earlier.place < entry.place
                    && match earlier.what {
                        What::Startup => true,
                        What::Sync if BINDINGS[earlier.binding].2 => {
                            !together && matches!(entry.what, What::Event(_)) && earlier.binding == entry.binding
                        }
                        What::Sync => waits && !together,
                        What::Tick | What::Event(_) => false,
                    }
            })
    }

    /// Whether its snapshot is missing or incomplete.
    fn lacks(&self, id: usize) -> bool {
        let entry = &self.entries[id];
        let key = (entry.hook.clone(), entry.binding);
        entry.what == What::Sync && (self.expected.contains_key(&key) || self.incomplete.contains(&key))
    }

    fn waits_for_a_list(&self, id: usize) -> bool {
        let entry = &self.entries[id];
        let place = |((hook, _), place): (&(HookName, usize), &Option<u64>)| {
            *hook == entry.hook && place.is_some_and(|place| place < entry.place)
        };
        self.lacks(id) || matches!(entry.what, What::Tick | What::Event(_)) && self.expected.iter().any(place)
    }

    /// Whether it waits for a list, and for nothing that comes before that.
    fn waits_outside(&self, id: usize) -> bool {
        let entry = &self.entries[id];
        let starts = |other: &Entry| other.open() && other.what == What::Startup && other.place < entry.place;
        let starting = self.entries.iter().any(|other| other.hook == entry.hook && starts(other));
        !starting && self.waits_for_a_list(id)
    }

    /// Whether others pass it in a shared queue.
    fn is_passed(&self, job: &ModelJob) -> bool {
        let is_due = job.due.is_some_and(|due| due <= self.now);
        let shared = matches!(job.queue, QueueName::Shared(_));
        self.stands_still(&job.hook) || shared && is_due && self.job_lacks(job)
    }

    fn job_lacks(&self, job: &ModelJob) -> bool {
        job.ids.iter().any(|id| self.lacks(*id))
    }

    /// What waits in a queue, by number.
    fn pending(&self, queue: &QueueName) -> Vec<usize> {
        let here = |entry: &Entry| entry.life == Life::Pending && entry.queue == *queue;
        let mut ids: Vec<_> = (0..self.entries.len()).filter(|id| here(&self.entries[*id])).collect();
        ids.sort_by_key(|id| self.entries[*id].place);
        ids
    }

    pub(super) fn stands_still(&self, name: &HookName) -> bool {
        self.paused.contains(name) || self.held.contains(name)
    }

    /// What waits in a queue and others do not pass.
    fn pending_in_front(&self, queue: &QueueName) -> Vec<usize> {
        let shared = matches!(queue, QueueName::Shared(_));
        let jobs = self.jobs_of(queue).filter(|(_, job)| shared && self.is_passed(job));
        let mut passed: BTreeSet<HookName> = jobs.map(|(_, job)| job.hook.clone()).collect();
        let mut pending = self.pending(queue);
        pending.retain(|id| {
            let hook = &self.entries[*id].hook;
            if self.stands_still(hook) || shared && self.waits_outside(*id) {
                passed.insert(hook.clone());
            }
            !passed.contains(hook)
        });
        pending
    }

    fn jobs_of<'a>(&'a self, queue: &'a QueueName) -> impl Iterator<Item = (&'a JobId, &'a ModelJob)> {
        self.jobs.iter().filter(move |(_, job)| job.queue == *queue)
    }

    fn check_serial(&self, job: &Job, fresh: &[usize]) {
        let expected: Vec<usize> = self.pending_in_front(&job.queue).into_iter().take(fresh.len()).collect();
        assert_eq!(fresh, expected, "not the head of {}", job.queue);
    }

    fn check_keyed(&self, job: &Job, fresh: &[usize]) {
        let place = |id: usize| self.entries[id].place;
        let barrier = |id: usize| self.entries[id].object().is_none();
        for id in fresh {
            let pending = self.pending(&job.queue);
            for earlier in
                pending.into_iter().filter(|earlier| place(*earlier) < place(*id) && !fresh.contains(earlier))
            {
                assert_ne!(self.entries[earlier].what, self.entries[*id].what, "{earlier} was overtaken by {id}");
                assert!(!barrier(*id) && !barrier(earlier), "barrier {earlier} or {id} was overtaken");
            }
            for (_, other) in self.jobs_of(&job.queue).filter(|(other, _)| **other != job.id) {
                assert!(!barrier(*id) && !other.ids.iter().any(|id| barrier(*id)), "a barrier ran beside another job");
            }
        }
        assert!(fresh.is_sorted_by_key(|id| place(*id)));
    }

    /// One job in a plain line, and no object in two jobs of one queue. Waiting jobs count.
    fn check_exclusive(&self, job: &Job, ids: &[usize], new: bool) {
        let others: Vec<_> =
            self.jobs_of(&job.queue).filter(|(id, _)| **id != job.id).map(|(_, other)| other).collect();
        let running = others.iter().filter(|other| other.due.is_none()).count();
        assert!(running < concurrency(&job.queue), "too many jobs in {}", job.queue);
        if concurrency(&job.queue) == 1 && new {
            assert!(others.iter().all(|other| self.is_passed(other)), "{} ran past a job", job.queue);
        }
        if concurrency(&job.queue) > 1 {
            let objects: BTreeSet<u8> = ids.iter().filter_map(|id| self.entries[*id].object()).collect();
            for other in others.iter().flat_map(|other| &other.ids).filter_map(|id| self.entries[*id].object()) {
                assert!(!objects.contains(&other), "object {other} in two jobs");
            }
        }
    }

    pub(super) fn check_nothing_can_run(&self) {
        let queues: BTreeSet<_> = self.entries.iter().map(|entry| entry.queue.clone()).collect();
        for queue in queues {
            let jobs: Vec<_> = self.jobs_of(&queue).map(|(_, job)| job).collect();
            if jobs.iter().filter(|job| job.due.is_none()).count() >= concurrency(&queue) {
                continue;
            }
            let waiting: Vec<_> = jobs.iter().filter(|job| !self.is_passed(job)).collect();
            let is_due = |job: &ModelJob| job.due.is_some_and(|due| due <= self.now);
            // A job that others passed waits behind the job that has the line.
            let runs = |name: &HookName| self.has_token(name) && self.has_share(name);
            let may = |job: &ModelJob| is_due(job) && runs(&job.hook) && !self.job_lacks(job);
            let held_back = waiting.iter().filter(|job| may(job)).count();
            assert!(held_back == 0 || concurrency(&queue) == 1 && waiting.len() > 1, "{queue} holds a due job back");
            let pending = self.pending_in_front(&queue);
            let next = if concurrency(&queue) == 1 || jobs.is_empty() {
                pending.into_iter().next().filter(|_| waiting.is_empty())
            } else {
                let object = |id: &usize| self.entries[*id].object();
                let taken: BTreeSet<_> = jobs.iter().flat_map(|job| &job.ids).map(object).collect();
                let in_front = pending.into_iter().take_while(|id| object(id).is_some());
                // A due job without a token is asked before all others, which have no token either.
                in_front.into_iter().find(|id| !taken.contains(&object(id)) && !taken.contains(&None))
            };
            let next = next.filter(|id| runs(&self.entries[*id].hook));
            assert!(next.is_none_or(|id| self.gated(id, &[])), "{queue} holds {next:?} back");
        }
    }

    /// What the state reports about itself.
    pub(super) fn compare(&self) {
        self.state.check_index();
        let waiting = self.state.lines.values().map(|line| line.bytes);
        let bytes: usize = waiting.chain(self.state.batches.values().map(|batch| batch.bytes)).sum();
        let letters = self.state.dead_letters();
        let dead: usize = letters.iter().flat_map(|letter| &*letter.triggers).map(super::super::item::payload).sum();
        assert_eq!(self.state.memory.all_used(), (bytes + dead) as u64);
        let stats = self.state.stats(self.now);
        assert_eq!(stats.running, self.running());
        for queue in &stats.queues {
            let jobs: Vec<_> = self.jobs_of(&queue.queue).map(|(_, job)| job).collect();
            assert_eq!(queue.running, jobs.iter().filter(|job| job.due.is_none()).count());
            let waiting = jobs.iter().filter(|job| job.due.is_some());
            assert_eq!(queue.retrying, waiting.clone().count());
            let first_runs = queue.length - waiting.map(|job| job.ids.len()).sum::<usize>();
            if self.config.max_pending < 1_000 {
                // All hooks may share it. Each binding has three causes without an object, and two for each object.
                let objects: usize = self.generations.values().map(|generations| generations + 1).sum();
                assert!(first_runs <= HOOKS.len() * BINDINGS.len() * 3 + 2 * objects, "{queue:?}");
            } else if !self.folding {
                assert_eq!(first_runs, self.pending(&queue.queue).len(), "{queue:?}");
            }
        }
        let letters: BTreeSet<_> = self.state.dead_letters().iter().map(|letter| letter.id).collect();
        let dead = self.entries.iter().filter_map(Entry::letter);
        assert_eq!(letters, dead.collect());
        for hook in &stats.hooks {
            assert_eq!(hook.paused, self.paused.contains(&hook.hook));
            if !self.folding {
                let open = self.entries.iter().filter(|entry| entry.hook == hook.hook && entry.open());
                assert_eq!(hook.outstanding, open.clone().count());
                assert_eq!(hook.starting, open.clone().any(|entry| entry.what == What::Startup));
                let syncs = open.filter(|entry| entry.what == What::Sync).map(|entry| entry.binding);
                let (background, all): (BTreeSet<_>, BTreeSet<_>) = syncs.partition(|binding| BINDINGS[*binding].2);
                let names = |set: BTreeSet<usize>| set.into_iter().map(binding_name).collect::<BTreeSet<_>>();
                assert_eq!(hook.unsynchronised, Vec::from_iter(names(all)));
                assert_eq!(hook.unsynchronised_in_background, Vec::from_iter(names(background)));
            }
        }
        for dump in self.state.dump(self.now, usize::MAX) {
            assert_eq!(dump.total, dump.triggers.len());
            assert_eq!(dump.state == QueueState::Empty, dump.total == 0, "{dump:?}");
        }
    }

    /// The newest state of every object was delivered, and not only to be given up.
    pub(super) fn check_final_states(&self) {
        let mut newest = HashMap::new();
        for (id, entry) in self.entries.iter().enumerate() {
            let lost = self.since.get(&entry.hook).is_some_and(|since| id < *since);
            if let Some(object) = entry.object().filter(|_| !lost) {
                newest.insert((entry.hook.clone(), entry.binding, object), id);
            }
        }
        for id in newest.into_values() {
            let entry = &self.entries[id];
            let synchronised =
                |later: &Entry| later.born > entry.born && later.supersedes(entry) && later.life == Life::Delivered;
            let reported =
                entry.life == Life::Delivered || entry.life == Life::Dropped && self.entries.iter().any(synchronised);
            assert!(reported, "the final state {id} is {:?}", entry.life);
        }
    }

    /// A run received the deletion of each object that was deleted.
    pub(super) fn check_deletions(&self) {
        for (id, entry) in self.entries.iter().enumerate() {
            let lost = self.since.get(&entry.hook).is_some_and(|since| id < *since);
            let Some(uid) = entry.uid.clone().filter(|_| entry.deleted && entry.object().is_some() && !lost) else {
                continue;
            };
            let reported = self.ended.contains(&(entry.hook.clone(), entry.binding, uid));
            assert!(reported, "no run had the deletion {id}, {entry:?}");
        }
    }
}
