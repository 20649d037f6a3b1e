//! The state of the queues at one moment: figures for metrics and readiness, and what waits where, and for what, for
//! people who ask why nothing happens. No decision depends on it.

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
    time::{Duration, Instant},
};

use crate::model::{BindingName, Cause, HookName, ObjectKey, QueueName, Trigger, WatchEventKind};

use super::{
    State,
    debounce::Debounce,
    item::{Batch, Batches, Item, LineId, Phase},
    line::Line,
    preconditions::{Hold, Hook, Hooks},
};

/// All queues and hooks, sorted by name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Stats {
    /// Every queue that has a trigger, or had one since a hook was last removed or replaced.
    pub queues: Vec<QueueStats>,
    /// Every hook that was added.
    pub hooks: Vec<HookStats>,
    /// Jobs that run.
    pub running: usize,
    /// Dead letters that are kept.
    pub dead_letters: usize,
    /// The bytes of the dead letters.
    pub dead_letter_bytes: usize,
}

/// The state of one queue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueueStats {
    pub queue: QueueName,
    /// Triggers that wait for their first run or for the next try.
    pub length: usize,
    /// Bytes of objects and filter results of these triggers.
    pub bytes: usize,
    /// The age of the oldest trigger that is not done, including running ones.
    pub oldest: Option<Duration>,
    /// Jobs that run.
    pub running: usize,
    /// Jobs that failed and wait for their next try.
    pub retrying: usize,
    /// Triggers that were folded into others since the queue exists, because it was over its bound or a tenant had no
    /// room.
    pub folded: u64,
    /// Triggers that the queue accepted beyond its bound, or without room for their texts, since it exists.
    pub beyond: u64,
}

/// The state of one hook.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HookStats {
    pub hook: HookName,
    /// It has no trigger that waits or runs.
    pub idle: bool,
    /// Triggers that are not done.
    pub outstanding: usize,
    /// Jobs that run.
    pub running: usize,
    /// Its start-up is not done.
    pub starting: bool,
    /// Bindings whose synchronization was pushed and is not done, and that the hook waits for. Sorted.
    pub unsynchronised: Vec<BindingName>,
    /// The same for bindings with `waitForSynchronization: false`: only their own events wait.
    pub unsynchronised_in_background: Vec<BindingName>,
    /// Nothing of it starts until it, or its module, is resumed.
    pub paused: bool,
    /// Nothing of it starts until its next version has taken over.
    pub held: bool,
}

impl HookStats {
    /// Whether its start-up and all synchronizations that it waits for are done, as far as they were pushed.
    pub fn synchronised(&self) -> bool {
        !self.starting && self.unsynchronised.is_empty()
    }
}

pub(super) fn hooks(hooks: &Hooks, debounce: &Debounce) -> Vec<HookStats> {
    let sorted: BTreeMap<_, _> = hooks.iter().collect();
    sorted.into_iter().map(|(name, hook)| hook_stats(name, hook, debounce.count(name))).collect()
}

/// `debounced` events wait for their object to be quiet.
fn hook_stats(name: &HookName, hook: &Hook, debounced: usize) -> HookStats {
    let (unsynchronised, unsynchronised_in_background) = hook.unsynchronised();
    HookStats {
        hook: name.clone(),
        idle: hook.outstanding + debounced == 0,
        outstanding: hook.outstanding + debounced,
        running: hook.running,
        starting: hook.starting(),
        unsynchronised,
        unsynchronised_in_background,
        paused: hook.is_paused(),
        held: hook.held,
    }
}

pub(super) fn queues(lines: &HashMap<LineId, Line>, batches: &Batches, now: Instant) -> Vec<QueueStats> {
    let mut by_line: HashMap<LineId, Vec<&Batch>> = HashMap::new();
    for batch in batches.values() {
        by_line.entry(batch.line).or_default().push(batch);
    }
    let none = Vec::new();
    let mut stats: Vec<_> = lines.iter().map(|(id, line)| queue(line, by_line.get(id).unwrap_or(&none), now)).collect();
    stats.sort_by(|a, b| a.queue.cmp(&b.queue));
    stats
}

fn queue(line: &Line, batches: &[&Batch], now: Instant) -> QueueStats {
    let (running, retrying): (Vec<&Batch>, Vec<&Batch>) = batches.iter().partition(|batch| batch.is_running());
    let firsts = batches.iter().filter_map(|batch| batch.items.first()).chain(line.oldest());
    let oldest = firsts.map(|item: &Item| item.trigger.created).min();
    QueueStats {
        queue: line.name.clone(),
        length: line.length + retrying.iter().map(|batch| batch.items.len()).sum::<usize>(),
        bytes: line.bytes + retrying.iter().map(|batch| batch.bytes).sum::<usize>(),
        oldest: oldest.map(|created| now.saturating_duration_since(created)),
        running: running.len(),
        retrying: retrying.len(),
        folded: line.folded,
        beyond: line.beyond,
    }
}

