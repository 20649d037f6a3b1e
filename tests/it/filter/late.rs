//! Filters that cannot run for a reason that is not the object's: no live object is missing in a snapshot for that.

use std::{
    collections::VecDeque,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use boathook_core::{
    filter::{Applied, Binding, Filter, FilterError, Outputs, Projection},
    model::{Cause, Change, Object, Trigger},
};
use boathook_sandbox::FilterConfig;
use futures::{
    FutureExt as _,
    future::{BoxFuture, ready},
};
use serde_json::json;

use super::{
    binding,
    driver::{Rig, pair},
    eventually, pod, spec,
};
use crate::support;

fn object(name: &str, uid: &str, version: u32) -> Arc<Object> {
    pod(&json!({"metadata": {"name": name, "uid": uid, "resourceVersion": version.to_string()}}))
}

fn result(version: u32) -> Projection {
    Projection::Result(version.to_string().into())
}

fn apply(binding: &mut Binding, object: &Arc<Object>, projection: Projection) -> Applied {
    binding.apply(0, &Change::Upsert(object.clone()), projection, Instant::now())
}

fn retry(binding: &mut Binding, object: &Object, projection: Projection) -> Applied {
    binding.retry(object, projection, false, Instant::now())
}

fn told(applied: &Applied) -> Vec<String> {
    let one = |trigger: &Trigger| match &trigger.cause {
        Cause::Event(event) => {
            let before = event.previous_filter_result.as_deref().unwrap_or("-");
            format!("{:?} {} {}", event.kind, event.item.uid, before)
        }
        other => format!("{other:?}"),
    };
    applied.triggers.iter().map(one).collect()
}

fn list(binding: &mut Binding, objects: &[(&Arc<Object>, Projection)]) -> Applied {
    binding.apply(0, &Change::ListStarted, Projection::None, Instant::now());
    for (object, projection) in objects {
        assert_eq!(told(&apply(binding, object, projection.clone())), [""; 0]);
    }
    binding.apply(0, &Change::ListDone, Projection::None, Instant::now())
}

#[test]
fn a_list_is_not_complete_before_the_filter_ran_on_each_object() {
    let mut subject = binding(spec(Some(".")), 1);
    let (a, b, c) = (object("a", "a", 1), object("b", "b", 1), object("c", "c", 1));
    let applied = list(&mut subject, &[(&a, result(1)), (&b, Projection::Late), (&c, Projection::Late)]);
    assert_eq!((told(&applied).len(), subject.is_listed(), subject.late()), (0, false, 2));
    assert_eq!(told(&retry(&mut subject, &b, Projection::Late)), [""; 0]);
    assert_eq!(told(&retry(&mut subject, &b, result(1))), [""; 0]);
    assert_eq!((subject.is_listed(), subject.late(), subject.failing()), (false, 1, 0));
    // A program's own error is an answer: the object is hidden, and nobody waits for it.
    let applied = retry(&mut subject, &c, Projection::Failed("no".into()));
    assert_eq!((told(&applied), applied.new_error), (vec!["Synchronization".to_owned()], true));
    assert_eq!((subject.is_complete(), subject.items().size(), subject.failing()), (true, 2, 1));
}

#[test]
fn the_last_of_the_late_may_go_instead() {
    let mut subject = binding(spec(Some(".")), 1);
    let (a, b) = (object("a", "a", 1), object("b", "b", 1));
    list(&mut subject, &[(&a, result(1)), (&b, Projection::Late)]);
    let applied = subject.apply(0, &Change::Delete(b.clone()), Projection::None, Instant::now());
    assert_eq!(told(&applied), ["Synchronization"]);
    assert!(!subject.is_late(&b));
    assert_eq!(retry(&mut subject, &b, result(1)), Applied::default());
}

#[test]
// mutant: crates/core/src/filter/binding.rs: `let state = previous.unwrap_or_else(hidden);` => `let state = hidden();`
fn what_was_known_stays_in_the_snapshot_until_the_filter_has_run() {
    let mut subject = binding(spec(Some(".")), 1);
    let (one, two, three) = (object("a", "a", 1), object("a", "a", 2), object("a", "a", 3));
    list(&mut subject, &[(&one, result(1))]);
    let shown = |subject: &Binding| {
        let items = subject.items().values().map(|item| format!("{} {}", item.uid, item.resource_version));
        items.collect::<Vec<_>>()
    };
    for state in [&two, &three] {
        assert_eq!(apply(&mut subject, state, Projection::Late), Applied::default());
        assert_eq!((shown(&subject), subject.late()), (vec!["a 1".to_owned()], 1));
        assert!(subject.is_listed() && !subject.is_complete());
    }
    assert_eq!(told(&retry(&mut subject, &three, result(3))), ["Modified a 1"]);
    assert_eq!((shown(&subject), subject.is_complete()), (vec!["a 3".to_owned()], true));
    // Another object of the name: the first is gone for sure, and the second is not known yet.
    let other = object("a", "b", 4);
    assert_eq!(told(&apply(&mut subject, &other, Projection::Late)), ["Deleted a 3"]);
    assert_eq!((subject.items().size(), subject.is_complete()), (0, false));
    assert_eq!(told(&retry(&mut subject, &other, result(4))), ["Added b -"]);
    assert!(subject.is_complete());
}

#[test]
fn what_a_list_does_not_name_is_gone_and_no_longer_late() {
    let mut subject = binding(spec(Some(".")), 1);
    let (a, b) = (object("a", "a", 1), object("b", "b", 1));
    list(&mut subject, &[(&a, result(1))]);
    apply(&mut subject, &b, Projection::Late);
    apply(&mut subject, &object("a", "a", 2), Projection::Late);
    assert_eq!(subject.late(), 2);
    assert_eq!(told(&list(&mut subject, &[])), ["Deleted a 1"]);
    assert_eq!((subject.late(), subject.items().size(), subject.is_complete()), (0, 0, true));
    apply(&mut subject, &b, Projection::Late);
    subject.unserved(Instant::now());
    assert_eq!(subject.late(), 0);
}

#[test]
fn the_hooks_own_change_is_not_reported_later_either() {
    let mut subject = binding(spec(Some(".")), 1);
    let (one, two) = (object("a", "a", 1), object("a", "a", 2));
    list(&mut subject, &[(&one, result(1))]);
    let change = Change::Upsert(two.clone());
    assert_eq!(subject.apply_own(0, &change, Projection::Late, Instant::now()), Applied::default());
    let applied = subject.retry(&two, result(2), true, Instant::now());
    assert_eq!((told(&applied).len(), subject.is_complete()), (0, true));
}

/// `.metadata.labels.a`, as often as the machine lets it run.
#[derive(Debug, Default)]
struct Labels {
    /// The machine's failures that are still to come.
    failures: Mutex<VecDeque<FilterError>>,
    /// Whether it cannot run.
    stuck: AtomicBool,
    runs: AtomicUsize,
}

impl Filter for Labels {
    fn evaluate<'a>(&'a self, json: &'a Arc<str>) -> BoxFuture<'a, Result<Outputs, FilterError>> {
        let next = self.failures.lock().unwrap().pop_front();
        let failure = next.or_else(|| self.stuck.load(Ordering::SeqCst).then_some(FilterError::Crowded(16)));
        self.runs.fetch_add(1, Ordering::SeqCst);
        let object: serde_json::Value = serde_json::from_str(json).unwrap();
        let outputs = || Outputs::from_lines(object["metadata"]["labels"]["a"].to_string());
        ready(failure.map_or_else(|| Ok(outputs()), Err)).boxed()
    }

    fn reads_only(&self, _: &[&str]) -> bool {
        false
    }
}

/// Every failure of the machine happens while the first list comes.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
// mutant: crates/core/src/filter/error.rs: `Self::BackingOff { .. } | Self::Late(_) | Self::Crowded(_) | Self::NoRoom(_) | Self::Engine(_) => true,` => `Self::BackingOff { .. } | Self::Late(_) | Self::Crowded(_) | Self::NoRoom(_) | Self::Engine(_) => false,`
async fn failures_of_the_machine_cost_no_object_of_a_list() {
    const OBJECTS: usize = 20_000;
    let (wait, last) = (Duration::from_millis(1), String::new());
    let failures = VecDeque::from([
        FilterError::Crowded(16),
        FilterError::Late(Duration::from_secs(30)),
        FilterError::Engine("no address space".into()),
        FilterError::BackingOff { wait, failures: 3, last },
    ]);
    let filter = Arc::new(Labels { failures: Mutex::new(failures), ..Labels::default() });
    let rig = Rig::of("pods", filter.clone(), Arc::default());
    rig.send(Change::ListStarted);
    for n in 0..OBJECTS {
        rig.upsert(&format!("o{n}"), 1, &json!({"a": n}));
    }
    rig.send(Change::ListDone);
    eventually("the binding is synchronised", || rig.status.is_synchronised()).await;
    assert_eq!(*rig.synchronised.lock().unwrap(), [OBJECTS]);
    assert_eq!((rig.status.objects(), rig.status.failing(), rig.status.late()), (OBJECTS, 0, 0));
    assert_eq!((filter.runs.load(Ordering::SeqCst), rig.triggers()), (OBJECTS + 4, 1));
    assert_eq!(*rig.complete.lock().unwrap(), [true]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn filters_that_can_not_run_are_waited_for() {
    let filter = Arc::new(Labels { stuck: true.into(), ..Labels::default() });
    let rig = Rig::of("pods", filter.clone(), Arc::default());
    rig.send(Change::ListStarted);
    for name in ["x", "y", "z"] {
        rig.upsert(name, 1, &json!({"a": 1}));
    }
    rig.send(Change::ListDone);
    eventually("the filter had to be tried again", || rig.status.filter_errors() > 4).await;
    assert_eq!((rig.status.late(), rig.status.failing(), rig.status.is_listed()), (3, 0, false));
    assert_eq!((rig.results(), rig.triggers()), (vec![], 0));
    filter.stuck.store(false, Ordering::SeqCst);
    eventually("the binding is synchronised", || rig.status.is_synchronised()).await;
    assert_eq!((*rig.synchronised.lock().unwrap()).clone(), [3]);
}

/// Other filters have all the memory, so that this one gets no turn in its time.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_filter_that_others_hold_up_is_waited_for() {
    let config = FilterConfig { patience: Duration::from_millis(200), ..FilterConfig::default() };
    let filters = support::filters::filters(config);
    let rig = Rig::new("pods", ".metadata.labels.a", &filters, Arc::default()).await;
    let others = support::filters::take_all_but(filters.memory(), 0);
    rig.send(Change::ListStarted);
    rig.upsert("x", 1, &json!({"a": 1}));
    rig.send(Change::ListDone);
    eventually("the object is late", || rig.status.late() == 1).await;
    let error = rig.status.last_error().unwrap();
    assert!(error.contains("had no turn within 200ms"), "{error}");
    drop(others);
    eventually("the binding is synchronised", || rig.status.is_synchronised()).await;
    assert_eq!((*rig.synchronised.lock().unwrap()).clone(), [1]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_snapshot_that_lacks_the_newest_state_says_so_before_what_comes_later() {
    let filter = Arc::<Labels>::default();
    let rig = Rig::of("pods", filter.clone(), Arc::default());
    rig.send(Change::ListStarted);
    rig.upsert("x", 1, &json!({"a": 1}));
    rig.upsert("y", 1, &json!({"a": 1}));
    rig.send(Change::ListDone);
    eventually("the binding is synchronised", || rig.status.is_synchronised()).await;
    filter.stuck.store(true, Ordering::SeqCst);
    rig.upsert("x", 2, &json!({"a": 2}));
    eventually("the object is late", || rig.status.late() == 1).await;
    assert_eq!(rig.results(), [pair("x", "1"), pair("y", "1")]);
    assert_eq!((rig.complete.lock().unwrap().clone(), rig.triggers()), (vec![true, false], 1));
    filter.stuck.store(false, Ordering::SeqCst);
    eventually("the object is there", || rig.triggers() == 2).await;
    assert_eq!(rig.results(), [pair("x", "2"), pair("y", "1")]);
    eventually("the snapshot is complete", || *rig.complete.lock().unwrap() == [true, false, true]).await;
}
