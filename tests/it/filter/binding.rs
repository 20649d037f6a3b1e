//! The rules of a binding, one test each.

use std::{sync::Arc, time::Instant};

use boathook_core::{
    filter::{Applied, Binding, Projection},
    model::{BindingName, Cause, Change, Content, KubernetesBinding, Object, Trigger, WatchEventKind},
};
use serde_json::json;

use super::{binding, hook, pod, pods, spec, waiting};

fn named(name: &str, uid: &str, version: u32, label: &str) -> Arc<Object> {
    pod(&json!({"metadata": {"name": name, "namespace": "n", "uid": uid, "resourceVersion": version.to_string(),
        "labels": {"l": label}}, "spec": {"big": "x".repeat(50)}}))
}

struct Subject(Binding);

impl Subject {
    fn new(spec: KubernetesBinding, sources: usize) -> Self {
        Self(binding(spec, sources))
    }

    /// With its first, empty list.
    fn synchronised(spec: KubernetesBinding) -> Self {
        let mut subject = Self::new(spec, 1);
        subject.list(0, &[]);
        subject
    }

    fn apply(&mut self, source: usize, change: &Change, projection: Projection) -> Applied {
        self.0.apply(source, change, projection, Instant::now())
    }

    fn projection(&self, object: &Arc<Object>) -> Projection {
        if self.0.spec().jq_filter.is_none() || self.0.is_known(object) {
            return Projection::None;
        }
        let value: serde_json::Value = serde_json::from_str(&object.json).unwrap();
        Projection::Result(value["metadata"]["labels"]["l"].to_string().into())
    }

    fn upsert(&mut self, object: &Arc<Object>) -> Applied {
        let projection = self.projection(object);
        self.apply(0, &Change::Upsert(object.clone()), projection)
    }

    fn fail(&mut self, object: &Arc<Object>, text: &str) -> Applied {
        self.apply(0, &Change::Upsert(object.clone()), Projection::Failed(text.into()))
    }

    fn delete(&mut self, object: &Arc<Object>) -> Applied {
        self.apply(0, &Change::Delete(object.clone()), Projection::None)
    }

    fn list(&mut self, source: usize, objects: &[&Arc<Object>]) -> Vec<Trigger> {
        let mut triggers = self.apply(source, &Change::ListStarted, Projection::None).triggers;
        for object in objects {
            let projection = self.projection(object);
            triggers.extend(self.apply(source, &Change::Upsert((*object).clone()), projection).triggers);
        }
        triggers.extend(self.apply(source, &Change::ListDone, Projection::None).triggers);
        triggers
    }

    fn names(&self) -> Vec<String> {
        self.0.items().keys().map(|key| key.name.to_string()).collect()
    }
}

fn events(triggers: &[Trigger]) -> Vec<(WatchEventKind, String, Option<String>, Option<String>)> {
    triggers
        .iter()
        .map(|trigger| match &trigger.cause {
            Cause::Event(event) => (
                event.kind,
                event.item.key.name.to_string(),
                event.item.filter_result.as_deref().map(str::to_owned),
                event.previous_filter_result.as_deref().map(str::to_owned),
            ),
            other => panic!("no event: {other:?}"),
        })
        .collect()
}

fn event(
    kind: WatchEventKind,
    name: &str,
    result: Option<&str>,
    previous: Option<&str>,
) -> (WatchEventKind, String, Option<String>, Option<String>) {
    (kind, name.into(), result.map(str::to_owned), previous.map(str::to_owned))
}

use WatchEventKind::{Added, Deleted, Modified};

