//! Revisions of a parent's children: which ones are kept, how they differ, and rollbacks, as an admin types them.

use std::fs;

use k8s_openapi::api::{apps::v1::ControllerRevision, core::v1::Secret};
use kube::{Api, api::ListParams};
use serde_json::{Value, json};

use super::{interpreters, packed};
use crate::{
    pipeline::fixture::{Operator, Pipeline},
    support::{
        cluster::TestCluster,
        process::{Ended, boathook, run},
        until,
    },
};

const WISHES: &str = include_str!("../../../hooks-wasm/test/wish/wishes.yaml");

/// Each name of the parent becomes a child of the kind that takes the place of KIND. It fails if the parent says so.
const HOOK: &str = r#"
const reconcile = [{
  name: "wishes", apiVersion: "example.com/v1", kind: "Wish", owns: [{ apiVersion: "v1", kind: "KIND" }],
  revisions: 3, retry: { initial: "200ms", max: "400ms" }, prune: { maxShare: "100%" },
}];

export default {
  config: { configVersion: "v1", reconcile },
  reconcile(info, binding, parent) {
    const { spec } = JSON.parse(parent.object);
    if (spec.fails) throw new Error("it was wished");
    const child = (name) => ({ apiVersion: "v1", kind: "KIND", metadata: { name }, data: { value: spec.value } });
    return { children: spec.names.map(child) };
  },
};
"#;

fn hook(kind: &str) -> Vec<(&'static str, Vec<u8>)> {
    let script = HOOK.replace("KIND", kind);
    vec![("wishes", packed(&[("hook.js", script.as_str())]))]
}

async fn start(kind: &str) -> Pipeline {
    let cluster = TestCluster::start().await;
    cluster.admin.create(&yaml_serde::from_str::<Value>(WISHES).unwrap()).await.unwrap();
    let pipeline = Pipeline::on(cluster, &hook(kind), places).await;
    pipeline.operator.ready().await;
    pipeline
}

fn places(options: &mut boathook_operator::app::Options) {
    options.sandbox.interpreters = vec![interpreters()];
}

fn wish(spec: Value) -> Value {
    let metadata = json!({"name": "web", "namespace": "default"});
    json!({"apiVersion": "example.com/v1", "kind": "Wish", "metadata": metadata, "spec": spec})
}

fn names(names: &[&str], value: &str) -> Value {
    json!({"names": names, "value": value})
}

/// Has the parent say this, and waits until it is so.
async fn say(pipeline: &Pipeline, spec: Value) {
    let parent = pipeline.apply(wish(spec)).await;
    let generation = parent["metadata"]["generation"].clone();
    until("the parent is as desired", async || {
        let found = pipeline.get(parent.clone()).await?;
        let ready = condition(&found, "Ready")?;
        (ready["status"] == "True" && found["status"]["observedGeneration"] == generation).then_some(())
    })
    .await;
}

fn condition(found: &Value, of: &str) -> Option<Value> {
    found["status"]["conditions"].as_array()?.iter().find(|one| one["type"] == of).cloned()
}

/// The value of a child, if it is there.
async fn value(pipeline: &Pipeline, name: &str) -> Option<Value> {
    let metadata = json!({"name": name, "namespace": "default"});
    let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata});
    pipeline.get(map).await.map(|found| found["data"]["value"].clone())
}

async fn has(pipeline: &Pipeline, name: &str, expected: &str) {
    let what = format!("the child {name} has {expected}");
    until(&what, async || (value(pipeline, name).await? == expected).then_some(())).await;
}

/// Whether the parent says that it is rolled back.
async fn says(pipeline: &Pipeline, rolled_back: bool) -> String {
    until(&format!("RolledBack: {rolled_back}"), async || {
        let found = condition(&pipeline.get(wish(Value::Null)).await?, "RolledBack");
        let message = found.as_ref().map(|one| one["message"].as_str().unwrap().to_owned());
        (found.is_some() == rolled_back).then(|| message.unwrap_or_default())
    })
    .await
}

