//! Attempts, dead letters, and what may run again.

use std::num::NonZeroU32;

use super::*;

fn with_attempts(attempts: u32, binding: &str, cause: Cause) -> Trigger {
    let base = trigger("h", own("h"), binding, cause);
    let retry = RetryPolicy { attempts: NonZeroU32::new(attempts), ..base.retry };
    Trigger { retry, ..base }
}

/// Pushes a trigger, runs it and gives it up.
fn kill(q: &mut Bench, trigger: Trigger) {
    q.state.push(trigger);
    let (id, _) = q.next();
    assert!(matches!(q.finish(id, failed(K::Permanent)), Verdict::GivenUp { .. }));
}

fn event(object: &str, version: u64) -> Trigger {
    trigger("h", own("h"), "b", modified(object, version))
}

fn retry_all(q: &mut Bench) -> Retried {
    q.state.retry_dead(&Letters::All, q.now).0
}

#[test]
fn the_last_attempt_makes_a_dead_letter() {
    let mut q = Bench::new(&[("h", 1)]);
    q.state.push(with_attempts(3, "b", modified("a", 1)));
    for kind in [K::Retry, K::Host, K::Interrupted, K::Limit(Limit::Time), K::Host] {
        let (id, _) = q.next();
        assert!(!matches!(q.finish(id, failed(kind)), Verdict::GivenUp { .. }), "{kind:?}");
        q.pass(secs(60));
    }
    let (id, _) = q.next();
    let finished = q.state.finish(id, failed(K::RetryAfter(secs(1))), q.now, 0.0).unwrap();
    assert!(matches!(finished.verdict, Verdict::GivenUp { triggers, .. } if triggers.len() == 1));
    assert!(q.state.is_idle());
    let letters = q.state.dead_letters();
    let [letter] = letters.as_slice() else { panic!("{letters:?}") };
    assert_eq!(Some(letter.id), finished.dead_letter);
    assert_eq!((&letter.hook, &letter.queue, letter.attempts, letter.since), (&hook("h"), &own("h"), 3, q.now));
    assert_eq!(letter.triggers.iter().map(label).collect::<Vec<_>>(), ["a1"]);
    assert_eq!(q.state.stats(q.now).dead_letters, 1);
}

#[test]
fn allowed_failures_make_no_dead_letters() {
    let mut q = Bench::new(&[("h", 1)]);
    q.state.push(Trigger { allow_failure: true, ..with_attempts(1, "b", tick(1)) });
    let (id, _) = q.next();
    assert!(matches!(q.finish(id, failed(K::Retry)), Verdict::AllowedFailure(_)));
    assert_eq!(q.state.dead_letters(), []);
}

#[test]
fn who_joined_late_has_attempts_of_its_own() {
    for concurrency in [1, 3] {
        let mut q = Bench::new(&[("h", concurrency)]);
        q.state.push(with_attempts(2, "b", modified("a", 1)));
        q.state.push(with_attempts(2, "b", modified("b", 2)));
        let job = q.take().unwrap();
        q.finish(job.id, failed(K::Retry));
        q.state.push(with_attempts(2, "b", modified("a", 3)));
        q.pass(secs(5));
        let job = q.take().unwrap();
        let both = if concurrency == 1 { "a1 b2 a3" } else { "a1 a3" };
        assert_eq!(labels(&job), words(both));
        let finished = q.state.finish(job.id, failed(K::Retry), q.now, 0.0).unwrap();
        let Verdict::Retry { given_up, .. } = finished.verdict else { panic!("{finished:?}") };
        assert_eq!(given_up.len(), if concurrency == 1 { 2 } else { 1 });
        assert!(finished.dead_letter.is_some());
        q.pass(secs(60));
        let again: Vec<_> = std::iter::from_fn(|| q.take()).map(|job| (job.id, labels(&job))).collect();
        assert!(again.contains(&(job.id, words("a3"))), "{again:?}");
        again.into_iter().for_each(|(id, _)| q.done(id));
        assert!(q.state.is_idle());
    }
}

#[test]
fn the_objects_of_given_up_triggers_are_free_while_the_rest_waits() {
    let mut q = Bench::new(&[("h", 2)]);
    let first = |object, version| with_attempts(2, "b", modified(object, version));
    q.state.push(first("a", 1));
    q.state.push(first("b", 2));
    // A slot's share is one object. For both objects to be in one job, the other slot is busy.
    let (blocker, _) = q.next();
    q.state.push(first("a", 3));
    let job = q.runs("b2");
    q.finish(blocker, failed(K::Retry));
    q.pass(secs(5));
    let (id, what) = q.next();
    assert_eq!((id, what), (blocker, words("a1 a3")));
    q.finish(blocker, failed(K::Retry));
    q.done(job);
    q.state.push(first("a", 4));
    q.nothing();
    q.pass(secs(60));
    assert_eq!(q.rest().concat(), words("a3 a4"), "a3 keeps the object, and a4 joins it");
}

