//! Loops that are, and loops that are not.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::time::Duration;

use proptest::prelude::*;

use super::*;

/// Hooks that write in turn, with the clock of the test.
struct World {
    causes: Causes,
    now: SystemTime,
    /// The newest version.
    version: u64,
    run: u64,
    /// Loops that were named.
    named: Vec<Loop>,
}

/// What a write is: the object, its content, and its field.
type Act<'a> = (&'a str, u64, &'a str);

const OWN: &str = "boathook.dev/h";

impl World {
    fn new() -> Self {
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000);
        Self { causes: Causes::new(Bounds::default()), now, version: 0, run: 0, named: Vec::new() }
    }

    fn passes(&mut self, time: Duration) {
        self.now += time;
    }

    /// Somebody else changes an object.
    fn somebody(&mut self, object: &str) -> Reason {
        self.version += 1;
        saw(object, self.version)
    }

    /// The same, with these field managers.
    fn managers(&mut self, object: &str, managers: &str) -> Reason {
        let mut reason = self.somebody(object);
        if let Some(seen) = &mut reason.seen {
            seen.managers = Some(managers.into());
        }
        reason
    }

    /// A run because of these events writes. Returns the events of its writes.
    fn run(&mut self, hook: &str, reasons: Vec<Reason>, acts: &[Act<'_>]) -> Vec<Reason> {
        self.run += 1;
        self.passes(Duration::from_millis(5));
        let (id, name, count) = (RunId::new("p", self.run), HookName::new(hook).unwrap(), reasons.len());
        let run = Run { id: id.clone(), hook: name.clone(), began: self.now, reasons, count, span: None };
        let _live = self.causes.begin(run);
        let mut events = Vec::new();
        for (object, content, field) in acts {
            self.version += 1;
            let made = Made::Version {
                version: Version::new(&format!("uid-{object}"), &self.version.to_string()),
                certain: true,
                content: *content,
                fields: vec![(*field).into()],
            };
            let write = NewWrite {
                hook: &name,
                run: &id,
                at: self.now,
                object: id_of(object),
                verb: "patch",
                subresource: None,
                made,
                manager: OWN,
                shared: false,
            };
            if let Some(Turned { named, new: true }) = self.causes.wrote(write) {
                self.named.push(named);
            }
            events.push(saw(object, self.version));
        }
        events
    }
}

fn id_of(name: &str) -> ObjectId {
    ObjectId { group: "".into(), kind: "ConfigMap".into(), namespace: None, name: name.into() }
}

fn saw(object: &str, version: u64) -> Reason {
    let version = Version::new(&format!("uid-{object}"), &version.to_string());
    let seen = Seen { object: Arc::new(id_of(object)), version, managers: Some(OWN.into()) };
    Reason { binding: BindingName::new("b"), what: "Modified", seen: Some(seen) }
}

fn hooks(named: &Loop) -> Vec<&str> {
    let mut hooks: Vec<_> = named.links.iter().map(|link| link.hook.as_str()).collect();
    hooks.sort_unstable();
    hooks
}

fn name(number: usize) -> String {
    format!("h{number}")
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// A cycle over one object or over one object of each hook, which makes the same content again or always another one.
    #[test]
    fn each_cycle_is_named_once_with_all_its_hooks(
        count in 1_usize..=5, first in 0_usize..5, apart: bool, same: bool, noise in 0_usize..4,
    ) {
        // One hook that makes the same content changes nothing, and what is apart has to change.
        let same = same && count > 1 && !apart;
        let mut world = World::new();
        let object = |number: usize| if apart { format!("o{number}") } else { "o".to_owned() };
        let mut event = world.somebody(&object(first % count));
        for turn in 0..(40 * count) {
            let hook = (first + turn) % count;
            let target = object((hook + 1) % count);
            let content = if same { hook as u64 } else { turn as u64 };
            for other in 0..noise {
                let (event, name) = (world.somebody(&format!("n{other}")), format!("noise{other}"));
                world.run(&name, vec![event], &[("x", turn as u64, ".y")]);
            }
            event = world.run(&name(hook), vec![event], &[(&target, content, ".data")]).pop().unwrap();
            if same && turn < 3 * count {
                prop_assert!(world.named.is_empty(), "too early: {turn}");
            }
        }
        prop_assert_eq!(world.named.len(), 1, "{:?}", world.named);
        let named = &world.named[0];
        prop_assert_eq!(hooks(named), (0..count).map(name).collect::<Vec<_>>());
        prop_assert_eq!(&named.kind, if same { &LoopKind::Same } else { &LoopKind::Often });
        prop_assert!(named.links.iter().all(|link| *link.fields == [".data".into()]));
        prop_assert_eq!(world.causes.loops(world.now).len(), 1);
    }

    /// Each event is somebody else's, however many there are, and each hook writes to what others write to.
    #[test]
    fn what_somebody_else_causes_is_no_loop(acts in prop::collection::vec((0_usize..5, 0_usize..3, 0_usize..3), 1..300)) {
        let mut world = World::new();
        for (hook, seen, written) in acts {
            let event = world.somebody(&format!("o{seen}"));
            world.run(&name(hook), vec![event], &[(&format!("o{written}"), 1, ".data")]);
        }
        prop_assert!(world.named.is_empty(), "{:?}", world.named);
    }
}

