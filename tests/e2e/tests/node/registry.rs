//! A real registry in the node's network, at the node's address, and bundles in it.

use std::path::Path;
use std::time::Duration;

use serde_json::json;

use super::{Node, command_on};
use crate::harness::{Process, hook_file, workspace};

/// apt-get may have to install it.
const START: Duration = Duration::from_secs(120);

pub const HOST: &str = "10.99.0.1:5000";

pub struct Registry {
    _process: Process,
}

impl Registry {
    pub async fn start(node: &Path) -> Self {
        let dir = node.join("registry");
        std::fs::create_dir_all(&dir).expect("make the registry's directory");
        let config = json!({
            "version": "0.1", "log": {"level": "info"}, "http": {"addr": HOST},
            "storage": {"filesystem": {"rootdirectory": dir.join("data")}},
        });
        let file = dir.join("config.yml");
        std::fs::write(&file, config.to_string()).expect("write the registry's configuration");
        let tool = workspace().join("tools/docker-registry");
        let words = [tool.to_str().expect("a path of text"), "serve", file.to_str().expect("a path of text")];
        let mut command = command_on(node, &words);
        command.env("OTEL_TRACES_EXPORTER", "none");
        let process = Process::start("the registry", command, &dir.join("registry.log")).await;
        process.logged(START, "the registry listens", |line| line.contains("listening on ").then_some(())).await;
        Self { _process: process }
    }
}

impl Node {
    /// Packs hooks, pushes them to the registry and signs them; gives the public key.
    pub async fn push(&self, reference: &str, hooks: &[&str]) -> String {
        self.pushed(reference, hooks).await;
        let key = self.dir.join("team.key");
        let key = key.display();
        self.sh(&format!(
            "[ -e {key} ] || openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out {key} 2>/dev/null
             boathook bundle sign {reference} --key {key} --plain-http"
        ))
        .await;
        self.sh(&format!("openssl pkey -pubout -in {key}")).await
    }

    /// Packs hooks and pushes them to the registry.
    pub async fn pushed(&self, reference: &str, hooks: &[&str]) {
        let dir = self.dir.join("pushed");
        let _ = std::fs::remove_dir_all(&dir);
        std::fs::create_dir_all(&dir).expect("make a directory");
        for hook in hooks {
            let name = hook.rsplit('/').next().unwrap_or(hook);
            std::fs::copy(hook_file(hook), dir.join(format!("{name}.wasm"))).expect("copy a hook");
        }
        self.sh(&format!("boathook bundle push {} {reference} --plain-http", dir.display())).await;
    }
}
