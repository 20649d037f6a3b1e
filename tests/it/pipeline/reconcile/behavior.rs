//! What becomes of an answer, and when the hook is asked.

use boathook_core::model::HookName;
use serde_json::{Value, json};

use super::{
    asked, child, cluster, cluster_wish, condition, current, gone, in_wave, map, map_in, start, there, told, wish,
};
use crate::{
    pipeline::{
        fixture::{Operator, Pipeline, guests},
        swap::put,
    },
    support::{cluster::TestCluster, guests::guest, until},
};

#[tokio::test]
async fn the_status_is_the_hooks_and_the_hosts() {
    let pipeline = start().await;
    let own = json!([{"type": "Painted", "status": "True", "reason": "Done", "message": "it is blue"}]);
    let parent = wish("web", json!({"children": [child("a", "1")], "status": {"color": "blue"}, "conditions": own}));
    pipeline.create(parent.clone()).await;
    current(&pipeline.cluster, &parent, 1).await;
    let found = until("the hook saw its child", async || {
        let found = pipeline.get(parent.clone()).await?;
        (found["status"]["seen"] == json!(["a"])).then_some(found)
    })
    .await;
    assert_eq!(found["status"]["color"], "blue");
    assert_eq!(condition(&found, "Painted").unwrap()["message"], "it is blue");
    assert_eq!(condition(&found, "Stalled").unwrap()["status"], "False");
    // A field that the hook does not return any more goes. Fields and conditions of others stay.
    let theirs = json!({"apiVersion": "example.com/v1", "kind": "Wish", "metadata": parent["metadata"],
        "status": {"theirs": 1, "conditions": [{"type": "Theirs", "status": "True"}]}});
    let uri = "/apis/example.com/v1/namespaces/default/wishes/web/status?fieldManager=them";
    let request = http::Request::patch(uri).header("content-type", "application/apply-patch+yaml");
    let request = request.body(theirs.to_string().into_bytes()).unwrap();
    pipeline.cluster.admin.client.request::<Value>(request).await.unwrap();
    pipeline.apply(wish("web", json!({"status": {"color": null, "size": 2}, "conditions": null}))).await;
    let found = until("the new status is there", async || {
        let found = pipeline.get(parent.clone()).await?;
        (found["status"]["size"] == 2).then_some(found)
    })
    .await;
    assert!(found["status"].get("color").is_none(), "{found}");
    assert_eq!(found["status"]["theirs"], 1, "{found}");
    assert!(condition(&found, "Theirs").is_some() && condition(&found, "Painted").is_none(), "{found}");
}

#[tokio::test]
async fn what_is_not_returned_any_more_is_deleted() {
    let pipeline = start().await;
    let parent = wish("web", json!({"children": [child("a", "1"), child("b", "1"), child("c", "1")]}));
    pipeline.create(parent.clone()).await;
    current(&pipeline.cluster, &parent, 1).await;
    pipeline.apply(wish("web", json!({"children": [child("a", "2"), child("c", "1")]}))).await;
    gone(&pipeline.cluster, &map("b")).await;
    current(&pipeline.cluster, &parent, 2).await;
    assert_eq!(pipeline.get(map("a")).await.unwrap()["data"]["value"], "2");
    assert!(pipeline.get(map("c")).await.is_some());
}

// mutant: crates/operator/src/app/reconcile/sets.rs: `means_empty: *none_wanted` => `means_empty: true`
#[tokio::test]
async fn an_empty_answer_deletes_nothing_unless_it_is_meant() {
    let pipeline = start().await;
    let parent = wish("web", json!({"children": [child("a", "1")]}));
    pipeline.create(parent.clone()).await;
    current(&pipeline.cluster, &parent, 1).await;
    pipeline.apply(wish("web", json!({"children": []}))).await;
    let message = told(&pipeline.cluster, &parent, "Stalled", "True", "ApprovalRequired").await;
    assert!(message.contains("ConfigMap default/a"), "{message}");
    assert!(pipeline.get(map("a")).await.is_some());
    pipeline.apply(wish("web", json!({"children": [], "noneWanted": true}))).await;
    gone(&pipeline.cluster, &map("a")).await;
    current(&pipeline.cluster, &parent, 3).await;
}

