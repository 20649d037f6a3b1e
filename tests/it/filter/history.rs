//! Random histories: whatever happens, the snapshot is the world, and the events retell it.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Instant,
};

use boathook_core::{
    filter::{Applied, Binding, Projection, SourceId},
    model::{Cause, Change, KubernetesBinding, Object, Resource, WatchEventKind},
};
use proptest::prelude::*;
use serde_json::json;

use super::{hook, pod, pods, spec};

/// One thing that happens to the world, to the watches on it, or to the binding. A namespace is a
/// source.
#[derive(Debug, Clone)]
enum Step {
    /// Create, change or recreate an object; the hook itself, or somebody else.
    Write { namespace: u8, name: u8, label: u8, recreate: bool, own: bool },
    /// Delete an object.
    Remove { namespace: u8, name: u8, own: bool },
    /// The watch of a namespace is cut off: nothing of it is seen until its next list.
    Cut { namespace: u8 },
    /// A list breaks off in the middle.
    HalfList { namespace: u8 },
    /// The namespace is listed, and watched again.
    List { namespace: u8 },
    /// The namespace belongs to the binding from now on.
    Enter { namespace: u8 },
    /// It does no longer.
    Leave { namespace: u8 },
    /// All namespaces of the start are entered.
    Complete,
    /// The binding may go live.
    Admit,
    /// The API server no longer serves the kind: all objects are gone.
    Unserve,
    /// It serves the kind in another version.
    Move,
}

fn step() -> impl Strategy<Value = Step> {
    let (namespace, name) = (0..3_u8, 0..4_u8);
    let own = prop::bool::weighted(0.2);
    prop_oneof![
        12 => (namespace.clone(), name.clone(), 0..3_u8, prop::bool::weighted(0.2), own)
            .prop_map(|(namespace, name, label, recreate, own)| Step::Write { namespace, name, label, recreate, own }),
        6 => (namespace.clone(), name, own).prop_map(|(namespace, name, own)| Step::Remove { namespace, name, own }),
        2 => namespace.clone().prop_map(|namespace| Step::Cut { namespace }),
        1 => namespace.clone().prop_map(|namespace| Step::HalfList { namespace }),
        5 => namespace.clone().prop_map(|namespace| Step::List { namespace }),
        3 => namespace.clone().prop_map(|namespace| Step::Enter { namespace }),
        1 => namespace.prop_map(|namespace| Step::Leave { namespace }),
        2 => Just(Step::Complete),
        1 => Just(Step::Admit),
        1 => Just(Step::Unserve),
        1 => Just(Step::Move),
    ]
}

/// The world: by namespace and name.
#[derive(Default)]
struct World {
    objects: BTreeMap<(u8, u8), (u64, u8, Arc<Object>)>,
    clock: u64,
}

impl World {
    fn write(&mut self, at: (u8, u8), label: u8, recreate: bool) -> Arc<Object> {
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

    fn of(&self, namespace: u8) -> Vec<Arc<Object>> {
        self.objects.iter().filter(|((n, _), _)| *n == namespace).map(|(_, (.., object))| object.clone()).collect()
    }
}

/// What a hook can know: what there was at its start, then its events.
#[derive(Default)]
struct Told {
    /// Uid and result.
    objects: BTreeMap<String, (String, String)>,
    /// The newest version of each object that it heard of.
    versions: BTreeMap<String, u64>,
    started: bool,
}

struct Subject {
    binding: Binding,
    told: Told,
    /// Labels on which the filter fails.
    failing: Option<u8>,
    /// The source of each namespace that belongs to the binding.
    sources: BTreeMap<u8, SourceId>,
    /// Those whose watch works.
    watched: BTreeSet<u8>,
    next: SourceId,
    version: u32,
}

impl Subject {
    fn new(spec: KubernetesBinding, failing: Option<u8>) -> Self {
        let mut binding = Binding::new(hook(), spec);
        binding.served(pods());
        let (told, sources, watched) = (Told::default(), BTreeMap::new(), BTreeSet::new());
        Self { binding, told, failing, sources, watched, next: 0, version: 1 }
    }

