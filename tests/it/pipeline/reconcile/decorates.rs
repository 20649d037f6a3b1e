//! Hooks that attach objects to those of others: what they attach and set, and what is left of it when they let go.

use std::sync::Arc;

use serde_json::{Value, json};

use super::{child, gone, map, map_in, there, writes::noted};
use crate::{
    pipeline::fixture::{Operator, Pipeline, guests},
    support::{cluster::TestCluster, guests::guest, until},
};

async fn start() -> Pipeline {
    let pipeline = Pipeline::on(TestCluster::start().await, &guests(["attach"]), |_| ()).await;
    pipeline.operator.ready().await;
    pipeline
}

/// An object with these annotations. Those of the guest are JSON. `null` removes one.
fn account(name: &str, annotations: &[(&str, Value)]) -> Value {
    let text = |value: &Value| if value.is_null() { Value::Null } else { json!(value.to_string()) };
    let annotations: serde_json::Map<_, _> =
        annotations.iter().map(|(key, value)| ((*key).to_owned(), text(value))).collect();
    let metadata =
        json!({"name": name, "namespace": "default", "labels": {"attach": "true"}, "annotations": annotations});
    json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata})
}

async fn shown(cluster: &TestCluster, what: &str, object: &Value, shows: impl Fn(&Value) -> bool) -> Value {
    until(what, async || cluster.admin.get(object).await.unwrap().filter(&shows)).await
}

/// What the failures of a hook say.
fn failures(operator: &Operator) -> Vec<String> {
    operator.log.told("run failed").iter().filter_map(|line| line["error"].as_str().map(str::to_owned)).collect()
}

#[tokio::test]
async fn children_labels_and_annotations_follow_the_object() {
    let pipeline = start().await;
    let says =
        json!({"children": [child("a", "1"), child("b", "1")], "labels": {"tier": "1"}, "annotations": {"note": "x"}});
    let mut web = account("web", &[("attach", says)]);
    web["metadata"]["labels"]["theirs"] = json!("1");
    pipeline.create(web.clone()).await;
    let made = there(&pipeline.cluster, &map("a")).await;
    let owner = &made["metadata"]["ownerReferences"][0];
    assert_eq!(
        (&owner["kind"], &owner["name"], owner.get("controller")),
        (&json!("ServiceAccount"), &json!("web"), None)
    );
    let set =
        |found: &Value| found["metadata"]["labels"]["tier"] == "1" && found["metadata"]["annotations"]["note"] == "x";
    let found = shown(&pipeline.cluster, "the labels are set", &web, set).await;
    assert!(found["metadata"].get("finalizers").is_none(), "the deletion of the object waits for nobody: {found}");
    assert!(found["metadata"]["labels"].get("applyset.kubernetes.io/id").is_none(), "{found}");
    // Less is wanted.
    pipeline.apply(account("web", &[("attach", json!({"children": [child("a", "2")]}))])).await;
    gone(&pipeline.cluster, &map("b")).await;
    let unset = |found: &Value| {
        found["metadata"]["labels"].get("tier").is_none() && found["metadata"]["annotations"].get("note").is_none()
    };
    let found = shown(&pipeline.cluster, "the labels are gone", &web, unset).await;
    assert_eq!(found["metadata"]["labels"]["theirs"], "1");
    shown(&pipeline.cluster, "the value is new", &map("a"), |found| found["data"]["value"] == "2").await;
    // Somebody takes the attachment's label, and then the attachment.
    let mut unlabelled = map("a");
    unlabelled["metadata"]["labels"] = json!({"applyset.kubernetes.io/part-of": null});
    pipeline.apply(unlabelled).await;
    let labelled = |found: &Value| found["metadata"]["labels"].get("applyset.kubernetes.io/part-of").is_some();
    shown(&pipeline.cluster, "the label is back", &map("a"), labelled).await;
    pipeline.delete(map("a")).await;
    there(&pipeline.cluster, &map("a")).await;
    pipeline.delete(web.clone()).await;
    gone(&pipeline.cluster, &map("a")).await;
    assert_eq!(failures(&pipeline.operator), Vec::<String>::new());
}

