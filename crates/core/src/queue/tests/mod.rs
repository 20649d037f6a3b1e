//! The rules of the queues, one by one. Interleavings are in `property`.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod dead_letters;
mod dump;
mod groups;
mod held;
mod inputs;
mod lists;
mod order;
mod overflow;
mod pause;
mod rate;
mod shares;
mod update;

use std::time::{Duration, Instant};

use super::{testing::*, *};
use crate::model::{
    BindingName, Cause, FailureKind as K, Job, JobId, Limit, QueueName, RetryPolicy, Trigger,
    WatchEventKind::{self, Added, Deleted, Modified},
};

struct Bench {
    state: State,
    now: Instant,
}

impl Bench {
    fn new(hooks: &[(&str, usize)]) -> Self {
        Self::with(QueueConfig::default(), hooks)
    }

    fn with(config: QueueConfig, hooks: &[(&str, usize)]) -> Self {
        let mut state = State::new(config);
        hooks.iter().for_each(|(name, concurrency)| state.add_hook(hook(name), wide(*concurrency)));
        Self { state, now: Instant::now() }
    }

    fn push(&mut self, hook: &str, queue: &QueueName, cause: Cause) -> Pushed {
        self.state.push(trigger(hook, queue.clone(), "b", cause))
    }

    fn take(&mut self) -> Option<Job> {
        self.state.take(self.now)
    }

    /// Takes a job, which must exist, and says what is in it.
    fn next(&mut self) -> (JobId, Vec<String>) {
        let job = self.take().expect("a job may run");
        (job.id, labels(&job))
    }

    /// Takes a job, which must have this.
    #[track_caller]
    fn runs(&mut self, what: &str) -> JobId {
        let (id, taken) = self.next();
        assert_eq!(taken, words(what));
        id
    }

    /// The same, and the job succeeds.
    #[track_caller]
    fn ends(&mut self, what: &str) {
        let id = self.runs(what);
        self.done(id);
    }

    fn nothing(&mut self) {
        if let Some(job) = self.take() {
            panic!("took {:?} of {} from {}", labels(&job), job.hook, job.queue);
        }
    }

    fn finish(&mut self, id: JobId, outcome: crate::model::Outcome) -> Verdict {
        self.state.finish(id, outcome, self.now, 0.0).expect("the job runs").verdict
    }

    fn done(&mut self, id: JobId) {
        assert_eq!(self.finish(id, Ok(())), Verdict::Done);
    }

    fn pass(&mut self, time: Duration) {
        self.now += time;
    }

    /// What runs when everything that may start has started, sorted.
    fn together(&mut self, jobs: usize) -> Vec<String> {
        let mut what: Vec<_> = std::iter::from_fn(|| self.take()).map(|job| labels(&job).join(" ")).collect();
        what.sort();
        assert_eq!(what.len(), jobs, "{what:?}");
        what
    }

    fn end_all(&mut self) {
        let running: Vec<_> = self.state.running().collect();
        running.into_iter().for_each(|id| self.done(id));
    }

    /// Lets everything run to its end. Returns what each job had, in order.
    fn rest(&mut self) -> Vec<Vec<String>> {
        let mut all = Vec::new();
        loop {
            while let Some(job) = self.take() {
                all.push(labels(&job));
                self.done(job.id);
            }
            match self.state.next_due(self.now) {
                Some(due) => self.now = due,
                None => break,
            }
        }
        assert!(self.state.is_idle());
        all
    }
}

fn words(text: &str) -> Vec<String> {
    text.split_whitespace().map(str::to_owned).collect()
}

#[test]
fn neighbours_of_one_hook_run_together() {
    let mut q = Bench::new(&[("h", 1), ("g", 1)]);
    let line = shared("x");
    for (hook, cause) in [
        ("h", modified("a", 1)),
        ("h", tick(2)),
        ("h", modified("a", 3)),
        ("g", modified("a", 4)),
        ("h", modified("a", 5)),
        ("h", Cause::Synchronization),
        ("h", tick(7)),
        ("h", Cause::Startup),
        ("h", tick(9)),
    ] {
        q.push(hook, &line, cause);
    }
    let expected = ["a1 t2 a3", "a4", "a5", "sync", "t7", "start", "t9"];
    assert_eq!(q.rest(), expected.map(words));
}

