//! Faults on request, limits of the history, and the end of a cluster.

use std::net::SocketAddr;

use boathook_cluster::{Cluster, Error, Options};
use futures::{StreamExt, TryStreamExt};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::Api;
use kube::runtime::watcher;
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::support::{CONFIG_MAPS, soon, start, start_with};
use super::watches::{next, watch};

#[tokio::test]
async fn compaction_expires_old_revisions_but_not_running_watches() {
    let f = start().await;
    let old = f.config_map("a", json!({})).await["metadata"]["resourceVersion"].as_str().unwrap().to_owned();
    let mut running = watch(&f.client, "").await;
    assert_eq!(next(&mut running).await["type"], "ADDED");
    f.config_map("b", json!({})).await;
    assert_eq!(next(&mut running).await["type"], "ADDED");
    f.cluster.compact();
    let mut late = watch(&f.client, &format!("resourceVersion={old}")).await;
    let error = next(&mut late).await;
    assert_eq!(
        (&error["type"], &error["object"]["code"], &error["object"]["reason"]),
        (&json!("ERROR"), &json!(410), &json!("Expired"))
    );
    assert!(soon("the end", late.next()).await.is_none());
    f.config_map("c", json!({})).await;
    assert_eq!(next(&mut running).await["object"]["metadata"]["name"], "c");
}

#[tokio::test]
async fn a_bounded_history_expires_by_itself() {
    let f = start_with(Options::default().history(3, 1 << 20)).await;
    let old = f.config_map("a", json!({})).await["metadata"]["resourceVersion"].as_str().unwrap().to_owned();
    for n in 0..5 {
        f.patch(&format!("{CONFIG_MAPS}/a"), "merge", json!({ "data": { "n": n.to_string() } })).await;
    }
    let mut late = watch(&f.client, &format!("resourceVersion={old}")).await;
    assert_eq!(next(&mut late).await["type"], "ERROR");
}

#[tokio::test]
async fn cut_watches_break_and_watchers_recover() {
    let f = start().await;
    let api: Api<ConfigMap> = Api::namespaced(f.client.clone(), "default");
    let mut events = watch(&f.client, "").await;
    let mut watcher = watcher(api, watcher::Config::default()).boxed();
    while !matches!(soon("init", watcher.try_next()).await.unwrap(), Some(watcher::Event::InitDone)) {}
    f.config_map("a", json!({})).await;
    assert_eq!(next(&mut events).await["type"], "ADDED");
    f.cluster.disconnect_watches();
    let end = soon("the cut", events.next()).await;
    assert!(matches!(end, Some(Err(_)) | None), "{end:?}");
    f.config_map("b", json!({})).await;
    let found = async {
        loop {
            if let Ok(Some(watcher::Event::Apply(object))) = watcher.try_next().await
                && object.metadata.name.as_deref() == Some("b")
            {
                return;
            }
        }
    };
    soon("the watcher to recover", found).await;
}

#[tokio::test]
async fn shutdown_ends_watches_and_frees_the_port() {
    let f = start().await;
    let address = f.cluster.address();
    let mut events = watch(&f.client, "").await;
    f.cluster.shutdown().await;
    let end = soon("the end of the watch", events.next()).await;
    assert!(matches!(end, Some(Err(_)) | None), "{end:?}");
    let again = Cluster::start(Options::default().listen(address)).await.unwrap();
    assert_eq!(again.address(), address);
}

#[tokio::test]
async fn only_loopback() {
    let everywhere: SocketAddr = "0.0.0.0:0".parse().unwrap();
    let error = Cluster::start(Options::default().listen(everywhere)).await.unwrap_err();
    assert!(matches!(error, Error::NotLoopback(_)));
    assert!(error.to_string().contains("0.0.0.0"));
}

#[tokio::test]
async fn the_kubeconfig_is_read_by_kube() {
    let f = start().await;
    let kubeconfig = kube::config::Kubeconfig::from_yaml(&f.cluster.kubeconfig()).unwrap();
    let config = kube::Config::from_custom_kubeconfig(kubeconfig, &Default::default()).await.unwrap();
    let client = kube::Client::try_from(config).unwrap();
    assert_eq!(client.apiserver_version().await.unwrap().minor, "36");
}

#[tokio::test]
async fn a_watcher_that_does_not_read_is_left_behind() {
    let f = start_with(Options::default().history(5, 1 << 20)).await;
    let mut stream = tokio::net::TcpStream::connect(f.cluster.address()).await.unwrap();
    let request = format!("GET {CONFIG_MAPS}?watch=true HTTP/1.1\r\nHost: localhost\r\n\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    // More than the buffers between the two ends can hold.
    let filler = "x".repeat(1 << 20);
    for n in 0..40 {
        let body = json!({ "metadata": { "name": format!("c{n}") }, "data": { "f": filler } });
        assert_eq!(soon("a write beside a stuck watch", f.post(CONFIG_MAPS, body)).await.0, 201);
    }
    let mut tail = Vec::new();
    let mut piece = vec![0; 1 << 16];
    let mut ended = false;
    while !ended {
        let read = soon("the end of the watch", stream.read(&mut piece)).await.unwrap();
        tail.extend_from_slice(&piece[..read]);
        tail.drain(..tail.len().saturating_sub(4096));
        ended = read == 0 || tail.ends_with(b"0\r\n\r\n");
    }
    let tail = String::from_utf8_lossy(&tail).into_owned();
    assert!(tail.contains("too old resource version"), "{tail}");
}

#[tokio::test]
async fn the_cluster_gives_a_client() {
    let cluster = Cluster::start(Options::default()).await.unwrap();
    assert_eq!(cluster.client().apiserver_version().await.unwrap().minor, "36");
}