/// One queue that has a trigger, or had one since a hook was last removed or replaced.
#[derive(Debug, Clone, PartialEq)]
pub struct QueueDump {
    pub queue: QueueName,
    /// What the queue is doing, or what the next job waits for.
    pub state: QueueState,
    /// The number of its triggers: running, waiting for the next try, waiting for their first run, and waiting until
    /// their object is quiet.
    pub total: usize,
    /// The first of these triggers: those of jobs, then those that wait, by number, then those whose object is not quiet.
    pub triggers: Vec<TriggerDump>,
}

/// What a queue is doing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum QueueState {
    /// It has no triggers.
    Empty,
    /// All its triggers wait until their object is quiet, the first one for this long.
    Debounced(Duration),
    /// A job runs.
    Running,
    /// A job begins when fewer jobs run in all queues together.
    Ready,
    /// The next trigger waits for its hook's start-up.
    WaitingForStartup,
    /// The next trigger waits for the synchronization of this binding of its hook.
    WaitingForSynchronization(BindingName),
    /// The next trigger waits until the objects of this binding of its hook were listed.
    WaitingForList(BindingName),
    /// The next trigger or job waits until the snapshot of this binding of its hook has all objects again.
    WaitingForSnapshot(HookName, BindingName),
    /// The next job waits this long for a token of its hook's rate limit.
    WaitingForToken(Duration),
    /// A failed job waits this long for its next try.
    Retry(Duration),
    /// All its triggers belong to paused hooks.
    Paused,
    /// All its triggers belong to hooks from which nothing starts, at least one because its next version takes over.
    Held,
    /// This replica is a standby: nothing starts until it leads.
    Standby,
}

/// One trigger.
#[derive(Debug, Clone, PartialEq)]
pub struct TriggerDump {
    pub hook: HookName,
    pub binding: BindingName,
    /// `startup`, `schedule`, `synchronization`, `added`, `modified`, `deleted`.
    pub cause: &'static str,
    pub group: Option<Arc<str>>,
    /// The kind of the object, and its namespace and name.
    pub object: Option<(String, ObjectKey)>,
    /// The time since it was created.
    pub age: Duration,
    /// It is in a job that runs.
    pub running: bool,
    /// The hook's failed runs that it was part of.
    pub attempts: u32,
    /// The error of the last failed run of its job.
    pub failure: Option<Arc<str>>,
}

impl State {
    /// All queues, sorted by name, each with its first `most` triggers. O(queues + jobs + events that wait until their
    /// object is quiet), plus what is shown.
    pub fn dump(&self, now: Instant, most: usize) -> Vec<QueueDump> {
        let mut jobs: HashMap<LineId, Vec<&Batch>> = HashMap::new();
        for batch in self.batches.values() {
            jobs.entry(batch.line).or_default().push(batch);
        }
        let mut debounced: BTreeMap<&QueueName, Vec<(Instant, &Item)>> = BTreeMap::new();
        for waiting in self.debounce.waiting() {
            debounced.entry(&waiting.1.trigger.queue).or_default().push(waiting);
        }
        let dump = |(id, line): (&LineId, &Line)| {
            let mut dump = self.dump_line(line, jobs.remove(id).unwrap_or_default(), now, most);
            add_debounced(&mut dump, debounced.remove(&line.name).unwrap_or_default(), now, most);
            dump
        };
        let mut dumps: Vec<_> = self.lines.iter().map(dump).collect();
        // A queue whose first trigger still waits has no line.
        dumps.extend(debounced.into_iter().map(|(queue, items)| {
            let (queue, state) = (queue.clone(), QueueState::Empty);
            let mut dump = QueueDump { queue, state, total: 0, triggers: Vec::new() };
            add_debounced(&mut dump, items, now, most);
            dump
        }));
        dumps.sort_by(|a, b| a.queue.cmp(&b.queue));
        dumps
    }

    fn dump_line(&self, line: &Line, mut jobs: Vec<&Batch>, now: Instant, most: usize) -> QueueDump {
        jobs.sort_by_key(|batch| (!batch.is_running(), batch.items.first().map(|item| item.seq)));
        let in_jobs = jobs.iter().flat_map(|batch| batch.items.iter().map(|item| dump_trigger(item, Some(batch), now)));
        let mut triggers: Vec<_> = in_jobs.take(most).collect();
        let mut waiting: Vec<_> = line.items().take(most - triggers.len()).collect();
        waiting.sort_by_key(|item| item.seq);
        triggers.extend(waiting.into_iter().map(|item| dump_trigger(item, None, now)));
        QueueDump {
            queue: line.name.clone(),
            state: self.doing(line, &jobs, now),
            total: line.length + jobs.iter().map(|batch| batch.items.len()).sum::<usize>(),
            triggers,
        }
    }

