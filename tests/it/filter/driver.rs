//! A driver with real filters: changes in, published snapshots and triggers out.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use boathook::{
    filter::{BindingStatus, Driver, Evaluator, Input, OwnChanges, Snapshots, WorkerConfig, compile, drive},
    model::{BindingName, Cause, Change, HookName, Object, Trigger},
};
use futures::channel::mpsc;
use serde_json::json;

use super::{binding, config, evaluator, eventually, hook, pod, spec};

struct Rig {
    changes: mpsc::UnboundedSender<Input>,
    status: Arc<BindingStatus>,
    snapshots: Arc<Snapshots>,
    triggers: Arc<Mutex<Vec<Trigger>>>,
    task: tokio::task::JoinHandle<()>,
    name: BindingName,
}

impl Rig {
    fn new(name: &str, filter: &str, evaluator: Arc<Evaluator>, snapshots: Arc<Snapshots>) -> Self {
        Self::knowing(name, filter, evaluator, snapshots, None)
    }

    fn knowing(
        name: &str,
        filter: &str,
        evaluator: Arc<Evaluator>,
        snapshots: Arc<Snapshots>,
        own: Option<Arc<dyn OwnChanges>>,
    ) -> Self {
        let (changes, stream) = mpsc::unbounded();
        let status = Arc::<BindingStatus>::default();
        let triggers = Arc::<Mutex<Vec<Trigger>>>::default();
        let mut spec = spec(Some(filter));
        spec.name = BindingName::new(name);
        let out = {
            let (snapshots, triggers, name) = (snapshots.clone(), triggers.clone(), spec.name.clone());
            move |trigger: Trigger| {
                if let Cause::Event(event) = &trigger.cause
                    && event.kind != boathook::model::WatchEventKind::Deleted
                {
                    let moment = snapshots.moment(&trigger.hook);
                    let shown = moment.items(&name).and_then(|items| items.get(&event.item.key)).cloned();
                    assert_eq!(shown, Some(event.item.clone()), "the snapshot lags behind the trigger");
                }
                triggers.lock().unwrap().push(trigger);
            }
        };
        let driver = Driver {
            publisher: snapshots.publisher(&hook(), &spec.name),
            binding: binding(spec.clone(), 1),
            own,
            filter: Some(compile(filter).unwrap()),
            evaluator,
            status: status.clone(),
            out,
        };
        let task = tokio::spawn(drive(driver, stream));
        Self { changes, status, snapshots, triggers, task, name: spec.name }
    }

    fn send(&self, change: Change) {
        self.changes.unbounded_send(Input::Change(0, change)).unwrap();
    }

    fn upsert(&self, name: &str, version: u32, labels: &serde_json::Value) {
        self.send(Change::Upsert(pod(&json!({"metadata": {
            "name": name, "uid": name, "resourceVersion": version.to_string(), "labels": labels,
        }}))));
    }

    fn results(&self) -> Vec<(String, String)> {
        let moment = self.snapshots.moment(&hook());
        let Some(items) = moment.items(&self.name) else { return Vec::new() };
        items.values().map(|item| (item.key.to_string(), item.filter_result.as_deref().unwrap().to_owned())).collect()
    }

    fn triggers(&self) -> usize {
        self.triggers.lock().unwrap().len()
    }
}

fn pair(name: &str, result: &str) -> (String, String) {
    (name.to_owned(), result.to_owned())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn changes_become_snapshots_and_triggers() {
    for filter in [".metadata.labels.a", "def f: .metadata.labels.a; f"] {
        let rig = Rig::new("pods", filter, evaluator(), Arc::default());
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
        assert!(rig.snapshots.moment(&hook()).items(&rig.name).is_none(), "withdrawn with its driver");
    }
}

#[tokio::test]
async fn an_error_is_visible_with_all_names() {
    let rig = Rig::new("pods", ".metadata.labels.a | error", evaluator(), Arc::default());
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
    let evaluator = Arc::new(Evaluator::new(WorkerConfig { deadline: Duration::from_secs(2), ..config() }));
    let snapshots = Arc::<Snapshots>::default();
    let hanging = "def f: f; if .metadata.labels.hang then f else .metadata.labels.a end";
    let bad = Rig::new("bad", hanging, evaluator.clone(), snapshots.clone());
    let good = Rig::new("good", "def f: .metadata.labels.a; f", evaluator, snapshots);
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
    let rig = Rig::knowing("pods", ".metadata.labels.a", evaluator(), Arc::default(), Some(Arc::new(Version("7"))));
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
    let rig = Rig::new("pods", ".metadata.labels.a", evaluator(), Arc::default());
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