#[test]
fn different_failure_policies_never_combine() {
    let mut q = Bench::new(&[("h", 1)]);
    let base = |version| trigger("h", own("h"), "b", modified("a", version));
    q.state.push(base(1));
    q.state.push(Trigger { allow_failure: true, ..base(2) });
    q.state.push(Trigger { allow_failure: true, ..base(3) });
    q.state.push(base(4));
    q.state.push(Trigger { retry: RetryPolicy { initial: secs(1), ..base(5).retry }, ..base(5) });
    assert_eq!(q.rest(), ["a1", "a2 a3", "a4", "a5"].map(words));
}

#[test]
fn a_batch_has_bounds_in_triggers_and_bytes() {
    let config = QueueConfig { batch_triggers: 3, batch_bytes: 4, ..QueueConfig::default() };
    let mut q = Bench::with(config, &[("h", 1)]);
    // An event of these tests carries two bytes, and a tick none.
    for cause in [modified("a", 1), modified("b", 2), modified("c", 3), tick(4), tick(5), tick(6)] {
        q.push("h", &own("h"), cause);
    }
    assert_eq!(q.rest(), ["a1 b2", "c3 t4 t5", "t6"].map(words));

    let config = QueueConfig { batch_bytes: 1, ..config };
    let mut q = Bench::with(config, &[("h", 1)]);
    q.push("h", &own("h"), modified("a", 1));
    q.push("h", &own("h"), tick(2));
    assert_eq!(q.rest(), ["a1 t2"].map(words), "one that is too large still runs");
}

#[test]
fn a_shared_queue_runs_one_job_and_a_failed_head_holds_it() {
    let mut q = Bench::new(&[("h", 4), ("g", 4)]);
    q.push("h", &shared("x"), modified("a", 1));
    q.push("g", &shared("x"), modified("a", 1));
    q.push("g", &shared("y"), modified("a", 2));
    let (first, _) = q.next();
    let (other, _) = q.next();
    q.nothing();
    q.done(other);
    assert!(matches!(q.finish(first, failed(K::Trap)), Verdict::Retry { after, .. } if after == secs(5)));
    q.nothing();
    assert_eq!(q.state.next_due(q.now), Some(q.now + secs(5)));
    q.pass(secs(5));
    let (again, _) = q.next();
    assert_eq!(again, first);
    q.nothing();
    q.done(again);
    assert_eq!(q.next().1, words("a1"));
}

#[test]
fn a_retry_keeps_its_triggers_in_front_and_neighbours_join() {
    let config = QueueConfig { batch_triggers: 3, ..QueueConfig::default() };
    let mut q = Bench::with(config, &[("h", 1)]);
    q.push("h", &own("h"), modified("a", 1));
    let (id, _) = q.next();
    for version in 2..=5 {
        q.push("h", &own("h"), modified("a", version));
    }
    q.finish(id, failed(K::Retry));
    q.pass(secs(5));
    let job = q.take().unwrap();
    assert_eq!((job.id, job.attempt, labels(&job)), (id, 2, words("a1 a2 a3")));
    q.finish(id, failed(K::Retry));
    assert_eq!(q.rest(), ["a1 a2 a3", "a4 a5"].map(words));
}

#[test]
fn delays_follow_the_curve_of_the_policy() {
    let mut q = Bench::new(&[("h", 1)]);
    q.push("h", &own("h"), tick(1));
    for (n, expected) in [5, 10, 20, 32, 32].into_iter().enumerate() {
        let job = q.take().unwrap();
        assert_eq!(usize::try_from(job.attempt).unwrap(), n + 1);
        q.finish(job.id, failed(K::Limit(Limit::Time)));
        assert_eq!(q.state.next_due(q.now), Some(q.now + secs(expected)));
        q.pass(secs(expected) - Duration::from_nanos(1));
        q.nothing();
        q.pass(Duration::from_nanos(1));
    }
    let job = q.take().unwrap();
    q.finish(job.id, failed(K::RetryAfter(secs(90))));
    assert_eq!(q.state.next_due(q.now), Some(q.now + secs(90)));
}

