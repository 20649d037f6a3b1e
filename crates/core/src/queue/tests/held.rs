//! What texts in queues hold of the memory that tenants share: what one tenant may hold, and what happens to the rest.

use std::{
    collections::{HashMap, HashSet},
    sync::{Arc, Weak},
};

use super::*;
use crate::{
    fair::Tenant,
    model::{HookName, Item},
};

const KIB: usize = 1024;

/// Objects as the snapshots of bindings show them, and all texts that ever existed.
#[derive(Default)]
struct Shown {
    items: HashMap<(HookName, String), Arc<Item>>,
    texts: Vec<Weak<str>>,
}

impl Shown {
    /// A change of an object of 1 KiB, each time with another text.
    fn change(&mut self, of: &str, object: &str, kind: WatchEventKind, version: u64) -> Cause {
        let Cause::Event(mut event) = event_of(kind, object, version) else { panic!() };
        let key = (hook(of), object.to_owned());
        if kind == Deleted {
            event.item = self.items.remove(&key).unwrap();
            return Cause::Event(event);
        }
        let text: Arc<str> = format!("{version:0>KIB$}").into();
        self.texts.push(Arc::downgrade(&text));
        event.item = Arc::new(Item { object: Some(text), ..(*event.item).clone() });
        self.items.insert(key, event.item.clone());
        Cause::Event(event)
    }

    /// Bytes of texts that something holds, but no snapshot.
    fn held(&self) -> usize {
        let shown: HashSet<_> = self.items.values().filter_map(|item| Some(item.object.as_ref()?.as_ptr())).collect();
        let held = self.texts.iter().filter_map(Weak::upgrade).filter(|text| !shown.contains(&text.as_ptr()));
        held.map(|text| text.len()).sum()
    }
}

/// Hooks of one namespace, and others that are tenants themselves.
fn bench(max_held_bytes: usize, hooks: &[String], others: &[(&str, usize)]) -> Bench {
    let config = QueueConfig { max_held_bytes: max_held_bytes as u64, ..QueueConfig::default() };
    let mut q = Bench::with(config, others);
    q.state.memory.bare = |_| 0;
    for name in hooks {
        q.state.add_hook(hook(name), HookQueueConfig { tenant: Some(Tenant::namespace("team-a")), ..wide(1) });
    }
    q
}

/// What hooks receive last about each object: kind, version, and whether with its text.
fn reported(q: &mut Bench) -> HashMap<(HookName, String), (WatchEventKind, String, bool)> {
    let mut reported = HashMap::new();
    q.end_all();
    while let Some(job) = q.take() {
        for trigger in &job.triggers {
            let Cause::Event(event) = &trigger.cause else { continue };
            let (item, key) = (&event.item, (job.hook.clone(), event.item.uid.to_string()));
            reported.insert(key, (event.kind, item.resource_version.to_string(), item.object.is_some()));
        }
        q.done(job.id);
    }
    reported
}

#[test]
// mutant: crates/core/src/queue/item.rs: `if self.fits() {` => `if true {`
fn hooks_that_hang_while_their_objects_change_hold_no_more_than_their_tenants_share() {
    let hooks: Vec<String> = (0..10).map(|n| format!("h{n}")).collect();
    let (mut q, mut shown) = (bench(64 * KIB, &hooks, &[("other", 1)]), Shown::default());
    let mut deleted = Vec::new();
    for name in &hooks {
        q.push(name, &own(name), tick(0));
        q.take().unwrap();
    }
    let mut version = 0;
    for round in 0..100 {
        for name in &hooks {
            let object = format!("o{}#{}", round % 5, round / 10);
            version += 1;
            let kind = if shown.items.contains_key(&(hook(name), object.clone())) { Modified } else { Added };
            let cause = shown.change(name, &object, kind, version);
            q.push(name, &own(name), cause);
            assert!(shown.held() <= 48 * KIB, "{} in round {round}", shown.held());
            if round % 10 == 9 {
                let cause = shown.change(name, &object, Deleted, version);
                q.push(name, &own(name), cause);
                deleted.push((hook(name), object));
                assert!(shown.held() <= 48 * KIB, "{} in round {round}", shown.held());
            }
        }
    }
    let more = ["a", "b", "a"].map(|object| q.push("other", &own("other"), shown.change("other", object, Modified, 7)));
    assert_eq!(more, [Pushed::Queued; 3]);
    let reported = reported(&mut q);
    for (key, item) in &shown.items {
        assert_eq!(reported[key], (reported[key].0, item.resource_version.to_string(), true), "{key:?}");
    }
    assert!(deleted.len() == 100 && deleted.iter().all(|key| reported[key].0 == Deleted));
    assert!(q.state.is_idle());
    assert_eq!(q.state.memory.all_used(), 0);
}

