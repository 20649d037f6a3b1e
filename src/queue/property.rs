//! Random interleavings of everything that can happen to the queues, against a slow and simple model
//! of the rules. The model keeps every trigger in one list and looks at all of it for every question.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    num::NonZeroU32,
    sync::Arc,
    time::{Duration, Instant},
};

use proptest::{collection::vec, prelude::*};

use super::{testing::*, *};
use crate::model::{
    BindingName, Cause, FailureKind, HookName, Job, JobId, Outcome, QueueName, RateLimit, RetryPolicy, Trigger,
    WatchEventKind,
};

/// Name, concurrency, interval in ms and burst, whether it combines.
type Hook = (&'static str, usize, Option<(u64, u32)>, bool);

const HOOKS: [Hook; 4] =
    [("plain", 1, None, true), ("wide", 3, None, true), ("two", 2, Some((700, 3)), true), ("single", 1, None, false)];

/// Of every hook: name, whether its queue is a shared one, whether it is in the background, group.
const BINDINGS: [(&str, bool, bool, Option<&str>); 6] = [
    ("o", false, false, None),
    ("s", true, false, None),
    ("bg", false, true, None),
    ("g1", false, false, Some("g")),
    ("g2", false, false, Some("g")),
    ("gs", true, true, Some("f")),
];

const MAX_RUNS: usize = 5;
const BATCH: usize = 4;
const ATTEMPTS: u32 = 2;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum What {
    Startup,
    Sync,
    Tick,
    Event(u8),
}

#[derive(Debug, Clone, Copy)]
struct Push {
    hook: usize,
    binding: usize,
    what: What,
    in_main: bool,
    allow_failure: bool,
    bounded: bool,
    deleted: bool,
}

#[derive(Debug, Clone)]
enum Op {
    Push(Push),
    Take,
    Finish(usize, Ending),
    Pass(u64),
    Replace(usize),
    Pause(usize),
    Resume(usize),
    Expect(usize, usize),
    Listed(usize, usize),
    RetryDead(Option<usize>),
    DropDead(usize),
    Restart,
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

fn pushes() -> impl Strategy<Value = Push> {
    let what = prop_oneof![
        1 => Just(What::Startup), 3 => Just(What::Sync), 4 => Just(What::Tick), 30 => (0..4u8).prop_map(What::Event)
    ];
    let flags = (any::<bool>(), prop::bool::weighted(0.2), prop::bool::weighted(0.3), any::<bool>());
    (0..HOOKS.len(), 0..BINDINGS.len(), what, flags).prop_map(
        |(hook, binding, what, (in_main, allow_failure, bounded, deleted))| Push {
            hook,
            binding,
            what,
            in_main,
            allow_failure,
            bounded,
            deleted,
        },
    )
}

fn ops() -> impl Strategy<Value = Vec<Op>> {
    let ending = prop_oneof![
        5 => Just(Ending::Ok),
        4 => Just(Ending::Retry),
        1 => (0..20_000u64).prop_map(Ending::After),
        2 => Just(Ending::Permanent),
        1 => Just(Ending::Interrupted),
        1 => Just(Ending::Host),
    ];
    let (hook, binding) = (0..HOOKS.len(), 0..BINDINGS.len());
    let op = prop_oneof![
        60 => pushes().prop_map(Op::Push),
        48 => Just(Op::Take),
        36 => (0..8usize, ending).prop_map(|(at, ending)| Op::Finish(at, ending)),
        18 => (1..9_000u64).prop_map(Op::Pass),
        2 => hook.clone().prop_map(Op::Replace),
        5 => hook.clone().prop_map(Op::Pause),
        6 => hook.clone().prop_map(Op::Resume),
        4 => (hook.clone(), binding.clone()).prop_map(|(hook, binding)| Op::Expect(hook, binding)),
        6 => (hook.clone(), binding).prop_map(|(hook, binding)| Op::Listed(hook, binding)),
        6 => prop::option::of(hook.clone()).prop_map(Op::RetryDead),
        1 => hook.prop_map(Op::DropDead),
        1 => Just(Op::Restart),
    ];
    vec(op, 1..200)
}

/// A trigger as the model keeps it; its place in the list is its age.
#[derive(Debug, Clone)]
struct Entry {
    hook: HookName,
    queue: QueueName,
    binding: usize,
    what: What,
    allow_failure: bool,
    attempts: Option<u32>,
    tries: u32,
    /// Its number among all.
    place: u64,
    /// The first one that it had.
    born: u64,
    life: Life,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Life {
    Pending,
    InJob(JobId),
    Dead(u64),
    Delivered,
    Dropped,
}

impl Entry {
    fn group(&self) -> Option<&'static str> {
        BINDINGS[self.binding].3
    }

    fn open(&self) -> bool {
        matches!(self.life, Life::Pending | Life::InJob(_))
    }

    /// The object that a run is told of.
    fn object(&self) -> Option<u8> {
        match self.what {
            What::Event(object) if self.group().is_none() => Some(object),
            _ => None,
        }
    }

    fn of(&self, other: &Self) -> bool {
        self.hook == other.hook && self.binding == other.binding
    }

    /// Whether an older `other` would be an old story once this was told.
    fn supersedes(&self, other: &Self) -> bool {
        self.of(other) && other.object().is_some() && (self.what == What::Sync || self.what == other.what)
    }
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
    config: QueueConfig,
    folding: bool,
    entries: Vec<Entry>,
    last: u64,
    jobs: BTreeMap<JobId, ModelJob>,
    paused: BTreeSet<HookName>,
    /// Bindings to be listed, with the places that are kept.
    expected: BTreeMap<(HookName, usize), Option<u64>>,
    /// When jobs of a hook began.
    starts: BTreeMap<HookName, Vec<Instant>>,
    /// Entries before this one were lost in a restart, or went with their hook.
    since: HashMap<HookName, usize>,
}

fn id_of(trigger: &Trigger) -> usize {
    trigger.snapshots[0].as_str().parse().unwrap()
}

fn of_hook(name: &HookName) -> Hook {
    *HOOKS.iter().find(|(known, ..)| *known == name.as_str()).unwrap()
}

fn concurrency(queue: &QueueName) -> usize {
    match queue {
        QueueName::Own(owner) => of_hook(owner).1,
        QueueName::Shared(_) => 1,
    }
}

fn terms(name: &HookName) -> HookTerms {
    let (_, concurrency, rate, combine) = of_hook(name);
    let rate = rate.map(|(interval, burst)| RateLimit {
        min_interval: Duration::from_millis(interval),
        burst: NonZeroU32::new(burst).unwrap(),
    });
    let background = BINDINGS.iter().filter(|(.., background, _)| *background);
    let in_background = background.map(|(name, ..)| BindingName::new(*name)).collect();
    HookTerms { concurrency, rate, combine, in_background }
}

fn binding_name(binding: usize) -> BindingName {
    BindingName::new(BINDINGS[binding].0)
}

impl World {
    fn new(max_pending: usize) -> Self {
        let config =
            QueueConfig { max_parallel_runs: MAX_RUNS, batch_triggers: BATCH, max_pending, ..QueueConfig::default() };
        let mut state = State::new(config);
        HOOKS.iter().for_each(|(name, ..)| state.add_hook(hook(name), terms(&hook(name))));
        Self {
            state,
            now: Instant::now(),
            config,
            folding: max_pending < 1_000,
            entries: Vec::new(),
            last: 0,
            jobs: BTreeMap::new(),
            paused: BTreeSet::new(),
            expected: BTreeMap::new(),
            starts: BTreeMap::new(),
            since: HashMap::new(),
        }
    }

    fn apply(&mut self, op: Op) {
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
            Op::Expect(at, binding) => self.expect(&hook(HOOKS[at].0), binding),
            Op::Listed(at, binding) => self.listed(&hook(HOOKS[at].0), binding),
            Op::RetryDead(at) => self.retry_dead(at.map(|at| hook(HOOKS[at].0))),
            Op::DropDead(at) => self.drop_dead(&hook(HOOKS[at].0)),
            Op::Restart => self.restart(),
        }
        self.compare();
    }

    fn push(&mut self, push: Push) {
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
        let cause = match push.what {
            What::Startup => Cause::Startup,
            What::Sync => Cause::Synchronization,
            What::Tick => tick(id as u64),
            What::Event(object) => event_of(kind, &object.to_string(), id as u64),
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
        });
    }

    fn number(&mut self, name: &HookName, binding: usize, what: What) -> u64 {
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

    fn expect(&mut self, name: &HookName, binding: usize) {
        self.state.expect_list(name, binding_name(binding));
        self.last += 1;
        let place = (!BINDINGS[binding].2).then_some(self.last);
        let kept = self.expected.entry((name.clone(), binding)).or_default();
        *kept = kept.or(place);
    }

    fn listed(&mut self, name: &HookName, binding: usize) {
        self.state.listed(name, &binding_name(binding));
        self.expected.remove(&(name.clone(), binding));
    }

    fn resume(&mut self, name: &HookName) {
        assert!(self.state.resume(name));
        self.paused.remove(name);
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

    /// Whether a job of the hook may begin, by a bucket that is filled anew for every question.
    fn has_token(&self, name: &HookName) -> bool {
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

    fn check_job(&mut self, job: &Job) {
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
        assert!(!self.paused.contains(&job.hook), "{} is paused", job.hook);
        assert!(self.has_token(&job.hook), "{} has no token", job.hook);
        self.starts.entry(job.hook.clone()).or_default().push(self.now);
        self.check_told(job, &ids);
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
        let orphan = false;
        let (hook, queue) = (job.hook.clone(), job.queue.clone());
        self.jobs.insert(job.id, ModelJob { hook, queue, ids, attempt: job.attempt, due: None, orphan });
        assert!(self.running() <= MAX_RUNS);
    }

    /// Of neighbours of one group, the last.
    fn check_told(&self, job: &Job, ids: &[usize]) {
        let group = |id: usize| Some(&self.entries[id]).filter(|entry| entry.what != What::Startup)?.group();
        let mut told: Vec<usize> = Vec::new();
        for id in ids {
            if told.last().is_some_and(|last| group(*last).is_some() && group(*last) == group(*id)) {
                told.pop();
            }
            told.push(*id);
        }
        assert_eq!(job.triggers.iter().map(id_of).collect::<Vec<_>>(), told);
    }

    /// Nothing newer of the object was told before, unless it is in this very job.
    fn check_news(&self, id: usize, ids: &[usize]) {
        let entry = &self.entries[id];
        for (newer, other) in self.entries.iter().enumerate().skip(id + 1) {
            let told = !matches!(other.life, Life::Pending | Life::Dropped);
            let same = other.of(entry) && other.what == entry.what && entry.object().is_some();
            assert!(!same || !told || ids.contains(&newer), "{id} was told after {newer}");
        }
    }

    /// Whether something earlier closes the trigger's gate. `ids` are in its job.
    fn gated(&self, id: usize, ids: &[usize]) -> bool {
        let entry = &self.entries[id];
        let waits = matches!(entry.what, What::Tick | What::Event(_));
        let snapshot = entry.what == What::Sync && self.expected.contains_key(&(entry.hook.clone(), entry.binding));
        let place = |(hook, _): &(HookName, usize), place: &Option<u64>| {
            *hook == entry.hook && place.is_some_and(|place| place < entry.place)
        };
        snapshot
            || (waits && self.expected.iter().any(|(key, kept)| place(key, kept)))
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

    /// By number.
    fn pending(&self, queue: &QueueName) -> Vec<usize> {
        let here = |entry: &Entry| entry.life == Life::Pending && entry.queue == *queue;
        let mut ids: Vec<_> = (0..self.entries.len()).filter(|id| here(&self.entries[*id])).collect();
        ids.sort_by_key(|id| self.entries[*id].place);
        ids
    }

    /// Those that a paused hook does not take out of the way.
    fn pending_unpaused(&self, queue: &QueueName) -> Vec<usize> {
        let pending = self.pending(queue);
        pending.into_iter().filter(|id| !self.paused.contains(&self.entries[*id].hook)).collect()
    }

    fn jobs_of<'a>(&'a self, queue: &'a QueueName) -> impl Iterator<Item = (&'a JobId, &'a ModelJob)> {
        self.jobs.iter().filter(move |(_, job)| job.queue == *queue)
    }

    fn check_serial(&self, job: &Job, fresh: &[usize]) {
        let expected: Vec<usize> = self.pending_unpaused(&job.queue).into_iter().take(fresh.len()).collect();
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

    /// One job in a plain line, no object in two jobs of one queue; waiting jobs count.
    fn check_exclusive(&self, job: &Job, ids: &[usize], new: bool) {
        let others: Vec<_> =
            self.jobs_of(&job.queue).filter(|(id, _)| **id != job.id).map(|(_, other)| other).collect();
        let running = others.iter().filter(|other| other.due.is_none()).count();
        assert!(running < concurrency(&job.queue), "too many jobs in {}", job.queue);
        if concurrency(&job.queue) == 1 && new {
            assert!(others.iter().all(|other| self.paused.contains(&other.hook)), "{} ran past a job", job.queue);
        }
        if concurrency(&job.queue) > 1 {
            let objects: BTreeSet<u8> = ids.iter().filter_map(|id| self.entries[*id].object()).collect();
            for other in others.iter().flat_map(|other| &other.ids).filter_map(|id| self.entries[*id].object()) {
                assert!(!objects.contains(&other), "object {other} in two jobs");
            }
        }
    }

    fn check_nothing_can_run(&self) {
        let queues: BTreeSet<_> = self.entries.iter().map(|entry| entry.queue.clone()).collect();
        for queue in queues {
            let jobs: Vec<_> = self.jobs_of(&queue).map(|(_, job)| job).collect();
            if jobs.iter().filter(|job| job.due.is_none()).count() >= concurrency(&queue) {
                continue;
            }
            let waiting: Vec<_> = jobs.iter().filter(|job| !self.paused.contains(&job.hook)).collect();
            let is_due = |job: &ModelJob| job.due.is_some_and(|due| due <= self.now);
            // A job that others passed waits behind the one that has the line.
            let may = |job: &ModelJob| is_due(job) && self.has_token(&job.hook);
            let held_back = waiting.iter().filter(|job| may(job)).count();
            assert!(held_back == 0 || concurrency(&queue) == 1 && waiting.len() > 1, "{queue} holds a due job back");
            let pending = self.pending_unpaused(&queue);
            let next = if concurrency(&queue) == 1 || jobs.is_empty() {
                pending.into_iter().next().filter(|_| waiting.is_empty())
            } else {
                let object = |id: &usize| self.entries[*id].object();
                let taken: BTreeSet<_> = jobs.iter().flat_map(|job| &job.ids).map(object).collect();
                let in_front = pending.into_iter().take_while(|id| object(id).is_some());
                // A due job that lacks a token is asked before all others, which lack it too.
                in_front.into_iter().find(|id| !taken.contains(&object(id)) && !taken.contains(&None))
            };
            let next = next.filter(|id| self.has_token(&self.entries[*id].hook));
            assert!(next.is_none_or(|id| self.gated(id, &[])), "{queue} holds {next:?} back");
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
        let mut job = self.jobs.remove(&id).unwrap();
        assert_eq!((finished.triggers, finished.attempt), (job.ids.len(), job.attempt));
        assert!(finished.lost.is_empty());
        if job.orphan {
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
                job.due = Some(self.now);
                self.jobs.insert(id, job);
            }
            Verdict::Removed => panic!("the hook was not removed"),
        }
    }

    fn retry_dead(&mut self, name: Option<HookName>) {
        let chosen = |entry: &Entry| name.as_ref().is_none_or(|name| *name == entry.hook);
        let letter = |entry: &Entry| match entry.life {
            Life::Dead(letter) => Some(letter).filter(|_| chosen(entry)),
            _ => None,
        };
        let mut expected = Retried::default();
        let mut letters = BTreeSet::new();
        let (mut again, mut over) = (Vec::new(), Vec::new());
        for (id, entry) in self.entries.iter().enumerate() {
            let Some(of) = letter(entry) else { continue };
            letters.insert(of);
            let newer = self.entries.iter().filter(|newer| newer.born > entry.born && newer.life != Life::Dead(of));
            let mut known = newer.filter(|newer| newer.supersedes(entry));
            if known.next().is_some() { over.push(id) } else { again.push(id) }
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

    fn drop_dead(&mut self, name: &HookName) {
        let of_hook = |entry: &&mut Entry| entry.hook == *name && matches!(entry.life, Life::Dead(_));
        self.entries.iter_mut().filter(of_hook).for_each(|entry| entry.life = Life::Dropped);
        self.state.drop_dead(&Letters::Hook(name.clone()));
    }

    fn replace(&mut self, name: &str) {
        let name = hook(name);
        self.state.remove_hook(&name);
        self.state.add_hook(name.clone(), terms(&name));
        self.forget(&name);
        self.jobs.retain(|_, job| job.hook != name || job.due.is_none());
        self.jobs.values_mut().filter(|job| job.hook == name).for_each(|job| job.orphan = true);
    }

    fn forget(&mut self, name: &HookName) {
        let of_hook = self.entries.iter_mut().filter(|entry| entry.hook == *name);
        of_hook.for_each(|entry| entry.life = Life::Dropped);
        self.since.insert(name.clone(), self.entries.len());
        self.paused.remove(name);
        self.starts.remove(name);
        self.expected.retain(|(hook, _), _| hook != name);
    }

    /// All is lost, and every binding tells of all its objects.
    fn restart(&mut self) {
        self.state = State::new(self.config);
        self.jobs.clear();
        for (at, (name, ..)) in HOOKS.iter().enumerate() {
            self.forget(&hook(name));
            self.state.add_hook(hook(name), terms(&hook(name)));
            for binding in 0..BINDINGS.len() {
                self.expect(&hook(name), binding);
            }
            for binding in 0..BINDINGS.len() {
                let what = What::Sync;
                let (in_main, allow_failure, bounded, deleted) = (false, false, false, false);
                self.push(Push { hook: at, binding, what, in_main, allow_failure, bounded, deleted });
                self.listed(&hook(name), binding);
            }
        }
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
                // All hooks may share it: each binding has four objects and three other causes.
                assert!(first_runs <= HOOKS.len() * BINDINGS.len() * 7, "{queue:?}");
            } else {
                assert_eq!(first_runs, self.pending(&queue.queue).len(), "{queue:?}");
            }
        }
        let letters: BTreeSet<_> = self.state.dead_letters().iter().map(|letter| letter.id).collect();
        let dead = self.entries.iter().filter_map(|entry| match entry.life {
            Life::Dead(letter) => Some(letter),
            _ => None,
        });
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

    /// With nothing held back from outside, runs that succeed, and time that passes, everything gets
    /// its turn.
    fn settle(&mut self) {
        for (name, ..) in HOOKS {
            self.resume(&hook(name));
            (0..BINDINGS.len()).for_each(|binding| self.listed(&hook(name), binding));
        }
        self.run_all();
        self.retry_dead(None);
        self.run_all();
        assert!(self.jobs.is_empty());
        if !self.folding {
            let ended = |entry: &Entry| matches!(entry.life, Life::Delivered | Life::Dropped);
            assert!(self.entries.iter().all(ended), "a trigger was lost");
        }
    }

    fn run_all(&mut self) {
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

    /// The newest state of every object was told, and not only to be given up.
    fn check_final_states(&self) {
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
            let told =
                entry.life == Life::Delivered || entry.life == Life::Dropped && self.entries.iter().any(synchronised);
            assert!(told, "the final state {id} is {:?}", entry.life);
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
    #![proptest_config(ProptestConfig { cases: 128, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_state_machine_follows_the_rules(ops in ops()) {
        play(usize::MAX, ops);
    }

    #[test]
    fn no_final_state_is_lost(ops in ops(), max_pending in prop_oneof![Just(usize::MAX), 1..6usize]) {
        // What somebody drops is lost on purpose.
        let kept = ops.into_iter().filter(|op| !matches!(op, Op::DropDead(_))).collect();
        play(max_pending, kept).check_final_states();
    }
}