#[test]
// mutant: crates/core/src/queue/state.rs: `(!stands_still && !self.closed)` => `false`
fn each_outcome_has_its_verdict() {
    let mut q = Bench::new(&[("h", 1)]);
    q.push("h", &own("h"), tick(1));
    let (id, _) = q.next();
    assert_eq!(q.finish(id, failed(K::Interrupted)), Verdict::Interrupted);
    q.nothing();
    q.pass(secs(5));
    let job = q.take().unwrap();
    assert_eq!((job.id, job.attempt), (id, 1), "an interrupted attempt does not count");
    // Interrupted for another version of the hook, which runs it at once.
    q.state.hold(&hook("h"));
    assert_eq!(q.finish(id, failed(K::Interrupted)), Verdict::Interrupted);
    q.nothing();
    q.state.release(&hook("h"));
    assert_eq!(q.take().unwrap().id, id);
    let verdict = q.finish(id, failed(K::Permanent));
    assert!(matches!(verdict, Verdict::GivenUp { triggers, .. } if triggers.len() == 1));
    assert!(q.state.is_idle());

    q.state.push(Trigger { allow_failure: true, ..trigger("h", own("h"), "b", tick(2)) });
    let (id, _) = q.next();
    assert!(matches!(q.finish(id, failed(K::Host)), Verdict::Retry { .. }), "not the hook's failure");
    q.pass(secs(5));
    assert!(matches!(
        {
            let (id, _) = q.next();
            q.finish(id, failed(K::Trap))
        },
        Verdict::AllowedFailure(_)
    ));
    assert!(q.state.is_idle());
    assert_eq!(q.state.finish(id, Ok(()), q.now, 0.0), None, "a job ends once");
}

#[test]
fn objects_run_side_by_side_and_each_in_order() {
    let mut q = Bench::new(&[("h", 2)]);
    for cause in [modified("a", 1), modified("b", 1), modified("a", 2), modified("c", 1)] {
        q.push("h", &own("h"), cause);
    }
    // Three objects for two slots: the first job takes two of them.
    let ab = q.runs("a1 b1 a2");
    let c = q.runs("c1");
    q.push("h", &own("h"), modified("a", 3));
    q.push("h", &own("h"), modified("d", 1));
    q.nothing();
    q.done(c);
    let (d, third) = q.next();
    assert_eq!(third, words("d1"), "a is taken, d is not");
    q.finish(ab, failed(K::Retry));
    q.push("h", &own("h"), modified("b", 2));
    q.push("h", &own("h"), modified("e", 1));
    let (e, fourth) = q.next();
    assert_eq!(fourth, words("e1"), "a failed job keeps its objects and holds no slot");
    q.done(d);
    q.done(e);
    q.nothing();
    q.pass(secs(5));
    assert_eq!(q.next().1, words("a1 b1 a2 a3 b2"));
}

#[test]
fn triggers_without_an_object_are_barriers() {
    let mut q = Bench::new(&[("h", 3)]);
    for cause in [modified("a", 1), tick(2), tick(3), modified("a", 4), modified("b", 5), Cause::Synchronization] {
        q.push("h", &own("h"), cause);
    }
    let a1 = q.runs("a1");
    q.nothing();
    q.finish(a1, failed(K::Retry));
    q.nothing();
    q.pass(secs(5));
    let (a1, again) = q.next();
    assert_eq!(again, words("a1"), "nothing joins over a barrier");
    q.done(a1);
    let ticks = q.runs("t2 t3");
    q.push("h", &own("h"), modified("c", 9));
    q.nothing();
    q.done(ticks);
    let (a, b) = (q.next(), q.next());
    assert_eq!((a.1, b.1), (words("a4"), words("b5")));
    q.nothing();
    q.done(a.0);
    q.done(b.0);
    assert_eq!(q.rest(), ["sync", "c9"].map(words));
}

#[test]
fn nothing_of_a_hook_runs_before_its_startup() {
    let mut q = Bench::new(&[("h", 1), ("g", 1)]);
    q.push("g", &QueueName::main(), Cause::Startup);
    q.push("h", &QueueName::main(), Cause::Startup);
    q.push("h", &own("h"), Cause::Synchronization);
    q.push("h", &shared("x"), tick(1));
    q.push("g", &shared("x"), tick(2));
    let g = q.take().unwrap();
    assert_eq!((g.hook.as_str(), labels(&g)), ("g", words("start")));
    q.nothing();
    q.done(g.id);
    let h = q.take().unwrap();
    assert_eq!((h.hook.as_str(), labels(&h)), ("h", words("start")));
    q.nothing();
    q.finish(h.id, failed(K::Retry));
    q.nothing();
    q.pass(secs(5));
    let (h, _) = q.next();
    assert!(matches!(q.finish(h, failed(K::Permanent)), Verdict::GivenUp { .. }));
    assert_eq!(q.rest(), ["sync", "t1", "t2"].map(words), "given up opens the gate");
}

