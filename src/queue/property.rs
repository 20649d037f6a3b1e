//! Random interleavings of pushes, takes, outcomes, removals and time, against a slow and simple model
//! of the rules. The model keeps every trigger in one list and looks at all of it for every question.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    sync::Arc,
    time::{Duration, Instant},
};

use proptest::{collection::vec, prelude::*};

use super::{testing::*, *};
use crate::model::{
    BindingName, Cause, FailureKind, HookName, Job, JobId, Outcome, QueueName, RetryPolicy, Trigger, WatchEventKind,
};

/// Name and concurrency.
const HOOKS: [(&str, usize); 3] = [("plain", 1), ("wide", 3), ("two", 2)];
const MAX_RUNS: usize = 5;
const BATCH: usize = 4;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum What {
    Startup,
    Sync,
    Tick,
    Event(u8),
}

#[derive(Debug, Clone)]
enum Op {
    Push { hook: usize, what: What, shared: bool, in_main: bool, allow_failure: bool, deleted: bool },
    Take,
    Finish(usize, Ending),
    Pass(u64),
    Replace(usize),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ending {
    Ok,
    Retry,
    After(u64),
    Permanent,
    Interrupted,
    Host,
}

fn ops() -> impl Strategy<Value = Vec<Op>> {
    let what = prop_oneof![
        1 => Just(What::Startup), 2 => Just(What::Sync), 2 => Just(What::Tick), 30 => (0..6u8).prop_map(What::Event)
    ];
    let push =
        (0..HOOKS.len(), what, prop::bool::weighted(0.3), any::<bool>(), prop::bool::weighted(0.2), any::<bool>())
            .prop_map(|(hook, what, shared, in_main, allow_failure, deleted)| Op::Push {
                hook,
                what,
                shared,
                in_main,
                allow_failure,
                deleted,
            });
    let ending = prop_oneof![
        5 => Just(Ending::Ok),
        3 => Just(Ending::Retry),
        1 => (0..20_000u64).prop_map(Ending::After),
        1 => Just(Ending::Permanent),
        1 => Just(Ending::Interrupted),
        1 => Just(Ending::Host),
    ];
    let op = prop_oneof![
        30 => push,
        24 => Just(Op::Take),
        18 => (0..8usize, ending).prop_map(|(at, ending)| Op::Finish(at, ending)),
        9 => (1..9_000u64).prop_map(Op::Pass),
        1 => (0..HOOKS.len()).prop_map(Op::Replace),
    ];
    vec(op, 1..160)
}

/// A trigger as the model keeps it; its place in the list is its number.
#[derive(Debug, Clone)]
struct Entry {
    hook: HookName,
    queue: QueueName,
    binding: BindingName,
    what: What,
    allow_failure: bool,
    life: Life,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Life {
    Pending,
    InJob(JobId),
    Ended,
}

#[derive(Debug, Clone)]
struct ModelJob {
    hook: HookName,
    queue: QueueName,
    ids: Vec<usize>,
    attempt: u32,
    /// Absent while it runs.
    due: Option<Instant>,
    orphan: bool,
}

struct World {
    state: State,
    now: Instant,
    folding: bool,
    entries: Vec<Entry>,
    jobs: BTreeMap<JobId, ModelJob>,
    /// The newest event done or given up, by hook, queue, binding, object.
    delivered: HashMap<(HookName, QueueName, BindingName, u8), usize>,
}

fn id_of(trigger: &Trigger) -> usize {
    trigger.snapshots[0].as_str().parse().unwrap()
}

fn concurrency(queue: &QueueName) -> usize {
    match queue {
        QueueName::Own(owner) => HOOKS.iter().find(|(name, _)| *name == owner.as_str()).unwrap().1,
        QueueName::Shared(_) => 1,
    }
}

impl World {
    fn new(max_pending: usize) -> Self {
        let config =
            QueueConfig { max_parallel_runs: MAX_RUNS, batch_triggers: BATCH, max_pending, ..QueueConfig::default() };
        let mut state = State::new(config);
        HOOKS.iter().for_each(|(name, concurrency)| state.add_hook(hook(name), wide(*concurrency)));
        Self {
            state,
            now: Instant::now(),
            folding: max_pending < 1_000,
            entries: Vec::new(),
            jobs: BTreeMap::new(),
            delivered: HashMap::new(),
        }
    }

    fn apply(&mut self, op: Op) {
        match op {
            Op::Push { hook, what, shared, in_main, allow_failure, deleted } => {
                self.push(HOOKS[hook].0, what, shared, in_main, allow_failure, deleted);
            }
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
        }
        self.compare();
    }

