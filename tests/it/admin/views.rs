//! What the operator shows of itself.

use boathook_core::fair::Pool;
use boathook_operator::admin::{
    Client, SnapshotQuery, Socket,
    views::{BindingKind, HookState, HookView, HooksView, RunResult, SnapshotItem, SnapshotsView},
};
use serde_json::{Value, json};

use super::{Asked, socket_in};
use crate::{
    pipeline::{
        fixture::{Operator, Pipeline, config_map, guests},
        refused::{allow, with_rbac},
        written::{Deed, hook},
    },
    support::{cluster::TestCluster, filters::crowded},
};

fn find<'a>(view: &'a HooksView, name: &str) -> &'a HookView {
    view.hooks.iter().find(|hook| hook.name == name).unwrap_or_else(|| panic!("no {name}: {view:?}"))
}

const DOCUMENT: &str = r#"
configVersion: v1
onStartup: 7
schedule: [{name: yearly, crontab: "0 0 1 1 *", timeZone: Europe/Berlin}]
kubernetes:
- name: maps
  apiVersion: v1
  kind: ConfigMap
  namespace: {nameSelector: {matchNames: [default]}}
  labelSelector: {matchLabels: {test: "yes"}}
- {name: widgets, apiVersion: example.com/v1, kind: Widget}
"#;

#[tokio::test]
async fn hooks_with_their_bindings_and_what_they_wait_for() {
    let mut hooks = guests(["noop", "hostile-bad-config"]);
    hooks.push(("all", hook(DOCUMENT, &Deed::Says("ran"))));
    let asked = Asked::unready(&hooks).await;
    asked.pipeline.create(config_map("one", ("test", "yes"), json!({"k": "v"}))).await;
    let seen = |view: &HooksView| {
        let (all, noop) = (find(view, "all"), find(view, "noop"));
        let [.., maps, widgets] = all.bindings.as_slice() else { return false };
        maps.objects == Some(1) && widgets.pending.is_some() && all.runs.total > 0 && noop.state == HookState::Ready
    };
    let view = asked.until("the ConfigMap is seen and ran for", async |client| client.hooks().await, seen).await;

    let names: Vec<_> = view.hooks.iter().map(|hook| hook.name.as_str()).collect();
    assert_eq!(names, ["all", "hostile-bad-config", "noop"]);
    let bad = find(&view, "hostile-bad-config");
    assert_eq!((bad.state, bad.digest.as_deref()), (HookState::Quarantined, None));
    assert!(bad.reasons[0].contains("8 errors"), "{bad:?}");
    assert_eq!(find(&view, "noop").state, HookState::Ready);

    let all = find(&view, "all");
    assert_eq!(all.state, HookState::Pending);
    assert!(all.reasons.iter().any(|reason| reason.contains("widgets") && reason.contains("Widget")), "{all:?}");
    assert!(all.digest.as_deref().unwrap().starts_with("sha256:"));
    assert_eq!(all.runs.last.as_ref().unwrap().result, RunResult::Succeeded);
    let bindings: Vec<_> =
        all.bindings.iter().map(|binding| (binding.name.as_str(), binding.kind, binding.selection.as_str())).collect();
    assert_eq!(
        bindings,
        [
            ("onStartup", BindingKind::OnStartup, "order 7"),
            ("yearly", BindingKind::Schedule, "0 0 1 1 * Europe/Berlin"),
            ("maps", BindingKind::Kubernetes, "v1 ConfigMap in default with test=yes"),
            ("widgets", BindingKind::Kubernetes, "example.com/v1 Widget"),
        ]
    );
    let maps = &all.bindings[2];
    assert_eq!((maps.synchronised, maps.queue.as_str(), maps.filter_errors), (Some(true), "hook/all", Some(0)));
    assert!(maps.bytes.unwrap() > 0);
}

