//! What the dump says about queues that do not move.

use super::*;

fn state_of(q: &Bench, queue: &QueueName) -> QueueState {
    let dump = q.state.dump(q.now, 10);
    dump.into_iter().find(|dump| dump.queue == *queue).expect("the queue is known").state
}

#[test]
fn every_reason_to_wait_has_a_name() {
    let mut q = Bench::new(&[("h", 1), ("g", 1)]);
    let b = BindingName::new("b");
    q.state.expect_list(&hook("h"), b.clone());
    q.push("h", &own("h"), tick(1));
    assert_eq!(state_of(&q, &own("h")), QueueState::WaitingForList(b.clone()));
    q.push("h", &QueueName::main(), Cause::Synchronization);
    q.state.listed(&hook("h"), &b);
    assert_eq!(state_of(&q, &own("h")), QueueState::WaitingForSynchronization(b));
    assert_eq!(state_of(&q, &QueueName::main()), QueueState::Ready);
    let (sync, _) = q.next();
    assert_eq!(state_of(&q, &QueueName::main()), QueueState::Running);
    q.done(sync);
    assert_eq!(state_of(&q, &QueueName::main()), QueueState::Empty);
    let (job, _) = q.next();
    q.finish(job, failed(K::Retry));
    q.pass(secs(2));
    assert_eq!(state_of(&q, &own("h")), QueueState::Retry(secs(3)));
    q.state.pause(&hook("h"));
    assert_eq!(state_of(&q, &own("h")), QueueState::Paused);
    q.push("g", &QueueName::main(), Cause::Startup);
    q.push("g", &own("g"), tick(2));
    assert_eq!(state_of(&q, &own("g")), QueueState::WaitingForStartup);
    let rate = crate::model::RateLimit { min_interval: secs(9), burst: std::num::NonZeroU32::MIN };
    q.state.add_hook(hook("g"), HookQueueConfig { rate: Some(rate), ..wide(1) });
    let (startup, _) = q.next();
    q.done(startup);
    assert_eq!(state_of(&q, &own("g")), QueueState::WaitingForToken(secs(9)));
}

#[test]
fn events_that_wait_until_their_object_is_quiet_are_shown() {
    for known in [false, true] {
        let mut q = Bench::new(&[("h", 1)]);
        if known {
            q.push("h", &own("h"), tick(1));
            let (id, _) = q.next();
            q.done(id);
        }
        let event = |name| Trigger { debounce: secs(2), ..trigger("h", own("h"), "b", modified(name, 1)) };
        q.state.push(event("a"));
        q.state.push(event("c"));
        let dump = q.state.dump(q.now, 1);
        let [QueueDump { queue, state: QueueState::Debounced(left), total: 2, triggers }] = dump.as_slice() else {
            panic!("{dump:?}")
        };
        assert!(*queue == own("h") && *left <= secs(3), "{dump:?}");
        assert_eq!((triggers.len(), triggers[0].cause), (1, "modified"));
        // What can run hides that they wait, and not that they are there.
        q.push("h", &own("h"), tick(2));
        let dump = q.state.dump(q.now, 9);
        assert_eq!((&dump[0].state, dump[0].total, dump[0].triggers.len()), (&QueueState::Ready, 3, 3));
    }
}

/// A hook whose next version takes over, or all hooks of a standby, wait for no free place.
// mutant: crates/core/src/queue/stats.rs: `self.hooks.get(hook).is_some_and(Hook::stands_still)` => `self.hooks.get(hook).is_some_and(|hook| hook.paused)`
#[test]
fn a_hook_that_is_held_and_a_standby_are_not_ready() {
    for queue in [own("h"), QueueName::main()] {
        let mut q = Bench::new(&[("h", 1), ("g", 1)]);
        q.push("h", &queue, tick(1));
        assert_eq!(state_of(&q, &queue), QueueState::Ready);
        q.state.hold(&hook("h"));
        assert_eq!(state_of(&q, &queue), QueueState::Held);
        q.state.pause(&hook("h"));
        assert_eq!(state_of(&q, &queue), QueueState::Paused);
        q.state.resume(&hook("h"));
        assert_eq!(state_of(&q, &queue), QueueState::Held);
        if queue == QueueName::main() {
            q.push("g", &queue, tick(2));
            let (id, _) = q.next();
            q.done(id);
            assert_eq!(state_of(&q, &queue), QueueState::Held);
        }
        q.state.stand_by();
        assert_eq!(state_of(&q, &queue), QueueState::Standby);
        q.state.begin();
        q.state.release(&hook("h"));
        assert_eq!(state_of(&q, &queue), QueueState::Ready);
        let (id, _) = q.next();
        q.finish(id, failed(K::Retry));
        q.state.hold(&hook("h"));
        assert_eq!(state_of(&q, &queue), QueueState::Held);
        q.state.release(&hook("h"));
        q.pass(secs(5));
        let (id, _) = q.next();
        q.done(id);
        q.state.stand_by();
        assert_eq!(state_of(&q, &queue), QueueState::Empty);
    }
}

#[test]
fn shows_the_first_triggers_with_what_happened_to_them() {
    for concurrency in [1, 3] {
        let mut q = Bench::new(&[("h", concurrency)]);
        q.push("h", &own("h"), modified("a", 1));
        q.now = Instant::now();
        let (id, _) = q.next();
        q.finish(id, failed(K::Retry));
        q.push("h", &own("h"), tick(2));
        q.state.push(Trigger { group: Some("g".into()), ..trigger("h", own("h"), "b2", modified("c", 3)) });
        q.push("h", &own("h"), tick(4));
        q.pass(secs(2));
        let dump = q.state.dump(q.now, 3);
        let [QueueDump { total: 4, triggers, .. }] = dump.as_slice() else { panic!("{dump:?}") };
        let [a, t, c] = triggers.as_slice() else { panic!("{triggers:?}") };
        assert_eq!((a.attempts, a.failure.as_deref(), a.running), (1, Some("as the test wants"), false));
        assert_eq!((a.cause, a.object.as_ref().unwrap().1.name.as_ref()), ("modified", "a"));
        assert!(a.age >= secs(2));
        assert_eq!((t.cause, t.attempts, &t.object), ("schedule", 0, &None));
        assert_eq!((c.group.as_deref(), c.binding.as_str()), (Some("g"), "b2"));
        assert_eq!(q.state.dump(q.now, 0)[0].triggers, []);
    }
}
