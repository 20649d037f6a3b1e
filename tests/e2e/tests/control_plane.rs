//! What only a control plane that keeps its data can be put through; and that of tests/apiserver
//! itself, as far as the other tests rely on it.

use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use kube::ResourceExt;
use serde_json::{Value, json};

use crate::copies::copied;
use crate::harness::{Cluster, Process, Test, apiserver, eventually};
use crate::objects::{create_namespace, merge, namespaces};
use crate::outages::{goes_on, is_alive};
use crate::restarts::{World, begin};

const START: Duration = Duration::from_secs(60);

/// The API server is really gone, and comes back at the same place.
pub async fn operator_outlives_its_restart(test: Arc<Test>) {
    let (cluster, operator) = begin(&test).await;
    let world = World::new(&test);

    cluster.stop().await;
    operator.logs("that the API server does not answer", is_complaint).await;
    is_alive(&operator).await;
    cluster.start_again().await;

    // The operator may not have noticed yet that it is back.
    world.change(&cluster).await;
    world.converged(&cluster).await;
    goes_on(&test, &cluster.client, operator).await;
}

/// etcd goes back to a copy of its data, and what is written then soon has the versions that the operator knew: a watch
/// that goes on at them would miss all that came before.
pub async fn operator_follows_a_restored_etcd(test: Arc<Test>) {
    let (cluster, operator) = begin(&test).await;
    let world = World::new(&test);
    cluster.stop().await;
    cluster.back_up();
    cluster.start_again().await;
    // What the copy does not have.
    writes(&cluster).await;
    let lost = test.name("lost");
    create_namespace(&cluster.client, &lost, &[]).await;
    copied(&cluster.client, &lost).await;

    cluster.stop().await;
    cluster.restore();
    cluster.start_again().await;
    world.change(&cluster).await;
    for _ in 0..3 {
        writes(&cluster).await;
    }
    world.converged(&cluster).await;
    operator
        .logs("that the API server went back in time", |line| {
            line.to_string().contains("the API server went back in time")
        })
        .await;
    goes_on(&test, &cluster.client, operator).await;
}

/// Moves the cluster's version on, with writes that concern no hook.
async fn writes(cluster: &Cluster) {
    for n in 0..100 {
        merge(
            &namespaces(&cluster.client),
            "kube-public",
            json!({"metadata": {"annotations": {"written": n.to_string()}}}),
        )
        .await;
    }
}

pub async fn a_restart_keeps_the_cluster(test: Arc<Test>) {
    let cluster = test.own_cluster().await;
    let name = test.name("x");
    create_namespace(&cluster.client, &name, &[]).await;
    let before = namespaces(&cluster.client).get(&name).await.expect("the namespace is there");

    // The same address, the same certificate, the same token: the client goes on with what it has.
    cluster.stop().await;
    cluster.start_again().await;
    let get = async || namespaces(&cluster.client).get(&name).await;
    let after = eventually("the namespace is there again", get).await;
    assert_eq!((before.uid(), before.resource_version()), (after.uid(), after.resource_version()));

    // The controllers are back, too: only they finish the deletion.
    cluster.kubectl(&["delete", "namespace", &name, "--timeout=30s"]).await;
}

/// A suite that was killed leaves no server behind, and no data.
pub async fn it_ends_with_its_parent(test: Arc<Test>) {
    let temporary = test.dir().join("tmp");
    std::fs::create_dir(&temporary).expect("make a directory");
    // A shell gives what it starts in the background no pipe: the server has to see the shell die.
    let mut shell = Command::new("sh");
    shell.arg("-c").arg("\"$0\" --exit-with-parent & echo pid $!; wait");
    shell.arg(apiserver()).env("TMPDIR", &temporary);
    let shell = Process::start("the shell", shell, &test.dir().join("shell.log")).await;
    let pid = shell.logged(START, "the shell tells the process id", pid_of).await;
    shell.logged(START, "the server is ready", |line| (line == "ready").then_some(())).await;
    assert!(left_in(&temporary), "its data is in the temporary directory");

    drop(shell);
    eventually("the server ends", async || if running(&pid) { Err("it runs") } else { Ok(()) }).await;
    assert!(!left_in(&temporary), "it leaves no data behind");
}

fn is_complaint(line: &Value) -> bool {
    matches!(line["level"].as_str(), Some("WARN" | "ERROR"))
}

fn pid_of(line: &str) -> Option<String> {
    line.strip_prefix("pid ").map(str::to_owned)
}

/// A zombie that nobody has reaped yet is as good as gone.
fn running(pid: &str) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    status.lines().any(|line| line.starts_with("State:") && !line.contains('Z'))
}

fn left_in(dir: &Path) -> bool {
    std::fs::read_dir(dir).expect("read a directory").next().is_some()
}