#[test]
fn triggers_wait_for_the_snapshots_that_they_include() {
    for concurrency in [1, 3] {
        let mut q = Bench::new(&[("g", 1)]);
        let in_background = ["pods", "nodes"].map(BindingName::new).to_vec();
        q.state.add_hook(hook("h"), HookQueueConfig { in_background, ..wide(concurrency) });
        for binding in ["pods", "nodes"] {
            q.state.expect_list(&hook("h"), BindingName::new(binding));
        }
        let including = |snapshots: &[&str], cause| Trigger {
            snapshots: snapshots.iter().map(|name| BindingName::new(*name)).collect(),
            ..trigger("h", own("h"), "pods", cause)
        };
        q.push("h", &own("h"), tick(1));
        q.state.push(including(&["pods", "nodes"], Cause::Synchronization));
        q.state.push(including(&["pods", "nodes"], modified("a", 1)));
        q.state.push(including(&["nodes"], tick(2)));
        q.push("g", &own("g"), tick(3));
        let mut ran = [q.next(), q.next()];
        ran.sort_by(|(_, a), (_, b)| a.cmp(b));
        assert_eq!(ran.each_ref().map(|(_, what)| what.clone()), [words("t1"), words("t3")]);
        ran.into_iter().for_each(|(id, _)| q.done(id));
        q.nothing();
        q.state.listed(&hook("h"), &BindingName::new("pods"));
        q.nothing();
        q.state.listed(&hook("g"), &BindingName::new("nodes"));
        q.nothing();
        q.state.listed(&hook("h"), &BindingName::new("nodes"));
        q.ends("sync");
        assert_eq!(q.rest().concat(), ["a1", "t2"]);
    }
}

#[test]
fn queues_are_served_in_turn_within_the_global_limit() {
    let config = QueueConfig { max_parallel_runs: 2, batch_triggers: 1, ..QueueConfig::default() };
    let mut q = Bench::with(config, &[("a", 1), ("b", 1), ("c", 1)]);
    for hook in ["a", "b", "c"] {
        for at in 0..3 {
            q.push(hook, &own(hook), tick(at));
        }
    }
    let (mut order, mut running) = (Vec::new(), std::collections::VecDeque::new());
    while !q.state.is_idle() {
        while let Some(job) = q.take() {
            order.push(job.hook.to_string());
            running.push_back(job.id);
        }
        assert_eq!(running.len().min(2), running.len());
        let id = running.pop_front().unwrap();
        q.done(id);
    }
    for turn in order.chunks(3) {
        let mut turn = turn.to_vec();
        turn.sort();
        assert_eq!(turn, ["a", "b", "c"], "out of {order:?}");
    }
}

/// What an overfull queue makes of these events of `a`, one after the other: kind, object and version, and the filter
/// result before.
fn folded(concurrency: usize, events: &[(&str, WatchEventKind)]) -> Vec<String> {
    let config = QueueConfig { max_pending: 1, ..QueueConfig::default() };
    let mut q = Bench::with(config, &[("h", concurrency)]);
    for (version, (object, kind)) in (1..).zip(events) {
        let mut cause = event_of(*kind, object, version);
        if let Cause::Event(event) = &mut cause
            && *kind != Added
        {
            event.previous_filter_result = Some(format!("p{version}").into());
        }
        q.push("h", &own("h"), cause);
    }
    let job = q.take().unwrap();
    let show = |trigger: &Trigger| {
        let Cause::Event(event) = &trigger.cause else { panic!("{trigger:?}") };
        let before = event.previous_filter_result.as_deref().unwrap_or("none");
        format!("{:?} {}{} after {before}", event.kind, event.item.uid, event.item.resource_version)
    };
    job.triggers.iter().map(show).collect()
}

