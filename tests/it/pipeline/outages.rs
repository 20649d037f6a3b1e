//! The API server goes away in the middle: hooks learn of all that happened in the meantime.

use std::{
    collections::BTreeMap,
    io,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use kube::{Client, client::Body};
use serde_json::{Value, json};

use super::{
    fixture::{Operator, Pipeline, config_map, guests},
    written::{Deed, hook},
};
use crate::support::cluster::{TestCluster, client};

const LABEL: (&str, &str) = ("echo", "true");

/// What the guest `echo` received last for each object: its data, or nothing if it was deleted.
fn known(operator: &Operator) -> BTreeMap<String, Option<Value>> {
    let mut known = BTreeMap::new();
    for line in operator.log.said_json("echo").into_iter().filter(|line| line["type"] == "Event") {
        let name = line["target"]["name"].as_str().unwrap().to_owned();
        let data = (line["change"] != "Deleted").then(|| line["filterResult"].clone());
        known.insert(name, data);
    }
    known
}

async fn until_known(pipeline: &Pipeline, truth: &BTreeMap<String, Option<Value>>) {
    pipeline.operator.until("the hook knows the truth", |operator| (known(operator) == *truth).then_some(())).await;
}

#[tokio::test]
async fn cut_connections_lose_nothing() {
    let pipeline = Pipeline::start(["echo"]).await;
    let mut truth = BTreeMap::new();
    // Few at a time: each line shows all, and longer ones are cut.
    for n in 0..36 {
        let name = format!("o{n:02}");
        let data = json!({"n": n.to_string()});
        pipeline.create(config_map(&name, LABEL, data.clone())).await;
        truth.insert(name, Some(data));
        if n % 3 == 2 {
            let gone = format!("o{:02}", n - 1);
            pipeline.delete(config_map(&gone, LABEL, json!({}))).await;
            truth.insert(gone, None);
            pipeline.cluster.cluster.disconnect_watches();
        }
    }
    until_known(&pipeline, &truth).await;
    // The hook received each change once: what came twice over the wire is not a change.
    let events = pipeline.operator.log.said_json("echo").into_iter().filter(|line| line["type"] == "Event").count();
    assert_eq!(events, 36 + 12);
}

#[tokio::test]
async fn lost_history_is_reported_as_the_difference() {
    let pipeline = Pipeline::on(TestCluster::start().await, &guests(["echo"]), |options| {
        // Long enough for what happens during the outage.
        options.streams.backoff_initial = Duration::from_secs(3);
        options.streams.backoff_max = Duration::from_secs(3);
    })
    .await;
    pipeline.operator.ready().await;
    let mut truth = BTreeMap::new();
    for name in ["stays", "changes", "goes"] {
        pipeline.create(config_map(name, LABEL, json!({"n": "1"}))).await;
        truth.insert(name.to_owned(), Some(json!({"n": "1"})));
    }
    until_known(&pipeline, &truth).await;
    pipeline.cluster.cluster.disconnect_watches();
    let (changed, created) =
        (config_map("changes", LABEL, json!({"n": "2"})), config_map("comes", LABEL, json!({"n": "1"})));
    let gone = config_map("goes", LABEL, json!({}));
    tokio::join!(pipeline.apply(changed), pipeline.create(created), pipeline.delete(gone));
    pipeline.cluster.cluster.compact();
    truth.insert("changes".into(), Some(json!({"n": "2"})));
    truth.insert("comes".into(), Some(json!({"n": "1"})));
    truth.insert("goes".into(), None);
    until_known(&pipeline, &truth).await;
    let failures = pipeline.operator.log.told("watch failed: retrying until it succeeds");
    assert_eq!(failures.iter().map(|line| &line["kind"]).collect::<Vec<_>>(), ["unexpected-eof", "expired"]);
    let events = pipeline.operator.log.said_json("echo").into_iter().filter(|line| line["type"] == "Event");
    let mut changes: Vec<_> =
        events.skip(3).map(|line| format!("{} {}", line["change"], line["target"]["name"]).replace('"', "")).collect();
    changes.sort();
    assert_eq!(changes, ["Added comes", "Deleted goes", "Modified changes"]);
}

/// A client whose requests all fail while the server is down, or, with a part of a path, get 503.
fn failing(url: &str, down: Arc<AtomicBool>, broken: Option<&'static str>) -> Client {
    let inner = client(url);
    let send = move |request: http::Request<Body>| {
        let (inner, down) = (inner.clone(), down.load(Ordering::SeqCst));
        let broken = broken.is_some_and(|part| request.uri().path().contains(part));
        async move {
            match (down, broken) {
                (true, _) => Err(kube::Error::Service(Box::new(io::Error::other("down, as the test wants it")))),
                (_, true) => Ok(http::Response::builder().status(503).body(Body::empty()).unwrap()),
                _ => inner.send(request).await,
            }
        }
    };
    Client::new(tower::service_fn(send), "default")
}

#[tokio::test]
async fn health_says_that_the_api_server_does_not_answer_and_nobody_is_unready_for_that() {
    const DOCUMENT: &str = "{configVersion: v1, kubernetes: [{name: maps, apiVersion: v1, kind: ConfigMap}]}";
    let (cluster, down) = (TestCluster::start().await, Arc::new(AtomicBool::new(false)));
    let client = failing(&cluster.cluster.url(), down.clone(), None);
    let operator = Operator::start(client, &[("maps", hook(DOCUMENT, &Deed::Says("ran")))], |_| ()).await;
    operator.ready().await;
    assert_eq!(operator.app.readiness().api_server, None);
    down.store(true, Ordering::SeqCst);
    cluster.cluster.disconnect_watches();
    let trouble = operator.until("health says so", |operator| operator.app.readiness().api_server).await;
    assert!(trouble.contains("does not answer") && trouble.contains("down, as the test wants it"), "{trouble}");
    assert!(operator.app.readiness().ready());
    down.store(false, Ordering::SeqCst);
    let is_over = |operator: &Operator| operator.app.readiness().api_server.is_none().then_some(());
    operator.until("it is over", is_over).await;
}

#[tokio::test]
async fn a_group_that_does_not_answer_holds_up_neither_other_hooks_nor_other_bindings() {
    const DOCUMENT: &str = "{configVersion: v1, kubernetes: [\
        {name: lost, apiVersion: broken.example/v1, kind: Boat}, {name: maps, apiVersion: v1, kind: ConfigMap}]}";
    let (cluster, down) = (TestCluster::start().await, Arc::new(AtomicBool::new(false)));
    let client = failing(&cluster.cluster.url(), down, Some("broken.example"));
    let operator = Operator::start(client, &[("both", hook(DOCUMENT, &Deed::Says("ran")))], |_| ()).await;
    let pending = "binding pending: it starts when its API group answers";
    assert_eq!(operator.told(pending, "both", 1).await[0]["binding"], "lost");
    operator.said("both", "ran").await;
    let missing = super::fixture::missing(&operator.app.readiness(), "both");
    assert!(missing.contains("binding lost is pending: ") && missing.contains("broken.example/v1"), "{missing}");
}