#[test]
fn nothing_triggers_before_all_sources_are_listed() {
    let mut subject = Subject::new(spec(None), 2);
    assert_eq!(subject.list(0, &[&named("a", "1", 1, "x")]), []);
    assert_eq!(subject.upsert(&named("b", "2", 2, "x")).triggers, []);
    assert!(!subject.0.is_live());
    let triggers = subject.list(1, &[&named("c", "3", 3, "x")]);
    assert!(matches!(triggers.as_slice(), [Trigger { cause: Cause::Synchronization, .. }]), "{triggers:?}");
    assert_eq!(subject.names(), ["a", "b", "c"]);
    // Once only.
    assert_eq!(subject.list(1, &[&named("c", "3", 3, "x")]), []);
}

#[test]
fn without_on_synchronization_existing_objects_are_silent() {
    let mut subject = Subject::new(KubernetesBinding { on_synchronization: false, ..spec(None) }, 1);
    let a = named("a", "1", 1, "x");
    assert_eq!(subject.list(0, &[&a]), []);
    assert_eq!(events(&subject.upsert(&named("a", "1", 2, "y")).triggers), [event(Modified, "a", None, None)]);
}

#[test]
fn a_trigger_carries_the_bindings_settings() {
    let own = BindingName::new("pods");
    let include = [own.clone(), BindingName::new("other"), BindingName::new("other")];
    let spec = KubernetesBinding { include_snapshots_from: Arc::new(include), allow_failure: true, ..spec(None) };
    let mut subject = Subject::new(spec.clone(), 1);
    let triggers = subject.list(0, &[]);
    let [trigger] = triggers.as_slice() else { panic!("{triggers:?}") };
    assert_eq!((&trigger.hook, &trigger.binding, &trigger.queue), (&hook(), &own, &spec.queue));
    assert_eq!(*trigger.snapshots, [own, BindingName::new("other")]);
    assert!(trigger.allow_failure);
}

#[test]
fn the_life_of_an_object_with_a_filter() {
    let mut subject = Subject::synchronised(spec(Some("x")));
    assert_eq!(events(&subject.upsert(&named("a", "1", 1, "x")).triggers), [event(Added, "a", Some("\"x\""), None)]);
    assert_eq!(
        events(&subject.upsert(&named("a", "1", 2, "y")).triggers),
        [event(Modified, "a", Some("\"y\""), Some("\"x\""))]
    );
    assert_eq!(
        events(&subject.delete(&named("a", "1", 3, "z")).triggers),
        [event(Deleted, "a", Some("\"y\""), Some("\"y\""))]
    );
    assert!(subject.names().is_empty());
    assert_eq!(subject.0.bytes(), 0);
    assert_eq!(subject.delete(&named("a", "1", 3, "z")), Applied::default());
}

#[test]
fn what_the_filter_does_not_see_refreshes_the_item_without_an_event() {
    let mut subject = Subject::synchronised(spec(Some("x")));
    subject.upsert(&named("a", "1", 1, "x"));
    let applied = subject.upsert(&named("a", "1", 2, "x"));
    assert_eq!((applied.triggers.len(), applied.changed), (0, true));
    let item = subject.0.items().values().next().unwrap();
    assert_eq!(&*item.resource_version, "2");
    assert!(item.object.as_deref().unwrap().contains("\"resourceVersion\":\"2\""));
    // The same state again, as after a list: nothing at all.
    assert!(subject.0.is_known(&named("a", "1", 2, "x")));
    assert_eq!(subject.upsert(&named("a", "1", 2, "x")), Applied::default());
}

#[test]
fn without_a_filter_noise_is_not_a_change_and_content_none_still_sees_the_object() {
    for content in [Content::Full, Content::Metadata, Content::None] {
        let mut subject = Subject::synchronised(KubernetesBinding { content, ..spec(None) });
        subject.upsert(&named("a", "1", 1, "x"));
        assert_eq!(subject.upsert(&named("a", "1", 2, "x")).triggers, []);
        assert_eq!(events(&subject.upsert(&named("a", "1", 3, "y")).triggers), [event(Modified, "a", None, None)]);
    }
}