#[test]
fn a_given_up_synchronization_opens_its_gate() {
    let mut q = Bench::new(&[("h", 1)]);
    q.state.push(with_attempts(1, "b", Cause::Synchronization));
    q.push("h", &own("h"), tick(1));
    let (id, _) = q.next();
    q.finish(id, failed(K::Trap));
    assert_eq!(q.rest(), ["t1"].map(words));
    assert_eq!(retry_all(&mut q), Retried { letters: 1, triggers: 1, superseded: 0 });
    q.push("h", &own("h"), tick(2));
    assert_eq!(q.rest(), ["sync", "t2"].map(words), "and closes it when it is tried again");
}

#[test]
fn letters_run_again_at_the_end_of_their_queue_as_a_first_attempt() {
    for concurrency in [1, 3] {
        let mut q = Bench::new(&[("h", concurrency)]);
        kill(&mut q, event("a", 1));
        kill(&mut q, event("b", 2));
        q.push("h", &own("h"), tick(3));
        assert_eq!(retry_all(&mut q), Retried { letters: 2, triggers: 2, superseded: 0 });
        assert_eq!(q.state.dead_letters(), []);
        let mut order = Vec::new();
        while let Some(job) = q.take() {
            assert_eq!(job.attempt, 1);
            order.extend(labels(&job));
            q.done(job.id);
        }
        assert_eq!(order, words("t3 a1 b2"));
        assert_eq!(retry_all(&mut q), Retried::default());
    }
}

#[test]
fn an_older_state_is_never_reported_after_a_newer_one() {
    #[derive(Debug)]
    enum Newer {
        Done,
        Allowed,
        Waiting,
        Running,
        Retrying,
        Dead,
        Synchronised,
    }
    use Newer::*;
    for concurrency in [1, 3] {
        for newer in [Done, Allowed, Waiting, Running, Retrying, Dead, Synchronised] {
            let mut q = Bench::new(&[("h", concurrency)]);
            kill(&mut q, event("a", 1));
            kill(&mut q, event("other", 2));
            let next = match newer {
                Allowed => Trigger { allow_failure: true, ..event("a", 3) },
                Synchronised => Trigger { cause: Cause::Synchronization, ..event("a", 3) },
                _ => event("a", 3),
            };
            if matches!(newer, Dead) {
                kill(&mut q, next);
            } else {
                q.state.push(next);
                if !matches!(newer, Waiting) {
                    let (id, _) = q.next();
                    match newer {
                        Done | Synchronised => q.done(id),
                        Allowed | Retrying => drop(q.finish(id, failed(K::Retry))),
                        _ => {}
                    }
                }
            }
            let expected = match newer {
                Dead => Retried { letters: 3, triggers: 2, superseded: 1 },
                Synchronised => Retried { letters: 2, triggers: 0, superseded: 2 },
                _ => Retried { letters: 2, triggers: 1, superseded: 1 },
            };
            assert_eq!(retry_all(&mut q), expected, "{newer:?}");
            q.end_all();
            let rest = q.rest().concat();
            assert!(!rest.contains(&"a1".to_owned()), "{newer:?}: {rest:?}");
            let at = |what: &str| rest.iter().filter(|label| *label == what).count();
            assert_eq!(at("other2"), usize::from(!matches!(newer, Synchronised)), "{newer:?}: {rest:?}");
            assert_eq!(at("a3"), usize::from(matches!(newer, Waiting | Retrying | Dead)), "{newer:?}: {rest:?}");
        }
    }
}

#[test]
fn a_letter_that_is_tried_again_keeps_its_age() {
    let mut q = Bench::new(&[("h", 1)]);
    kill(&mut q, event("a", 1));
    kill(&mut q, event("a", 2));
    let ids: Vec<_> = q.state.dead_letters().iter().map(|letter| letter.id).collect();
    assert_eq!(q.state.dead_letters().iter().map(|letter| letter.superseded).collect::<Vec<_>>(), [1, 0]);
    let only = |id: u64| Letters::Ids(vec![id]);
    assert_eq!(q.state.retry_dead(&only(ids[0]), q.now).0, Retried { letters: 1, triggers: 0, superseded: 1 });
    assert_eq!(q.state.retry_dead(&only(ids[1]), q.now).0.triggers, 1);
    let (id, _) = q.next();
    q.finish(id, failed(K::Permanent));
    kill(&mut q, event("b", 3));
    assert_eq!(retry_all(&mut q).triggers, 2);
    assert_eq!(q.rest(), ["a2 b3"].map(words));
}

