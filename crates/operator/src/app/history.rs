//! Remembers the last runs of each hook, and failed runs for longer. It is bounded in number and in bytes, and it does
//! not survive a restart.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, HashMap, VecDeque},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use boathook_core::model::{
    BindingName, BindingRef, Cause, Failure, HookName, HookSpec, Job, ObjectKey, QueueName, Resource, RunId, Trigger,
    WatchEventKind,
};
use boathook_sandbox::RunReport;
use jiff::Timestamp;

use super::{RunEnded, ms};
use crate::admin::bill::Used;
use crate::admin::views::{AnswerView, LastRun, RunCounts, RunOutcome, RunResult, RunView, TriggerView};

/// The number of runs of a hook that are remembered. As many failed runs and as many answers are remembered, too.
const RUNS: usize = 20;
/// The bytes of messages and back-traces that are remembered in each of these lists.
const BYTES: usize = 256 * 1024;
/// The number of a run's triggers that are remembered.
const TRIGGERS: usize = 8;
/// The number of bytes of a back-trace that are remembered.
const BACKTRACE: usize = 16 * 1024;

/// Shown as the queue of answers.
const ANSWERS: &str = "webhook";

/// A run that has not ended.
pub(super) struct Begun {
    run: RunId,
    hook: HookName,
    /// `None` for an answer to the API server, which waits in no queue.
    queue: Option<QueueName>,
    attempt: u32,
    triggers: usize,
    first: Vec<Why>,
    started: Timestamp,
    answer: Option<AnswerView>,
}

/// What is remembered of a trigger. It contains no object, because that would stay in memory.
struct Why {
    binding: BindingName,
    cause: &'static str,
    group: Option<Arc<str>>,
    object: Option<(Arc<Resource>, ObjectKey)>,
}

struct Ended {
    begun: Begun,
    duration_ms: f64,
    memory_peak: u64,
    host_calls: u64,
    outcome: RunOutcome,
}

#[derive(Default)]
struct OfHook {
    total: u64,
    failed: u64,
    used: Used,
    /// Oldest first. A failed run is in both lists.
    last: VecDeque<Arc<Ended>>,
    last_failed: VecDeque<Arc<Ended>>,
    /// Answers to the API server are separate, because there may be many in a second.
    last_answers: VecDeque<Arc<Ended>>,
}

/// The last runs of all hooks. A quarantined hook keeps its runs, because they may show the reason.
#[derive(Default)]
pub struct History {
    hooks: Mutex<BTreeMap<HookName, OfHook>>,
    listener: Option<RunEnded>,
    since: Timestamp,
}

fn cause(cause: &Cause) -> &'static str {
    match cause {
        Cause::Startup => "Startup",
        Cause::Schedule(_) => "Schedule",
        Cause::Synchronization => "Synchronization",
        Cause::Event(event) => match event.kind {
            WatchEventKind::Added => "Added",
            WatchEventKind::Modified => "Modified",
            WatchEventKind::Deleted => "Deleted",
        },
    }
}

impl Begun {
    /// A run that begins now.
    pub fn now(run: &RunId, job: &Job) -> Self {
        Self {
            run: run.clone(),
            hook: job.hook.clone(),
            queue: Some(job.queue.clone()),
            attempt: job.attempt,
            triggers: job.triggers.len(),
            first: job.triggers.iter().take(TRIGGERS).map(why).collect(),
            started: Timestamp::now(),
            answer: None,
        }
    }

    /// An answer to the API server, which waits in no queue. `kind` is one word.
    pub fn answer(run: &RunId, hook: &HookName, binding: &BindingName, kind: &'static str) -> Self {
        Self {
            run: run.clone(),
            hook: hook.clone(),
            queue: None,
            attempt: 1,
            triggers: 1,
            first: vec![Why { binding: binding.clone(), cause: kind, group: None, object: None }],
            started: Timestamp::now(),
            answer: None,
        }
    }

    /// Adds the question and the answer.
    pub fn with_answer(self, answer: Option<AnswerView>) -> Self {
        Self { answer, ..self }
    }
}

