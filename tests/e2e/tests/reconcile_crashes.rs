//! An operator that is killed after each of its writes, while a parent is created, changed and deleted: the next operator
//! comes to the same end, and creates and deletes nothing twice.

use std::sync::Arc;

use kube::Api;
use kube::api::{
    ApiResource, DeleteParams, DynamicObject, GroupVersionKind, ListParams, Patch, PatchParams, PostParams,
};
use serde_json::{Value, json};

use crate::harness::{Cluster, Gate, Operator, Test, Write, eventually, workspace};
use crate::reconcile::{apply_file, child, wish};

/// The guest has a `finalize`.
const HOOK: &str = "test/farewell";
const WISHES: &str = "hooks-wasm/test/wish/wishes.yaml";
/// The API server itself puts it there.
const AUTHORITY: &str = "kube-root-ca.crt";
/// More writes than one change can need.
const MANY: usize = 25;

#[derive(Clone, Copy, Debug)]
enum Change {
    Create,
    /// One child is other, one is new, and one is not wanted any more.
    Update,
    Delete,
}

/// What a change has to leave, and how many writes of each kind it takes.
struct End {
    children: &'static [&'static str],
    created: usize,
    deleted: usize,
    /// The least number of writes.
    least: usize,
}

impl Change {
    const ALL: [Self; 3] = [Self::Create, Self::Update, Self::Delete];

    fn end(self) -> End {
        match self {
            // The finalizer, the children, the status.
            Self::Create => End { children: &["a", "b", "c"], created: 3, deleted: 0, least: 5 },
            Self::Update => End { children: &["a", "c", "d"], created: 1, deleted: 1, least: 4 },
            // The children and the finalizer.
            Self::Delete => End { children: &[], created: 0, deleted: 3, least: 4 },
        }
    }
}

/// A cluster, what leads to it, and the operator.
struct Site<'a> {
    test: &'a Test,
    cluster: Arc<Cluster>,
    gate: Gate,
}

impl Site<'_> {
    fn api(&self, group: &str, version: &str, kind: &str, plural: &str) -> Api<DynamicObject> {
        let resource = ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk(group, version, kind), plural);
        Api::namespaced_with(self.cluster.client.clone(), "default", &resource)
    }

    fn wishes(&self) -> Api<DynamicObject> {
        self.api("example.com", "v1", "Wish", "wishes")
    }

    async fn operator(&self) -> Operator {
        self.test.operator_with(&self.gate.kubeconfig(self.test.dir()), &[HOOK]).await
    }

    async fn make(&self, change: Change) {
        let wishes = self.wishes();
        match change {
            Change::Create => {
                let parent = wish("web", &[child("a", "0", "1"), child("b", "1", "1"), child("c", "1", "1")]);
                let parent = serde_json::from_value(parent).expect("an object");
                wishes.create(&PostParams::default(), &parent).await.expect("create the parent");
            }
            Change::Update => {
                let children = [child("a", "0", "2"), child("c", "1", "1"), child("d", "1", "1")];
                let patch = Patch::Merge(json!({"spec": {"children": children}}));
                wishes.patch("web", &PatchParams::default(), &patch).await.expect("change the parent");
            }
            Change::Delete => {
                wishes.delete("web", &DeleteParams::default()).await.expect("delete the parent");
            }
        }
    }

    /// The parent and all ConfigMaps, without what differs each time.
    async fn state(&self) -> Result<Vec<Value>, String> {
        let mut all = Vec::new();
        for api in [self.wishes(), self.api("", "v1", "ConfigMap", "configmaps")] {
            let list = api.list(&ListParams::default()).await.map_err(|error| error.to_string())?;
            let objects = list.items.into_iter().map(|object| serde_json::to_value(object).expect("an object"));
            all.extend(objects.filter(|object| object["metadata"]["name"] != AUTHORITY).map(lasting));
        }
        Ok(all)
    }

    /// Waits until the gate is shut, or until the change has come to its end, whatever `is_end` says of that.
    async fn shut_or(&self, what: &str, is_end: impl Fn(&[Value]) -> bool) -> bool {
        eventually(what, async || {
            if self.gate.is_shut() {
                return Ok(true);
            }
            let state = self.state().await?;
            if is_end(&state) { Ok(false) } else { Err(format!("{:#}", json!(state))) }
        })
        .await
    }
}

