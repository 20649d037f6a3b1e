//! `authorized-key`: one operator for each node, each with its own files, and one status.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use kube::api::PostParams;
use serde_json::Value;

use crate::harness::{Cluster, Operator, Test, eventually, workspace};
use crate::objects::{meta, nodes};

const HOOK: &str = "hooks-wasm/authorized-key";
const FOREIGN: &str = "# mine\nssh-rsa foreign\n";

/// An operator for a node that has one user.
struct Agent {
    file: PathBuf,
    operator: Operator,
}

impl Agent {
    async fn start(dir: &Path, cluster: &Cluster, node: &str) -> Self {
        let dir = dir.join(node);
        let home = dir.join("home");
        fs::create_dir_all(home.join("alice/.ssh")).expect("make a home");
        let file = home.join("alice/.ssh/authorized_keys");
        fs::write(&file, FOREIGN).expect("write a file");
        let (node, homes) = (format!("NODE_NAME={node}"), format!("homes={}:rw", home.display()));
        let flags = ["--node-agent", "--var", &node, "--dir", &homes];
        let operator = Operator::start_with(&dir, &cluster.kubeconfig, &["authorized-key"], &flags).await;
        operator.ready().await;
        Self { file, operator }
    }

    /// Waits until the file has a key, or has only what was there before.
    async fn has(&self, key: Option<&str>) {
        eventually("the file is as it should be", async || {
            let text = fs::read_to_string(&self.file).map_err(|error| error.to_string())?;
            let good = text.starts_with(FOREIGN) && key.map_or(text == FOREIGN, |key| text.contains(key));
            if good { Ok(()) } else { Err(text) }
        })
        .await;
    }
}

pub async fn each_node_has_the_keys_and_its_part_of_the_status(test: Arc<Test>) {
    let cluster = test.own_cluster().await;
    let path = |file: &str| workspace().join(HOOK).join(file).display().to_string();
    cluster.kubectl(&["apply", "--server-side", "--filename", &path("crd.yaml")]).await;
    let names = ["n1", "n2"];
    let mut agents = Vec::new();
    for name in names {
        let node = k8s_openapi::api::core::v1::Node { metadata: meta(name, &[]), ..Default::default() };
        nodes(&cluster.client).create(&PostParams::default(), &node).await.expect("create a node");
        agents.push(Agent::start(test.dir(), &cluster, name).await);
    }
    let example = fs::read_to_string(workspace().join(HOOK).join("example.yaml")).expect("read the example");
    let key =
        example.lines().find_map(|line| line.trim().strip_prefix("- ssh")).expect("the example has a key").to_owned();
    eventually("the definition is served", async || {
        cluster.try_kubectl(&["apply", "--filename", &path("example.yaml")]).await
    })
    .await;
    for agent in &agents {
        agent.has(Some(&key)).await;
    }
    eventually("each node has its entry", async || {
        let text = cluster.try_kubectl(&["get", "authorizedkey", "alice", "--output", "json"]).await?;
        let found: Value = serde_json::from_str(&text).map_err(|error| error.to_string())?;
        let entries = found["status"]["nodes"].as_array().cloned().unwrap_or_default();
        let mut ready: Vec<_> =
            entries.iter().filter(|entry| entry["ready"] == true).map(|entry| &entry["name"]).collect();
        ready.sort_by_key(|name| name.to_string());
        if ready == names { Ok(()) } else { Err(text) }
    })
    .await;

    // One of them is off while the object goes.
    let second = agents.pop().expect("there are two");
    second.operator.stop().await;
    cluster.kubectl(&["delete", "authorizedkey", "alice"]).await;
    agents[0].has(None).await;
    let text = fs::read_to_string(&second.file).expect("read the file");
    assert!(text.contains(&key), "nobody was there to change it: {text}");
    let homes = format!("homes={}:rw", second.file.ancestors().nth(3).expect("the home's place").display());
    let flags = ["--node-agent", "--var", "NODE_NAME=n2", "--dir", &homes];
    let dir = test.dir().join("n2");
    let operator = Operator::start_with(&dir, &cluster.kubeconfig, &["authorized-key"], &flags).await;
    let again = Agent { file: second.file, operator };
    again.has(None).await;
}