#[test]
fn an_overfull_queue_folds_events_of_the_same_object() {
    let table: [(&[WatchEventKind], &[&str]); 9] = [
        (&[Added, Modified], &["Added a2 after none"]),
        (&[Added, Modified, Deleted], &["Deleted a3 after none"]),
        (&[Modified, Modified], &["Modified a2 after p1"]),
        (&[Modified, Deleted], &["Deleted a2 after p1"]),
        (&[Added, Added], &["Added a2 after none"]),
        (&[Deleted, Deleted], &["Deleted a2 after p1"]),
        // The object stopped matching, and matches again.
        (&[Deleted, Added], &["Deleted a1 after p1", "Added a2 after none"]),
        (&[Modified, Deleted, Added, Modified], &["Deleted a2 after p1", "Added a4 after none"]),
        (&[Deleted, Added, Deleted, Added, Deleted, Added], &["Deleted a1 after p1", "Added a6 after none"]),
    ];
    for concurrency in [1, 2] {
        for (kinds, expected) in table {
            let events: Vec<_> = kinds.iter().map(|kind| ("a", *kind)).collect();
            assert_eq!(folded(concurrency, &events), expected, "{kinds:?}");
        }
    }
}

#[test]
// mutant: crates/core/src/queue/coalesce.rs: `About::Object(object, event.item.uid.clone())` => `About::Object(object, Box::default())`
fn the_deletion_of_an_object_never_folds_into_the_creation_of_another_of_its_name() {
    for concurrency in [1, 2] {
        let events =
            [("a", Modified), ("a", Deleted), ("a#2", Added), ("a#2", Modified), ("a#2", Deleted), ("a#3", Added)];
        let expected = ["Deleted a2 after p1", "Deleted a#25 after none", "Added a#36 after none"];
        assert_eq!(folded(concurrency, &events), expected);
    }
}

#[test]
fn folding_keeps_the_earliest_place_and_counts() {
    for concurrency in [1, 2] {
        let config = QueueConfig { max_pending: 4, ..QueueConfig::default() };
        let mut q = Bench::with(config, &[("h", concurrency)]);
        let pushes = [
            (modified("a", 1), Pushed::Queued),
            (tick(2), Pushed::Queued),
            (modified("a", 3), Pushed::Queued),
            (tick(4), Pushed::Queued),
            // Over the bound: the line folds to a3 t4, and there is room.
            (modified("b", 5), Pushed::Queued),
            (modified("a", 6), Pushed::Folded),
            (modified("c", 7), Pushed::Queued),
            (modified("d", 8), Pushed::Beyond),
            (modified("b", 9), Pushed::Folded),
            (tick(10), Pushed::Folded),
        ];
        for (cause, expected) in pushes {
            assert_eq!(q.push("h", &own("h"), cause.clone()), expected, "{cause:?}");
        }
        let stats = q.state.stats(q.now);
        let queue = &stats.queues[0];
        assert_eq!((queue.length, queue.bytes, queue.folded, queue.beyond), (5, 8, 5, 1));
        assert_eq!(stats.hooks[0].outstanding, 5);
        let mut order = Vec::new();
        while let Some(job) = q.take() {
            for trigger in &job.triggers {
                if let Cause::Schedule(tick) = &trigger.cause {
                    assert_eq!(tick.missed, 2);
                }
            }
            order.extend(labels(&job));
            q.done(job.id);
        }
        assert_eq!(order, words("a6 t10 b9 c7 d8"));
        assert_eq!(q.push("h", &own("h"), modified("a", 11)), Pushed::Queued);
        assert_eq!(q.push("h", &own("h"), modified("a", 12)), Pushed::Queued, "below the bound nothing folds");
    }
}

#[test]
fn bytes_are_bounded_too() {
    let config = QueueConfig { max_pending_bytes: 5, ..QueueConfig::default() };
    let mut q = Bench::with(config, &[("h", 1)]);
    for version in 1..=9 {
        q.push("h", &own("h"), modified("a", version));
    }
    assert_eq!(q.state.stats(q.now).queues[0].bytes, 2);
    assert_eq!(q.rest(), ["a9"].map(words));
}

#[test]
fn a_synchronization_folds_and_its_gate_stays_closed() {
    let config = QueueConfig { max_pending: 1, ..QueueConfig::default() };
    let mut q = Bench::with(config, &[("h", 1)]);
    q.push("h", &shared("x"), Cause::Synchronization);
    assert_eq!(q.push("h", &shared("x"), Cause::Synchronization), Pushed::Folded);
    q.push("h", &own("h"), modified("a", 1));
    let (sync, _) = q.next();
    q.nothing();
    q.done(sync);
    assert_eq!(q.rest(), ["a1"].map(words));
}

