//! Paused hooks: what waits, what passes, and what comes back where.

use super::*;

#[test]
fn nothing_of_a_paused_hook_starts_and_all_keeps_its_order() {
    for concurrency in [1, 3] {
        let mut q = Bench::new(&[("h", concurrency), ("g", 1)]);
        q.push("h", &own("h"), tick(1));
        let (running, _) = q.next();
        assert!(q.state.pause(&hook("h")));
        assert!(q.state.pause(&hook("h")), "again is the same");
        q.push("h", &own("h"), tick(2));
        q.push("g", &own("g"), tick(3));
        q.done(running);
        q.ends("t3");
        q.nothing();
        let stats = q.state.stats(q.now);
        assert!(stats.hooks[1].paused && !stats.hooks[0].paused);
        assert_eq!((stats.hooks[1].outstanding, stats.queues.iter().map(|queue| queue.length).sum::<usize>()), (1, 1));
        assert!(q.state.resume(&hook("h")));
        assert_eq!(q.rest(), ["t2"].map(words));
    }
    let mut q = Bench::new(&[]);
    assert!(!q.state.pause(&hook("nobody")) && !q.state.resume(&hook("nobody")));
}

#[test]
fn others_pass_a_paused_hook_in_a_shared_queue() {
    let mut q = Bench::new(&[("h", 1), ("g", 1)]);
    let x = shared("x");
    q.state.pause(&hook("h"));
    for (name, at) in [("h", 1), ("g", 2), ("h", 3), ("h", 4), ("g", 5)] {
        q.push(name, &x, tick(at));
    }
    let g = q.runs("t2");
    assert_eq!(q.state.stats(q.now).queues[0].length, 4);
    q.push("h", &x, tick(6));
    q.state.resume(&hook("h"));
    q.nothing();
    q.done(g);
    assert_eq!(q.rest(), ["t1 t3 t4", "t5", "t6"].map(words));
}

#[test]
fn others_pass_the_failed_job_of_a_paused_hook() {
    for resumed_while_busy in [false, true] {
        let mut q = Bench::new(&[("h", 1), ("g", 1)]);
        let x = shared("x");
        q.push("h", &x, tick(1));
        let (job, _) = q.next();
        q.push("g", &x, tick(2));
        q.push("h", &x, tick(3));
        if resumed_while_busy {
            // It fails while the hook is paused.
            q.state.pause(&hook("h"));
            q.finish(job, failed(K::Retry));
        } else {
            q.finish(job, failed(K::Retry));
            q.nothing();
            q.state.pause(&hook("h"));
        }
        let g = q.runs("t2");
        q.pass(secs(5));
        q.nothing();
        if resumed_while_busy {
            q.state.resume(&hook("h"));
            q.nothing();
            q.done(g);
        } else {
            q.done(g);
            q.nothing();
            q.state.resume(&hook("h"));
        }
        let again = q.take().unwrap();
        assert_eq!((again.id, again.attempt, labels(&again)), (job, 2, words("t1 t3")));
        q.done(again.id);
        assert!(q.state.is_idle());
    }
}

#[test]
fn a_job_that_comes_back_early_waits_for_its_delay_and_holds_the_queue() {
    let mut q = Bench::new(&[("h", 1), ("g", 1)]);
    let x = shared("x");
    q.push("h", &x, tick(1));
    let (job, _) = q.next();
    q.state.pause(&hook("h"));
    q.finish(job, failed(K::Retry));
    q.state.resume(&hook("h"));
    q.push("g", &x, tick(2));
    q.nothing();
    assert_eq!(q.rest(), ["t1", "t2"].map(words));
}

#[test]
fn what_is_put_aside_folds_and_can_be_removed() {
    let config = QueueConfig { max_pending: 2, ..QueueConfig::default() };
    let mut q = Bench::with(config, &[("h", 1), ("g", 1)]);
    let x = shared("x");
    q.state.pause(&hook("h"));
    q.push("h", &x, modified("a", 1));
    q.push("h", &x, modified("b", 2));
    q.nothing();
    assert_eq!(q.push("h", &x, modified("a", 3)), Pushed::Folded);
    assert_eq!(q.push("h", &x, modified("a", 4)), Pushed::Folded);
    q.state.check_index();
    q.push("g", &x, tick(5));
    q.ends("t5");
    q.state.resume(&hook("h"));
    let job = q.runs("a4 b2");
    q.state.pause(&hook("h"));
    q.finish(job, failed(K::Retry));
    q.push("h", &x, tick(6));
    q.nothing();
    assert_eq!(q.state.remove_hook(&hook("h")), 3);
    assert!(q.state.is_idle());
    q.state.add_hook(hook("h"), wide(1));
    q.push("h", &x, tick(7));
    assert_eq!(q.rest(), ["t7"].map(words), "the pause went with the hook");
}