// mutant: crates/operator/src/app/reconcile/mod.rs: `limits: Limits { max_share: prune.max_share.get(), max_objects: prune.max_objects },` => `limits: Limits { max_share: 100, max_objects: 1000 + prune.max_objects },`
#[tokio::test]
async fn a_large_prune_waits_until_somebody_approves_its_list() {
    let pipeline = start().await;
    let many = |count: usize| (0..count).map(|n| child(&format!("m{n}"), "1")).collect::<Vec<_>>();
    let parent = wish("web", json!({"children": many(6)}));
    pipeline.create(parent.clone()).await;
    current(&pipeline.cluster, &parent, 1).await;
    pipeline.apply(wish("web", json!({"children": many(2)}))).await;
    let message = told(&pipeline.cluster, &parent, "Stalled", "True", "ApprovalRequired").await;
    let digest = message.rsplit(' ').next().unwrap().to_owned();
    let approve = |digest: &str| {
        let mut parent = wish("web", json!({}));
        parent["metadata"]["annotations"] = json!({"boathook.dev/approve-prune": digest});
        parent.as_object_mut().unwrap().remove("spec");
        parent
    };
    pipeline.apply(approve("another")).await;
    told(&pipeline.cluster, &parent, "Stalled", "True", "ApprovalRequired").await;
    assert!(pipeline.get(map("m5")).await.is_some());
    pipeline.apply(approve(&digest)).await;
    for name in ["m2", "m3", "m4", "m5"] {
        gone(&pipeline.cluster, &map(name)).await;
    }
    let found = current(&pipeline.cluster, &parent, 2).await;
    assert!(pipeline.get(map("m1")).await.is_some());
    until("nothing waits any more", async || {
        let found = pipeline.get(found.clone()).await?;
        found["metadata"]["annotations"].get("boathook.dev/prune-hold").is_none().then_some(())
    })
    .await;
}

#[tokio::test]
async fn members_are_deleted_in_the_reverse_of_their_waves() {
    let pipeline = start().await;
    let parent = wish("web", json!({"children": [in_wave("first", "0"), in_wave("second", "1")]}));
    pipeline.create(parent.clone()).await;
    current(&pipeline.cluster, &parent, 1).await;
    let found = pipeline.get(parent.clone()).await.unwrap();
    assert_eq!(found["metadata"]["finalizers"], json!(["boathook.dev/teardown"]));
    // Somebody keeps the second one for a while.
    let mut held = map("second");
    held["metadata"]["finalizers"] = json!(["example.com/held"]);
    pipeline.apply(held.clone()).await;
    pipeline.delete(parent.clone()).await;
    until("the second one is being deleted", async || {
        pipeline.get(map("second")).await?["metadata"].get("deletionTimestamp").cloned()
    })
    .await;
    assert!(pipeline.get(map("first")).await.unwrap()["metadata"].get("deletionTimestamp").is_none());
    assert!(pipeline.get(parent.clone()).await.is_some());
    held["metadata"]["finalizers"] = json!([]);
    pipeline.apply(held).await;
    for object in [map("second"), map("first"), parent] {
        gone(&pipeline.cluster, &object).await;
    }
}

// mutant: crates/applyset/src/ready.rs: `Some(text) => known.and_expression(|| Expression::holds(text, object, last)),` => `Some(_) => known,`
#[tokio::test]
async fn a_wave_waits_until_the_expression_of_a_child_holds() {
    let pipeline = start().await;
    let mut first = in_wave("first", "0");
    first["metadata"]["annotations"]["boathook.dev/ready"] = json!("has(self.data.phase) && self.data.phase == 'Up'");
    let parent = wish("web", json!({"children": [first, in_wave("second", "1")]}));
    pipeline.create(parent.clone()).await;
    until("the condition says what is waited for", async || {
        let found = pipeline.get(parent.clone()).await?;
        let reconciling = condition(&found, "Reconciling")?;
        let message = "ConfigMap default/first: Expression: its expression does not hold yet";
        (reconciling["status"] == "True" && reconciling["message"].as_str()?.contains(message)).then_some(())
    })
    .await;
    assert!(pipeline.get(map("second")).await.is_none());
    // Its controller reports that it is up.
    let mut reported = map("first");
    reported["data"] = json!({"phase": "Up"});
    pipeline.apply(reported).await;
    there(&pipeline.cluster, &map("second")).await;
    current(&pipeline.cluster, &parent, 1).await;
    // An expression that is none is refused with the answer.
    let mut wrong = child("third", "1");
    wrong["metadata"]["annotations"] = json!({"boathook.dev/ready": "self.data.phase =="});
    pipeline.apply(wish("web", json!({"children": [wrong]}))).await;
    let message = told(&pipeline.cluster, &parent, "Stalled", "True", "InvalidAnswer").await;
    assert!(
        message.starts_with("v1 ConfigMap third: its annotation boathook.dev/ready is not an expression"),
        "{message}"
    );
    assert!(pipeline.get(map("third")).await.is_none());
}