#[test]
fn only_wanted_events_trigger_but_all_reach_the_snapshot() {
    let mut subject = Subject::synchronised(KubernetesBinding { events: vec![Deleted], ..spec(None) });
    assert_eq!(subject.upsert(&named("a", "1", 1, "x")).triggers, []);
    assert_eq!(subject.upsert(&named("a", "1", 2, "y")).triggers, []);
    assert_eq!(subject.names(), ["a"]);
    assert_eq!(events(&subject.delete(&named("a", "1", 2, "y")).triggers), [event(Deleted, "a", None, None)]);
}

#[test]
fn a_recreated_object_is_deleted_and_added_even_if_it_looks_the_same() {
    let mut subject = Subject::synchronised(spec(Some("x")));
    subject.upsert(&named("a", "1", 1, "x"));
    assert_eq!(
        events(&subject.upsert(&named("a", "2", 5, "x")).triggers),
        [event(Deleted, "a", Some("\"x\""), Some("\"x\"")), event(Added, "a", Some("\"x\""), None)]
    );
}

#[test]
fn a_list_tells_what_is_gone_from_its_own_source_only() {
    let mut subject = Subject::new(spec(None), 2);
    let (a, b, c) = (named("a", "1", 1, "x"), named("b", "2", 1, "x"), named("c", "3", 1, "x"));
    subject.list(0, &[&a, &b]);
    subject.list(1, &[&c]);
    let triggers = subject.list(0, &[&named("b", "2", 2, "y"), &named("d", "4", 1, "x")]);
    assert_eq!(
        events(&triggers),
        [event(Modified, "b", None, None), event(Added, "d", None, None), event(Deleted, "a", None, None)]
    );
    assert_eq!(subject.names(), ["b", "c", "d"]);
    // A list that is begun again counts from its last beginning.
    subject.apply(0, &Change::ListStarted, Projection::None);
    subject.upsert(&named("b", "2", 2, "y"));
    assert_eq!(events(&subject.list(0, &[&named("d", "4", 1, "x")])), [event(Deleted, "b", None, None)]);
}

#[test]
fn a_failing_filter_hides_the_object_and_tells_nobody_a_lie() {
    let mut subject = Subject::synchronised(spec(Some("x")));
    subject.upsert(&named("a", "1", 1, "x"));
    let applied = subject.fail(&named("a", "1", 2, "y"), "broken");
    assert_eq!((applied.triggers.len(), applied.changed, applied.new_error), (0, true, true));
    assert_eq!((subject.names().len(), subject.0.failing(), subject.0.bytes()), (0, 1, 0));
    assert!(!subject.fail(&named("a", "1", 3, "y"), "broken").new_error);
    assert!(subject.fail(&named("a", "1", 4, "y"), "broken in another way").new_error);
    // It comes back as what it is for the hook: an object that it knows.
    assert_eq!(
        events(&subject.upsert(&named("a", "1", 5, "y")).triggers),
        [event(Modified, "a", Some("\"y\""), Some("\"x\""))]
    );
    assert_eq!((subject.names().len(), subject.0.failing()), (1, 0));
    // Unchanged in between: back in the snapshot, and no event.
    subject.fail(&named("a", "1", 6, "y"), "broken");
    let applied = subject.upsert(&named("a", "1", 7, "y"));
    assert_eq!((applied.triggers.len(), applied.changed), (0, true));
}

#[test]
fn an_object_that_never_evaluated_is_added_when_it_does() {
    let mut subject = Subject::new(spec(Some("x")), 1);
    subject.apply(0, &Change::ListStarted, Projection::None);
    assert!(subject.fail(&named("a", "1", 1, "x"), "broken").new_error);
    assert!(subject.fail(&named("b", "2", 1, "x"), "broken").new_error);
    subject.upsert(&named("c", "3", 1, "x"));
    // Known before the synchronisation, but the hook never heard of it.
    subject.fail(&named("c", "3", 2, "x"), "broken");
    assert_eq!(subject.apply(0, &Change::ListDone, Projection::None).triggers.len(), 1);
    assert_eq!(subject.delete(&named("b", "2", 1, "x")).triggers, []);
    assert_eq!(events(&subject.upsert(&named("a", "1", 2, "x")).triggers), [event(Added, "a", Some("\"x\""), None)]);
    assert_eq!(events(&subject.upsert(&named("c", "3", 3, "x")).triggers), [event(Added, "c", Some("\"x\""), None)]);
}

