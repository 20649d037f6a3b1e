//! A driver with real filters: changes in, published snapshots and triggers out.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use boathook_core::{
    fair::{Pool, Tenant},
    filter::{BindingStatus, Driver, Filter, FilterError, Input, Output, Outputs, OwnChanges, Room, Snapshots, drive},
    model::{BindingName, Cause, Change, HookName, Object, Trigger},
};
use boathook_sandbox::{FilterConfig, Filters};
use futures::{
    FutureExt as _,
    channel::mpsc,
    future::{BoxFuture, ready},
};
use serde_json::json;
use tokio::{sync::Notify, time::timeout};

use crate::support;

use super::{binding, compile, eventually, filters, hook, pod, spec};

pub struct Rig {
    pub changes: mpsc::UnboundedSender<Input>,
    pub status: Arc<BindingStatus>,
    snapshots: Arc<Snapshots>,
    pub triggers: Arc<Mutex<Vec<Trigger>>>,
    /// Whether the snapshot was said to be complete, each time.
    pub complete: Arc<Mutex<Vec<bool>>>,
    /// The objects in the snapshot at each synchronization.
    pub synchronised: Arc<Mutex<Vec<usize>>>,
    /// Asks for another list.
    pub relist: Arc<Notify>,
    task: tokio::task::JoinHandle<()>,
    name: BindingName,
}

impl Rig {
    pub async fn new(name: &str, filter: &str, filters: &Filters, snapshots: Arc<Snapshots>) -> Self {
        Self::of(name, Arc::new(compile(filters, filter).await), snapshots)
    }

    pub fn of(name: &str, filter: Arc<dyn Filter>, snapshots: Arc<Snapshots>) -> Self {
        Self::knowing(name, filter, snapshots, None, Room::unbounded())
    }

    fn knowing(
        name: &str,
        filter: Arc<dyn Filter>,
        snapshots: Arc<Snapshots>,
        own: Option<Arc<dyn OwnChanges>>,
        room: Room,
    ) -> Self {
        let (changes, stream) = mpsc::unbounded();
        let relist = Arc::<Notify>::default();
        let status = Arc::<BindingStatus>::default();
        let triggers = Arc::<Mutex<Vec<Trigger>>>::default();
        let mut spec = spec(Some("."));
        spec.name = BindingName::new(name);
        let (complete, synchronised) = (Arc::<Mutex<Vec<bool>>>::default(), Arc::<Mutex<Vec<usize>>>::default());
        let out = {
            let (snapshots, triggers, name) = (snapshots.clone(), triggers.clone(), spec.name.clone());
            let (complete, synchronised) = (complete.clone(), synchronised.clone());
            move |output: Output| {
                let trigger = match output {
                    Output::Trigger(trigger) => trigger,
                    Output::Complete => return complete.lock().unwrap().push(true),
                    Output::Incomplete => return complete.lock().unwrap().push(false),
                };
                if trigger.cause == Cause::Synchronization {
                    let size = snapshots.snapshot_set(&trigger.hook).items(&name).unwrap().size();
                    synchronised.lock().unwrap().push(size);
                }
                if let Cause::Event(event) = &trigger.cause
                    && event.kind != boathook_core::model::WatchEventKind::Deleted
                {
                    let moment = snapshots.snapshot_set(&trigger.hook);
                    let shown = moment
                        .items(&name)
                        .and_then(|items| items.get(&event.item.key))
                        .map(|shown| shown.item.clone());
                    assert_eq!(shown, Some(event.item.clone()), "the snapshot lags behind the trigger");
                }
                triggers.lock().unwrap().push(trigger);
            }
        };
        let driver = Driver {
            publisher: snapshots.publisher(&hook(), &spec.name),
            binding: binding(spec.clone(), 1),
            own,
            room,
            relist: relist.clone(),
            filter: Some(filter),
            status: status.clone(),
            timings: None,
            out,
        };
        let task = tokio::spawn(drive(driver, stream));
        Self { changes, status, snapshots, triggers, complete, synchronised, relist, task, name: spec.name }
    }

    pub fn send(&self, change: Change) {
        self.changes.unbounded_send(Input::Change(0, change)).unwrap();
    }

    pub fn upsert(&self, name: &str, version: u32, labels: &serde_json::Value) {
        self.send(Change::Upsert(pod(&json!({"metadata": {
            "name": name, "uid": name, "resourceVersion": version.to_string(), "labels": labels,
        }}))));
    }

    pub fn results(&self) -> Vec<(String, String)> {
        let moment = self.snapshots.snapshot_set(&hook());
        let Some(items) = moment.items(&self.name) else { return Vec::new() };
        items.values().map(|item| (item.key.to_string(), item.filter_result.as_deref().unwrap().to_owned())).collect()
    }

    pub fn triggers(&self) -> usize {
        self.triggers.lock().unwrap().len()
    }
}

