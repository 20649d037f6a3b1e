//! Hooks that undo something before their parents end: when they are asked, and what becomes of the children.

use serde_json::{Value, json};

use super::{child, cluster, condition, current, gone, map, there, told, wish};
use crate::{
    pipeline::{
        fixture::{Operator, Pipeline},
        swap::put,
    },
    support::{guests::guest, until},
};

const FINALIZER: &str = "boathook.dev/teardown";

/// The guest `farewell` in place of `wish`: a version of the same hook.
async fn start() -> Pipeline {
    let pipeline = Pipeline::on(cluster().await, &[("wish", guest("farewell"))], |_| ()).await;
    pipeline.operator.ready().await;
    pipeline
}

fn said(operator: &Operator, line: &str) -> usize {
    operator.log.said("wish").iter().filter(|said| *said == line).count()
}

fn finalizers(object: &Value) -> Vec<&str> {
    object["metadata"]["finalizers"].as_array().into_iter().flatten().filter_map(Value::as_str).collect()
}

fn end(end: Value) -> Value {
    let mut parent = wish("web", json!({"end": end}));
    // The children stay as they are.
    parent["spec"]["children"] = json!([child("a", "1"), child("b", "1")]);
    parent
}

async fn started(pipeline: &Pipeline, parent: &Value) {
    pipeline.create(parent.clone()).await;
    let found = current(&pipeline.cluster, parent, 1).await;
    assert_eq!(finalizers(&found), [FINALIZER]);
}

// mutant: crates/operator/src/app/reconcile/mod.rs: `set.must_finalize(finalizes && parent.deleting && marks.finalizer)` => `set.must_finalize(false)`
#[tokio::test]
async fn the_hook_is_asked_until_it_is_done_and_children_go_when_it_lets_them() {
    let pipeline = start().await;
    let parent = end(json!({"done": false, "children": [child("a", "2")], "status": {"left": 1}}));
    started(&pipeline, &parent).await;
    pipeline.delete(parent.clone()).await;
    gone(&pipeline.cluster, &map("b")).await;
    until("it says what it waits for", async || {
        let found = pipeline.get(parent.clone()).await?;
        let reconciling = condition(&found, "Reconciling")?;
        let says = reconciling["message"].as_str()?.contains("the hook has not said");
        (reconciling["reason"] == "Finalizing" && says).then_some(())
    })
    .await;
    let found = until("its status and its child are those of the end", async || {
        let child = pipeline.get(map("a")).await?;
        let found = pipeline.get(parent.clone()).await?;
        (child["data"]["value"] == "2" && found["status"]["left"] == 1).then_some(found)
    })
    .await;
    assert_eq!(condition(&found, "Ready").unwrap()["status"], "False");
    // Nothing happens, and it is asked again.
    let asked = said(&pipeline.operator, "finalize web");
    pipeline.operator.until("it is asked", |operator| (said(operator, "finalize web") > asked + 2).then_some(())).await;
    pipeline.apply(wish("web", json!({"end": {"done": true}}))).await;
    gone(&pipeline.cluster, &parent).await;
    gone(&pipeline.cluster, &map("a")).await;
}

#[tokio::test]
async fn a_failure_is_told_and_nothing_is_deleted() {
    let pipeline = start().await;
    let parent = end(json!({"fail": true}));
    started(&pipeline, &parent).await;
    pipeline.delete(parent.clone()).await;
    let message = told(&pipeline.cluster, &parent, "Reconciling", "True", "HookFailed").await;
    assert!(message.contains("it is not over"), "{message}");
    pipeline.operator.until("it is retried", |operator| (said(operator, "finalize web") > 2).then_some(())).await;
    for name in ["a", "b"] {
        assert!(pipeline.get(map(name)).await.is_some());
    }
    pipeline.apply(wish("web", json!({"end": {"fail": null}}))).await;
    gone(&pipeline.cluster, &parent).await;
}

