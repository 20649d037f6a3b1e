//! Random histories: whatever happens, the snapshot is the world, and the events retell it.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Instant,
};

use boathook::{
    filter::{Binding, Projection},
    model::{Cause, Change, Object, WatchEventKind},
};
use proptest::prelude::*;
use serde_json::json;

use super::{pod, spec};

/// One thing that happens to the world, or to the watch on it.
#[derive(Debug, Clone)]
enum Step {
    /// Create, change or recreate an object.
    Write { source: usize, name: u8, label: u8, recreate: bool },
    /// Delete an object.
    Remove { source: usize, name: u8 },
    /// The watch of a source is cut off: nothing of it is seen until its next list.
    Cut { source: usize },
    /// The source is listed, and watched again.
    List { source: usize },
}

const SOURCES: usize = 2;

fn step() -> impl Strategy<Value = Step> {
    let (source, name) = (0..SOURCES, 0..6_u8);
    prop_oneof![
        6 => (source.clone(), name.clone(), 0..3_u8, prop::bool::weighted(0.2))
            .prop_map(|(source, name, label, recreate)| Step::Write { source, name, label, recreate }),
        3 => (source.clone(), name).prop_map(|(source, name)| Step::Remove { source, name }),
        1 => source.clone().prop_map(|source| Step::Cut { source }),
        2 => source.prop_map(|source| Step::List { source }),
    ]
}

/// The world: by namespace (a source each) and name.
#[derive(Default)]
struct World {
    objects: BTreeMap<(usize, u8), (u64, u8, Arc<Object>)>,
    clock: u64,
    watched: BTreeSet<usize>,
}

impl World {
    fn write(&mut self, at: (usize, u8), label: u8, recreate: bool) -> Arc<Object> {
        self.clock += 1;
        let uid = match self.objects.get(&at) {
            Some((uid, ..)) if !recreate => *uid,
            _ => self.clock,
        };
        let object = pod(&json!({"metadata": {
            "namespace": format!("n{}", at.0), "name": at.1.to_string(), "uid": uid.to_string(),
            "resourceVersion": self.clock.to_string(), "labels": {"l": label},
        }}));
        self.objects.insert(at, (uid, label, object.clone()));
        object
    }

    fn of(&self, source: usize) -> Vec<Arc<Object>> {
        self.objects.iter().filter(|((s, _), _)| *s == source).map(|(_, (.., object))| object.clone()).collect()
    }
}

/// What a hook can know: its synchronization, then its events.
#[derive(Default)]
struct Told {
    objects: BTreeMap<String, (String, String)>,
    synchronised: bool,
}

struct Subject {
    binding: Binding,
    told: Told,
    /// Labels on which the filter fails.
    failing: Option<u8>,
}

impl Subject {
    fn apply(&mut self, source: usize, change: &Change) {
        let projection = match change {
            Change::Upsert(object) if self.binding.wants_filter(object) => {
                let value: serde_json::Value = serde_json::from_str(&object.json).unwrap();
                let label = &value["metadata"]["labels"]["l"];
                match self.failing {
                    Some(failing) if *label == json!(failing) => Projection::Failed("broken".into()),
                    _ => Projection::Result(label.to_string().into()),
                }
            }
            _ => Projection::None,
        };
        for trigger in self.binding.apply(source, change, projection, Instant::now()).triggers {
            match trigger.cause {
                Cause::Synchronization => {
                    assert!(!self.told.synchronised, "synchronised twice");
                    self.told.synchronised = true;
                    let items = self.binding.items().iter();
                    self.told.objects = items.map(|(key, item)| (key.to_string(), known(item))).collect();
                }
                Cause::Event(event) => {
                    assert!(self.told.synchronised, "an event before the synchronization");
                    self.tell(event.kind, event.item.key.to_string(), known(&event.item));
                }
                other => panic!("{other:?}"),
            }
        }
    }