#[test]
// mutant: crates/core/src/queue/line/mod.rs: `self.sweep(&|item| item.held.tenant() == tenant)` => `self.sweep(&|_| true)`
fn a_tenant_without_room_has_nothing_of_another_folded() {
    let (greedy, x) = (["greedy".to_owned()], shared("x"));
    let (mut q, mut shown) = (bench(16 * KIB, &greedy, &[("other", 1)]), Shown::default());
    q.push("other", &x, tick(0));
    q.take().unwrap();
    for version in 1..=3 {
        assert_eq!(q.push("other", &x, shown.change("other", "a", Modified, version)), Pushed::Queued);
    }
    for version in 1..100 {
        q.push("greedy", &x, shown.change("greedy", "a", Modified, version));
        assert!(shown.held() <= 12 * KIB);
    }
    assert_eq!(q.push("other", &x, shown.change("other", "a", Modified, 4)), Pushed::Queued);
    q.end_all();
    let rest = q.rest();
    assert_eq!((&rest[0], &rest[2]), (&words("a1 a2 a3"), &words("a4")), "{rest:?}");
    assert!(rest[1].len() < 12 && rest[1].last().unwrap() == "a99", "{rest:?}");
}

#[test]
fn folding_for_want_of_room_ends_when_there_is_room_again() {
    let (mut q, mut shown) = (bench(16 * KIB, &["h".to_owned()], &[]), Shown::default());
    for turn in 0..3 {
        q.push("h", &own("h"), tick(0));
        q.take().unwrap();
        let mut push = |n: u64| q.push("h", &own("h"), shown.change("h", &format!("o{n}#{turn}"), Modified, n));
        assert_eq!((0..12).map(&mut push).filter(|pushed| *pushed == Pushed::Queued).count(), 10);
        assert_eq!((push(3), push(12)), (Pushed::Folded, Pushed::Beyond));
        assert!(shown.held() <= 12 * KIB);
        q.end_all();
        q.rest();
        assert_eq!(shown.held(), 0);
    }
}

#[test]
fn what_had_no_room_is_reported_without_text_once_nobody_keeps_it() {
    let (mut q, mut shown) = (bench(4 * KIB, &["h".to_owned()], &[]), Shown::default());
    q.push("h", &own("h"), tick(0));
    q.take().unwrap();
    for n in 0..6 {
        q.push("h", &own("h"), shown.change("h", &format!("o{n}"), Added, n));
    }
    // The hook does not receive the later state.
    shown.change("h", "o5", Modified, 9);
    let reported = reported(&mut q);
    for n in 0..6 {
        assert_eq!(reported[&(hook("h"), format!("o{n}"))], (Added, n.to_string(), n != 5));
    }
}

#[test]
fn one_object_that_many_bindings_tell_of_counts_once() {
    let (mut q, mut shown) = (bench(16 * KIB, &["h".to_owned()], &[]), Shown::default());
    for version in 1..=10 {
        let cause = shown.change("h", "a", Modified, version);
        for binding in 0..100 {
            let pushed = q.state.push(trigger("h", own("h"), &format!("b{binding}"), cause.clone()));
            assert_eq!(pushed, Pushed::Queued);
        }
    }
    let texts = q.rest().concat();
    assert_eq!(texts.len(), 1_000);
}

#[test]
fn a_run_takes_little_of_what_the_queues_do_not_hold() {
    let config = QueueConfig { max_held_bytes: 16 * KIB as u64, max_parallel_runs: 8, ..QueueConfig::default() };
    let (mut q, mut shown) = (Bench::with(config, &[("h", 1)]), Shown::default());
    q.state.memory.bare = |_| 0;
    for n in 0..40 {
        q.push("h", &own("h"), shown.change("h", &format!("o{n}"), Added, n));
    }
    let mut jobs = q.rest().into_iter().map(|job| job.len());
    assert_eq!((jobs.next(), jobs.next()), (Some(12), Some(2)), "10 of them had room, and 2 KiB have not");
}

#[test]
// mutant: crates/core/src/queue/dead_letters.rs: `&& Some(&kept.tenant) == most` => `&& most.is_some()`
fn a_tenants_dead_letters_make_no_room_by_those_of_another() {
    let (mut q, mut shown) = (bench(64 * KIB, &["a".to_owned(), "b".to_owned()], &[("other", 1)]), Shown::default());
    q.state.config.max_dead_letter_bytes = 8 * KIB;
    let mut lost = Vec::new();
    for n in 0..20 {
        let name = if n == 0 { "other" } else { ["a", "b"][n % 2] };
        let cause = shown.change(name, &format!("o{n}"), Added, n as u64);
        q.push(name, &own(name), cause);
        let id = q.take().unwrap().id;
        shown.items.clear();
        let finished = q.state.finish(id, failed(K::Permanent), q.now, 0.0).unwrap();
        lost.extend(finished.lost.iter().map(|letter| (letter.id, letter.hook.to_string())));
        drop(finished);
        assert!(shown.held() <= 8 * KIB);
    }
    assert!(lost.iter().all(|(_, hook)| hook != "other") && lost.is_sorted(), "{lost:?}");
    let kept: Vec<_> = q.state.dead_letters().iter().map(|letter| letter.hook.to_string()).collect();
    assert_eq!((kept.len(), kept[0].as_str()), (20 - lost.len(), "other"));
    assert_eq!(q.state.memory.all_used() as usize, shown.held());
    q.state.drop_dead(&Letters::All);
    assert_eq!((shown.held(), q.state.memory.all_used()), (0, 0));
}
