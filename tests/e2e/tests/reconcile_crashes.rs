//! An operator that is killed after each of its writes, while a parent is created, changed and deleted, or while an object of
//! others gets, changes and loses what a hook attaches to it: the next operator comes to the same end, and creates and deletes
//! nothing twice.

use std::sync::Arc;

use kube::Api;
use kube::api::{
    ApiResource, DeleteParams, DynamicObject, GroupVersionKind, ListParams, Patch, PatchParams, PostParams,
};
use serde_json::{Value, json};

use crate::harness::{Cluster, Gate, Operator, Test, Write, eventually, workspace};
use crate::reconcile::{apply_file, child, wish};

const WISHES: &str = "hooks-wasm/test/wish/wishes.yaml";
/// The API server itself puts it there.
const AUTHORITY: &str = "kube-root-ca.crt";
/// A ServiceAccount that each namespace has.
const ACCOUNT: &str = "default";
/// What the hook sets on an object of others.
const LABEL: &str = "version";
/// More writes than one change can need.
const MANY: usize = 25;

/// Whose children they are.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Parents {
    /// Custom resources. The hook has a `finalize`.
    Wishes,
    /// Objects of others. The hook also sets a label on them.
    ServiceAccounts,
}

impl Parents {
    fn hook(self) -> &'static str {
        match self {
            Self::Wishes => "test/farewell",
            Self::ServiceAccounts => "test/attach",
        }
    }
}

#[derive(Clone, Copy, Debug)]
enum Change {
    /// An object of others is there already: it is selected from now on.
    Create,
    /// One child is other, one is new, and one is not wanted any more.
    Update,
    /// An object of others stays: it is not selected any more.
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
            // The children, and the finalizer and the status, or the label.
            Self::Create => End { children: &["a", "b", "c"], created: 3, deleted: 0, least: 4 },
            Self::Update => End { children: &["a", "c", "d"], created: 1, deleted: 1, least: 4 },
            // The children, and the finalizer or the label.
            Self::Delete => End { children: &[], created: 0, deleted: 3, least: 4 },
        }
    }

    /// What the hook returns, and the label that it sets on an object of others.
    fn wants(self) -> Option<(Vec<Value>, &'static str)> {
        match self {
            Self::Create => Some((vec![child("a", "0", "1"), child("b", "1", "1"), child("c", "1", "1")], "1")),
            Self::Update => Some((vec![child("a", "0", "2"), child("c", "1", "1"), child("d", "1", "1")], "2")),
            Self::Delete => None,
        }
    }
}

/// A cluster, what leads to it, and the operator.
struct Site<'a> {
    test: &'a Test,
    parents: Parents,
    cluster: Arc<Cluster>,
    gate: Gate,
}

