//! The other tenant, who works as on any day and measures what it notices: from an object to its hook's change of it, from
//! a Pod to its hook's denial, from a HookBundle's change to what the operator makes of it; and whether the operator says
//! that it is well. The same two without the operator show how long the API server takes on this machine at that time.
//! Each measurement is a line of its log.

use std::time::{Duration, Instant};

use futures::{StreamExt, TryStreamExt};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{WatchEvent, WatchParams};
use kube::{Api, ResourceExt};
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::mpsc;

use super::cluster::{Cluster, bundles, condition, core};
use super::program::{now, say, variable};
use super::stranger::TARGET;

pub const TEAM: &str = "team-b";
/// The HookBundle that is suspended and resumed.
pub const OTHER: &str = "other";

/// The label of objects that no hook receives.
const BARE: &str = "bare";
/// The longest that the work of a hook may take. Later is lost.
const LOST: Duration = Duration::from_secs(60);
const BETWEEN: Duration = Duration::from_millis(200);
/// The kubelet waits as long.
const PROBE: Duration = Duration::from_secs(5);

pub async fn run() {
    let cluster = Cluster::new().await;
    let target = variable(TARGET);
    tokio::join!(
        works(cluster.clone(), "meddle", "event"),
        works(cluster.clone(), BARE, "bare event"),
        changes_itself(cluster.clone()),
        is_reviewed(cluster.clone()),
        is_stored(cluster.clone()),
        is_obeyed(cluster),
        is_well(&target),
    );
}

fn note(what: &str, began: Instant, ok: Result<(), String>) {
    let millis = began.elapsed().as_secs_f64() * 1000.0;
    say(&json!({"what": what, "at": now(), "ms": millis, "ok": ok.is_ok(), "why": ok.err()}));
}

/// An object is made, and who works on those with this label changes it: a hook, or else this program.
async fn works(cluster: Cluster, label: &'static str, what: &str) {
    let (tell, mut done) = mpsc::unbounded_channel();
    tokio::spawn(watch(cluster.clone(), label, tell));
    for n in 0_u64.. {
        let name = format!("{label}-{}-{n}", std::process::id());
        let path = core(TEAM, "configmaps");
        let object = json!({"apiVersion": "v1", "kind": "ConfigMap", "data": {"deed": "patch"},
            "metadata": {"name": name, "namespace": TEAM, "labels": {label: "true"}}});
        while done.try_recv().is_ok() {}
        let began = Instant::now();
        let outcome = match cluster.create(&path, &object).await {
            Err(error) => Err(format!("create {name}: {error}")),
            Ok(_) => {
                let others = |object: ConfigMap| object.name_any() != name || !is_done(&object);
                let heard = async { while done.recv().await.is_some_and(others) {} };
                match tokio::time::timeout(LOST, heard).await {
                    Ok(()) => Ok(()),
                    Err(_) => match cluster.get(&format!("{path}/{name}")).await {
                        // The watch missed it. It is late, and counts as such.
                        Ok(object) if object["data"]["done"] == "yes" => Ok(()),
                        other => Err(format!("{name} was not changed within {LOST:?}: {other:?}")),
                    },
                }
            }
        };
        note(what, began, outcome);
        let _ = cluster.delete(&format!("{path}/{name}")).await;
        tokio::time::sleep(BETWEEN).await;
    }
}

/// Changes what is made with the label [`BARE`], as a hook would: the API server reports the object, and is asked to change
/// it. With this, the bare event costs the API server what the event does.
async fn changes_itself(cluster: Cluster) {
    let (tell, mut told) = mpsc::unbounded_channel();
    tokio::spawn(watch(cluster.clone(), BARE, tell));
    while let Some(object) = told.recv().await {
        if !is_done(&object) {
            let path = format!("{}/{}", core(TEAM, "configmaps"), object.name_any());
            // What it says comes by the other watch.
            let _ = cluster.merge(&path, &json!({"data": {"done": "yes"}})).await;
        }
    }
}