#[tokio::test]
async fn children_that_are_orphaned_stay_and_the_hook_is_asked_all_the_same() {
    let pipeline = start().await;
    let parent = end(json!({"done": false}));
    started(&pipeline, &parent).await;
    let uri = "/apis/example.com/v1/namespaces/default/wishes/web?propagationPolicy=Orphan";
    let request = http::Request::delete(uri).body(Vec::new()).unwrap();
    pipeline.cluster.admin.client.request::<Value>(request).await.unwrap();
    pipeline.operator.until("it is asked", |operator| (said(operator, "finalize web") > 0).then_some(())).await;
    pipeline.apply(wish("web", json!({"end": {"done": true}}))).await;
    gone(&pipeline.cluster, &parent).await;
    for name in ["a", "b"] {
        let found = there(&pipeline.cluster, &map(name)).await;
        assert!(found["metadata"].get("ownerReferences").is_none_or(|owners| owners == &json!([])), "{found}");
    }
}

/// Kubernetes takes the object out of the children's owners, and then its finalizer away, while no operator runs.
#[tokio::test]
async fn children_that_are_orphaned_while_no_operator_runs_stay() {
    let pipeline = start().await;
    let parent = end(json!({"done": true}));
    started(&pipeline, &parent).await;
    let Pipeline { cluster, operator } = pipeline;
    operator.shutdown().await;
    let nobody = json!({"metadata": {"ownerReferences": null}});
    for name in ["a", "b"] {
        let uri = format!("/api/v1/namespaces/default/configmaps/{name}");
        let request = http::Request::patch(uri).header("content-type", "application/merge-patch+json");
        cluster.admin.client.request::<Value>(request.body(nobody.to_string().into_bytes()).unwrap()).await.unwrap();
    }
    cluster.admin.delete(&parent).await.unwrap();
    let operator = Operator::start(cluster.admin.client.clone(), &[("wish", guest("farewell"))], |_| ()).await;
    gone(&cluster, &parent).await;
    for name in ["a", "b"] {
        let found = there(&cluster, &map(name)).await;
        assert!(found["metadata"]["labels"].get("applyset.kubernetes.io/part-of").is_none(), "{found}");
    }
    drop(operator);
}

#[tokio::test]
async fn an_operator_that_restarts_asks_again() {
    let pipeline = start().await;
    let parent = end(json!({"done": false, "children": [child("a", "1")]}));
    started(&pipeline, &parent).await;
    pipeline.delete(parent.clone()).await;
    gone(&pipeline.cluster, &map("b")).await;
    let Pipeline { cluster, operator } = pipeline;
    operator.shutdown().await;
    let operator = Operator::start(cluster.admin.client.clone(), &[("wish", guest("farewell"))], |_| ()).await;
    operator.until("it is asked", |operator| (said(operator, "finalize web") > 0).then_some(())).await;
    assert!(cluster.admin.get(&map("a")).await.unwrap().is_some());
    cluster.admin.apply(&wish("web", json!({"end": {"done": true}}))).await.unwrap();
    gone(&cluster, &parent).await;
    gone(&cluster, &map("a")).await;
}

#[tokio::test]
async fn a_version_without_finalize_takes_the_finalizer_away() {
    let pipeline = start().await;
    let parent = end(json!({}));
    started(&pipeline, &parent).await;
    pipeline.operator.app.swap(put(&pipeline.operator, "wish", &guest("wish"))).await.unwrap();
    until("the finalizer is gone", async || finalizers(&pipeline.get(parent.clone()).await?).is_empty().then_some(()))
        .await;
    pipeline.delete(parent.clone()).await;
    gone(&pipeline.cluster, &parent).await;
}

/// Only the manager of a field removes it, and a hook of another name must not be another manager.
// mutant: crates/operator/src/app/reconcile/send.rs: `field_manager: Some(self.names.manager.clone())` => `field_manager: Some(format!("{}-marks", self.manager()))`
//     with: crates/operator/src/app/reconcile/send.rs: `let Some(patch) = still_marked(made.as_deref(), &wanted, &self.names) else { return Ok(wanted) };` => `return Ok(wanted);`
#[tokio::test]
async fn a_hook_of_another_name_takes_the_finalizer_away() {
    let pipeline = start().await;
    let parent = end(json!({"done": true}));
    started(&pipeline, &parent).await;
    let Pipeline { cluster, operator } = pipeline;
    operator.shutdown().await;
    // Another manager has the finalizer, too.
    let mut marked = wish("web", json!({}));
    marked.as_object_mut().unwrap().remove("spec");
    marked["metadata"]["finalizers"] = json!([FINALIZER]);
    marked["metadata"]["annotations"] = json!({"boathook.dev/manager": "boathook.dev/renamed"});
    cluster.admin.apply(&marked).await.unwrap();
    let operator = Operator::start(cluster.admin.client.clone(), &[("renamed", guest("farewell"))], |_| ()).await;
    operator.ready().await;
    cluster.admin.delete(&parent).await.unwrap();
    gone(&cluster, &parent).await;
    drop(operator);
}

