//! Reconcile hooks: custom resources become objects and a status, as a user with kubectl sees it.

use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::{Stream, StreamExt as _};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::Api;
use kube::api::{WatchEvent, WatchParams};
use serde_json::{Value, json};

use crate::harness::{Cluster, Operator, SOON, Test, boathook, eventually, eventually_within, workspace};

pub const HELLO: &str = "hooks-wasm/hello-app";
pub const WISH: &str = "hooks-wasm/test/wish";

pub async fn apply_file(cluster: &Cluster, file: &Path) {
    cluster.kubectl(&["apply", "--server-side", "--filename", &file.display().to_string()]).await;
}

/// Applies an object as `kubectl apply` does.
pub async fn apply(test: &Test, cluster: &Cluster, object: &Value) {
    let name = object["metadata"]["name"].as_str().unwrap();
    let file = test.dir().join(format!("{name}.json"));
    std::fs::write(&file, object.to_string()).expect("write a manifest");
    cluster.kubectl(&["apply", "--filename", &file.display().to_string()]).await;
}

/// A cluster with the definitions of both hooks, and an operator with them.
async fn begin(test: &Test) -> (Arc<Cluster>, Operator) {
    let cluster = test.own_cluster().await;
    let files = [format!("{HELLO}/crd.yaml"), format!("{WISH}/wishes.yaml"), format!("{WISH}/clusterwishes.yaml")];
    for file in files {
        apply_file(&cluster, &workspace().join(file)).await;
    }
    let operator = operator(test, &cluster).await;
    (cluster, operator)
}

async fn operator(test: &Test, cluster: &Cluster) -> Operator {
    let operator = test.operator_with(&cluster.kubeconfig, &["hello-app", "test/wish"]).await;
    operator.ready().await;
    operator
}

/// The object as kubectl shows it.
pub async fn get(cluster: &Cluster, kind: &str, name: &str) -> Result<Value, String> {
    let text = cluster.try_kubectl(&["get", kind, name, "--output", "json"]).await?;
    serde_json::from_str(&text).map_err(|error| error.to_string())
}

/// The garbage collector looks for new kinds every 30 s, and does not know the owners' before.
const COLLECTED: Duration = Duration::from_secs(120);

pub async fn gone(cluster: &Cluster, kind: &str, name: &str) {
    eventually_within(COLLECTED, &format!("{kind} {name} is gone"), async || match get(cluster, kind, name).await {
        Err(error) if error.contains("NotFound") => Ok(()),
        Err(error) => Err(error),
        Ok(found) => Err(found.to_string()),
    })
    .await;
}

/// Waits until an object has this at a pointer.
pub async fn has(cluster: &Cluster, kind: &str, name: &str, pointer: &str, expected: Value) -> Value {
    eventually(&format!("{pointer} of {kind} {name} is {expected}"), async || {
        let found = get(cluster, kind, name).await?;
        let seen = found.pointer(pointer).cloned().unwrap_or_default();
        if seen == expected { Ok(found) } else { Err(seen.to_string()) }
    })
    .await
}

/// Waits until a condition has this status. Returns its message.
pub async fn told(cluster: &Cluster, kind: &str, name: &str, condition: &str, status: &str) -> String {
    eventually(&format!("{condition} of {kind} {name} is {status}"), async || {
        let found = get(cluster, kind, name).await?;
        let conditions = found["status"]["conditions"].as_array().cloned().unwrap_or_default();
        let found = conditions.iter().find(|one| one["type"] == condition && one["status"] == status);
        found
            .map(|one| one["message"].as_str().unwrap_or_default().to_owned())
            .ok_or_else(|| json!(conditions).to_string())
    })
    .await
}

pub fn wish(name: &str, children: &[Value]) -> Value {
    json!({
        "apiVersion": "example.com/v1", "kind": "Wish", "metadata": {"name": name, "namespace": "default"},
        "spec": {"children": children},
    })
}