    fn projection(&self, change: &Change) -> Projection {
        match change {
            Change::Upsert(object) if self.binding.spec().jq_filter.is_some() && !self.binding.is_known(object) => {
                let value: serde_json::Value = serde_json::from_str(&object.json).unwrap();
                let label = &value["metadata"]["labels"]["l"];
                match self.failing {
                    Some(failing) if *label == json!(failing) => Projection::Failed("broken".into()),
                    _ => Projection::Result(label.to_string().into()),
                }
            }
            _ => Projection::None,
        }
    }

    fn apply(&mut self, namespace: u8, change: &Change) {
        let Some(source) = self.sources.get(&namespace).copied() else { return };
        let projection = self.projection(change);
        let applied = self.binding.apply(source, change, projection, Instant::now());
        self.take(applied);
    }

    /// A change that the watch sees.
    fn see(&mut self, namespace: u8, change: &Change, own: bool) {
        if !self.watched.contains(&namespace) {
            return;
        }
        let source = self.sources[&namespace];
        if !own || !self.binding.is_live() || self.binding.is_listing(source) {
            return self.apply(namespace, change);
        }
        let projection = self.projection(change);
        let applied = self.binding.apply_own(source, change, projection, Instant::now());
        self.take(applied);
        // The hook knows what it did.
        match change {
            Change::Upsert(object) => {
                if let Some(item) = self.binding.items().get(&object.key) {
                    self.told.objects.insert(object.key.to_string(), known(item));
                }
            }
            Change::Delete(object) => drop(self.told.objects.remove(&object.key.to_string())),
            other => panic!("{other:?}"),
        }
    }

    fn take(&mut self, applied: Applied) {
        if !self.told.started && !self.binding.spec().on_synchronization && self.binding.is_listed() {
            self.start();
        }
        for trigger in applied.triggers {
            match trigger.cause {
                Cause::Synchronization => {
                    assert!(!self.told.started, "synchronised twice");
                    self.start();
                }
                Cause::Event(event) => {
                    assert!(self.told.started && self.binding.is_live(), "an event before its time");
                    let version: u64 = event.item.resource_version.parse().unwrap();
                    let before = self.told.versions.insert(event.item.key.to_string(), version);
                    assert!(before.is_none_or(|before| before <= version), "told of the past");
                    self.tell(event.kind, event.item.key.to_string(), known(&event.item));
                }
                other => panic!("{other:?}"),
            }
        }
    }

