//! Rate limits, observed through tokens.

use std::num::NonZeroU32;

use super::*;
use crate::model::RateLimit;

fn limited(interval: u64, burst: u32, concurrency: usize) -> HookQueueConfig {
    let rate = RateLimit { min_interval: secs(interval), burst: NonZeroU32::new(burst).unwrap() };
    HookQueueConfig { rate: Some(rate), ..wide(concurrency) }
}

#[test]
fn a_run_takes_a_token_and_what_comes_meanwhile_joins_the_next() {
    for concurrency in [1, 3] {
        let mut q = Bench::new(&[]);
        q.state.add_hook(hook("h"), limited(30, 2, concurrency));
        for version in 1..=2 {
            q.push("h", &own("h"), tick(version));
            let (id, _) = q.next();
            q.done(id);
        }
        q.push("h", &own("h"), tick(3));
        q.pass(secs(10));
        q.nothing();
        q.push("h", &own("h"), tick(4));
        q.nothing();
        assert_eq!(q.state.next_due(q.now), Some(q.now + secs(20)));
        q.pass(secs(20));
        let id = q.runs("t3 t4");
        q.push("h", &own("h"), tick(5));
        q.finish(id, failed(K::Retry));
        q.nothing();
        q.pass(secs(5));
        q.nothing();
        assert_eq!(q.state.next_due(q.now), Some(q.now + secs(25)), "a retry waits for a token too");
        q.pass(secs(25));
        assert_eq!(q.next().1, words("t3 t4 t5"));
    }
}

#[test]
fn waiting_for_a_token_holds_no_worker_and_keeps_the_queue_in_order() {
    let config = QueueConfig { max_parallel_runs: 1, ..QueueConfig::default() };
    let mut q = Bench::with(config, &[("g", 1)]);
    q.state.add_hook(hook("h"), limited(60, 1, 1));
    q.push("h", &shared("x"), tick(1));
    let (first, _) = q.next();
    q.done(first);
    q.push("h", &shared("x"), tick(2));
    q.push("g", &shared("x"), tick(3));
    q.push("g", &own("g"), tick(4));
    let (other, what) = q.next();
    assert_eq!(what, words("t4"), "g does not wait in its own queue");
    q.done(other);
    q.nothing();
    assert_eq!(q.rest(), ["t2", "t3"].map(words));
}

#[test]
fn queues_of_one_hook_get_its_tokens_in_turn() {
    let config = QueueConfig { batch_triggers: 1, ..QueueConfig::default() };
    let mut q = Bench::with(config, &[]);
    q.state.add_hook(hook("h"), limited(10, 1, 1));
    for (queue, at) in [(shared("x"), 1), (shared("y"), 11), (shared("z"), 21)] {
        for n in 0..3 {
            q.push("h", &queue, tick(at + n));
        }
    }
    let mut order = Vec::new();
    while !q.state.is_idle() {
        match q.take() {
            Some(job) => {
                order.push(job.queue.to_string());
                q.done(job.id);
            }
            None => q.now = q.state.next_due(q.now).expect("a token comes"),
        }
    }
    for turn in order.chunks(3) {
        let mut turn = turn.to_vec();
        turn.sort();
        assert_eq!(turn, ["x", "y", "z"], "out of {order:?}");
    }
}

/// A hook that has used its only token, and has more to do.
fn without_token() -> Bench {
    let mut q = Bench::new(&[]);
    q.state.add_hook(hook("h"), limited(60, 1, 1));
    q.push("h", &own("h"), tick(1));
    q.ends("t1");
    q.push("h", &own("h"), tick(2));
    q
}

#[test]
fn new_terms_count_at_once_and_the_same_ones_give_no_token() {
    let mut q = without_token();
    q.state.add_hook(hook("h"), limited(60, 1, 1));
    q.nothing();
    q.state.add_hook(hook("h"), wide(1));
    assert_eq!(q.next().1, words("t2"));
    assert_eq!(q.state.next_due(q.now), None);
}

#[test]
fn a_removed_hook_leaves_no_token_to_wait_for() {
    let mut q = without_token();
    q.nothing();
    q.state.remove_hook(&hook("h"));
    assert_eq!(q.state.next_due(q.now), None);
}