#[test]
fn a_failing_object_that_the_hook_knows_is_still_deleted() {
    let mut subject = Subject::synchronised(spec(Some("x")));
    let a = named("a", "1", 1, "x");
    subject.upsert(&a);
    subject.fail(&named("a", "1", 2, "y"), "broken");
    assert_eq!(events(&subject.list(0, &[])), [event(Deleted, "a", Some("\"x\""), Some("\"x\""))]);
    assert_eq!(subject.0.failing(), 0);
    // Recreated while the filter fails: the old one is gone, the new one not yet known.
    subject.upsert(&a);
    subject.fail(&named("a", "1", 2, "y"), "broken");
    let applied = subject.fail(&named("a", "9", 3, "y"), "broken");
    assert_eq!(events(&applied.triggers), [event(Deleted, "a", Some("\"x\""), Some("\"x\""))]);
    assert_eq!(subject.0.failing(), 1);
    assert_eq!(events(&subject.upsert(&named("a", "9", 4, "y")).triggers), [event(Added, "a", Some("\"y\""), None)]);
}

#[test]
fn a_second_try_is_no_sign_of_life() {
    let mut subject = Subject::synchronised(spec(Some("x")));
    let a = named("a", "1", 1, "x");
    subject.apply(0, &Change::Upsert(a.clone()), Projection::Late);
    subject.apply(0, &Change::ListStarted, Projection::None);
    let retried = subject.0.retry(&a, Projection::Result("1".into()), false, Instant::now());
    assert_eq!(events(&retried.triggers), [event(Added, "a", Some("1"), None)]);
    // The list, which did not name it, is the truth.
    let done = subject.apply(0, &Change::ListDone, Projection::None);
    assert_eq!(events(&done.triggers), [event(Deleted, "a", Some("1"), Some("1"))]);
    // Nothing to try again.
    assert_eq!(subject.0.retry(&a, Projection::Result("1".into()), false, Instant::now()), Applied::default());
}

fn only_event(triggers: &[Trigger]) -> (WatchEventKind, String, Option<String>, Option<String>) {
    let events = events(triggers);
    assert_eq!(events.len(), 1, "{events:?}");
    events[0].clone()
}

fn without_synchronization() -> KubernetesBinding {
    KubernetesBinding { on_synchronization: false, ..spec(Some("x")) }
}

#[test]
fn a_listed_binding_is_silent_until_it_is_admitted() {
    let mut subject = Subject(waiting(spec(Some("x")), 1));
    assert_eq!(subject.list(0, &[&named("a", "1", 1, "x")]), []);
    assert!(subject.0.is_listed() && !subject.0.is_live());
    assert_eq!(subject.upsert(&named("b", "2", 2, "x")).triggers, []);
    let triggers = subject.0.admit(Instant::now()).triggers;
    assert!(matches!(triggers.as_slice(), [Trigger { cause: Cause::Synchronization, .. }]), "{triggers:?}");
    assert_eq!(subject.names(), ["a", "b"]);
    assert_eq!(subject.0.admit(Instant::now()).triggers, []);
    assert_eq!(only_event(&subject.upsert(&named("c", "3", 3, "x")).triggers).0, Added);
}