    /// Added, Modified and Deleted alternate as they must.
    fn tell(&mut self, kind: WatchEventKind, key: String, item: (String, String)) {
        let before = self.told.objects.get(&key).cloned();
        match (kind, before) {
            (WatchEventKind::Added, None) => {
                self.told.objects.insert(key, item);
            }
            (WatchEventKind::Modified, Some((uid, result))) => {
                assert_eq!(uid, item.0, "modified into another object");
                assert_ne!(result, item.1, "nothing was modified");
                self.told.objects.insert(key, item);
            }
            (WatchEventKind::Deleted, Some(before)) => {
                assert_eq!(before, item, "deleted in a state that was not told");
                self.told.objects.remove(&key);
            }
            (kind, before) => panic!("{kind:?} {key} after {before:?}"),
        }
    }
}

fn known(item: &boathook::model::Item) -> (String, String) {
    (item.uid.to_string(), item.filter_result.as_deref().unwrap().to_owned())
}

fn play(steps: &[Step], failing: Option<u8>) {
    let binding = super::binding(spec(Some(".metadata.labels.l")), SOURCES);
    let mut subject = Subject { binding, told: Told::default(), failing };
    let mut world = World::default();
    for step in steps {
        match *step {
            Step::Write { source, name, label, recreate } => {
                let object = world.write((source, name), label, recreate);
                if world.watched.contains(&source) {
                    subject.apply(source, &Change::Upsert(object));
                }
            }
            Step::Remove { source, name } => {
                if let Some((_, _, object)) = world.objects.remove(&(source, name))
                    && world.watched.contains(&source)
                {
                    subject.apply(source, &Change::Delete(object));
                }
            }
            Step::Cut { source } => {
                world.watched.remove(&source);
            }
            Step::List { source } => {
                list(&mut subject, &world, source);
                world.watched.insert(source);
            }
        }
    }
    (0..SOURCES).for_each(|source| list(&mut subject, &world, source));
    check(&subject, &world);
}

fn list(subject: &mut Subject, world: &World, source: usize) {
    subject.apply(source, &Change::ListStarted);
    for object in world.of(source) {
        subject.apply(source, &Change::Upsert(object));
    }
    subject.apply(source, &Change::ListDone);
}

fn check(subject: &Subject, world: &World) {
    let shown = world.objects.iter().filter(|(_, (_, label, _))| Some(*label) != subject.failing);
    let expected: BTreeMap<_, _> = shown
        .map(|((source, name), (uid, label, object))| {
            (format!("n{source}/{name}"), (uid.to_string(), label.to_string(), object.resource_version.to_string()))
        })
        .collect();
    let items: BTreeMap<_, _> = subject
        .binding
        .items()
        .iter()
        .map(|(key, item)| {
            let (uid, result) = known(item);
            (key.to_string(), (uid, result, item.resource_version.to_string()))
        })
        .collect();
    assert_eq!(items, expected, "the snapshot is not the world");
    assert_eq!(subject.binding.failing(), world.objects.len() - expected.len());
    assert!(subject.told.synchronised);
    for (key, (uid, result, _)) in &expected {
        assert_eq!(subject.told.objects.get(key), Some(&(uid.clone(), result.clone())), "{key} was not told");
    }
    // Beyond the snapshot the hook knows only objects that exist, on which the filter fails now.
    for (key, (uid, _)) in subject.told.objects.iter().filter(|(key, _)| !expected.contains_key(*key)) {
        let exists = world
            .objects
            .iter()
            .any(|((source, name), (known, ..))| format!("n{source}/{name}") == *key && known.to_string() == *uid);
        assert!(exists, "{key} is gone, and the hook was not told");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, ..ProptestConfig::default() })]

    #[test]
    fn the_snapshot_is_the_world_and_the_events_retell_it(steps in prop::collection::vec(step(), 0..80)) {
        play(&steps, None);
    }

    #[test]
    fn also_when_the_filter_fails_at_times(steps in prop::collection::vec(step(), 0..80)) {
        play(&steps, Some(0));
    }
}
