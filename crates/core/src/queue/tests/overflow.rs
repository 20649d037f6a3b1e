//! What happens to events when their tenant has no room for another one, even without its texts.

use std::collections::{BTreeMap, BTreeSet};

use super::*;
use crate::{
    fair::Tenant,
    model::HookName,
    queue::{item::Item, overflow::bare},
};

const KIB: usize = 1024;

/// A hook's binding.
type Bound = (HookName, BindingName);

/// Objects as the snapshots of bindings show them, and as hooks know them.
struct World {
    q: Bench,
    shown: BTreeMap<Bound, BTreeSet<String>>,
    known: BTreeMap<Bound, BTreeSet<String>>,
    /// How often each binding synchronized.
    synchronized: BTreeMap<Bound, usize>,
    version: u64,
}

/// Hooks of one namespace, and another one that is a tenant itself. The bindings `silent…` make no synchronizations.
fn world(bytes: usize, hooks: usize, concurrency: usize) -> World {
    let config = QueueConfig { max_held_bytes: bytes as u64, ..QueueConfig::default() };
    let mut q = Bench::with(config, &[("other", 1)]);
    for n in 0..hooks {
        let silent = (0..10).map(|n| BindingName::new(format!("silent{n}"))).collect();
        let terms = HookQueueConfig { tenant: Some(Tenant::namespace("team-a")), silent, ..wide(concurrency) };
        q.state.add_hook(hook(&format!("h{n}")), terms);
    }
    World { q, shown: BTreeMap::new(), known: BTreeMap::new(), synchronized: BTreeMap::new(), version: 0 }
}

impl World {
    fn change(&mut self, name: &str, binding: &str, object: &str, kind: WatchEventKind) -> Pushed {
        let of = self.shown.entry((hook(name), BindingName::new(binding))).or_default();
        if kind == Deleted {
            of.remove(object)
        } else {
            of.insert(object.to_owned())
        };
        self.version += 1;
        let created = self.q.now;
        let cause = event_of(kind, object, self.version);
        self.q.state.push(Trigger { created, ..trigger(name, own(name), binding, cause) })
    }

    fn create(&mut self, name: &str, binding: &str, object: &str) -> Pushed {
        self.change(name, binding, object, Added)
    }

    fn delete(&mut self, name: &str, binding: &str, object: &str) -> Pushed {
        self.change(name, binding, object, Deleted)
    }

    /// A run of each hook hangs.
    fn hang(&mut self, hooks: usize) {
        for n in 0..hooks {
            let name = format!("h{n}");
            self.q.state.push(trigger(&name, own(&name), "ticks", tick(0)));
            self.q.take().unwrap();
        }
    }

    fn waiting(&self) -> impl Iterator<Item = &Item> {
        self.q.state.lines.values().flat_map(|line| line.items())
    }

    fn used(&self) -> u64 {
        self.q.state.memory.used(&Tenant::namespace("team-a"))
    }

    /// What runs receive until nothing waits.
    fn run(&mut self) -> Vec<String> {
        let mut reported = Vec::new();
        self.q.end_all();
        loop {
            while let Some(job) = self.q.take() {
                for trigger in &job.triggers {
                    let bound = (job.hook.clone(), trigger.binding.clone());
                    reported.push(format!("{} {} {}", job.hook, trigger.binding, label(trigger)));
                    let known = self.known.entry(bound.clone()).or_default();
                    match &trigger.cause {
                        Cause::Synchronization => {
                            known.clone_from(&self.shown[&bound]);
                            *self.synchronized.entry(bound).or_default() += 1;
                        }
                        Cause::Event(event) if event.kind == Deleted => drop(known.remove(&*event.item.uid)),
                        Cause::Event(event) => drop(known.insert(event.item.uid.to_string())),
                        Cause::Startup | Cause::Schedule(_) => {}
                    }
                }
                self.q.done(job.id);
            }
            let Some(due) = self.q.state.next_due(self.q.now) else { break };
            self.q.now = due;
        }
        assert!(self.q.state.is_idle(), "{:?}", self.q.state.dump(self.q.now, 3));
        assert_eq!(self.q.state.memory.all_used(), 0);
        reported
    }
}