/// The first triggers, as shown to admins.
pub(super) fn first(triggers: &[Trigger]) -> Vec<TriggerView> {
    triggers.iter().take(TRIGGERS).map(|trigger| view_of(&why(trigger))).collect()
}

fn why(trigger: &Trigger) -> Why {
    let object = match &trigger.cause {
        Cause::Event(event) => Some((event.resource.clone(), event.item.key.clone())),
        _ => None,
    };
    Why { binding: trigger.binding.clone(), cause: cause(&trigger.cause), group: trigger.group.clone(), object }
}

impl History {
    /// Creates an empty history. The listener receives each run.
    pub fn new(listener: Option<RunEnded>) -> Self {
        Self { listener, since: Timestamp::now(), ..Self::default() }
    }

    fn hooks(&self) -> MutexGuard<'_, BTreeMap<HookName, OfHook>> {
        self.hooks.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether a listener receives each run.
    pub(super) fn listens(&self) -> bool {
        self.listener.is_some()
    }

    /// Remembers a run that ended.
    pub(super) fn ended<T>(&self, begun: Begun, report: &RunReport<T>, allow_failure: bool) {
        let ended = Ended {
            duration_ms: ms(report.duration),
            memory_peak: report.memory_peak,
            host_calls: report.host_calls,
            outcome: outcome(report.outcome.as_ref().err(), allow_failure),
            begun,
        };
        if let Some(listener) = &self.listener {
            listener(&view(&ended));
        }
        let mut hooks = self.hooks();
        let of_hook = hooks.entry(ended.begun.hook.clone()).or_default();
        of_hook.used.cpu_ms += ms(report.cpu);
        of_hook.used.duration_ms += ended.duration_ms;
        of_hook.used.memory_peak_bytes = of_hook.used.memory_peak_bytes.max(ended.memory_peak);
        of_hook.used.host_calls += ended.host_calls;
        of_hook.remember(Arc::new(ended));
    }

    /// Since when runs are counted.
    pub fn since(&self) -> String {
        stamp(self.since)
    }

    /// What the runs of a hook used.
    pub(super) fn used(&self, hook: &HookName) -> Used {
        let hooks = self.hooks();
        let used = |known: &OfHook| Used { runs: known.total, failed: known.failed, ..known.used };
        hooks.get(hook).map(used).unwrap_or_default()
    }

    /// Forgets a hook that was removed.
    pub fn forget(&self, hook: &HookName) {
        self.hooks().remove(hook);
    }

    /// Counts the runs of a hook.
    pub fn counts(&self, hook: &str) -> RunCounts {
        let hooks = self.hooks();
        // A file that cannot be loaded may have any name, and has no runs.
        let Some(known) = HookName::new(hook).ok().and_then(|name| hooks.get(&name)) else {
            return RunCounts::default();
        };
        RunCounts { total: known.total, failed: known.failed, last: known.newest().map(last) }
    }

    /// Returns the last runs, newest first and at most `most`: of one hook or of all, and all runs or only those that failed.
    pub fn runs(&self, hook: Option<&str>, failed: bool, most: usize) -> Vec<RunView> {
        let hooks = self.hooks();
        let wanted = hooks.iter().filter(|(name, _)| hook.is_none_or(|hook| name.as_str() == hook));
        let of = |known: &OfHook| -> Vec<Arc<Ended>> {
            let shown =
                if failed { [Some(&known.last_failed), None] } else { [Some(&known.last), Some(&known.last_answers)] };
            shown.into_iter().flatten().flatten().cloned().collect()
        };
        let mut runs: Vec<Arc<Ended>> = wanted.flat_map(|(_, known)| of(known)).collect();
        drop(hooks);
        runs.sort_by_key(|run| Reverse(run.begun.started));
        runs.iter().take(most).map(|run| view(run)).collect()
    }
}

impl OfHook {
    fn newest(&self) -> Option<&Ended> {
        let newest = [self.last.back(), self.last_answers.back()];
        newest.into_iter().flatten().max_by_key(|run| run.begun.started).map(AsRef::as_ref)
    }