// mutant: crates/operator/src/app/reconcile/mod.rs: `parent.deleting |= !selected;` => ``
// mutant: crates/operator/src/app/reconcile/mod.rs: `(Some(_), false) if is_over => self.decorate(&Decoration::default(), &value).await,` => ``
#[tokio::test]
async fn an_object_that_is_not_selected_any_more_loses_what_was_attached() {
    let pipeline = start().await;
    let says = json!({"children": [child("a", "1")], "labels": {"tier": "1"}});
    let web = account("web", &[("attach", says.clone())]);
    pipeline.create(web.clone()).await;
    let has = |found: &Value| found["metadata"]["labels"]["tier"] == "1";
    let has_not = |found: &Value| found["metadata"]["labels"].get("tier").is_none();
    let unlabelled = |value: Value| {
        let mut web = account("web", &[]);
        web["metadata"]["labels"] = json!({"attach": value});
        web
    };
    for (unselect, select) in [
        (account("web", &[("attach", Value::Null)]), account("web", &[("attach", says)])),
        (unlabelled(Value::Null), unlabelled(json!("true"))),
    ] {
        there(&pipeline.cluster, &map("a")).await;
        shown(&pipeline.cluster, "the label is set", &web, has).await;
        pipeline.apply(unselect).await;
        gone(&pipeline.cluster, &map("a")).await;
        let found = shown(&pipeline.cluster, "the label is gone", &web, has_not).await;
        let annotations = found["metadata"]["annotations"].as_object().cloned().unwrap_or_default();
        assert!(!annotations.keys().any(|key| key.starts_with("boathook.dev/")), "{found}");
        pipeline.apply(select).await;
    }
    there(&pipeline.cluster, &map("a")).await;
}

// mutant: crates/operator/src/app/reconcile/strays.rs: `if !shown.is_some_and(|text| terms.binding.selects(&text)) {` => `if false {`
// mutant: crates/operator/src/app/reconcile/strays.rs: `return finalizer || annotation(&names.decorated).or_else(|| annotation(&names.hold)).is_some();` => `return finalizer;`
#[tokio::test]
async fn what_is_left_on_objects_that_changed_while_no_operator_ran_goes() {
    let pipeline = start().await;
    let of = |name: &str, labels: Value| json!({"children": [child(name, "1")], "labels": labels});
    let by_annotation = account("by-annotation", &[("attach", of("a", json!({"tier": "1"})))]);
    let by_label = account("by-label", &[("attach", of("b", json!({})))]);
    let only_labels = account("only-labels", &[("attach", json!({"labels": {"tier": "1"}}))]);
    for object in [&by_annotation, &by_label, &only_labels] {
        pipeline.create(object.clone()).await;
    }
    for name in ["a", "b"] {
        there(&pipeline.cluster, &map(name)).await;
    }
    let has = |found: &Value| found["metadata"]["labels"]["tier"] == "1";
    for object in [&by_annotation, &only_labels] {
        shown(&pipeline.cluster, "the label is set", object, has).await;
    }
    let Pipeline { cluster, operator } = pipeline;
    operator.shutdown().await;
    cluster.admin.apply(&account("by-annotation", &[("attach", Value::Null)])).await.unwrap();
    for name in ["by-label", "only-labels"] {
        let mut changed = account(name, &[]);
        changed["metadata"]["labels"] = json!({"attach": null});
        cluster.admin.apply(&changed).await.unwrap();
    }
    let operator = Operator::start(cluster.admin.client.clone(), &guests(["attach"]), |_| ()).await;
    for name in ["a", "b"] {
        gone(&cluster, &map(name)).await;
    }
    for object in [&by_annotation, &only_labels] {
        let has_not = |found: &Value| found["metadata"]["labels"].get("tier").is_none();
        shown(&cluster, "the label is gone", object, has_not).await;
    }
    drop(operator);
}

