//! An operator that dies between any two writes: the next one brings everything to the same end, and creates nothing
//! twice.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use kube::{Client, client::Body};
use serde_json::{Value, json};

use super::{child, cluster, condition, gone, in_wave, map, wish};
use crate::{
    pipeline::fixture::{Operator, guests},
    support::{
        cluster::{TestCluster, client},
        until,
    },
};

/// What an operator may still write, and what it wrote.
#[derive(Default)]
pub struct Life {
    most: usize,
    begun: AtomicUsize,
    done: AtomicUsize,
    created: AtomicUsize,
}

impl Life {
    pub fn of(most: usize) -> Arc<Self> {
        Arc::new(Self { most, ..Self::default() })
    }

    /// Its last write is done.
    pub fn is_over(&self) -> bool {
        self.done.load(Ordering::SeqCst) >= self.most
    }
}

/// A client of an operator that dies after its last write: the write is done, and nothing comes back any more.
pub fn mortal(url: &str, life: &Arc<Life>) -> Client {
    let (inner, life) = (client(url), life.clone());
    let send = move |request: http::Request<Body>| {
        let (inner, life) = (inner.clone(), life.clone());
        async move {
            // A review of rights is a POST, and stores nothing.
            let is_write =
                request.method() != http::Method::GET && !request.uri().path().contains("authorization.k8s.io");
            let before =
                if is_write { life.begun.fetch_add(1, Ordering::SeqCst) } else { life.begun.load(Ordering::SeqCst) };
            if before >= life.most {
                return std::future::pending().await;
            }
            if !is_write {
                return inner.send(request).await;
            }
            // The server has it, whatever happens to who sent it.
            let (sent, of) = (inner.clone(), life.clone());
            let write = tokio::spawn(async move {
                let response = sent.send(request).await;
                if response.as_ref().is_ok_and(|response| response.status() == http::StatusCode::CREATED) {
                    of.created.fetch_add(1, Ordering::SeqCst);
                }
                of.done.fetch_add(1, Ordering::SeqCst);
                response
            });
            let response = write.await.unwrap();
            if before + 1 >= life.most { std::future::pending().await } else { response }
        }
    };
    Client::new(tower::service_fn(send), "default")
}

fn parent() -> Value {
    wish("web", json!({"children": [in_wave("a", "0"), in_wave("b", "1"), child("c", "1")], "status": {"x": 1}}))
}

/// What does not differ from run to run.
async fn end_state(cluster: &TestCluster) -> Vec<Value> {
    let mut all = Vec::new();
    for object in [parent(), map("a"), map("b"), map("c")] {
        let mut found = cluster.admin.get(&object).await.unwrap().unwrap();
        let metadata = found["metadata"].as_object_mut().unwrap();
        ["uid", "resourceVersion", "creationTimestamp", "managedFields"]
            .iter()
            .for_each(|name| drop(metadata.remove(*name)));
        // The digest is also of the owner's uid.
        if let Some(annotations) = metadata.get_mut("annotations").and_then(Value::as_object_mut) {
            annotations.remove("boathook.dev/applied");
        }
        for owner in metadata.get_mut("ownerReferences").and_then(Value::as_array_mut).into_iter().flatten() {
            owner.as_object_mut().unwrap().remove("uid");
        }
        for condition in found["status"]["conditions"].as_array_mut().into_iter().flatten() {
            condition.as_object_mut().unwrap().remove("lastTransitionTime");
        }
        all.push(found);
    }
    all
}

/// All is as desired, and the hook has seen it.
async fn is_settled(cluster: &TestCluster) -> bool {
    let found = cluster.admin.get(&parent()).await.unwrap().unwrap();
    let is_ready = condition(&found, "Ready").is_some_and(|ready| ready["status"] == "True");
    is_ready && found["status"]["seen"] == json!(["a", "b", "c"])
}

async fn settled(cluster: &TestCluster) -> Vec<Value> {
    until("all is as desired", async || is_settled(cluster).await.then_some(())).await;
    end_state(cluster).await
}

/// Runs an operator with this hook until it dies or `done` is true.
async fn until_death(cluster: &TestCluster, hook: &str, life: &Arc<Life>, done: impl AsyncFn() -> bool) {
    let operator = Operator::start(mortal(&cluster.cluster.url(), life), &guests([hook]), |_| ()).await;
    until("it died, or is done", async || (life.is_over() || done().await).then_some(())).await;
    drop(operator);
}