    pub(super) fn doing(&self, line: &Line, jobs: &[&Batch], now: Instant) -> QueueState {
        if jobs.iter().any(|batch| batch.is_running()) {
            return QueueState::Running;
        }
        if self.standby && !line.is_empty() {
            return QueueState::Standby;
        }
        let stands_still = |hook: &HookName| self.hooks.get(hook).is_some_and(Hook::stands_still);
        let retries = jobs.iter().filter(|batch| !stands_still(&batch.hook)).map(|batch| match batch.phase {
            Phase::Waiting { due } => (due, &batch.hook),
            Phase::Running { .. } | Phase::Due => (now, &batch.hook),
        });
        if let Some((due, hook)) = retries.min_by_key(|(due, _)| *due) {
            let delay = due.saturating_duration_since(now);
            if !delay.is_zero() {
                return QueueState::Retry(delay);
            }
            let items = jobs.iter().filter(|batch| batch.hook == *hook).flat_map(|batch| &batch.items);
            let lacks = self.hooks.get(hook).and_then(|hook| hook.lacks(items));
            return lacks.map_or_else(|| self.waits_for_token(hook, now), |hold| QueueState::of(hold, hook));
        }
        let firsts = || line.next().into_iter().chain(line.aside());
        if let Some(item) = firsts().find(|item| !stands_still(&item.trigger.hook)) {
            return self.waits_for(item, now);
        }
        if line.is_empty() {
            return QueueState::Empty;
        }
        let mut hooks = jobs.iter().map(|batch| &batch.hook).chain(firsts().map(|item| &item.trigger.hook));
        let only_held = |hook: &HookName| self.hooks.get(hook).is_some_and(|hook| hook.held && !hook.is_paused());
        if hooks.any(only_held) { QueueState::Held } else { QueueState::Paused }
    }

    fn waits_for(&self, item: &Item, now: Instant) -> QueueState {
        let name = &item.trigger.hook;
        match self.hooks.get(name).and_then(|hook| hook.hold(item, &[])) {
            Some(hold) => QueueState::of(hold, name),
            None => self.waits_for_token(name, now),
        }
    }

    fn waits_for_token(&self, hook: &HookName, now: Instant) -> QueueState {
        let due = self.hooks.get(hook).and_then(|hook| hook.token_due(now));
        due.map_or(QueueState::Ready, |due| QueueState::WaitingForToken(due.saturating_duration_since(now)))
    }
}

/// Adds events that wait until their object is quiet.
fn add_debounced(dump: &mut QueueDump, mut items: Vec<(Instant, &Item)>, now: Instant, most: usize) {
    items.sort_by_key(|(due, item)| (*due, item.seq));
    if let (QueueState::Empty, Some((due, _))) = (&dump.state, items.first()) {
        dump.state = QueueState::Debounced(due.saturating_duration_since(now));
    }
    dump.total += items.len();
    let room = most.saturating_sub(dump.triggers.len());
    dump.triggers.extend(items.into_iter().take(room).map(|(_, item)| dump_trigger(item, None, now)));
}

impl QueueState {
    pub(super) fn of(hold: Hold<'_>, hook: &HookName) -> Self {
        match hold {
            Hold::Startup => Self::WaitingForStartup,
            Hold::Synchronization(binding) => Self::WaitingForSynchronization(binding.clone()),
            Hold::List(binding) => Self::WaitingForList(binding.clone()),
            Hold::Snapshot(binding) => Self::WaitingForSnapshot(hook.clone(), binding.clone()),
        }
    }
}

fn dump_trigger(item: &Item, job: Option<&Batch>, now: Instant) -> TriggerDump {
    let trigger = &item.trigger;
    TriggerDump {
        hook: trigger.hook.clone(),
        binding: trigger.binding.clone(),
        cause: cause(trigger),
        group: trigger.group.clone(),
        object: match &trigger.cause {
            Cause::Event(event) => Some((event.resource.kind.clone(), event.item.key.clone())),
            Cause::Startup | Cause::Schedule(_) | Cause::Synchronization => None,
        },
        age: now.saturating_duration_since(trigger.created),
        running: job.is_some_and(Batch::is_running),
        attempts: item.tries,
        failure: job.and_then(|batch| batch.failure.clone()),
    }
}

pub(super) fn cause(trigger: &Trigger) -> &'static str {
    match &trigger.cause {
        Cause::Startup => "startup",
        Cause::Schedule(_) => "schedule",
        Cause::Synchronization => "synchronization",
        Cause::Event(event) => match event.kind {
            WatchEventKind::Added => "added",
            WatchEventKind::Modified => "modified",
            WatchEventKind::Deleted => "deleted",
        },
    }
}