impl Site<'_> {
    fn api(&self, group: &str, version: &str, kind: &str, plural: &str) -> Api<DynamicObject> {
        let resource = ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk(group, version, kind), plural);
        Api::namespaced_with(self.cluster.client.clone(), "default", &resource)
    }

    fn of_parents(&self) -> Api<DynamicObject> {
        match self.parents {
            Parents::Wishes => self.api("example.com", "v1", "Wish", "wishes"),
            Parents::ServiceAccounts => self.api("", "v1", "ServiceAccount", "serviceaccounts"),
        }
    }

    /// What there is before the operator starts.
    async fn begin(&self) {
        match self.parents {
            Parents::Wishes => apply_file(&self.cluster, &workspace().join(WISHES)).await,
            Parents::ServiceAccounts => {
                let metadata = json!({"name": "web", "namespace": "default", "labels": {"attach": "true"}});
                let account = json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata});
                let account = serde_json::from_value(account).expect("an object");
                self.of_parents().create(&PostParams::default(), &account).await.expect("create the parent");
            }
        }
    }

    async fn operator(&self) -> Operator {
        self.test.operator_with(&self.gate.kubeconfig(self.test.dir()), &[self.parents.hook()]).await
    }

    async fn make(&self, change: Change) {
        let parents = self.of_parents();
        let patch = match (self.parents, change, change.wants()) {
            (Parents::Wishes, Change::Create, Some((children, _))) => {
                let parent = serde_json::from_value(wish("web", &children)).expect("an object");
                parents.create(&PostParams::default(), &parent).await.expect("create the parent");
                return;
            }
            (Parents::Wishes, _, Some((children, _))) => json!({"spec": {"children": children}}),
            (Parents::Wishes, _, None) => {
                parents.delete("web", &DeleteParams::default()).await.expect("delete the parent");
                return;
            }
            (Parents::ServiceAccounts, _, wants) => {
                let says = |(children, label): (Vec<Value>, &str)| {
                    json!({"children": children, "labels": {LABEL: label}}).to_string()
                };
                json!({"metadata": {"annotations": {"attach": wants.map(says)}}})
            }
        };
        parents.patch("web", &PatchParams::default(), &Patch::Merge(patch)).await.expect("change the parent");
    }

    /// The parent and all ConfigMaps, without what differs each time.
    async fn state(&self) -> Result<Vec<Value>, String> {
        let mut all = Vec::new();
        for api in [self.of_parents(), self.api("", "v1", "ConfigMap", "configmaps")] {
            let list = api.list(&ListParams::default()).await.map_err(|error| error.to_string())?;
            let objects = list.items.into_iter().map(|object| serde_json::to_value(object).expect("an object"));
            let is_own =
                |object: &Value| ![AUTHORITY, ACCOUNT].contains(&object["metadata"]["name"].as_str().unwrap_or(""));
            all.extend(objects.filter(is_own).map(lasting));
        }
        Ok(all)
    }

    /// The undisturbed end of a change.
    fn is_done(&self, state: &[Value], change: Change) -> bool {
        let is_map = |object: &&Value| object.get("data").is_some();
        let (maps, parents): (Vec<_>, Vec<_>) = state.iter().partition(is_map);
        let names: Vec<_> = maps.iter().filter_map(|map| map["metadata"]["name"].as_str()).collect();
        let is_parent_done = match (self.parents, change.wants()) {
            (Parents::Wishes, wants) => {
                parents.len() == usize::from(wants.is_some()) && parents.into_iter().all(is_ready)
            }
            (Parents::ServiceAccounts, wants) => {
                let label = wants.map_or(Value::Null, |(_, label)| label.into());
                let first = maps.first().map(|map| &map["data"]["value"]);
                // The value of the first child is the label, too.
                parents.len() == 1
                    && parents[0]["metadata"]["labels"][LABEL] == label
                    && first.is_none_or(|value| *value == label)
            }
        };
        names == change.end().children && is_parent_done
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

/// The parent has been brought to its newest generation.
fn is_ready(parent: &Value) -> bool {
    let mut conditions = parent["status"]["conditions"].as_array().into_iter().flatten();
    let holds = conditions.any(|one| one["type"] == "Ready" && one["status"] == "True");
    holds && parent["status"]["observedGeneration"] == parent["metadata"]["generation"]
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
    sweep(&test, Parents::Wishes).await;
}

pub async fn a_decorator_that_is_killed_after_any_write_is_continued_by_the_next_one(test: Arc<Test>) {
    sweep(&test, Parents::ServiceAccounts).await;
}

async fn sweep(test: &Test, parents: Parents) {
    let cluster = test.own_cluster().await;
    let gate = Gate::to_cluster(&cluster).await;
    let site = Site { test, parents, cluster, gate };
    site.begin().await;
    let mut operator = site.operator().await;
    operator.ready().await;

    // Undisturbed, for comparison.
    let mut expected = Vec::new();
    for change in Change::ALL {
        site.make(change).await;
        site.shut_or(&format!("{change:?} is done"), |state| site.is_done(state, change)).await;
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
        let least = match (parents, change) {
            (Parents::Wishes, Change::Create) => change.end().least + 1,
            // That all is done may be seen before the gate is shut for the last write.
            _ => change.end().least - 1,
        };
        assert!(kills >= least, "{change:?}: {kills} kills");
    }
    operator.stop().await;
}