#[tokio::test]
async fn children_of_a_cluster_scoped_parent_are_anywhere_and_go_with_it() {
    let pipeline = start().await;
    let mut far = child("far", "1");
    far["metadata"]["namespace"] = json!("kube-public");
    let parent = cluster_wish("all", json!({"children": [far]}));
    pipeline.create(parent.clone()).await;
    current(&pipeline.cluster, &parent, 1).await;
    pipeline.delete(parent.clone()).await;
    gone(&pipeline.cluster, &parent).await;
    gone(&pipeline.cluster, &map_in("kube-public", "far")).await;
}

#[tokio::test]
async fn kubectl_delete_cascade_orphan_leaves_the_children() {
    let pipeline = start().await;
    for children in [json!([child("a", "1")]), json!([in_wave("b", "0"), in_wave("c", "1")])] {
        let parent = wish("web", json!({"children": children}));
        pipeline.create(parent.clone()).await;
        current(&pipeline.cluster, &parent, 1).await;
        let uri = "/apis/example.com/v1/namespaces/default/wishes/web?propagationPolicy=Orphan";
        let request = http::Request::delete(uri).body(Vec::new()).unwrap();
        pipeline.cluster.admin.client.request::<Value>(request).await.unwrap();
        gone(&pipeline.cluster, &parent).await;
    }
    for name in ["a", "b", "c"] {
        let found = there(&pipeline.cluster, &map(name)).await;
        assert!(found["metadata"].get("ownerReferences").is_none_or(|owners| owners == &json!([])), "{found}");
    }
    // A parent of the same name takes them up, because they have the label of its set, or none.
    let parent = wish("web", json!({"children": [child("new", "1")]}));
    pipeline.create(parent.clone()).await;
    there(&pipeline.cluster, &map("new")).await;
    for name in ["a", "b", "c"] {
        assert!(pipeline.get(map(name)).await.is_some());
    }
}

// mutant: crates/applyset/src/set/plan.rs: `(Owner::Nobody, Adopt::IfUnowned | Adopt::Always)` => `(Owner::Nobody, _) | (Owner::Set(_), Adopt::Never)`
#[tokio::test]
async fn an_object_of_another_parent_is_refused_and_named() {
    let pipeline = start().await;
    let (one, other) =
        (wish("one", json!({"children": [child("a", "1")]})), wish("other", json!({"children": [child("a", "2")]})));
    pipeline.create(one.clone()).await;
    current(&pipeline.cluster, &one, 1).await;
    pipeline.create(other.clone()).await;
    let message = told(&pipeline.cluster, &other, "Stalled", "True", "MemberRefused").await;
    assert!(message.starts_with("ConfigMap default/a: it belongs to the set applyset-"), "{message}");
    assert_eq!(pipeline.get(map("a")).await.unwrap()["data"]["value"], "1");
    // Nor is an object that nobody has.
    let mut foreign = map("foreign");
    foreign["data"] = json!({"value": "theirs"});
    pipeline.create(foreign).await;
    let taker = wish("taker", json!({"children": [child("foreign", "mine")]}));
    pipeline.create(taker.clone()).await;
    told(&pipeline.cluster, &taker, "Stalled", "True", "MemberRefused").await;
    assert_eq!(pipeline.get(map("foreign")).await.unwrap()["data"]["value"], "theirs");
}

#[tokio::test]
async fn requeue_after_asks_again() {
    let pipeline = start().await;
    let parent = wish("web", json!({"children": [child("a", "1")], "requeueAfter": 300}));
    pipeline.create(parent.clone()).await;
    current(&pipeline.cluster, &parent, 1).await;
    let before = asked(&pipeline.operator, "web");
    pipeline.operator.until("it was asked again", |operator| (asked(operator, "web") > before + 2).then_some(())).await;
}