#[test]
fn triggers_of_one_letter_stay_in_a_row() {
    let mut q = Bench::new(&[("h", 1)]);
    kill(&mut q, event("a", 1));
    for version in 2..=4 {
        q.state.push(event("a", version));
    }
    let (id, _) = q.next();
    q.finish(id, failed(K::Permanent));
    assert_eq!(retry_all(&mut q), Retried { letters: 2, triggers: 3, superseded: 1 });
    assert_eq!(q.rest(), ["a2 a3 a4"].map(words));
}

#[test]
fn ticks_and_groups_are_never_superseded() {
    let mut q = Bench::new(&[("h", 1)]);
    kill(&mut q, trigger("h", own("h"), "timer", tick(1)));
    kill(&mut q, Trigger { group: Some("g".into()), ..event("a", 2) });
    q.push("h", &own("h"), tick(3));
    q.state.push(Trigger { group: Some("g".into()), ..event("a", 4) });
    q.rest();
    assert_eq!(retry_all(&mut q), Retried { letters: 2, triggers: 2, superseded: 0 });
}

#[test]
fn the_oldest_letters_make_room() {
    let config = QueueConfig { max_dead_letters: 2, max_dead_letter_bytes: 4_000, ..QueueConfig::default() };
    let mut q = Bench::with(config, &[("h", 1)]);
    kill(&mut q, event("a", 1));
    kill(&mut q, event("b", 2));
    q.state.push(event("c", 3));
    let (id, _) = q.next();
    let finished = q.state.finish(id, failed(K::Permanent), q.now, 0.0).unwrap();
    assert_eq!(finished.lost.iter().map(|letter| label(&letter.triggers[0])).collect::<Vec<_>>(), ["a1"]);
    for version in 4..=8 {
        q.state.push(event("big", version));
    }
    let (id, _) = q.next();
    let finished = q.state.finish(id, failed(K::Permanent), q.now, 0.0).unwrap();
    assert_eq!(finished.lost.len(), 2, "by bytes");
    assert_eq!(q.state.dead_letters().len(), 1, "one that is too large is kept alone");
}

#[test]
fn letters_are_dropped_by_id_by_hook_and_with_their_hook() {
    let mut q = Bench::new(&[("h", 1), ("g", 1)]);
    for version in 1..=3 {
        kill(&mut q, event("a", version));
    }
    kill(&mut q, trigger("g", own("g"), "b", tick(4)));
    let first = q.state.dead_letters()[0].id;
    assert_eq!(q.state.drop_dead(&Letters::Ids(vec![first, first, 999])), 1);
    assert_eq!(q.state.drop_dead(&Letters::Hook(hook("h"))), 2);
    assert_eq!(q.state.dead_letters().len(), 1);
    q.state.remove_hook(&hook("g"));
    assert_eq!(q.state.drop_dead(&Letters::All), 0);
    q.state.remove_hook(&hook("h"));
    assert_eq!(q.state.stats(q.now), Stats::default(), "nothing of them is left");
}

#[test]
fn closed_queues_keep_their_letters() {
    let mut q = Bench::new(&[("h", 1)]);
    kill(&mut q, event("a", 1));
    q.state.close();
    assert_eq!(retry_all(&mut q), Retried::default());
    assert_eq!(q.state.dead_letters().len(), 1);
}

#[test]
fn a_synchronization_that_overtook_an_event_supersedes_it() {
    let mut q = Bench::new(&[("h", 1)]);
    let (blocker, _) = {
        q.push("h", &own("h"), tick(1));
        q.next()
    };
    q.state.push(event("a", 2));
    q.push("h", &QueueName::main(), Cause::Synchronization);
    let (sync, _) = q.next();
    q.done(sync);
    q.done(blocker);
    let id = q.runs("a2");
    q.finish(id, failed(K::Permanent));
    assert_eq!(q.state.dead_letters()[0].superseded, 1);
    assert_eq!(retry_all(&mut q), Retried { letters: 1, triggers: 0, superseded: 1 });
}