#[tokio::test]
async fn runs_with_triggers_usage_and_outcome() {
    let asked = Asked::start(&guests(["fail", "noop"])).await;
    asked.pipeline.create(config_map("bad", ("test", "fail"), json!({"mode": "panic", "attempts": "1"}))).await;
    let failed = async |client: &Client| client.runs(Some("fail"), true).await;
    let view = asked.until("a run failed", failed, |view| !view.runs.is_empty()).await;
    let run = &view.runs[0];
    assert_eq!((run.hook.as_str(), run.attempt, run.triggers_count), ("fail", 1, 1));
    assert_eq!((run.triggers[0].binding.as_str(), run.triggers[0].cause.as_str()), ("configmaps", "Added"));
    assert_eq!(run.triggers[0].object.as_deref(), Some("default/bad"));
    assert_eq!(run.triggers[0].kind.as_deref(), Some("ConfigMap"));
    assert_eq!((run.outcome.result, run.outcome.kind.as_deref()), (RunResult::Failed, Some("trap")));
    assert!(run.outcome.message.as_deref().unwrap().contains("asked to"), "{run:?}");
    assert!(run.outcome.backtrace.as_deref().unwrap().contains("fail"), "{run:?}");
    assert!(run.memory_peak_bytes > 0 && run.host_calls > 0 && run.duration_ms > 0.0, "{run:?}");

    let log = asked.pipeline.operator.told("run failed", "fail", 1).await;
    assert_eq!(log[0]["run"], run.id.as_str(), "the id is the one of the log");
    let all = asked.client.runs(None, false).await.unwrap();
    assert!(all.runs.iter().any(|run| run.hook == "noop" && run.outcome.result == RunResult::Succeeded), "{all:?}");
    let counts = find(&asked.client.hooks().await.unwrap(), "fail").runs.clone();
    assert!(counts.total > counts.failed && counts.failed == 1, "the synchronization succeeded: {counts:?}");
}

fn named(items: &[SnapshotItem]) -> Vec<&str> {
    items.iter().map(|item| item.name.as_str()).collect()
}

const SECRETS: &str = r#"
configVersion: v1
kubernetes:
- {name: secrets, apiVersion: v1, kind: Secret, namespace: {nameSelector: {matchNames: [default]}}}
- {name: filtered, apiVersion: v1, kind: secrets, namespace: {nameSelector: {matchNames: [default]}}, jqFilter: .data, keepFullObjectsInMemory: false}
- {name: maps, apiVersion: v1, kind: ConfigMap, labelSelector: {matchLabels: {test: "yes"}}, jqFilter: .data.k}
"#;

// mutant: crates/operator/src/admin/pages.rs: `if !show && (secrets || object.as_ref().is_some_and(is_secret)) {` => `if !show && (secrets && object.as_ref().is_some_and(is_secret)) && false {`
#[tokio::test]
async fn snapshots_in_pages_and_with_values_of_secrets_only_when_asked_for() {
    let asked = Asked::start(&[("all", hook(SECRETS, &Deed::Says("ran")))]).await;
    let secret = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"namespace": "default", "name": "s"}, "data": {"password": "aHVudGVyMg=="}});
    asked.pipeline.create(secret).await;
    for n in 0..5 {
        asked.pipeline.create(config_map(&format!("m{n}"), ("test", "yes"), json!({"k": n.to_string()}))).await;
    }
    let everything = SnapshotQuery::default();
    let counts = |view: &SnapshotsView| {
        view.bindings.iter().map(|(name, binding)| (name.clone(), binding.count)).collect::<Vec<_>>()
    };
    let wanted = [("filtered", 1), ("maps", 5), ("secrets", 1)].map(|(name, count)| (name.to_owned(), count));
    let view = asked
        .until("all is seen", async |client| client.snapshots("all", &everything).await, |view| counts(view) == wanted)
        .await;

    let text = serde_json::to_string(&view).unwrap();
    assert!(!text.contains("aHVudGVyMg=="), "{text}");
    assert!(text.contains("password"), "the keys are shown: {text}");
    assert_eq!(view.bindings["filtered"].snapshot[0].filter_result, Some("(hidden)".into()));
    assert_eq!(view.bindings["filtered"].snapshot[0].object, None);
    let shown = SnapshotQuery { show_secrets: true, ..SnapshotQuery::default() };
    let shown = asked.client.snapshots("all", &shown).await.unwrap();
    assert_eq!(shown.bindings["filtered"].snapshot[0].filter_result, Some(json!({"password": "aHVudGVyMg=="})));
    assert_eq!(shown.bindings["secrets"].snapshot[0].object.as_ref().unwrap()["data"]["password"], "aHVudGVyMg==");

    let maps = &view.bindings["maps"];
    assert_eq!(named(&maps.snapshot), ["m0", "m1", "m2", "m3", "m4"]);
    assert_eq!(maps.snapshot[3].filter_result, Some("3".into()));
    assert_eq!(maps.snapshot[3].namespace.as_deref(), Some("default"));
    assert_eq!(maps.snapshot[3].object.as_ref().unwrap()["metadata"]["uid"], maps.snapshot[3].uid.as_str());

    let page = SnapshotQuery { binding: Some("maps".into()), limit: Some(2), ..SnapshotQuery::default() };
    let first = asked.client.snapshots("all", &page).await.unwrap().bindings.remove("maps").unwrap();
    assert_eq!((named(&first.snapshot), first.count), (vec!["m0", "m1"], 5));
    let page = SnapshotQuery { continue_token: first.continue_token, limit: Some(1_000), ..page };
    let mut second = asked.client.snapshots("all", &page).await.unwrap();
    assert_eq!(second.bindings.len(), 1);
    let second = second.bindings.remove("maps").unwrap();
    assert_eq!((named(&second.snapshot), second.continue_token), (vec!["m2", "m3", "m4"], None));
}