async fn operators(pipeline: &Pipeline, arguments: &[&str]) -> Ended {
    let kubeconfig = tempfile::NamedTempFile::new().unwrap();
    fs::write(kubeconfig.path(), pipeline.cluster.cluster.kubeconfig()).unwrap();
    let (command, rest) = arguments.split_first().unwrap();
    let mut command = boathook(["operators", command, "wish/web"].iter().chain(rest));
    command.args(["--namespace", "default", "--kubeconfig"]).arg(kubeconfig.path());
    run(command).await
}

/// The ControllerRevisions or the Secrets that keep revisions.
async fn kept(pipeline: &Pipeline, secrets: bool) -> Vec<Value> {
    let (client, only) =
        (pipeline.cluster.admin.client.clone(), ListParams::default().labels("boathook.dev/revision-of"));
    if secrets {
        let all = Api::<Secret>::namespaced(client, "default").list(&only).await.unwrap();
        return all.items.iter().map(|one| json!(one)).collect();
    }
    let all = Api::<ControllerRevision>::namespaced(client, "default").list(&only).await.unwrap();
    all.items.iter().map(|one| json!(one)).collect()
}

/// The numbers of the revisions, and the current one.
async fn history(pipeline: &Pipeline) -> (Vec<u64>, Option<u64>) {
    let shown = operators(pipeline, &["history", "-o", "json"]).await;
    assert_eq!(shown.code, Some(0), "{}", shown.stderr);
    let all: Vec<Value> = serde_json::from_str(&shown.stdout).unwrap();
    let number = |one: &Value| one["revision"].as_u64().unwrap();
    assert!(all.iter().all(|one| one["whole"] == true), "{all:?}");
    (all.iter().map(number).collect(), all.iter().find(|one| one["current"] == true).map(number))
}

// mutant: crates/operator/src/app/reconcile/kept.rs: `for number in revision::outdated(known.keys().copied(), most, number) {` => `for number in revision::outdated(known.keys().copied(), 100, number) {`
#[tokio::test]
async fn revisions_are_kept_compared_and_applied_again() {
    let pipeline = start("ConfigMap").await;
    let none = operators(&pipeline, &["history"]).await;
    assert!(none.code == Some(2) && none.stderr.contains("there is no Wish default/web"), "{}", none.stderr);
    for n in 1..=4 {
        say(&pipeline, names(&["a", "b"], &n.to_string())).await;
    }
    // The same children are no new revision, also of another generation.
    say(&pipeline, json!({"names": ["b", "a"], "value": "4", "other": 1})).await;
    assert_eq!(history(&pipeline).await, (vec![2, 3, 4], Some(4)));
    let shown = operators(&pipeline, &["history"]).await;
    assert!(shown.stdout.starts_with("REVISION  TIME") && shown.stdout.ends_with('*'), "{}", shown.stdout);

    let diff = operators(&pipeline, &["diff"]).await;
    assert_eq!(diff.code, Some(1), "{}", diff.stderr);
    for line in [
        "diff -u -N REVISION-3/v1.ConfigMap.default.a REVISION-4/v1.ConfigMap.default.a",
        "-  value: '3'\n+  value: '4'",
    ] {
        assert!(diff.stdout.contains(line), "{line:?} in {}", diff.stdout);
    }
    let same = operators(&pipeline, &["diff", "--from", "3", "--to", "3"]).await;
    assert_eq!((same.code, &*same.stdout), (Some(0), ""), "{}", same.stderr);
    let gone = operators(&pipeline, &["diff", "--from", "1"]).await;
    assert!(
        gone.code == Some(2) && gone.stderr.contains("revision 1 is not kept: there are 2, 3, 4"),
        "{}",
        gone.stderr
    );

    let back = operators(&pipeline, &["rollback"]).await;
    assert_eq!(back.stdout, "the operator is asked to apply the children of revision 3 of wish/web", "{}", back.stderr);
    has(&pipeline, "a", "3").await;
    assert!(says(&pipeline, true).await.starts_with("the children are those of revision 3, until the spec"));
    assert_eq!(history(&pipeline).await, (vec![2, 3, 4], Some(3)));
    let back = operators(&pipeline, &["rollback", "--to", "2"]).await;
    assert_eq!(back.code, Some(0), "{}", back.stderr);
    has(&pipeline, "a", "2").await;
    let end = operators(&pipeline, &["rollback", "--end"]).await;
    assert_eq!(end.code, Some(0), "{}", end.stderr);
    has(&pipeline, "a", "4").await;
    says(&pipeline, false).await;
    let again = operators(&pipeline, &["rollback", "--end"]).await;
    assert!(again.code == Some(2) && again.stderr.contains("is not rolled back"), "{}", again.stderr);
    assert_eq!(history(&pipeline).await, (vec![2, 3, 4], Some(4)));
}

