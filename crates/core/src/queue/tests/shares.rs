//! Run slots are shared: what one tenant takes, and what is left for others.

use super::*;
use crate::fair::Tenant;

const SLOTS: usize = 64;

fn running(q: &Bench, name: &str) -> usize {
    q.state.stats(q.now).hooks.iter().find(|stats| stats.hook.as_str() == name).unwrap().running
}

fn take_all(q: &mut Bench) -> Vec<Job> {
    std::iter::from_fn(|| q.take()).collect()
}

/// A hook with the greatest possible `concurrency`, whose runs do not end, and one job for each object.
fn greedy(others: &[(&str, usize)]) -> Bench {
    let config = QueueConfig { max_parallel_runs: SLOTS, batch_triggers: 1, ..QueueConfig::default() };
    let mut q = Bench::with(config, others);
    q.state.add_hook(hook("greedy"), wide(1_000));
    for n in 0..1_000 {
        q.push("greedy", &own("greedy"), modified(&format!("o{n}"), n));
    }
    q
}

#[test]
// mutant: crates/core/src/queue/shares.rs: `may_take(used as u64, 1, self.slots.saturating_sub(self.running) as u64)` => `used < usize::MAX`
fn one_hook_never_has_all_slots() {
    let mut q = greedy(&[("a", 1), ("b", 1)]);
    let taken = take_all(&mut q);
    assert_eq!((taken.len(), running(&q, "greedy")), (48, 48));
    // Others begin at once, again and again, while none of these jobs ends.
    for at in 0..50 {
        for name in ["a", "b"] {
            q.push(name, &own(name), tick(at));
        }
        let began = take_all(&mut q);
        assert_eq!(began.iter().filter(|job| job.hook != hook("greedy")).count(), 2, "{began:?}");
        began.iter().for_each(|job| q.done(job.id));
    }
    assert_eq!(running(&q, "greedy"), 48);
}

// mutant: crates/core/src/queue/shares.rs: `may_take(used as u64, 1, self.slots.saturating_sub(self.running) as u64)` => `used < usize::MAX`
#[test]
fn all_hooks_of_a_namespace_have_one_share() {
    let config = QueueConfig { max_parallel_runs: SLOTS, batch_triggers: 1, ..QueueConfig::default() };
    let mut q = Bench::with(config, &[("alone", 1)]);
    let names: Vec<String> = (0..100).map(|n| format!("h{n}")).collect();
    for name in &names {
        q.state.add_hook(hook(name), HookQueueConfig { tenant: Some(Tenant::namespace("team-a")), ..wide(1) });
        // Many queues of one hook do not help either.
        for queue in [own(name), shared(name)] {
            q.push(name, &queue, tick(1));
        }
    }
    assert_eq!(take_all(&mut q).len(), 48);
    q.push("alone", &own("alone"), tick(1));
    let began = take_all(&mut q);
    assert_eq!(began.iter().map(|job| job.hook.as_str()).collect::<Vec<_>>(), ["alone"]);
    // A job that ends makes room for the namespace's next one, and all of them get their turn.
    q.done(began[0].id);
    let mut left = 200 - 48;
    while left > 0 {
        let id = q.state.running().next().unwrap();
        q.done(id);
        let began = take_all(&mut q);
        assert_eq!(began.len(), 1);
        left -= 1;
    }
    q.end_all();
    q.nothing();
    assert!(q.state.is_idle());
}

#[test]
fn tenants_take_turns_and_a_crowd_is_no_advantage() {
    let config = QueueConfig { max_parallel_runs: 4, batch_triggers: 1, ..QueueConfig::default() };
    let mut q = Bench::with(config, &[("alone", 1)]);
    for n in 0..50 {
        let name = format!("h{n}");
        q.state.add_hook(hook(&name), HookQueueConfig { tenant: Some(Tenant::namespace("team-a")), ..wide(1) });
        q.push(&name, &own(&name), tick(1));
    }
    for at in 0..10 {
        q.push("alone", &own("alone"), tick(at));
    }
    let mut order = Vec::new();
    while let Some(job) = q.take() {
        order.push(job.hook == hook("alone"));
        q.done(job.id);
    }
    assert_eq!(order.iter().take(20).filter(|alone| **alone).count(), 10, "{order:?}");
}

#[test]
// mutant: crates/core/src/queue/line/mod.rs: `(!self.shares.may_begin(&hook.tenant))` => `false`
fn a_shared_queue_counts_for_the_hook_whose_trigger_is_first() {
    let mut q = greedy(&[("a", 1)]);
    take_all(&mut q);
    let x = shared("x");
    q.push("a", &x, tick(1));
    q.push("greedy", &x, tick(2));
    q.ends("t1");
    // The hook's own jobs have the whole share.
    q.nothing();
    let id = q.state.running().next().unwrap();
    q.done(id);
    assert_eq!(take_all(&mut q).len(), 1);
}

#[test]
fn a_host_bounds_every_hooks_concurrency() {
    let config = QueueConfig { max_concurrency: 2, batch_triggers: 1, ..QueueConfig::default() };
    let mut q = Bench::with(config, &[]);
    q.state.add_hook(hook("h"), wide(1_000));
    for n in 0..9 {
        q.push("h", &own("h"), modified(&format!("o{n}"), n));
    }
    assert_eq!(take_all(&mut q).len(), 2);
}