fn is_done(object: &ConfigMap) -> bool {
    object.data.as_ref().and_then(|data| data.get("done")).is_some_and(|done| done == "yes")
}

/// Tells of the objects with a label that are made and changed.
async fn watch(cluster: Cluster, label: &str, tell: mpsc::UnboundedSender<ConfigMap>) {
    let api: Api<ConfigMap> = Api::namespaced(cluster.client(), TEAM);
    loop {
        let parameters = WatchParams::default().labels(&format!("{label}=true")).timeout(290);
        let Ok(stream) = api.watch(&parameters, "0").await else {
            tokio::time::sleep(BETWEEN).await;
            continue;
        };
        let mut stream = stream.boxed();
        while let Ok(Some(event)) = stream.try_next().await {
            if let WatchEvent::Added(object) | WatchEvent::Modified(object) = event {
                let _ = tell.send(object);
            }
        }
    }
}

/// A Pod whose image the namespace does not allow is denied, by the hook's own words.
async fn is_reviewed(cluster: Cluster) {
    let path = format!("{}?dryRun=All", core(TEAM, "pods"));
    let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "asked", "namespace": TEAM},
        "spec": {"containers": [{"name": "c", "image": "example.com/other:1"}]}});
    loop {
        let began = Instant::now();
        let outcome = match cluster.create(&path, &pod).await {
            Err(said) if said.contains("is not from a place that the ConfigMap") => Ok(()),
            other => Err(format!("{other:?}")),
        };
        note("review", began, outcome);
        tokio::time::sleep(BETWEEN).await;
    }
}

/// An object that no hook reviews is accepted.
async fn is_stored(cluster: Cluster) {
    let path = format!("{}?dryRun=All", core(TEAM, "configmaps"));
    let object = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "asked", "namespace": TEAM}});
    loop {
        let began = Instant::now();
        note("bare review", began, cluster.create(&path, &object).await.map(drop));
        tokio::time::sleep(BETWEEN).await;
    }
}

/// A HookBundle is suspended, and resumed.
async fn is_obeyed(cluster: Cluster) {
    let path = format!("{}/{OTHER}", bundles(TEAM));
    loop {
        for suspend in [true, false] {
            let began = Instant::now();
            let outcome = match cluster.merge(&path, &json!({"spec": {"suspend": suspend}})).await {
                Err(error) => Err(error),
                Ok(_) => match tokio::time::timeout(LOST, becomes(&cluster, &path, suspend)).await {
                    Ok(()) => Ok(()),
                    Err(_) => Err(format!("suspend: {suspend} was not obeyed within {LOST:?}")),
                },
            };
            note(if suspend { "suspend" } else { "resume" }, began, outcome);
            tokio::time::sleep(BETWEEN * 20).await;
        }
    }
}

async fn becomes(cluster: &Cluster, path: &str, suspended: bool) {
    loop {
        if let Ok(object) = cluster.get(path).await {
            let wanted =
                if suspended { condition(&object, "Suspended", "True") } else { condition(&object, "Ready", "True") };
            if wanted {
                return;
            }
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// What the kubelet asks.
async fn is_well(target: &str) {
    loop {
        for path in ["/healthz", "/readyz"] {
            let began = Instant::now();
            let asked = tokio::time::timeout(PROBE, ask(target, path)).await;
            let outcome = match asked {
                Ok(Ok(answer)) if answer.starts_with("HTTP/1.1 200") => Ok(()),
                Ok(other) => Err(format!("{other:?}")),
                Err(_) => Err(format!("no answer within {PROBE:?}")),
            };
            note(path, began, outcome);
        }
        tokio::time::sleep(BETWEEN).await;
    }
}

async fn ask(target: &str, path: &str) -> std::io::Result<String> {
    let mut stream = TcpStream::connect(format!("{target}:9115")).await?;
    stream.write_all(format!("GET {path} HTTP/1.1\r\nHost: operator\r\nConnection: close\r\n\r\n").as_bytes()).await?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await?;
    Ok(answer)
}
