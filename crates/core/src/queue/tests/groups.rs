//! Groups: what a run receives, and what still counts.

use super::*;

fn of_group(group: &str, binding: &str, cause: Cause) -> Trigger {
    Trigger { group: Some(group.into()), ..trigger("h", own("h"), binding, cause) }
}

/// Groups are shown as `GROUP(TRIGGER)`.
fn reported(job: &Job) -> Vec<String> {
    let reported = |trigger: &Trigger| match &trigger.group {
        Some(group) => format!("{group}({})", label(trigger)),
        None => label(trigger),
    };
    job.triggers.iter().map(reported).collect()
}

#[test]
fn neighbours_of_one_group_are_reported_as_the_last_of_them() {
    for concurrency in [1, 3] {
        let mut q = Bench::new(&[("h", concurrency)]);
        for trigger in [
            of_group("g", "b", modified("a", 1)),
            of_group("g", "timer", tick(2)),
            of_group("f", "b", modified("b", 3)),
            of_group("g", "b", modified("c", 4)),
            of_group("g", "b", modified("c", 5)),
            trigger("h", own("h"), "plain", tick(6)),
            of_group("g", "b", modified("d", 7)),
        ] {
            q.state.push(trigger);
        }
        let job = q.take().unwrap();
        assert_eq!(reported(&job), words("g(t2) f(b3) g(c5) t6 g(d7)"));
        assert_eq!(q.state.stats(q.now).hooks[0].outstanding, 7, "those left out are not done");
        let finished = q.state.finish(job.id, failed(K::Retry), q.now, 0.0).unwrap();
        assert_eq!(finished.triggers, 7);
        q.state.push(of_group("g", "b", modified("e", 8)));
        q.pass(secs(5));
        let job = q.take().unwrap();
        assert_eq!(
            reported(&job),
            words("g(t2) f(b3) g(c5) t6 g(e8)"),
            "one that joins a retry is reported for its neighbour"
        );
        let Verdict::GivenUp { triggers, .. } = q.finish(job.id, failed(K::Permanent)) else { panic!("not given up") };
        assert_eq!(triggers.len(), 8);
        assert!(q.state.is_idle());
    }
}

#[test]
fn a_trigger_of_a_group_carries_no_object() {
    let mut q = Bench::new(&[("h", 1)]);
    q.state.push(of_group("g", "b", modified("a", 1)));
    assert_eq!(q.state.stats(q.now).queues[0].bytes, 0);
    let job = q.take().unwrap();
    let Cause::Event(event) = &job.triggers[0].cause else { panic!("not an event") };
    assert_eq!((&event.item.object, &*event.item.key.name), (&None, "a"));
}

#[test]
fn synchronizations_of_a_group_run_together_with_what_they_hold_back() {
    for concurrency in [1, 3] {
        let mut q = Bench::new(&[("h", concurrency)]);
        for trigger in [
            of_group("g", "b1", Cause::Synchronization),
            of_group("g", "b2", Cause::Synchronization),
            of_group("g", "b2", modified("a", 3)),
            of_group("g", "timer", tick(4)),
            trigger("h", own("h"), "plain", tick(5)),
            of_group("g", "b1", modified("a", 6)),
        ] {
            q.state.push(trigger);
        }
        let job = q.take().unwrap();
        assert_eq!(reported(&job), words("g(t4)"));
        q.nothing();
        q.finish(job.id, failed(K::Retry));
        assert_eq!(q.state.stats(q.now).hooks[0].unsynchronised.len(), 2);
        q.pass(secs(5));
        let job = q.take().unwrap();
        assert_eq!(reported(&job), words("g(t4)"), "t5 is of no group, and waits");
        q.done(job.id);
        assert_eq!(reported(&q.take().unwrap()), words("t5 g(a6)"));
    }
}

#[test]
fn what_is_of_another_group_waits_for_a_synchronization() {
    let mut q = Bench::new(&[("h", 1)]);
    q.state.push(of_group("g", "b1", Cause::Synchronization));
    q.state.push(of_group("f", "b2", Cause::Synchronization));
    q.state.push(of_group("f", "b2", modified("a", 3)));
    let job = q.take().unwrap();
    assert_eq!(reported(&job), words("g(sync) f(sync)"), "the event of f waits for b1 too, which is of g");
    q.done(job.id);
    assert_eq!(reported(&q.take().unwrap()), words("f(a3)"));
}

#[test]
fn a_synchronization_without_a_group_still_runs_alone() {
    let mut q = Bench::new(&[("h", 1)]);
    q.push("h", &own("h"), Cause::Synchronization);
    q.state.push(of_group("g", "b2", Cause::Synchronization));
    q.push("h", &own("h"), Cause::Synchronization);
    assert_eq!(q.rest(), ["sync", "sync", "sync"].map(words));
}

#[test]
fn an_overfull_queue_folds_a_group_to_its_last() {
    for concurrency in [1, 3] {
        let config = QueueConfig { max_pending: 1, ..QueueConfig::default() };
        let mut q = Bench::with(config, &[("h", concurrency)]);
        for (version, object) in (1..).zip(["a", "b", "c"]) {
            q.state.push(of_group("g", "b", modified(object, version)));
        }
        assert_eq!(q.state.stats(q.now).queues[0].length, 1);
        assert_eq!(q.rest(), ["c3"].map(words));
    }
}

#[test]
fn a_group_in_a_queue_with_concurrency_runs_beside_nothing() {
    let mut q = Bench::new(&[("h", 3)]);
    q.push("h", &own("h"), modified("a", 1));
    q.state.push(of_group("g", "b", modified("b", 2)));
    q.push("h", &own("h"), modified("c", 3));
    for expected in ["a1", "b2", "c3"] {
        let (id, what) = q.next();
        assert_eq!(what, words(expected));
        q.nothing();
        q.done(id);
    }
}

#[test]
fn a_hook_that_does_not_combine_takes_one_trigger_a_run() {
    for concurrency in [1, 3] {
        let mut q = Bench::new(&[]);
        q.state.add_hook(hook("h"), HookQueueConfig { combine: false, ..wide(concurrency) });
        for cause in [tick(1), tick(2), modified("a", 3), modified("a", 4)] {
            q.push("h", &own("h"), cause);
        }
        let first = q.runs("t1");
        q.finish(first, failed(K::Retry));
        q.pass(secs(5));
        assert_eq!(q.rest(), ["t1", "t2", "a3", "a4"].map(words), "nothing joins a retry either");
    }
}
