//! How much is written. A request that changes nothing changes no version either, so requests are counted.

use std::sync::{Arc, Mutex};

use kube::{Client, client::Body};
use serde_json::{Value, json};

use super::{asked, child, cluster, current, in_wave, map, there, told, wish};
use crate::{
    pipeline::fixture::{Operator, guests},
    support::{
        cluster::{TestCluster, client},
        until,
    },
};

/// A client that notes each write.
pub fn noted(url: &str, writes: &Arc<Mutex<Vec<String>>>) -> Client {
    let (inner, writes) = (client(url), writes.clone());
    let send = move |request: http::Request<Body>| {
        if request.method() != http::Method::GET && !request.uri().path().contains("authorization.k8s.io") {
            let path = request.uri().path();
            let place = path.rsplit_once("/default/").map_or(path, |(_, place)| place);
            writes.lock().unwrap().push(format!("{} {place}", request.method()));
        }
        let inner = inner.clone();
        async move { inner.send(request).await }
    };
    Client::new(tower::service_fn(send), "default")
}

/// Writes a field of a ConfigMap as another field manager.
async fn written_by(cluster: &TestCluster, manager: &str, name: &str, data: Value) {
    let mut object = map(name);
    object["data"] = data;
    let uri = format!("/api/v1/namespaces/default/configmaps/{name}?fieldManager={manager}&force=true");
    let request = http::Request::patch(uri).header("content-type", "application/apply-patch+yaml");
    let request = request.body(object.to_string().into_bytes()).unwrap();
    cluster.admin.client.request::<Value>(request).await.unwrap();
}

/// Has a parent of its own reconciled. Its child is written after everything that was due before.
async fn another(cluster: &TestCluster, name: &str) {
    let parent = wish(name, json!({"children": [child(name, "1")]}));
    cluster.admin.create(&parent).await.unwrap();
    current(cluster, &parent, 1).await;
}

/// With many objects, each request counts.
#[tokio::test]
async fn a_new_object_takes_one_request_for_each_child_and_two_for_itself() {
    let (cluster, writes) = (cluster().await, Arc::default());
    let operator = Operator::start(noted(&cluster.cluster.url(), &writes), &guests(["wish"]), |_| ()).await;
    operator.ready().await;
    let parent = wish("web", json!({"children": [child("a", "1"), child("b", "1")]}));
    cluster.admin.create(&parent).await.unwrap();
    let found = current(&cluster, &parent, 1).await;
    assert_eq!(found["status"]["seen"], json!(["a", "b"]));
    let mut written = writes.lock().unwrap().clone();
    written.sort();
    assert_eq!(
        written,
        ["PATCH configmaps/a", "PATCH configmaps/b", "PATCH wishes/web", "PATCH wishes/web/status"],
        "the mark of the set, and the status"
    );
    drop(operator);
}

#[tokio::test]
async fn nothing_is_written_while_nothing_changes_and_after_a_restart() {
    let (cluster, writes) = (cluster().await, Arc::<Mutex<Vec<String>>>::default());
    // What is written about the parent and its children, and not about other parents.
    let about = |name: &str| ["/web", "/web/status", "/a", "/b"].iter().any(|end| name.ends_with(end));
    let written = || writes.lock().unwrap().iter().filter(|write| about(write)).cloned().collect::<Vec<_>>();
    let parent = wish("web", json!({"children": [in_wave("a", "0"), in_wave("b", "1")], "status": {"x": 1}}));
    cluster.admin.create(&parent).await.unwrap();
    let operator = Operator::start(noted(&cluster.cluster.url(), &writes), &guests(["wish"]), |_| ()).await;
    current(&cluster, &parent, 1).await;
    until("the hook saw its children", async || {
        (cluster.admin.get(&parent).await.unwrap()?["status"]["seen"] == json!(["a", "b"])).then_some(())
    })
    .await;
    let settled = written();
    assert!(settled.contains(&"PATCH configmaps/a".to_owned()), "{settled:?}");
    // The status was an event, too.
    another(&cluster, "first").await;
    assert_eq!(written(), settled);
    // A field that the hook does not return.
    written_by(&cluster, "them", "a", json!({"theirs": "1"})).await;
    another(&cluster, "second").await;
    assert_eq!(written(), settled);
    operator.shutdown().await;
    writes.lock().unwrap().clear();
    let operator = Operator::start(noted(&cluster.cluster.url(), &writes), &guests(["wish"]), |_| ()).await;
    operator.ready().await;
    operator.until("the hook was asked", |operator| (asked(operator, "web") > 0).then_some(())).await;
    another(&cluster, "third").await;
    assert_eq!(written(), [""; 0]);
    let found = there(&cluster, &map("a")).await;
    assert_eq!(found["data"], json!({"value": "1", "theirs": "1"}));
}

/// Two that correct each other as fast as they can would be a load, and nobody would win.
// mutant: crates/applyset/src/set/mod.rs: `let repair = state.fights.drifted(hasher.hash_one((&seen.managers, &drift.paths)), now);` => `let repair = crate::fight::Fights::default().drifted(hasher.hash_one((&seen.managers, &drift.paths)), now);`
#[tokio::test]
async fn a_fight_is_named_and_slowed() {
    let (cluster, writes) = (cluster().await, Arc::<Mutex<Vec<String>>>::default());
    let operator = Operator::start(noted(&cluster.cluster.url(), &writes), &guests(["wish"]), |_| ()).await;
    operator.ready().await;
    let parent = wish("web", json!({"children": [child("a", "1")]}));
    cluster.admin.create(&parent).await.unwrap();
    current(&cluster, &parent, 1).await;
    for _ in 0..3 {
        written_by(&cluster, "thief", "a", json!({"value": "theirs"})).await;
        until("it is repaired", async || {
            (cluster.admin.get(&map("a")).await.unwrap()?["data"]["value"] == "1").then_some(())
        })
        .await;
    }
    written_by(&cluster, "thief", "a", json!({"value": "theirs"})).await;
    let message = told(&cluster, &parent, "Stalled", "True", "Fight").await;
    assert!(message.starts_with("ConfigMap default/a: thief changes "), "{message}");
    assert!(message.contains("again and again (4 times): repairs are slowed"), "{message}");
    for n in 0..20 {
        written_by(&cluster, "thief", "a", json!({"value": format!("theirs {n}")})).await;
    }
    another(&cluster, "other").await;
    let sent = writes.lock().unwrap().iter().filter(|write| *write == "PATCH configmaps/a").count();
    // One that creates it, three repairs, and the slowed ones if this machine is slow.
    assert!((4..8).contains(&sent), "{sent}");
}