#[tokio::test]
async fn a_trap_holds_up_no_other_parent() {
    let pipeline = start().await;
    let bad = wish("bad", json!({"fail": "trap"}));
    pipeline.create(bad.clone()).await;
    let message = told(&pipeline.cluster, &bad, "Reconciling", "True", "HookFailed").await;
    assert!(message.contains("it was wished"), "{message}");
    let good = wish("good", json!({"children": [child("a", "1")]}));
    pipeline.create(good.clone()).await;
    current(&pipeline.cluster, &good, 1).await;
    // What existed stays while the hook fails.
    pipeline.apply(wish("good", json!({"fail": "permanent"}))).await;
    told(&pipeline.cluster, &good, "Stalled", "True", "HookFailed").await;
    pipeline.delete(map("a")).await;
    there(&pipeline.cluster, &map("a")).await;
    pipeline.apply(wish("bad", json!({"fail": null, "children": [child("b", "1")]}))).await;
    current(&pipeline.cluster, &bad, 2).await;
}

#[tokio::test]
async fn a_parent_that_is_not_selected_any_more_is_let_go() {
    let pipeline = start().await;
    let mut far = child("far", "1");
    far["metadata"]["namespace"] = json!("kube-public");
    // Two waves need the finalizer.
    let mut second = far.clone();
    second["metadata"]["name"] = json!("second");
    second["metadata"]["annotations"] = json!({"boathook.dev/wave": "1"});
    let parent = cluster_wish("all", json!({"children": [far, second]}));
    pipeline.create(parent.clone()).await;
    let found = current(&pipeline.cluster, &parent, 1).await;
    assert_eq!(found["metadata"]["finalizers"], json!(["boathook.dev/teardown"]));
    let mut unseen = parent.clone();
    unseen["metadata"]["labels"] = json!({"unseen": "true"});
    pipeline.apply(unseen).await;
    until("the finalizer is gone", async || {
        let found = pipeline.get(parent.clone()).await?;
        found["metadata"].get("finalizers").is_none_or(|all| all == &json!([])).then_some(())
    })
    .await;
    assert!(pipeline.get(map_in("kube-public", "far")).await.is_some());
    pipeline.delete(parent.clone()).await;
    gone(&pipeline.cluster, &parent).await;
}

/// No event says so when an operator starts again.
// mutant: crates/operator/src/app/reconcile/mod.rs: `strays::search(services, hook, terms);` => `drop((services, hook, terms));`
#[tokio::test]
async fn a_parent_whose_labels_change_while_no_operator_runs_is_let_go() {
    let pipeline = start().await;
    let children: Vec<_> = ["0", "1"]
        .iter()
        .map(|wave| {
            let mut child = in_wave(&format!("in-{wave}"), wave);
            child["metadata"]["namespace"] = json!("kube-public");
            child
        })
        .collect();
    let parent = cluster_wish("all", json!({"children": children}));
    pipeline.create(parent.clone()).await;
    let found = current(&pipeline.cluster, &parent, 1).await;
    assert_eq!(found["metadata"]["finalizers"], json!(["boathook.dev/teardown"]));
    let Pipeline { cluster, operator } = pipeline;
    operator.shutdown().await;
    let mut unseen = parent.clone();
    unseen["metadata"]["labels"] = json!({"unseen": "true"});
    // A finalizer of another hook stays.
    let mut theirs = cluster_wish("theirs", json!({}));
    theirs["metadata"]["labels"] = json!({"unseen": "true"});
    theirs["metadata"]["finalizers"] = json!(["boathook.dev/teardown"]);
    theirs["metadata"]["annotations"] = json!({"boathook.dev/manager": "boathook.dev/other"});
    cluster.admin.apply(&unseen).await.unwrap();
    cluster.admin.create(&theirs).await.unwrap();
    let operator = Operator::start(cluster.admin.client.clone(), &guests(["wish"]), |_| ()).await;
    until("the finalizer is gone", async || {
        let found = cluster.admin.get(&parent).await.unwrap()?;
        found["metadata"].get("finalizers").is_none_or(|all| all == &json!([])).then_some(())
    })
    .await;
    assert!(cluster.admin.get(&map_in("kube-public", "in-0")).await.unwrap().is_some());
    cluster.admin.delete(&parent).await.unwrap();
    gone(&cluster, &parent).await;
    let theirs = cluster.admin.get(&theirs).await.unwrap().unwrap();
    assert_eq!(theirs["metadata"]["finalizers"], json!(["boathook.dev/teardown"]));
    drop(operator);
}

/// The same component with another digest: a custom section at its end.
fn another(mut bytes: Vec<u8>) -> Vec<u8> {
    bytes.extend([0, 3, 1, b'v', 2]);
    bytes
}