    fn push(&mut self, name: &str, what: What, in_shared: bool, in_main: bool, allow_failure: bool, deleted: bool) {
        let id = self.entries.len();
        // Only triggers of one binding fold, and a binding has one policy.
        let allow_failure = if self.folding { in_shared } else { allow_failure };
        let (binding, line) = if in_shared { ("s", shared("x")) } else { ("o", own(name)) };
        let queue = match what {
            What::Startup => QueueName::main(),
            What::Sync if in_main => QueueName::main(),
            _ => line,
        };
        let kind = if deleted { WatchEventKind::Deleted } else { WatchEventKind::Modified };
        let cause = match what {
            What::Startup => Cause::Startup,
            What::Sync => Cause::Synchronization,
            What::Tick => tick(id as u64),
            What::Event(object) => event_of(kind, &object.to_string(), id as u64),
        };
        let trigger = Trigger {
            snapshots: Arc::new([BindingName::new(id.to_string())]),
            allow_failure,
            retry: RetryPolicy { jitter: 0.0, ..RetryPolicy::default() },
            ..trigger(name, queue.clone(), binding, cause)
        };
        let (hook, binding) = (trigger.hook.clone(), trigger.binding.clone());
        let pushed = self.state.push(trigger);
        assert!(pushed == Pushed::Queued || self.folding && pushed != Pushed::Refused, "{pushed:?}");
        self.entries.push(Entry { hook, queue, binding, what, allow_failure, life: Life::Pending });
    }

    fn take(&mut self) -> bool {
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

    fn running(&self) -> usize {
        self.jobs.values().filter(|job| job.due.is_none()).count()
    }

    fn check_job(&mut self, job: &Job) {
        let ids: Vec<usize> = job.triggers.iter().map(id_of).collect();
        let before = self.jobs.get(&job.id).map(|known| known.ids.clone()).unwrap_or_default();
        if let Some(known) = self.jobs.get(&job.id) {
            assert!(known.due.is_some_and(|due| due <= self.now), "{job:?} ran before its time");
            assert_eq!(job.attempt, known.attempt);
        } else {
            assert_eq!(job.attempt, 1);
        }
        assert!(ids.starts_with(&before), "a retry lost or moved triggers");
        let fresh = &ids[before.len()..];
        assert!(ids.len() <= BATCH && !ids.is_empty());
        let first = self.entries[ids[0]].clone();
        for id in &ids {
            let entry = &self.entries[*id];
            assert_eq!((&entry.hook, &entry.queue, entry.allow_failure), (&job.hook, &job.queue, first.allow_failure));
            assert!(ids.len() == 1 || matches!(entry.what, What::Tick | What::Event(_)), "{entry:?} did not run alone");
        }
        for id in fresh {
            assert_eq!(self.entries[*id].life, Life::Pending, "trigger {id} was taken twice");
        }
        if !self.folding {
            for id in fresh {
                assert!(!self.gated(*id), "trigger {id} ran before its gate opened");
            }
            match concurrency(&job.queue) {
                1 => self.check_serial(job, fresh),
                _ => self.check_keyed(job, fresh),
            }
        }
        self.check_exclusive(job, &ids);
        for id in fresh {
            self.entries[*id].life = Life::InJob(job.id);
        }
        let orphan = false;
        let (hook, queue) = (job.hook.clone(), job.queue.clone());
        self.jobs.insert(job.id, ModelJob { hook, queue, ids, attempt: job.attempt, due: None, orphan });
        assert!(self.running() <= MAX_RUNS);
    }

    /// Whether an earlier start-up or synchronization closes the trigger's gate.
    fn gated(&self, id: usize) -> bool {
        let entry = &self.entries[id];
        self.entries[..id].iter().any(|earlier| {
            earlier.life != Life::Ended
                && earlier.hook == entry.hook
                && match earlier.what {
                    What::Startup => true,
                    What::Sync => matches!(entry.what, What::Event(_) | What::Tick),
                    What::Tick | What::Event(_) => false,
                }
        })
    }

    fn pending<'a>(&'a self, queue: &'a QueueName) -> impl Iterator<Item = usize> + 'a {
        let entries = self.entries.iter().enumerate();
        entries.filter(|(_, entry)| entry.life == Life::Pending && entry.queue == *queue).map(|(id, _)| id)
    }

    fn jobs_of<'a>(&'a self, queue: &'a QueueName) -> impl Iterator<Item = (&'a JobId, &'a ModelJob)> {
        self.jobs.iter().filter(move |(_, job)| job.queue == *queue)
    }

    fn check_serial(&self, job: &Job, fresh: &[usize]) {
        let expected: Vec<usize> = self.pending(&job.queue).take(fresh.len()).collect();
        assert_eq!(fresh, expected, "not the head of {}", job.queue);
    }