#[test]
// mutant: crates/core/src/queue/state.rs: `if !item.held.is_charged() && item.object().is_some() {` => `if false {`
// mutant: crates/core/src/queue/overflow.rs: `if synchronizes && !waits {` => `if false {`
fn hooks_that_hang_while_many_objects_are_deleted_hold_no_more_than_their_tenants_share() {
    for concurrency in [1, 4] {
        let mut world = world(512 * KIB, 4, concurrency);
        world.hang(4);
        let bindings = 4 * 10;
        for round in 0..5 {
            for (name, binding) in (0..4).flat_map(|name| (0..10).map(move |binding| (name, binding))) {
                let (name, binding) = (format!("h{name}"), format!("b{binding}"));
                for n in 0..50 {
                    world.create(&name, &binding, &format!("o{n}#{round}"));
                }
                for n in 0..50 - round {
                    world.delete(&name, &binding, &format!("o{n}#{round}"));
                }
                assert!(world.used() <= 384 * KIB as u64, "{} in round {round}", world.used());
                let takes: u64 = world.waiting().map(|item| bare(&item.trigger)).sum();
                assert!(takes <= 384 * KIB as u64 + bindings * KIB as u64, "{takes} in round {round}");
            }
        }
        assert_eq!(world.q.push("other", &own("other"), event_of(Deleted, "a", 1)), Pushed::Queued);
        world.run();
        let other = (hook("other"), BindingName::new("b"));
        assert!(world.known.remove(&other).unwrap().is_empty());
        assert_eq!(world.known, world.shown, "hooks know what there is");
        assert!(world.synchronized.values().all(|times| *times == 1), "{:?}", world.synchronized);
        // With room, there are events again.
        world.hang(4);
        assert_eq!(world.delete("h0", "b0", "o49#4"), Pushed::Queued);
        assert_eq!(world.run(), ["h0 b0 o494001"].map(|_| format!("h0 b0 o49{}", world.version)));
    }
}

#[test]
fn a_synchronization_takes_the_place_of_dropped_events_and_is_reported_once() {
    let mut world = world(64 * KIB, 2, 1);
    world.hang(2);
    world.create("h1", "b", "kept");
    let mut emptied = Vec::new();
    for n in 0..500 {
        world.delete("h0", "b", &format!("o#{n}"));
        emptied.extend(world.q.state.take_emptied());
    }
    assert!(emptied.iter().all(|emptied| emptied.hook == hook("h0") && emptied.synchronizes), "{emptied:?}");
    assert_eq!(emptied.iter().filter(|emptied| emptied.first).count(), 1);
    let dropped = emptied.iter().map(|emptied| emptied.events).sum::<usize>();
    let stats = world.q.state.stats(world.q.now);
    assert!(stats.hooks.iter().all(|hook| hook.synchronised()), "the hook stays ready");
    let reported = world.run();
    assert_eq!((reported[0].as_str(), reported[1].as_str()), ("h1 b kept1", "h0 b sync"));
    assert_eq!(reported.len(), 2 + 500 - dropped, "the smaller binding has lost nothing");
}

#[test]
fn a_binding_without_synchronizations_is_the_last_to_lose_events_and_receives_none() {
    let mut world = world(64 * KIB, 1, 1);
    world.hang(1);
    for n in 0..20 {
        world.delete("h0", "silent0", &format!("o#{n}"));
    }
    for n in 0..500 {
        world.delete("h0", "b", &format!("o#{n}"));
    }
    let emptied = world.q.state.take_emptied();
    assert!(emptied.iter().all(|emptied| emptied.binding == BindingName::new("b")), "{emptied:?}");
    let reported = world.run();
    assert_eq!(reported.iter().filter(|reported| reported.starts_with("h0 silent0 o")).count(), 20);
    world.hang(1);
    for n in 0..500 {
        world.delete("h0", "silent0", &format!("p#{n}"));
    }
    let emptied = world.q.state.take_emptied();
    assert!(!emptied.is_empty() && emptied.iter().all(|emptied| !emptied.synchronizes), "{emptied:?}");
    let dropped = emptied.iter().map(|emptied| emptied.events).sum::<usize>();
    let reported = world.run();
    assert!(reported.iter().all(|reported| reported.starts_with("h0 silent0 p")), "{reported:?}");
    assert_eq!(reported.len(), 500 - dropped);
}

#[test]
fn objects_that_come_and_go_while_nothing_of_their_hook_runs_go_unseen() {
    let mut world = world(64 * KIB, 1, 1);
    world.q.state.pause(&hook("h0"));
    world.delete("h0", "b", "before");
    for n in 0..500 {
        world.create("h0", "b", &format!("o#{n}"));
        world.delete("h0", "b", &format!("o#{n}"));
    }
    assert_eq!(world.q.state.take_emptied(), []);
    world.q.state.resume(&hook("h0"));
    let reported = world.run();
    assert!(reported[0] == "h0 b before1" && !reported.contains(&"h0 b sync".to_owned()), "{reported:?}");
    // A run that has begun may still see the object in a snapshot.
    world.hang(1);
    for n in 500..1_000 {
        world.create("h0", "b", &format!("o#{n}"));
        world.delete("h0", "b", &format!("o#{n}"));
    }
    assert!(world.run().contains(&"h0 b sync".to_owned()));
    assert!(world.known.values().all(BTreeSet::is_empty));
}

#[test]
fn failed_jobs_lose_events_too() {
    for sep in ["", "#"] {
        let mut world = world(64 * KIB, 1, 1_000);
        for n in 0..2_000 {
            world.create("h0", "b", &format!("o{sep}{n}"));
            if let Some(job) = world.q.take() {
                world.q.finish(job.id, failed(K::Retry));
            }
            let jobs = world.q.state.batches.values().flat_map(|batch| &batch.items);
            let takes: u64 = world.waiting().chain(jobs).map(|item| bare(&item.trigger)).sum();
            assert!(takes <= 49 * KIB as u64, "{takes}");
        }
        world.run();
        assert_eq!(world.known, world.shown);
    }
}