#[tokio::test]
async fn a_new_version_of_the_hook_is_asked_about_all_parents() {
    let pipeline = start().await;
    let parents = ["one", "two"].map(|name| wish(name, json!({"children": [child(name, "1")]})));
    for parent in &parents {
        pipeline.create(parent.clone()).await;
        current(&pipeline.cluster, parent, 1).await;
    }
    let settled = until_settled(&pipeline).await;
    let file = put(&pipeline.operator, "wish", &another(guest("wish")));
    let swapped = pipeline.operator.app.swap(file).await.unwrap();
    assert_eq!(swapped.begun, 0, "all watches continue");
    let asked_again = |operator: &Operator| {
        ["one", "two"].iter().zip(settled).all(|(name, before)| asked(operator, name) > before).then_some(())
    };
    pipeline.operator.until("both were asked about", asked_again).await;
    // It still knows who is a member of what.
    pipeline.apply(wish("one", json!({"children": [child("other", "1")]}))).await;
    gone(&pipeline.cluster, &map("one")).await;
    assert!(pipeline.get(map("two")).await.is_some());
}

/// Waits until the hook is not asked any more. Returns how often it was asked about `one` and `two`.
async fn until_settled(pipeline: &Pipeline) -> [usize; 2] {
    let count = || ["one", "two"].map(|name| asked(&pipeline.operator, name));
    let mut last = count();
    until("the hook is not asked any more", async || {
        tokio::time::sleep(std::time::Duration::from_millis(300)).await;
        let before = std::mem::replace(&mut last, count());
        (before == last).then_some(last)
    })
    .await
}

#[tokio::test]
async fn a_kind_that_is_served_later_is_applied_then() {
    let cluster = TestCluster::start().await;
    cluster.admin.create(&super::definition("Wish")).await.unwrap();
    let pipeline = Pipeline::on(cluster, &guests(["wish"]), |_| ()).await;
    let parent = wish("web", json!({"children": [child("a", "1")]}));
    pipeline.create(parent.clone()).await;
    current(&pipeline.cluster, &parent, 1).await;
    let late = cluster_wish("late", json!({"children": []}));
    pipeline.cluster.admin.create(&super::definition("ClusterWish")).await.unwrap();
    until("the parent can be created", async || pipeline.cluster.admin.create(&late).await.ok()).await;
    current(&pipeline.cluster, &late, 1).await;
}

#[tokio::test]
async fn a_pure_hook_is_not_asked_again_about_the_same() {
    let pipeline = Pipeline::on(cluster().await, &guests(["wish"]), |options| options.keep_last_run = true).await;
    let operator = &pipeline.operator;
    operator.ready().await;
    let parent = wish("one", json!({"children": [child("a", "1")]}));
    pipeline.create(parent.clone()).await;
    current(&pipeline.cluster, &parent, 1).await;
    let [before, _] = until_settled(&pipeline).await;
    let runs = |operator: &Operator| operator.log.told("run succeeded").len();
    let (ran, mut again) = (runs(operator), 0);
    operator.app.run_again(&HookName::new("wish").unwrap(), |count| again = count);
    assert!(again > 0);
    operator.until("it ran again", |operator| (runs(operator) >= ran + again).then_some(())).await;
    assert_eq!(asked(operator, "one"), before);
    // It is asked about something else.
    pipeline.apply(wish("one", json!({"status": {"x": 1}}))).await;
    operator.until("it was asked", |operator| (asked(operator, "one") > before).then_some(())).await;
}

/// What an earlier document owned is not deleted, because nobody may. The parent keeps naming the kind.
#[tokio::test]
async fn kinds_that_are_not_owned_any_more_are_named() {
    let pipeline = start().await;
    let kinds = "applyset.kubernetes.io/contains-group-kinds";
    let mut parent = wish("web", json!({"children": [child("a", "1")]}));
    parent["metadata"]["annotations"] = json!({"applyset.kubernetes.io/tooling": "boathook/0.1.0", kinds: "Secret"});
    pipeline.create(parent.clone()).await;
    current(&pipeline.cluster, &parent, 1).await;
    let message = told(&pipeline.cluster, &parent, "MembersLeft", "True", "NotOwned").await;
    assert!(message.contains("members of Secret may exist"), "{message}");
    assert_eq!(pipeline.get(parent).await.unwrap()["metadata"]["annotations"][kinds], "ConfigMap,Secret");
}