#[test]
fn a_start_with_a_thousand_children_is_no_loop() {
    let mut world = World::new();
    let names: Vec<_> = (0..1_000).map(|number| format!("child{number}")).collect();
    let parent = world.somebody("parent");
    let acts: Vec<Act<'_>> = names.iter().map(|name| (name.as_str(), 1, ".data")).collect();
    let mut events = world.run("r", vec![parent], &acts);
    // Each run takes some events of the children, and counts them in the status.
    let mut ready = 0;
    while !events.is_empty() {
        let taken: Vec<_> = events.drain(..events.len().min(8)).collect();
        ready += taken.len() as u64;
        world.run("r", taken, &[("parent", ready, ".status")]);
    }
    assert!(world.named.is_empty(), "{:?}", world.named);
}

#[test]
fn a_rolling_update_is_no_loop() {
    let mut world = World::new();
    // A controller of somebody else changes each Deployment's status step by step, and the hook follows in the parent's.
    for step in 0..10_u64 {
        for deployment in 0..100 {
            let event = world.somebody(&format!("d{deployment}"));
            let own = world.run("r", vec![event], &[("parent", step * 100 + deployment, ".status")]);
            world.run("r", own, &[]);
        }
    }
    assert!(world.named.is_empty(), "{:?}", world.named);
}

#[test]
fn what_is_put_right_again_and_again_is_a_fight_that_names_the_others() {
    let mut world = World::new();
    for _ in 0..10 {
        // The run also sees the event of what it wrote before.
        let drift = world.managers("o", "kubectl-edit");
        let own = world.run("r", vec![drift], &[("o", 1, ".data")]);
        let again = world.managers("o", "boathook.dev/h, kubectl-edit");
        world.run("r", vec![own[0].clone(), again], &[("o", 1, ".data")]);
    }
    let [named] = world.named.as_slice() else { panic!("{:?}", world.named) };
    assert_eq!((hooks(named), &named.kind), (vec!["r"], &LoopKind::Fight("kubectl-edit".into())));
    assert!(world.causes.delay(&trigger("r", "o"), world.now).is_some(), "it can be slowed");
}

#[test]
fn what_differs_or_takes_long_or_has_no_other_manager_is_no_fight() {
    let mut world = World::new();
    for step in 0..50 {
        // A status that follows a controller.
        let event = world.managers("status", "controller");
        world.run("r", vec![event], &[("status", step, ".status")]);
        // A person who does the same once a while.
        world.passes(Duration::from_secs(16 * 60));
        let event = world.managers("seldom", "kubectl-edit");
        world.run("r", vec![event], &[("seldom", 1, ".data")]);
        // The hook's own writes of a process before this one.
        let event = world.managers("own", OWN);
        world.run("r", vec![event], &[("own", 1, ".data")]);
        let event = world.somebody("unknown");
        world.run("r", vec![event], &[("unknown", 1, ".data")]);
    }
    assert!(world.named.is_empty(), "{:?}", world.named);
}

#[test]
fn many_fixes_of_many_objects_are_no_fight() {
    let mut world = World::new();
    for round in 0..3 {
        for object in 0..200 {
            let object = format!("o{object}");
            let drift = world.managers(&object, "kubectl-edit");
            world.run("r", vec![drift], &[(&object, 1, ".data")]);
        }
        assert!(world.named.is_empty(), "round {round}: {:?}", world.named);
    }
}

#[test]
fn a_loop_that_is_held_lasts_until_it_is_forgotten() {
    let mut world = World::new();
    turns(&mut world, "o", 0..10);
    let named = world.named.pop().unwrap();
    assert!(world.causes.hold_loop(&named));
    world.passes(Duration::from_secs(24 * 60 * 60));
    assert_eq!(world.causes.loops(world.now).len(), 1);
    let hook = HookName::new("h9").unwrap();
    assert_eq!(world.causes.forget_loops(&hook), Vec::new(), "another hook");
    let hook = HookName::new("h1").unwrap();
    let forgotten = world.causes.forget_loops(&hook);
    assert!(matches!(forgotten.as_slice(), [one] if one.is_held() && hooks(one) == ["h0", "h1"]), "{forgotten:?}");
    assert_eq!(world.causes.loops(world.now), Vec::new());
    assert!(!world.causes.hold_loop(&named), "it is over");
}