// mutant: crates/operator/src/app/reconcile/sets.rs: `(known.requeue, known.seen) = (None, None);` => ``
#[tokio::test]
async fn a_failure_after_a_requeue_is_asked_about_once() {
    let pipeline = start().await;
    let parent = end(json!({"done": false}));
    started(&pipeline, &parent).await;
    pipeline.delete(parent.clone()).await;
    pipeline.operator.until("it is asked", |operator| (said(operator, "finalize web") > 2).then_some(())).await;
    pipeline.apply(wish("web", json!({"end": {"status": "not an object"}}))).await;
    told(&pipeline.cluster, &parent, "Stalled", "True", "HookFailed").await;
    tokio::time::sleep(std::time::Duration::from_secs(1)).await;
    let asked = said(&pipeline.operator, "finalize web");
    tokio::time::sleep(std::time::Duration::from_secs(2)).await;
    assert_eq!(said(&pipeline.operator, "finalize web"), asked);
    pipeline.apply(wish("web", json!({"end": {"status": null, "done": true}}))).await;
    gone(&pipeline.cluster, &parent).await;
}

/// To undo the work is for who deletes the parent, and not for who changes a label.
// mutant: crates/operator/src/app/reconcile/mod.rs: `if self.finalizes() && marks.finalizer {` => `if false {`
#[tokio::test]
async fn a_parent_that_is_not_selected_any_more_keeps_the_finalizer_of_the_hooks_work() {
    let pipeline = start().await;
    let parent = end(json!({}));
    started(&pipeline, &parent).await;
    let label = |value: Value| {
        let mut parent = wish("web", json!({}));
        parent.as_object_mut().unwrap().remove("spec");
        parent["metadata"]["labels"] = json!({"unseen": value});
        parent
    };
    pipeline.apply(label(json!("true"))).await;
    pipeline
        .operator
        .until("it is said", |operator| {
            let kept =
                |line: &Value| line["message"].as_str().is_some_and(|text| text.starts_with("a finalizer is kept"));
            operator.log.lines().iter().any(kept).then_some(())
        })
        .await;
    pipeline.delete(parent.clone()).await;
    assert_eq!(finalizers(&pipeline.get(parent.clone()).await.unwrap()), [FINALIZER]);
    assert_eq!(said(&pipeline.operator, "finalize web"), 0);
    // With its labels, it ends as it should.
    pipeline.apply(label(Value::Null)).await;
    gone(&pipeline.cluster, &parent).await;
    assert!(said(&pipeline.operator, "finalize web") > 0);
}

#[tokio::test]
async fn a_finalizer_that_is_kept_is_reported_by_the_next_operator_too() {
    let pipeline = start().await;
    let parent = end(json!({}));
    started(&pipeline, &parent).await;
    let Pipeline { cluster, operator } = pipeline;
    operator.shutdown().await;
    let mut label = wish("web", json!({}));
    label.as_object_mut().unwrap().remove("spec");
    label["metadata"]["labels"] = json!({"unseen": "true"});
    cluster.admin.apply(&label).await.unwrap();
    let operator = Operator::start(cluster.admin.client.clone(), &[("wish", guest("farewell"))], |_| ()).await;
    let kept = |line: &Value| line["message"].as_str().is_some_and(|text| text.starts_with("a finalizer is kept"));
    operator.until("it is said", |operator| operator.log.lines().iter().any(kept).then_some(())).await;
    assert_eq!(finalizers(&cluster.admin.get(&parent).await.unwrap().unwrap()), [FINALIZER]);
}