pub fn child(name: &str, wave: &str, value: &str) -> Value {
    let metadata = json!({"name": name, "annotations": {"boathook.dev/wave": wave}});
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"value": value}})
}

/// Created, scaled, deleted by its owner reference.
pub async fn an_app_is_created_scaled_and_deleted(test: Arc<Test>) {
    let (cluster, operator) = begin(&test).await;
    apply_file(&cluster, &workspace().join(HELLO).join("example.yaml")).await;
    let made = has(&cluster, "deployment", "hello", "/spec/replicas", json!(2)).await;
    assert_eq!(made["metadata"]["ownerReferences"][0]["kind"], "HelloApp");
    get(&cluster, "service", "hello").await.unwrap();
    has(&cluster, "helloapp", "hello", "/status/observedGeneration", json!(1)).await;
    cluster.kubectl(&["patch", "helloapp", "hello", "--type=merge", "--patch", r#"{"spec":{"size":3}}"#]).await;
    has(&cluster, "deployment", "hello", "/spec/replicas", json!(3)).await;
    has(&cluster, "helloapp", "hello", "/status/observedGeneration", json!(2)).await;
    cluster.kubectl(&["delete", "helloapp", "hello"]).await;
    gone(&cluster, "deployment", "hello").await;
    gone(&cluster, "service", "hello").await;
    operator.stop().await;
}

/// What a watch shows of one ConfigMap.
struct Shown {
    events: Pin<Box<dyn Stream<Item = kube::Result<WatchEvent<ConfigMap>>> + Send>>,
    /// The value, or `None` while there is no ConfigMap.
    last: Option<String>,
}

impl Shown {
    /// From now on.
    async fn of(cluster: &Cluster, name: &str) -> Self {
        let maps: Api<ConfigMap> = Api::namespaced(cluster.client.clone(), "default");
        let found = maps.get(name).await.expect("the ConfigMap is there");
        let since = found.metadata.resource_version.clone().expect("it has a version");
        let params = WatchParams::default().fields(&format!("metadata.name={name}"));
        let events = maps.watch(&params, &since).await.expect("watch the ConfigMap").boxed();
        Self { events, last: value(&found) }
    }

    /// The next value that is not the last one.
    async fn next(&mut self) -> Option<String> {
        loop {
            let event = tokio::time::timeout(SOON, self.events.next()).await.expect("the watch shows a change");
            let seen = match event.expect("the watch goes on").expect("an event") {
                WatchEvent::Added(map) | WatchEvent::Modified(map) => value(&map),
                WatchEvent::Deleted(_) => None,
                WatchEvent::Bookmark(_) => continue,
                WatchEvent::Error(error) => panic!("the watch ended: {error:?}"),
            };
            if seen != self.last {
                self.last.clone_from(&seen);
                return seen;
            }
        }
    }

    /// Somebody's change is shown, and the next one puts it right. The time is for the reader: bench/RESULTS.md has the one to
    /// hold.
    async fn is_put_right(&mut self, changed: Option<&str>, right: &str) {
        assert_eq!(self.next().await.as_deref(), changed);
        let since = Instant::now();
        assert_eq!(self.next().await.as_deref(), Some(right));
        println!("put right after {:?}", since.elapsed());
    }
}

fn value(map: &ConfigMap) -> Option<String> {
    map.data.as_ref()?.get("value").cloned()
}

/// A change by hand and a deleted child are put right by the next write, and what is not the hook's stays.
pub async fn what_somebody_changes_is_put_right(test: Arc<Test>) {
    let (cluster, operator) = begin(&test).await;
    apply(&test, &cluster, &wish("web", &[child("a", "0", "1")])).await;
    told(&cluster, "wish", "web", "Ready", "True").await;
    let before = get(&cluster, "configmap", "a").await.unwrap();
    let mut shown = Shown::of(&cluster, "a").await;
    cluster.kubectl(&["patch", "configmap", "a", "--type=merge", "--patch", r#"{"data":{"value":"2"}}"#]).await;
    shown.is_put_right(Some("2"), "1").await;
    cluster.kubectl(&["delete", "configmap", "a", "--wait=false"]).await;
    shown.is_put_right(None, "1").await;
    assert_ne!(get(&cluster, "configmap", "a").await.unwrap()["metadata"]["uid"], before["metadata"]["uid"]);
    cluster.kubectl(&["label", "configmap", "a", "theirs=1"]).await;
    cluster.kubectl(&["patch", "configmap", "a", "--type=merge", "--patch", r#"{"data":{"value":"3"}}"#]).await;
    shown.is_put_right(Some("3"), "1").await;
    assert_eq!(get(&cluster, "configmap", "a").await.unwrap()["metadata"]["labels"]["theirs"], "1");
    operator.stop().await;
}

const NO_OWNERS: &str = r#"[{"op":"remove","path":"/metadata/ownerReferences"}]"#;

/// Somebody removes the owner of a child.
pub async fn a_child_that_loses_its_owner_gets_it_back(test: Arc<Test>) {
    let (cluster, operator) = begin(&test).await;
    apply(&test, &cluster, &wish("web", &[child("a", "0", "1")])).await;
    told(&cluster, "wish", "web", "Ready", "True").await;
    let before = get(&cluster, "configmap", "a").await.unwrap();
    cluster.kubectl(&["patch", "configmap", "a", "--type=json", "--patch", NO_OWNERS]).await;
    let owners = before["metadata"]["ownerReferences"].clone();
    let after = has(&cluster, "configmap", "a", "/metadata/ownerReferences", owners).await;
    assert_eq!(after["metadata"]["uid"], before["metadata"]["uid"]);
    cluster.kubectl(&["delete", "wish", "web"]).await;
    gone(&cluster, "configmap", "a").await;
    operator.stop().await;
}

/// The parent goes by force while no operator runs. Kubernetes deletes what the parent still owns, and nobody deletes the
/// rest. A parent of the same name gets it back.
pub async fn a_parent_that_goes_without_its_operator_leaves_what_it_does_not_own(test: Arc<Test>) {
    let (cluster, operator) = begin(&test).await;
    apply(&test, &cluster, &wish("web", &[child("owned", "0", "1"), child("orphan", "1", "1")])).await;
    told(&cluster, "wish", "web", "Ready", "True").await;
    has(&cluster, "wish", "web", "/metadata/finalizers", json!(["boathook.dev/teardown"])).await;
    let before = get(&cluster, "configmap", "orphan").await.unwrap();
    operator.stop().await;
    cluster.kubectl(&["patch", "configmap", "orphan", "--type=json", "--patch", NO_OWNERS]).await;
    let no_finalizers = r#"[{"op":"remove","path":"/metadata/finalizers"}]"#;
    cluster.kubectl(&["patch", "wish", "web", "--type=json", "--patch", no_finalizers]).await;
    cluster.kubectl(&["delete", "wish", "web"]).await;
    gone(&cluster, "configmap", "owned").await;

    let operator = self::operator(&test, &cluster).await;
    apply(&test, &cluster, &wish("witness", &[child("witness", "0", "1")])).await;
    told(&cluster, "wish", "witness", "Ready", "True").await;
    let after = get(&cluster, "configmap", "orphan").await.unwrap();
    assert_eq!(after["metadata"]["uid"], before["metadata"]["uid"], "it stays");
    apply(&test, &cluster, &wish("web", &[child("orphan", "0", "2")])).await;
    let after = has(&cluster, "configmap", "orphan", "/data/value", json!("2")).await;
    assert_eq!(after["metadata"]["uid"], before["metadata"]["uid"]);
    assert_eq!(after["metadata"]["ownerReferences"][0]["name"], "web", "{after}");
    operator.stop().await;
}

/// With a finalizer, in the reverse of the waves.
pub async fn a_parent_with_a_finalizer_is_torn_down(test: Arc<Test>) {
    let (cluster, operator) = begin(&test).await;
    apply(&test, &cluster, &wish("web", &[child("first", "0", "1"), child("second", "1", "1")])).await;
    told(&cluster, "wish", "web", "Ready", "True").await;
    has(&cluster, "wish", "web", "/metadata/finalizers", json!(["boathook.dev/teardown"])).await;
    let held = r#"{"metadata":{"finalizers":["example.com/held"]}}"#;
    cluster.kubectl(&["patch", "configmap", "second", "--type=merge", "--patch", held]).await;
    cluster.kubectl(&["delete", "wish", "web", "--wait=false"]).await;
    eventually("the second one is being deleted", async || {
        let found = get(&cluster, "configmap", "second").await?;
        found["metadata"].get("deletionTimestamp").map(drop).ok_or_else(|| found.to_string())
    })
    .await;
    let first = get(&cluster, "configmap", "first").await.unwrap();
    assert!(first["metadata"].get("deletionTimestamp").is_none(), "{first}");
    get(&cluster, "wish", "web").await.unwrap();
    cluster
        .kubectl(&[
            "patch",
            "configmap",
            "second",
            "--type=json",
            "--patch",
            r#"[{"op":"remove","path":"/metadata/finalizers"}]"#,
        ])
        .await;
    for (kind, name) in [("configmap", "second"), ("configmap", "first"), ("wish", "web")] {
        gone(&cluster, kind, name).await;
    }
    operator.stop().await;
}

pub async fn orphaned_children_stay(test: Arc<Test>) {
    let (cluster, operator) = begin(&test).await;
    apply(&test, &cluster, &wish("web", &[child("a", "0", "1"), child("b", "1", "1")])).await;
    told(&cluster, "wish", "web", "Ready", "True").await;
    cluster.kubectl(&["delete", "wish", "web", "--cascade=orphan"]).await;
    gone(&cluster, "wish", "web").await;
    for name in ["a", "b"] {
        let found = get(&cluster, "configmap", name).await.unwrap();
        assert!(found["metadata"].get("ownerReferences").is_none(), "{found}");
        assert!(found["metadata"].get("deletionTimestamp").is_none(), "{found}");
    }
    operator.stop().await;
}

/// The second one is refused, and its status says so.
pub async fn two_parents_claim_one_object(test: Arc<Test>) {
    let (cluster, operator) = begin(&test).await;
    apply(&test, &cluster, &wish("one", &[child("a", "0", "1")])).await;
    told(&cluster, "wish", "one", "Ready", "True").await;
    apply(&test, &cluster, &wish("two", &[child("a", "0", "2")])).await;
    let message = told(&cluster, "wish", "two", "Stalled", "True").await;
    assert!(message.contains("ConfigMap default/a: it belongs to the set applyset-"), "{message}");
    assert_eq!(get(&cluster, "configmap", "a").await.unwrap()["data"]["value"], "1");
    operator.stop().await;
}

/// A child that the API server refuses is named, and the others are applied.
pub async fn a_refused_child_is_named(test: Arc<Test>) {
    let (cluster, operator) = begin(&test).await;
    let bad =
        json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "bad"}, "spec": {"replicas": 1}});
    apply(&test, &cluster, &wish("web", &[child("a", "0", "1"), bad])).await;
    let message = told(&cluster, "wish", "web", "Stalled", "True").await;
    assert!(message.contains("Deployment.apps default/bad") && message.contains("spec.selector"), "{message}");
    get(&cluster, "configmap", "a").await.unwrap();
    operator.stop().await;
}

/// A version more, and a new field: the parents stay as they are, and the new field counts.
pub async fn a_definition_is_upgraded(test: Arc<Test>) {
    let (cluster, operator) = begin(&test).await;
    apply(&test, &cluster, &wish("web", &[child("a", "0", "1")])).await;
    told(&cluster, "wish", "web", "Ready", "True").await;
    let before = get(&cluster, "configmap", "a").await.unwrap();
    let mut definition = get(&cluster, "customresourcedefinition", "wishes.example.com").await.unwrap();
    let mut next = definition["spec"]["versions"][0].clone();
    definition["spec"]["versions"][0]["storage"] = json!(false);
    (next["name"], next["storage"]) = (json!("v2"), json!(true));
    definition["spec"]["versions"].as_array_mut().unwrap().push(next);
    definition["metadata"].as_object_mut().unwrap().remove("managedFields");
    apply(&test, &cluster, &definition).await;
    let mut changed = wish("web", &[child("a", "0", "2")]);
    changed["apiVersion"] = json!("example.com/v2");
    eventually("the new version is served", async || {
        let file = test.dir().join("v2.json");
        std::fs::write(&file, changed.to_string()).map_err(|error| error.to_string())?;
        cluster.try_kubectl(&["apply", "--filename", &file.display().to_string()]).await
    })
    .await;
    let after = has(&cluster, "configmap", "a", "/data/value", json!("2")).await;
    assert_eq!(after["metadata"]["uid"], before["metadata"]["uid"]);
    operator.stop().await;
}

/// What a parent refers to reaches the hook, its Events are seen by `kubectl`, and it ends when the hook says so.
pub async fn a_parent_refers_to_others_and_ends_when_its_hook_says_so(test: Arc<Test>) {
    let cluster = test.own_cluster().await;
    apply_file(&cluster, &workspace().join(format!("{WISH}/wishes.yaml"))).await;
    let operator = test.operator_with(&cluster.kubeconfig, &["test/farewell"]).await;
    operator.ready().await;
    let events = json!([{"type": "Warning", "reason": "Wet", "message": "it is wet"}]);
    let mut parent = wish("web", &[child("a", "0", "1"), child("b", "0", "1")]);
    for (name, value) in [("secret", json!("key")), ("events", events), ("end", json!({"done": false}))] {
        parent["spec"][name] = value;
    }
    apply(&test, &cluster, &parent).await;
    let made = has(&cluster, "wish", "web", "/metadata/finalizers", json!(["boathook.dev/teardown"])).await;
    has(&cluster, "wish", "web", "/status/related", json!([])).await;
    cluster.kubectl(&["create", "secret", "generic", "key", "--from-literal=a=b"]).await;
    has(&cluster, "wish", "web", "/status/related", json!(["secret default/key"])).await;
    cluster.kubectl(&["delete", "secret", "key"]).await;
    has(&cluster, "wish", "web", "/status/related", json!([])).await;
    let uid = made["metadata"]["uid"].as_str().unwrap();
    let about = format!("involvedObject.uid={uid},reason=Wet");
    eventually("the Event is there", async || {
        let found = cluster.try_kubectl(&["get", "events", "--field-selector", &about, "--output", "name"]).await?;
        if found.lines().count() == 1 { Ok(()) } else { Err(found) }
    })
    .await;

    cluster.kubectl(&["delete", "wish", "web", "--wait=false"]).await;
    for name in ["a", "b"] {
        gone(&cluster, "configmap", name).await;
    }
    told(&cluster, "wish", "web", "Reconciling", "True").await;
    cluster.kubectl(&["patch", "wish", "web", "--type=merge", "--patch", r#"{"spec":{"end":{"done":true}}}"#]).await;
    gone(&cluster, "wish", "web").await;
    operator.stop().await;
}

/// An admin goes back to what the children were, and forward again.
pub async fn revisions_of_children_are_kept_and_applied_again(test: Arc<Test>) {
    let cluster = test.own_cluster().await;
    apply_file(&cluster, &workspace().join(format!("{WISH}/wishes.yaml"))).await;
    let operator = test.operator_with(&cluster.kubeconfig, &["test/farewell"]).await;
    operator.ready().await;
    for value in ["1", "2"] {
        apply(&test, &cluster, &wish("web", &[child("a", "0", value)])).await;
        has(&cluster, "configmap", "a", "/data/value", json!(value)).await;
    }
    told(&cluster, "wish", "web", "Ready", "True").await;
    let operators = async |arguments: &[&str]| {
        let mut command = tokio::process::Command::new(boathook());
        command.arg("operators").args(arguments).arg("wish/web").args(["--namespace", "default", "--kubeconfig"]);
        let ended = command.arg(&cluster.kubeconfig).output().await.expect("run boathook");
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        (ended.status.code(), format!("{}{}", text(&ended.stdout), text(&ended.stderr)))
    };
    let (code, diff) = operators(&["diff"]).await;
    assert!(code == Some(1) && diff.contains("-  value: '1'\n+  value: '2'"), "{code:?} {diff}");
    let (code, said) = operators(&["rollback"]).await;
    assert_eq!(code, Some(0), "{said}");
    has(&cluster, "configmap", "a", "/data/value", json!("1")).await;
    let message = told(&cluster, "wish", "web", "RolledBack", "True").await;
    assert!(message.starts_with("the children are those of revision 1"), "{message}");
    let (code, said) = operators(&["rollback", "--end"]).await;
    assert_eq!(code, Some(0), "{said}");
    has(&cluster, "configmap", "a", "/data/value", json!("2")).await;
    let kept = cluster.kubectl(&["get", "controllerrevisions", "--output=jsonpath={.items[*].revision}"]).await;
    assert_eq!(kept.split(' ').collect::<std::collections::BTreeSet<_>>(), ["1", "2"].into());
    // They go with their parent.
    cluster.kubectl(&["delete", "wish", "web"]).await;
    eventually_within(COLLECTED, "there is no revision", async || {
        let left = cluster.try_kubectl(&["get", "controllerrevisions", "--output=name"]).await?;
        if left.is_empty() { Ok(()) } else { Err(left) }
    })
    .await;
    operator.stop().await;
}

/// A hook attaches objects to those of others, sets a label on them, and takes both away.
pub async fn services_are_attached_to_a_stateful_set(test: Arc<Test>) {
    const EXAMPLE: &str = "hooks-wasm/service-per-pod/example.yaml";
    const LABEL: &str = "/metadata/labels/service-per-pod.boathook.dev~1services";
    let cluster = test.own_cluster().await;
    let operator = test.operator_with(&cluster.kubeconfig, &["service-per-pod"]).await;
    operator.ready().await;
    apply_file(&cluster, &workspace().join(EXAMPLE)).await;
    let made = has(&cluster, "service", "db-1", "/spec/ports/0/port", json!(5432)).await;
    let owner = &made["metadata"]["ownerReferences"][0];
    assert_eq!((&owner["kind"], owner.get("controller")), (&json!("StatefulSet"), None), "{made}");
    has(&cluster, "statefulset", "db", LABEL, json!("2")).await;
    cluster.kubectl(&["scale", "statefulset", "db", "--replicas=1"]).await;
    gone(&cluster, "service", "db-1").await;
    has(&cluster, "statefulset", "db", LABEL, json!("1")).await;
    // Somebody takes the label of the set away.
    cluster.kubectl(&["label", "service", "db-0", "applyset.kubernetes.io/part-of-"]).await;
    eventually("the label is back", async || {
        let found = get(&cluster, "service", "db-0").await?;
        let label = &found["metadata"]["labels"]["applyset.kubernetes.io/part-of"];
        if label.is_string() { Ok(()) } else { Err(found.to_string()) }
    })
    .await;
    cluster.kubectl(&["annotate", "statefulset", "db", "service-per-pod.boathook.dev/port-"]).await;
    gone(&cluster, "service", "db-0").await;
    has(&cluster, "statefulset", "db", LABEL, Value::Null).await;
    // It goes with the StatefulSet.
    cluster.kubectl(&["annotate", "statefulset", "db", "service-per-pod.boathook.dev/port=80"]).await;
    has(&cluster, "service", "db-0", "/spec/ports/0/port", json!(80)).await;
    cluster.kubectl(&["delete", "statefulset", "db"]).await;
    gone(&cluster, "service", "db-0").await;
    operator.stop().await;
}