/// The case for which there are rollbacks: the hook fails, or returns the wrong children. A restart changes nothing, and a change
/// of the spec ends it.
// mutant: crates/operator/src/app/reconcile/revisions.rs: `Ok((asked.generation == generation).then_some(asked))` => `Ok(Some(asked))`
#[tokio::test]
async fn a_rollback_outlives_a_failing_hook_and_a_restart_until_the_spec_changes() {
    let pipeline = start("ConfigMap").await;
    say(&pipeline, names(&["a", "b"], "1")).await;
    say(&pipeline, names(&["a"], "2")).await;
    pipeline.apply(wish(json!({"names": ["a"], "value": "3", "fails": true}))).await;
    let back = operators(&pipeline, &["rollback", "--to", "1"]).await;
    assert_eq!(back.code, Some(0), "{}", back.stderr);
    for name in ["a", "b"] {
        has(&pipeline, name, "1").await;
    }
    says(&pipeline, true).await;

    let Pipeline { cluster, operator } = pipeline;
    operator.shutdown().await;
    let metadata = json!({"name": "b", "namespace": "default"});
    cluster.admin.delete(&json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata})).await.unwrap();
    let operator = Operator::start(cluster.admin.client.clone(), &hook("ConfigMap"), places).await;
    operator.ready().await;
    let pipeline = Pipeline { cluster, operator };
    has(&pipeline, "b", "1").await;

    say(&pipeline, json!({"names": ["a"], "value": "4", "fails": null})).await;
    has(&pipeline, "a", "4").await;
    until("the other child is gone", async || value(&pipeline, "b").await.is_none().then_some(())).await;
    says(&pipeline, false).await;
    assert_eq!(history(&pipeline).await, (vec![1, 2, 3], Some(3)));
}

#[tokio::test]
async fn a_rollback_that_cannot_be_done_is_refused_and_told() {
    let pipeline = start("ConfigMap").await;
    say(&pipeline, names(&["a"], "1")).await;
    let lost = operators(&pipeline, &["rollback", "--to", "7"]).await;
    assert!(lost.code == Some(2) && lost.stderr.contains("revision 7 is not kept: there are 1"), "{}", lost.stderr);
    let none = operators(&pipeline, &["rollback"]).await;
    assert!(none.code == Some(2) && none.stderr.contains("there is no earlier revision"), "{}", none.stderr);
    for (asked, says) in [("7@1", "revision 7 is not kept: there are 1"), ("7", "write the number of a revision")] {
        let mut parent = wish(names(&["a"], "1"));
        parent["metadata"]["annotations"] = json!({"boathook.dev/rollback": asked});
        pipeline.apply(parent.clone()).await;
        until(&format!("{asked} is told"), async || {
            let stalled = condition(&pipeline.get(parent.clone()).await?, "Stalled")?;
            let told = stalled["status"] == "True" && stalled["message"].as_str()?.contains(says);
            told.then_some(())
        })
        .await;
        assert_eq!(value(&pipeline, "a").await, Some(json!("1")));
    }
}

