//! The commands of the pages that give the operator its rights.

use std::sync::Arc;

use super::registry::HOST;
use super::{Node, book};
use crate::harness::hook_file;

/// In a directory with `hooks/` and `team.pub`, as the pages take for granted, and with the test's registry.
pub async fn as_printed(node: Arc<Node>) {
    node.sh("kubectl apply --server-side -f deploy/install.yaml; kubectl create namespace team-a").await;
    node.available().await;
    for command in book::section("admin/install.md", "HookBundles").commands {
        node.sh(&command).await;
    }
    let account = "kubectl -n boathook get serviceaccount boathook -o jsonpath='{.automountServiceAccountToken} {.metadata.labels}'";
    let shipped = node.sh(account).await;
    let reference = format!("{HOST}/team/hooks:v1");
    let key = node.push(&reference, &["test/meddle"]).await;
    std::fs::write(node.dir.join("team.pub"), key).expect("write a key");
    for title in ["Rights", "Namespaces of HookBundles", "What hooks watch"] {
        for command in book::section("admin/rights.md", title).commands {
            let command = command.replace("registry.example.com/team/hooks:v1", &reference);
            let plain = if command.starts_with("boathook bundle pull") { " --plain-http" } else { "" };
            let said = node.says_in(&node.dir, &format!("{command}{plain}")).await;
            assert!(said.ok, "$ {command}\n{}{}", said.out, said.err);
        }
    }
    // The admin's own hooks, as the page about installing says in its text; here by server-side apply, whose fields go when
    // they are not sent again.
    let own = node.dir.join("own");
    std::fs::create_dir_all(&own).expect("make a directory");
    std::fs::copy(hook_file("registry-secret"), own.join("registry-secret.wasm")).expect("copy a hook");
    for section in book::section("admin/install.md", "A directory of hooks").commands {
        let said = node.says_in(&node.dir, &section).await;
        assert!(said.ok, "$ {section}\n{}{}", said.out, said.err);
    }
    node.sh(&format!("boathook rbac {} | kubectl apply --server-side --force-conflicts -f -", own.display())).await;
    assert_eq!(node.sh(account).await, shipped, "the shipped ServiceAccount is as it was");
}
