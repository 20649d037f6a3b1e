//! The operator outside of the cluster, as the book starts it.

use std::sync::Arc;
use std::time::Duration;

use super::{Node, book};
use crate::harness::hook_file;

pub async fn as_printed(node: Arc<Node>) {
    let commands = book::section("admin/install.md", "Running outside the cluster").commands;
    let [command] = commands.as_slice() else { panic!("one command: {commands:?}") };
    let hooks = node.dir.join("hooks");
    std::fs::create_dir_all(&hooks).expect("make a directory");
    std::fs::copy(hook_file("schedule"), hooks.join("schedule.wasm")).expect("copy a hook");
    node.sh(&format!("cp $KUBECONFIG {}", node.dir.join("cluster.yaml").display())).await;
    let operator = node.start("operator", &node.dir, &format!("exec {command}")).await;
    let started = |line: &str| line.contains("hooks started").then_some(());
    operator.logged(Duration::from_secs(60), "the hooks are started", started).await;
    // What is between it and the test passes no signals on.
    node.sh("pkill -TERM -f '^boathook serve --kubeconfig cluster.yaml'").await;
    operator.ended(Duration::from_secs(60)).await;
}
