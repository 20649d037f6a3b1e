//! Random interleavings of everything that can happen to the queues, compared with a slow and simple model of the
//! rules. The model keeps every trigger in one list, and searches all of it for every question.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod acts;
mod checks;
mod ops;
mod room;

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    num::NonZeroU32,
    sync::Arc,
    time::{Duration, Instant},
};

use proptest::prelude::*;

use ops::{Ending, Op, Push, What, ops};

use super::{testing::*, *};
use crate::{
    fair::{Tenant, may_take},
    model::{
        BindingName, Cause, FailureKind, HookName, Job, JobId, Outcome, QueueName, RateLimit, RetryPolicy, Trigger,
        WatchEventKind,
    },
};

/// Name, concurrency, interval in ms and burst, and whether it combines.
type Hook = (&'static str, usize, Option<(u64, u32)>, bool);

const HOOKS: [Hook; 4] =
    [("plain", 1, None, true), ("wide", 3, None, true), ("two", 2, Some((700, 3)), true), ("single", 1, None, false)];

/// For every hook: name, whether its queue is a shared one, whether it is in the background, and group.
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

/// A trigger as the model keeps it. Its place in the list is its age.
#[derive(Debug, Clone)]
struct Entry {
    hook: HookName,
    queue: QueueName,
    binding: usize,
    what: What,
    allow_failure: bool,
    attempts: Option<u32>,
    tries: u32,
    /// Its number among all triggers.
    place: u64,
    /// The first number that it had.
    born: u64,
    life: Life,
    /// It is in a letter that is kept for others, and belongs to a binding that its hook no longer has.
    unbound: bool,
    /// For an event: the object's `uid`, and whether it is about the object's end.
    uid: Option<Box<str>>,
    deleted: bool,
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

    fn letter(&self) -> Option<u64> {
        match self.life {
            Life::Dead(letter) => Some(letter),
            _ => None,
        }
    }

    fn open(&self) -> bool {
        matches!(self.life, Life::Pending | Life::InJob(_))
    }

    /// The object that a run receives.
    fn object(&self) -> Option<u8> {
        match self.what {
            What::Event(object) if self.group().is_none() => Some(object),
            _ => None,
        }
    }

    fn of(&self, other: &Self) -> bool {
        self.hook == other.hook && self.binding == other.binding
    }

    /// Whether an older `other` is out of date after this was delivered.
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
    /// `None` while it runs.
    due: Option<Instant>,
    hook_removed: bool,
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
    held: BTreeSet<HookName>,
    /// Bindings that will be listed, with the places that are kept.
    expected: BTreeMap<(HookName, usize), Option<u64>>,
    /// Bindings whose snapshots are missing objects.
    incomplete: BTreeSet<(HookName, usize)>,
    /// When jobs of a hook began.
    starts: BTreeMap<HookName, Vec<Instant>>,
    /// How many objects with one name existed before, for each hook and binding.
    generations: BTreeMap<(HookName, usize, u8), usize>,
    /// Deletions that a run received.
    ended: BTreeSet<(HookName, usize, Box<str>)>,
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

fn terms(name: &HookName) -> HookQueueConfig {
    let (_, concurrency, rate, combine) = of_hook(name);
    let rate = rate.map(|(interval, burst)| RateLimit {
        min_interval: Duration::from_millis(interval),
        burst: NonZeroU32::new(burst).unwrap(),
    });
    let background = BINDINGS.iter().filter(|(.., background, _)| *background);
    let in_background = background.map(|(name, ..)| BindingName::new(*name)).collect();
    let tenant = Some(tenant(name));
    HookQueueConfig { concurrency, rate, combine, in_background, tenant, ..HookQueueConfig::default() }
}

/// Two of the hooks share a tenant.
fn tenant(name: &HookName) -> Tenant {
    match name.as_str() {
        "plain" | "wide" => Tenant::namespace("n"),
        alone => Tenant::hook(alone),
    }
}

/// Only texts count: [`room`] has what happens to events without room.
fn new_state(config: QueueConfig) -> State {
    let mut state = State::new(config);
    state.memory.bare = |_| 0;
    state
}

fn binding_name(binding: usize) -> BindingName {
    BindingName::new(BINDINGS[binding].0)
}

impl World {
    fn new(max_pending: usize, max_held_bytes: u64) -> Self {
        let config = QueueConfig {
            max_parallel_runs: MAX_RUNS,
            batch_triggers: BATCH,
            max_pending,
            max_held_bytes,
            ..QueueConfig::default()
        };
        let mut state = new_state(config);
        HOOKS.iter().for_each(|(name, ..)| state.add_hook(hook(name), terms(&hook(name))));
        Self {
            state,
            now: Instant::now(),
            config,
            folding: max_pending < 1_000 || max_held_bytes < 1_000,
            entries: Vec::new(),
            last: 0,
            jobs: BTreeMap::new(),
            paused: BTreeSet::new(),
            held: BTreeSet::new(),
            expected: BTreeMap::new(),
            incomplete: BTreeSet::new(),
            starts: BTreeMap::new(),
            since: HashMap::new(),
            generations: BTreeMap::new(),
            ended: BTreeSet::new(),
        }
    }

    /// If nothing outside holds anything back, runs succeed and time passes, then everything gets its turn.
    fn settle(&mut self) {
        for (name, ..) in HOOKS {
            self.resume(&hook(name));
            self.release(&hook(name));
            for binding in 0..BINDINGS.len() {
                self.listed(&hook(name), binding);
                self.complete(&hook(name), binding);
            }
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
}

/// Applies all operations, and then lets everything end.
fn play(max_pending: usize, max_held_bytes: u64, ops: Vec<Op>) -> World {
    let mut world = World::new(max_pending, max_held_bytes);
    ops.into_iter().for_each(|op| world.apply(op));
    world.settle();
    world
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_state_machine_follows_the_rules(ops in ops()) {
        play(usize::MAX, u64::MAX, ops);
    }

    #[test]
    fn no_final_state_is_lost(
        ops in ops(),
        max_pending in prop_oneof![Just(usize::MAX), 1..6usize],
        max_held in prop_oneof![Just(u64::MAX), 1..40u64],
    ) {
        // What somebody drops is lost on purpose.
        let kept = ops.into_iter().filter(|op| !matches!(op, Op::DropDead(_) | Op::UpdateHook(..))).collect();
        let world = play(max_pending, max_held, kept);
        world.check_final_states();
        world.check_deletions();
    }
}