pub fn pair(name: &str, result: &str) -> (String, String) {
    (name.to_owned(), result.to_owned())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn changes_become_snapshots_and_triggers() {
    for filter in [".metadata.labels.a", "last(range(.metadata.labels.a + 1))"] {
        let rig = Rig::new("pods", filter, &filters(), Arc::default()).await;
        rig.send(Change::ListStarted);
        rig.upsert("x", 1, &json!({"a": 1}));
        rig.upsert("y", 2, &json!({"a": 2}));
        assert!(!rig.status.is_synchronised());
        rig.send(Change::ListDone);
        eventually("synchronised", || rig.status.is_synchronised() && rig.triggers() == 1).await;
        assert_eq!(rig.results(), [pair("x", "1"), pair("y", "2")]);
        rig.upsert("x", 3, &json!({"a": 1, "b": 1}));
        rig.upsert("x", 4, &json!({"a": 3}));
        eventually("one event", || rig.triggers() == 2).await;
        assert_eq!(rig.results(), [pair("x", "3"), pair("y", "2")]);
        assert_eq!((rig.status.objects(), rig.status.failing(), rig.status.filter_errors()), (2, 0, 0));
        assert!(rig.status.bytes() > 2 * 64);
        drop(rig.changes);
        rig.task.await.unwrap();
        assert!(rig.snapshots.snapshot_set(&hook()).items(&rig.name).is_none(), "withdrawn with its driver");
    }
}

#[tokio::test]
async fn an_error_is_visible_with_all_names() {
    let rig = Rig::new("pods", ".metadata.labels.a | error", &filters(), Arc::default()).await;
    rig.send(Change::ListStarted);
    rig.upsert("x", 1, &json!({"a": "why"}));
    rig.send(Change::ListDone);
    eventually("the binding synchronises all the same", || rig.triggers() == 1).await;
    assert_eq!((rig.status.objects(), rig.status.failing(), rig.status.filter_errors()), (0, 1, 1));
    let error = rig.status.last_error().unwrap();
    for part in ["hook hook", "binding pods", "v1 Pod x", "why"] {
        assert!(error.contains(part), "{error} does not say {part}");
    }
}

/// The first binding's filter hangs on some objects; the second one's never waits for it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hanging_filter_delays_only_its_own_binding() {
    let filters = support::filters::filters(FilterConfig::default());
    let snapshots = Arc::<Snapshots>::default();
    let hanging = "def f: f; if .metadata.labels.hang then f else .metadata.labels.a end";
    let bad = Rig::new("bad", hanging, &filters, snapshots.clone()).await;
    let good = Rig::new("good", ".metadata.labels.a", &filters, snapshots).await;
    for rig in [&bad, &good] {
        rig.send(Change::ListStarted);
        for name in ["h1", "h2", "h3"] {
            rig.upsert(name, 1, &json!({"hang": true, "a": 0}));
        }
        rig.upsert("x", 1, &json!({"a": 1}));
        rig.send(Change::ListDone);
    }
    eventually("the good one is ready", || good.status.is_synchronised()).await;
    assert_eq!(good.results().len(), 4);
    eventually("the bad one is ready", || bad.status.is_synchronised()).await;
    // "x" was refused after three failures in a row, and comes back by itself.
    eventually("what was refused is tried again", || bad.results() == [pair("x", "1")]).await;
    assert_eq!((bad.status.objects(), bad.status.failing()), (1, 3));
    assert!(bad.status.filter_errors() >= 4);
}

/// Takes what one version says for the hook's own.
struct Version(&'static str);

impl OwnChanges for Version {
    fn is_own<'a>(
        &'a self,
        _hook: &'a HookName,
        object: &'a Object,
        deleted: bool,
    ) -> futures::future::BoxFuture<'a, bool> {
        Box::pin(async move { !deleted && *object.resource_version == *self.0 })
    }
}

#[tokio::test]
async fn own_changes_wake_nobody_unless_a_list_finds_them() {
    let rig = Rig::knowing(
        "pods",
        Arc::new(compile(&filters(), ".metadata.labels.a").await),
        Arc::default(),
        Some(Arc::new(Version("7"))),
        Room::unbounded(),
    );
    rig.send(Change::ListStarted);
    rig.send(Change::ListDone);
    rig.upsert("mine", 7, &json!({"a": 1}));
    rig.upsert("theirs", 8, &json!({"a": 1}));
    eventually("others' changes are told", || rig.triggers() == 2).await;
    assert_eq!(rig.results(), [pair("mine", "1"), pair("theirs", "1")]);
    // Behind what a list shows may be more than one change.
    rig.send(Change::ListStarted);
    rig.upsert("found", 7, &json!({"a": 1}));
    eventually("what a list finds is told", || rig.triggers() == 3).await;
}

#[tokio::test]
async fn an_incomplete_snapshot_is_not_shown_and_that_of_a_lost_kind_is_empty() {
    let rig = Rig::new("pods", ".metadata.labels.a", &filters(), Arc::default()).await;
    rig.send(Change::ListStarted);
    rig.upsert("x", 1, &json!({"a": 1}));
    rig.send(Change::ListDone);
    eventually("the snapshot is shown", || rig.status.is_listed()).await;
    assert_eq!(rig.results(), [pair("x", "1")]);
    rig.changes.unbounded_send(Input::Unserved).unwrap();
    eventually("the object is gone", || rig.triggers() == 2).await;
    assert_eq!(rig.results(), []);
    assert!(rig.status.is_synchronised());
}