/// An object without what differs each time.
fn lasting(mut object: Value) -> Value {
    // Lists leave them out.
    for key in ["apiVersion", "kind"] {
        object.as_object_mut().expect("an object").remove(key);
    }
    let metadata = object["metadata"].as_object_mut().expect("metadata");
    for key in ["uid", "resourceVersion", "creationTimestamp", "managedFields"] {
        metadata.remove(key);
    }
    // The digest is also of the owner's uid.
    if let Some(annotations) = metadata.get_mut("annotations").and_then(Value::as_object_mut) {
        annotations.remove("boathook.dev/applied");
    }
    for owner in metadata.get_mut("ownerReferences").and_then(Value::as_array_mut).into_iter().flatten() {
        owner.as_object_mut().expect("an owner").remove("uid");
    }
    let conditions = object.pointer_mut("/status/conditions").and_then(Value::as_array_mut);
    for condition in conditions.into_iter().flatten() {
        condition.as_object_mut().expect("a condition").remove("lastTransitionTime");
    }
    object
}

/// The parent has been brought to its newest generation, and there are just these children.
fn is_done(state: &[Value], children: &[&str]) -> bool {
    let (parents, maps): (Vec<_>, Vec<_>) = state.iter().partition(|object| object.get("spec").is_some());
    let names: Vec<_> = maps.iter().filter_map(|map| map["metadata"]["name"].as_str()).collect();
    let ready = |parent: &&Value| {
        let mut conditions = parent["status"]["conditions"].as_array().into_iter().flatten();
        let holds = conditions.any(|one| one["type"] == "Ready" && one["status"] == "True");
        holds && parent["status"]["observedGeneration"] == parent["metadata"]["generation"]
    };
    names == children && parents.len() == usize::from(!children.is_empty()) && parents.iter().all(ready)
}

fn count(writes: &[Write], is: impl Fn(&Write) -> bool) -> usize {
    writes.iter().filter(|write| write.path.starts_with("/api/v1/namespaces/default/configmaps") && is(write)).count()
}

fn check(change: Change, most: usize, writes: &[Write]) {
    let End { created, deleted, .. } = change.end();
    let at = format!("{change:?} with a kill after {most} writes: {writes:#?}");
    assert_eq!(count(writes, |write| write.status == 201), created, "{at}");
    assert_eq!(count(writes, |write| write.method == "DELETE" && write.status == 200), deleted, "{at}");
}

pub async fn an_operator_that_is_killed_after_any_write_is_continued_by_the_next_one(test: Arc<Test>) {
    let cluster = test.own_cluster().await;
    apply_file(&cluster, &workspace().join(WISHES)).await;
    let gate = Gate::to_cluster(&cluster).await;
    let site = Site { test: &test, cluster, gate };
    let mut operator = site.operator().await;
    operator.ready().await;

    // Undisturbed, for comparison.
    let mut expected = Vec::new();
    for change in Change::ALL {
        site.make(change).await;
        site.shut_or(&format!("{change:?} is done"), |state| is_done(state, change.end().children)).await;
        expected.push(site.state().await.expect("the cluster answers"));
        check(change, usize::MAX, &site.gate.passed());
    }

    let mut kills = [0; Change::ALL.len()];
    let mut is_finished = [false; Change::ALL.len()];
    for most in 1.. {
        assert!(most < MANY, "it never comes to its end: {kills:?}");
        for (n, change) in Change::ALL.into_iter().enumerate() {
            if !is_finished[n] {
                site.gate.passes(most);
            }
            site.make(change).await;
            let what = format!("{change:?} is done, or its write {most}");
            let is_shut = site.shut_or(&what, |state| state == expected[n]).await;
            // Some more may have passed before it was seen that all is done.
            if is_shut {
                kills[n] += 1;
                operator.kill().await;
                site.gate.opens();
                operator = site.operator().await;
                let what = format!("{change:?} comes to its end after a kill after {most} writes");
                site.shut_or(&what, |state| state == expected[n]).await;
            } else {
                is_finished[n] = true;
                site.gate.opens();
            }
            check(change, most, &site.gate.passed());
        }
        if is_finished == [true; Change::ALL.len()] {
            break;
        }
    }
    for (change, kills) in Change::ALL.into_iter().zip(kills) {
        assert!(kills >= change.end().least, "{change:?}: {kills} kills");
    }
    operator.stop().await;
}