#[tokio::test]
async fn an_operator_that_dies_after_any_write_is_continued_by_the_next_one() {
    let reference = {
        let (cluster, life) = (cluster().await, Life::of(usize::MAX));
        cluster.admin.create(&parent()).await.unwrap();
        let operator = Operator::start(mortal(&cluster.cluster.url(), &life), &guests(["wish"]), |_| ()).await;
        let state = settled(&cluster).await;
        assert_eq!(life.created.load(Ordering::SeqCst), 3);
        let writes = life.done.load(Ordering::SeqCst);
        drop(operator);
        (state, writes)
    };
    let (expected, writes) = reference;
    assert!((6..30).contains(&writes), "{writes}");
    for most in 1..writes {
        let (cluster, first, second) = (cluster().await, Life::of(most), Life::of(usize::MAX));
        cluster.admin.create(&parent()).await.unwrap();
        until_death(&cluster, "wish", &first, async || is_settled(&cluster).await).await;
        let operator = Operator::start(mortal(&cluster.cluster.url(), &second), &guests(["wish"]), |_| ()).await;
        assert_eq!(settled(&cluster).await, expected, "after {most} writes");
        let created = first.created.load(Ordering::SeqCst) + second.created.load(Ordering::SeqCst);
        assert_eq!(created, 3, "after {most} writes");
        drop(operator);
    }
}

#[tokio::test]
async fn a_deletion_in_which_the_operator_dies_after_any_write_ends() {
    let mut most = 0;
    loop {
        let (cluster, first) = (cluster().await, Life::of(usize::MAX));
        cluster.admin.create(&parent()).await.unwrap();
        let operator = Operator::start(mortal(&cluster.cluster.url(), &first), &guests(["wish"]), |_| ()).await;
        settled(&cluster).await;
        drop(operator);
        cluster.admin.delete(&parent()).await.unwrap();
        most += 1;
        let second = Life::of(most);
        let is_gone = async || cluster.admin.get(&parent()).await.unwrap().is_none();
        until_death(&cluster, "wish", &second, is_gone).await;
        let finished = !second.is_over();
        let operator = Operator::start(cluster.admin.client.clone(), &guests(["wish"]), |_| ()).await;
        for object in [parent(), map("a"), map("b"), map("c")] {
            gone(&cluster, &object).await;
        }
        drop(operator);
        if finished {
            break;
        }
    }
    // One for each child, and one for the finalizer.
    assert!((4..12).contains(&most), "{most}");
}

/// An object that a decorator does not select any more lives on, so nothing but the next operator takes the rest away.
#[tokio::test]
async fn a_decorator_that_dies_while_it_lets_go_is_continued() {
    let says = json!({"children": [child("a", "1"), child("b", "1")], "labels": {"tier": "1"}});
    let account = |selected: Value| {
        let annotations = json!({"attach": says.to_string()});
        let metadata =
            json!({"name": "web", "namespace": "default", "labels": {"attach": selected}, "annotations": annotations});
        json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata})
    };
    let mut most = 0;
    loop {
        let cluster = TestCluster::start().await;
        let (web, objects) = (account(json!("true")), [map("a"), map("b")]);
        let tier = async || {
            let found = cluster.admin.get(&web).await.unwrap().unwrap();
            found["metadata"]["labels"].get("tier").is_some()
        };
        let count = async || {
            let mut count = 0;
            for object in &objects {
                count += usize::from(cluster.admin.get(object).await.unwrap().is_some());
            }
            count
        };
        cluster.admin.create(&web).await.unwrap();
        let operator = Operator::start(cluster.admin.client.clone(), &guests(["attach"]), |_| ()).await;
        until("all is attached", async || (tier().await && count().await == 2).then_some(())).await;
        operator.shutdown().await;
        cluster.admin.apply(&account(Value::Null)).await.unwrap();
        most += 1;
        let second = Life::of(most);
        until_death(&cluster, "attach", &second, async || !tier().await && count().await == 0).await;
        let finished = !second.is_over();
        let operator = Operator::start(cluster.admin.client.clone(), &guests(["attach"]), |_| ()).await;
        until("all is gone", async || (!tier().await && count().await == 0).then_some(())).await;
        drop(operator);
        if finished {
            break;
        }
    }
    // One for each attachment, and one for the labels.
    assert!((3..6).contains(&most), "{most}");
}
