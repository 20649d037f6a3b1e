//! Node agents: a DaemonSet whose hook writes files of the node.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, chown};
use std::sync::Arc;

use super::{Node, book};
use crate::harness::{hook_file, workspace};

const KEY: &str = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIHLuK0Crx3SYIFIjnx7HCs5uKDT0ZKgbmxSdmcMw2Eub alice@example.com";

/// The book's kustomization, with a directory of the test for /home.
pub async fn a_key_is_on_the_node_while_its_object_is_there(node: Arc<Node>) {
    let home = node.dir.join("home");
    let ssh = home.join("alice/.ssh");
    fs::create_dir_all(&ssh).expect("make a home");
    let file = ssh.join("authorized_keys");
    fs::write(&file, "ssh-rsa foreign\n").expect("write a file");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).expect("set a mode");
    for path in [&ssh, &file] {
        chown(path, Some(4321), Some(4322)).expect("change an owner");
    }

    let hooks = workspace().join("hooks-wasm/authorized-key");
    node.sh(&format!("kubectl apply --server-side -f {}", hooks.join("crd.yaml").display())).await;
    node.hooks_image("localhost/node-hooks:v1", &["authorized-key"]).await;
    let page = book::section("admin/node-agent.md", "Install it");
    let text = page.yaml[0]
        .replace("registry.example.com/platform/node-hooks", "localhost/node-hooks")
        .replace("hostPath: {path: /home,", &format!("hostPath: {{path: {},", home.display()));
    node.written_kustomization("node-agent", &text);
    let own = node.dir.join("hooks");
    fs::create_dir_all(&own).expect("make a directory");
    fs::copy(hook_file("authorized-key"), own.join("authorized-key.wasm")).expect("copy a hook");
    for command in &page.commands {
        let said = node.says_in(&node.dir, command).await;
        assert!(said.ok, "$ {command}\n{}{}", said.out, said.err);
    }

    node.sh(&format!("kubectl apply -f {}", hooks.join("example.yaml").display())).await;
    let has = async |part: &str, there: bool| {
        let text = fs::read_to_string(&file).map_err(|error| error.to_string())?;
        let whole = text.starts_with("ssh-rsa foreign\n");
        if text.contains(part) == there && whole { Ok(()) } else { Err(text) }
    };
    node.until("the key is in the file", async || has(KEY, true).await).await;
    let seen = file.metadata().expect("there is the file");
    assert_eq!((seen.uid(), seen.gid(), seen.mode() & 0o7777), (4321, 4322, 0o640), "it is as it was");
    node.until("the node says so", async || {
        let found = node.get("authorizedkey alice").await?;
        let status = &found["status"]["nodes"][0];
        if status["ready"] == true && status["name"] == "node-1" { Ok(()) } else { Err(format!("{found:#}")) }
    })
    .await;
    node.sh("kubectl delete authorizedkey alice").await;
    node.until("the key is gone", async || has(KEY, false).await).await;
}
