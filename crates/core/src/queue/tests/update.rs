//! A hook whose next version takes over: it is held, and what waits of it is checked.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use super::*;

fn bound(binding: &str, queue: &QueueName, cause: Cause) -> Trigger {
    trigger("h", queue.clone(), binding, cause)
}

/// Keeps only triggers of these bindings.
fn update_hook(q: &mut Bench, concurrency: usize, bindings: &[&str]) -> usize {
    let keep = &mut |trigger: &mut Trigger| bindings.contains(&trigger.binding.as_str());
    q.state.update_hook(&hook("h"), wide(concurrency), keep)
}

#[test]
fn a_held_hook_stands_still_whatever_becomes_of_its_pause() {
    let mut q = Bench::new(&[("h", 1)]);
    q.push("h", &own("h"), tick(1));
    assert!(q.state.hold(&hook("h")) && q.state.pause(&hook("h")));
    q.nothing();
    q.state.resume(&hook("h"));
    q.nothing();
    q.state.pause(&hook("h"));
    q.state.release(&hook("h"));
    q.nothing();
    q.state.resume(&hook("h"));
    assert_eq!(q.rest(), [words("t1")]);
    assert!(!q.state.hold(&hook("unknown")) && !q.state.release(&hook("unknown")));
}

#[test]
fn what_is_not_kept_is_dropped_wherever_it_waits() {
    for concurrency in [1, 3] {
        let x = shared("x");
        let mut q = Bench::new(&[("h", concurrency), ("g", 1)]);
        q.state.push(bound("gone", &own("h"), modified("a", 1)));
        q.state.push(bound("kept", &own("h"), modified("b", 2)));
        q.state.push(bound("gone", &x, modified("c", 3)));
        q.push("g", &x, tick(9));
        q.state.push(bound("kept", &x, modified("d", 4)));
        q.state.push(Trigger { debounce: secs(1), ..bound("gone", &own("h"), modified("e", 5)) });
        q.state.hold(&hook("h"));
        assert_eq!(update_hook(&mut q, concurrency, &["kept"]), 3);
        q.state.release(&hook("h"));
        q.pass(secs(2));
        let mut rest = q.rest();
        rest.sort();
        assert_eq!(rest, ["b2", "d4", "t9"].map(words), "concurrency {concurrency}");
        assert!(q.state.is_idle());
        assert_eq!(q.state.stats(q.now).hooks.iter().find(|of| of.hook == hook("h")).unwrap().outstanding, 0);
    }
}

#[test]
fn a_job_that_waits_for_its_next_try_loses_what_is_not_kept() {
    for concurrency in [1, 3] {
        let mut q = Bench::new(&[("h", concurrency)]);
        // One barrier, so that both are in one job.
        q.state.push(bound("gone", &own("h"), tick(1)));
        q.state.push(bound("kept", &own("h"), tick(2)));
        let job = q.runs("t1 t2");
        q.finish(job, failed(K::Retry));
        q.state.hold(&hook("h"));
        assert_eq!(update_hook(&mut q, concurrency, &["kept"]), 1);
        q.state.release(&hook("h"));
        let again = q.take().unwrap();
        assert_eq!((again.attempt, labels(&again)), (1, words("t2")));
        q.finish(again.id, failed(K::Retry));
        // Nothing of it is left now, so the line is free.
        assert_eq!(update_hook(&mut q, concurrency, &[]), 1);
        q.state.push(bound("new", &own("h"), tick(3)));
        assert_eq!(q.rest(), [words("t3")]);
        assert!(q.state.is_idle());
    }
}