    fn remember(&mut self, ended: Arc<Ended>) {
        self.total += 1;
        if ended.outcome.result != RunResult::Succeeded {
            self.failed += 1;
            push(&mut self.last_failed, ended.clone());
        }
        let answer = ended.begun.queue.is_none();
        push(if answer { &mut self.last_answers } else { &mut self.last }, ended);
    }
}

fn push(ring: &mut VecDeque<Arc<Ended>>, ended: Arc<Ended>) {
    ring.push_back(ended);
    // The newest run stays, whatever its size.
    while ring.len() > RUNS || (ring.len() > 1 && ring.iter().map(|run| size(run)).sum::<usize>() > BYTES) {
        ring.pop_front();
    }
}

fn size(run: &Ended) -> usize {
    let length = |text: &Option<String>| text.as_ref().map_or(0, String::len);
    length(&run.outcome.message) + length(&run.outcome.backtrace)
}

fn outcome(failure: Option<&Failure>, allow_failure: bool) -> RunOutcome {
    let Some(failure) = failure else {
        return RunOutcome { result: RunResult::Succeeded, kind: None, message: None, backtrace: None };
    };
    let result = if allow_failure { RunResult::AllowedFailure } else { RunResult::Failed };
    let shortened = |text: &String| text.get(..text.floor_char_boundary(BACKTRACE)).unwrap_or_default().to_owned();
    RunOutcome {
        result,
        kind: Some(failure.kind.label().to_owned()),
        message: Some(shortened(&failure.message)),
        backtrace: failure.backtrace.as_ref().map(shortened),
    }
}

fn last(run: &Ended) -> LastRun {
    LastRun {
        id: run.begun.run.to_string(),
        started: stamp(run.begun.started),
        duration_ms: run.duration_ms,
        result: run.outcome.result,
    }
}

/// RFC 3339, with milliseconds.
pub(super) fn stamp(time: Timestamp) -> String {
    format!("{time:.3}")
}

fn view(run: &Ended) -> RunView {
    let begun = &run.begun;
    RunView {
        id: begun.run.to_string(),
        hook: begun.hook.to_string(),
        queue: begun.queue.as_ref().map_or_else(|| ANSWERS.to_owned(), QueueName::to_string),
        attempt: begun.attempt,
        triggers_count: begun.triggers,
        triggers: begun.first.iter().map(view_of).collect(),
        started: stamp(begun.started),
        duration_ms: run.duration_ms,
        memory_peak_bytes: run.memory_peak,
        host_calls: run.host_calls,
        outcome: run.outcome.clone(),
        answer: begun.answer.clone(),
    }
}

fn view_of(why: &Why) -> TriggerView {
    TriggerView {
        binding: why.binding.to_string(),
        cause: why.cause.to_owned(),
        group: why.group.as_deref().map(str::to_owned),
        kind: why.object.as_ref().map(|(resource, _)| resource.kind.clone()),
        object: why.object.as_ref().map(|(_, key)| key.to_string()),
    }
}

type Kept = HashMap<HookName, Vec<Trigger>>;

/// The triggers of each hook's last run, for authors who want to run them again with other code. It keeps one run of
/// each hook, and only if the operator is configured to do so.
#[derive(Default)]
pub(super) struct LastRuns(Option<Mutex<Kept>>);

impl LastRuns {
    pub fn new(keep: bool) -> Self {
        Self(keep.then(Mutex::default))
    }