#[test]
fn without_a_synchronization_what_happened_while_waiting_is_reported() {
    let mut subject = Subject(waiting(without_synchronization(), 1));
    let before = ["a", "b", "c", "d"].map(|name| named(name, name, 1, "x"));
    subject.list(0, &before.each_ref());
    subject.upsert(&named("b", "b", 2, "y"));
    subject.upsert(&named("b", "b", 3, "z"));
    subject.delete(&before[2]);
    subject.upsert(&named("d", "other", 4, "x"));
    subject.upsert(&named("e", "e", 5, "x"));
    let x = Some("\"x\"");
    assert_eq!(
        events(&subject.0.admit(Instant::now()).triggers),
        [
            event(Deleted, "c", x, x),
            event(Deleted, "d", x, x),
            event(Modified, "b", Some("\"z\""), x),
            event(Added, "d", x, None),
            event(Added, "e", x, None),
        ]
    );
}

#[test]
fn an_object_that_fails_while_its_binding_waits_is_not_forgotten() {
    let mut subject = Subject(waiting(without_synchronization(), 1));
    let a = named("a", "1", 1, "x");
    subject.list(0, &[&a]);
    subject.fail(&named("a", "1", 2, "y"), "broken");
    assert_eq!(subject.0.admit(Instant::now()).triggers, []);
    assert_eq!(only_event(&subject.delete(&a).triggers), event(Deleted, "a", Some("\"x\""), Some("\"x\"")));
}

#[test]
fn all_that_comes_of_a_kind_that_was_not_served_at_the_start_is_reported() {
    let mut subject = Subject(Binding::new(hook(), without_synchronization()));
    subject.0.admit(Instant::now());
    assert_eq!(subject.0.unserved(Instant::now()), Applied::default());
    assert!(!subject.0.is_live());
    subject.0.served(pods());
    subject.0.add_source(3);
    assert_eq!(subject.0.sources_complete(Instant::now()), Applied::default());
    let triggers = subject.list(3, &[&named("a", "1", 1, "x")]);
    assert_eq!(only_event(&triggers), event(Added, "a", Some("\"x\""), None));
}

#[test]
fn a_kind_that_goes_takes_its_objects_along() {
    let mut subject = Subject::synchronised(spec(Some("x")));
    let a = named("a", "1", 1, "x");
    subject.upsert(&a);
    // One stream alone does not say so.
    assert_eq!(subject.apply(0, &Change::Unserved, Projection::None), Applied::default());
    let gone = subject.0.unserved(Instant::now());
    assert_eq!(only_event(&gone.triggers), event(Deleted, "a", Some("\"x\""), Some("\"x\"")));
    assert!(gone.changed && subject.names().is_empty() && subject.0.is_live() && !subject.0.is_listed());
    // What the old source still says is old.
    assert_eq!(subject.upsert(&a), Applied::default());
    subject.0.served(pods());
    subject.0.add_source(1);
    subject.0.sources_complete(Instant::now());
    assert_eq!(only_event(&subject.list(1, &[&named("b", "2", 9, "x")])).0, Added);
    assert!(subject.0.is_listed());
}

#[test]
fn a_source_brings_its_objects_and_takes_them_along() {
    let mut subject = Subject::synchronised(spec(Some("x")));
    subject.0.add_source(1);
    let events_of = subject.list(1, &[&named("a", "1", 1, "x"), &named("b", "2", 1, "x")]);
    assert_eq!(events(&events_of).len(), 2);
    let gone = subject.0.remove_source(1, Instant::now());
    let x = Some("\"x\"");
    assert_eq!(events(&gone.triggers), [event(Deleted, "a", x, x), event(Deleted, "b", x, x)]);
    assert_eq!(subject.0.remove_source(1, Instant::now()), Applied::default());
}

#[test]
fn a_source_that_is_gone_or_late_is_not_waited_for() {
    let mut subject = Subject(binding(spec(None), 2));
    assert_eq!(subject.list(0, &[]), []);
    // It came after the start.
    subject.0.add_source(2);
    let triggers = subject.0.remove_source(1, Instant::now()).triggers;
    assert!(matches!(triggers.as_slice(), [Trigger { cause: Cause::Synchronization, .. }]), "{triggers:?}");
}