    fn check_keyed(&self, job: &Job, fresh: &[usize]) {
        for id in fresh {
            let barrier = |id: usize| !matches!(self.entries[id].what, What::Event(_));
            for earlier in self.pending(&job.queue).filter(|earlier| earlier < id && !fresh.contains(earlier)) {
                assert_ne!(self.entries[earlier].what, self.entries[*id].what, "{earlier} was overtaken by {id}");
                assert!(!barrier(*id) && !barrier(earlier), "barrier {earlier} or {id} was overtaken");
            }
            let others = self.jobs_of(&job.queue).filter(|(other, _)| **other != job.id);
            for (_, other) in others {
                assert!(!barrier(*id) && !other.ids.iter().any(|id| barrier(*id)), "a barrier ran beside another job");
            }
        }
        assert!(fresh.is_sorted());
    }

    /// One job in a plain line, no object in two jobs of one queue; waiting jobs count.
    fn check_exclusive(&self, job: &Job, ids: &[usize]) {
        let others: Vec<_> =
            self.jobs_of(&job.queue).filter(|(id, _)| **id != job.id).map(|(_, other)| other).collect();
        let running = others.iter().filter(|other| other.due.is_none()).count();
        assert!(running < concurrency(&job.queue), "too many jobs in {}", job.queue);
        if concurrency(&job.queue) == 1 {
            assert!(others.is_empty(), "{} ran past a job that waits", job.queue);
        }
        let objects: BTreeSet<u8> = ids.iter().filter_map(|id| self.object(*id)).collect();
        for other in others.iter().flat_map(|other| &other.ids).filter_map(|id| self.object(*id)) {
            assert!(!objects.contains(&other), "object {other} in two jobs");
        }
    }

    fn object(&self, id: usize) -> Option<u8> {
        match self.entries[id].what {
            What::Event(object) => Some(object),
            What::Startup | What::Sync | What::Tick => None,
        }
    }

    fn check_nothing_can_run(&self) {
        let queues: BTreeSet<_> = self.entries.iter().map(|entry| entry.queue.clone()).collect();
        for queue in queues {
            let jobs: Vec<_> = self.jobs_of(&queue).map(|(_, job)| job).collect();
            let running = jobs.iter().filter(|job| job.due.is_none()).count();
            if running >= concurrency(&queue) {
                continue;
            }
            assert!(!jobs.iter().any(|job| job.due.is_some_and(|due| due <= self.now)), "{queue} holds a due job back");
            let next = if concurrency(&queue) == 1 || jobs.is_empty() {
                self.pending(&queue).next().filter(|_| jobs.is_empty())
            } else {
                let taken: BTreeSet<_> = jobs.iter().flat_map(|job| &job.ids).map(|id| self.object(*id)).collect();
                let in_front = self.pending(&queue).take_while(|id| self.object(*id).is_some());
                let free = |id: &usize| !taken.contains(&self.object(*id)) && !taken.contains(&None);
                in_front.into_iter().find(free)
            };
            assert!(next.is_none_or(|id| self.gated(id)), "{queue} holds {next:?} back");
        }
    }

    fn finish(&mut self, id: JobId, ending: Ending) {
        let outcome: Outcome = match ending {
            Ending::Ok => Ok(()),
            Ending::Retry => failed(FailureKind::Retry),
            Ending::After(ms) => failed(FailureKind::RetryAfter(Duration::from_millis(ms))),
            Ending::Permanent => failed(FailureKind::Permanent),
            Ending::Interrupted => failed(FailureKind::Interrupted),
            Ending::Host => failed(FailureKind::Host),
        };
        let finished = self.state.finish(id, outcome, self.now, 0.0).unwrap();
        let job = self.jobs.get_mut(&id).unwrap();
        assert_eq!((finished.triggers, finished.attempt), (job.ids.len(), job.attempt));
        if job.orphan {
            assert_eq!(finished.verdict, Verdict::Removed);
            self.jobs.remove(&id);
            return;
        }
        let allowed = self.entries[job.ids[0]].allow_failure;
        match finished.verdict {
            Verdict::Done => assert_eq!(ending, Ending::Ok),
            Verdict::AllowedFailure(_) => {
                assert!(allowed && !matches!(ending, Ending::Ok | Ending::Interrupted | Ending::Host));
            }
            Verdict::GivenUp { triggers, .. } => {
                assert!(!allowed && ending == Ending::Permanent);
                assert_eq!(triggers.iter().map(id_of).collect::<Vec<_>>(), job.ids);
            }
            Verdict::Retry { after, .. } => {
                assert!(match ending {
                    Ending::Host => true,
                    Ending::Retry | Ending::After(_) => !allowed,
                    _ => false,
                });
                job.attempt += 1;
                job.due = Some(self.now + after);
                return;
            }
            Verdict::Interrupted => {
                assert_eq!(ending, Ending::Interrupted);
                job.due = Some(self.now);
                return;
            }
            Verdict::Removed => panic!("the hook was not removed"),
        }
        let job = self.jobs.remove(&id).unwrap();
        job.ids.iter().for_each(|id| self.deliver(*id));
    }

