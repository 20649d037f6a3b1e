//! Start-ups, synchronizations, ticks and events of a hook, across queues.

use super::*;

#[test]
fn a_hook_waits_for_its_synchronizations_in_other_queues() {
    for concurrency in [1, 3] {
        let mut q = Bench::new(&[("h", concurrency), ("g", 1)]);
        q.push("h", &own("h"), modified("a", 1));
        q.push("h", &QueueName::main(), Cause::Synchronization);
        q.state.push(trigger("h", own("h"), "other", modified("z", 2)));
        q.push("h", &shared("x"), tick(3));
        q.push("g", &own("g"), tick(4));
        assert_eq!(q.together(3), ["a1", "sync", "t4"], "what came earlier, and other hooks, go on");
        let hooks = q.state.stats(q.now).hooks;
        assert_eq!(hooks[1].unsynchronised, [BindingName::new("b")]);
        assert!(!hooks[1].synchronised());
        q.end_all();
        assert!(q.state.stats(q.now).hooks[1].synchronised());
        assert_eq!(q.together(2), ["t3", "z2"]);
    }
}

#[test]
fn only_its_own_events_wait_for_a_synchronization_in_the_background() {
    for concurrency in [1, 3] {
        let mut q = Bench::new(&[]);
        q.state
            .add_hook(hook("h"), HookQueueConfig { in_background: vec![BindingName::new("b")], ..wide(concurrency) });
        q.push("h", &QueueName::main(), Cause::Synchronization);
        q.state.push(trigger("h", own("h"), "other", modified("z", 1)));
        q.push("h", &shared("x"), tick(2));
        q.push("h", &own("h"), modified("a", 3));
        assert_eq!(q.together(3), ["sync", "t2", "z1"]);
        let hooks = q.state.stats(q.now).hooks;
        assert_eq!(hooks[0].unsynchronised_in_background, [BindingName::new("b")]);
        assert!(hooks[0].synchronised(), "nothing else waits for it");
        q.end_all();
        assert_eq!(q.rest(), ["a3"].map(words));
    }
}

/// `main` in shell-operator's order: start-ups by number, then each hook's synchronizations, then its ticks and events,
/// whenever they came.
#[test]
fn synchronizations_go_to_the_places_that_were_kept_for_them() {
    for (concurrency, queue) in [(1, own("h")), (3, own("h")), (1, QueueName::main())] {
        let mut q = Bench::new(&[("h", concurrency)]);
        let of = |binding: &str, cause| trigger("h", queue.clone(), binding, cause);
        for binding in ["b1", "b2"] {
            q.state.expect_list(&hook("h"), BindingName::new(binding));
        }
        q.push("h", &QueueName::main(), Cause::Startup);
        let startup = q.runs("start");
        q.state.push(of("timer", tick(1)));
        q.state.push(of("b1", Cause::Synchronization));
        q.state.listed(&hook("h"), &BindingName::new("b1"));
        q.state.push(of("b1", modified("a", 2)));
        q.nothing();
        q.done(startup);
        q.ends("sync");
        q.nothing();
        q.state.push(of("b2", Cause::Synchronization));
        q.state.push(of("b2", modified("z", 3)));
        q.state.listed(&hook("h"), &BindingName::new("b2"));
        let sync = q.runs("sync");
        q.nothing();
        q.done(sync);
        assert_eq!(q.rest().concat(), words("t1 a2 z3"));
    }
}

#[test]
fn a_binding_without_a_list_lets_the_hook_go_on() {
    let mut q = Bench::new(&[("h", 1)]);
    q.state.expect_list(&hook("h"), BindingName::new("b"));
    q.push("h", &own("h"), tick(1));
    q.nothing();
    q.state.listed(&hook("h"), &BindingName::new("b"));
    assert_eq!(q.rest(), ["t1"].map(words));
    q.push("h", &own("h"), tick(2));
    q.push("h", &own("h"), Cause::Synchronization);
    assert_eq!(q.rest(), ["t2", "sync"].map(words), "its kind came later, and no place was kept");
}

/// shell-operator's start: all start-ups by their order, then hook by hook its synchronizations, then what waited for
/// them.
#[test]
fn everything_in_main_starts_in_the_documented_order() {
    let mut q = Bench::new(&[("b", 1), ("a", 1), ("c", 1)]);
    let main = QueueName::main();
    q.push("b", &main, Cause::Startup);
    q.push("a", &main, Cause::Startup);
    for (name, binding) in [("a", "x"), ("a", "y"), ("b", "x"), ("c", "x")] {
        q.state.expect_list(&hook(name), BindingName::new(binding));
    }
    q.push("a", &main, tick(1));
    q.push("c", &main, tick(2));
    // Lists end in any order.
    for (name, binding) in [("c", "x"), ("a", "y"), ("b", "x"), ("a", "x")] {
        q.state.push(trigger(name, main.clone(), binding, Cause::Synchronization));
        q.state.push(trigger(name, main.clone(), binding, modified(binding, 3)));
        q.state.listed(&hook(name), &BindingName::new(binding));
    }
    let mut order = Vec::new();
    while let Some(job) = q.take() {
        let sync = matches!(job.triggers[0].cause, Cause::Synchronization);
        let binding = if sync { format!("/{}", job.triggers[0].binding) } else { String::new() };
        order.push(format!("{}{binding} {}", job.hook, labels(&job).join("+")));
        q.done(job.id);
    }
    let expected = [
        "b start", "a start", "a/x sync", "a/y sync", "b/x sync", "c/x sync", "a t1", "c t2+x3", "a y3", "b x3", "a x3",
    ];
    assert_eq!(order, expected);
}

#[test]
fn what_came_before_a_startup_does_not_wait_for_places_that_come_after_it() {
    let mut q = Bench::new(&[("h", 1)]);
    q.state.expect_list(&hook("h"), BindingName::new("b"));
    q.push("h", &own("h"), tick(1));
    q.nothing();
    q.push("h", &QueueName::main(), Cause::Startup);
    q.push("h", &own("h"), tick(2));
    assert_eq!(q.together(2), ["start", "t1"]);
    q.end_all();
    q.nothing();
    q.state.listed(&hook("h"), &BindingName::new("b"));
    assert_eq!(q.rest(), ["t2"].map(words));
}
