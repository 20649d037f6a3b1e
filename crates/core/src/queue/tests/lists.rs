//! Triggers that wait for a list or for a complete snapshot, and what passes them.

use super::*;

fn including(name: &str, queue: &QueueName, snapshot: &str, cause: Cause) -> Trigger {
    Trigger { snapshots: [BindingName::new(snapshot)].into(), ..trigger(name, queue.clone(), "b", cause) }
}

#[test]
// mutant: crates/core/src/queue/preconditions.rs: `matches!(self, Self::List(_) | Self::Snapshot(_))` => `false`
fn others_pass_a_hook_that_waits_for_a_list_in_a_shared_queue() {
    let mut q = Bench::new(&[("h", 1), ("g", 1)]);
    let (x, b) = (shared("x"), BindingName::new("b"));
    q.state.expect_list(&hook("h"), b.clone());
    q.push("h", &x, tick(1));
    q.push("g", &x, tick(2));
    q.push("h", &x, modified("a", 3));
    q.push("g", &x, tick(4));
    q.ends("t2");
    let (g, what) = q.next();
    assert_eq!(what, words("t4"));
    q.push("g", &x, tick(5));
    // Its synchronization goes to the place that was kept for it, before what was passed.
    q.state.push(trigger("h", x.clone(), "b", Cause::Synchronization));
    q.state.listed(&hook("h"), &b);
    q.done(g);
    assert_eq!(q.rest(), ["sync", "t1 a3", "t5"].map(words));
}

#[test]
fn what_includes_an_incomplete_snapshot_waits_and_others_pass_it() {
    for (queue, concurrency) in [(shared("x"), 1), (own("h"), 1), (own("h"), 2)] {
        let mut q = Bench::new(&[("h", concurrency), ("g", 1)]);
        let b = BindingName::new("b");
        q.state.incomplete(&hook("h"), &b);
        q.state.push(including("h", &queue, "b", modified("a", 1)));
        q.push("g", &shared("x"), tick(2));
        let g = q.runs("t2");
        q.nothing();
        q.done(g);
        q.nothing();
        let dump = q.state.dump(q.now, 9).into_iter().find(|dump| dump.queue == queue).unwrap();
        assert_eq!(dump.state, QueueState::WaitingForSnapshot(hook("h"), b.clone()));
        q.state.complete(&hook("h"), &b);
        assert_eq!(q.rest(), ["a1"].map(words));
    }
}

#[test]
// mutant: crates/core/src/queue/line/mod.rs: `hook.lacks(&batch.items).map(|_| Taken::Gated(batch.hook.clone()))` => `None`
fn a_next_try_waits_for_a_complete_snapshot() {
    for (queue, concurrency) in [(own("h"), 1), (own("h"), 2)] {
        let mut q = Bench::new(&[("h", concurrency)]);
        q.state.push(including("h", &queue, "b", modified("a", 1)));
        let (id, _) = q.next();
        q.finish(id, failed(K::Retry));
        q.state.incomplete(&hook("h"), &BindingName::new("b"));
        q.pass(secs(5));
        q.nothing();
        q.state.complete(&hook("h"), &BindingName::new("b"));
        assert_eq!(q.rest(), ["a1"].map(words));
    }
}

#[test]
fn others_pass_a_next_try_that_waits_for_a_complete_snapshot() {
    let mut q = Bench::new(&[("h", 1), ("g", 1)]);
    let x = shared("x");
    q.state.push(including("h", &x, "b", modified("a", 1)));
    q.push("g", &x, tick(2));
    q.push("h", &x, tick(3));
    let (id, _) = q.next();
    q.finish(id, failed(K::Retry));
    q.state.incomplete(&hook("h"), &BindingName::new("b"));
    q.nothing();
    q.pass(secs(5));
    let (g, what) = q.next();
    assert_eq!(what, words("t2"), "and not what comes later of the same hook");
    q.done(g);
    q.nothing();
    q.state.complete(&hook("h"), &BindingName::new("b"));
    assert_eq!(q.rest(), ["a1 t3"].map(words));
}

#[test]
fn a_binding_that_may_never_be_listed_holds_up_only_what_includes_it() {
    for queue in [own("h"), shared("x")] {
        let mut q = Bench::new(&[("h", 1)]);
        for binding in ["b", "other"] {
            q.state.expect_list(&hook("h"), BindingName::new(binding));
        }
        q.state.push(including("h", &shared("y"), "b", tick(1)));
        q.push("h", &queue, tick(2));
        q.state.listed(&hook("h"), &BindingName::new("other"));
        q.nothing();
        q.state.exempt_from_sync(&hook("h"), &BindingName::new("b"));
        q.ends("t2");
        q.nothing();
        q.state.listed(&hook("h"), &BindingName::new("b"));
        assert_eq!(q.rest(), ["t1"].map(words));
    }
}

#[test]
// mutant: crates/core/src/queue/preconditions.rs: `self.incomplete.remove(binding)` => `{ self.unlisted.remove(binding); self.incomplete.remove(binding) }`
fn the_synchronizations_of_a_group_wait_for_each_other_and_run_as_one() {
    let mut q = Bench::new(&[("h", 1)]);
    let names = ["a", "b"].map(BindingName::new);
    for name in &names {
        q.state.expect_list(&hook("h"), name.clone());
    }
    // Both snapshots are complete. The synchronizations come one after the other.
    for name in &names {
        q.state.complete(&hook("h"), name);
    }
    for name in &names {
        q.nothing();
        let snapshots = names.to_vec().into();
        let reported = trigger("h", own("h"), name.as_str(), Cause::Synchronization);
        q.state.push(Trigger { snapshots, group: Some("g".into()), ..reported });
        q.nothing();
        q.state.listed(&hook("h"), name);
    }
    assert_eq!(q.rest(), ["sync"].map(words), "one run, reported as one");
}

#[test]
fn a_list_makes_no_snapshot_complete() {
    let mut q = Bench::new(&[("h", 1)]);
    let b = BindingName::new("b");
    q.state.expect_list(&hook("h"), b.clone());
    q.state.push(including("h", &own("h"), "b", tick(1)));
    q.state.incomplete(&hook("h"), &b);
    q.state.listed(&hook("h"), &b);
    q.nothing();
    q.state.complete(&hook("h"), &b);
    assert_eq!(q.rest(), ["t1"].map(words));
}