const LATE: &str = r#"
configVersion: v1
kubernetes:
- {name: late, apiVersion: v1, kind: ConfigMap, labelSelector: {matchLabels: {test: "yes"}}, jqFilter: ". as $map | [range(2000000)] | $map.data"}
- {name: maps, apiVersion: v1, kind: ConfigMap, labelSelector: {matchLabels: {test: "yes"}}}
- {name: widgets, apiVersion: example.com/v1, kind: Widget}
"#;

/// Other filters have the memory at first.
// mutant: crates/operator/src/app/admin.rs: `page.incomplete = incomplete.get(index).cloned().flatten();` => ``
#[tokio::test]
async fn a_snapshot_that_is_not_complete_says_why() {
    let (cluster, directory) = (TestCluster::start().await, tempfile::tempdir().unwrap());
    let (socket, memory) = (socket_in(directory.path()), Pool::new(512 << 20));
    let others = crowded(&memory);
    let map = |name: &str| config_map(name, ("test", "yes"), json!({"n": "0"}));
    cluster.admin.create(&map("one")).await.unwrap();
    let pipeline = Pipeline::on(cluster, &[("all", hook(LATE, &Deed::Says("ran")))], |options| {
        options.admin_socket = Some(Socket::At(socket.clone()));
        options.sandbox.filters.memory = memory.clone();
    })
    .await;
    let asked = Asked { pipeline, client: Client::new(vec![socket]), directory };
    let everything = SnapshotQuery::default();
    let ask = async |client: &Client| client.snapshots("all", &everything).await;
    let why = |view: &SnapshotsView, name: &str| view.bindings[name].incomplete.clone();
    let late = |view: &SnapshotsView| {
        let why = why(view, "late").unwrap_or_default();
        why.starts_with("1 object is missing or old: ") && why.contains("the memory that all filters share is used up")
    };
    // A kind that is not served has no objects.
    let complete = |view: &SnapshotsView| ["maps", "widgets"].iter().all(|name| why(view, name).is_none());
    let view = asked.until("its filter could not run", ask, |view| late(view) && complete(view)).await;
    assert_eq!((view.bindings["late"].count, view.bindings["maps"].count), (0, 1));
    let get = async |path: &str| String::from_utf8(asked.client.get(path).await.unwrap().to_vec()).unwrap();
    let text = get("/hooks/all/snapshots.text?binding=late").await;
    assert!(text.contains("\n  incomplete: 1 object is missing or old: "), "{text}");
    let old: Value = serde_json::from_str(&get("/hook/all/snapshots.json").await).unwrap();
    assert!(old["late"]["incomplete"].is_string() && old["maps"].get("incomplete").is_none(), "{old}");

    drop(others);
    asked.until("the filter ran", ask, |view| why(view, "late").is_none() && view.bindings["late"].count == 1).await;
    // It was complete, and is so no longer.
    let others = crowded(&memory);
    asked.pipeline.create(map("two")).await;
    asked.until("the second object is late", ask, late).await;
    drop(others);
    asked.until("it has both", ask, |view| why(view, "late").is_none() && view.bindings["late"].count == 2).await;
}