/// There is no namespace for its revisions. Nothing is applied that could not be kept.
#[tokio::test]
async fn a_cluster_scoped_parent_has_no_revisions() {
    const DEFINITION: &str = include_str!("../../../hooks-wasm/test/wish/clusterwishes.yaml");
    let cluster = TestCluster::start().await;
    cluster.admin.create(&yaml_serde::from_str::<Value>(DEFINITION).unwrap()).await.unwrap();
    let script = HOOK
        .replace("kind: \"Wish\"", "kind: \"ClusterWish\"")
        .replace("KIND", "Namespace")
        .replace(", data:", ", spec:");
    let hooks = vec![("wishes", packed(&[("hook.js", script.as_str())]))];
    let pipeline = Pipeline::on(cluster, &hooks, places).await;
    let (spec, metadata) = (names(&["made"], "1"), json!({"name": "web"}));
    let parent = json!({"apiVersion": "example.com/v1", "kind": "ClusterWish", "metadata": metadata, "spec": spec});
    pipeline.create(parent.clone()).await;
    until("it is told", async || {
        let found = pipeline.get(parent.clone()).await?;
        let stalled = condition(&found, "Stalled")?;
        let says = "ClusterWish web has no namespace, and revisions are kept in the namespace of the object: remove `revisions`";
        (stalled["status"] == "True" && stalled["message"].as_str()?.contains(says)).then_some(())
    })
    .await;
    let made = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "made"}});
    assert_eq!(pipeline.get(made).await, None);
    let error = operators(&pipeline, &["history"]).await;
    assert_eq!(error.code, Some(2), "{}", error.stderr);
}

/// What a Secret contains is in Secrets only, and not in the output of commands. Revisions go with their parent.
// mutant: crates/core/src/model/reconcile.rs: `true => ("v1", "Secret"),` => `true => ("apps/v1", "ControllerRevision"),`
#[tokio::test]
async fn revisions_of_secrets_are_secrets_and_go_with_their_parent() {
    let pipeline = start("Secret").await;
    say(&pipeline, names(&["a"], "b25l")).await;
    say(&pipeline, names(&["a"], "dHdv")).await;
    assert_eq!((kept(&pipeline, true).await.len(), kept(&pipeline, false).await.len()), (2, 0));
    let diff = operators(&pipeline, &["diff"]).await;
    assert!(diff.stdout.contains("+  value: '*** (after)'") && !diff.stdout.contains("dHdv"), "{}", diff.stdout);
    pipeline.delete(wish(Value::Null)).await;
    until("they are gone", async || kept(&pipeline, true).await.is_empty().then_some(())).await;
}

/// Nothing is written while nothing changes, also by the next operator.
#[tokio::test]
async fn a_revision_is_written_once() {
    let pipeline = start("ConfigMap").await;
    say(&pipeline, names(&["a"], "1")).await;
    let versions = async |pipeline: &Pipeline| {
        let all = kept(pipeline, false).await;
        let version = |one: &Value| (one["metadata"]["name"].clone(), one["metadata"]["resourceVersion"].clone());
        all.iter().map(version).collect::<Vec<_>>()
    };
    let before = versions(&pipeline).await;
    assert_eq!(before.len(), 1, "{before:?}");
    let Pipeline { cluster, operator } = pipeline;
    operator.shutdown().await;
    let operator = Operator::start(cluster.admin.client.clone(), &hook("ConfigMap"), places).await;
    operator.ready().await;
    let pipeline = Pipeline { cluster, operator };
    say(&pipeline, json!({"names": ["a"], "value": "1", "other": 1})).await;
    assert_eq!(versions(&pipeline).await, before);
}