#[test]
fn what_was_under_way_when_a_loop_ended_is_no_turn() {
    let mut world = World::new();
    let event = turns(&mut world, "o", 0..10);
    world.named.clear();
    world.causes.forget_loops(&HookName::new("h1").unwrap());
    // The event of the last write arrives at the other hook, and then it all begins from the first turn.
    let event = world.run("h0", vec![event], &[("o", 0, ".data")]).pop().unwrap();
    let mut event = world.run("h1", vec![event], &[("o", 1, ".data")]).pop().unwrap();
    assert!(world.named.is_empty(), "{:?}", world.named);
    assert_eq!(world.causes.loops(world.now), Vec::new());
    for turn in 0..10 {
        event = world.run(&format!("h{}", turn % 2), vec![event], &[("o", turn % 2, ".data")]).pop().unwrap();
    }
    assert_eq!(world.named.len(), 1, "it goes on");
}

#[test]
fn a_loop_over_many_objects_is_told_once_and_counted_for_each() {
    let mut world = World::new();
    for object in 0..300 {
        turns(&mut world, &format!("o{object}"), 0..10);
    }
    assert_eq!(world.named.len(), 1);
    assert_eq!(world.causes.loops(world.now).len(), 256, "within a bound");
}

/// Turns of two hooks over an object. Returns the last event.
fn turns(world: &mut World, object: &str, turns: std::ops::Range<u64>) -> Reason {
    let mut event = world.somebody(object);
    for turn in turns {
        let hook = turn % 2;
        event = world.run(&format!("h{hook}"), vec![event], &[(object, hook, ".data")]).pop().unwrap();
    }
    event
}

#[test]
fn some_steps_are_no_loop_and_a_slow_counter_is_none_either() {
    let mut world = World::new();
    let mut event = world.somebody("o");
    for step in 0..20 {
        event = world.run("r", vec![event], &[("o", step, ".spec")]).pop().unwrap();
    }
    assert!(world.named.is_empty(), "a rollout in twenty steps: {:?}", world.named);
    for step in 0..200 {
        world.passes(Duration::from_secs(10));
        event = world.run("r", vec![event], &[("o", 100 + step, ".spec")]).pop().unwrap();
    }
    assert!(world.named.is_empty(), "six steps in a minute: {:?}", world.named);
}

#[test]
fn a_loop_slows_down_and_is_over_at_last() {
    let mut world = World::new();
    let mut event = world.somebody("o");
    let own = trigger("h1", "o");
    let delay = |world: &World| world.causes.delay(&own, world.now);
    assert_eq!(delay(&world), None);
    let mut delays = Vec::new();
    for turn in 0..30 {
        let hook = turn % 2;
        event = world.run(&name(hook), vec![event], &[("o", hook as u64, ".data")]).pop().unwrap();
        delays.extend(delay(&world));
    }
    let seconds: Vec<_> = delays.iter().map(Duration::as_secs).collect();
    assert_eq!(seconds[..8], [1, 2, 4, 8, 16, 32, 60, 60]);
    let other = trigger("h1", "other");
    assert_eq!(world.causes.delay(&other, world.now), None, "another object");
    let other = trigger("h9", "o");
    assert_eq!(world.causes.delay(&other, world.now), None, "another hook");
    world.passes(Duration::from_secs(6 * 60));
    assert_eq!((delay(&world), world.causes.loops(world.now).len()), (None, 0));
    // It begins again.
    for turn in 0..10 {
        let hook = turn % 2;
        event = world.run(&name(hook), vec![event], &[("o", hook as u64, ".data")]).pop().unwrap();
    }
    assert_eq!(world.named.len(), 2);
}

/// An event of an object for a hook.
fn trigger(hook: &str, object: &str) -> Trigger {
    use crate::model::{Item, ObjectEvent, QueueName, RetryPolicy};

    let hook = HookName::new(hook).unwrap();
    let item = Item {
        key: ObjectKey { namespace: None, name: object.into() },
        uid: "u".into(),
        resource_version: "1".into(),
        object: None,
        filter_result: None,
    };
    let event = ObjectEvent {
        kind: WatchEventKind::Modified,
        resource: Arc::new(Resource::of("v1", "ConfigMap", "configmaps", true)),
        item: Arc::new(item),
        previous_filter_result: None,
        previous_object: None,
        managers: None,
    };
    Trigger {
        queue: QueueName::Own(hook.clone()),
        hook,
        binding: BindingName::new("b"),
        cause: Cause::Event(event),
        group: None,
        snapshots: Arc::new([]),
        allow_failure: false,
        retry: RetryPolicy::default(),
        debounce: Duration::ZERO,
        created: std::time::Instant::now(),
    }
}