    fn kept(&self) -> Option<MutexGuard<'_, Kept>> {
        self.0.as_ref().map(|kept| kept.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Keeps the triggers of a run that begins.
    pub fn ran(&self, hook: &HookName, triggers: &[Trigger]) {
        if let Some(mut kept) = self.kept() {
            kept.insert(hook.clone(), triggers.to_vec());
        }
    }

    /// Returns the last run's triggers whose bindings the hook has, as if they occurred now.
    pub fn of(&self, spec: &HookSpec) -> Vec<Trigger> {
        let last = self.kept().and_then(|kept| kept.get(&spec.name).cloned()).unwrap_or_default();
        let bound = |trigger: &Trigger| {
            spec.bindings().any(|binding| match (binding, &trigger.cause) {
                (BindingRef::Startup(_), cause) => matches!(cause, Cause::Startup) && trigger.stage().is_none(),
                (BindingRef::Schedule(binding), Cause::Schedule(_)) => binding.name == trigger.binding,
                (BindingRef::Kubernetes(binding), Cause::Synchronization | Cause::Event(_)) => {
                    binding.name == trigger.binding
                }
                (BindingRef::Schedule(_) | BindingRef::Kubernetes(_), _) => false,
                // They run with their module.
                (BindingRef::Stage(_), _) => false,
                // Its informers have the triggers.
                (BindingRef::Reconcile(_) | BindingRef::Admission(_) | BindingRef::Conversion(_), _) => false,
            })
        };
        let fresh = |trigger| Trigger { created: Instant::now(), debounce: Duration::ZERO, ..trigger };
        last.into_iter().filter(bound).map(fresh).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use boathook_core::model::{FailureKind, JobId, Outcome};

    use super::*;

    fn run(history: &History, hook: &str, number: u64, outcome: Outcome) {
        let hook = HookName::new(hook).unwrap();
        let job =
            Job { id: JobId(number), queue: QueueName::Own(hook.clone()), hook, attempt: 1, triggers: Vec::new() };
        let mut begun = Begun::now(&RunId::new("p", number), &job);
        begun.started = Timestamp::from_second(number as i64).unwrap();
        let report = RunReport {
            outcome,
            duration: Duration::from_micros(1_500),
            cpu: Duration::ZERO,
            memory_peak: 7,
            host_calls: 3,
            metrics: Vec::new(),
            patch: Default::default(),
            host_bytes: 0,
            log_bytes: 0,
        };
        history.ended(begun, &report, false);
    }

    fn failed(message: String) -> Outcome {
        Err(Failure { kind: FailureKind::Trap, message, backtrace: Some("0: f".to_owned()) })
    }

    fn ids(runs: &[RunView]) -> Vec<&str> {
        runs.iter().map(|run| run.id.as_str()).collect()
    }

    #[test]
    fn the_last_runs_are_remembered_newest_first() {
        let history = History::default();
        (0..30).for_each(|n| run(&history, "a", n, Ok(())));
        let runs = history.runs(Some("a"), false, usize::MAX);
        assert_eq!((runs.len(), runs[0].id.as_str(), runs[19].id.as_str()), (20, "p-29", "p-10"));
        assert_eq!((runs[0].duration_ms, runs[0].started.as_str()), (1.5, "1970-01-01T00:00:29.000Z"));
        assert_eq!(history.counts("a").total, 30);
        assert_eq!(history.counts("a").last.unwrap().id, "p-29");
        assert_eq!(history.counts("b"), RunCounts::default());
        let hook = HookName::new("a").unwrap();
        let used = Used { runs: 30, duration_ms: 45.0, memory_peak_bytes: 7, host_calls: 90, ..Used::default() };
        assert_eq!(history.used(&hook), used);
    }

    #[test]
    fn failed_runs_outlive_those_that_succeeded_after_them() {
        let history = History::default();
        run(&history, "a", 1, failed("oh".to_owned()));
        (2..40).for_each(|n| run(&history, "a", n, Ok(())));
        run(&history, "b", 50, failed("no".to_owned()));
        assert!(!ids(&history.runs(Some("a"), false, usize::MAX)).contains(&"p-1"));
        let all = history.runs(None, true, usize::MAX);
        assert_eq!(ids(&all), ["p-50", "p-1"]);
        assert_eq!(all[1].outcome.message.as_deref(), Some("oh"));
        assert_eq!((history.counts("a").total, history.counts("a").failed), (39, 1));
    }

    #[test]
    fn long_messages_make_room_for_each_other() {
        let history = History::default();
        (0..20).for_each(|n| run(&history, "a", n, failed("x".repeat(1 << 20))));
        let runs = history.runs(Some("a"), false, usize::MAX);
        assert_eq!(runs.len(), BYTES / BACKTRACE - 1, "each has a message of the longest size, and a back-trace");
        assert_eq!(runs[0].id, "p-19");
    }
}