#[tokio::test]
async fn a_snapshot_of_what_the_operator_may_not_list_says_so() {
    let (cluster, client) = with_rbac().await;
    allow(&cluster, "maps", &["configmaps", "namespaces", "customresourcedefinitions"]).await;
    let directory = tempfile::tempdir().unwrap();
    let socket = socket_in(directory.path());
    let at = Some(Socket::At(socket.clone()));
    let hooks = [("all", hook(SECRETS, &Deed::Says("ran")))];
    let operator = Operator::start(client, &hooks, |options| options.admin_socket = at).await;
    let pipeline = Pipeline { cluster, operator };
    let asked = Asked { pipeline, client: Client::new(vec![socket]), directory };
    let everything = SnapshotQuery::default();
    let refused = |view: &SnapshotsView| {
        let why = view.bindings["secrets"].incomplete.clone().unwrap_or_default();
        why.contains("does not let the operator list and watch") && view.bindings["maps"].incomplete.is_none()
    };
    asked.until("it says so", async |client| client.snapshots("all", &everything).await, refused).await;
}

#[tokio::test]
async fn operations_are_counted_and_reading_changes_nothing() {
    let asked = Asked::start(&guests(["fail"])).await;
    let map = |name: &str, n: &str| config_map(name, ("test", "fail"), json!({"mode": "none", "n": n}));
    for (name, n) in [("a", "1"), ("b", "1"), ("a", "2"), ("a", "2")] {
        asked.pipeline.apply(map(name, n)).await;
    }
    asked.pipeline.delete(map("b", "1")).await;
    let everything = SnapshotQuery::default();
    let counted = |view: &SnapshotsView| {
        let now = view.bindings["configmaps"].operations.unwrap().since_start;
        (now.count, now.added, now.modified, now.deleted)
    };
    let ask = async |client: &Client| client.snapshots("fail", &everything).await;
    asked.until("all is counted", ask, |view| counted(view) == (1, 2, 1, 1)).await;
    assert_eq!(counted(&ask(&asked.client).await.unwrap()), (1, 2, 1, 1));
    let runs = asked.client.runs(None, false).await.unwrap();
    assert_eq!(asked.client.runs(None, false).await.unwrap(), runs);
}

#[tokio::test]
async fn old_paths_answer_as_shell_operator_did() {
    let asked = Asked::start(&guests(["fail", "registry-secret"])).await;
    let get = async |path: &str| {
        let bytes = asked.client.get(path).await.unwrap_or_else(|error| panic!("{path}: {error}"));
        String::from_utf8(bytes.to_vec()).unwrap()
    };
    let json = async |path: &str| -> Value { serde_json::from_str(&get(path).await).unwrap() };
    assert_eq!(json("/hook/list.json").await, json!(["fail", "registry-secret"]));
    assert_eq!(get("/hook/list.text").await, "fail\nregistry-secret\n");
    assert_eq!(get("/hook/list.yaml").await, "- fail\n- registry-secret\n");

    let snapshots = json("/hook/registry-secret/snapshots.json").await;
    assert!(snapshots.as_object().unwrap().values().all(|binding| binding["snapshot"].is_array()), "{snapshots}");
    assert!(get("/hook/registry-secret/snapshots.text").await.starts_with("Binding "));

    asked.pipeline.create(config_map("bad", ("test", "fail"), json!({"mode": "retry"}))).await;
    asked.pipeline.operator.told("run failed", "fail", 1).await;
    let queue = |list: &Value| list["active"].as_array().unwrap().iter().any(|queue| queue["name"] == "hook/fail");
    let list =
        crate::support::until("the queue has a task", async || Some(json("/queue/list.json").await).filter(queue))
            .await;
    assert_eq!(list["active"][0]["tasksCount"], 1, "{list}");
    assert_eq!(list["summary"]["totalTasks"], 1);
    assert_eq!(list["summary"]["otherQueues"]["active"], 1);
    assert_eq!(list["summary"]["mainQueueTasks"], 0);
    assert!(list.get("empty").is_none());
    let text = get("/queue/list.text?showEmpty=true").await;
    assert!(text.contains("Queue hook/fail: 1 tasks") && text.contains("Empty queues: "), "{text}");
    let main = json("/queue/main.json").await;
    assert_eq!((&main["name"], &main["tasksCount"], &main["tasks"]), (&json!("main"), &json!(0), &json!([])));
    assert!(get("/queue/main.yaml").await.starts_with("name: main\n"));
    assert!(get("/queue/main.text").await.starts_with("Queue main: 0 tasks"));
}