#[test]
fn a_removed_hook_leaves_nothing_behind() {
    for concurrency in [1, 2] {
        let mut q = Bench::new(&[("h", concurrency), ("g", 1)]);
        q.push("h", &shared("x"), tick(1));
        q.push("h", &own("h"), modified("a", 1));
        q.push("g", &shared("x"), tick(2));
        q.push("h", &shared("x"), tick(3));
        let (held, _) = q.next();
        q.finish(held, failed(K::Retry));
        let running = q.runs("a1");
        q.push("h", &own("h"), modified("a", 2));
        q.push("h", &own("h"), tick(3));
        assert_eq!(q.state.remove_hook(&hook("h")), 4);
        assert_eq!(q.push("h", &own("h"), tick(9)), Pushed::Refused);
        let (g, what) = q.next();
        assert_eq!(what, words("t2"), "the failed head of the removed hook no longer holds the queue");
        q.done(g);
        q.state.add_hook(hook("h"), wide(concurrency));
        q.push("h", &own("h"), modified("a", 7));
        q.nothing();
        assert_eq!(q.finish(running, failed(K::Retry)), Verdict::Removed);
        assert_eq!(q.rest(), ["a7"].map(words));
        assert!(q.state.stats(q.now).hooks.iter().all(|hook| hook.idle && hook.running == 0));
        q.state.remove_hook(&hook("h"));
        q.state.remove_hook(&hook("g"));
        assert_eq!(q.state.stats(q.now), Stats::default());
    }
}

#[test]
fn refuses_unknown_hooks_and_foreign_queues() {
    let mut q = Bench::new(&[("h", 1), ("g", 1)]);
    assert_eq!(q.push("nobody", &shared("x"), tick(1)), Pushed::Refused);
    assert_eq!(q.push("h", &own("g"), tick(1)), Pushed::Refused);
    q.push("h", &own("h"), tick(1));
    q.state.close();
    assert_eq!(q.push("h", &own("h"), tick(2)), Pushed::Refused);
    q.nothing();
}

#[test]
fn stats_say_where_everything_is() {
    let mut q = Bench::new(&[("h", 1), ("g", 1)]);
    q.push("h", &own("h"), modified("a", 1));
    q.push("g", &own("g"), modified("a", 1));
    q.now = Instant::now();
    let (first, _) = q.next();
    q.finish(first, failed(K::Retry));
    let (_second, _) = q.next();
    q.push("h", &own("h"), modified("a", 2));
    q.pass(secs(3));
    let stats = q.state.stats(q.now);
    assert_eq!(stats.running, 1);
    let [g, h] = stats.queues.as_slice() else { panic!("{stats:?}") };
    assert_eq!((g.queue.to_string().as_str(), g.length, g.running, g.retrying), ("hook/g", 0, 1, 0));
    assert_eq!((h.length, h.bytes, h.running, h.retrying), (2, 4, 0, 1));
    assert!(h.oldest.unwrap() >= secs(3) && g.oldest.unwrap() >= secs(3));
    assert!(stats.hooks.iter().all(|hook| !hook.idle));
}

/// This would not end in reasonable time if pushing, taking or folding walked the queue.
#[test]
fn a_long_queue_is_not_quadratic() {
    const N: u64 = 50_000;
    for (concurrency, objects, max_pending) in
        [(1, N, usize::MAX), (4, N, usize::MAX), (4, 1, usize::MAX), (1, N, 10), (4, N, 10)]
    {
        let config = QueueConfig { max_pending, batch_triggers: 100, ..QueueConfig::default() };
        let mut q = Bench::with(config, &[("h", concurrency)]);
        let names: Vec<String> = (0..objects).map(|n| format!("o{n}")).collect();
        let template = trigger("h", own("h"), "b", tick(0));
        for n in 0..N {
            let object = &names[usize::try_from(n % objects).unwrap()];
            q.state.push(Trigger { cause: modified(object, n), ..template.clone() });
        }
        let mut seen = 0;
        while let Some(job) = q.take() {
            seen += job.triggers.len() as u64;
            q.done(job.id);
        }
        assert_eq!(seen, N);
    }
}