    fn deliver(&mut self, id: usize) {
        let entry = &mut self.entries[id];
        entry.life = Life::Ended;
        let entry = entry.clone();
        if let What::Event(object) = entry.what {
            let newest = self.delivered.insert((entry.hook, entry.queue, entry.binding, object), id);
            assert!(newest.is_none_or(|newest| newest < id), "{id} after {newest:?}");
        }
    }

    fn replace(&mut self, name: &str) {
        let name = hook(name);
        self.state.remove_hook(&name);
        self.state.add_hook(name.clone(), wide(concurrency(&QueueName::Own(name.clone()))));
        for entry in self.entries.iter_mut().filter(|entry| entry.hook == name) {
            entry.life = Life::Ended;
        }
        self.jobs.retain(|_, job| job.hook != name || job.due.is_none());
        self.jobs.values_mut().filter(|job| job.hook == name).for_each(|job| job.orphan = true);
        self.delivered.retain(|(hook, ..), _| *hook != name);
    }

    /// What the state says of itself.
    fn compare(&self) {
        self.state.check_index();
        let stats = self.state.stats(self.now);
        assert_eq!(stats.running, self.running());
        for queue in &stats.queues {
            let jobs: Vec<_> = self.jobs_of(&queue.queue).map(|(_, job)| job).collect();
            assert_eq!(queue.running, jobs.iter().filter(|job| job.due.is_none()).count());
            let waiting = jobs.iter().filter(|job| job.due.is_some());
            assert_eq!(queue.retrying, waiting.clone().count());
            let first_runs = queue.length - waiting.map(|job| job.ids.len()).sum::<usize>();
            if self.folding {
                // All hooks may share it: two bindings, six objects, three other causes.
                assert!(first_runs <= HOOKS.len() * 2 * 9, "{queue:?}");
            } else {
                assert_eq!(first_runs, self.pending(&queue.queue).count(), "{queue:?}");
            }
        }
        if !self.folding {
            for hook in &stats.hooks {
                let open = self.entries.iter().filter(|entry| entry.hook == hook.hook && entry.life != Life::Ended);
                assert_eq!(hook.outstanding, open.clone().count());
                assert_eq!(hook.starting, open.clone().any(|entry| entry.what == What::Startup));
                let unsynchronised: BTreeSet<_> =
                    open.filter(|entry| entry.what == What::Sync).map(|entry| entry.binding.clone()).collect();
                assert_eq!(hook.unsynchronised, Vec::from_iter(unsynchronised));
            }
        }
    }

    /// With runs that succeed and time that passes, everything gets its turn.
    fn settle(&mut self) {
        while !self.state.is_idle() {
            while self.take() {}
            match self.jobs.iter().find(|(_, job)| job.due.is_none()).map(|(id, _)| *id) {
                Some(id) => self.finish(id, Ending::Ok),
                None => {
                    let due = self.state.next_due(self.now).expect("nothing runs, nothing is due, and not idle");
                    assert_eq!(Some(due), self.jobs.values().filter_map(|job| job.due).min());
                    self.now = due;
                }
            }
            self.compare();
        }
        assert!(self.jobs.is_empty());
        if !self.folding {
            assert!(self.entries.iter().all(|entry| entry.life == Life::Ended), "a trigger was lost");
        }
    }
}

/// Does all that, and then lets everything end.
fn play(max_pending: usize, ops: Vec<Op>) -> World {
    let mut world = World::new(max_pending);
    ops.into_iter().for_each(|op| world.apply(op));
    world.settle();
    world
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_state_machine_follows_the_rules(ops in ops()) {
        play(usize::MAX, ops);
    }

    #[test]
    fn folding_loses_no_final_state(ops in ops(), max_pending in 1..6usize) {
        // Without removals: what a removed hook had is dropped on purpose.
        let ops = ops.into_iter().filter(|op| !matches!(op, Op::Replace(_))).collect();
        let world = play(max_pending, ops);
        let mut newest = HashMap::new();
        for (id, entry) in world.entries.iter().enumerate() {
            if let What::Event(object) = entry.what {
                newest.insert((entry.hook.clone(), entry.queue.clone(), entry.binding.clone(), object), id);
            }
        }
        prop_assert_eq!(world.delivered, newest);
    }
}