#[test]
fn another_version_of_the_kind_is_the_same_objects() {
    let mut subject = Subject::synchronised(spec(Some("x")));
    subject.upsert(&named("a", "1", 1, "x"));
    subject.upsert(&named("b", "2", 1, "x"));
    subject.0.served(Arc::new(boathook_core::model::Resource { version: "v2".into(), ..(*pods()).clone() }));
    subject.0.add_source(1);
    assert_eq!(subject.0.sources_complete(Instant::now()), Applied::default());
    assert_eq!(subject.names(), ["a", "b"]);
    // The same version of the object may look different now.
    assert!(!subject.0.is_known(&named("a", "1", 1, "x")));
    let triggers = subject.list(1, &[&named("a", "1", 1, "x")]);
    assert_eq!(only_event(&triggers), event(Deleted, "b", Some("\"x\""), Some("\"x\"")));
}

#[test]
fn own_changes_are_taken_over_without_an_event() {
    let mut subject = Subject::synchronised(spec(Some("x")));
    let own = |subject: &mut Subject, change: &Change| {
        let projection = match change {
            Change::Upsert(object) => subject.projection(object),
            _ => Projection::None,
        };
        subject.0.apply_own(0, change, projection, Instant::now())
    };
    let made = own(&mut subject, &Change::Upsert(named("a", "1", 1, "x")));
    assert_eq!((made.triggers.len(), made.changed), (0, true));
    assert_eq!(own(&mut subject, &Change::Upsert(named("a", "1", 2, "y"))).triggers, []);
    // The next change is one from what the hook made.
    assert_eq!(
        only_event(&subject.upsert(&named("a", "1", 3, "z")).triggers),
        event(Modified, "a", Some("\"z\""), Some("\"y\""))
    );
    // That the one before is gone, somebody else did.
    let recreated = own(&mut subject, &Change::Upsert(named("a", "2", 4, "x")));
    assert_eq!(only_event(&recreated.triggers), event(Deleted, "a", Some("\"z\""), Some("\"z\"")));
    assert_eq!(own(&mut subject, &Change::Delete(named("a", "2", 5, "x"))).triggers, []);
    assert!(subject.names().is_empty());
}

#[test]
fn what_only_the_spec_says_is_no_change_for_who_gets_metadata() {
    let pod_with = |version: u32, spec: u32| {
        pod(&json!({"metadata": {"name": "a", "namespace": "n", "uid": "1", "resourceVersion": version.to_string()},
            "spec": {"x": spec}}))
    };
    for (content, told) in [(Content::Full, 1), (Content::Metadata, 0), (Content::None, 1)] {
        let mut subject = Subject::synchronised(KubernetesBinding { content, ..spec(None) });
        subject.upsert(&pod_with(1, 1));
        assert_eq!(subject.upsert(&pod_with(2, 2)).triggers.len(), told, "{content:?}");
    }
}

/// The leader delivers the events of a standby's binding. The standby keeps those that the leader may not have
/// delivered yet.
#[test]
fn what_was_reported_elsewhere_is_not_reported_again() {
    let mut subject = Subject(waiting(without_synchronization(), 1));
    subject.list(0, &[&named("a", "1", 1, "x")]);
    assert!(subject.0.is_listed() && !subject.0.is_live());
    subject.upsert(&named("b", "2", 2, "x"));
    subject.0.reported_by_leader();
    subject.upsert(&named("c", "3", 3, "x"));
    subject.0.reported_by_leader();
    subject.upsert(&named("d", "4", 4, "x"));
    let told = events(&subject.0.admit(Instant::now()).triggers);
    let told: Vec<_> = told.iter().map(|(kind, name, ..)| (*kind, name.as_str())).collect();
    assert_eq!(told, [(WatchEventKind::Added, "c"), (WatchEventKind::Added, "d")]);
}