const KIB: usize = 1024;

/// `.metadata.labels` without the sandbox, whose threads would not stand still with the clock of these tests.
#[derive(Debug)]
struct Labels;

impl Filter for Labels {
    fn evaluate<'a>(&'a self, json: &'a Arc<str>) -> BoxFuture<'a, Result<Outputs, FilterError>> {
        let object: serde_json::Value = serde_json::from_str(json).unwrap();
        ready(Ok(Outputs::from_lines(object["metadata"]["labels"].to_string()))).boxed()
    }

    fn reads_only(&self, _: &[&str]) -> bool {
        false
    }
}

/// A Pod whose labels are so large.
fn large(rig: &Rig, name: &str) {
    rig.upsert(name, 1, &json!({"text": "x".repeat(10 * KIB)}));
}

async fn handled(rig: &Rig, objects: usize, late: usize) {
    let so = || rig.status.objects() == objects && rig.status.late() == late;
    eventually(&format!("{objects} objects, {late} late"), so).await;
}

// mutant: crates/core/src/filter/drive.rs: `if has_room && (text == 0 || room.keep(object)) {` => `if has_room || own > 0 {`
#[tokio::test(start_paused = true)]
async fn what_has_no_room_is_not_kept_and_makes_the_snapshot_incomplete_until_a_list_has_it() {
    let pool = Pool::new(64);
    let (tenant, other) = (Tenant::namespace("team-a"), Tenant::namespace("team-b"));
    let room = Room::of(pool.try_take(&tenant, 1).unwrap());
    let rig = Rig::knowing("pods", Arc::new(Labels), Arc::default(), None, room);
    rig.send(Change::ListStarted);
    for name in ["a", "b"] {
        large(&rig, name);
    }
    rig.send(Change::ListDone);
    handled(&rig, 2, 0).await;
    // An item has the object and the filter's result: 20 KiB, of 48.
    large(&rig, "c");
    handled(&rig, 2, 1).await;
    assert_eq!(*rig.complete.lock().unwrap(), [true, false]);
    assert!(pool.used(&tenant) <= 48 && pool.try_take(&other, 4).is_some(), "another tenant has its part");
    let why = rig.status.last_error().unwrap();
    assert!(why.contains("team-a") && why.contains("at most 48 KiB") && why.contains("--memory-limit"), "{why}");
    assert!(timeout(Duration::from_secs(60), rig.relist.notified()).await.is_err(), "there is no room yet");
    // What goes is taken out although there is no room, and makes room.
    rig.send(Change::Delete(pod(&json!({"metadata": {"name": "a", "uid": "a"}}))));
    handled(&rig, 1, 1).await;
    timeout(Duration::from_secs(6), rig.relist.notified()).await.expect("a list is asked for");
    rig.send(Change::ListStarted);
    for name in ["b", "c"] {
        large(&rig, name);
    }
    rig.send(Change::ListDone);
    handled(&rig, 2, 0).await;
    assert_eq!(*rig.complete.lock().unwrap(), [true, false, true]);
    let names: Vec<_> = rig.results().into_iter().map(|(name, _)| name).collect();
    assert_eq!(names.len(), 2, "{names:?}");
    for name in ["b", "c"] {
        rig.send(Change::Delete(pod(&json!({"metadata": {"name": name, "uid": name}}))));
    }
    handled(&rig, 0, 0).await;
    assert!(pool.used(&tenant) <= 33, "{} KiB are kept for nothing", pool.used(&tenant));
}

// mutant: crates/core/src/filter/binding.rs: `let text = (content == Content::Full).then(|| object.charge.clone());` => `let text = None;`
// mutant: crates/core/src/model/snapshot.rs: `self.all.fetch_sub(self.bytes, Ordering::Relaxed);` => ``
#[tokio::test(start_paused = true)]
async fn what_a_run_still_reads_counts_until_the_run_ends() {
    let pool = Pool::new(1024);
    let tenant = Tenant::namespace("team-a");
    let room = Room::of(pool.try_take(&tenant, 1).unwrap());
    let rig = Rig::knowing("pods", Arc::new(Labels), Arc::default(), None, room);
    rig.send(Change::ListStarted);
    large(&rig, "a");
    rig.send(Change::ListDone);
    handled(&rig, 1, 0).await;
    let read_by_a_run = rig.snapshots.snapshot_set(&hook());
    let gone = |name: &str| Change::Delete(pod(&json!({"metadata": {"name": name, "uid": name}})));
    rig.send(gone("a"));
    handled(&rig, 0, 0).await;
    // The object's text and the filter's result.
    assert!(pool.used(&tenant) >= 20, "{} KiB", pool.used(&tenant));
    assert_eq!(read_by_a_run.items(&rig.name).unwrap().size(), 1);
    drop(read_by_a_run);
    rig.upsert("b", 1, &json!({}));
    handled(&rig, 1, 0).await;
    rig.send(gone("b"));
    handled(&rig, 0, 0).await;
    assert!(pool.used(&tenant) < 20, "{} KiB", pool.used(&tenant));
}