    fn start(&mut self) {
        self.told.started = true;
        let items = self.binding.items().iter();
        self.told.objects = items.map(|(key, item)| (key.to_string(), known(item))).collect();
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

    fn enter(&mut self, namespace: u8) {
        if let std::collections::btree_map::Entry::Vacant(place) = self.sources.entry(namespace) {
            place.insert(self.next);
            self.binding.add_source(self.next);
            self.next += 1;
        }
    }

    fn leave(&mut self, namespace: u8) {
        self.watched.remove(&namespace);
        if let Some(source) = self.sources.remove(&namespace) {
            let applied = self.binding.remove_source(source, Instant::now());
            self.take(applied);
        }
    }

    fn list(&mut self, world: &World, namespace: u8) {
        if self.sources.contains_key(&namespace) {
            self.apply(namespace, &Change::ListStarted);
            for object in world.of(namespace) {
                self.apply(namespace, &Change::Upsert(object));
            }
            self.apply(namespace, &Change::ListDone);
            self.watched.insert(namespace);
        }
    }

    fn half_list(&mut self, world: &World, namespace: u8) {
        self.apply(namespace, &Change::ListStarted);
        for object in world.of(namespace).into_iter().step_by(2) {
            self.apply(namespace, &Change::Upsert(object));
        }
    }

    fn complete(&mut self) {
        let applied = self.binding.sources_complete(Instant::now());
        self.take(applied);
    }

    fn admit(&mut self) {
        let applied = self.binding.admit(Instant::now());
        self.take(applied);
    }

    fn unserve(&mut self) {
        self.sources.clear();
        self.watched.clear();
        // What comes later came after the start.
        self.told.started |= !self.binding.spec().on_synchronization;
        let applied = self.binding.unserved(Instant::now());
        self.take(applied);
    }

    fn move_on(&mut self) {
        self.version += 1;
        self.binding.served(Arc::new(Resource { version: format!("v{}", self.version), ..(*pods()).clone() }));
        self.watched.clear();
        let namespaces: Vec<_> = std::mem::take(&mut self.sources).into_keys().collect();
        namespaces.into_iter().for_each(|namespace| self.enter(namespace));
    }

    fn play(&mut self, world: &mut World, step: &Step) {
        match *step {
            Step::Write { namespace, name, label, recreate, own } => {
                let object = world.write((namespace, name), label, recreate);
                self.see(namespace, &Change::Upsert(object), own);
            }
            Step::Remove { namespace, name, own } => {
                if let Some((_, _, object)) = world.objects.remove(&(namespace, name)) {
                    self.see(namespace, &Change::Delete(object), own);
                }
            }
            Step::Cut { namespace } => {
                self.watched.remove(&namespace);
            }
            Step::HalfList { namespace } => self.half_list(world, namespace),
            Step::List { namespace } => self.list(world, namespace),
            Step::Enter { namespace } => self.enter(namespace),
            Step::Leave { namespace } => self.leave(namespace),
            Step::Complete => self.complete(),
            Step::Admit => self.admit(),
            Step::Unserve => {
                world.objects.clear();
                self.unserve();
            }
            Step::Move => self.move_on(),
        }
    }
}

fn known(item: &boathook_core::model::Item) -> (String, String) {
    (item.uid.to_string(), item.filter_result.as_deref().unwrap().to_owned())
}

fn play(steps: &[Step], on_synchronization: bool, failing: Option<u8>) {
    let spec = KubernetesBinding { on_synchronization, ..spec(Some(".metadata.labels.l")) };
    let (mut subject, mut world) = (Subject::new(spec, failing), World::default());
    steps.iter().for_each(|step| subject.play(&mut world, step));
    subject.complete();
    subject.admit();
    (0..3).for_each(|namespace| subject.list(&world, namespace));
    check(&subject, &world);
}

fn check(subject: &Subject, world: &World) {
    let followed: BTreeMap<_, _> =
        world.objects.iter().filter(|((namespace, _), _)| subject.sources.contains_key(namespace)).collect();
    let key = |(namespace, name): &(u8, u8)| format!("n{namespace}/{name}");
    let shown = followed.iter().filter(|(_, (_, label, _))| Some(*label) != subject.failing);
    let expected: BTreeMap<_, _> = shown
        .map(|(at, (uid, label, object))| {
            (key(at), (uid.to_string(), label.to_string(), object.resource_version.to_string()))
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
    assert_eq!(subject.binding.failing(), followed.len() - expected.len());
    assert!(subject.told.started && subject.binding.is_listed() && subject.binding.is_live());
    for (key, (uid, result, _)) in &expected {
        assert_eq!(subject.told.objects.get(key), Some(&(uid.clone(), result.clone())), "{key} was not told");
    }
    // Beyond the snapshot the hook knows only objects that exist, on which the filter fails now.
    for (known, (uid, _)) in subject.told.objects.iter().filter(|(key, _)| !expected.contains_key(*key)) {
        let exists = followed.iter().any(|(at, (world_uid, ..))| key(at) == *known && world_uid.to_string() == *uid);
        assert!(exists, "{known} is gone, and the hook was not told");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, ..ProptestConfig::default() })]

    #[test]
    fn the_snapshot_is_the_world_and_the_events_retell_it(
        steps in prop::collection::vec(step(), 0..100), on_synchronization: bool,
    ) {
        play(&steps, on_synchronization, None);
    }

    #[test]
    fn also_when_the_filter_fails_at_times(
        steps in prop::collection::vec(step(), 0..100), on_synchronization: bool,
    ) {
        play(&steps, on_synchronization, Some(0));
    }
}