/// Each has a set of its own. Without that, each would delete what the other one attached.
// mutant: crates/applyset/src/id.rs: `Some(decorator) => SetId::of_decorator(&self.object, decorator),` => `Some(_) => SetId::of(&self.object),`
// mutant: crates/operator/src/app/reconcile/send.rs: `force: false,` => `force: true,`
#[tokio::test]
async fn several_decorators_have_one_object_and_no_fight_about_it() {
    let pipeline = start().await;
    let of = |name: &str, tier: &str| json!({"children": [child(name, "1")], "labels": {name: "1", "tier": tier}});
    let web = account("web", &[("attach", of("a", "1"))]);
    pipeline.create(web.clone()).await;
    shown(&pipeline.cluster, "the first one has its label", &web, |found| found["metadata"]["labels"]["tier"] == "1")
        .await;
    pipeline.apply(account("web", &[("more", of("b", "2"))])).await;
    // The attachments of the second one are there, and its labels are not, because the first one has one of them.
    there(&pipeline.cluster, &map("b")).await;
    let refused =
        |operator: &Operator| failures(operator).into_iter().find(|error| error.contains("labels and annotations"));
    let error = pipeline.operator.until("the second one is refused", refused).await;
    assert!(error.contains("boathook.dev/decorates-") && error.contains("tier"), "{error}");
    let found = pipeline.get(web.clone()).await.unwrap();
    assert_eq!((&found["metadata"]["labels"]["tier"], found["metadata"]["labels"].get("b")), (&json!("1"), None));
    // With another label, both have theirs.
    pipeline.apply(account("web", &[("more", json!({"children": [child("b", "1")], "labels": {"b": "1"}}))])).await;
    let both = |found: &Value| found["metadata"]["labels"]["b"] == "1" && found["metadata"]["labels"]["a"] == "1";
    shown(&pipeline.cluster, "both have their labels", &web, both).await;
    assert!(pipeline.get(map("a")).await.is_some());
    pipeline.apply(account("web", &[("attach", Value::Null)])).await;
    gone(&pipeline.cluster, &map("a")).await;
    let one = |found: &Value| found["metadata"]["labels"].get("a").is_none();
    let found = shown(&pipeline.cluster, "the first one has let go", &web, one).await;
    assert_eq!(found["metadata"]["labels"]["b"], "1");
    assert!(pipeline.get(map("b")).await.is_some());
}

/// They are others', so nothing but labels and annotations of them is written.
// mutant: crates/operator/src/app/reconcile/ask.rs: `if !answer.conditions.is_empty() || !answer.status.as_deref().is_none_or(is_empty) {` => `if false {`
// mutant: crates/operator/src/app/reconcile/decorations.rs: `if matches!(prefix, Some("boathook.dev" | "applyset.kubernetes.io")) {` => `if false {`
#[tokio::test]
async fn what_a_decorator_may_not_return_is_refused() {
    let pipeline = start().await;
    let refused = async |name: &str, says: Value, part: &str| {
        pipeline.create(account(name, &[("attach", says)])).await;
        let found = |operator: &Operator| failures(operator).into_iter().find(|error| error.contains(part));
        pipeline.operator.until(&format!("it is refused: {part}"), found).await
    };
    let error = refused("status", json!({"children": [child("a", "1")], "status": {"x": 1}}), "return no status").await;
    assert!(
        error.contains("the hook decorates v1 ServiceAccount default/status, whose status is not the hook's"),
        "{error}"
    );
    let own = json!({"labels": {"applyset.kubernetes.io/id": "x"}});
    refused("own", own, "applyset.kubernetes.io/id, which is Boathook's own: remove it").await;
    assert!(pipeline.get(map("a")).await.is_none());
    // What is wrong with attachments is said once.
    let theirs = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "b", "namespace": "default"}});
    pipeline.create(theirs).await;
    pipeline.create(account("taken", &[("attach", json!({"children": [child("b", "1")]}))])).await;
    let said = |operator: &Operator| {
        let lines = operator.log.lines();
        let mut lines: Vec<_> = lines.iter().filter_map(|line| line["message"].as_str().map(str::to_owned)).collect();
        lines.retain(|line| line.starts_with("attachments are not as desired: "));
        lines
    };
    let line = pipeline.operator.until("it is said", |operator| said(operator).first().cloned()).await;
    assert!(line.contains("ConfigMap default/b: it belongs to nobody: rename the member"), "{line}");
    assert!(pipeline.get(map("b")).await.unwrap().get("data").is_none());
    pipeline.apply(account("taken", &[("other", json!(1))])).await;
    pipeline.operator.told("run succeeded", "attach", 2).await;
    assert_eq!(said(&pipeline.operator).len(), 1);
}

#[tokio::test]
async fn an_empty_answer_of_a_decorator_waits_for_an_approval() {
    let pipeline = start().await;
    let web = account("web", &[("attach", json!({"children": [child("a", "1")]}))]);
    pipeline.create(web.clone()).await;
    there(&pipeline.cluster, &map("a")).await;
    pipeline.apply(account("web", &[("attach", json!({"children": []}))])).await;
    let said = |operator: &Operator| {
        let lines = operator.log.lines();
        let text = lines.iter().filter_map(|line| line["message"].as_str()).find(|text| text.contains("; approve "));
        text.map(str::to_owned)
    };
    let line = pipeline.operator.until("it says what to approve", said).await;
    let (_, approve) = line.split_once("; approve ").unwrap();
    let (digest, annotation) = approve.split_once(" in the annotation ").unwrap();
    assert!(annotation.starts_with("boathook.dev/approve-prune-"), "{line}");
    assert!(pipeline.get(map("a")).await.is_some());
    let mut approved = account("web", &[]);
    approved["metadata"]["annotations"][annotation] = json!(digest);
    pipeline.apply(approved).await;
    gone(&pipeline.cluster, &map("a")).await;
}