#[test]
fn objects_of_dropped_triggers_are_free_and_a_dropped_barrier_lets_others_pass() {
    let mut q = Bench::new(&[("h", 2)]);
    q.state.push(bound("gone", &own("h"), modified("a", 1)));
    let (job, _) = q.next();
    q.finish(job, failed(K::Retry));
    q.state.push(bound("kept", &own("h"), modified("a", 2)));
    q.state.push(bound("gone", &own("h"), tick(3)));
    q.state.push(bound("kept", &own("h"), modified("b", 4)));
    assert_eq!(update_hook(&mut q, 2, &["kept"]), 2);
    assert_eq!(q.together(2), ["a2", "b4"]);
    q.end_all();
    assert!(q.state.is_idle());
}

#[test]
fn a_synchronization_that_is_dropped_holds_up_nobody() {
    let mut q = Bench::new(&[("h", 1)]);
    q.state.push(bound("gone", &own("h"), Cause::Synchronization));
    q.state.push(bound("kept", &shared("x"), tick(1)));
    q.state.hold(&hook("h"));
    q.nothing();
    assert_eq!(update_hook(&mut q, 1, &["kept"]), 1);
    q.state.release(&hook("h"));
    assert_eq!(q.rest(), [words("t1")]);
}

#[test]
fn kept_triggers_have_the_terms_that_they_are_given() {
    let once = RetryPolicy { attempts: std::num::NonZeroU32::new(1), ..RetryPolicy::default() };
    let mut q = Bench::new(&[("h", 1)]);
    q.push("h", &own("h"), tick(1));
    let keep = &mut |trigger: &mut Trigger| {
        trigger.retry = once;
        true
    };
    assert_eq!(q.state.update_hook(&hook("h"), wide(1), keep), 0);
    let (job, _) = q.next();
    assert!(matches!(q.finish(job, failed(K::Retry)), Verdict::GivenUp { .. }));
    // Letters of removed bindings go with them.
    assert_eq!(update_hook(&mut q, 1, &["b"]), 0);
    assert_eq!(q.state.dead_letters().len(), 1);
    update_hook(&mut q, 1, &[]);
    assert_eq!(q.state.dead_letters(), []);
}

/// The other version failed, and not this one. It waits for nothing, and has all its attempts.
#[test]
fn a_new_version_is_tried_at_once_and_begins_to_count_anew() {
    for concurrency in [1, 3] {
        let mut q = Bench::new(&[("h", concurrency)]);
        let attempts = std::num::NonZeroU32::new(3);
        let retry = RetryPolicy { attempts, initial: secs(600), max: secs(600), ..RetryPolicy::default() };
        q.state.push(Trigger { retry, ..bound("kept", &own("h"), tick(1)) });
        let (job, _) = q.next();
        q.finish(job, failed(K::Retry));
        q.pass(secs(700));
        let (job, _) = q.next();
        q.finish(job, failed(K::Retry));
        q.nothing();
        q.state.hold(&hook("h"));
        assert_eq!(update_hook(&mut q, concurrency, &["kept"]), 0);
        q.nothing();
        q.state.release(&hook("h"));
        for attempt in 1..=3 {
            let job = q.take().unwrap();
            assert_eq!((job.attempt, labels(&job)), (attempt, words("t1")), "concurrency {concurrency}");
            q.finish(job.id, failed(K::Retry));
            q.nothing();
            q.pass(secs(700));
        }
        // All of its own attempts are used up now.
        q.nothing();
        assert!(q.state.is_idle());
    }
}

#[test]
fn a_hook_of_a_paused_module_stands_still_whatever_becomes_of_its_own_pause() {
    let mut q = Bench::new(&[("h", 1)]);
    q.push("h", &own("h"), tick(1));
    assert!(q.state.suspend(&hook("h"), true) && q.state.pause(&hook("h")));
    q.nothing();
    q.state.resume(&hook("h"));
    q.nothing();
    q.state.pause(&hook("h"));
    q.state.suspend(&hook("h"), false);
    q.nothing();
    q.state.resume(&hook("h"));
    assert_eq!(q.rest(), [words("t1")]);
    assert!(!q.state.suspend(&hook("unknown"), true));
}