#[tokio::test]
async fn nothing_is_written_again_by_the_next_operator() {
    let pipeline = start().await;
    let says = json!({"children": [child("a", "1")], "labels": {"tier": "1"}});
    let web = account("web", &[("attach", says)]);
    pipeline.create(web.clone()).await;
    there(&pipeline.cluster, &map("a")).await;
    shown(&pipeline.cluster, "the label is set", &web, |found| found["metadata"]["labels"]["tier"] == "1").await;
    let Pipeline { cluster, operator } = pipeline;
    operator.said("attach", r#"attach web ["a"]"#).await;
    operator.shutdown().await;
    let writes = Arc::default();
    let operator = Operator::start(noted(&cluster.cluster.url(), &writes), &guests(["attach"]), |_| ()).await;
    operator.ready().await;
    operator.said("attach", r#"attach web ["a"]"#).await;
    // What is attached to another object after this one shows that this one was done with.
    cluster.admin.create(&account("next", &[("attach", json!({"children": [child("c", "1")]}))])).await.unwrap();
    there(&cluster, &map("c")).await;
    assert_eq!(*writes.lock().unwrap(), ["PATCH configmaps/c"]);
}

#[tokio::test]
async fn a_cluster_scoped_object_has_attachments_anywhere() {
    let pipeline = start().await;
    let mut far = child("far", "1");
    far["metadata"]["namespace"] = json!("kube-public");
    let space = |annotation: Value| {
        let metadata = json!({"name": "team", "annotations": {"space": annotation}});
        json!({"apiVersion": "v1", "kind": "Namespace", "metadata": metadata})
    };
    pipeline.create(space(json!(json!({"children": [far]}).to_string()))).await;
    there(&pipeline.cluster, &map_in("kube-public", "far")).await;
    pipeline.apply(space(Value::Null)).await;
    gone(&pipeline.cluster, &map_in("kube-public", "far")).await;
    assert!(pipeline.get(space(Value::Null)).await.is_some());
}

fn finalizers(object: &Value) -> Vec<&str> {
    object["metadata"]["finalizers"].as_array().into_iter().flatten().filter_map(Value::as_str).collect()
}

/// Like Metacontroller: to a decorator, an object that is not selected any more is one that ends.
// mutant: crates/operator/src/app/reconcile/mod.rs: `set.must_finalize(finalizes && parent.deleting && marks.finalizer)` => `set.must_finalize(false)`
#[tokio::test]
async fn the_hook_is_asked_before_it_lets_go_of_an_object() {
    let pipeline = Pipeline::on(TestCluster::start().await, &[("detach", guest("detach"))], |_| ()).await;
    pipeline.operator.ready().await;
    let said = |operator: &Operator| operator.log.said("detach").iter().filter(|said| *said == "finalize web").count();
    let (detach, busy) = (("detach", json!(1)), ("busy", json!(1)));
    let web = account("web", &[detach.clone(), busy]);
    pipeline.create(web.clone()).await;
    let found = shown(&pipeline.cluster, "it has a finalizer", &web, |found| !finalizers(found).is_empty()).await;
    let [finalizer] = finalizers(&found)[..] else { panic!("{found}") };
    assert!(finalizer.starts_with("boathook.dev/teardown-"), "others may have one, too: {finalizer}");
    there(&pipeline.cluster, &map("web")).await;
    // Not selected any more: the hook still needs its child for a while.
    pipeline.apply(account("web", &[("detach", Value::Null)])).await;
    pipeline.operator.until("it is asked", |operator| (said(operator) > 1).then_some(())).await;
    assert!(pipeline.get(map("web")).await.is_some());
    pipeline.apply(account("web", &[("busy", Value::Null)])).await;
    gone(&pipeline.cluster, &map("web")).await;
    shown(&pipeline.cluster, "it has none", &web, |found| finalizers(found).is_empty()).await;
    // Deleted.
    pipeline.apply(account("web", &[detach])).await;
    shown(&pipeline.cluster, "it has a finalizer", &web, |found| !finalizers(found).is_empty()).await;
    there(&pipeline.cluster, &map("web")).await;
    let before = said(&pipeline.operator);
    pipeline.delete(web.clone()).await;
    gone(&pipeline.cluster, &web).await;
    gone(&pipeline.cluster, &map("web")).await;
    assert!(said(&pipeline.operator) > before);
}
